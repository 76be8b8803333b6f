"""The page behind nginx, with the example of the guide, with and without TLS."""

import http.client
import re
import shutil
import socket
import ssl
import subprocess
import time
import unittest

import served
from served import Served
from test_access import TOKENS, form_token

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/bin")
GUIDE = served.ROOT / "Sources/Sluice/Sluice.docc/OperatorsPage.md"
NAME = "ops.example"


def free_port():
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


@unittest.skipUnless(NGINX and shutil.which("openssl"), "there is no nginx, or no openssl")
class Proxy(Served):
    options = ("--prefix", "/ops", "--host", NAME)

    def setUp(self):
        super().setUp()
        tokens = self.folder / "tokens"
        tokens.touch(mode=0o600)
        tokens.write_text(TOKENS)
        self.enqueue("mail/1", {"text": "secret"})
        self.serve("--token-file", tokens)

    def proxy(self, location):
        """Starts nginx with a location, and returns the ports without and with TLS."""
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.folder / "key", "-out",
             self.folder / "certificate", "-days", "1", "-subj", f"/CN={NAME}"], check=True, capture_output=True)
        plain, secure = free_port(), free_port()
        temporary = "".join(f"{name}_temp_path {self.folder}/{name};\n"
                            for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
        (self.folder / "nginx.conf").write_text(f"""
            daemon off; master_process off; pid {self.folder}/pid; error_log {self.folder}/errors;
            events {{}}
            http {{
                access_log off;
                {temporary}
                server {{
                    listen 127.0.0.1:{plain};
                    listen 127.0.0.1:{secure} ssl;
                    server_name {NAME};
                    ssl_certificate {self.folder}/certificate;
                    ssl_certificate_key {self.folder}/key;
                    {location.replace("8088", str(self.port))}
                }}
            }}
            """)
        nginx = subprocess.Popen([NGINX, "-c", self.folder / "nginx.conf"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, start_new_session=True)
        self.processes.append(nginx)
        end = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", secure), timeout=1).close()
                return plain, secure
            except OSError:
                self.assertIsNone(nginx.poll(), "nginx has ended")
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)

    def connect(self, port, is_secure):
        if not is_secure:
            return http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)

    def ask(self, port, is_secure, method, path, body=None, **headers):
        """What a browser at the name sends, and the answer."""
        origin = f"{'https' if is_secure else 'http'}://{NAME}"
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        names |= {"Host": NAME, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate"}
        if method == "POST":
            names |= {"Origin": origin, "Content-Type": "application/x-www-form-urlencoded"}
        connection = self.connect(port, is_secure)
        try:
            connection.request(method, path, body, names)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()
        finally:
            connection.close()

    def operate(self, port, is_secure):
        """Logs in, holds a queue, and follows it."""
        status, headers, text = self.ask(port, is_secure, "POST", "/ops/login", "key=p9ZcSgN4mYx2w7QkLr5TtA")
        self.assertEqual(status, 303, text)
        self.assertEqual("; Secure" in headers["Set-Cookie"], is_secure)
        cookie = headers["Set-Cookie"].split(";")[0]
        status, _, text = self.ask(port, is_secure, "GET", "/ops/confirm?act=hold&queue=mail/1", Cookie=cookie)
        self.assertEqual(status, 200, text)
        question = re.search('name="question" value="([0-9a-f]+)"', text).group(1)
        body = f"token={form_token(text)}&question={question}"
        status, _, text = self.ask(port, is_secure, "POST", "/ops/do", body, Cookie=cookie)
        self.assertEqual(status, 303, text)
        self.assertEqual(self.sql("SELECT holder FROM sluice_holds"), "ada")
        self.sql("DELETE FROM sluice_holds")
        connection = self.connect(port, is_secure)
        self.addCleanup(connection.close)
        start = time.monotonic()
        connection.request("GET", "/ops/live?view=/queue?name=mail/1", headers={"Host": NAME, "Cookie": cookie})
        answer = connection.getresponse()
        self.assertEqual(answer.readline(), b"retry: 3000\n")
        self.assertLess(time.monotonic() - start, 5)
        self.assertEqual(answer.getheader("Content-Type"), "text/event-stream")
        while b'"status"' not in answer.readline():
            pass
        self.tool("hold", "--queue", "mail/1", "--reason", "server moves")
        while b"server moves" not in answer.readline():
            pass
        self.sql("DELETE FROM sluice_holds")

    def test_the_example_of_the_guide(self):
        example = re.search("```nginx\n(.*?)```", GUIDE.read_text(), re.DOTALL).group(1)
        plain, secure = self.proxy(example)
        self.operate(plain, False)
        self.operate(secure, True)
        self.assertIn("forwarded for 127.0.0.1", self.log())

    def test_a_plain_pass(self):
        """nginx puts its own name for the page in place of the browser's, and says nothing of TLS."""
        plain, secure = self.proxy("location /ops/ { proxy_pass http://127.0.0.1:8088; }")
        self.operate(plain, False)
        self.operate(secure, True)

    def test_a_name_that_was_not_given(self):
        """The refusal says what to do."""
        _, _, text = self.request("POST", "/ops/login", "key=x", Origin="https://other.example")
        self.assertIn("The browser has opened 'https://other.example'", text)
        self.assertIn("--host NAME", text)
        status, _, text = self.request("GET", "/ops/", Host="other.example")
        self.assertEqual(status, 403)
        self.assertIn("names the host 'other.example'", text)

"""Who may look and act: enforced on the server, whatever a page shows."""

import http.client
import os
import re
import socket
import urllib.parse

from browser import Browsed, start
from served import Served

TOKENS = """
# role name token
act  ada  p9ZcSgN4mYx2w7QkLr5TtA
act  bob  Jd8sKq2LwX5vBn7RtYc3ZmE
look wall Vb3nH8eJd6RfCq1KzM0XyU
"""
ACTS = [
    "act=retryNow&queue=mail/1", "act=skipHead&queue=mail/1", "act=hold&queue=mail/1", "act=endHolds&queue=mail/1",
    "act=cancelAll&queue=mail/1", "act=cancelAll&scope=matching", "act=requeue&letter=1", "act=purge&scope=matching",
    "act=openGate&gate=g", "act=closeGate&gate=g", "act=endHold&hold=1", "act=cancel&action=1", "act=moveToFront&action=1",
    "act=move&action=1&to=x", "act=edit&action=1&payload={}", "act=enqueue&queue=q&kind=k&payload={}",
]


def form_token(text):
    return re.search('name="token" value="([0-9a-f]+)"', text).group(1)


class Requests(Served):
    def setUp(self):
        super().setUp()
        self.enqueue("mail/1", {})

    def session(self):
        """A browser's cookie, and what its form repeats: the token and the question."""
        _, headers, _ = self.request("GET", "/")
        cookie = headers["Set-Cookie"].split(";")[0]
        return cookie, self.question(cookie)

    def question(self, cookie):
        _, _, text = self.request("GET", "/confirm?act=hold&queue=mail/1", Cookie=cookie)
        return form_token(text) + "&question=" + re.search('name="question" value="([0-9a-f]+)"', text).group(1)

    def test_read_only(self):
        """With a valid cookie and every act, nothing changes."""
        self.serve("--read-only")
        _, headers, _ = self.request("GET", "/")
        cookie = headers["Set-Cookie"].split(";")[0]
        before = self.sql("SELECT * FROM sluice_actions")
        for act in ACTS:
            for path in ["/confirm", "/do"]:
                status, _, _ = self.request("POST", path, act, Cookie=cookie)
                self.assertEqual(status, 403, f"{path} {act}")
            status, _, _ = self.request("GET", f"/confirm?{act}")
            self.assertEqual(status, 403, act)
        self.assertEqual(self.request("POST", "/stop", "id=1", Cookie=cookie)[0], 403)
        for path in ["/edit?id=1", "/enqueue"]:
            self.assertEqual(self.request("GET", path)[0], 403)
        self.assertEqual(self.sql("SELECT * FROM sluice_actions"), before)
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_holds"), "0")

    def test_form_token(self):
        """A form that another site sends has no token, or that of another session."""
        self.serve()
        cookie, token = self.session()
        _, other = self.session()
        for body in ["act=hold&queue=mail/1", f"act=hold&queue=mail/1&token={other}", "act=hold&queue=mail/1&token="]:
            self.assertEqual(self.request("POST", "/do", body, Cookie=cookie)[0], 403, body)
        self.assertEqual(self.request("POST", "/do", f"act=hold&queue=mail/1&token={token}")[0], 403)
        # Nor is another session's question its own.
        body = "token=" + token.split("&")[0] + "&" + other.split("&")[1]
        self.assertEqual(self.request("POST", "/do", body, Cookie=cookie)[0], 409)
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_holds"), "0")
        # A refused parameter leaves the question open, and the act is the one that was asked about.
        self.assertEqual(self.request("POST", "/do", f"minutes=x&token={token}", Cookie=cookie)[0], 400)
        status, headers, _ = self.request("POST", "/do", f"act=hold&queue=mail/2&token={token}", Cookie=cookie)
        self.assertEqual((status, headers["Location"]), (303, "/queue?name=mail/1"))
        self.assertEqual(self.sql("SELECT scope FROM sluice_holds"), "mail/1")
        self.assertEqual(self.sql("SELECT act FROM sluice_audit"), "Hold: queue mail/1")
        # A question is answered once.
        again = self.request("POST", "/do", f"act=hold&queue=mail/1&token={token}", Cookie=cookie)
        self.assertEqual(again[0], 409)
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_holds"), "1")

    def test_hosts_and_origins(self):
        """DNS rebinding gives another site's name this address."""
        self.serve()
        port = self.port
        for host in [f"evil.example:{port}", "evil.example", f"localhost.evil.example:{port}", "", "1.2.3.4.example",
                     "1.2.3", "1.2.3.256", f"192.0.2.1:{port}"]:
            self.assertEqual(self.request("GET", "/", Host=host)[0], 403, host)
        for host in [f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"]:
            self.assertEqual(self.request("GET", "/", Host=host)[0], 200, host)
        cookie, token = self.session()
        body = f"act=hold&queue=mail/1&token={token}"
        for origin in ["http://evil.example", "null", f"http://127.0.0.1:{port + 1}"]:
            self.assertEqual(self.request("POST", "/do", body, Cookie=cookie, Origin=origin)[0], 403, origin)
        self.assertEqual(self.request("POST", "/do", body, Cookie=cookie, Sec_Fetch_Site="cross-site")[0], 403)
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_holds"), "0")
        origin = f"http://127.0.0.1:{port}"
        self.assertEqual(self.request("POST", "/do", body, Cookie=cookie, Origin=origin)[0], 303)

    def test_headers(self):
        self.serve()
        for path in ["/", "/queues", "/nothing-here", "/action?id=x"]:
            _, headers, _ = self.request("GET", path)
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Cache-Control"], "no-store")
        for method in ["GET", "POST"]:
            status, _, text = self.request(method, "/<nothing-here>")
            self.assertEqual(status, 404)
            self.assertIn("there is no page", text)
            self.assertNotIn("<nothing", text)
        _, headers, _ = self.request("GET", "/")
        for word in ["HttpOnly", "SameSite=Strict", "Path=/"]:
            self.assertIn(word, headers["Set-Cookie"])

    def test_limits(self):
        self.serve()
        cookie, token = self.session()
        body = f"token={token}&act=hold&queue=" + "x" * (9 * 1024 * 1024)
        self.assertIn(self.request_or_reset("POST", "/do", body, Cookie=cookie), (400, None))
        self.assertIn(self.request_or_reset("GET", "/", Long="x" * 100_000), (400, 431, None))
        self.assertEqual(self.request("GET", "/")[0], 200)

    def test_bodies_that_nobody_reads(self):
        """The connection of a request that was refused ends: waiting for its body would keep it."""
        self.serve()
        for line in [b"POST /do HTTP/1.1\r\nHost: evil.example", b"GET / HTTP/1.1\r\nHost: localhost",
                     b"PUT / HTTP/1.1\r\nHost: evil.example"]:
            for size in [b"Content-Length: 1000000000", b"Transfer-Encoding: chunked"]:
                with socket.create_connection((self.host, self.port), timeout=20) as connection:
                    connection.sendall(line + b"\r\n" + size + b"\r\n\r\n")
                    answer = b"".join(iter(lambda: connection.recv(65_536), b""))
                self.assertIn(b"connection: close", answer.lower())
                self.assertTrue(answer.endswith((b".\n", b"</html>\n", b"0\r\n\r\n")), answer[-50:])

    def request_or_reset(self, *arguments, **headers):
        try:
            return self.request(*arguments, **headers)[0]
        except (ConnectionError, OSError):
            return None

    def test_bad_fields(self):
        """Each is refused with a sentence, and no field is an error of the server."""
        self.serve()
        for path in ["/queues?state=none", "/queue", "/action?id=0", "/action?id=99999999999999999999", "/job?id=9",
                     "/dead?cause=none", "/queue?name=a&from=-1", "/holds?after=x", "/dead?after=77", "/dead?after=x-1", "/confirm?act=none", "/confirm?act=retryNow",
                     "/confirm?act=endHold&hold=x", "/live?view=/none", "/queue?name=%00", "/queues?after=x.y"]:
            status, _, text = self.request("GET", path)
            self.assertLess(status, 500, path)
            self.assertNotIn("has been logged", text, path)

    def test_a_link_of_another_site(self):
        """It comes without a cookie: a new one would end the session of the browser."""
        self.serve()
        status, headers, text = self.request("GET", "/queue?name=mail/1", Sec_Fetch_Site="cross-site",
                                             Sec_Fetch_Mode="navigate")
        self.assertEqual(status, 200)
        self.assertNotIn("Set-Cookie", headers)
        self.assertIn('url=/queue?name=mail/1"', text)
        for path in ["//evil.example/queues", "/\\evil.example/queues"]:
            _, _, text = self.request("GET", path, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")
            self.assertNotIn("evil", text, path)
        # What another site embeds or fetches is nothing.
        for path in ["/live?view=/", "/health"]:
            status, _, _ = self.request("GET", path, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")
            self.assertEqual(status, 403, path)

    def test_a_name_needs_tokens(self):
        done = self.start("serve", "--file", self.file, "--port", "0", "--host", "ops.example")
        self.assertEqual(done.wait(timeout=30), 64)

    def test_another_address_needs_tokens(self):
        done = self.start("serve", "--file", self.file, "--port", "0", "--address", "0.0.0.0")
        self.assertEqual(done.wait(timeout=30), 64)

    def test_token_files_that_others_can_read(self):
        tokens = self.folder / "tokens"
        tokens.write_text(TOKENS)
        os.chmod(tokens, 0o644)
        done = self.start("serve", "--file", self.file, "--port", "0", "--token-file", tokens)
        self.assertEqual(done.wait(timeout=30), 64)


class Tokens(Browsed):
    def setUp(self):
        super().setUp()
        tokens = self.folder / "tokens"
        tokens.touch(mode=0o600)
        tokens.write_text(TOKENS)
        self.enqueue("mail/1", {})
        self.serve("--token-file", tokens)

    def log_in(self, token):
        self.open("login")
        self.find("[name=key]").send_keys(token)
        self.press("Log in")

    def test_without_a_token(self):
        for path in ["/", "/queues", "/action?id=1&payload=show", "/live?view=/", "/health"]:
            status, headers, text = self.request("GET", path)
            self.assertEqual(status, 303, path)
            self.assertTrue(headers["Location"].startswith("/login"), path)
            self.assertNotIn("mail/1", text)
        self.assertEqual(self.request("POST", "/do", "act=hold&queue=mail/1")[0], 303)
        self.log_in("Xb3nH8eJd6RfCq1KzM0XyU")
        self.assertIn("unknown", self.text())
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_holds"), "0")

    def test_roles(self):
        self.log_in("Vb3nH8eJd6RfCq1KzM0XyU")
        self.assertIn("wall", self.text("header"))
        self.open("queue?name=mail/1")
        self.assertEqual(self.count(".acts"), 0)
        cookie = "; ".join(f"{c['name']}={c['value']}" for c in self.driver.get_cookies())
        self.assertEqual(self.request("POST", "/do", "act=hold&queue=mail/1", Cookie=cookie)[0], 403)
        live = self.stream("/live?view=/queue?name=mail/1", cookie)
        self.assertEqual(live.readline() + live.readline(), b"retry: 3000\n\n")
        self.assertIn("stopped", live.readline().decode() + live.readline().decode())
        self.press("Log out", within="header")
        # It ends, and what is enqueued later is not in it.
        self.enqueue("mail/1", {})
        self.assertNotIn('id=2', live.read().decode())
        self.assertIn("Token", self.text())
        self.assertEqual(self.request("GET", "/", Cookie=cookie)[0], 303)
        self.log_out_and_in_to_elsewhere()
        # It leads where one wanted to go.
        self.open("queue?name=mail/1")
        self.find("[name=key]").send_keys("p9ZcSgN4mYx2w7QkLr5TtA")
        self.press("Log in")
        self.assertIn("mail/1", self.text("h1"))
        self.press("Hold")
        self.confirm("Hold")
        self.assertEqual(self.sql("SELECT holder FROM sluice_holds"), "ada")
        self.open("audit")
        self.assertIn("ada", self.text("tbody tr"))

    def test_two_operators(self):
        """Of two who answer the same question, one skips; the audit names both."""
        self.enqueue("mail/1", {})
        first, second = self.driver, start()
        for driver, token in [(first, "p9ZcSgN4mYx2w7QkLr5TtA"), (second, "Jd8sKq2LwX5vBn7RtYc3ZmE")]:
            self.driver = driver
            self.log_in(token)
            self.open("queue?name=mail/1")
            self.press("Skip the head")
        self.driver = first
        self.confirm("Skip the head")
        self.assertIn("skipped", self.text(".notice"))
        self.driver = second
        self.confirm("Skip the head")
        self.assertIn("not skipped: it has another head now", self.text(".notice"))
        self.driver = first
        self.open("audit")
        self.assertEqual([row.split("\t")[1] for row in self.texts("#audit tbody tr")], ["bob", "ada"])
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_dead"), "1")

    def log_out_and_in_to_elsewhere(self):
        """A login leads to pages of this site alone, wherever its address would lead."""
        for place in ["//evil.example", "/\\evil.example", "/%09/evil.example", "https://evil.example", "/nothing"]:
            self.driver.delete_all_cookies()
            self.driver.get(f"{self.url}login?next={urllib.parse.quote(place, safe='%')}")
            self.find("[name=key]").send_keys("Vb3nH8eJd6RfCq1KzM0XyU")
            self.press("Log in")
            self.assertEqual(self.driver.current_url, self.url, place)
        self.press("Log out", within="header")

    def stream(self, path, cookie):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        self.addCleanup(connection.close)
        connection.request("GET", path, headers={"Cookie": cookie})
        return connection.getresponse()


class Prefix(Browsed):
    options = ("--prefix", "/ops/queues")

    def test_all_links(self):
        """Every link and form of every page stays under the prefix."""
        self.enqueue("mail/1", {})
        self.serve()
        self.assertTrue(self.url.endswith("/ops/queues/"))
        known, open_ = set(), ["/ops/queues/"]
        while open_:
            path = open_.pop()
            if path in known or len(known) > 60:
                continue
            known.add(path)
            status, _, text = self.request("GET", path)
            self.assertEqual(status, 200, path)
            for link in re.findall('(?:href|src|action|data-live)="([^"]*)"', text):
                link = link.replace("&amp;", "&")
                if link.startswith(("#", "data:")):
                    continue
                self.assertTrue(urllib.parse.urlsplit(link).path.startswith("/ops/queues/"), f"{link} on {path}")
                # A form's target alone is no page.
                if not re.search("/live|/do$|/confirm$", link):
                    open_.append(link)
        self.assertGreater(len(known), 15)
        self.open("queue?name=mail/1")
        self.press("Hold")
        self.confirm("Hold")
        self.assertIn("held", self.text())
        # Whoever forgets the prefix is led to it, and a slash more or less does not matter.
        for path, expected in [("/", 404), ("/ops", 404), ("/ops/queues", 200), ("/ops/queues//", 200)]:
            status, _, text = self.request("GET", path)
            self.assertEqual(status, expected, path)
            self.assertIn('href="/ops/queues/"', text, path)

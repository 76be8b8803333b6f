"""Requests that are no browser's, and what is written of them."""

import contextlib
import re
import socket
import sqlite3
import threading
import time

from served import Served
from test_access import TOKENS, form_token


class Protocol(Served):
    def raw(self, text):
        with socket.create_connection((self.host, self.port), timeout=20) as connection:
            connection.sendall(text)
            return b"".join(iter(lambda: connection.recv(65_536), b"")).decode()

    def test_two_hosts(self):
        self.enqueue("mail/1", {})
        self.serve()
        for hosts in ["Host: localhost\r\nHost: evil.example", "Host: evil.example\r\nHost: localhost",
                      "Host: localhost\r\nhost: localhost"]:
            answer = self.raw(f"GET /queues HTTP/1.1\r\n{hosts}\r\n\r\n".encode())
            self.assertTrue(answer.startswith("HTTP/1.1 400 "), answer[:80])

    def test_transfer_codings(self):
        """What is not known is not guessed."""
        self.serve_empty()
        for coding in ["xchunked", "gzip, chunked", "chunked\r\nTransfer-Encoding: identity"]:
            answer = self.raw(f"POST /do HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: {coding}\r\n\r\n"
                              "0\r\n\r\n".encode())
            self.assertRegex(answer, "^HTTP/1.1 (400|501) ", coding)

    def test_an_upload_that_breaks_off(self):
        """It is nobody's fault here: no line says that the page has failed."""
        self.serve_empty()
        _, headers, _ = self.request("GET", "/")
        cookie = headers["Set-Cookie"].split(";")[0]
        for _ in range(20):
            with socket.create_connection((self.host, self.port), timeout=20) as connection:
                connection.sendall(f"POST /do HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n"
                                   "Content-Length: 100000\r\n\r\nab".encode())
        self.assertEqual(self.request("GET", "/queues")[0], 200)
        self.assertNotIn("has failed", self.log())

    def serve_empty(self):
        self.tool("remove", str(self.enqueue("mail/0", {})))
        self.serve()

    def test_head(self):
        """Monitors send it: the answer is that of GET without its body."""
        self.serve_empty()
        for path, status in [("/", 200), ("/queues", 200), ("/page.css", 200), ("/healthz", 200), ("/nothing", 404)]:
            head = self.request("HEAD", path)
            self.assertEqual((head[0], head[2]), (status, ""), path)
            self.assertEqual(head[1].get("Content-Type"), self.request("GET", path)[1].get("Content-Type"))

    def test_a_locked_store(self):
        """It is not the request's fault."""
        self.enqueue("mail/1", {})
        self.serve()
        _, headers, _ = self.request("GET", "/")
        cookie = headers["Set-Cookie"].split(";")[0]
        _, _, text = self.request("GET", "/confirm?act=hold&queue=mail/1", Cookie=cookie)
        question = re.search('name="question" value="([0-9a-f]+)"', text).group(1)
        with contextlib.closing(sqlite3.connect(self.file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            body = f"token={form_token(text)}&question={question}"
            status, headers, text = self.request("POST", "/do", body, Cookie=cookie)
            other.execute("ROLLBACK")
        self.assertEqual(status, 503, text)
        self.assertIn("Retry-After", headers)

    def test_log_lines(self):
        """Each has its time, and who it is about."""
        self.enqueue("mail/1", {"text": "of ours"})
        self.serve()
        _, headers, _ = self.request("GET", "/")
        cookie = headers["Set-Cookie"].split(";")[0]
        path = "/action?id=1&payload=show"
        for _ in range(3):
            self.assertIn("of ours", self.request("GET", path, Cookie=cookie, X_Forwarded_For="192.0.2.7")[2])
        line = self.log().strip()
        self.assertRegex(line, r"^sluice: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z An operator has acted: ")
        self.assertIn('sluice.address="127.0.0.1, forwarded for 192.0.2.7"', line)
        # A payload that somebody sees has its line, once.
        self.assertEqual(self.sql("SELECT operator || ': ' || act FROM sluice_audit"),
                         "local: See the payload of action 1 of queue mail/1")
        self.assertNotIn("of ours", self.log())
        # The script's updates are no views.
        with socket.create_connection((self.host, self.port), timeout=20) as live:
            live.sendall(f"GET /live?view={path.replace('&', '%26')} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            while b"data:" not in live.recv(65_536):
                pass
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_audit"), "1")

    def test_many_log_ins(self):
        """Who tries tokens is slow and fills no log; who has one is let in at once."""
        self.enqueue("mail/1", {})
        tokens = self.folder / "tokens"
        tokens.touch(mode=0o600)
        tokens.write_text(TOKENS)
        self.serve("--token-file", tokens)
        statuses, is_over = [], threading.Event()

        def guess(number):
            while not is_over.is_set():
                statuses.append(self.request("POST", "/login", f"key=wrong{number:020}")[0])

        threads = [threading.Thread(target=guess, args=[number]) for number in range(16)]
        for thread in threads:
            thread.start()
        time.sleep(2)
        start = time.monotonic()
        status, _, _ = self.request("POST", "/login", "key=p9ZcSgN4mYx2w7QkLr5TtA")
        took = time.monotonic() - start
        time.sleep(2)
        is_over.set()
        for thread in threads:
            thread.join()
        self.assertEqual(status, 303)
        self.assertLess(took, 1)
        self.assertEqual(set(statuses), {403, 429})
        # Eight at the same time, a second each.
        self.assertLessEqual(statuses.count(403), 8 * 7)
        self.assertLessEqual(self.log().count("unknown token"), 2)

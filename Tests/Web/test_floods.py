"""Connections that are held without a login, beside operators who work."""

import contextlib
import os
import re
import socket
import threading
import time

from served import Served
from test_access import TOKENS

# `make test-all` holds fewer for some seconds; SLUICE_FLOOD_SECONDS=600 holds a thousand for ten minutes.
SECONDS = int(os.environ.get("SLUICE_FLOOD_SECONDS", "4"))
COUNT = 1_000 if SECONDS >= 60 else 300


class Flood(threading.Thread):
    """Holds connections that each have sent something, and opens each again that is closed."""

    def __init__(self, host, port, count, text):
        super().__init__(daemon=True)
        self.place, self.count, self.text = (host, port), count, text
        self.is_over = threading.Event()
        self.opened = 0

    def run(self):
        held = []
        while not self.is_over.is_set():
            held = [connection for connection in held if self.is_open(connection)]
            for _ in range(min(self.count - len(held), 100)):
                with contextlib.suppress(OSError):
                    connection = socket.create_connection(self.place, timeout=2)
                    connection.sendall(self.text)
                    connection.setblocking(False)
                    held.append(connection)
                    self.opened += 1
            self.is_over.wait(0.2)
        for connection in held:
            connection.close()

    @staticmethod
    def is_open(connection):
        try:
            while connection.recv(65_536):
                pass
        except BlockingIOError:
            return True
        except OSError:
            pass
        connection.close()
        return False


class Floods(Served):
    def setUp(self):
        super().setUp()
        self.enqueue("mail/1", {})

    def flood(self, text, count=COUNT):
        flood = Flood(self.host, self.port, count, text)
        flood.start()
        self.addCleanup(flood.join)
        self.addCleanup(flood.is_over.set)
        end = time.monotonic() + 60
        while flood.opened < count:
            self.assertLess(time.monotonic(), end, f"only {flood.opened} connections")
            time.sleep(0.05)
        return flood

    def work(self, cookie, seconds):
        """Looks and acts as an operator does, on new connections, and returns the times of the answers in order."""
        times, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            for path in ["/", "/queues", "/queue?name=mail/1", "/page.js"]:
                start = time.monotonic()
                status, _, text = self.request("GET", path, Cookie=cookie)
                times.append(time.monotonic() - start)
                self.assertEqual(status, 200, f"{path}: {text}")
            time.sleep(0.1)
        return sorted(times)

    def report(self, name, times):
        """Prints how long an operator waited, and fails if it was long."""
        first, median, late = (times[int(len(times) * part)] * 1_000 for part in (0, 0.5, 0.99))
        worst = times[-1] * 1_000
        print(f"reliability: web, {name}: {COUNT} for {SECONDS} s, {len(times)} answers in {first:.0f} to {worst:.0f} ms, "
              f"median {median:.0f} ms, p99 {late:.0f} ms")
        self.assertLess(worst, 5_000)

    def log_in(self):
        tokens = self.folder / "tokens"
        tokens.touch(mode=0o600)
        tokens.write_text(TOKENS)
        self.serve("--token-file", tokens)
        return self.new_session()

    def new_session(self):
        status, headers, _ = self.request("POST", "/login", "key=p9ZcSgN4mYx2w7QkLr5TtA")
        self.assertEqual(status, 303)
        return headers["Set-Cookie"].split(";")[0]

    def test_silent_connections(self):
        """Also beside them somebody can log in."""
        cookie = self.log_in()
        self.flood(b"")
        times = self.work(cookie, SECONDS)
        self.work(self.new_session(), 2)
        self.report("silent connections", times)

    def test_half_requests(self):
        cookie = self.log_in()
        self.flood(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        self.assertLess(self.work(cookie, 2)[-1], 5)

    def ask_for_updates(self, live, cookie):
        # The cookie's name has the port that the browser has opened.
        live.sendall(
            f"GET /live?view=/ HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nCookie: {cookie}\r\n\r\n".encode())

    def read_until(self, live, text):
        """Reads live updates until they have a text."""
        read = b""
        while text not in read:
            part = live.recv(65_536)
            self.assertNotEqual(part, b"", f"the live updates have ended without {text}: {read}")
            read += part

    def test_an_operator_who_comes_during_a_flood(self):
        """One who has a cookie and comes back stays."""
        self.serve()
        self.flood(b"GET /live?view=/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
        cookie, headers = None, self.request("GET", "/")[1]
        # A browser takes the newest.
        while "Set-Cookie" in headers:
            cookie = headers["Set-Cookie"].split(";")[0]
            headers = self.request("GET", "/", Cookie=cookie)[1]
        with socket.create_connection((self.host, self.port), timeout=10) as live:
            self.ask_for_updates(live, cookie)
            self.read_until(live, b"event: part")
            self.work(cookie, 2)
            self.enqueue("mail/2", {})
            self.read_until(live, b"mail\\/2")

    def test_live_updates_of_strangers(self):
        """Where nobody logs in, a browser that has come back is an operator."""
        self.serve()
        cookie = self.request("GET", "/")[1]["Set-Cookie"].split(";")[0]
        self.assertNotIn("Set-Cookie", self.request("GET", "/", Cookie=cookie)[1])
        self.flood(b"GET /live?view=/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
        times = self.work(cookie, SECONDS)
        with socket.create_connection((self.host, self.port), timeout=10) as live:
            self.ask_for_updates(live, cookie)
            self.read_until(live, b"event: part")
            # It goes on, too.
            self.work(cookie, 2)
            self.enqueue("mail/2", {})
            self.read_until(live, b"mail\\/2")
        self.report("live updates of strangers", times)

    def test_a_connection_without_a_request_ends(self):
        """Also if a byte comes now and then."""
        self.serve()
        start = time.monotonic()
        with socket.create_connection((self.host, self.port), timeout=1) as silent, \
                socket.create_connection((self.host, self.port), timeout=1) as dripping:
            dripping.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
            while not self.has_ended(dripping, b"x"):
                self.assertLess(time.monotonic() - start, 20)
            while not self.has_ended(silent):
                self.assertLess(time.monotonic() - start, 20)

    @staticmethod
    def has_ended(connection, text=b""):
        """Sends something, and waits for a second whether the other end has closed the connection."""
        try:
            connection.sendall(text)
            return connection.recv(1) == b""
        except TimeoutError:
            return False
        except ConnectionError:
            return True

    def test_live_updates_of_one_session(self):
        """Its oldest ones end, and those of others go on."""
        self.serve()
        cookie = self.request("GET", "/")[1]["Set-Cookie"].split(";")[0]
        lives = []
        for _ in range(20):
            live = socket.create_connection((self.host, self.port), timeout=10)
            self.addCleanup(live.close)
            self.ask_for_updates(live, cookie)
            self.assertTrue(re.match(rb"HTTP/1.1 200", live.recv(12)))
            lives.append(live)
        text = b""
        while not text.endswith(b"0\r\n\r\n"):
            part = lives[0].recv(65_536)
            self.assertNotEqual(part, b"")
            text += part
        self.assertEqual(self.request("GET", "/", Cookie=cookie)[0], 200)

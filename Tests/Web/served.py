"""A file or a server with queues, the page that serves it, and what runs it."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Which build is served: users have the other one, and each has faults of its own.
BUILD = os.environ.get("SLUICE_BUILD", "debug")
if BUILD not in ("debug", "release"):
    raise SystemExit(f"web: SLUICE_BUILD is {BUILD}: give debug or release")
TOOL = ROOT / ".build" / BUILD / "sluice"

# What the sender of the tests does with a message: its text says how it ends.
SENDER = """
text=$(cat)
case $text in
*"no such room"*) echo 'no such room' >&2; exit 65 ;;
*unreachable*) echo 'connection refused' >&2; exit 1 ;;
esac
"""


class Served(unittest.TestCase):
    """A test with a file of its own, and a page on a free port."""

    options = ()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "q.sqlite"
        self.store = ["--file", self.file]
        self.processes = []
        self.addCleanup(self.end_all)

    def tool(self, *arguments, text=None):
        """What a verb of the tool prints."""
        done = subprocess.run(
            [TOOL, arguments[0], *self.store, *arguments[1:]],
            input=text, capture_output=True, text=True, check=False,
        )
        if done.returncode not in (0, 1):
            raise AssertionError(f"sluice {' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    def enqueue(self, queue, payload, kind="send-message"):
        """The number of a new action."""
        return int(self.tool("enqueue", "--queue", queue, "--kind", kind, "--payload", json.dumps(payload)))

    def sql(self, query):
        """What the shell of the store prints for a query."""
        done = subprocess.run(
            ["sqlite3", "-cmd", ".timeout 5000", self.file, query], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def start(self, *arguments, errors=subprocess.DEVNULL):
        process = subprocess.Popen(
            [TOOL, *arguments], stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
        )
        self.processes.append(process)
        return process

    def run_queues(self, *arguments):
        """Starts what sends the messages."""
        return self.start("run", *self.store, "--exec", SENDER, *arguments)

    def serve(self, *arguments):
        """Starts the page, and remembers its address once it serves."""
        self.page = self.start(
            "serve", *self.store, "--port", "0", *self.options, *arguments,
            errors=open(self.folder / "log", "w"),
        )
        self.url = self.page.stdout.readline().strip()
        if not self.url:
            raise AssertionError(f"the page has not started: {(self.folder / 'log').read_text()}")
        host = self.url.split("/")[2]
        self.host, self.port = host.rsplit(":", 1)[0], int(host.rsplit(":", 1)[1])

    def log(self):
        return (self.folder / "log").read_text()

    def end(self, process, how=signal.SIGTERM):
        if process.poll() is None:
            process.send_signal(how)
        process.wait(timeout=30)
        process.stdout.close()
        self.processes.remove(process)

    def end_all(self):
        for process in list(self.processes):
            self.end(process)

    def request(self, method, path, body=None, **headers):
        """The answer of a plain request: status, headers, text."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            names = {name.replace("_", "-"): value for name, value in headers.items()}
            if body is not None:
                names.setdefault("Content-Type", "application/x-www-form-urlencoded")
            connection.request(method, path, body, names)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()
        finally:
            connection.close()


class OnServer:
    """The same with the queues on a PostgreSQL server of its own, for a test that is the other base."""

    def setUp(self):
        if not shutil.which("psql"):
            self.skipTest("there is no psql")
        server = subprocess.Popen(
            [ROOT / ".ci/postgres"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        line = server.stdout.readline()
        self.addCleanup(self.end_server, server)
        if not line:
            self.skipTest("there is no server of PostgreSQL")
        self.place = line.split()[0]
        super().setUp()
        self.store = ["--postgres", f"postgres:///postgres?host={self.place}&user=postgres"]

    @staticmethod
    def end_server(server):
        # Its input ends.
        server.communicate(timeout=60)

    def sql(self, query):
        done = subprocess.run(
            ["psql", "-h", self.place, "-U", "postgres", "-At", "-c", query],
            env={**os.environ, "PGOPTIONS": "-c search_path=sluice"}, capture_output=True, text=True, check=True,
        )
        return done.stdout.strip()

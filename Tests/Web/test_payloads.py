"""Lists of actions and dead letters whose payloads have megabytes: a list sends none, and reads none."""

import unittest
from pathlib import Path

from served import OnServer, Served

COUNT = 12
SIZE = 4_000_000


@unittest.skipUnless(Path("/proc/self/clear_refs").exists(), "the most memory of a process is not known here")
class Payloads(Served):
    # A text of many letters, in the words of the store.
    text = f"printf('%.{SIZE}c', 'x')"

    def fill(self):
        # Makes the store.
        self.enqueue("first", {})
        numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {COUNT})"
        for queue in ["'long'", "'mail/' || i"]:
            self.sql(f"{numbers} INSERT INTO sluice_actions (queue, kind, payload) "
                     f"SELECT {queue}, 'letter', '\"' || {self.text} || '\"' FROM n")
        for number in range(1, COUNT + 1):
            self.tool("skip", f"mail/{number}")

    def memory(self, name):
        lines = Path(f"/proc/{self.page.pid}/status").read_text().split("\n")
        return next(int(line.split()[1]) * 1_024 for line in lines if line.startswith(name))

    def growth(self, path, cookie):
        """How much more memory the page's process has had for a request, at most."""
        Path(f"/proc/{self.page.pid}/clear_refs").write_text("5")
        before = self.memory("VmRSS")
        status, _, text = self.request("GET", path, Cookie=cookie)
        self.assertEqual(status, 200, text)
        return text, self.memory("VmHWM") - before

    def test_lists(self):
        self.fill()
        self.serve()
        cookie = self.request("GET", "/")[1]["Set-Cookie"].split(";")[0]
        for path, count in [
            ("/queue?name=long", COUNT), ("/queue?name=long&from=5", COUNT - 5), ("/dead", COUNT),
            ("/dead?name=MAIL&cause=skipped", COUNT), ("/dead?queue-pattern=mail/*&kind=letter", COUNT),
        ]:
            # The first request of a page needs memory for its code.
            self.request("GET", path, Cookie=cookie)
            text, growth = self.growth(path, cookie)
            self.assertEqual(text.count("<tr data-key="), count, path)
            self.assertLess(growth, 2 * SIZE, path)
        for query in ["act=cancel&scope=matching&queue=long", "act=requeue&scope=matching"]:
            text, growth = self.growth(f"/confirm?{query}", cookie)
            self.assertIn(f"{COUNT} in all", text)
            self.assertLess(growth, 2 * SIZE, query)


class PayloadsOnServer(OnServer, Payloads):
    """The same on a server, which sends no payload either."""

    text = f"repeat('x', {SIZE})"

"""Each act on 5,000 at once, and one whose process is killed on the way."""

import os
import re
import signal
import time

from served import Served, OnServer

# As many as in a release build would take a debug build minutes.
COUNT = 5_000 if os.environ.get("SLUICE_BUILD") == "release" else 500


class Asked(Served):
    """Plain requests that ask and answer, as a browser does."""

    def setUp(self):
        super().setUp()
        self.cookie = None

    def get(self, path):
        headers = {"Cookie": self.cookie} if self.cookie else {}
        status, answer, text = self.request("GET", path, **headers)
        self.cookie = answer["Set-Cookie"].split(";")[0] if "Set-Cookie" in answer else self.cookie
        self.assertEqual(status, 200, f"{path}: {text}")
        return text

    def begin(self, act, count=COUNT):
        """Begins an act on all that match, and returns the path of its job."""
        self.get("/")
        question = self.get(f"/confirm?scope=matching&act={act}")
        self.assertIn(f"{count} in all", question)
        fields = [re.search(f'name="{name}" value="([0-9a-f]+)"', question).group(1) for name in ("token", "question")]
        status, headers, text = self.request(
            "POST", "/do", f"token={fields[0]}&question={fields[1]}", Cookie=self.cookie)
        self.assertEqual(status, 303, text)
        return headers["Location"]

    def until(self, condition, what, seconds=300):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.01)

    def act(self, act, result, sql):
        """Does one act, and compares what its page and the store say."""
        with self.subTest(act):
            job = self.begin(act)
            self.until(lambda: f"{COUNT} of {COUNT}, ended" in self.get(job), f"{act} does not end")
            self.assertIn(f"{COUNT} {result}", self.get(job))
            self.assertEqual(self.sql(sql), str(COUNT))
            self.assertRegex(self.sql("SELECT result FROM sluice_audit ORDER BY id DESC LIMIT 1"),
                             f"^{COUNT} {result}")

    def import_actions(self, count, queue="mail/", field='{"name":"%05d"}'):
        lines = self.folder / "lines"
        lines.write_text("".join(field % number + "\n" for number in range(count)))
        self.tool("enqueue", "--from", lines, "--kind", "k", "--queue-prefix", queue, "--queue-field", "name")


class Bulk(Asked):
    def test_every_act_on_many(self):
        self.import_actions(COUNT)
        self.serve()
        holds, count = "SELECT count(*) FROM sluice_holds", "SELECT count(*) FROM "
        self.act("hold", "held", holds)
        self.act("endHolds", "hold ended", f"SELECT {COUNT} + count(*) FROM sluice_holds")
        self.act("hold", "held", holds)
        self.act("endHold&", "ended", f"SELECT {COUNT} + count(*) FROM sluice_holds")
        self.act("retryNow", "nothing to end", count + "sluice_actions")
        self.act("skipHead", "skipped", count + "sluice_dead")
        self.act("requeue", "requeued", count + "sluice_actions")
        self.act("skipHead", "skipped", count + "sluice_dead")
        self.act("purge", "purged", f"SELECT {COUNT} + count(*) FROM sluice_dead")
        self.import_actions(COUNT)
        self.act("cancelAll", "removed", f"SELECT {COUNT} + count(*) FROM sluice_actions")
        self.import_actions(COUNT, field='{"name":"all","n":%d}')
        self.act("move&queue=mail/all&to=mail/other", "done",
                 count + "sluice_actions WHERE queue = 'mail/other'")
        self.act("cancel&queue=mail/other", "removed", f"SELECT {COUNT} + count(*) FROM sluice_actions")
        numbers = f"WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {COUNT})"
        self.sql(f"{numbers} INSERT INTO sluice_gates (gate, state) SELECT 'g/' || i, 'open' FROM n")
        gates = count + "sluice_gates WHERE state = "
        self.act("closeGate", "closed", gates + "'closed'")
        self.act("openGate", "opened", gates + "'open'")
        self.assertIsNone(self.page.poll())

    def test_the_process_ends_on_the_way(self):
        """The next one says in the audit log how far the act came."""
        self.import_actions(COUNT)
        self.serve()
        self.begin("hold")
        progress = "SELECT count(*) FROM sluice_audit WHERE result LIKE 'so far %'"
        self.until(lambda: self.sql(progress) != "0", "there is no note of the progress")
        self.end(self.page, signal.SIGKILL)
        last = self.sql("SELECT result FROM sluice_audit ORDER BY id DESC LIMIT 1")
        noted, held = int(re.match(f"so far (\\d+) of {COUNT}: ", last).group(1)), self.held()
        self.assertLess(held, COUNT)
        self.assertLessEqual(noted, held)
        self.serve()
        lost = "SELECT act || ': ' || result FROM sluice_audit WHERE result LIKE 'its process has ended%'"
        self.until(lambda: self.sql(lost) != "", "the lost act is not found")
        self.assertRegex(self.sql(lost), f"^Job 1-[0-9a-f]{{8}}: Hold: all queues with work: its process has ended "
                                         f"before it; the last that it wrote: {last}$")
        self.assertIn(last, self.get("/audit"))
        self.assertEqual(self.held(), held)

    def held(self):
        return int(self.sql("SELECT count(*) FROM sluice_holds"))


class BulkOnServer(OnServer, Asked):
    """One act on PostgreSQL."""

    def test_hold(self):
        self.import_actions(COUNT)
        self.serve()
        self.act("hold", "held", "SELECT count(*) FROM sluice_holds")


"""A page whose file is replaced, as when a backup is restored."""

import datetime
import shutil
import time

from browser import Browsed


class Replaced(Browsed):
    def health(self, **headers):
        status, _, text = self.request("GET", "/healthz", **headers)
        return status, text.strip()

    def logged_at(self, text):
        """When a line was logged, by the wall clock."""
        line = next(line for line in self.log().splitlines() if text in line)
        return datetime.datetime.fromisoformat(line.split()[1]).timestamp()

    def queues(self):
        # Live updates leave rows that are gone where they are.
        self.open("queues")
        return self.texts("tbody th")

    def restore(self, copy):
        """As `cp` and `mv` do it: another file under the same name."""
        for end in ["", "-wal", "-shm"]:
            file = self.folder / f"q.sqlite{end}"
            if file.exists():
                file.rename(self.folder / f"old{end}")
        if copy:
            shutil.copy(copy, self.folder / "new")
            (self.folder / "new").rename(self.file)

    def test_a_restored_file(self):
        """The page opens it by itself, and its old questions mean nothing any more."""
        self.enqueue("mail/restored", {})
        copy = self.folder / "copy"
        self.tool("backup", str(copy))
        self.enqueue("mail/lost", {})
        self.serve()
        self.open("queue?name=mail/restored")
        self.press("Skip the head")
        question = self.new_tab()
        self.open("queues")
        self.wait_for_text("mail/lost")
        self.assertEqual(self.health(), (200, "ok"))
        # Without a fact, and whatever the host is called: supervisors ask by any name.
        self.assertEqual(self.health(Host="sluice.internal"), (200, "ok"))
        self.restore(None)
        self.wait(lambda: self.health()[0] == 503, "the page is healthy without its file")
        self.assertNotIn("sqlite", self.health()[1])
        self.wait_for_text("replaced", "#error")
        self.wait(lambda: self.health()[1] == "the file was replaced, and is being opened again", "nobody opens it")
        self.assertFalse(self.file.exists(), "a new file was made")
        self.restore(copy)
        self.wait(lambda: self.health() == (200, "ok"), "the page is not healthy again")
        # A supervisor would start a page anew that says for long that it is ill.
        opened, healthy = self.logged_at("The file was opened again"), time.time()
        self.assertLess(healthy - opened, 3, "unhealthy long after the file was opened")
        self.assertNotIn("Failure(", self.log())
        self.wait(lambda: self.text("#error") == "", "the error stays")
        self.wait(lambda: self.queues() == ["mail/restored"], "these are the old queues")
        self.driver.switch_to.window(question)
        self.press("Skip the head")
        self.assertIn("not open", self.text())
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_dead"), "0")
        self.open("queue?name=mail/restored")
        self.press("Hold")
        self.confirm("Hold")
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_holds"), "1")
        self.assertIn("The file was replaced, and is opened again", self.log())
        self.assertIn("The file was opened again", self.log())

    def test_a_file_that_takes_its_place_at_once(self):
        self.enqueue("mail/1", {})
        copy = self.folder / "copy"
        self.tool("backup", str(copy))
        self.enqueue("mail/2", {})
        self.serve()
        self.open("queues")
        self.wait_for_text("mail/2")
        self.restore(copy)
        self.wait(lambda: "The file was opened again" in self.log(), "the file is not opened again")
        self.wait(lambda: self.queues() == ["mail/1"], "these are the old queues")

"""Lists of several pages: where an act leads back to, and pages whose rows are gone. Times that no clock should have."""

import re

from browser import Browsed


class Lists(Browsed):
    def import_dead(self, count):
        self.enqueue("mail/1", {}, kind="letter")
        self.insert("'mail/' || i, 'letter', '{}'", f"2 AND {count}")
        self.tool("drain", "--exec", "exit 65", "--on-failure", "skip", "--deadline", "60s", "--queue", "mail/*")

    def insert(self, columns, numbers):
        self.sql("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO sluice_actions "
                 f"(queue, kind, payload) SELECT {columns} FROM n WHERE i BETWEEN {numbers}")

    def test_an_act_leads_back_to_its_list(self):
        """With the filter and the page."""
        self.import_dead(60)
        self.serve()
        self.open("dead?kind=LETTER")
        self.press("Next page")
        place = self.driver.current_url
        rows = self.texts("tbody th")
        self.assertEqual(len(rows), 10)
        self.click("tbody tr:nth-child(1) input")
        self.click("tbody tr:nth-child(2) input")
        self.press("Requeue")
        self.confirm("Requeue")
        self.wait_for_text("2 of 2, ended: 2 requeued", "#progress")
        self.press("Back to the list")
        self.assertEqual(self.driver.current_url, place)
        self.assertEqual(self.texts("tbody th"), rows[2:])
        self.click("tbody tr:nth-child(1) input")
        self.press("Requeue")
        self.press("Cancel")
        self.assertEqual(self.driver.current_url, place)
        # One that is done at once, too.
        self.click("tbody tr:nth-child(1) input")
        self.press("Requeue")
        self.confirm("Requeue")
        self.assertEqual(self.driver.current_url, place)
        self.assertEqual(self.texts("tbody th"), rows[3:])

    def test_the_count_is_that_of_the_list(self):
        """Also of dead letters that are newer than the facts which the page reads now and then."""
        self.enqueue("other", {})
        self.serve()
        self.open("dead")
        self.import_dead(3)
        self.open("dead")
        self.assertEqual(self.count("tbody tr"), 3)
        self.assertEqual(self.text("#count"), "3 dead letters in all")

    def test_a_page_that_has_become_empty(self):
        """It says that there are others, and leads to them."""
        self.import_dead(51)
        self.insert("'long', 'k', '{}'", "1 AND 51")
        self.insert("'z/' || i, 'k', '{}'", "1 AND 51")
        self.serve()
        for list_, change in [
            ("dead?kind=letter", "DELETE FROM sluice_dead WHERE id = {}"),
            ("queues?name=z/&sort=name", "DELETE FROM sluice_actions WHERE queue = '{}'"),
            ("queue?name=long", "DELETE FROM sluice_actions WHERE id = {}"),
        ]:
            self.open(list_)
            self.wait(lambda: self.count("tbody tr") == 50, "no first page")
            self.press("Next page")
            self.assertEqual(self.count("tbody th"), 1, list_)
            self.sql(change.format(self.texts("tbody th")[0]))
            self.wait(lambda: "tbody" not in self.reloaded(), f"{list_}: the row stays")
            self.assertIn("follow here", self.text())
            self.press("Show the first page")
            self.assertEqual(self.count("tbody th"), 50, list_)
        # A place stays one when what it was taken from is gone.
        self.open("dead?kind=letter")
        letter = self.texts("tbody th")[9]
        place = self.sql(f"SELECT died_at_us || '-' || id FROM sluice_dead_rows WHERE id = {letter}")
        self.open(f"dead?after={place}")
        rows = self.texts("tbody th")
        self.sql(f"DELETE FROM sluice_dead WHERE id = {letter}")
        self.driver.refresh()
        self.assertEqual(self.texts("tbody th"), rows)

    def reloaded(self):
        self.driver.refresh()
        return self.driver.page_source

    def test_a_browser_whose_clock_is_wrong(self):
        """Ages are those of the server's clock."""
        self.enqueue("mail/1", {})
        self.serve()
        script = """
            const now = Date.now;
            Date.now = () => now() - 600_000;
            Object.defineProperty(performance, "timeOrigin", { value: performance.timeOrigin - 600_000 });"""
        added = self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
        self.addCleanup(self.driver.execute_cdp_cmd, "Page.removeScriptToEvaluateOnNewDocument", added)
        self.open("queues")
        self.wait(lambda: re.fullmatch(r"\d+ s ago", self.text("tbody time")), "the age is another")

    def test_a_time_far_away(self):
        """As a broken clock gives it."""
        self.enqueue("mail/1", {})
        self.insert("'far', 'k', '{}'", "1 AND 1")
        self.sql("UPDATE sluice_actions SET not_before = 900000000000000000 WHERE queue = 'far'")
        self.serve()
        self.open("queue?name=far")
        self.driver.execute_script("run()")
        self.assertRegex(self.text("#actions"), r"in \d+ d \d+ h")
        self.assertNotIn("NaN", self.text())

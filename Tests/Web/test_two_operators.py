"""Two who act at the same time: nothing is done twice, and nothing that one of them has not seen."""

import concurrent.futures
import re

from browser import Browsed


class TwoOperators(Browsed):
    def test_skip_of_a_selection_after_another(self):
        """Of queues whose heads another operator has skipped, the next actions stay."""
        for queue in ["mail/1", "mail/2"]:
            self.enqueue(queue, {})
            self.enqueue(queue, {})
        self.serve()
        self.open("queues?sort=name")
        self.click("tbody tr:nth-child(1) input")
        self.click("tbody tr:nth-child(2) input")
        self.press("Skip the head")
        for queue in ["mail/1", "mail/2"]:
            self.tool("skip", queue)
        self.confirm("Skip the head")
        self.wait_for_text("2 not skipped", "#progress")
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_dead"), "2")

    def test_skips_at_the_same_time(self):
        """Of two who skip the same head, one does."""
        for number in range(20):
            for _ in range(3):
                self.enqueue(f"mail/{number}", {})
        self.serve()
        _, headers, text = self.request("GET", "/confirm?act=hold&queue=mail/1")
        cookie = headers["Set-Cookie"].split(";")[0]
        heads = self.sql("SELECT queue || ' ' || head_id FROM sluice_queues").split("\n")
        for line in heads:
            queue, head = line.split()
            bodies = []
            for _ in range(2):
                _, _, text = self.request("GET", f"/confirm?act=skipHead&queue={queue}&head={head}", Cookie=cookie)
                fields = re.findall('name="([^"]+)" value="([^"]*)"', text)
                bodies.append("&".join(f"{name}={value}" for name, value in fields))
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda body: self.request("POST", "/do", body, Cookie=cookie), bodies))
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_dead"), "20")

    def test_what_matches_after_the_question(self):
        """It is left alone: the act is done to what was counted."""
        self.enqueue("mail/1", {})
        self.serve()
        self.open("queues?name=mail/*")
        self.click("[name=scope][value=matching]")
        self.press("Remove all actions")
        self.assertIn("1 in all", self.text())
        for number in range(2, 5):
            self.enqueue(f"mail/{number}", {})
        self.driver.switch_to.new_window("tab")
        self.open("queues?name=mail/*")
        self.wait_for_text("4 queues of 4")
        self.driver.close()
        self.driver.switch_to.window(self.driver.window_handles[0])
        self.confirm("Remove all actions")
        self.assertIn("queue mail/1: removed", self.text(".notice"))
        self.assertEqual(self.sql("SELECT group_concat(queue) FROM sluice_actions"), "mail/2,mail/3,mail/4")
        # One that matched is named.
        self.assertIn("queue mail/1", self.sql("SELECT act FROM sluice_audit"))

    def test_edit_of_an_edited_payload(self):
        """The second who stores is told, and nothing is lost."""
        action = self.enqueue("mail/1", {"n": 1})
        self.serve()
        self.open(f"edit?id={action}")
        area = self.find("textarea")
        area.clear()
        area.send_keys('{"n": 2}')
        self.press("Check and compare")
        self.tool("edit", str(action), "--payload", '{"n": 3}')
        self.confirm("Store it only")
        self.assertIn("somebody else has changed", self.text())
        self.assertEqual(self.sql("SELECT payload ->> 'n' FROM sluice_actions"), "3")

    def test_each_sees_what_the_other_does(self):
        self.enqueue("mail/1", {})
        self.serve()
        self.open("queue?name=mail/1")
        first = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        second = self.driver.current_window_handle
        try:
            self.open("queue?name=mail/1")
            self.press("Hold")
            self.find("[name=reason]").send_keys("the other")
            self.confirm("Hold")
            self.driver.switch_to.window(first)
            self.wait_for_text("the other", "#status")
        finally:
            self.driver.switch_to.window(second)
            self.driver.close()
            self.driver.switch_to.window(first)

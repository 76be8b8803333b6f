"""A conversation is stuck: find out why, and fix it."""

import json

from selenium.webdriver.common.keys import Keys

from browser import Browsed
from served import OnServer


class Stuck(Browsed):
    def test_why_and_fix(self):
        """The overview leads to the queue, the queue says why, and one act lets it continue."""
        self.enqueue("conversation/7", {"text": "to no such room"})
        self.enqueue("conversation/7", {"text": "hello"})
        self.enqueue("conversation/8", {"text": "hello"})
        self.run_queues()
        # The overview also shows queues that nobody runs yet.
        state = "SELECT state FROM sluice_queues WHERE queue = 'conversation/7'"
        self.wait(lambda: self.sql(state) == "parked", "the queue is not parked")
        self.serve()
        self.open()
        self.wait_for_text("conversation/7", "#trouble")
        self.press("conversation/7")
        self.assertIn("no such room", self.text("#status"))
        self.assertIn("parked", self.text("#status"))
        self.press("Skip the head")
        self.confirm("Skip the head")
        self.assertIn("skipped", self.text())
        self.wait_for_text("no actions", "#status")
        self.wait(lambda: "Skip the head" not in self.texts("#acts a"), "there is nothing to skip")
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_actions"), "0")
        self.assertEqual(self.sql("SELECT error FROM sluice_dead"), "skipped by local; last error: exited with 65: no such room")

    def test_held(self):
        """A queue that somebody holds is on the overview, and is found by a part of its name."""
        self.enqueue("conversation/9", {"text": "hello"})
        self.tool("hold", "--queue", "conversation/9", "--reason", "server moves")
        self.run_queues()
        self.serve()
        self.open()
        self.wait_for_text("server moves", "#trouble")
        # One that comes while somebody looks does not move what they look at.
        self.enqueue("conversation/10", {"text": "no such room"})
        self.wait_for_text("The list has changed", "#stale")
        self.assertNotIn("conversation/10", self.text("#trouble"))
        self.press("Show it as it is now")
        self.wait_for_text("conversation/10", "#trouble")
        self.find("[name=name]").send_keys("tion/9")
        self.press("Find")
        self.press("conversation/9")
        self.assertNotIn("Retry now", self.texts("#acts a"))
        self.press("End holds")
        self.confirm("End holds")
        self.wait_for_text("no actions", "#status")

    def test_edit_and_retry(self):
        """The payload is mended, compared before it is stored, and the head is tried again."""
        action = self.enqueue("conversation/7", {"text": "to no such room", "number": 9007199254740993})
        self.run_queues()
        self.serve()
        self.open("queue?name=conversation/7")
        self.wait_for_text("parked", "#status")
        self.open(f"action?id={action}")
        self.assertNotIn("9007199254740993", self.driver.page_source)
        self.press("Show the payload")
        self.assertIn("9007199254740993", self.text(".payload"))
        self.press("Edit the payload")
        area = self.find("textarea")
        payload = json.loads(area.get_attribute("value"))
        payload["text"] = "to the kitchen"
        area.clear()
        # A slip loses nothing of the text.
        area.send_keys(json.dumps(payload, indent=2).replace("}", ""))
        self.press("Check and compare")
        self.assertIn("no JSON", self.text(".notice.bad"))
        self.find("textarea").send_keys(Keys.CONTROL, Keys.END)
        self.find("textarea").send_keys(Keys.ENTER, "}")
        self.press("Check and compare")
        self.assertIn("to the kitchen", self.text(".added"))
        self.assertIn("to no such room", self.text(".removed"))
        # 64 bits are not rounded.
        self.assertIn("9007199254740993", self.text(".diff section:nth-child(2)"))
        self.confirm("Store it, and retry its queue now")
        self.assertIn("stored, and its queue is tried now", self.text())
        # The queue shows what came of it.
        self.assertIn("conversation/7", self.text("h1"))
        self.wait_for_text("no actions", "#status")
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_actions"), "0")
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_dead"), "0")


class StuckOnServer(OnServer, Stuck):
    """The same with the queues on PostgreSQL."""

"""A customer asks where a message is: it is found, whatever has become of it."""

from browser import Browsed


class Search(Browsed):
    def setUp(self):
        super().setUp()
        for queue in ["conversation/Ada-Lovelace", "conversation/Ada-Byron", "conversation/bob"]:
            self.enqueue(queue, {"text": "no such room"}, kind="Send-Message")
        self.tool("drain", "--exec", "echo 'no such room' >&2; exit 65", "--on-failure", "skip", "--deadline", "60s")
        self.enqueue("conversation/Carol", {}, kind="Send-Message")
        self.serve()

    def find_queue(self, name):
        self.open()
        self.find("[name=name]").send_keys(name)
        self.press("Find")

    def test_a_dead_letter(self):
        """The overview counts it, and the search for its queue leads to it."""
        self.open()
        self.wait_for_text("Dead letters\n3", "#numbers")
        self.find_queue("lovelace")
        self.assertIn("No queue with work matches", self.text())
        self.press("1 dead letter of such queues")
        self.assertEqual(self.texts("tbody td a bdi"), ["conversation/Ada-Lovelace"])
        self.assertIn("3 dead letters in all", self.text("#count"))
        self.find_queue("conversation/*")
        self.press("3 dead letters of such queues")
        self.assertEqual(self.count("tbody tr"), 3)
        # All that match are those that the list shows.
        self.open("dead?name=ADA&kind=message")
        self.assertEqual(self.count("tbody tr"), 2)
        self.click("[name=scope][value=matching]")
        self.press("Requeue")
        self.assertIn("2 in all", self.text())
        self.confirm("Requeue")
        self.wait_for_text("2 requeued", "#progress")
        self.assertEqual(self.sql("SELECT queue FROM sluice_dead"), "conversation/bob")

    def test_a_queue(self):
        """In upper or lower case, and by a part of the kind."""
        self.find_queue("CAROL")
        self.wait(lambda: self.texts("tbody th") == ["conversation/Carol"], "it is not found")
        self.assertEqual(self.count("#dead-count"), 0)
        self.open("queues?kind=message")
        self.wait(lambda: self.texts("tbody th") == ["conversation/Carol"], "it is not found")
        self.open("queues?kind=letter")
        self.assertIn("No queue with work matches", self.text())

    def test_pages_of_a_search(self):
        """Each that matches is on one page."""
        numbers = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 240)"
        self.sql(numbers + " INSERT INTO sluice_actions (queue, kind, payload) "
                 "SELECT 'x/' || CASE i % 2 WHEN 0 THEN 'Even' ELSE 'odd' END || i, 'k', '{}' FROM n")
        self.tool("drain", "--exec", "exit 65", "--on-failure", "skip", "--deadline", "60s", "--queue", "x/*")
        self.open("dead?name=even")
        names = []
        while True:
            names += self.texts("tbody td a bdi")
            if not self.count("a.next"):
                break
            self.press("Next page")
        self.assertEqual(len(names), 120)
        self.assertEqual(len(set(names)), 120)
        self.assertTrue(all("Even" in name for name in names))

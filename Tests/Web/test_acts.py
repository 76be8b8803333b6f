"""Each act, with the change seen by the sqlite3 shell."""

import urllib.parse

from browser import Browsed


class Acts(Browsed):
    def serve(self):
        """Beside a process that runs queues of its own."""
        self.run_queues("--queue", "others/*")
        super().serve()

    def test_hold_and_end(self):
        self.enqueue("mail/1", {})
        self.serve()
        self.open("queue?name=mail/1")
        self.press("Hold")
        self.find("[name=reason]").send_keys("server moves")
        self.confirm("Hold")
        self.assertEqual(self.sql("SELECT scope || ':' || reason FROM sluice_holds"), "mail/1:server moves")
        self.wait_for_text("server moves", "#status")
        self.press("End holds")
        self.confirm("End holds")
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_holds"), "0")

    def test_hold_of_all_for_a_time(self):
        self.enqueue("mail/1", {})
        self.serve()
        self.open("holds")
        self.find("[name=queue]").send_keys("*")
        self.press("Hold")
        self.assertIn("match it now: 1.", self.text())
        self.find("[name=minutes]").send_keys("10")
        self.confirm("Hold")
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_holds WHERE until IS NOT NULL"), "1")
        self.press("End the hold", within="tbody")
        self.confirm("End the hold")
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_holds"), "0")

    def test_gate(self):
        self.enqueue("mail/1", {})
        self.serve()
        self.open("gates")
        self.find("[name=gate]").send_keys("network")
        self.press("Close")
        self.confirm("Close")
        self.assertEqual(self.sql("SELECT state FROM sluice_gates WHERE gate = 'network'"), "closed")
        self.press("Open", within="tbody")
        self.confirm("Open")
        self.assertEqual(self.sql("SELECT state FROM sluice_gates WHERE gate = 'network'"), "open")

    def test_move_front_and_remove(self):
        first = self.enqueue("mail/1", {"n": 1})
        self.tool("enqueue", "--queue", "mail/1", "--kind", "k", "--payload", "{}", "--key", "once", "--member", "g")
        second = first + 1
        self.serve()
        self.open(f"action?id={second}")
        self.assertIn("Deduplication key\nonce", self.text())
        self.assertIn("Member of groups\ng", self.text())
        self.press("Run next")
        self.confirm("Run next")
        self.open("queue?name=mail/1")
        self.assertEqual(self.text("#actions tbody th"), str(second))
        self.open(f"action?id={first}")
        self.type("[name=to]", "mail/2")
        self.press("Move")
        self.confirm("Move")
        self.assertEqual(self.sql(f"SELECT queue FROM sluice_actions WHERE id = {first}"), "mail/2")
        self.press("Remove")
        self.confirm("Remove")
        self.assertEqual(self.sql(f"SELECT count(*) FROM sluice_actions WHERE id = {first}"), "0")

    def test_selected_actions(self):
        for number in range(4):
            self.enqueue("mail/1", {"n": number})
        self.serve()
        self.open("queue?name=mail/1")
        for row in range(1, 2 + 1):
            self.click(f"#actions tbody tr:nth-child({row}) input")
        self.type("[name=to]", "mail/2")
        self.press("Move", within="fieldset")
        self.assertIn("2 in all", self.text())
        self.confirm("Move")
        self.wait_for_text("2 done", "#progress")
        self.assertEqual(self.sql("SELECT group_concat(id) FROM sluice_actions WHERE queue = 'mail/2'"), "1,2")
        self.open("queue?name=mail/1")
        self.click("#actions thead input")
        self.press("Remove", within="fieldset")
        self.confirm("Remove")
        self.wait_for_text("2 of 2, ended", "#progress")
        self.assertEqual(self.sql("SELECT group_concat(id) FROM sluice_actions"), "1,2")

    def test_all_actions_of_a_queue(self):
        """More than the page shows; they keep their order."""
        for number in range(60):
            self.enqueue("mail/1", {"n": number})
        self.enqueue("mail/3", {})
        self.serve()
        self.open("queue?name=mail/1")
        self.click("[name=scope][value=matching]")
        self.type("[name=to]", "mail/2")
        # The choice stays when the list is updated.
        self.enqueue("mail/1", {"n": 60})
        self.wait_for_text("all 61 of this queue", "#matching")
        self.press("Move", within="fieldset")
        self.assertIn("61 in all", self.text())
        self.confirm("Move")
        self.wait_for_text("61 done", "#progress")
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_actions WHERE queue = 'mail/2'"), "61")
        self.assertEqual(self.sql("SELECT head_id FROM sluice_queues WHERE queue = 'mail/2'"), "1")

    def test_selected_gates_and_holds(self):
        self.enqueue("mail/1", {})
        for name in ["a", "b"]:
            self.sql(f"INSERT INTO sluice_gates (gate, state) VALUES ('{name}', 'closed')")
            self.sql(f"INSERT INTO sluice_holds (scope) VALUES ('{name}')")
        self.serve()
        self.open("gates")
        self.click("thead input")
        self.press("Open", within="fieldset")
        self.confirm("Open")
        self.wait_for_text("2 opened", "#progress")
        self.assertEqual(self.sql("SELECT DISTINCT state FROM sluice_gates"), "open")
        self.open("holds")
        self.click("[name=scope][value=matching]")
        self.press("End the hold", within="fieldset")
        self.confirm("End the hold")
        self.wait_for_text("2 ended", "#progress")
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_holds"), "0")

    def test_pages_of_rows(self):
        """Gates, holds and the actions of a queue: each is on one page."""
        self.enqueue("mail/1", {})
        for view, columns, row, count in [("holds", "scope, holder", "'q/' || i, 'ops'", 450),
                                          ("gates", "gate", "'g/' || i", 450),
                                          ("actions", "queue, kind, payload", "'mail/1', 'k', '{}'", 119)]:
            numbers = f"WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
            self.sql(f"{numbers} INSERT INTO sluice_{view} ({columns}) SELECT {row} FROM n")
        self.serve()
        for path, row, pages in [("holds", ".list", [200, 200, 50]), ("gates", ".list", [200, 200, 50]),
                                 ("queue?name=mail/1", ".list", [50, 50, 20])]:
            self.open(path)
            names = []
            for count in pages:
                found = self.texts(f"{row} tbody th")
                self.assertEqual(len(found), count, path)
                names += found
                if len(names) < sum(pages):
                    self.press("Next page")
            self.assertEqual(len(set(names)), sum(pages), path)
            self.assertEqual(self.count("a.next"), 0, path)

    def test_retry_of_a_queue(self):
        self.enqueue("mail/1", {"text": "unreachable"})
        self.run_queues("--retry-delay", "600")
        self.serve()
        self.open("queue?name=mail/1")
        self.wait_for_text("retry", "#status")
        self.press("Retry now")
        self.confirm("Retry now")
        self.assertIn("tried now", self.text(".notice"))
        self.wait(lambda: self.sql("SELECT attempts FROM sluice_actions") == "2", "there is no second attempt")
        self.wait_for_text("2", "#attempts tbody tr:nth-child(2) th")

    def test_acts_on_a_running_action(self):
        """Each says that it runs; a move waits for the end of the attempt, and a removal ends it."""
        first = self.enqueue("mail/1", {"text": "hello"})
        self.start("run", *self.store, "--exec", "sleep 600", "--queue", "mail/1")
        self.serve()
        self.open("queue?name=mail/1")
        self.wait_for_text("running since", "#actions")
        # A page's parts are read one after another: each follows at its next look.
        self.wait(lambda: "Skip the head" not in self.texts("#acts a"), "what runs cannot be skipped")
        self.open(f"action?id={first}")
        self.type("[name=to]", "mail/2")
        self.press("Move")
        self.confirm("Move")
        self.assertIn("it is running", self.text(".notice"))
        self.assertEqual(self.sql("SELECT queue FROM sluice_actions"), "mail/1")
        self.press("Remove")
        self.confirm("Remove")
        self.assertIn("running, and asked to end", self.text(".notice"))
        self.wait(lambda: self.sql("SELECT count(*) FROM sluice_actions") == "0", "the attempt does not end")

    def act(self, path, name, rows, done, sql, then):
        """Does one act on the first rows of a list, or on all that match, and waits until the store has it."""
        with self.subTest(name, rows=rows):
            self.open(path)
            for row in range(1, (rows or 0) + 1):
                self.wait(lambda: self.count("tbody tr") >= row, f"{path} has no row {row}")
                self.click(f"tbody tr:nth-child({row}) input")
            if rows is None:
                self.click("[name=scope][value=matching]")
            self.press(name, within="fieldset")
            self.confirm(name)
            self.wait_for_text(done, "#progress")
            self.wait(lambda: self.sql(sql) == then, f"{name}: {self.sql(sql)} is not {then}")

    def test_every_act_on_queues(self):
        """Each on two that are selected, and on all that match."""
        for number in range(1, 5):
            self.enqueue(f"mail/{number}", {"text": "unreachable"})
            self.enqueue(f"mail/{number}", {"text": "unreachable"})
            self.enqueue(f"other/{number}", {"text": "hello"})
        self.run_queues("--retry-delay", "600", "--queue", "mail/*")
        self.serve()
        self.wait(lambda: self.sql("SELECT count(*) FROM sluice_actions WHERE attempts = 1") == "4", "no attempts")
        queues, attempts = "queues?name=mail/*&sort=name", "SELECT sum(attempts) FROM sluice_actions"
        holds, actions = "SELECT count(*) FROM sluice_holds", "SELECT count(*) FROM sluice_actions"
        self.act(queues, "Retry now", 2, "2 tried now", attempts, "6")
        self.act(queues, "Retry now", None, "4 tried now", attempts, "10")
        self.act(queues, "Hold", 2, "2 held", holds, "2")
        self.act(queues, "End holds", 2, "2 hold ended", holds, "0")
        self.act(queues, "Hold", None, "4 held", holds, "4")
        self.act(queues, "End holds", None, "4 hold ended", holds, "0")
        self.act(queues, "Skip the head", None, "4 skipped", "SELECT count(*) FROM sluice_dead", "4")
        self.act("dead?queue-pattern=mail/*", "Purge", None, "4 purged", "SELECT count(*) FROM sluice_dead", "0")
        self.act("queues?name=other/*&sort=name", "Remove all actions", 2, "2 removed", actions, "6")
        self.assertEqual(self.sql("SELECT group_concat(queue) FROM sluice_actions WHERE queue GLOB 'other/*'"),
                         "other/3,other/4")

    def test_every_act_on_gates(self):
        """Also one that a queue waits for and nobody has set."""
        self.tool("enqueue", "--queue", "mail/1", "--kind", "k", "--payload", "{}", "--gate", "network")
        for name in ["a", "b", "c"]:
            self.sql(f"INSERT INTO sluice_gates (gate, state) VALUES ('{name}', 'open')")
        self.run_queues()
        self.serve()
        closed = "SELECT count(*) FROM sluice_gates WHERE state = 'closed'"
        self.act("gates", "Close", 2, "2 closed", closed, "2")
        self.act("gates", "Close", None, "3 closed", closed, "3")
        self.act("gates", "Open", None, "3 opened", closed, "0")
        self.open("queue?name=mail/1")
        self.wait_for_text("nobody has opened it", "#gates")
        self.press("Open", within="#gates")
        self.confirm("Open")
        self.wait(lambda: self.sql("SELECT count(*) FROM sluice_actions") == "0", "the gate is not open")

    def test_nothing_matches(self):
        self.serve_empty()
        self.open("confirm?act=hold&scope=matching&name=none")
        self.assertIn("Nothing matches now", self.text())
        self.assertEqual(self.count("main form"), 0)

    def test_enqueue(self):
        self.serve_empty()
        self.open("enqueue")
        self.find("[name=queue]").send_keys("mail/9")
        self.find("[name=kind]").send_keys("send-message")
        self.press("Check")
        self.confirm("Enqueue")
        self.assertEqual(self.sql("SELECT queue || kind || payload FROM sluice_actions"), "mail/9send-message{}")

    def test_payload_that_is_no_json(self):
        self.serve_empty()
        self.open("enqueue?queue=mail/9&kind=k")
        area = self.find("textarea")
        area.clear()
        area.send_keys('{"a": 1,\n "ä": no json')
        self.press("Check")
        self.assertIn("no JSON", self.text())
        self.assertIn("around line 2, column 8", self.text())
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_actions"), "0")

    def serve_empty(self):
        self.tool("remove", str(self.enqueue("mail/0", {})))
        self.serve()

    def dead_letters(self, count):
        for number in range(count):
            self.enqueue(f"mail/{number}", {"text": "no such room"})
        self.tool("drain", "--exec", "echo 'no such room' >&2; exit 65", "--on-failure", "skip", "--deadline", "60s")
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_dead"), str(count))

    def test_requeue_and_purge(self):
        self.dead_letters(4)
        self.serve()
        self.open("dead?queue-pattern=mail/3")
        self.assertEqual(self.count("tbody tr"), 1)
        self.click("tbody input")
        self.press("Requeue")
        self.confirm("Requeue")
        self.assertEqual(self.sql("SELECT queue FROM sluice_actions"), "mail/3")
        self.open("dead")
        for row in range(1, 2 + 1):
            self.click(f"tbody tr:nth-child({row}) input")
        self.press("Purge")
        self.assertIn("2 in all", self.text())
        self.confirm("Purge")
        self.wait_for_text("2 of 2, ended", "#progress")
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_dead"), "1")

    def test_all_letters_that_match(self):
        self.dead_letters(7)
        self.serve()
        self.open("dead?cause=failed")
        self.click("[name=scope][value=matching]")
        self.press("Requeue")
        self.assertIn("7 in all", self.text())
        self.confirm("Requeue")
        self.wait_for_text("7 requeued", "#progress")
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_actions"), "7")

    def test_selected_and_matching_queues(self):
        for number in range(60):
            self.enqueue(f"mail/{number:02}", {})
        self.enqueue("other", {})
        self.serve()
        self.open("queues?name=mail/*&sort=name")
        self.wait_for_text("60 queues of 61")
        for row in range(1, 3 + 1):
            self.click(f"tbody tr:nth-child({row}) input")
        self.press("Hold")
        self.assertIn("3 in all", self.text())
        self.confirm("Hold")
        self.wait_for_text("3 held", "#progress")
        self.assertEqual(self.sql("SELECT group_concat(scope) FROM (SELECT * FROM sluice_holds ORDER BY scope)"),
                         "mail/00,mail/01,mail/02")
        self.open("queues?name=mail/*")
        self.click("[name=scope][value=matching]")
        self.press("Remove all actions")
        # More than the page shows.
        self.assertIn("60 in all", self.text())
        self.confirm("Remove all actions")
        self.wait_for_text("60 of 60, ended", "#progress")
        self.assertEqual(self.sql("SELECT group_concat(queue) FROM sluice_actions"), "other")

    def test_audit(self):
        self.enqueue("mail/1", {"secret": "of ours"})
        self.serve()
        self.open("queue?name=mail/1")
        self.press("Hold")
        self.confirm("Hold")
        self.open("audit")
        row = self.text("#audit tbody tr")
        self.assertIn("local", row)
        self.assertIn("Hold: queue mail/1", row)
        self.assertIn("Hold: queue mail/1", self.log())
        self.assertEqual(self.sql("SELECT operator || ': ' || act || ': ' || result FROM sluice_audit"),
                         "local: Hold: queue mail/1: held")
        # G13
        self.assertNotIn("of ours", self.log())

    def test_skip_of_another_head(self):
        """What has become the head since the operator saw it is not skipped."""
        first = self.enqueue("mail/1", {})
        second = self.enqueue("mail/1", {})
        self.serve()
        self.open("queue?name=mail/1")
        self.press("Skip the head")
        self.tool("remove", str(first))
        self.confirm("Skip the head")
        self.assertIn("it has another head now", self.text())
        self.assertEqual(self.sql("SELECT id FROM sluice_actions"), str(second))


class Hostile(Browsed):
    # Two of them are the same letter in two ways.
    NAMES = ["e\u0301", "\u00e9", "line\nbreak", "<script>document.title='run'</script>", "\"><img src=x onerror=alert(1)>", "a&b=c#d?e%41+f",
             "‮gpj.exe", "'; DROP TABLE sluice_actions; --", "😀/ünïcode"]

    def test_names_and_payloads(self):
        """They are shown, lead to their pages, and run nothing."""
        for name in self.NAMES:
            self.enqueue(name, {"text": "</script><script>document.title='run'</script>"}, kind="<b>kind</b>")
        self.serve()
        self.open("queues?sort=name")
        self.wait(lambda: self.count("tbody tr") == len(self.NAMES), "the queues are not all there")
        places = self.links("tbody th a")
        for place in places:
            self.driver.get(place)
            self.assertIn("stopped", self.text("#status"))
            self.assertNotEqual(self.driver.title, "run")
            self.driver.get(self.links("#actions tbody th a")[0])
            self.press("Show the payload")
            self.assertIn("</script>", self.text(".payload"))
            self.assertNotEqual(self.driver.title, "run")
        self.assertEqual(self.count("main img, main script"), 0)
        # What a form sends back is the name itself.
        for name in self.NAMES:
            self.open("queues?name=" + urllib.parse.quote(name))
            self.click("tbody input")
            self.press("Hold")
            self.confirm("Hold")
        held = self.sql("SELECT group_concat(scope, char(9)) FROM sluice_holds").split("\t")
        self.assertEqual(sorted(held), sorted(self.NAMES))
        self.open("queues?sort=name")
        self.click("thead input")
        self.press("Hold")
        self.assertIn(f"{len(self.NAMES)} in all", self.text())
        # So is what an action is enqueued in.
        self.driver.get(f"{self.url}enqueue?kind=k&queue=" + urllib.parse.quote("line\nbreak"))
        self.press("Check")
        self.confirm("Enqueue")
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_actions WHERE queue = 'line' || char(10) || 'break'"),
                         "2")
        # A name cannot look like another one.
        self.assertIn("\\u{202e}gpj.exe", "".join(self.driver.page_source for _ in [self.open("queues")]))

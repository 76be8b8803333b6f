"""Each act, with the change seen by the sqlite3 shell."""

import concurrent.futures
import re
import urllib.parse

from browser import Browsed


class Acts(Browsed):
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
        self.press("Move", within="#actions")
        self.assertIn("2 in all", self.text())
        self.confirm("Move")
        self.wait_for_text("2 done", "#progress")
        self.assertEqual(self.sql("SELECT group_concat(id) FROM sluice_actions WHERE queue = 'mail/2'"), "1,2")
        self.open("queue?name=mail/1")
        self.click("#actions thead input")
        self.press("Remove", within="#actions")
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
        self.wait_for_text("all 61 of this queue", "#actions")
        self.press("Move", within="#actions")
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
        for path, row, pages in [("holds", "#holds", [200, 200, 50]), ("gates", "#gates", [200, 200, 50]),
                                 ("queue?name=mail/1", "#actions", [50, 50, 20])]:
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
        area.send_keys("{no json")
        self.press("Check")
        self.assertIn("no JSON", self.text())
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
                _, _, text = self.request("GET", f"/confirm?act=skip&queue={queue}&head={head}", Cookie=cookie)
                fields = re.findall('name="([^"]+)" value="([^"]*)"', text)
                bodies.append("&".join(f"{name}={value}" for name, value in fields))
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda body: self.request("POST", "/do", body, Cookie=cookie), bodies))
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_dead"), "20")

    def test_more_match_than_was_asked(self):
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
        self.assertIn("4 match now, and 1 did", self.text())
        self.assertEqual(self.sql("SELECT count(*) FROM sluice_actions"), "4")

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
        self.confirm("Store the payload")
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


class Hostile(Browsed):
    NAMES = ["line\nbreak", "<script>document.title='run'</script>", "\"><img src=x onerror=alert(1)>", "a&b=c#d?e%41+f",
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
        # A name cannot look like another one.
        self.assertIn("\\u{202e}gpj.exe", "".join(self.driver.page_source for _ in [self.open("queues")]))

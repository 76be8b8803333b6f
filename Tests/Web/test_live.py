"""Live updates: what changes is seen without a reload, and nothing jumps."""

import contextlib
import signal
import sqlite3

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from browser import Browsed


class Live(Browsed):
    def test_a_new_state_is_seen(self):
        self.enqueue("mail/1", {"text": "unreachable"})
        self.serve()
        self.open("queues")
        self.wait_for_text("stopped", "tbody")
        self.run_queues("--retry-delay", "60")
        self.wait_for_text("retry", "tbody")
        self.wait_for_text("connection refused", "tbody")

    def test_rows_stay_where_they_are(self):
        """A queue that joins is announced, and what is selected stays selected."""
        self.enqueue("mail/2", {})
        self.serve()
        self.open("queues?sort=name")
        self.wait_for_text("mail/2", "tbody")
        self.click("tbody input")
        height = "return all('tbody tr')[0].getBoundingClientRect().y"
        before = self.at_once(height)
        self.enqueue("mail/1", {})
        self.wait_for_text("The list has changed", "#stale")
        self.assertEqual(self.at_once(height), before)
        self.assertEqual(self.texts("tbody th"), ["mail/2"])
        self.enqueue("mail/2", {})
        self.wait(lambda: self.text("tbody .number") == "2", "the new depth is not shown")
        self.assertTrue(self.at_once("return all('tbody input')[0].checked"))
        self.click("#stale a")
        self.assertEqual(self.texts("tbody th"), ["mail/1", "mail/2"])

    def test_what_ends_without_a_commit(self):
        """The end of a hold is seen, though nobody runs the queues; so is the end of an action."""
        action = self.enqueue("mail/1", {})
        self.tool("hold", "--queue", "mail/1", "--for", "2s")
        self.serve()
        self.open("queues")
        self.wait_for_text("held", "tbody")
        self.wait_for_text("stopped", "tbody")
        self.open(f"action?id={action}")
        self.tool("remove", str(action))
        self.wait_for_text("There is no action", "#state")
        self.assertEqual(self.text("#acts"), "")

    def test_a_row_that_leaves_is_marked(self):
        self.enqueue("mail/1", {})
        self.enqueue("mail/2", {})
        self.serve()
        self.open("queues?name=mail/*&sort=name")
        self.tool("remove", "--queue", "mail/1")
        self.wait_for_text("The list has changed", "#stale")
        self.assertEqual(self.texts("tr.gone th"), ["mail/1"])

    def test_what_is_typed_stays(self):
        """An update of the part around a field leaves its text, and the focus."""
        action = self.enqueue("mail/1", {"text": "unreachable"})
        self.serve()
        self.open(f"action?id={action}")
        self.type("[name=to]", "mail/2")
        self.run_queues()
        self.wait(lambda: "Retry its queue now" in self.texts("#acts a"), "the part is not updated")
        self.keys(Keys.ARROW_LEFT, "1")
        self.assertEqual(self.at_once("return all('[name=to]')[0].value"), "mail/12")

    def test_no_column_moves(self):
        """However long the reason is that comes; and no word is cut off."""
        self.enqueue("mail/1", {"text": "unreachable"})
        self.serve()
        columns = "return [...all('table')[0].rows[0].cells].map(cell => cell.getBoundingClientRect().x)"
        cut_off = "return all('td, th').filter(cell => cell.scrollWidth > cell.clientWidth).map(cell => cell.innerText)"
        self.open("queue?name=mail/1")
        before = self.at_once(columns)
        self.run_queues("--retry-delay", "600")
        self.wait_for_text("connection refused", "#actions tbody")
        self.assertEqual((self.at_once(columns), self.at_once(cut_off)), (before, []))
        self.open("queues")
        before = self.at_once(columns)
        reason = "server " + "x" * 300
        self.tool("hold", "--queue", "mail/1", "--by", "ops", "--reason", reason)
        self.wait_for_text(reason, "tbody")
        self.assertEqual((self.at_once(columns), self.at_once(cut_off)), (before, []))
        lines = """
            const state = all('td .state')[0];
            return all('.filter fieldset label').map(label => {
                state.innerText = `✖ ${label.innerText}`;
                return [state.innerText, state.getClientRects().length];
            });
        """
        states = self.at_once(lines)
        self.assertIn(["✖ unknown kind", 1], states)
        self.assertEqual([state for state, count in states if count != 1], [])

    def test_nothing_moves_under_the_pointer(self):
        """Whatever is above it grows, shrinks, joins or leaves."""
        for number in range(3):
            self.enqueue("mail/1", {"n": number, "text": "unreachable"})
            self.enqueue(f"mail/{number}", {})
        self.tool("hold", "--queue", "mail/2", "--reason", "server moves")
        self.sql("INSERT INTO sluice_gates (gate, state) VALUES ('b', 'closed')")
        self.serve()
        self.open("queue?name=mail/1")
        self.rest_on("#actions tbody tr:nth-child(3) th a")
        runner = self.run_queues("--retry-delay", "600", "--queue", "mail/1")
        self.wait_for_text("connection refused", "#status")
        self.wait_for_text("connection refused", "#attempts")
        self.check_rest()
        # From the top of the page nothing can be scrolled back.
        self.open("queue?name=mail/1")
        self.rest_on("#actions tbody tr:nth-child(3) th a")
        self.tool("hold", "--queue", "mail/1")
        self.tool("skip", "mail/1")
        self.wait(lambda: self.texts("tr.gone th"), "the head does not leave")
        self.wait(lambda: "connection refused" not in self.text("#status"), "the error does not leave")
        self.check_rest()
        self.end(runner)
        for path, selector, change in [
            ("holds", "#holds tbody tr:nth-child(1) a.button", lambda: self.tool("hold", "--queue", "a")),
            ("gates", "#gates tbody tr:nth-child(1) a.button",
             lambda: self.sql("INSERT INTO sluice_gates (gate, state) VALUES ('a', 'closed')")),
            ("", "#trouble tbody tr:nth-child(2) th a", lambda: self.tool("hold", "--queue", "mail/0")),
        ]:
            self.open(path)
            self.wait(lambda: self.count(selector) > 0, f"/{path} has no {selector}")
            self.rest_on(selector)
            self.driver.execute_script('window.updates = 0; source.addEventListener("part", () => updates++)')
            change()
            self.wait(lambda: self.driver.execute_script("return updates") > 0, "no update comes")
            self.check_rest()

    def test_a_short_page(self):
        """Without room to scroll, nothing moves under the pointer either, also if its own row grows."""
        for number in range(1, 5):
            self.enqueue(f"mail/{number}", {"text": "unreachable"})
        self.serve()
        self.open("queues?sort=name")
        self.wait(lambda: self.count("tbody tr") == 4, "the queues are not all there")
        self.rest_on("tbody tr:nth-child(4) td:nth-of-type(3) .because")
        self.run_queues("--retry-delay", "600")
        self.wait(lambda: self.text().count("connection refused") == 4, "not all have failed")
        self.check_rest("tbody tr:nth-child(4)")

    def test_a_list_that_is_cut(self):
        """Rows that others have pushed out are not called gone."""
        for number in range(12):
            self.enqueue(f"mail/{number:02}", {})
        self.tool("hold", "--queue", "mail/*")
        self.serve()
        self.open()
        self.wait(lambda: self.count("#trouble tbody tr") == 10, "not all are waiting")
        self.enqueue("chat/1", {"text": "no such room"})
        runner = self.run_queues()
        self.wait_for_text("The list has changed", "#stale")
        self.wait(lambda: self.texts("tr.old th") == ["mail/09"], "the one that was pushed out is not marked")
        self.tool("remove", "--queue", "mail/03")
        self.wait(lambda: self.texts("tr.old th") == ["mail/03"], "the one that has left is not marked")
        self.assertEqual(self.count("tr.gone"), 0)
        self.end(runner)

    def test_a_list_that_is_all_gone(self):
        """It begins anew, with what there is."""
        for number in range(120):
            self.enqueue("mail/1", {"n": number})
        self.serve()
        self.open("queue?name=mail/1")
        self.wait(lambda: self.count("#actions tbody tr") == 50, "the actions are not there")
        self.sql("DELETE FROM sluice_actions WHERE id <= 100")
        self.wait(lambda: self.texts("#actions tbody th") == [str(id) for id in range(101, 121)], "it is not shown")
        self.assertEqual(self.count("tr.gone"), 0)

    def test_select_all(self):
        """It takes nothing that has left the list, and a selection outlasts a minute without a sign of anybody."""
        for number in range(1, 4):
            self.enqueue(f"mail/{number}", {})
        self.serve()
        self.open("queues?name=mail/*&sort=name")
        self.wait(lambda: self.count("tbody tr") == 3, "the queues are not all there")
        self.tool("remove", "--queue", "mail/2")
        self.wait(lambda: self.texts("tr.gone th") == ["mail/2"], "it does not leave")
        self.click("thead input")
        self.assertEqual(self.at_once("return all('tbody :checked').map(box => box.value)"), ["mail/1", "mail/3"])
        self.driver.execute_script("lastSign = 0")
        self.enqueue("mail/0", {})
        self.wait_for_text("The list has changed", "#stale")
        self.assertEqual(self.at_once("return all('tbody :checked').map(box => box.value)"), ["mail/1", "mail/3"])

    def test_started_again_without_acts(self):
        """The rows of a page that was made for somebody who may act have other columns."""
        self.enqueue("mail/1", {})
        self.serve()
        self.open("queues")
        self.wait_for_text("mail/1", "tbody")
        self.end(self.page)
        self.wait_for_text("Not up to date", "#stale")
        self.serve("--port", str(self.port), "--read-only")
        self.wait(lambda: self.count("tbody td") == 4, "the list is not replaced")
        self.assertEqual(self.text("tbody .number"), "1")

    def test_a_store_that_fails(self):
        """An open page says so."""
        self.enqueue("mail/1", {})
        self.serve()
        self.open("queues")
        self.wait_for_text("mail/1", "tbody")
        self.file.rename(self.folder / "elsewhere")
        self.wait_for_text("Not up to date", "#error")

    def test_dead_letters_come(self):
        for _ in range(3):
            self.enqueue("mail/1", {})
        self.serve()
        self.tool("skip", "mail/1")
        self.tool("skip", "mail/1")
        self.open("dead")
        self.wait(lambda: self.texts("tbody th") == ["2", "1"], "there are no dead letters")
        self.tool("skip", "mail/1")
        self.wait_for_text("The list has changed", "#stale")
        self.sql("DELETE FROM sluice_dead WHERE id = 1")
        self.wait(lambda: self.texts("tr.gone th") == ["1"], "it does not leave")

    def rest_on(self, selector):
        ActionChains(self.driver).move_to_element(self.find(selector)).perform()
        self.driver.execute_script("""
            window.rest = document.querySelector(arguments[0]);
            window.height = rest.getBoundingClientRect().y;""", selector)

    def check_rest(self, selector=None):
        """The pointer is on the same thing, or in the same row."""
        moved = self.driver.execute_script(
            "return (arguments[0] ? document.querySelector(arguments[0]) : rest).getBoundingClientRect().y - height",
            selector)
        self.assertLess(abs(moved), 1 if selector is None else 10, self.driver.current_url)

    def test_the_focus_stays(self):
        """Also if the button that has it is replaced by another: that one does not get it."""
        self.enqueue("mail/1", {})
        self.sql("INSERT INTO sluice_gates (gate, state) VALUES ('a', 'closed')")
        self.serve()
        self.open("gates")
        self.at_once("all('tbody a')[0].focus()")
        self.sql("UPDATE sluice_gates SET state = 'open'")
        self.wait(lambda: self.texts("tbody a") == ["Close"], "the gate is not shown open")
        self.assertEqual(self.at_once("return document.activeElement.outerHTML.slice(0, 3)"), "<td")
        self.keys(Keys.TAB)
        self.assertEqual(self.at_once("return document.activeElement.innerText.trim()"), "Close")

    def test_a_page_that_nobody_uses(self):
        """On a wall, the page shows everything in its order."""
        self.enqueue("mail/2", {})
        self.serve()
        self.open("queues?sort=name")
        self.wait_for_text("mail/2", "tbody")
        self.driver.execute_script("lastSign = 0")
        self.enqueue("mail/1", {})
        self.wait(lambda: self.texts("tbody th") == ["mail/1", "mail/2"], "the list is not replaced")

    def test_update_while_pressed(self):
        """Nothing moves under a finger; what came in between is shown once it has left."""
        self.enqueue("mail/1", {})
        self.serve()
        self.open("queues")
        self.wait_for_text("mail/1", "tbody")
        self.driver.execute_script("""
            window.updates = 0;
            source.addEventListener("part", () => updates++);
            dispatchEvent(new PointerEvent("pointerdown", { pointerId: 7 }));""")
        self.enqueue("mail/1", {})
        self.wait(lambda: self.driver.execute_script("return updates") > 0, "no update comes")
        self.assertEqual(self.text("tbody .number"), "1")
        self.driver.execute_script('dispatchEvent(new PointerEvent("pointerup", { pointerId: 7 }))')
        self.wait(lambda: self.text("tbody .number") == "2", "what came in between is lost")

    def test_many_windows(self):
        """Windows in the background leave their connections to others."""
        self.enqueue("mail/1", {})
        self.serve()
        first = self.driver.current_window_handle
        self.open("queues")
        for _ in range(8):
            self.driver.switch_to.new_window("tab")
            self.open("queues")
            self.assertIn("mail/1", self.text())
        for handle in self.driver.window_handles:
            if handle != first:
                self.driver.switch_to.window(handle)
                self.driver.close()
        self.driver.switch_to.window(first)

    def test_the_page_is_killed_and_started(self):
        """The browser says that it is not up to date, and goes on by itself."""
        self.enqueue("mail/1", {})
        self.serve()
        self.open("queue?name=mail/1")
        self.end(self.page, signal.SIGKILL)
        self.wait_for_text("Not up to date", "#stale")
        self.enqueue("mail/1", {})
        self.serve("--port", str(self.port))
        self.wait_for_text("2", "#actions tbody tr:nth-child(2) th")

    def test_a_page_that_cannot_be_made_again(self):
        """It says why, not that the connection is lost."""
        self.enqueue("mail/1", {})
        self.enqueue("mail/2", {})
        self.serve()
        self.open("queues")
        self.click("thead input")
        self.press("Hold")
        self.confirm("Hold")
        self.wait_for_text("2 held", "#progress")
        self.end(self.page, signal.SIGKILL)
        self.wait_for_text("Not up to date", "#stale")
        self.serve("--port", str(self.port))
        self.wait_for_text("there is no such job since this page was started", "#error")
        self.assertEqual(self.text("#stale"), "")
        self.assertIn("2 held", self.text("#progress"))

    def test_the_broker_is_killed_and_started(self):
        self.enqueue("mail/1", {"text": "unreachable"})
        runner = self.run_queues("--retry-delay", "60")
        self.serve()
        self.open("queue?name=mail/1")
        self.wait_for_text("retry", "#status")
        self.end(runner, signal.SIGKILL)
        self.wait_for_text("stopped", "#status", seconds=60)
        self.run_queues("--retry-delay", "60")
        self.wait_for_text("retry", "#status", seconds=60)

    def test_a_job_is_stopped(self):
        """Between two batches; what is done is said, and the rest is left."""
        self.import_queues(5_000)
        self.serve()
        self.open("queues")
        self.wait_for_text("of 5000")
        self.click("[name=scope][value=matching]")
        self.press("Hold")
        # Another program keeps the file's lock until the job has been stopped.
        with contextlib.closing(sqlite3.connect(self.file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            self.confirm("Hold")
            self.press("Stop")
            other.execute("ROLLBACK")
        self.wait_for_text(", ended", "#progress")
        self.assertIn("stopped after", self.text("#progress"))
        held = int(self.sql("SELECT count(*) FROM sluice_holds"))
        if held > 0:
            self.assertIn(f"{held} held", self.text("#progress"))
        self.assertLess(held, 5_000)

    def import_queues(self, count):
        lines = self.folder / "lines"
        lines.write_text("".join(f'{{"name":"{number:05}"}}\n' for number in range(count)))
        self.tool("enqueue", "--from", lines, "--kind", "k", "--queue-prefix", "mail/", "--queue-field", "name")

    def test_keys(self):
        """The whole page by the keyboard: the filter by its key, links and buttons by Tab and Enter."""
        self.enqueue("mail/1", {})
        self.enqueue("chat/1", {})
        self.serve()
        self.open("queues")
        self.keys("/")
        self.assertEqual(self.at_once("return document.activeElement.name"), "name")
        self.keys("chat", Keys.ENTER)
        self.wait(lambda: "name=chat" in self.driver.current_url, "the filter is not sent")
        self.tab_to("chat/1")
        self.keys(Keys.ENTER)
        self.wait(lambda: "queue?name=chat" in self.driver.current_url, "the link is not followed")
        self.tab_to("Hold")
        self.keys(Keys.ENTER)
        self.wait(lambda: "confirm" in self.driver.current_url, "the button is not pressed")
        self.tab_to("Hold")
        self.keys(Keys.ENTER)
        self.wait(lambda: "confirm" not in self.driver.current_url, "the question is not answered")
        self.assertEqual(self.sql("SELECT scope FROM sluice_holds"), "chat/1")

    def tab_to(self, name):
        for _ in range(80):
            if self.at_once("return document.activeElement.innerText.trim()") == name:
                return
            self.keys(Keys.TAB)
        self.fail(f"Tab does not lead to {name}")

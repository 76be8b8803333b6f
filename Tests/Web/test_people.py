"""Made for people: axe-core, names of what can be pressed, contrast, a phone's width, and without the script."""

import os
import subprocess
import sysconfig
from pathlib import Path

from browser import Browsed
from served import TOOL

# The package has axe-core's own file, which is all that is used of it.
AXE = (Path(sysconfig.get_path("purelib")) / "axe_playwright_python/axe.min.js").read_text()
PAGES = ["", "queues", "queue?name=mail/1", "queue?name=mail/0", "queue?name=empty", "action?id=2&payload=show",
         "edit?id=2", "enqueue", "dead", "gates", "holds", "runners", "health", "audit",
         "confirm?act=clear&queue=mail/1", "job?id=1"]


class People(Browsed):
    def setUp(self):
        super().setUp()
        self.enqueue("mail/0", {"text": "no such room"})
        self.enqueue("mail/1", {"text": "hello", "list": [1, {"deep": True}]})
        self.enqueue("mail/2", {"text": "unreachable"})
        self.tool("drain", "--queue", "mail/0", "--exec", "echo 'no such room' >&2; exit 65", "--deadline", "30s")
        self.tool("hold", "--queue", "mail/1", "--reason", "server moves")
        subprocess.run([TOOL, "gate", "close", "--file", self.file, "network"], check=True, capture_output=True)
        self.serve()

    def media(self, scheme):
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )

    def test_axe(self):
        """No violation of WCAG's rules that a program can see, in light and in dark."""
        for scheme in ["light", "dark"]:
            self.media(scheme)
            for path in PAGES:
                self.open(path)
                # As an extension does: the page's own policy lets no other script in.
                self.driver.execute_script(AXE)
                found = self.driver.execute_async_script("""
                    const done = arguments[arguments.length - 1];
                    axe.run().then(found => done(found.violations.map(
                        violation => [violation.id, violation.nodes.map(node => node.html)])))""")
                self.assertEqual(found, [], f"/{path}, {scheme}")
        self.media("")

    def test_names_and_headings(self):
        """Everything that can be pressed has a name, and a page has one heading."""
        for path in PAGES:
            self.open(path)
            nameless = self.driver.execute_script("""
                return [...document.querySelectorAll("a, button, input:not([type=hidden]), select, textarea, summary")]
                    .filter(place => !(place.innerText || place.getAttribute("aria-label") || place.labels?.length))
                    .map(place => place.outerHTML)""")
            self.assertEqual(nameless, [], path)
            headings = self.driver.execute_script("return document.querySelectorAll('h1').length")
            self.assertEqual(headings, 1, path)

    def test_phone(self):
        """At a phone's width the page itself does not scroll sideways: wide tables do."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True},
        )
        try:
            for path in PAGES:
                self.open(path)
                width = self.driver.execute_script("return document.documentElement.scrollWidth")
                self.assertLessEqual(width, 360, path)
        finally:
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def test_without_the_script(self):
        """All pages and acts work; only live updates do not."""
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        try:
            self.open("queue?name=mail/0")
            self.press("Skip the head")
            self.confirm("Skip the head")
            self.assertIn("skipped", self.text())
            self.assertEqual(self.sql("SELECT count(*) FROM sluice_dead"), "1")
        finally:
            self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

    def test_screenshots(self):
        """Those of the guide, if SLUICE_SCREENSHOTS names a folder."""
        folder = os.environ.get("SLUICE_SCREENSHOTS")
        if not folder:
            self.skipTest("SLUICE_SCREENSHOTS names no folder")
        for number in range(1, 7):
            self.enqueue(f"conversation/{number}", {"text": "unreachable" if number < 3 else "hello"})
        self.enqueue("conversation/7", {"text": "no such room"})
        self.enqueue("conversation/7", {"text": "hello"})
        self.tool("hold", "--queue", "conversation/5", "--reason", "moderated", "--by", "ada")
        self.run_queues("--retry-delay", "600")
        self.open("queue?name=conversation/7")
        self.wait_for_text("parked", "#status")
        queue = "queue?name=conversation/7"
        for name, scheme, width, path in [
            ("operator-queues", "light", 1_100, "queues"), ("operator-queue", "dark", 1_100, queue),
            ("operator-phone", "light", 390, queue),
        ]:
            self.media(scheme)
            self.driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": 720, "deviceScaleFactor": 1, "mobile": width < 600},
            )
            self.open(path)
            self.driver.save_screenshot(str(Path(folder) / f"{name}.png"))
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        self.media("")

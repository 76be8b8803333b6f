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
         "confirm?act=cancelAll&queue=mail/1", "job?id=1"]


# The roles that may take the focus; a region is a wide table, which keys scroll.
FOCUSED = {"RootWebArea", "button", "checkbox", "combobox", "link", "option", "radio", "region", "searchbox", "spinbutton",
           "textbox", "ComboBoxSelect", "DisclosureTriangle"}
# Texts and borders with too little contrast, by WCAG's formula (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio).
CONTRAST = """
    const parse = color => color.match(/[\\d.]+/g).map(Number);
    const isClear = color => (parse(color)[3] ?? 1) === 0;
    const light = color => {
        const parts = parse(color).slice(0, 3).map(part => part / 255)
            .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
    };
    const ratio = (one, other) => {
        const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
        return (high + 0.05) / (low + 0.05);
    };
    const behind = place => {
        for (; place; place = place.parentElement) {
            const color = getComputedStyle(place).backgroundColor;
            if (!isClear(color)) return color;
        }
        return "rgb(255, 255, 255)";
    };
    const bad = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const place = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !place.checkVisibility() || place.closest(":disabled, script")) continue;
        const found = ratio(getComputedStyle(place).color, behind(place));
        if (found < 4.5) bad.push(`${place.outerHTML.slice(0, 100)}: ${found.toFixed(2)}`);
    }
    const fields = "input:not([type=hidden]), select, textarea, a.button, button:enabled";
    for (const field of document.querySelectorAll(fields)) {
        if (!field.checkVisibility()) continue;
        const found = ratio(getComputedStyle(field).borderTopColor, behind(field.parentElement));
        if (found < 3) bad.push(`${field.outerHTML.slice(0, 100)}, border: ${found.toFixed(2)}`);
    }
    return bad;
"""
SMALL = """
    return [...document.querySelectorAll("a, button, input:not([type=hidden]), select, summary")]
        .filter(place => place.checkVisibility() && !place.matches(".skip, p > a:not(.button)"))
        .map(place => [place.outerHTML.slice(0, 120), place.getBoundingClientRect()])
        .filter(([_, box]) => box.width < 23.9 || box.height < 23.9)
        .map(([html, box]) => `${html}: ${box.width} x ${box.height}`);
"""


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

    def test_roles(self):
        """What a screen reader says: landmarks, heads of tables, and a name for all that takes the focus."""
        for path in PAGES:
            self.open(path)
            tree = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
            nodes = [(node["role"]["value"], node.get("name", {}).get("value", ""),
                      any(p["name"] == "focusable" and p["value"]["value"] for p in node.get("properties", [])))
                     for node in tree if not node["ignored"]]
            roles = [role for role, _, _ in nodes]
            for landmark in ["banner", "navigation", "main"]:
                self.assertEqual(roles.count(landmark), 1, f"/{path}: {landmark}")
            nameless = [role for role, name, takes_focus in nodes if takes_focus and not name.strip()]
            self.assertEqual(nameless, [], path)
            self.assertLessEqual({role for role, _, takes_focus in nodes if takes_focus}, FOCUSED, path)
            if "row" in roles:
                self.assertIn("columnheader", roles, path)
                if path != "audit":
                    self.assertIn("rowheader", roles, path)

    def test_contrast(self):
        """Of each text with what is behind it, and of what surrounds a field; in light and in dark."""
        for scheme in ["light", "dark"]:
            self.media(scheme)
            for path in PAGES:
                self.open(path)
                self.assertEqual(self.driver.execute_script(CONTRAST), [], f"/{path}, {scheme}")
        self.media("")

    def test_sizes(self):
        """What is pressed has 24 pixels each way, but for links in a sentence."""
        for width in [360, 1_200]:
            self.driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": 740, "deviceScaleFactor": 1, "mobile": width < 600},
            )
            try:
                for path in PAGES:
                    self.open(path)
                    self.assertEqual(self.driver.execute_script(SMALL), [], f"/{path} at {width}")
            finally:
                self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

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

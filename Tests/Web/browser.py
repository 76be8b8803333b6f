"""One Chromium for all tests, with what the tests say of pages."""

import os
import shutil
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

import served

DRIVER = shutil.which("chromedriver")
BROWSER = shutil.which("chromium")
# What a browser leaves when its driver ends it the hard way, as on a busy machine.
_folder = tempfile.TemporaryDirectory(prefix="sluice-browser-")
_drivers = []

# Clicks only what a person could: nothing may lie above it.
FINDING = """
    const all = selector => [...document.querySelectorAll(selector)].filter(place => place.checkVisibility());
    const click = place => {
        place?.scrollIntoView({ block: "center", behavior: "instant" });
        const box = place?.getClientRects()[0];
        if (!box) return false;
        const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
        if (!place.contains(top) && !top?.closest("label")?.contains(place)) return false;
        place.click();
        return true;
    };
"""


def missing():
    """Why there is nothing to test with; None if there is."""
    if not DRIVER or not BROWSER:
        return "there is no chromium with its driver"
    if not served.TOOL.exists():
        raise SystemExit(f"web: {served.TOOL} is not built")
    return None


def start():
    options = Options()
    options.binary_location = BROWSER
    for argument in ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,900"]:
        options.add_argument(argument)
    if os.geteuid() == 0:
        # Chromium's sandbox is for other users than root.
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER, env={**os.environ, "TMPDIR": _folder.name}))
    driver.set_page_load_timeout(30)
    _drivers.append(driver)
    return driver


def close():
    for driver in _drivers:
        driver.quit()
    _drivers.clear()
    _folder.cleanup()


class Browsed(served.Served):
    """A test in a browser."""

    def setUp(self):
        super().setUp()
        self.driver = _drivers[0] if _drivers else start()
        self.driver.delete_all_cookies()
        self.addCleanup(self.check_console)

    def check_console(self):
        """Nothing may be refused by the page's own policy, and no script may fail."""
        entries = [entry["message"] for entry in self.driver.get_log("browser")]
        self.driver.get("about:blank")
        bad = [entry for entry in entries if "Content Security Policy" in entry or "Uncaught" in entry]
        self.assertEqual(bad, [])

    def open(self, path=""):
        self.driver.get(self.url.rstrip("/") + "/" + path.lstrip("/"))

    def new_tab(self):
        """Opens a tab that the test's end closes, and returns the one before."""
        before = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        self.addCleanup(self.close_tab, self.driver.current_window_handle, before)
        return before

    def close_tab(self, tab, before):
        self.driver.switch_to.window(tab)
        self.driver.close()
        self.driver.switch_to.window(before)

    def find(self, selector):
        """An element that no live update replaces."""
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def at_once(self, script, *arguments):
        """What a script answers of one moment: a live update may replace any element right after it was found."""
        return self.driver.execute_script(FINDING + script, *arguments)

    def texts(self, selector):
        """The texts of all that match."""
        return self.at_once("return all(arguments[0]).map(place => place.innerText)", selector)

    def links(self, selector):
        """The addresses of all links that match."""
        return self.at_once("return all(arguments[0]).map(place => place.href)", selector)

    def count(self, selector):
        return len(self.texts(selector))

    def text(self, selector="main"):
        """The text of the first that matches; empty if nothing does."""
        return "".join(self.texts(selector)[:1])

    def click(self, selector):
        self.assertTrue(self.at_once("return click(all(arguments[0])[0])", selector), f"{selector} cannot be clicked")

    def keys(self, *keys):
        """Presses keys, wherever the focus is."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def type(self, selector, text):
        """Types into a field of a part that live updates replace."""
        self.click(selector)
        self.driver.execute_script("document.querySelector(arguments[0]).focus()", selector)
        self.keys(text)

    def press(self, name, within="main"):
        """Presses the button or link of a name, in what the page shows, and waits for the page that it leads to."""
        old = self.find("html")
        script = "return click(all(arguments[0]).find(place => place.innerText.trim() === arguments[1]))"
        is_pressed = self.at_once(script, f"{within} a, {within} button", name)
        self.assertTrue(is_pressed, f"there is no {name} to press in: {self.text()}")
        # The driver itself does not wait for the page of a form.
        self.wait(lambda: self.is_gone(old), f"{name} leads nowhere")
        self.wait(lambda: self.driver.execute_script("return document.readyState") == "complete", "no page")

    @staticmethod
    def is_gone(element):
        try:
            element.is_enabled()
            return False
        except WebDriverException:
            # Stale, or of a document that is just going.
            return True

    def confirm(self, name):
        """Answers the question before an act with yes."""
        self.assertIn("?", self.text("h1"))
        self.press(name)

    def wait(self, condition, what, seconds=30):
        WebDriverWait(self.driver, seconds, poll_frequency=0.05).until(lambda _: condition(), what)

    def wait_for_text(self, text, selector="main", seconds=30):
        """Waits for live updates, without a reload."""
        self.wait(lambda: text in self.text(selector), f"'{text}' does not appear", seconds)

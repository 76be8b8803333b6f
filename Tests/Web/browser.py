"""One Chromium for all tests, with what the tests say of pages."""

import os
import shutil
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
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

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector="main"):
        return self.find(selector).text

    def click(self, selector):
        """Clicks something of a part that a live update may replace at any moment."""
        self.driver.execute_script("document.querySelector(arguments[0]).click()", selector)

    def press(self, name):
        """Presses the button or link of a name, in what the page shows."""
        places = self.driver.find_elements(By.XPATH, f"//main//*[self::a or self::button][normalize-space()='{name}']")
        self.assertTrue(places, f"there is no {name} in: {self.text()}")
        old = self.find("html")
        places[0].click()
        # Each leads to another page; the driver itself does not wait for that of a form.
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
        self.wait(lambda: text in self.script_text(selector), f"'{text}' does not appear", seconds)

    def texts(self, selector):
        """The texts of all that match at one moment."""
        script = "return [...document.querySelectorAll(arguments[0])].map(place => place.innerText)"
        return self.driver.execute_script(script, selector)

    def script_text(self, selector):
        """The text of an element which may be replaced meanwhile."""
        return self.driver.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

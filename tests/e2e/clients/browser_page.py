"""The web page in Chromium of Debian, without a screen, driven by Playwright (PyPI).

Each test has a page of its own. What the browser complains of fails the test: scripts that break,
and what the Content-Security-Policy stops.
"""

import os
import re
import sys

import common
import harness
import processes
from processes import SCALE

PYTHON = "/usr/bin/python3"
CHROMIUM = "/usr/bin/chromium"


def playwright():
    """The library's module, installed once."""
    common.need("Python (python3-venv)", (PYTHON, "-c", "import ensurepip, venv"))
    common.need("Chromium", (CHROMIUM, "--version"))
    directory = common.install(
        "browser", ["browser/requirements.txt"],
        [(PYTHON, "-m", "venv", "{dir}/venv"),
         ("{dir}/venv/bin/pip", "install", "-q", "-r", "requirements.txt")], ["venv/bin/python"])
    path = os.path.join(directory, "venv/lib/python%d.%d/site-packages" % sys.version_info[:2])
    if path not in sys.path:
        sys.path.append(path)
    import playwright.sync_api
    return playwright.sync_api


class BrowserCase:
    """For a harness.TestCase: `page`, opened by open()."""

    width, height, scheme = 1280, 900, "light"
    # Answers that are none of success, which the browser reports as errors: tests say which.
    expected = r"^$"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        library = playwright()
        cls.driver = processes.spare(lambda: library.sync_playwright().start())
        cls.addClassCleanup(cls.driver.stop)
        cls.browser = cls.driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        super().setUp()
        self.complaints, self.asked = [], []
        self.context = self.browser.new_context(
            viewport={"width": self.width, "height": self.height}, color_scheme=self.scheme,
            timezone_id="Europe/Berlin", locale="en-GB")
        self.addCleanup(self.context.close)
        self.context.set_default_timeout(15000 * SCALE)
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._console)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.addCleanup(self._no_complaints)

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append("%s (%s)" % (message.text, message.location.get("url")))

    def _no_complaints(self):
        self.assertEqual([text for text in self.complaints if not re.search(self.expected, text)], [])

    def root(self):
        return "http://localhost:%d/" % self.master.address[1]

    def open(self, place=""):
        self.page.goto(self.root() + "#/" + place)
        self.heading()
        return self.page

    def go(self, place):
        """To another place, as by a link: the page is not loaded anew."""
        self.page.evaluate("place => { location.hash = '#/' + place }", place)

    def heading(self, text=None):
        found = self.page.locator("h1", has_text=text) if text else self.page.locator("h1")
        found.first.wait_for()
        return found.first

    def sees(self, text, exact=False):
        self.page.get_by_text(text, exact=exact).first.wait_for()

    def until(self, condition, what):
        """The browser's events are handled while it waits."""
        def look():
            self.page.wait_for_timeout(20)
            return condition()
        try:
            return harness.wait_for(look, what)
        except processes.Timeout as timeout:
            raise processes.Timeout("%s\nThe page shows:\n%s" % (
                timeout, self.page.locator("#page").inner_text())) from None

    def confirm(self, button, verb, **fields):
        """Opens the dialog of a button, fills it in and says yes."""
        self.page.get_by_role("button", name=button, exact=True).first.click()
        dialog = self.page.get_by_role("dialog")
        dialog.wait_for()
        for name, value in fields.items():
            dialog.locator('[name="%s"]' % name.replace("_", "-")).fill(value)
        dialog.get_by_role("button", name=verb, exact=True).click()
        return dialog

    def rows(self, label):
        """The texts of the rows that a list shows."""
        return self.page.get_by_role("table", name=label, exact=True).locator(
            "tbody tr:not([aria-hidden])").all_inner_texts()

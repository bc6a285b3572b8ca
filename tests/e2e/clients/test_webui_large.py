"""The web page with 10,000 agents and 100,000 tasks: it stays smooth. And for everybody: checked by
axe (PyPI), in light and dark, on narrow screens, by keyboard."""

import os
import unittest
from urllib.parse import unquote

import browser_page
import harness
import processes
from test_load import BENCH_LOAD

AGENTS, TASKS = 10000, 100000
# The longest that the page may be unable to answer its reader, ms. A person notices some 100; a
# browser on a machine that plays 10,000 agents as well has hardly a processor of its own.
STALL_MAX = 400

WATCH = """() => {
  window.stalls = [];
  let last = performance.now();
  const beat = () => { const now = performance.now(); window.stalls.push(now - last); last = now;
                       requestAnimationFrame(beat); };
  requestAnimationFrame(beat);
}"""


@unittest.skipUnless(os.path.exists(BENCH_LOAD), "bench_load is not built")
class Large(browser_page.BrowserCase, harness.TestCase):
    agents = 0

    def test_it_stays_smooth(self):
        processes.spawn([BENCH_LOAD, "--master=%s:%d" % self.master.address, "--agents=%d" % AGENTS,
                         "--tasks=%d" % TASKS, "--failover", "--stall=2hrs", "--no-echo"],
                        env=harness.clean_environment())
        harness.wait_for(lambda: self.master.metric("master/tasks_running") == TASKS, "100,000 tasks", 60)
        page = self.open("tasks")
        page.get_by_text("100,000 tasks").wait_for(timeout=60000 * processes.SCALE)
        page.evaluate(WATCH)
        box = page.get_by_role("region", name="tasks", exact=True)
        seen = set()
        for part in (0.1, 0.5, 0.9, 1):
            box.evaluate("(box, part) => { box.scrollTop = box.scrollHeight * part }", part)
            self.until(lambda: page.locator("tbody tr:not([aria-hidden])").first.get_attribute("aria-rowindex")
                       not in seen, "other rows")
            seen.add(page.locator("tbody tr:not([aria-hidden])").first.get_attribute("aria-rowindex"))
            self.assertLess(page.locator("tbody tr").count(), 120, "only what is in sight is there")
        last = page.locator("tbody tr:not([aria-hidden])").last
        self.until(lambda: last.get_attribute("aria-rowindex") == str(TASKS + 1), "the last row")
        task_id = unquote(last.locator("a").first.get_attribute("href").split("/")[-1])
        page.get_by_role("searchbox").press_sequentially(task_id)
        page.get_by_role("status").get_by_text("1 task", exact=True).wait_for()
        self.assertIn(task_id, self.rows("tasks")[0])
        page.get_by_role("searchbox").fill("")
        page.get_by_role("button", name="Agent", exact=True).click()
        page.locator("th[aria-sort=ascending]", has_text="Agent").wait_for()
        self.go("agents")
        page.get_by_text("10,000 agents").wait_for()
        self.go("")
        self.sees("10,000 active")
        page.get_by_text("100,000 active tasks").wait_for()
        stalls = sorted(page.evaluate("window.stalls"))
        print("frames: %d, half of them within %.0f ms, longest %.0f ms" % (
            len(stalls), stalls[len(stalls) // 2], stalls[-1]))
        self.assertLess(stalls[-1], STALL_MAX * processes.SCALE)
        self.assertEqual(len([url for url in self.asked if url.endswith("/api/v1")]), 1, "the state came once")


class ForEverybody(browser_page.BrowserCase, harness.TestCase):
    def setUp(self):
        super().setUp()
        self.scheduler = self.subscribe(name="shop", roles=["web"])
        self.task_id = self.scheduler.run("echo hello; sleep 1000")
        self.scheduler.wait_state(self.task_id, "TASK_RUNNING")
        harness.wait_for(lambda: self.master.json("/offers")["offers"], "an offer")

    def places(self):
        task = "task/%s/%s" % (self.scheduler.id, self.task_id)
        return ["", "tasks", task, task + "/files", task + "/files/stdout?file=1", "frameworks",
                "framework/" + self.scheduler.id, "agents", "agent/" + self.agent.id, "roles", "role/web",
                "offers", "operations", "volumes", "maintenance"]

    def check(self):
        from axe_playwright_python.sync_playwright import Axe
        axe = Axe()
        for place in self.places():
            self.go(place)
            self.page.wait_for_timeout(50)
            self.heading()
            self.page.locator(".waiting").first.wait_for(state="detached")
            found = axe.run(self.page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]})
            bad = [(violation["id"], violation["help"], [node["html"][:200] for node in violation["nodes"][:3]])
                   for violation in found.response["violations"]]
            self.assertEqual(bad, [], place)

    def test_light(self):
        self.open()
        self.check()

    def test_dialogs(self):
        from axe_playwright_python.sync_playwright import Axe
        page = self.open("agent/" + self.agent.id)
        page.get_by_role("button", name="Drain", exact=True).click()
        page.get_by_role("dialog").wait_for()
        found = Axe().run(page)
        self.assertEqual([v["id"] for v in found.response["violations"]], [])

    def test_by_keyboard_alone(self):
        page = self.open("tasks")
        self.until(lambda: len(self.rows("tasks")) == 1, "the task")
        page.keyboard.press("Tab")
        self.assertEqual(page.evaluate("document.activeElement.textContent"), "To the content")
        page.keyboard.press("Enter")
        self.assertEqual(page.evaluate("document.activeElement.id"), "main")
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent") == self.task_id:
                break
        page.keyboard.press("Enter")
        self.heading(self.task_id)


class InTheDark(ForEverybody):
    scheme = "dark"
    test_by_keyboard_alone = None


class OnANarrowScreen(ForEverybody):
    width, height = 390, 800
    test_light = test_dialogs = test_by_keyboard_alone = None

    def test_nothing_is_wider_than_the_screen(self):
        self.open()
        for place in self.places():
            self.go(place)
            self.page.wait_for_timeout(50)
            self.heading()
            self.page.locator(".waiting").first.wait_for(state="detached")
            self.assertLessEqual(self.page.evaluate("document.documentElement.scrollWidth"), 390, place)

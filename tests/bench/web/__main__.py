"""`make bench-web`: the web page in Chromium against the real service; prints a table, with --json a document.

launch   from the submission of a run to its first point on the page, which is opened at once
open     a run with a million points or more: from the address to its drawn charts, the first time and again
pan      the same run, panned for some seconds: frames a second, from the trace of Chromium; and with the processor four times slower
list     the list of 200 and of 20,000 runs: the time to open it, the longest task while it is scrolled, the most rows in the document
live     fifty running flows: processor time of the page's process and of the service, each in processors
slow     four pages over a network of 400 ms and 1.6 Mbit/s: until they are painted, until their content is shown
tasks    ten tasks of users (tasks.py): their presses and seconds
page     JavaScript of the first page, compressed as sent; time until it is painted and until its content is shown, with an empty cache
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from longhaul.api.static_page import BUILT
from tests.bench.web.first_page import first_content, over_a_slow_network
from tests.bench.web.lists import measure_lists
from tests.bench.web.page import opened, traced
from tests.bench.web.tasks import measure_tasks
from tests.browser.visitor import CHROMIUM
from tests.support.programs import run_program
from tests.support.service import ROOT, Service, served

_POINTS = (1_000_000, 5_000_000)
_PAN_S, _LIVE_S = 5.0, 15.0
# A mouse that drags to and fro. Browsers deliver its moves once a frame; through the driver, each would wait for the answer to the one before.
_DRAG = """([left, right, y, ms]) => new Promise(done => {
    const over = document.querySelector('figure[aria-label="Congestion window"] .u-over');
    const begun = performance.now();
    let [x, step] = [right, -10];
    const move = () => {
        if (performance.now() - begun > ms) { done(); return; }
        x += step;
        if (x < left || x > right) step = -step;
        const at = { pointerId: 1, clientX: x, clientY: y, shiftKey: true, buttons: 1, bubbles: true };
        over.dispatchEvent(new PointerEvent("pointermove", at));
        over.dispatchEvent(new MouseEvent("mousemove", at));
        requestAnimationFrame(move);
    };
    move();
})"""
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
# Some 41,000 packets a second, two to an ACK; many() finds the duration for enough ACKs.
MANY: dict[str, Any] = {
    "experiment": "many-points",
    "path": {"bandwidth": "500 Mbit/s", "rtt": "20 ms"},
    "flows": [{"name": "one", "cc": "cubic"}, {"name": "two", "cc": "bbr"}],
    "duration": "40 s",
}
FIFTY: dict[str, Any] = {
    "experiment": "fifty-flows",
    "path": {"bandwidth": "100 Mbit/s", "rtt": "40 ms"},
    "flows": [{"name": "f", "cc": "cubic", "count": 50}],
    "duration": "3600 s",
}
LEGEND = 'figure[aria-label="Congestion window"] table'


def go(page: Page, service: Service, run: str) -> None:
    page.evaluate("hash => { location.hash = hash; }", f"#/runs/{run}")


def drawn(page: Page) -> None:
    """Wait until the charts show values and the browser has painted them."""
    page.wait_for_selector(f"{LEGEND} td span:not(:empty)")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def launch(page: Page, service: Service, repeats: int) -> dict[str, float]:
    """The quick preset at a high rate, so that it is still running when the page shows it."""
    took = []
    for seed in range(1, repeats + 1):
        begun = time.perf_counter()
        made = service.submit({"shipped": "quick", "seed": seed, "set": ["path.bandwidth=1 Gbit/s", "duration=600 s"]})
        go(page, service, str(made["runs"][0]).rpartition("/")[2])
        drawn(page)
        took.append(time.perf_counter() - begun)
        with service.client() as client:
            client.post(f"{ROOT}/experiments/{made['id']}/cancel")
        service.wait(made["id"])
        page.evaluate("() => { location.hash = '#/compare'; }")
        page.wait_for_selector(LEGEND, state="detached")
    return {"median_s": statistics.median(took), "max_s": max(took)}


def many(service: Service, least: int) -> tuple[str, int]:
    """A kept run with this many ACKs or more, and how many it has."""
    duration_s = 40 * least // 1_000_000
    while True:
        made = service.submit({"spec": MANY | {"duration": f"{duration_s} s"}})
        run = str(made["runs"][0]).rpartition("/")[2]
        service.wait(made["id"])
        with service.client() as client:
            timelines = client.get(f"{ROOT}/runs/{run}/timelines", params={"measure": "cwnd", "points": 4}).json()
        points = sum(one["of_values"] for one in timelines["series"])
        if points >= least:
            return run, points
        duration_s = int(duration_s * least / points * 1.1) + 1


def open_run(page: Page, service: Service, run: str, repeats: int) -> dict[str, float]:
    """Open a kept run; the service, just started, has read none of its files before the first time."""
    took = []
    for _ in range(repeats):
        page.evaluate("() => { location.hash = '#/compare'; }")
        page.wait_for_selector(LEGEND, state="detached")
        begun = time.perf_counter()
        go(page, service, run)
        drawn(page)
        took.append(time.perf_counter() - begun)
    return {"first_s": took[0], "again_median_s": statistics.median(took[1:])}


def pan(page: Page, browser: Browser, slower: int = 1) -> dict[str, float]:
    """Pan a zoomed run with the mouse for some seconds; the frames in the trace of Chromium, with a processor that is slower."""
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": slower})
    over = page.locator('figure[aria-label="Congestion window"] .u-over').bounding_box()
    assert over is not None
    for _ in range(3):
        page.keyboard.press("+")
    page.wait_for_timeout(1500)
    left, right, middle = over["x"] + 30, over["x"] + over["width"] - 30, over["y"] + over["height"] / 2
    page.mouse.move(right, middle)
    page.keyboard.down("Shift")
    page.mouse.down()
    with traced(page, browser) as trace:
        page.evaluate(_DRAG, [left, right, middle, _PAN_S * 1000])
    page.mouse.up()
    page.keyboard.up("Shift")
    return trace.frames()


def processor_s(pids: list[int]) -> float:
    """The processor time of these processes so far."""
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total * _TICK_S


def children_of(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += children_of(int(child))
    return found


def live(page: Page, service: Service, chromium: int) -> dict[str, float]:
    """Fifty flows in real time or faster: the processor time of the browser and of the service."""
    made = service.submit({"spec": FIFTY})
    go(page, service, str(made["runs"][0]).rpartition("/")[2])
    drawn(page)
    api = [service.pid]
    before = processor_s(children_of(chromium)), processor_s(api)
    begun = time.perf_counter()
    page.wait_for_timeout(_LIVE_S * 1000)
    lasted_s = time.perf_counter() - begun
    after = processor_s(children_of(chromium)), processor_s(api)
    reached = page.get_by_text(re.compile(r"[\d.]+ s of")).inner_text()
    with service.client() as client:
        client.post(f"{ROOT}/experiments/{made['id']}/cancel")
    service.wait(made["id"])
    return {
        "browser_cores": (after[0] - before[0]) / lasted_s,
        "service_cores": (after[1] - before[1]) / lasted_s,
        "virtual_s": float(reached.split()[0]),
    }


def first_page(service: Service) -> dict[str, float]:
    """The compressed size of the JavaScript of a first visit."""
    with service.client(None) as client:
        names = re.findall(r"\./(assets/[^\"]+\.js)", client.get("/").text)
        sizes = []
        for name in names:
            with client.stream("GET", f"/{name}", headers={"Accept-Encoding": "gzip"}) as answer:
                sizes.append(sum(len(piece) for piece in answer.iter_raw()))
    return {"javascript_gzip_kb": sum(sizes) / 1000}


def chromium_of() -> int:
    """The pid of the browser that this process has started."""
    for pid in children_of(os.getpid()):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"--type=" not in command and b"chromium" in command.split(b"\0")[0]:
            return pid
    raise RuntimeError("no chromium among the children of this process")


def measure(repeats: int) -> dict[str, Any]:
    """Measure everything, with a temporary home."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="longhaul-bench-") as folder, served(Path(folder) / "home") as service:
        short = service.wait(service.submit({"shipped": "quick"})["id"])["runs"][0].rpartition("/")[2]
        runs = [many(service, least) for least in _POINTS]
        with sync_playwright() as playwright:
            options = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
            with opened(browser, service) as page:
                found["page"] = first_page(service) | first_content(browser, service, repeats)
                found["slow network"] = over_a_slow_network(browser, service, short, repeats)
                found["launch"] = launch(page, service, repeats)
                for run, points in runs:
                    name = f"open {points // 1_000_000} M"
                    found[name] = {"points": points, **open_run(page, service, run, repeats + 1)}
                found["pan"] = pan(page, browser)
                found["pan, slow"] = pan(page, browser, slower=4)
            with opened(browser, service) as page:
                found["live"] = live(page, service, chromium_of())
            found |= measure_lists(browser, repeats)
            found |= measure_tasks(browser)
            browser.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not (BUILT / "index.html").is_file():
        print("bench-web: the page is not built: make web", file=sys.stderr)
        return 3
    load = run_program(["uptime"], check=True).stdout.rpartition("load average:")[2]
    found = measure(options.repeats)
    if options.json:
        print(json.dumps(found))
        return 0
    print(f"load average before: {load.strip()}")
    for name, numbers in found.items():
        print(f"{name:10} " + "  ".join(f"{key} {value:.4g}" for key, value in numbers.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

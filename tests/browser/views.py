"""Every view of the page, in a lab without runs and in one with runs, for tests and screenshots."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as TookTooLong

from tests.support.service import ROOT, Service

# Four congestion controls in pairs: a heat map with sixteen cells.
PAIRS: dict[str, Any] = {
    "experiment": "all-pairs",
    "about": "Four congestion controls share 20 Mbit/s in pairs.",
    "path": {"bandwidth": "20 Mbit/s", "rtt": "40 ms"},
    "flows": [{"name": "first", "cc": "reno"}, {"name": "second", "cc": "reno"}],
    "duration": "10 s",
    "warmup": "2 s",
    "sample": "50 ms",
    "sweep": {"flows.first.cc": ["reno", "cubic", "htcp", "bbr"], "flows.second.cc": ["reno", "cubic", "htcp", "bbr"]},
}
# Long enough for a screenshot, and quick to simulate.
DUEL: dict[str, Any] = {
    "experiment": "cubic-with-bbr",
    "about": "CUBIC and BBR share 100 Mbit/s; the bandwidth is halved for ten seconds.",
    "path": {"bandwidth": "100 Mbit/s", "rtt": "60 ms", "buffer": "1 BDP"},
    "flows": [{"name": "cubic", "cc": "cubic"}, {"name": "bbr", "cc": "bbr", "start": "5 s"}],
    "schedule": [
        {"at": "15 s", "path": {"bandwidth": "50 Mbit/s"}},
        {"at": "25 s", "path": {"bandwidth": "100 Mbit/s"}},
    ],
    "duration": "40 s",
    "warmup": "2 s",
    "sample": "20 ms",
    "repeats": 2,
    "expect": [{"measure": "jain", "at_least": 0.8}],
}
FIGURE = ("agilesd", "fig4")

# Each view, by the name of its screenshot.
EMPTY = {
    "start-empty": "",
    "runs-empty": "runs",
    "compare-empty": "compare",
    "papers-empty": "papers",
    "figure-empty": "papers/agilesd/fig4",
    "queue-empty": "lab/queue",
    "hosts-empty": "lab/hosts",
}
FULL = {
    "start": "",
    "launch": "launch?from=demo",
    "launch-text": "launch?pane=text",
    "runs": "runs",
    "experiments": "runs?what=experiments",
    "run": "runs/{run}",
    "experiment": "experiments/{duel}",
    "sweep": "experiments/{pairs}",
    "explore": "experiments/{pairs}/explore",
    "explore-run": "runs/{run}?look=states",
    "compare": "compare?runs={run},{other}",
    "compare-sides": "compare?show=multiples&runs={run},{other}",
    "compare-distributions": "compare?show=spread&runs={run},{other}",
    "compare-fairness": "compare?show=fairness&runs={run},{other}",
    "compare-differences": "compare?show=differences&runs={run},{other}&all=1",
    "compare-map": "compare?show=map&experiment={pairs}",
    "predict": "predict",
    "papers": "papers",
    "figure": "papers/agilesd/fig4",
    "queue": "lab/queue",
    "hosts": "lab/hosts",
    "modules": "lab/modules",
    "recordings": "lab/recordings",
    "baselines": "lab/baselines",
    "service": "lab/service",
    "notifications": "lab/notifications",
    "tokens": "lab/tokens",
    "audit": "lab/audit",
    "nowhere": "nowhere",
}

# A simulation takes longer than a page, above all on a busy machine.
_REACHES_MS = 120_000
# Resolves when nothing has changed for a while and nothing is loading.
SETTLED = """() => new Promise((resolve) => {
    const [quiet, most] = [400, 30000];
    const begun = performance.now();
    let changed = begun;
    const watch = new MutationObserver(() => { changed = performance.now(); });
    watch.observe(document.body, { subtree: true, childList: true, characterData: true });
    // Numbers of an earlier version of the experiment are pale until the new ones arrive.
    const waits = () => document.querySelector('main [data-fresh="false"]') !== null
        || [...document.querySelectorAll("main [role=status]")].some((one) => /…$/.test(one.textContent));
    const look = () => {
        const now = performance.now();
        if (now - begun < most && (now - changed < quiet || waits())) return setTimeout(look, 50);
        watch.disconnect();
        resolve();
    };
    look();
})"""


def submit_all(service: Service) -> dict[str, str]:
    """Submit the experiments of a full lab; returns their ids."""
    made = {name: service.submit({"spec": spec})["id"] for name, spec in (("pairs", PAIRS), ("duel", DUEL))}
    paper, figure = FIGURE
    with service.client("run") as client:
        assert client.post(f"{ROOT}/reproductions/{paper}/{figure}", json={}).is_success
    return made


def wait_for_all(service: Service, made: dict[str, str]) -> dict[str, str]:
    """Wait for all runs; returns the names that addresses of views contain."""
    with service.client("run") as client:
        ended = {name: service.wait(one) for name, one in made.items()}
        for row in client.get(f"{ROOT}/experiments").json()["items"]:
            service.wait(row["id"])
    run, other = (href.rpartition("/")[2] for href in ended["duel"]["runs"])
    return {**made, "run": run, "other": other}


def settle(page: Page) -> None:
    """Wait until the page has loaded."""
    page.evaluate(SETTLED)


def reaches(page: Page, at_least_s: float) -> None:
    """Wait until the page shows that its run has progressed so far."""
    try:
        page.wait_for_function(
            "most => { const found = /([\\d.]+) s of/.exec(document.querySelector('main')?.textContent ?? '');"
            " return found !== null && Number(found[1]) >= most; }",
            arg=at_least_s,
            timeout=_REACHES_MS,
        )
    except TookTooLong:
        shown = page.locator("main").inner_text()
        raise AssertionError(f"the run did not reach {at_least_s} s; the page shows: {shown[:1000]}") from None

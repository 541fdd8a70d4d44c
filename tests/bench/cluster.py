"""`make bench-cluster`: the rate of two Dask workers on loopback against that of one, within one run of this program.

Each worker has one slot; the same sweep with other seeds is carried out by one, then by both. Scheduler and dispatcher take
their share of the same processors, as they do in a lab on one machine. It prints the ratio and the load, and ends with 1
where the ratio is under its bar.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from orchestrator.request import Request
from orchestrator.results.experiments import Experiments
from orchestrator.results.store import Store
from orchestrator.settings import load_settings
from orchestrator.submission import Desk
from tests.parts import DaskScheduler, DaskWorker, Part

# About a second of one processor: a run of the kind that fills a sweep, and not one that is over at once.
RUN = ("path.bandwidth=100 Mbit/s", "duration=40 s", "sample=10 ms")
BAR = 1.8


class Lab:
    """One dispatcher, one scheduler, and the workers that were started so far."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self.scheduler = DaskScheduler(folder)
        self._start(self.scheduler)
        self.settings = replace(load_settings(), home=folder / "home", dask=self.scheduler.address)
        store = Store(self.settings)
        self.desk, self.experiments = Desk(self.settings, store), Experiments(store.database)
        environment = {"LONGHAUL_HOME": str(self.settings.home), "LONGHAUL_DASK": self.settings.dask}
        self.dispatcher = Part("dispatcher", [sys.executable, "-m", "orchestrator.dispatch"], folder, environment)
        self._start(self.dispatcher)
        self._seed = 0

    def add_worker(self) -> None:
        """One more, with one slot, that is there when this returns."""
        self._seed += 1
        worker = DaskWorker(self._folder, self.scheduler.address, 1, self.settings.cache, f"worker{self._seed}")
        self._start(worker)
        worker.wait_until_it_says("slots at")
        self.rate(8)

    def rate(self, runs: int) -> float:
        """Runs a second, of a sweep that nobody has run before."""
        self._seed += 1
        begun = time.monotonic()
        key = self.desk.submit(Request(shipped="quick", changes=RUN, repeats=runs, seed=self._seed * 10_000), "bench")
        while (row := self.experiments.get(key))["status"] in ("queued", "running"):
            time.sleep(0.05)
        if row["failed"]:
            sys.exit(f"{row['failed']} runs failed: {self.experiments.documents(key)[0].get('error')}")
        return runs / (time.monotonic() - begun)

    def overhead_s(self) -> float:
        """Processor seconds that dispatcher and scheduler have taken so far."""
        return _cpu_s(self.dispatcher) + _cpu_s(self.scheduler)

    def _start(self, part: Part) -> None:
        part.start()
        self._stack.callback(part.stop)


def _cpu_s(part: Part) -> float:
    user, system = Path(f"/proc/{part.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Measure; 1 when the ratio misses its bar."""
    parser = argparse.ArgumentParser(description="Two Dask workers against one.")
    parser.add_argument("--runs", type=int, default=300, help="runs of the sweep")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    words = parser.parse_args()
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="longhaul-bench-") as folder, ExitStack() as stack:
        lab = Lab(Path(folder), stack)
        lab.add_worker()
        one = lab.rate(words.runs)
        lab.add_worker()
        before_s = lab.overhead_s()
        two = lab.rate(words.runs)
        overhead_s = (lab.overhead_s() - before_s) / words.runs
    found = {
        "runs": words.runs,
        "one_per_s": round(one, 3),
        "two_per_s": round(two, 3),
        "ratio": round(two / one, 3),
        "bar": BAR,
        "overhead_s_per_run": round(overhead_s, 4),
        "processors": len(os.sched_getaffinity(0)),
        "load_before": round(before, 2),
        "load_after": round(os.getloadavg()[0], 2),
    }
    if words.json:
        print(json.dumps(found))
    else:
        print(
            f"{words.runs} runs: one worker {one:.2f} a second, two {two:.2f}, {two / one:.2f} times (bar {BAR});"
            f" dispatcher and scheduler {overhead_s * 1000:.0f} ms of processor a run; {found['processors']} processors, load {before:.1f} before"
        )
    return int(two / one < BAR)


if __name__ == "__main__":
    raise SystemExit(main())

"""`make bench-cluster`: the rate of two Dask workers on loopback against that of one, within one run of this program.

Each worker has one slot; the same sweep with other seeds is carried out by one and by both, in turns. Scheduler and dispatcher
take their share of the same processors, as they do in a lab on one machine. It prints the ratio, and what others on the
machine took meanwhile: above a few percent the ratio is theirs. It ends with 1 where the ratio is under its bar.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from longhaul.orchestrator.database.experiments import Experiments
from longhaul.orchestrator.execution.request import Request
from longhaul.orchestrator.execution.submission import Desk
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import load_settings
from tests.support.parts import DaskScheduler, DaskWorker, Part

# About a second of one processor: a run of the kind that fills a sweep, and not one that is over at once.
RUN = ("path.bandwidth=100 Mbit/s", "duration=40 s", "sample=10 ms")
BAR = 1.8

_PROCESSORS = len(os.sched_getaffinity(0))
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Side:
    """What a number of workers came to, over the rounds."""

    runs: int = 0
    wall_s: float = 0.0
    overhead_s: float = 0.0
    own_s: float = 0.0
    busy_s: float = 0.0

    @property
    def per_s(self) -> float:
        return self.runs / self.wall_s

    @property
    def others(self) -> float:
        """Which share of all processors whoever else is on this machine had."""
        return max(0.0, self.busy_s - self.own_s) / (self.wall_s * _PROCESSORS)


class Lab:
    """One dispatcher, one scheduler, one worker, and a second one from time to time."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self._scheduler = DaskScheduler(folder)
        self._start(self._scheduler)
        self._settings = replace(load_settings(), home=folder / "home", dask=self._scheduler.address)
        store = Store(self._settings)
        self._desk, self._experiments = Desk(self._settings, store), Experiments(store.database)
        environment = {"LONGHAUL_HOME": str(self._settings.home), "LONGHAUL_DASK": self._settings.dask}
        self._dispatcher = Part(
            "dispatcher", [sys.executable, "-m", "longhaul.orchestrator.execution.dispatch"], folder, environment
        )
        self._start(self._dispatcher)
        self._seed = 0
        self._workers: list[DaskWorker] = []
        self.add_worker()

    def add_worker(self) -> None:
        """One more, with one slot, that is there and warm when this returns."""
        worker = DaskWorker(self._folder, self._scheduler.address, 1, self._settings.cache, f"worker{self._seed}")
        self._start(worker)
        worker.wait_until_it_says("slots at")
        self._workers.append(worker)
        self._carry_out(8)

    def remove_worker(self) -> None:
        """One less."""
        self._workers.pop().stop()

    def measure(self, runs: int, side: Side) -> None:
        """Carry out a sweep that nobody has run before."""
        before = self._processors()
        begun = time.monotonic()
        self._carry_out(runs)
        side.runs += runs
        side.wall_s += time.monotonic() - begun
        overhead_s, own_s, busy_s = (now - then for now, then in zip(self._processors(), before, strict=True))
        side.overhead_s, side.own_s, side.busy_s = (
            side.overhead_s + overhead_s,
            side.own_s + own_s,
            side.busy_s + busy_s,
        )

    def _carry_out(self, runs: int) -> None:
        self._seed += 1
        request = Request(shipped="quick", changes=RUN, repeats=runs, seed=self._seed * 10_000)
        key = self._desk.submit(request, "bench")
        while (row := self._experiments.get(key))["status"] in ("queued", "running"):
            time.sleep(0.05)
        if row["failed"]:
            sys.exit(f"{row['failed']} runs failed: {self._experiments.documents(key)[0].get('error')}")

    def _processors(self) -> tuple[float, float, float]:
        """Processor seconds so far: of dispatcher and scheduler, of all that belongs to this lab, and of everybody."""
        overhead_s = _cpu_s(self._dispatcher.pid) + _cpu_s(self._scheduler.pid)
        own_s = overhead_s + _cpu_s(os.getpid()) + sum(_cpu_s(worker.child) for worker in self._workers if worker.child)
        user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
        return overhead_s, own_s, (user + nice + system + irq + softirq) / _TICKS

    def _start(self, part: Part) -> None:
        part.start()
        self._stack.callback(part.stop)


def _cpu_s(pid: int) -> float:
    """Of a process and of those of its children that have ended, as guests have."""
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]
    return sum(map(int, times)) / _TICKS


def main() -> int:
    """Measure; 1 when the ratio misses its bar."""
    parser = argparse.ArgumentParser(description="Two Dask workers against one.")
    parser.add_argument("--runs", type=int, default=300, help="runs of the sweep, for either side")
    parser.add_argument("--rounds", type=int, default=3, help="how often the sides take turns")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    words = parser.parse_args()
    load = os.getloadavg()[0]
    one, two = Side(), Side()
    with tempfile.TemporaryDirectory(prefix="longhaul-bench-") as folder, ExitStack() as stack:
        lab = Lab(Path(folder), stack)
        for _ in range(words.rounds):
            lab.measure(words.runs // words.rounds, one)
            lab.add_worker()
            lab.measure(words.runs // words.rounds, two)
            lab.remove_worker()
    ratio = two.per_s / one.per_s
    found = {
        "runs": one.runs,
        "one_per_s": round(one.per_s, 3),
        "two_per_s": round(two.per_s, 3),
        "ratio": round(ratio, 3),
        "bar": BAR,
        "overhead_s_per_run": round(two.overhead_s / two.runs, 4),
        "processors": _PROCESSORS,
        "others_beside_one": round(one.others, 3),
        "others_beside_two": round(two.others, 3),
        "load_before": round(load, 2),
    }
    if words.json:
        print(json.dumps(found))
    else:
        print(
            f"{one.runs} runs on each side: one worker {one.per_s:.2f} a second, two {two.per_s:.2f}: {ratio:.2f} times (bar {BAR});"
            f" dispatcher and scheduler take {two.overhead_s / two.runs * 1000:.0f} ms of processor a run"
        )
        print(
            f"{_PROCESSORS} processors, load {load:.1f} before; others had {one.others:.0%} of them beside one, {two.others:.0%} beside two"
        )
    return int(ratio < BAR)


if __name__ == "__main__":
    raise SystemExit(main())

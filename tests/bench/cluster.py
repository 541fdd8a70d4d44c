"""`make bench-cluster`: the rate of two Dask workers on loopback against that of one, within one run of this program.

Each worker has one slot; one worker and both run the same sweep with other seeds, alternately. Scheduler and dispatcher use
the same processors, as they do in a lab on one machine. It prints the ratio, and the share of other processes: above a few
percent the ratio is not valid. With short runs of 10 s at 10 Mbit/s it measures the share of a worker's time that is spent on anything but runs,
by Dask's own record of its tasks. It exits with 1 where the ratio is below its bar.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from distributed import Client, get_task_stream

from longhaul.orchestrator.database.experiments import Experiments
from longhaul.orchestrator.execution.request import Request
from longhaul.orchestrator.execution.submission import Desk
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import load_settings
from tests.support.parts import DaskScheduler, DaskWorker, Part

# About a second of one processor, like a typical run of a sweep.
RUN = ("path.bandwidth=100 Mbit/s", "duration=40 s", "sample=10 ms")
BAR = 1.8
# A fraction of a second: between two of these, whatever a worker waits for shows.
SHORT_RUN = ("path.bandwidth=10 Mbit/s", "duration=10 s")
IDLE_BAR = 0.03

_PROCESSORS = len(os.sched_getaffinity(0))
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Side:
    """The totals of one number of workers, over the rounds."""

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
        """The share of all processors that other processes on this machine took."""
        return max(0.0, self.busy_s - self.own_s) / (self.wall_s * _PROCESSORS)


class Lab:
    """One dispatcher, one scheduler, one worker, and at times a second one."""

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
        """Add a worker with one slot, and wait until it is connected and warm."""
        worker = DaskWorker(self._folder, self._scheduler.address, 1, self._settings.cache, f"worker{self._seed}")
        self._start(worker)
        worker.wait_for_output("slots at")
        self._workers.append(worker)
        self._run_sweep(8)

    def remove_worker(self) -> None:
        """Stop the newest worker."""
        self._workers.pop().stop()

    def measure(self, runs: int, side: Side) -> None:
        """Run a sweep with new seeds."""
        before = self._processors()
        begun = time.monotonic()
        self._run_sweep(runs)
        side.runs += runs
        side.wall_s += time.monotonic() - begun
        overhead_s, own_s, busy_s = (now - then for now, then in zip(self._processors(), before, strict=True))
        side.overhead_s, side.own_s, side.busy_s = (
            side.overhead_s + overhead_s,
            side.own_s + own_s,
            side.busy_s + busy_s,
        )

    def idle_share(self, runs: int) -> float:
        """The share of one worker's time, from its first short run to its last, in which it has none."""
        with Client(self._settings.dask) as client, get_task_stream(client) as stream:
            self._run_sweep(runs, SHORT_RUN)
        spans = [span for task in stream.data for span in task["startstops"] if span["action"] == "compute"]
        whole_s = max(span["stop"] for span in spans) - min(span["start"] for span in spans)
        busy_s = float(sum(span["stop"] - span["start"] for span in spans))
        return 1 - busy_s / float(whole_s)

    def _run_sweep(self, runs: int, changes: Sequence[str] = RUN) -> None:
        self._seed += 1
        request = Request(shipped="quick", changes=tuple(changes), repeats=runs, seed=self._seed * 10_000)
        key = self._desk.submit(request, "bench")
        while (row := self._experiments.get(key))["status"] in ("queued", "running"):
            time.sleep(0.05)
        if row["failed"]:
            sys.exit(f"{row['failed']} runs failed: {self._experiments.documents(key)[0].get('error')}")

    def _processors(self) -> tuple[float, float, float]:
        """Processor seconds so far: of dispatcher and scheduler, of all processes of this lab, and of all processes."""
        overhead_s = _cpu_s(self._dispatcher.pid) + _cpu_s(self._scheduler.pid)
        own_s = overhead_s + _cpu_s(os.getpid()) + sum(_cpu_s(worker.child) for worker in self._workers if worker.child)
        user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
        return overhead_s, own_s, (user + nice + system + irq + softirq) / _TICKS

    def _start(self, part: Part) -> None:
        part.start()
        self._stack.callback(part.stop)


def _cpu_s(pid: int) -> float:
    """Processor time of a process and of its ended children, such as guests."""
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]
    return sum(map(int, times)) / _TICKS


def main() -> int:
    """Measure; 1 when the ratio misses its bar."""
    parser = argparse.ArgumentParser(description="Two Dask workers against one.")
    parser.add_argument("--runs", type=int, default=300, help="runs of the sweep, for either side")
    parser.add_argument("--rounds", type=int, default=3, help="how often the sides alternate")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    one, two = Side(), Side()
    with tempfile.TemporaryDirectory(prefix="longhaul-bench-") as folder, ExitStack() as stack:
        lab = Lab(Path(folder), stack)
        idle = lab.idle_share(options.runs // options.rounds)
        for _ in range(options.rounds):
            lab.measure(options.runs // options.rounds, one)
            lab.add_worker()
            lab.measure(options.runs // options.rounds, two)
            lab.remove_worker()
    ratio = two.per_s / one.per_s
    found = {
        "runs": one.runs,
        "one_per_s": round(one.per_s, 3),
        "two_per_s": round(two.per_s, 3),
        "ratio": round(ratio, 3),
        "bar": BAR,
        "idle_share": round(idle, 4),
        "idle_bar": IDLE_BAR,
        "overhead_s_per_run": round(two.overhead_s / two.runs, 4),
        "processors": _PROCESSORS,
        "others_with_one": round(one.others, 3),
        "others_with_two": round(two.others, 3),
        "load_before": round(load, 2),
    }
    if options.json:
        print(json.dumps(found))
    else:
        print(f"with short runs a worker has none for {idle:.1%} of its time (bar {IDLE_BAR:.0%})")
        print(
            f"{one.runs} runs on each side: one worker {one.per_s:.2f} a second, two {two.per_s:.2f}: {ratio:.2f} times (bar {BAR});"
            f" dispatcher and scheduler take {two.overhead_s / two.runs * 1000:.0f} ms of processor a run"
        )
        print(
            f"{_PROCESSORS} processors, load {load:.1f} before; other processes took {one.others:.0%} with one worker, {two.others:.0%} with two"
        )
    return int(ratio < BAR)


if __name__ == "__main__":
    raise SystemExit(main())

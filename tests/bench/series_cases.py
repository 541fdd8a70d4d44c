"""The cost of a chart of a kept run: thinning alone, one series from the store, and many readers at once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from statistics import median

import numpy as np

from longhaul.orchestrator.analysis.kept_series import kept_timeline
from longhaul.orchestrator.analysis.thinning import thin
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.process import keep_freed_memory
from longhaul.orchestrator.system.settings import load_settings
from tests.bench.cases import Bench, Row
from tests.bench.longhaul_side import run_longhaul

_VALUES, _POINTS, _THIN_MOST_MS = 1_000_000, 2_000, 50.0
# The path and duration of `longhaul run demo`; both flows trace every ACK.
_DEMO = {
    "experiment": "bench-series",
    "path": {"bandwidth": "622 Mbit/s", "rtt": "300 ms", "buffer": "1 BDP"},
    "flows": [{"name": "cubic", "cc": "cubic"}, {"name": "htcp", "cc": "htcp"}],
}
_SERIES = [(measure, flow) for measure in ("cwnd", "rtt", "inflight", "goodput") for flow in ("cubic", "htcp")]
_READERS, _READERS_MOST_MS = 20, 80.0


def series(bench: Bench) -> Iterator[Row]:
    """Thinning, one series of a kept run, and 20 readers at once, without the service."""
    # As the service does.
    keep_freed_memory()
    yield thinning(bench.repeats)
    duration_s = 10 if bench.quick else 30
    run = run_longhaul(_DEMO | {"duration": f"{duration_s} s"}, bench.home).run
    store = Store(replace(load_settings(), home=bench.home))
    yield _one(store, str(run["run"]), duration_s, bench.repeats)
    yield _many(store, str(run["run"]), bench.repeats)


def thinning(repeats: int) -> Row:
    """A million values thinned to the points of a chart."""
    chance = np.random.default_rng(1)
    t_ns = np.sort(chance.integers(0, 60 * 10**9, _VALUES).astype(np.uint64))
    values = chance.normal(size=_VALUES)
    took_ms, pass_ms = [], []
    for _ in range(10 * repeats):
        took_ms.append(_wall_ms(lambda: thin(t_ns, values, _POINTS)))
        pass_ms.append(_wall_ms(lambda: (values.min(), values.max())))
    return Row(
        "series",
        f"{_VALUES:,} values thinned to {_POINTS:,}",
        "wall ms",
        median(took_ms),
        at_most=_THIN_MOST_MS,
        note=f"{median(took_ms) / median(pass_ms):.1f} times a look for the least and the greatest",
    )


def _one(store: Store, run: str, duration_s: int, repeats: int) -> Row:
    def ask(begin_s: float, end_s: float) -> float:
        begun_s = time.process_time()
        kept_timeline(store, run, "cwnd", flow="htcp", begin_s=begin_s, end_s=end_s)
        return (time.process_time() - begun_s) * 1e3

    whole = (
        kept_timeline(store, run, "cwnd", flow="htcp").of_values
        + kept_timeline(store, run, "cwnd", flow="cubic").of_values
    )
    pairs = [(ask(0, duration_s), ask(duration_s / 2, duration_s / 2 + 1)) for _ in range(10 * repeats)]
    whole_ms, second_ms = median(one for one, _ in pairs), median(one for _, one in pairs)
    return Row(
        "series",
        f"one of {whole:,} ACKs, read and thinned",
        "CPU ms",
        whole_ms,
        note=f"{second_ms:.1f} ms for a second of it",
        details={"second_cpu_ms": second_ms, "acks": whole},
    )


def _many(store: Store, run: str, repeats: int) -> Row:
    """Every reader asks again when it has its result; as many work at once as there are processors."""
    at_work = ThreadPoolExecutor(len(os.sched_getaffinity(0)))

    def reader(first: int) -> list[float]:
        series = [_SERIES[(first + place) % len(_SERIES)] for place in range(10 * repeats)]
        return [_wall_ms(at_work.submit(kept_timeline, store, run, name, flow=flow).result) for name, flow in series]

    begun, begun_cpu = time.perf_counter(), time.process_time()
    with at_work, ThreadPoolExecutor(_READERS) as readers:
        took_ms = [one for answers in readers.map(reader, range(_READERS)) for one in answers]
    wall_s, cpu_s = time.perf_counter() - begun, time.process_time() - begun_cpu
    each_ms = cpu_s * 1e3 / len(took_ms)
    return Row(
        "series",
        f"{_READERS} readers at once, p95",
        "wall ms",
        float(np.percentile(took_ms, 95)),
        at_most=_READERS_MOST_MS,
        note=f"median {median(took_ms):.0f} ms; {each_ms:.1f} CPU ms each, on {cpu_s / wall_s:.2f} processors",
        details={"median_ms": median(took_ms), "a_second": len(took_ms) / wall_s, "cpu_ms": each_ms},
    )


def _wall_ms(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1e3

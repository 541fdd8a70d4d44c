"""Searches for unnamed limits of senders: over rates, round trips and packet sizes with a BDP below half a GiB.

    python -m tests.bench.limits            five controls everywhere, every control at three corners: about two hours of processor time
    python -m tests.bench.limits --quick    one round with the smallest paths

A run that fails a fidelity check is listed with the reason, and the exit code is 1. The short form is tests/guest/physics/test_senders.py.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.settings import load_settings

_RATES_MBPS = (400, 1000, 10_000, 40_000, 100_000)
_RTTS_MS = (1, 10, 100, 1000, 10_000)
_MTUS = (1500, 9000)
_MOST_BYTES = 2**29
CONTROLS = ("cubic", "bbr", "htcp", "scalable", "lhfixed")
_CORNERS = ((1000, 1), (1000, 1000), (100_000, 10))
# Slow start reaches the largest of these windows in 16 round trips.
_ROUND_TRIPS = 24


def filling_experiment(cc: str, rate_mbps: int, rtt_ms: int, mtu: int) -> dict[str, Any]:
    """An experiment with one flow that fills an empty path."""
    flow: dict[str, Any] = {"name": "one", "cc": cc}
    if cc == "lhfixed":
        flow["params"] = {"cwnd": f"{rate_mbps * rtt_ms * 125 * 11 // 10 // (mtu + 14) + 2} packets"}
    return {
        "experiment": "limits",
        "path": {"bandwidth": f"{rate_mbps} Mbit/s", "rtt": f"{rtt_ms} ms", "buffer": "1 BDP", "mtu": mtu},
        "flows": [flow],
        "duration": f"{_ROUND_TRIPS * rtt_ms} ms",
        "sample": f"{max(rtt_ms * 10, 100)} us",
        "start_jitter": "0 s",
    }


def paths(*, quick: bool) -> Iterator[tuple[int, int, int]]:
    """Rate, round trip and MTU of each path with a BDP below the limit."""
    most_bytes = 2**20 if quick else _MOST_BYTES
    for rate_mbps in _RATES_MBPS:
        for rtt_ms in _RTTS_MS:
            if rate_mbps * rtt_ms * 125 < most_bytes:
                yield from ((rate_mbps, rtt_ms, mtu) for mtu in _MTUS)


def cases(*, quick: bool) -> Iterator[tuple[str, int, int, int]]:
    """Pairs of a control and a path, the smallest path first."""
    known = sorted(paths(quick=quick), key=lambda path: path[0] * path[1] / path[2])
    made = [(cc, *path) for path in known for cc in CONTROLS]
    if not quick:
        made += [(cc, *corner, mtu) for corner in _CORNERS for mtu in _MTUS for cc in CONGESTION_CONTROLS]
    yield from dict.fromkeys(made)


def main() -> int:
    """Run all cases; 1 when a run was refused."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    settings = load_settings()
    pipeline, refused = Pipeline(open_backend("sandbox", settings), Store(settings)), 0
    for case in cases(quick=options.parse_args().quick):
        cc, rate_mbps, rtt_ms, mtu = case
        (document,) = pipeline.execute(compile_plan(parse_experiment(filling_experiment(*case), "limits")))
        refused += document["status"] == "failed"
        outcome = document["error"]["what"] if document["status"] == "failed" else f"{document['cpu_s']:.1f} s"
        print(f"{cc} {rate_mbps} Mbit/s {rtt_ms} ms MTU {mtu}: {outcome}", flush=True)
    print(f"{refused} refused")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())

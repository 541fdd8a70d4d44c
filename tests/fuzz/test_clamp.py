"""No congestion control takes its window above the socket's clamp.

A socket gets its clamp from a route with a locked window, through the metrics that an earlier connection left. No experiment has
that option, so each one here is planned as usual, with a first transfer that leaves the metrics, and its route gets the clamp.
Linux's own controls are tested too: if they broke the rule, the rule would be wrong.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from longhaul.orchestrator.analysis.series import of_flow
from longhaul.orchestrator.plan.run import Node, Run
from tests.fuzz.experiments import COMPANIONS, PROJECT_CONTROLS
from tests.fuzz.lab import Lab

# Loss, marks, timeouts, undone reductions: every cause of a new window.
PATHS: dict[str, dict[str, Any]] = {
    "plain": {},
    "lossy": {"loss": "2 %"},
    "marked": {"queue": "codel", "ecn": True, "buffer": "1000 packets"},
    "without order": {"reorder": "5 %", "duplicate": "1 %"},
}
BLACKOUT = [{"at": "4 s", "path": {"loss": "100 %"}}, {"at": "6 s", "path": {"loss": 0.0, "bandwidth": "2 Mbit/s"}}]
PARAMS = {"apptcp": {"rate": "50 Mbit/s"}, "ccp": {"growth_limit": False}, "ccpd": {"growth_limit": False}}


def clamped(run: Run, clamp: int) -> Run:
    return replace(
        run,
        nodes=tuple(_keeping_metrics(node) for node in run.nodes),
        routes=tuple(replace(route, cwnd_clamp=clamp) for route in run.routes),
    )


def _keeping_metrics(node: Node) -> Node:
    none = "net/ipv4/tcp_no_metrics_save"
    return replace(node, sysctls=tuple((name, "0" if name == none else value) for name, value in node.sysctls))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("clamp", [2, 3, 10, 40])
@pytest.mark.parametrize("cc", PROJECT_CONTROLS + COMPANIONS)
def test_the_window_stays_below_its_clamp(lab: Lab, kernel: str, cc: str, clamp: int, path: str) -> None:
    run = lab.plan(
        {
            "experiment": "clamp",
            "path": {"bandwidth": "10 Mbit/s", "rtt": "40 ms", "buffer": "20 packets", **PATHS[path]},
            "flows": [
                {"name": "before", "cc": "reno", "size": "1 KB"},
                {"name": "one", "cc": cc, "params": PARAMS.get(cc, {}), "start": "1 s"},
            ],
            "schedule": BLACKOUT,
            "duration": "15 s",
            "start_jitter": "0 s",
            "kernel": kernel,
        }
    )
    acks = of_flow(lab.execute(clamped(run, clamp)).trace.acks, 1)
    assert int(acks["cwnd"].min()) >= 1
    assert int(acks["cwnd"].max()) <= clamp

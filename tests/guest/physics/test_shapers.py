"""Shapers with a bucket in guests: after a pause its bytes pass at once, or at the peak, then frames at the rate of the link."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from longhaul.orchestrator.analysis.series import held, of_flow
from tests.support.guests import Finished, Runner
from tests.support.tested_kernels import TESTED_KERNELS

_FRAME = 1514
_BURST, _RATE_BPS = 100_000, 10e6
_LINE = {"bandwidth": "10 Mbit/s", "rtt": "20 ms", "buffer": "500 packets"}
_FLOOD = [{"name": "udp", "udp": "200 Mbit/s", "start": "500 ms"}]


def _left(done: Finished, since_s: Any) -> Any:
    """Bytes that left so long after the first packet could have."""
    records = of_flow(done.trace.links, 0)
    return held(records, "tx_bytes", 0.5 + 0.01 + np.asarray(since_s) + 1e-9)


def _shaped(finish: Runner, emulation: str, **shaper: str) -> Finished:
    path = _LINE | {"shaper": {"burst": "100 KB", **shaper}}
    return finish(path=path, flows=_FLOOD, duration="2 s", emulation=emulation)


@pytest.mark.parametrize("emulation", ["single", "chain"])
def test_a_bucket_passes_at_once_and_then_frames_at_the_rate(finish: Runner, emulation: str) -> None:
    """200 Mbit/s fill it within 5 ms: from then on burst + rate x time, to two frames."""
    done = _shaped(finish, emulation)
    since_s = np.arange(0.02, 1.4, 0.01)
    expected = _BURST + _RATE_BPS / 8 * since_s
    assert np.abs(_left(done, since_s) - expected).max() < 2 * _FRAME
    assert _left(done, [0.01])[0] > _BURST


@pytest.mark.parametrize("emulation", ["single", "chain"])
def test_a_peak_limits_the_bucket(finish: Runner, emulation: str) -> None:
    """At 20 Mbit/s 100 KB last for burst / (peak - rate), 80 ms."""
    done = _shaped(finish, emulation, peak="20 Mbit/s")
    since_s = np.arange(0.02, 1.4, 0.01)
    expected = np.minimum(20e6 / 8 * since_s, _BURST + _RATE_BPS / 8 * since_s)
    assert np.abs(_left(done, since_s) - expected).max() < 3 * _FRAME


@pytest.mark.parametrize("kernel", TESTED_KERNELS)
@pytest.mark.parametrize("shaper", [{"burst": "100 KB"}, {"burst": "30 KB", "peak": "25 Mbit/s"}])
def test_both_emulations_acknowledge_at_the_same_nanosecond(
    finish: Runner, shaper: dict[str, str], kernel: str
) -> None:
    flows = [
        {"name": "bursts", "on_off": {"rate": "30 Mbit/s", "on": "20 ms", "off": "50 ms"}},
        {"name": "tcp", "cc": "cubic"},
    ]
    single, chain = (
        finish(path=_LINE | {"shaper": shaper}, flows=flows, duration="3 s", emulation=kind, kernel=kernel)
        for kind in ("single", "chain")
    )
    assert len(single.trace.acks) > 200
    for name in ("t_ns", "cwnd", "acked_bytes"):
        assert (single.trace.acks[name] == chain.trace.acks[name]).all(), name


@pytest.mark.parametrize("queue", ["fq_codel", "pie", "cake"])
def test_other_queues_have_a_bucket_too(finish: Runner, queue: str) -> None:
    done = finish(path=_LINE | {"queue": queue, "shaper": {"burst": "50 KB", "peak": "40 Mbit/s"}}, duration="2 s")
    assert done.document["fidelity"]["ok"]

"""Processors are claimed once each, and free again when their holder lets go."""

from __future__ import annotations

import os
from contextlib import ExitStack

from orchestrator.backends.cpus import UNPINNED, claim_cpu


def test_each_processor_has_one_holder_at_a_time() -> None:
    with ExitStack() as claims:
        got = [claims.enter_context(claim_cpu()) for _ in range(len(os.sched_getaffinity(0)) + 1)]
        held = [cpu for cpu in got if cpu != UNPINNED]
        assert len(set(held)) == len(held)
        assert got[-1] == UNPINNED
    with claim_cpu() as cpu:
        assert cpu == max(held)

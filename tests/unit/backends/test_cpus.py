"""Processors are claimed once each, and are free again when the claim ends."""

from __future__ import annotations

import os
from contextlib import ExitStack

import pytest

from longhaul.orchestrator.backends.cpus import UNPINNED, claim_cpu


def test_each_processor_has_one_holder_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    # Made-up processors: guests may have claimed the real ones at this moment.
    cpus = {9001, 9002}
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: cpus)
    with ExitStack() as claims:
        got = [claims.enter_context(claim_cpu()) for _ in range(len(cpus) + 1)]
        assert set(got[:-1]) == cpus
        assert got[-1] == UNPINNED
    with claim_cpu() as cpu:
        assert cpu == max(cpus)

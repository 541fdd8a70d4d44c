"""The rules of the fuzz: a sound run breaks none, and each kind of spoiled run breaks its rule."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from longhaul.orchestrator.trace.records import Records
from tests.fuzz.invariants import blackouts, silences, violations
from tests.fuzz.lab import Finished
from tests.support.recordings import plain_run, recorded, steady, trace_of

Spoil = Callable[[Finished], Finished]


@pytest.fixture
def sound() -> Finished:
    return Finished(*recorded("lossy_pair"))


def _records(kind: str, change: Callable[[Records], None]) -> Spoil:
    def spoil(done: Finished) -> Finished:
        records = getattr(done.trace, kind).copy()
        change(records)
        return replace(done, trace=replace(done.trace, **{kind: records}))

    return spoil


def _one_ack(**fields: int) -> Spoil:
    def change(acks: Records) -> None:
        for name, value in fields.items():
            acks[name][len(acks) // 2] = value

    return _records("acks", change)


def _first_fact(**fields: Any) -> Spoil:
    def spoil(done: Finished) -> Finished:
        facts = copy.deepcopy(done.facts)
        facts["flows"][0] |= fields
        return replace(done, facts=facts)

    return spoil


def _fewer(records: Records) -> None:
    records["app_bytes"][-1] = 0


def test_a_sound_run_breaks_no_rule(sound: Finished) -> None:
    assert list(violations(sound)) == []


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (_one_ack(cwnd=0), "the window is 0 at"),
        (_one_ack(cwnd=2**23), "the window is 8388608 packets at"),
        (_one_ack(ssthresh=1), "ssthresh is 1 at"),
        (_one_ack(state=5), "its state is 5 at"),
        (_records("flows", _fewer), "what was received becomes less"),
        (_first_fact(bytes_sent=1), "bytes received of 1 sent"),
    ],
)
def test_a_spoiled_run_breaks_its_rule(sound: Finished, spoil: Spoil, sentence: str) -> None:
    found = list(violations(spoil(sound)))
    assert len(found) == 1
    assert sentence in found[0]


def _silent(from_s: float, until_s: float, **changes: Any) -> list[str]:
    """Broken rules of two flows that deliver all the time except in between."""
    run = plain_run(duration="200 s", **changes)
    rows = [row for flow in (0, 1) for row in steady(flow, 10_000, 0, from_s) + steady(flow, 10_000, until_s, 200)]
    acks = [{"t_ns": row["t_ns"], "id": row["id"], "acked_bytes": row["app_bytes"]} for row in rows]
    done = Finished(run, trace_of(ack=acks, flow=rows), {})
    return [what for flow in run.flows for what in silences(done, flow, 0, None)]


DARK = [{"at": "50 s", "path": {"loss": "100 %"}}, {"at": "80 s", "path": {"loss": 0.0}}]


def test_a_silence_without_a_reason_is_a_stall() -> None:
    assert len(_silent(50, 70)) == 2


def test_a_blackout_explains_a_silence_of_twice_its_length() -> None:
    assert _silent(50, 139, schedule=DARK) == []


def test_silence_after_a_blackout_is_a_stall() -> None:
    assert len(_silent(50, 190, schedule=DARK)) == 2


def test_a_blackout_is_recognised() -> None:
    begins_dark = plain_run(schedule=[{"at": "0 s", "path": {"loss": "100 %"}}, {"at": "2 s", "path": {"loss": 0.0}}])
    assert blackouts(begins_dark) == [(0, 2_000_000_000)]
    assert blackouts(plain_run(duration="200 s", schedule=DARK)) == [(50_000_000_000, 80_000_000_000)]

"""A plain link as one qdisc does what the kernel's netem, tbf and fifo do: every packet of drawn links leaves, is dropped and is
acknowledged at the same nanosecond, and the queue is the same at every tick. `--links` says how many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume
from hypothesis.database import ExampleDatabase

from longhaul.orchestrator.plan.qdiscs import LINK
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.spec.fields import CHAIN, SINGLE
from longhaul.orchestrator.system.errors import LonghaulError, PlanError
from longhaul.orchestrator.trace.records import EVENT_STOPPED, Records, Trace
from tests.fuzz.experiments import Written, plain_links
from tests.fuzz.lab import Lab
from tests.fuzz.test_fuzz import hold_all, in_batches

_BATCH = 25
# The chain's integral of waiting bytes is one of the instants at which its qdiscs are asked; the other one is exact.
_INTEGRAL_SLACK_NS = 1024
# A receiver may hold a SACK back until any timer of the guest fires within 100 us, and the chain has more timers.
_NO_HELD_SACKS = ("net/ipv4/tcp_comp_sack_nr", "0")
# The first sequence number and the client's port of a connection are the kernel's random numbers; the chain knows no waiting time.
_APART = ("seq", "source_port", "destination_port", "wait_ns")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    in_batches(metafunc, "--links", _BATCH)


def test_both_emulations_send_the_same_packets(
    lab: Lab, kernel: str, batch: int, size: int, known: ExampleDatabase | None
) -> None:
    hold_all(
        lambda written: differences(lab, written), plain_links(kernel), f"links-{kernel}-{batch}", batch, size, known
    )


def differences(lab: Lab, written: Written) -> list[str]:
    """In which records the two emulations of an experiment differ."""
    try:
        single, chain = (_followed(lab.plan(written | {"emulation": kind})) for kind in (SINGLE, CHAIN))
    except PlanError:
        assume(False)  # fields that do not go together
    kinds = {qdisc.kind for end in single.ends for qdisc in end.qdiscs}
    assert kinds == {LINK}, f"planned as {kinds}"
    try:
        one, other = lab.execute(single), lab.execute(chain)
        return [*_compare(one.trace, other.trace), *_compare_ends(one.facts, other.facts)]
    except LonghaulError as error:
        return [f"{type(error).__name__}: {error}"]


def _followed(run: Run) -> Run:
    """With a record of every packet that leaves a queue, and receivers that send each SACK at once."""
    nodes = tuple(node if node.bridge else replace(node, sysctls=(*node.sysctls, _NO_HELD_SACKS)) for node in run.nodes)
    return replace(run, nodes=nodes, trace=replace(run.trace, departures=True))


def _compare(single: Trace, chain: Trace) -> Iterator[str]:
    for kind, records in single.kinds().items():
        # A receiver of UDP looks every 10 ms: whether it sees a packet of that instant is no matter of the link.
        if kind == "flow":
            continue
        others = chain.kinds()[kind]
        # At the end of the run all senders wake at one instant, and the scheduler lets one after the other report it.
        if kind == "event":
            records, others = (some[some["what"] != EVENT_STOPPED] for some in (records, others))
        # What leaves two links at one instant is recorded in the order in which the kernel serves their timers.
        if kind == "departure":
            records, others = (some[np.lexsort((some["id"], some["t_ns"]))] for some in (records, others))
        if len(records) != len(others):
            yield f"{kind}: {len(records)} records and {len(others)}{_first(records, others)}"
            continue
        for field in records.dtype.names or ():
            if field in _APART or not len(records):
                continue
            one, other = records[field].astype(np.float64), others[field].astype(np.float64)
            slack = np.zeros(len(one))
            if field == "queue_byte_ns":
                slack += _INTEGRAL_SLACK_NS * float(
                    records["tx_bytes"].max(initial=0) + records["queue_bytes"].max(initial=0)
                )
            wrong = np.flatnonzero(np.abs(one - other) > slack)
            if len(wrong):
                at = int(wrong[0])
                yield (
                    f"{kind} {at} of {len(records)} at {records['t_ns'][at]} ns: {field} {records[field][at]} and "
                    f"{others[field][at]}, {len(wrong)} in all"
                )


def _compare_ends(single: dict[str, Any], chain: dict[str, Any]) -> Iterator[str]:
    for one, other in zip(single["flows"], chain["flows"], strict=True):
        fields = ["packets_sent", "retransmits", "completed_us"]
        # Fragments of datagrams that lost others are joined by numbers that the kernel draws.
        if one["cc"]:
            fields += ["packets_received", "bytes_received"]
        for field in fields:
            if one[field] != other[field]:
                yield f"{one['name']}: {field} {one[field]} and {other[field]}"


def _first(records: Records, others: Records) -> str:
    """The first record that differs."""
    for number, (one, other) in enumerate(zip(records, others, strict=False)):
        if (one["t_ns"], one["id"]) != (other["t_ns"], other["id"]):
            return f"; the first that differs is {number}: {one} and {other}"
    return ""

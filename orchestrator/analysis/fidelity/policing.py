"""Checks of policers: each decision computed again from the packets in the trace. A verdict a policer for checks.py.

The bucket is the kernel's (kmod/sch_lh_link.c), in bits / 10^9, in which a rate of r bit/s is r a nanosecond: nothing is rounded, so each
decision must be the same, to the packet and to the byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.series import of_flow
from longhaul.orchestrator.plan.placed.policer import Policer
from longhaul.orchestrator.plan.qdiscs import LINK
from longhaul.orchestrator.plan.queues.policers import PolicerBucket, bucket_of, is_policer
from longhaul.orchestrator.plan.run import DeviceChange, Run
from longhaul.orchestrator.trace.records import EVENT_PATH_CHANGE, POLICE_DROP, POLICE_PASS, Records, Trace

Facts = dict[str, Any]

_PARTS_A_BYTE = 8 * 10**9
_COUNTS = ("passed_packets", "passed_bytes", "policed_packets", "policed_bytes")


def judge_policers(run: Run, trace: Trace, facts: Facts) -> Iterator[tuple[bool, str]]:
    """Whether each policer decided as its bucket does, and whether the kernel counted what the trace has."""
    for policer in run.policers:
        records = of_flow(trace.decisions, policer.id)
        wrong = _wrong_decisions(records, _buckets(run, trace, policer))
        counted, found = _counted(policer, facts), _totals(records)
        passed, passed_bytes, dropped, dropped_bytes = found
        text = (
            f"{policer.name}: {passed} packets, {passed_bytes} bytes passed; {dropped}, {dropped_bytes} bytes dropped"
        )
        if wrong:
            text += f"; {len(wrong)} decisions differ from the bucket's, the first at {wrong[0]} ns"
        if counted != found:
            text += f"; the kernel counted {', '.join(map(str, counted))}"
        yield not wrong and counted == found, text


def _buckets(run: Run, trace: Trace, policer: Policer) -> list[tuple[int, PolicerBucket]]:
    """The bucket from each of these nanoseconds on."""
    end = next(end for end in run.ends if end.dev == policer.dev)
    made = {
        int(event["value"]): int(event["t_ns"]) for event in trace.events[trace.events["what"] == EVENT_PATH_CHANGE]
    }
    states = [(0, bucket_of(qdisc)) for qdisc in end.qdiscs if is_policer(qdisc)]
    for number, change in enumerate(run.schedule):
        if number in made and isinstance(change, DeviceChange) and change.dev == policer.dev:
            states += [(made[number], bucket_of(qdisc)) for qdisc in change.qdiscs if is_policer(qdisc)]
    return states


def _wrong_decisions(records: Records, buckets: list[tuple[int, PolicerBucket]]) -> list[int]:
    """The times of the packets about which the bucket decides otherwise; after each, the policer's own decision counts."""
    (_, bucket), *later = buckets
    tokens, filled_ns = bucket.burst_bytes * _PARTS_A_BYTE, 0
    wrong: list[int] = []
    times, lengths, states = (records[name].tolist() for name in ("t_ns", "length", "state"))
    for t_ns, length, state in zip(times, lengths, states, strict=True):
        while later and later[0][0] <= t_ns:
            (at_ns, new), *later = later
            tokens = min(tokens + (at_ns - filled_ns) * bucket.rate_bps, bucket.burst_bytes * _PARTS_A_BYTE)
            bucket, filled_ns = new, at_ns
            tokens = min(tokens, bucket.burst_bytes * _PARTS_A_BYTE)
        tokens = min(tokens + (t_ns - filled_ns) * bucket.rate_bps, bucket.burst_bytes * _PARTS_A_BYTE)
        filled_ns = t_ns
        passes = tokens >= length * _PARTS_A_BYTE
        if passes != (state == POLICE_PASS):
            wrong.append(t_ns)
        if state == POLICE_PASS:
            tokens -= length * _PARTS_A_BYTE
    return wrong


def _totals(records: Records) -> list[int]:
    found = []
    for state in (POLICE_PASS, POLICE_DROP):
        some = records["length"][records["state"] == state]
        found += [len(some), int(some.sum(dtype=np.int64))]
    return found


def _counted(policer: Policer, facts: Facts) -> list[int]:
    """The kernel's own counts of a policer."""
    device = next(one for one in facts["devices"] if (one["node"], one["dev"]) == (policer.node, policer.dev))
    counted = next(one["link"] for one in device["qdiscs"] if one["kind"] == LINK)
    return [counted[name] for name in _COUNTS]

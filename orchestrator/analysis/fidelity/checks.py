"""Fidelity: the checks that every run must pass before its numbers are shown.

Each check states the expected and the found value. A run with one failed check has no result. The tolerances are those of
docs/fidelity.md; random shares are compared with an interval that a sound run leaves less than once in a billion runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.fidelity.cpu_budget import lateness, over_budget
from longhaul.orchestrator.analysis.fidelity.devices import judge_devices, listed
from longhaul.orchestrator.analysis.fidelity.dscp import judge_dscp
from longhaul.orchestrator.analysis.fidelity.host_fidelity import judge_hosts
from longhaul.orchestrator.analysis.fidelity.l4s import judge_l4s
from longhaul.orchestrator.analysis.fidelity.offered import judge_windows
from longhaul.orchestrator.analysis.fidelity.policing import judge_policers
from longhaul.orchestrator.analysis.fidelity.programs import judge_programs, judge_script
from longhaul.orchestrator.analysis.fidelity.queue_checks import judge_limit, judge_losses, judge_rate
from longhaul.orchestrator.analysis.fidelity.replays import judge_replays
from longhaul.orchestrator.analysis.fidelity.requests import judge_requests, judge_rounds
from longhaul.orchestrator.analysis.fidelity.senders import judge_senders
from longhaul.orchestrator.analysis.fidelity.transfers import judge_transfers
from longhaul.orchestrator.analysis.fidelity.wireless import is_wireless, judge_media
from longhaul.orchestrator.analysis.series import of_flow
from longhaul.orchestrator.plan.kernel_names import kernel_name, replaced
from longhaul.orchestrator.plan.run import Flow, FlowChange, Run, ScheduledChange
from longhaul.orchestrator.plan.run_document import FidelityCheck
from longhaul.orchestrator.spec.iperf3 import IPERF3
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import format_duration
from longhaul.orchestrator.trace.records import EVENT_END, EVENT_FLOW_CHANGE, EVENT_PATH_CHANGE, Trace

Facts = dict[str, Any]

# By clock: real timers are late, within the budget (cpu_budget.py).
_RTT_TOLERANCE = 0.001
_RTT_GRACE_US = {"virtual": 20, "real": 2000}
_SYN_AGAIN_US = 1_000_000
# The kernel's replacement of a control whose connection has no ECN.
_WITHOUT_ECN = {"dctcp": "dctcp-reno"}
# The kinds of ECN of a connection; and the values of tcp_ecn with which a host asks for one.
_ECN_KINDS = ("without", "with", "accurate")
_ASKS_FOR = {"1": _ECN_KINDS[1], "3": _ECN_KINDS[2]}
_LATE_US = {"virtual": 100, "real": 10_000}


@dataclass(frozen=True, slots=True)
class Check:
    """One check."""

    name: str
    ok: bool
    text: str

    def as_dict(self) -> FidelityCheck:
        """The check as the document has it."""
        return {"name": self.name, "ok": self.ok, "text": self.text}


def check_fidelity(run: Run, trace: Trace, facts: Facts) -> list[Check]:
    """Every check that applies to this run."""
    if run.script is not None:
        return [*_complete(trace, facts), *(Check(*verdict) for verdict in judge_script(run, facts))]
    if run.hosts:
        return [
            *_complete(trace, facts),
            *_congestion_controls(run, trace, facts),
            *_schedule(run, trace, facts),
            *(Check(*verdict) for verdict in judge_hosts(run, trace, facts)),
            *(Check(*verdict) for verdict in judge_transfers(run, facts)),
            *(Check(*verdict) for verdict in judge_dscp(run, facts)),
        ]
    return [
        *_complete(trace, facts),
        *_budget(facts),
        *_congestion_controls(run, trace, facts),
        *_ecn(run, facts),
        *_schedule(run, trace, facts),
        *_sysctls(run, facts),
        *(Check(*verdict) for verdict in judge_devices(run, trace, facts)),
        *_links(run, trace),
        *(Check("recorded line", ok, text) for ok, text in judge_replays(run, trace, facts)),
        *(Check("policer", ok, text) for ok, text in judge_policers(run, trace, facts)),
        *_base_rtt(run, trace, facts),
        *(Check("air time", ok, text) for ok, text in judge_media(run, facts)),
        *(Check("window", ok, text) for ok, text in judge_windows(run, trace, facts)),
        *(Check(*verdict) for verdict in judge_senders(run, trace, facts)),
        *(Check(*verdict) for verdict in judge_l4s(run, trace, facts)),
        *_iperf3(run, facts),
        *(Check(*verdict) for verdict in judge_programs(run, facts)),
        *(Check(*verdict) for verdict in judge_transfers(run, facts)),
        *(Check(*verdict) for verdict in judge_requests(run, trace, facts)),
        *(Check(*verdict) for verdict in judge_rounds(run, trace, facts)),
        *(Check(*verdict) for verdict in judge_dscp(run, facts)),
    ]


def broken_text(checks: Sequence[Check]) -> str:
    """The failed checks in a sentence; empty if none failed."""
    return listed([f"{check.name}: {check.text}" for check in checks if not check.ok])


def _complete(trace: Trace, facts: Facts) -> Iterator[Check]:
    records = sum(len(part) for part in trace.kinds().values())
    ended = bool((trace.events["what"] == EVENT_END).any())
    written = facts["trace"]["records"]
    yield Check(
        "trace complete",
        ended and records == written,
        f"{records} records, {written} written, {'with' if ended else 'without'} its end",
    )


def _budget(facts: Facts) -> Iterator[Check]:
    if (machine := facts.get("machine")) is not None:
        broken = list(over_budget(machine))
        yield Check("cpu budget", not broken, "; ".join(broken) or lateness(machine))


def _congestion_controls(run: Run, trace: Trace, facts: Facts) -> Iterator[Check]:
    fact_of = {fact["id"]: fact for fact in facts["flows"]}
    made = _changes_made(trace)
    for flow in run.flows:
        fact, asked = fact_of[flow.id], flow.cc
        for index, change in enumerate(run.schedule):
            if isinstance(change, FlowChange) and change.flow == flow.id and index in made:
                asked = change.cc or asked
        if fact["error"] and not _is_fallback(run, flow, asked, fact):
            yield Check("flow", False, f"{flow.name}: {fact['error']}")
            continue
        if not answered(fact):
            yield Check("flow", True, f"{flow.name}: no answer")
        # A client of iperf3 without a response has nothing to read back.
        if asked is not None and (fact["cc"] is not None or answered(fact)):
            named = kernel_name(run, asked)
            ok = fact["cc"] == named or (fact["cc"] == _WITHOUT_ECN.get(asked) and _asked_again(flow, fact))
            own = "" if named == asked else f" (the user-supplied {asked})"
            yield Check("congestion control in use", ok, f"{flow.name}: asked {named}{own}, found {fact['cc']}")


def _is_fallback(run: Run, flow: Flow, asked: str | None, fact: Facts) -> bool:
    """Whether its error is only that a replaced dctcp runs without ECN: the agent knows this of the kernel's own name alone."""
    if asked is None or asked not in replaced(run) or fact["cc"] != _WITHOUT_ECN.get(asked):
        return False
    error = f"congestion control {kernel_name(run, asked)} was asked for, {fact['cc']} is in use"
    return fact["error"] == error and _asked_again(flow, fact)


def answered(fact: Facts) -> bool:
    """Whether the flow ever had a connection: a path that lets no reply through is a result."""
    return fact["connected_us"] is not None


def _asked_again(flow: Flow, fact: Facts) -> bool:
    """A retransmitted SYN does not request ECN (RFC 3168, section 6.1.1.1); for a web user, only the first connection is known."""
    return flow.kind == "web" or (answered(fact) and fact["connected_us"] - flow.start_us >= _SYN_AGAIN_US)


def _ecn(run: Run, facts: Facts) -> Iterator[Check]:
    """A connection has ECN exactly if its sender requests it: a receiver refuses it silently."""
    asks = {
        node.name: _ASKS_FOR.get(dict(node.sysctls).get("net/ipv4/tcp_ecn", ""), _ECN_KINDS[0]) for node in run.nodes
    }
    fact_of = {fact["id"]: fact for fact in facts["flows"]}
    for flow in run.flows:
        fact, asked = fact_of[flow.id], asks[flow.from_node]
        # A dctcp connection has ECN regardless of the host's setting.
        certain = flow.options.both_ends and asked != _ECN_KINDS[2]
        if flow.kind not in ("tcp", "requests") or not answered(fact) or certain or _asked_again(flow, fact):
            continue
        found = _ECN_KINDS[fact["ecn"] + fact.get("accurate_ecn", False)]
        if found != asked:
            yield Check("ECN as asked", False, f"{flow.name}: asked {asked}, found {found}")


def _schedule(run: Run, trace: Trace, facts: Facts) -> Iterator[Check]:
    """Every change was made at its time, except for changes of flows that had ended by then."""
    if not run.schedule:
        return
    over_us = {fact["id"]: fact["stopped_us"] for fact in facts["flows"]}
    made, wrong, moot = _changes_made(trace), [], 0
    for index, change in enumerate(run.schedule):
        end_us = over_us[change.flow] if isinstance(change, FlowChange) else None
        if index in made:
            late_us = made[index] // 1000 - change.at_us
            wrong += [f"{_moment(change)} {late_us} us late"] if not 0 <= late_us <= _LATE_US[run.clock] else []
        elif end_us is not None and end_us <= change.at_us:
            moot += 1
        else:
            wrong.append(f"{_moment(change)} not made")
    changed = f"{len(run.schedule) - moot} made at their times, {moot} of flows that were over"
    yield Check("scheduled changes", not wrong, listed(wrong) or changed)


def _moment(change: ScheduledChange) -> str:
    """A change by its time in the schedule."""
    return f"the change at {format_duration(change.at_us)}"


def _changes_made(trace: Trace) -> dict[int, int]:
    """Index in the schedule -> the time when it was made, in nanoseconds."""
    events = trace.events[np.isin(trace.events["what"], (EVENT_PATH_CHANGE, EVENT_FLOW_CHANGE))]
    return {int(event["value"]): int(event["t_ns"]) for event in events}


def _sysctls(run: Run, facts: Facts) -> Iterator[Check]:
    found = {node["name"]: dict(node["sysctls"]) for node in facts["nodes"]}
    wrong = [
        f"{node.name} {name}: asked {value}, found {found[node.name].get(name)}"
        for node in run.nodes
        for name, value in node.sysctls
        if (found[node.name].get(name) or "").split() != value.split()
    ]
    yield Check(
        "sysctls", not wrong, listed(wrong) or f"{sum(len(node.sysctls) for node in run.nodes)} read back as asked"
    )


def _links(run: Run, trace: Trace) -> Iterator[Check]:
    """Checks of a queue that the schedule does not change."""
    for link in run.links if not any(run.device_changes) else ():
        if verdict := judge_rate(run, trace, link):
            yield Check("bottleneck rate", *verdict)
        if verdict := judge_limit(run, trace, link):
            yield Check("queue limit", *verdict)
        if verdict := judge_losses(run, trace, link):
            yield Check("random loss", *verdict)


def _base_rtt(run: Run, trace: Trace, facts: Facts) -> Iterator[Check]:
    """No packet is faster than the path, and a packet that met no queue is no slower; a schedule may change the path."""
    if any(run.device_changes):
        return
    connected_us = {fact["id"]: fact["connected_us"] for fact in facts["flows"]}
    for flow in run.flows:
        acks = of_flow(trace.acks, flow.id)
        measured = acks["rtt_us"][acks["rtt_us"] > 0]
        if flow.kind not in ("tcp", "program") or not len(measured):
            continue
        base_us, jitter_us = _path_rtt_us(run, flow)
        early_us = max(base_us * _RTT_TOLERANCE, _RTT_GRACE_US["virtual"])
        tolerance_us = max(early_us, _RTT_GRACE_US[run.clock])
        least = int(measured.min())
        ok = least >= base_us - jitter_us - early_us
        # iperf3 negotiates on another connection before it opens the one for data.
        begun_us = flow.start_us if flow.tool != IPERF3 else connected_us[flow.id] - base_us - jitter_us
        if (
            flow.kind == "tcp"
            and acks["retrans"][0] == 0
            and not is_wireless(run)
            # A frame waits for an opportunity, and a recorded delay changes.
            and not run.recordings
            and _queue_empty(run, trace, begun_us, base_us + jitter_us)
        ):
            # The handshake met no queue: at most it waited for one frame before it and for its own transmission.
            ok &= least <= base_us + jitter_us + tolerance_us + _frames_us(run, 2)
        yield Check("base RTT", ok, f"{flow.name}: least {least} us, path {base_us:.0f} us")


def _queue_empty(run: Run, trace: Trace, from_us: float, for_us: float) -> bool:
    """No packet waited for another one at any link in this time; a record covers the tick before it."""
    links = trace.links
    near = (links["t_ns"] >= from_us * 1000) & (links["t_ns"] <= (from_us + for_us + run.trace.tick_us) * 1000)
    return not (links["queue_max_packets"][near] > 1).any()


def _frames_us(run: Run, count: int) -> float:
    """The time that all links together need for this many full frames each."""
    return sum(count * run.meaning.frame_bytes * 8e6 / link.rate_bps for link in run.links)


def _path_rtt_us(run: Run, flow: Flow) -> tuple[float, float]:
    """The delay lines of a flow's round trip, and their jitter."""
    delay_ns = jitter_ns = 0
    devices = {end.dev: end for end in run.ends}
    for dev in (*flow.forward, *flow.back):
        for qdisc in devices[dev].qdiscs:
            delay_ns += int(qdisc.options.get("delay_ns") or 0)  # type: ignore[arg-type]
            jitter_ns += int(qdisc.options.get("jitter_ns") or 0)  # type: ignore[arg-type]
            # A packet that netem reorders is sent at once.
            jitter_ns += int(qdisc.options.get("delay_ns") or 0) if qdisc.options.get("reorder_2p32") else 0  # type: ignore[arg-type]
    return delay_ns / 1000, jitter_ns / 1000


def _iperf3(run: Run, facts: Facts) -> Iterator[Check]:
    """iperf3 as a second measurement: it used the requested settings, and its counts equal the kernel's."""
    fact_of = {fact["id"]: fact for fact in facts["flows"]}
    for flow in run.flows:
        fact = fact_of[flow.id]
        if flow.tool != IPERF3 or fact["error"] or not answered(fact):
            continue
        report = fact["iperf3"]
        # A client that did not start before its end has counted nothing.
        begun = report["bytes_given"] > 0
        wrong = [*_contradictions(run, flow, fact)] if begun else []
        counted = (
            f"{report['bytes_sent']} bytes sent, {report['bytes_received']} received, {report['retransmits']} sent again"
            if begun
            else "its server reported nothing before its end"
        )
        yield Check("iperf3 agrees", not wrong, f"{flow.name}: {'; '.join(wrong) or counted}")


def _contradictions(run: Run, flow: Flow, fact: Facts) -> Iterator[str]:
    report = fact["iperf3"]
    if missing := [name for name, value in report.items() if value is None]:
        yield f"its JSON has no {', '.join(missing)}"
        return
    if report["block_bytes"] != flow.block_bytes:
        yield f"blocks of {report['block_bytes']} bytes, asked {flow.block_bytes}"
    # It reads them when it opens its connection; a scheduled change may precede that.
    controls = [cc for cc in (flow.cc, *(change.cc for change in run.changes_of(flow))) if cc is not None]
    named = [kernel_name(run, cc) for cc in controls]
    for end in ("sender_cc", "receiver_cc"):
        if report[end] not in named:
            yield f"{end} {report[end]}, asked {named[0]}"
    if report["bytes_sent"] != report["bytes_given"]:
        yield f"{report['bytes_sent']} bytes sent, its socket got {report['bytes_given']}"
    # Its server is notified of the end on another connection, and then stops reading.
    lacking = fact["bytes_received"] - report["bytes_received"]
    if abs(lacking) > report["bytes_under_way"]:
        yield f"{report['bytes_received']} bytes received, {fact['bytes_received']} arrived, {report['bytes_under_way']} were under way at its end"
    # It does not see losses after it has passed the last byte of a size to its socket.
    again = fact["retransmits"]
    if report["retransmits"] > again or (flow.bytes is None and report["retransmits"] != again):
        yield f"{report['retransmits']} segments sent again, the kernel counted {again}"

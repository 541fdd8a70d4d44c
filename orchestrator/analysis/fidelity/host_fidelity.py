"""Checks of a run on real hosts, and notes for its reader: verdicts for checks.py.

The path belongs to others, so it is not checked: the checks confirm that the hosts worked correctly; observations of other traffic are
shown with the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhaul.orchestrator.analysis.fidelity.cpu_budget import MOST_BUSY_SHARE
from longhaul.orchestrator.analysis.series import of_flow
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.system.units import format_duration, format_rate
from longhaul.orchestrator.trace.records import Trace

Facts = dict[str, Any]
# Name, whether it holds, the found value.
Verdict = tuple[str, bool, str]

# No queue of the path depends on a host's timers; checks and starts do.
_MOST_LATE_P99_US = 50_000
# Clocks of sound machines are within 100.
_MOST_DRIFT_PPM = 500
_JUMP_US = 50_000
_LIMITED_SHARE = 0.1
_OPENING_ROUND_TRIPS = 5
# Share of the requested round trip; timers are never early, clocks may run a little faster.
_LEAST_EMULATED = 0.98
# Share of a cap, for bytes that are in no counter when it is read.
_CAP_SLACK = 1.02


def judge_hosts(run: Run, trace: Trace, facts: Facts) -> Iterator[Verdict]:
    """Every verdict on a run on real hosts."""
    for endpoint in facts["endpoints"]:
        yield _machine(endpoint)
        yield _cap(run, endpoint)
        yield _clocks(endpoint)
    if "box" in facts:
        yield judge_emulation(run, facts)
    yield from _others(run, trace, facts)
    yield from _buffers(run, facts)
    yield from _round_trips(run, trace)
    for finding in facts.get("findings", []):
        yield "found before the run", True, f"{finding['about']}: {finding['text']}"


def _machine(endpoint: Facts) -> Verdict:
    name, machine = endpoint["name"], endpoint["machine"]
    time_us = machine["busy_us"] + machine["idle_us"] + machine["steal_us"]
    busy = machine["busy_us"] / time_us if time_us else 0.0
    wrong = []
    if machine["late_p99_us"] > _MOST_LATE_P99_US:
        wrong.append(f"one timer in a hundred was {machine['late_p99_us'] / 1000:.0f} ms late or later")
    if busy > MOST_BUSY_SHARE:
        wrong.append(f"its processors were busy for {busy:.0%} of the time")
    if machine["softnet_dropped"]:
        wrong.append(f"it dropped {machine['softnet_dropped']} packets before any queue")
    busy_text = f"processors busy for {busy:.0%}, timers late by {machine['late_p99_us']} us at p99"
    return "host kept up", not wrong, f"{name}: {'; '.join(wrong) or busy_text}"


def _cap(run: Run, endpoint: Facts) -> Verdict:
    governor = endpoint["governor"] or {"cap_bps": 0, "peak_bps": 0, "sent_bytes": 0}
    mean_bps = governor["sent_bytes"] * 8e6 / run.duration_us
    sent = f"{format_rate(mean_bps)} sent on average, {format_rate(governor['cap_bps'])} allowed"
    return "within its cap", mean_bps <= governor["cap_bps"] * _CAP_SLACK, f"{endpoint['name']}: {sent}"


def _clocks(endpoint: Facts) -> Verdict:
    clocks = endpoint["clocks"]
    before, after = clocks["before"], clocks["after"]
    drift, unsure = clocks["drift_ppm"], clocks["drift_unsure_ppm"]
    moved_us = abs(after["wall_us"] - before["wall_us"])
    jumped = moved_us > _JUMP_US + before["error_us"] + after["error_us"]
    text = f"wall clock {before['wall_us'] / 1000:+.1f} ms, start known to {before['error_us'] / 1000:.1f} ms, drift {drift:+.0f} ppm +-{unsure:.0f}"
    if jumped:
        text += f", wall clock moved by {moved_us / 1000:.0f} ms meanwhile"
    return "clocks", abs(drift) - unsure <= _MOST_DRIFT_PPM, f"{endpoint['name']}: {text}"


def judge_emulation(run: Run, facts: Facts) -> Verdict:
    """Whether traffic passes the middle box at all; the delay of the real path is shown."""
    box, asked_us = facts["box"], run.meaning.rtt_us
    probes = [
        rtt for one in facts["endpoints"] for echo in one.get("ways", {}).values() for rtt in echo["rtt_us"] if rtt
    ]
    passed = min(end["queues"][0]["packets"] for end in box["ends"]) if box["ends"] else 0
    # Parent queues also count the drops of their children.
    drops = [f"{count} dropped on {end['dev']}" for end in box["ends"] if (count := end["queues"][0]["drops"])]
    least = f"fastest probe {min(probes) / 1000:.1f} ms" if probes else "no probe came back"
    text = f"{box['name']}: {format_duration(asked_us)} and {format_rate(run.meaning.bandwidth_bps)} asked for, {least}"
    through = passed > 0 and (not probes or min(probes) >= asked_us * _LEAST_EMULATED)
    if not through:
        text += "; traffic does not go through it: route the test addresses through its devices"
    return "emulated path", through, f"{'; '.join([text, *drops])}"


def _others(run: Run, trace: Trace, facts: Facts) -> Iterator[Verdict]:
    """Traffic on a sender's device besides the run's own, which may be its samples sent to this machine."""
    endpoints = {endpoint["name"]: endpoint for endpoint in facts["endpoints"]}
    for link in run.links:
        records = of_flow(trace.links, link.id)
        governor = endpoints[link.node]["governor"]
        if not len(records) or not governor:
            continue
        others = max(0, int(records["tx_bytes"][-1]) - governor["sent_bytes"])
        share = others * 8e6 / run.duration_us / run.meaning.bandwidth_bps
        yield (
            "cross traffic",
            True,
            f"{link.node}: {share:.1%} of the expected bandwidth left {link.dev} besides the run's own",
        )
    for endpoint in facts["endpoints"]:
        look = endpoint["after"]
        if (most := max(look["rx_bps"], look["tx_bps"])) > run.meaning.bandwidth_bps * 0.01:
            yield (
                "cross traffic",
                True,
                f"{endpoint['name']}: others had {format_rate(float(most))} when the run was over",
            )


def _buffers(run: Run, facts: Facts) -> Iterator[Verdict]:
    fact_of = {fact["id"]: fact for fact in facts["flows"]}
    for flow in run.flows:
        fact = fact_of[flow.id]
        if flow.kind != "tcp" or flow.options.window_clamp_bytes or not fact["busy_us"]:
            continue
        limited_us = fact["rwnd_limited_us"] + fact["sndbuf_limited_us"]
        allowed_us = fact["busy_us"] * _LIMITED_SHARE + _OPENING_ROUND_TRIPS * run.meaning.rtt_us
        text = f"{flow.name}: {limited_us / fact['busy_us']:.1%} of its time"
        yield "not limited by buffers", limited_us <= allowed_us, text


def _round_trips(run: Run, trace: Trace) -> Iterator[Verdict]:
    for flow in run.flows:
        rtt_us = of_flow(trace.acks, flow.id)["rtt_us"]
        measured = rtt_us[rtt_us > 0]
        if flow.kind == "tcp" and len(measured):
            expected = format_duration(run.meaning.rtt_us)
            yield "base RTT", True, f"{flow.name}: least {int(measured.min())} us, {expected} expected"

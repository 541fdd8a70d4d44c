"""The check of flows whose traffic programs or scripts make: the counts of both ends of their connections agree. Verdicts for checks.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.spec.model import PROGRAM
from longhaul.orchestrator.system.units import format_size

# Name, whether it holds, the found value.
Verdict = tuple[str, bool, str]


def judge_programs(run: Run, facts: dict[str, Any]) -> Iterator[Verdict]:
    """A verdict for each flow of a program that had a connection."""
    for flow, fact in zip(run.flows, facts["flows"], strict=True):
        if flow.kind == PROGRAM and fact["connections"]:
            yield "bytes of programs", fact["bytes_received"] <= fact["bytes_sent"], _text(run, flow, fact)


def judge_script(run: Run, facts: dict[str, Any]) -> Iterator[Verdict]:
    """A verdict for each flow of a script: nothing else about it was known before it ran."""
    for flow, fact in zip(run.flows, facts["flows"], strict=True):
        text = f"{flow.name}: {fact['connections']} connections, {fact['bytes_sent']} bytes sent and {fact['bytes_received']} received"
        yield "bytes of connections", fact["bytes_received"] <= fact["bytes_sent"], text


def _text(run: Run, flow: Flow, fact: dict[str, Any]) -> str:
    programs = run.flows[flow.id if flow.first is None else flow.first].program
    assert programs is not None
    backward = fact["program"]["bytes_backward"]
    text = (
        f"{flow.name}: {fact['connections']} connections, {fact['bytes_sent']} bytes sent and {fact['bytes_received']} received; "
        "computing took no virtual time"
    )
    if backward > fact["bytes_sent"]:
        other = "client" if programs.server_sends else "server"
        text += f"; more came the other way, {format_size(backward)}: `sends: {other}` measures that"
    return text

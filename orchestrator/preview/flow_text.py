"""A flow in a table of results: its congestion control, and whether it had a connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longhaul.orchestrator.plan.meaning import Requests
from longhaul.orchestrator.spec.congestion_controls import USER_SUPPLIED
from longhaul.orchestrator.system.units import format_duration, format_size

# The completion of a flow that never had a connection, in tables.
NO_ANSWER = "no answer"


def control_text(cc: str | None, variant: str | None) -> str:
    """A flow's congestion control, with a study's name for it if that differs."""
    if cc is None:
        return "udp"
    if variant in (None, cc):
        return cc
    # A user's own cubic is "cubic (user-supplied 3f9a12c4)", and a BPF program "mine (native build of a BPF program)".
    return variant if variant.startswith(f"{cc} (") else f"{cc} ({variant})"


def control_label(cc: str, variant: str | None) -> str:
    """The same where a study's name does not matter, as in legends: only a control that replaces the kernel's has a remark."""
    return control_text(cc, variant) if USER_SUPPLIED in (variant or "") else cc


def requests_text(requests: Requests) -> str:
    """What a client asks for, and how often."""
    number = "requests" if requests.count is None else f"{requests.count} requests"
    each = ", in rounds" if requests.barrier else ""
    each += ", each on a connection of its own" if requests.new_connection else ""
    each += f", lost after {format_duration(requests.timeout_us)}" if requests.timeout_us else ""
    pause = f", every {format_duration(requests.every_us)}" if requests.every_us else ""
    pause = f", pauses of {format_duration(requests.think_us)}" if requests.think_us else pause
    return f"{number} of {format_size(requests.request_bytes)} for {format_size(requests.response_bytes)}{pause}{each}"


def unanswered(flow: Mapping[str, Any]) -> bool:
    """Whether no response ever reached this flow of a document; documents from before `connected_s` do not contain it."""
    return "connected_s" in flow and flow["connected_s"] is None

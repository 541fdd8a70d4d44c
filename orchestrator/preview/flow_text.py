"""A flow in a table of results: its congestion control, and whether it had a connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The completion of a flow that never had a connection, in tables.
NO_ANSWER = "no answer"


def control_text(cc: str | None, variant: str | None) -> str:
    """A flow's congestion control, with a study's name for it if that differs."""
    if cc is None:
        return "udp"
    return cc if variant in (None, cc) else f"{cc} ({variant})"


def unanswered(flow: Mapping[str, Any]) -> bool:
    """Whether no response ever reached this flow of a document; documents from before `connected_s` do not contain it."""
    return "connected_s" in flow and flow["connected_s"] is None

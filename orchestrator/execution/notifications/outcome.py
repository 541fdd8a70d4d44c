"""The outcome of an attempt to deliver a message."""

from __future__ import annotations

from longhaul.orchestrator.database.access.deliveries import DELIVERED, FAILED, WAITING
from longhaul.orchestrator.system.errors import visible
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# Of a reply: what users read in a list.
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Outcome:
    """DELIVERED, WAITING if a later attempt may help, or FAILED; and the receiver's reply, or why there is none."""

    status: str
    answer: str


def delivered(answer: str) -> Outcome:
    """The receiver has the message."""
    return Outcome(DELIVERED, _short(answer))


def later(answer: str) -> Outcome:
    """Another attempt may help."""
    return Outcome(WAITING, _short(answer))


def failed(answer: str) -> Outcome:
    """No other attempt would help."""
    return Outcome(FAILED, _short(answer))


def _short(text: str) -> str:
    line = visible(" ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"

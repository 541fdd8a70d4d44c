"""The changes of a schedule as text, one per moment, in the terms of an experiment.

Charts mark these moments, Grafana gets them as annotations, Prometheus as labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from longhaul.orchestrator.plan.queues.policers import BPS, BURST, is_policer
from longhaul.orchestrator.plan.run import DeviceChange, Option, Run
from longhaul.orchestrator.preview.describe import change_text
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import format_duration, format_rate, format_share, format_size

# The options of a qdisc that a mark shows.
_SHOWN: dict[str, Callable[[Option], str]] = {
    "rate_bps": lambda value: format_rate(_whole(value)),
    "delay_ns": lambda value: f"delay {format_duration(_whole(value) // 1000)}",
    "loss_2p32": lambda value: f"loss {format_share(round(_whole(value) / 2**32, 9))}",
    "gemodel_2p32": lambda value: "losses in bursts" if value else "no losses in bursts",
    BPS: lambda value: f"policed to {format_rate(_whole(value))}",
    BURST: lambda value: f"bursts of {format_size(_whole(value))} pass the policer",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment at which the path or a flow changes, and its new values."""

    at_us: int
    text: str

    @property
    def t_s(self) -> float:
        """Seconds from the start of the experiment."""
        return self.at_us / 1e6


def run_marks(run: Run) -> list[Mark]:
    """The scheduled changes, one mark per moment."""
    options = {(end.node, end.dev, qdisc.handle): qdisc.options for end in run.ends for qdisc in end.qdiscs}
    bottleneck = {(link.node, link.dev) for link in run.links[:1]}
    texts: dict[int, list[str]] = {}
    for change in run.schedule:
        lines = texts.setdefault(change.at_us, [])
        if not isinstance(change, DeviceChange):
            lines.append(change_text(run, change))
            continue
        if change.mtu is not None and (text := f"MTU {change.mtu}") not in lines:
            lines.append(text)
        forward = (change.node, change.dev) in bottleneck or any(map(is_policer, change.qdiscs))
        side = "" if forward else "reverse "
        if run.script is not None:
            # Any of its links may be the one that matters.
            side = f"{change.dev}: "
        for qdisc in change.qdiscs:
            place = change.node, change.dev, qdisc.handle
            new = [side + text for text in _changed(options.get(place, {}), qdisc.options)]
            lines += [text for text in new if text not in lines]
            options[place] = qdisc.options
    return [Mark(at_us, ", ".join(lines) or "path changes") for at_us, lines in sorted(texts.items())]


def _changed(before: Mapping[str, Option], after: Mapping[str, Option]) -> list[str]:
    return [show(value) for name, show in _SHOWN.items() if (value := after.get(name)) != before.get(name)]


def _whole(value: Option) -> int:
    return value if isinstance(value, int) else 0

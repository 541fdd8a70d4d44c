"""Policers: their numbers, their qdisc, and those of a run. A policer is an lh_link that does nothing else, so it is exact in virtual time.

It stands on a device of its own in front of the link's other work, so it works with each kind of queue:

    s1 --[policer]--> x1 --[losses, delay, rate, queue]--> s2

kmod/sch_lh_link.c decides about each packet; analysis/fidelity/policing.py decides again, from the packets in the trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from longhaul.orchestrator.plan.placed.policer import Policer
from longhaul.orchestrator.plan.qdiscs import LINK, RATE
from longhaul.orchestrator.plan.run import Flow, Option, Qdisc, Run
from longhaul.orchestrator.spec.sections.path_model import Police
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import format_rate, format_size, parse_rate, parse_size

if TYPE_CHECKING:
    from longhaul.orchestrator.plan.network import Network
    from longhaul.orchestrator.plan.qdisc_layout import Layout

# As many as the probe follows.
MOST_POLICERS = 64
BPS, BURST = "police_bps", "police_burst_bytes"


@dataclass(frozen=True, slots=True)
class PolicerBucket:
    """A policer's token bucket."""

    rate_bps: int
    burst_bytes: int


def read_bucket(written: Police | None, frame_bytes: int, subject: str) -> PolicerBucket | None:
    """A policer in numbers; PlanError if no full frame can ever pass it."""
    if written is None:
        return None
    bucket = PolicerBucket(parse_rate(written.rate), parse_size(written.burst))
    if bucket.burst_bytes < frame_bytes:
        what = f"{written.burst} is less than one frame of {frame_bytes} bytes, so none would ever pass"
        raise PlanError("resolving", f"{subject}.police.burst", what, "give it at least one frame")
    return bucket


def police(buckets: Sequence[PolicerBucket | None], name: str) -> list[tuple[Qdisc, ...]]:
    """The qdisc of a policer in each state of the path; PlanError if it would come or go."""
    if None in buckets:
        what = f"{name} has a policer at one time and none at another: it can be changed, but not created or removed"
        raise PlanError(
            "compiling", "schedule", what, "give it one from the start, with a rate that lets everything pass"
        )
    return [(_qdisc(bucket),) for bucket in buckets if bucket is not None]


def _qdisc(bucket: PolicerBucket) -> Qdisc:
    options: dict[str, Option] = {
        "delay_ns": 0,
        "jitter_ns": 0,
        "loss_2p32": 0,
        "gemodel_2p32": None,
        "rate_bps": 0,
        "burst_bytes": 0,
        "limit": 0,
        "in_bytes": False,
        "orphan": False,
        "seed": 0,
        BPS: bucket.rate_bps,
        BURST: bucket.burst_bytes,
    }
    return Qdisc(LINK, RATE, "root", options)


def is_policer(qdisc: Qdisc) -> bool:
    """Whether a qdisc polices."""
    return BPS in qdisc.options


def bucket_of(qdisc: Qdisc) -> PolicerBucket:
    """The bucket of a policer's qdisc."""
    rate_bps, burst_bytes = qdisc.options[BPS], qdisc.options[BURST]
    assert isinstance(rate_bps, int) and isinstance(burst_bytes, int)
    return PolicerBucket(rate_bps, burst_bytes)


def policer_text(qdisc: Qdisc) -> str:
    """What a policer lets pass, in words."""
    bucket = bucket_of(qdisc)
    return f"policed to {format_rate(bucket.rate_bps)} with bursts of {format_size(bucket.burst_bytes)}"


def followed_policers(layout: Layout, network: Network) -> tuple[Policer, ...]:
    """The policers of a run; PlanError for more than the probe follows."""
    if len(layout.policers) > MOST_POLICERS:
        what = f"{len(layout.policers)} links have a policer, and the trace follows {MOST_POLICERS}"
        raise PlanError("compiling", "links", what, "give fewer links a policer")
    return tuple(
        Policer(number, "-".join(lane), place[0], network.devices[place])
        for number, (lane, place) in enumerate(layout.policers.items())
    )


def policing_notes(run: Run) -> Iterator[str]:
    """What a policer is known to do to flows that send in windows."""
    ends = {end.dev: end for end in run.ends}
    for policer in run.policers:
        bucket = next(bucket_of(qdisc) for qdisc in ends[policer.dev].qdiscs if is_policer(qdisc))
        ahead = [link.rate_bps for link in run.links if any(_passes(flow, link.dev, policer.dev) for flow in run.flows)]
        if ahead and bucket.rate_bps >= min(ahead):
            yield f"the policer of {policer.name} lets {format_rate(bucket.rate_bps)} pass, and the slowest link of its flows has {format_rate(min(ahead))}: it drops bursts alone"
        elif tcp := [flow for flow in run.flows if flow.kind != "udp" and policer.dev in flow.forward]:
            packets = bucket.burst_bytes // run.meaning.frame_bytes
            flows = f"flow {tcp[0].name} loses" if len(tcp) == 1 else f"{len(tcp)} flows lose"
            yield (
                f"the policer of {policer.name} has no queue: once its {format_size(bucket.burst_bytes)} ({packets} packets) are used up, {flows} what exceeds "
                f"{format_rate(bucket.rate_bps)}, after slow start most of a window at once (Flach et al. 2016); a larger burst, or pacing below the rate, loses less"
            )


def _passes(flow: Flow, *devices: str) -> bool:
    return all(dev in flow.forward for dev in devices)


def refuse_in_real_time(run: Run) -> None:
    """PlanError if a run in real time has a policer."""
    if run.policers:
        what = "a policer is a qdisc of the project, which is exact in virtual time alone"
        raise PlanError("placing in real time", "path.police", what, "use the sandbox, or Mininet in a guest")

"""The bucket of a shaper: what passes a link's rate at once after a pause. It is tbf's burst and peakrate, or lh_link's."""

from __future__ import annotations

from longhaul.orchestrator.plan.qdiscs import Bucket
from longhaul.orchestrator.spec.sections.queue_parameters import Shaper
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.units import format_rate, parse_rate, parse_size

# The kernel gives a bucket back as time at its rate, in units of 64 ns and 32 bits.
_LONGEST_S = 240


def read_shaper(written: Shaper | None, rate_bps: int | None, frame_bytes: int, subject: str) -> Bucket | None:
    """A shaper in numbers; PlanError for a bucket that this rate cannot have."""
    if written is None:
        return None
    burst_bytes = parse_size(written.burst)
    if rate_bps is None:
        raise PlanError("resolving", f"{subject}.shaper", "the link has no rate to shape", "give it a bandwidth")
    if burst_bytes < frame_bytes:
        what = f"{written.burst} is less than one frame of {frame_bytes} bytes, so none would ever pass"
        raise PlanError("resolving", f"{subject}.shaper.burst", what, "give it at least one frame")
    if burst_bytes * 8 > rate_bps * _LONGEST_S:
        what = f"{written.burst} take more than {_LONGEST_S} s at {format_rate(rate_bps)}"
        raise PlanError("resolving", f"{subject}.shaper.burst", what, "give it a smaller one")
    peak_bps = 0 if written.peak is None else parse_rate(written.peak)
    if written.peak is not None and peak_bps <= rate_bps:
        what = f"{written.peak} is not above the rate of the link, {format_rate(rate_bps)}"
        raise PlanError("resolving", f"{subject}.shaper.peak", what, "give a higher peak, or leave it out")
    return Bucket(burst_bytes, peak_bps)


def refuse_shaper(subject: str, what: str) -> None:
    """Raise the error of a shaper where there is none."""
    raise PlanError("compiling", f"{subject}.shaper", what, "leave it out, or give it to another link")

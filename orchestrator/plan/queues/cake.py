"""The parameters of a CAKE queue as the kernel takes them: options of its qdisc beside those that every CAKE of a plan has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from longhaul.orchestrator.plan.run import Option, Qdisc, Run
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.sections.queue_parameters import ACK_FILTERS, CELLS, DIFFSERVS, ISOLATIONS, Cake
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.units import format_rate, parse_duration, parse_rate


def cake_options(written: Cake | None) -> Mapping[str, Option] | None:
    """Numbers of the kernel; `shaper_bps` 0 is no shaper, `overhead` None the Ethernet header. None: the kernel's defaults."""
    if written is None:
        return None
    return {
        "rtt_us": parse_duration(written.rtt),
        "shaper_bps": 0 if written.bandwidth is None else parse_rate(written.bandwidth),
        "isolation": ISOLATIONS.index(written.isolation),
        "diffserv": DIFFSERVS.index(written.diffserv),
        "ack_filter": ACK_FILTERS.index(written.ack_filter),
        "split_gso": written.split_gso,
        "overhead": written.overhead,
        "mpu": written.mpu,
        "cells": CELLS.index(written.cells),
    }


def check_cake(experiment: Experiment) -> None:
    """PlanError for parameters of CAKE at a link whose queue is another one, which would have no effect."""
    path, links = experiment.path, experiment.links
    for prefix in ("", "reverse_"):
        queue, cake = f"{prefix}queue", f"{prefix}cake"
        of_path = getattr(path, queue)
        used = [of_path, *(getattr(link, queue) for link in links.values())]
        named = [("path", getattr(path, cake), "cake" in used)]
        named += [
            (f"links.{name}", getattr(link, cake), (getattr(link, queue) or of_path) == "cake")
            for name, link in links.items()
        ]
        for at, written, has in named:
            if written is not None and not has:
                what = f"its {queue} is {of_path}, which has no parameters of CAKE"
                raise PlanError("compiling", f"{at}.{cake}", what, f"give {queue}: cake, or leave this out")


def check_reverse(subject: str, queue: str, rate_bps: int | None) -> None:
    """PlanError for a queue in reverse where nothing ever waits."""
    if queue != "droptail" and rate_bps is None:
        what = f"there is no rate in reverse, so nothing would ever wait in {queue}"
        raise PlanError("compiling", f"{subject}.reverse_queue", what, "give reverse_bandwidth, or leave this out")


def cake_notes(run: Run) -> Iterator[str]:
    """A shaper that never shapes."""
    # The device of a real host is not one of the run's.
    qdiscs = {end.dev: end.qdiscs for end in run.ends}
    for link in run.links:
        shaped = shaped_bps(qdiscs.get(link.dev, ()))
        if shaped is not None and shaped >= link.rate_bps:
            yield f"CAKE's own {format_rate(shaped)} at {link.name} is not below the rate of the link, {format_rate(link.rate_bps)}: its shaper never has to wait"


def shaped_bps(qdiscs: Sequence[Qdisc]) -> int | None:
    """The rate of CAKE's own shaper, if a device has one."""
    rates = [qdisc.options.get("shaper_bps") for qdisc in qdiscs if qdisc.kind == "cake"]
    return next((rate for rate in rates if isinstance(rate, int) and rate), None)


def counts_frames(qdiscs: Sequence[Qdisc]) -> bool:
    """Whether CAKE's shaper counts the frames of the link, without additions to them."""
    cakes = [qdisc.options for qdisc in qdiscs if qdisc.kind == "cake"]
    return not any(
        options.get("mpu") or options.get("cells") or options.get("overhead") is not None for options in cakes
    )

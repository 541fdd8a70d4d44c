"""Preview an experiment while the user writes it: numbers, cost, a drawing; a large sweep is sampled.

    experiment --every point, or a seeded sample of them--> plan --> numbers, notes, cost         the first point --> drawing

A preview takes no longer for a large sweep than for one of `MOST_RUNS` runs. Its cost is then an estimate,
and a combination outside the sample may still be refused when the experiment is submitted.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.plan.cost import data_packets, memory_estimate_mb, packets_per_second, wall_estimate_s
from longhaul.orchestrator.plan.lint import slow_start_us
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.preview.path_drawing import Drawing, drawing_of
from longhaul.orchestrator.spec.load import at_point, with_sweep
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.sweep import Point, count_points, expand, swept_texts
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

MOST_RUNS = 40


@dataclass(frozen=True, slots=True)
class Numbers:
    """A run in the units of its fields: the bottleneck, its BDP and buffer, the cost."""

    bandwidth_bps: int
    rtt_us: int
    forward_us: int
    reverse_us: int
    bdp_bytes: int
    bdp_packets: int
    queue: str
    buffer_text: str
    buffer_packets: int
    buffer_bytes: int
    buffer_bdp: float | None
    buffer_us: int
    mtu: int
    frame_bytes: int
    mss_bytes: int
    packets_per_s: float
    data_packets: int
    slow_start_us: int
    duration_us: int
    window_us: tuple[int, int]
    kernel: str
    memory_mb: int
    memory_estimate_mb: float
    wall_s: float


@dataclass(frozen=True, slots=True)
class PointCost:
    """A resolved point of the sweep, and the seconds of real time for one of its runs."""

    point: Mapping[str, str]
    bandwidth_bps: int
    rtt_us: int
    buffer_packets: int
    wall_s: float


@dataclass(frozen=True, slots=True)
class Preview:
    """`plan` has the resolved runs, out of `runs`; `fields` are those swept, with their values."""

    plan: Plan
    runs: int
    points: int
    fields: Mapping[str, list[str]]
    numbers: Numbers
    drawing: Drawing
    wall_s: float
    resolved: tuple[PointCost, ...]

    @property
    def whole(self) -> bool:
        """Whether every run was resolved."""
        return len(self.plan.runs) == self.runs


def preview(experiment: Experiment, *, seed: int | None = None, repeats: int | None = None, **venue: Any) -> Preview:
    """The preview of an experiment; SpecError and PlanError as in compiling it, for the points of the sample."""
    points = count_points(experiment.sweep)
    each = repeats or experiment.repeats
    part = experiment
    if points > MOST_RUNS:
        part = with_sweep(experiment, [dict(point) for point in _sample(experiment, points)])
    looked_at = min(points, MOST_RUNS)
    once = looked_at * each > MOST_RUNS
    # Repeats differ in their seed alone.
    plan = compile_plan(part, seed=seed, repeats=1 if once else repeats, **venue)
    firsts = plan.runs if once else plan.runs[::each]
    mean_s = sum(map(wall_estimate_s, plan.runs)) / len(plan.runs)
    first_point = next(iter(expand(part.sweep)))
    return Preview(
        plan=plan,
        runs=points * each,
        points=points,
        fields=_fields(experiment, part),
        numbers=numbers_of(plan.runs[0]),
        drawing=drawing_of(at_point(part, first_point)),
        wall_s=round(mean_s * points * each, 3),
        resolved=tuple(_cost(run) for run in firsts),
    )


def _sample(experiment: Experiment, points: int) -> list[Point]:
    """The first point and a seeded choice of the others: a regular choice would fall in step with an axis."""
    chosen = {0, *random.Random(points).sample(range(1, points), MOST_RUNS - 1)}  # noqa: S311 (a sample, no secret)
    return [point for position, point in enumerate(expand(experiment.sweep)) if position in chosen]


def _fields(experiment: Experiment, part: Experiment) -> Mapping[str, list[str]]:
    """Whole axes; for a long list of points, those of the sample."""
    if isinstance(experiment.sweep, dict):
        return swept_texts([{path: value} for path, values in experiment.sweep.items() for value in values])
    return swept_texts(part.sweep)


def numbers_of(run: Run) -> Numbers:
    """The numbers of one run."""
    meaning = run.meaning
    return Numbers(
        bandwidth_bps=meaning.bandwidth_bps,
        rtt_us=meaning.rtt_us,
        forward_us=meaning.forward_us,
        reverse_us=meaning.reverse_us,
        bdp_bytes=meaning.bdp_bytes,
        bdp_packets=meaning.bdp_packets,
        queue=meaning.queue,
        buffer_text=meaning.buffer_text,
        buffer_packets=meaning.buffer_packets,
        buffer_bytes=meaning.buffer_bytes,
        buffer_bdp=meaning.buffer_packets / meaning.bdp_packets if meaning.bdp_packets else None,
        buffer_us=meaning.buffer_bytes * 8_000_000 // meaning.bandwidth_bps,
        mtu=meaning.mtu,
        frame_bytes=meaning.frame_bytes,
        mss_bytes=meaning.mss_bytes,
        packets_per_s=packets_per_second(run),
        data_packets=data_packets(run),
        slow_start_us=slow_start_us(run),
        duration_us=run.duration_us,
        window_us=run.window_us,
        kernel=run.kernel,
        memory_mb=run.memory_mb,
        memory_estimate_mb=round(memory_estimate_mb(run), 1),
        wall_s=wall_estimate_s(run),
    )


def _cost(run: Run) -> PointCost:
    meaning = run.meaning
    return PointCost(run.point, meaning.bandwidth_bps, meaning.rtt_us, meaning.buffer_packets, wall_estimate_s(run))

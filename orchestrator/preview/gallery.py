"""The shipped experiments as a gallery: groups by question, each experiment with its cost and a small picture.

The groups are in `experiments/groups.json`, where a name that ends with `/` is a folder. The cost is that of up to three points of
the sweep; the picture is what the first point has. Both are in `experiments/gallery.json`, which `make docs` writes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path

from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.cost import reference_estimate_s
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.spec.load import load_experiment, shipped_experiments, with_sweep
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.sweep import count_points, expand
from longhaul.orchestrator.system.dataclass_json import decode, encode
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.pace import pace

_FOLDER = Path(__file__).resolve().parents[1] / "experiments"
_GROUPS, _MADE = _FOLDER / "groups.json", _FOLDER / "gallery.json"
_MOST_FLOWS = 8


@dataclass(frozen=True, slots=True)
class Lane:
    """When a flow sends, as shares of the run."""

    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Miniature:
    """The numbers of end hosts on both sides and of the nodes between, the first flows, and scheduled changes as shares of the run."""

    senders: int
    hops: int
    receivers: int
    flows: tuple[Lane, ...]
    changes: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Shipped:
    """A shipped experiment; `wall_s` is the estimated processor time of all runs."""

    experiment: str
    about: str
    runs: int
    duration: str
    wall_s: float
    miniature: Miniature


@dataclass(frozen=True, slots=True)
class Group:
    """Experiments that ask one question."""

    title: str
    about: str
    experiments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gallery:
    """Every shipped experiment once, and the groups that name them, in which one may be twice."""

    groups: tuple[Group, ...]
    experiments: tuple[Shipped, ...]


def read_groups() -> tuple[Group, ...]:
    """The groups with the names in them; KeyError for one that is not shipped."""
    known = shipped_experiments()

    def named(name: str) -> Sequence[str]:
        found = (
            [one for one in known if one.startswith(name)] if name.endswith("/") else [name] if name in known else []
        )
        if not found:
            raise KeyError(name)
        return found

    return tuple(
        Group(
            one["title"],
            one["about"],
            tuple(dict.fromkeys(name for entry in one["experiments"] for name in named(entry))),
        )
        for one in json.loads(_GROUPS.read_text())
    )


def gallery() -> Gallery:
    """The gallery as `make docs` wrote it, since making it takes seconds, with the costs at the pace of this machine."""
    now = pace()
    return replace(
        _made(), experiments=tuple(replace(one, wall_s=round(one.wall_s * now, 2)) for one in _made().experiments)
    )


@cache
def _made() -> Gallery:
    rows = json.loads(_MADE.read_text())
    return Gallery(read_groups(), tuple(decode(Shipped, row) for row in rows))


def gallery_text() -> str:
    """The experiments of the gallery as JSON, one in each line."""
    rows = (json.dumps(encode(_shipped(name))) for name in shipped_experiments())
    return "[\n" + ",\n".join(rows) + "\n]\n"


def _shipped(name: str) -> Shipped:
    experiment = load_experiment(name)
    points = count_points(experiment.sweep)
    runs = compile_plan(_part(experiment, points), repeats=1).runs
    each_s = sum(map(reference_estimate_s, runs)) / len(runs)
    count = points * experiment.repeats
    return Shipped(name, experiment.about, count, experiment.duration, round(each_s * count, 2), _miniature(runs[0]))


def _part(experiment: Experiment, points: int) -> Experiment:
    """Its first, middle and last point."""
    if points <= 1:
        return experiment
    each = {0, points // 2, points - 1}
    return with_sweep(experiment, [dict(next(islice(expand(experiment.sweep), at, None))) for at in sorted(each)])


def _miniature(run: Run) -> Miniature:
    def share(at_us: int) -> float:
        return round(at_us / run.duration_us, 3)

    lanes = (
        Lane(share(flow.start_us), share(run.duration_us if flow.stop_us is None else flow.stop_us))
        for flow in run.flows[:_MOST_FLOWS]
    )
    return Miniature(
        senders=len({flow.from_node for flow in run.flows}),
        hops=max(len(flow.forward) - 1 for flow in run.flows),
        receivers=len({flow.to_node for flow in run.flows}),
        flows=tuple(lanes),
        changes=tuple(share(change.at_us) for change in run.schedule),
    )

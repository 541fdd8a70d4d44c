"""Pairs runs for a comparison: of two results, runs of the same point and seed; of one result, runs that differ in one field.

Equal seeds draw equal losses, starts and bursts, so the difference of a pair excludes much of the variation between seeds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from longhaul.orchestrator.analysis.aggregate import point_key, without
from longhaul.orchestrator.plan.run_document import OfEveryRun, RunDocument
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import format_duration, format_rate, spell_number

Pair = tuple[RunDocument, RunDocument]


@dataclass(frozen=True, slots=True)
class Pairing:
    """The runs that have a partner, in the order of A, and those that have none."""

    pairs: tuple[Pair, ...]
    only_a: tuple[RunDocument, ...]
    only_b: tuple[RunDocument, ...]

    def by_point(self) -> list[list[Pair]]:
        """The pairs, grouped by point."""
        groups: dict[str, list[Pair]] = {}
        for pair in self.pairs:
            groups.setdefault(point_key(pair[0]["point"]), []).append(pair)
        return list(groups.values())


def pair_runs(a: Sequence[RunDocument], b: Sequence[RunDocument]) -> Pairing:
    """Runs of the same point and seed are partners; if each side is one run, those two are. PlanError without any."""
    if len(a) == len(b) == 1:
        return Pairing(((a[0], b[0]),), (), ())
    partners = {_key(document): document for document in b}
    pairs = tuple((document, partners.pop(_key(document))) for document in a if _key(document) in partners)
    taken = {_key(document) for document, _ in pairs}
    if not pairs:
        raise PlanError(
            "pairing",
            f"{len(a)} runs with {len(b)}",
            f"none has the same point and seed: for example {run_text(a[0])} in the first, {run_text(b[0])} in the second",
            "run both with the same sweep, --seed and --repeats",
        )
    return Pairing(pairs, tuple(one for one in a if _key(one) not in taken), tuple(partners.values()))


def split_by(documents: Sequence[RunDocument], field: str, values: Sequence[str]) -> dict[str, list[RunDocument]]:
    """The runs with each of two values of a swept field, that field taken out of their points; PlanError."""
    reading = "comparing within a result by", field
    fields = dict.fromkeys(name for document in documents for name in document["point"])
    if field not in fields:
        raise PlanError(
            *reading, "its sweep has no such field", f"known: {', '.join(fields) or 'none, it has no sweep'}"
        )
    known = list(dict.fromkeys(document["point"][field] for document in documents if field in document["point"]))
    chosen = list(values) or known
    if len(chosen) != 2 or chosen[0] == chosen[1] or not set(chosen) <= set(known):
        raise PlanError(*reading, f"it needs two of its values, not {', '.join(chosen)}", f"known: {', '.join(known)}")
    return {
        value: [{**one, "point": without(one["point"], field)} for one in documents if one["point"].get(field) == value]
        for value in chosen
    }


@dataclass(frozen=True, slots=True)
class Differing:
    """A field in which the plans of two runs differ, and its values."""

    field: str
    a: str
    b: str

    @property
    def text(self) -> str:
        """The difference as text."""
        return f"{self.field} ({self.a} and {self.b})" if self.a or self.b else self.field


# Enough points: a larger sweep differs in the same fields.
_MOST_PLANS = 100
_MOST_DIFFERING = 12
# Fields of a point that the list below repeats.
_LISTED = ("bandwidth", "rtt", "buffer", "queue", "mtu")


def differing(pairing: Pairing, plan: Callable[[str], Mapping[str, Any] | None]) -> tuple[Differing, ...]:
    """The differences between the plans (run.json) of A's and B's runs, besides the seed: for the first pair of each point."""
    found: dict[Differing, None] = {}
    for group in pairing.by_point()[:_MOST_PLANS]:
        plans = [plan(document["run"]) for document in group[0]]
        if plans[0] is not None and plans[1] is not None:
            found |= dict.fromkeys(_differing(plans[0], plans[1]))
    return tuple(found)[:_MOST_DIFFERING]


def _differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Differing]:
    one, other = (_fields(run) for run in (a, b))
    for name in dict.fromkeys([*one, *other]):
        if one.get(name, "") != other.get(name, ""):
            yield Differing(name, one.get(name, "none"), other.get(name, "none"))
    about_path = any(one.get(name) != other.get(name) for name in one if name in _LISTED or name.startswith("path."))
    if not about_path and _links(a) != _links(b):
        yield Differing("the links, in loss, jitter or another effect", "", "")
    if a["schedule"] != b["schedule"]:
        yield Differing("the schedule", "", "")


def _fields(run: Mapping[str, Any]) -> dict[str, str]:
    meaning = run["meaning"]
    swept = {name: value for name, value in run["point"].items() if name.removeprefix("path.") not in _LISTED}
    return {
        "backend": run["backend"],
        "kernel": run["kernel"],
        "topology": meaning["topology"],
        "bandwidth": format_rate(meaning["bandwidth_bps"]),
        "rtt": format_duration(meaning["rtt_us"]),
        "buffer": f"{meaning['buffer_packets']} packets"
        if meaning["buffer_packets"]
        else f"{meaning['buffer_bytes']} B",
        "queue": meaning["queue"],
        "mtu": str(meaning["mtu"]),
        "duration": format_duration(run["duration_us"]),
        **swept,
        "flows": ", ".join(
            f"{flow['name']} {flow.get('variant') or flow.get('cc') or flow['kind']}" for flow in run["flows"]
        ),
    }


def _links(run: Mapping[str, Any]) -> str:
    """The effects of links on packets, without their seeds, which each run draws itself."""
    queues = [end.get("qdiscs", []) for wire in run["wires"] for end in wire["ends"]]
    return json.dumps(
        [{name: value for name, value in one.items() if "seed" not in name} for some in queues for one in some]
    )


def run_text(document: OfEveryRun) -> str:
    """A run's point and seed as text."""
    return ", ".join(
        [*(f"{name}={spell_number(value)}" for name, value in document["point"].items()), f"seed {document['seed']}"]
    )


def _key(document: OfEveryRun) -> tuple[str, int]:
    return point_key(document["point"]), document["seed"]

"""Catalogues of the names that an experiment may use, as rows for people and programs: each catalogue has its own columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from longhaul.orchestrator.backends import backend_class
from longhaul.orchestrator.plan.target import BACKENDS
from longhaul.orchestrator.spec.congestion_controls import ALIASES, CONGESTION_CONTROLS
from longhaul.orchestrator.spec.load import load_experiment, shipped_experiments
from longhaul.orchestrator.spec.measures import MEASURES
from longhaul.orchestrator.spec.parameters import Parameter
from longhaul.orchestrator.spec.presets import PRESETS
from longhaul.orchestrator.spec.sweep import count_points
from longhaul.orchestrator.spec.topology import show
from longhaul.topologies import CATALOG

Rows = list[dict[str, Any]]


def experiments() -> Rows:
    """The shipped experiments."""
    rows = []
    for name in shipped_experiments():
        experiment = load_experiment(name)
        runs = experiment.repeats * count_points(experiment.sweep)
        rows.append({"experiment": name, "runs": runs, "duration": experiment.duration, "about": experiment.about})
    return rows


def topologies() -> Rows:
    """The graphs on which an experiment may run."""
    return [
        {
            "topology": topology.name,
            "about": topology.about,
            "parameters": [
                {
                    "name": one.name,
                    "default": show(one, one.default),
                    "low": show(one, one.low),
                    "high": show(one, one.high),
                    "about": one.about,
                }
                for one in topology.parameters
            ],
        }
        for topology in CATALOG.values()
    ]


def modules() -> Rows:
    """The congestion controls with their parameters."""
    aliases = {name: [alias for alias, meant in ALIASES.items() if meant == name] for name in CONGESTION_CONTROLS}
    return [
        {
            "cc": name,
            "also": ", ".join(aliases[name]),
            "about": control.about,
            "parameters": [_parameter(one) for one in control.parameters],
        }
        for name, control in CONGESTION_CONTROLS.items()
    ]


def _parameter(one: Parameter) -> dict[str, Any]:
    return {
        "name": one.name,
        "unit": one.unit,
        "default": one.show(one.default),
        "low": one.show(one.low),
        "high": one.show(one.high),
        "allowed": one.allowed,
        "of": "module" if one.socket_option is None else "flow",
        "about": one.about,
    }


def presets() -> Rows:
    """The names that studies gave to senders, and the settings that they stand for."""
    return [
        {"preset": name, "cc": preset.fields["cc"], "label": preset.fields["variant"], "about": preset.label}
        for name, preset in PRESETS.items()
    ]


def measures() -> Rows:
    """The measures and their definitions."""
    return [
        {"measure": name, "of": measure.of, "in": measure.quantity, "formula": measure.formula}
        for name, measure in MEASURES.items()
    ]


def series() -> Rows:
    """The series over time."""
    from longhaul.orchestrator.analysis.timelines import FLOW_SERIES, LINK_SERIES

    of_flows, of_links = (
        [{"series": name, "of": scope, "unit": one.unit, "about": one.about} for name, one in table.items()]
        for scope, table in (("flow", FLOW_SERIES), ("link", LINK_SERIES))
    )
    return of_flows + of_links


def moments() -> Rows:
    """The kinds of moments of a run."""
    from longhaul.orchestrator.analysis.trace_moments import KINDS

    return [{"moment": name, "about": about} for name, about in KINDS.items()]


def backends() -> Rows:
    """The backends."""
    return [{"backend": name, "about": (backend_class(name).__doc__ or "").strip()} for name in sorted(BACKENDS)]


def published() -> Rows:
    """The statements of papers, value by value, and the experiments compared with them; packs state what their sources require."""
    from longhaul.orchestrator.papers.load import load_paper, published_papers

    return [
        {
            "claim": f"{paper.paper}/{figure.name}/{claim.name}",
            "of": paper.kind,
            "class": claim.grade,
            "states": claim.words,
            "published": claim.published,
            "gate": claim.gate,
            "experiments": [claim.experiment] if claim.experiment else [use.experiment for use in figure.uses],
        }
        for paper in map(load_paper, published_papers())
        for figure in paper.figures
        for claim in figure.claims
    ]


CATALOGUES: Mapping[str, Callable[[], Rows]] = {
    "experiments": experiments,
    "topologies": topologies,
    "modules": modules,
    "presets": presets,
    "measures": measures,
    "series": series,
    "moments": moments,
    "backends": backends,
    "published": published,
}

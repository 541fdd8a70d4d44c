"""Published files: each loads, its experiments compile, its quick points give every verdict; errors are refused with their path."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.papers import load
from longhaul.orchestrator.papers.load import (
    Figure,
    experiment_name,
    experiment_of,
    find_figures,
    load_paper,
    published_papers,
    quick_experiment,
    read_paper,
)
from longhaul.orchestrator.papers.verdicts import NOT_CHECKABLE, judge_claim
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.traffic.streams import groups_of
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.spec.measures import MEASURES
from longhaul.orchestrator.spec.sweep import point_texts
from longhaul.orchestrator.spec.yaml_text import parse_document
from longhaul.orchestrator.system.errors import PlanError, SpecError

PUBLISHED = Path(load.__file__).parent / "published"
FIGURES = [(name, figure) for name in published_papers() for figure in load_paper(name).figures]
IDS = [f"{name}/{figure.name}" for name, figure in FIGURES]


def paths(*of: str) -> list[tuple[str, ...]]:
    return [measure.path for measure in MEASURES.values() if measure.of in of]


def measured(run: Run, number: int) -> Any:
    """A document in which every measure has some value, different in every run."""
    value = 1.0 + number % 7
    window = {
        "totals": [{"name": group.name} | filled(paths("flow"), value) for group, _ in groups_of(run)],
        "flows": [{"name": flow.name} | filled(paths("flow", "either"), value) for flow in run.flows],
        "path": filled(paths("path", "either"), value),
        **filled(paths("run"), value),
    }
    phases = {phase.name: window for phase in run.phases}
    return {"status": "done", "seed": run.seed, "point": dict(run.point), "phases": phases} | window


def filled(places: Iterable[tuple[str, ...]], value: float) -> dict[str, Any]:
    """The value at each of these places of a document."""
    document: dict[str, Any] = {}
    for *above, name in places:
        place = document
        for part in above:
            place = place.setdefault(part, {})
        place[name] = value
    return document


@cache
def whole_us(experiment: str) -> int:
    """Virtual time of all runs of an experiment, which compiles."""
    runs = compile_plan(experiment_of(experiment), repeats=1).runs
    return sum(run.duration_us for run in runs) * experiment_of(experiment).repeats


@cache
def quick_documents(paper: str, experiment: str) -> tuple[int, list[Any]]:
    """Virtual time of an experiment's --quick runs, and a document a run."""
    uses = [use for figure in load_paper(paper).figures for use in figure.uses]
    runs = compile_plan(quick_experiment(next(use for use in uses if use.experiment == experiment))).runs
    return sum(run.duration_us for run in runs), [measured(run, number) for number, run in enumerate(runs)]


@pytest.mark.parametrize(("paper", "figure"), FIGURES, ids=IDS)
def test_quick_is_shorter_and_still_gives_every_verdict_that_gates(paper: str, figure: Figure) -> None:
    for use in figure.uses:
        quick_us, _ = quick_documents(paper, use.experiment)
        assert use.quick is None or quick_us < whole_us(use.experiment)
    for claim in figure.claims:
        _, documents = quick_documents(paper, experiment_name(figure, claim))
        assert judge_claim(figure.name, claim, documents, "mean").verdict != NOT_CHECKABLE or not claim.gate, claim.name


def test_names_are_known() -> None:
    assert "apptcp" in published_papers()
    with pytest.raises(PlanError, match=r"known: .*apptcp"):
        load_paper("unknown")
    with pytest.raises(PlanError, match="nearest: fig3"):
        find_figures(load_paper("apptcp"), "fig33")


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ("of: 600 Mbit/s", "of: 600", "figures.fig4.claims.level"),
        ("kind: flat", "kind: flatt", "figures.fig4.claims.flat"),
        ("at_most: 5 %", "at_most: five", "figures.fig4.claims.flat.at_most"),
        ("along: path.rtt", "along: path.loss", "figures.fig4.claims.others-fall.along: read 'path.loss'"),
        ("at: {flows.app: apptcp}", "at: {flows.app: apptpc}", "figures.fig4.claims.level.at.flows.app: read 'apptpc'"),
        ("flow: rival", "flow: rivla", "figures.fig6.claims.required.flow: read 'rivla'; allowed: rival, bic"),
        ("measure: share", "measure: shares", "nearest: share"),
        ("experiment: apptcp/fig3-rate", "experiment: apptcp/fig3-rat", "nearest: apptcp/fig3-rate"),
        ("class: curve", "class: curved", "figures.fig3.claims.tracking.class"),
        ("path.rtt: [2 ms, 512 ms]", "path.rtt: [2 ms, 513 ms]", "quick.points.1.path.rtt: read '513 ms'"),
    ],
)
def test_a_mistake_is_refused_with_its_path(written: str, instead: str, message: str) -> None:
    text = (PUBLISHED / "apptcp.yaml").read_text()
    start = text.index("name: fig6") if "rival" in written else text.index("name: fig4") if "apptcp}" in written else 0
    assert written in text[start:]
    changed = text[:start] + text[start:].replace(written, instead)
    with pytest.raises(SpecError) as refused:
        read_paper(parse_document("apptcp.yaml", changed))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("instead", "message"),
    [
        ("[reno + cubic]", r"ramp.over: read 'reno \+ cubic'; allowed: .*reno \+ ccpd-4-2000"),
        ("[reno]", "ramp.over: read 'reno'; allowed: "),
    ],
)
def test_a_pair_that_is_not_run_cannot_be_ranked(instead: str, message: str) -> None:
    text = (PUBLISHED / "kumazoe.yaml").read_text()
    start = text.index("name: fig14")
    written = "[reno + ccpd-4-2000, cubic + ccpd-4-2000, compound + ccpd-4-2000]"
    assert written in text[start:]
    with pytest.raises(SpecError, match=message):
        read_paper(parse_document("kumazoe.yaml", text[:start] + text[start:].replace(written, instead, 1)))


def test_an_experiment_of_two_figures_is_cut_down_in_one_way() -> None:
    text = (PUBLISHED / "apptcp.yaml").read_text()
    start = text.index("name: fig10a")
    with pytest.raises(
        SpecError, match=r"figures.fig10a.uses.apptcp/fig8a-international.quick: differs from that of fig8a"
    ):
        read_paper(parse_document("apptcp.yaml", text[:start] + text[start:].replace("30 s", "31 s", 1)))


def test_whole_flows_in_a_sweep_are_shown_by_what_they_run() -> None:
    flows = [
        {"name": "a", "cc": "ccp", "variant": "ccp-4"},
        {"name": "a", "preset": "unpa/vegas"},
        {"name": "a", "cc": "bic"},
    ]
    shown = [point_texts({"flows.a": flow})["flows.a"] for flow in flows]
    assert shown == ["ccp-4", "unpa/vegas", "bic"]
    assert point_texts({"flows": [*flows, {"name": "b", "cc": "bic"}]}) == {"flows": "ccp-4 + unpa/vegas + bic"}


def test_points_that_tables_cannot_distinguish_are_refused() -> None:
    written = {
        "experiment": "made",
        "path": {"bandwidth": "8 Mbit/s", "rtt": "40 ms"},
        "flows": [{"name": "a", "cc": "reno"}],
        "duration": "10 s",
        "sweep": {"flows.a": [{"name": "a", "cc": "reno"}, {"name": "a", "cc": "reno", "initial_window": 2}]},
    }
    with pytest.raises(SpecError, match="give flows that differ a `variant` each"):
        parse_experiment(written)
    parse_experiment(
        written | {"sweep": {"flows.a": [{"name": "a", "cc": "reno"}, {"name": "a", "cc": "reno", "variant": "r2"}]}}
    )

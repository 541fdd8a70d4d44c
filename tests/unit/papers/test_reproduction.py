"""Pages of a reproduction: figures contain the measured numbers, and no text of an experiment becomes markup."""

from __future__ import annotations

import csv
import io
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from longhaul.orchestrator.papers.drawings import Drawn, Measured, draw
from longhaul.orchestrator.papers.load import experiment_of, load_paper
from longhaul.orchestrator.papers.reproduction import markdown, verdict_line
from longhaul.orchestrator.papers.reproduction_page import reproduction_page
from longhaul.orchestrator.papers.verdicts import AGREES, DIFFERS, NOT_CHECKABLE, Verdict, judge_claim
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.trace.records import Trace

PAPER = load_paper("apptcp")
FIGURE = next(figure for figure in PAPER.figures if figure.name == "fig5")


def documents(variant: str = "apptcp") -> list[Any]:
    return [
        {
            "status": "done",
            "seed": seed,
            "point": {"path.loss": loss, "flows.app": name},
            "flows": [{"name": "app", "goodput_bps": goodput + seed}],
        }
        for loss, goodput in (("0", 594e6), ("1e-6", 500e6), ("1e-4", 300e6))
        for name in (variant, "bic")
        for seed in (1, 2, 3)
    ]


def drawn(shown: list[Any]) -> Drawn:
    found = draw(FIGURE.pictures[0], Measured(shown, "mean", "", kept), (), 200)
    assert found is not None
    return found


def kept(document: RunDocument) -> tuple[Run, Trace]:
    raise AssertionError("no chart over time is drawn")


def test_the_numbers_of_a_figure_are_those_of_the_runs() -> None:
    rows = list(csv.DictReader(io.StringIO(drawn(documents()).table.as_csv())))
    assert [row["path.loss"] for row in rows] == ["0", "0", "1e-6", "1e-6", "1e-4", "1e-4"]
    assert float(rows[0]["goodput"]) == 594e6 + 2
    assert float(rows[0]["low"]) <= 594e6 + 2 <= float(rows[0]["high"])
    assert rows[0]["n"] == "3"


def test_a_point_whose_runs_failed_is_left_out() -> None:
    shown = [
        {**document, "status": "failed"} if document["point"]["path.loss"] == "0" else document
        for document in documents()
    ]
    rows = csv.DictReader(io.StringIO(drawn(shown).table.as_csv()))
    assert {row["path.loss"] for row in rows} == {"1e-6", "1e-4"}


def test_the_same_runs_draw_the_same_figure() -> None:
    svg = drawn(documents()).plates[0].svg
    assert svg == drawn(documents()).plates[0].svg
    assert ET.fromstring(svg).tag.endswith("svg")


@pytest.mark.parametrize("name", ["<b>", "a&b", "$x_1$"])
def test_text_stays_text(name: str) -> None:
    shown = documents(name)
    verdicts = [judge_claim("fig5", claim, shown, "mean") for claim in FIGURE.claims]
    measured = {"apptcp/fig5-loss": Measured(shown, "mean", f"plan of {name}", kept)}
    page = reproduction_page(PAPER, [FIGURE], verdicts, measured, how=name)
    assert "<b>" not in page
    assert "a&b" not in page
    assert "not checkable" in page


def test_the_page_of_a_paper_lists_every_claim() -> None:
    aggregate = experiment_of("apptcp/fig5-loss").aggregate
    verdicts = [judge_claim("fig5", claim, documents(), aggregate) for claim in FIGURE.claims]
    page = markdown(PAPER, [FIGURE], verdicts, how="Measured.")
    assert [verdict.verdict for verdict in verdicts] == ["agrees", "agrees", "not checkable"]
    for claim in FIGURE.claims:
        assert f"| {claim.name}: {claim.words} |" in page
    assert "2 agree, 1 is not checkable; of the 2 that gate, none differs" in page


def test_a_figure_without_claims_has_only_its_pictures() -> None:
    figure = FIGURE.model_copy(update={"claims": []})
    page = markdown(PAPER, [figure], [], how="Measured.")
    assert "## fig5" in page
    assert "|" not in page
    measured = {"apptcp/fig5-loss": Measured(documents(), "mean", "the plan", kept)}
    html = reproduction_page(PAPER, [figure], [], measured, how="Measured.")
    assert "<svg" in html
    assert "<table" not in html


@pytest.mark.parametrize(
    ("counted", "line"),
    [
        ([], "No claims"),
        ([(AGREES, True)], "1 agrees; of the one that gates, none differs"),
        ([(DIFFERS, True)], "1 differs; of the one that gates, 1 differs"),
        ([(AGREES, False), (DIFFERS, False)], "1 agrees, 1 differs; none gates"),
        ([(DIFFERS, True)] * 2 + [(AGREES, True)] * 3, "3 agree, 2 differ; of the 5 that gate, 2 differ"),
        ([(NOT_CHECKABLE, True)] * 2, "2 are not checkable; of the 2 that gate, none differs"),
    ],
)
def test_the_line_of_verdicts_is_a_sentence(counted: list[tuple[str, bool]], line: str) -> None:
    verdicts = [Verdict("fig", "c", "number", "value", "w", "p", gate, verdict, "") for verdict, gate in counted]
    assert verdict_line(verdicts) == line

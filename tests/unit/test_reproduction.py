"""Pages of a reproduction: figures hold what was measured, and no text of an experiment becomes markup."""

from __future__ import annotations

import csv
import io
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from orchestrator.analysis.published_figure import draw_published, figure_readings, readings_csv
from orchestrator.analysis.reproduction import markdown
from orchestrator.analysis.reproduction_page import Measured, reproduction_page
from orchestrator.analysis.verdicts import judge_claim
from orchestrator.papers import experiment_of, load_paper

PAPER = load_paper("apptcp")
FIGURE = next(figure for figure in PAPER.figures if figure.name == "fig5")


def documents(variant: str = "apptcp") -> list[dict[str, Any]]:
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


def test_the_numbers_of_a_figure_are_those_of_the_runs() -> None:
    readings = figure_readings(FIGURE.axes, documents(), "mean")
    rows = list(csv.DictReader(io.StringIO(readings_csv(FIGURE.axes, readings))))
    assert [row["path.loss"] for row in rows] == ["0", "0", "1e-6", "1e-6", "1e-4", "1e-4"]
    assert float(rows[0]["goodput"]) == 594e6 + 2
    assert float(rows[0]["low"]) <= 594e6 + 2 <= float(rows[0]["high"])
    assert rows[0]["n"] == "3"


def test_a_point_whose_runs_failed_is_left_out() -> None:
    told = [
        {**document, "status": "failed"} if document["point"]["path.loss"] == "0" else document
        for document in documents()
    ]
    assert {one.point["path.loss"] for one in figure_readings(FIGURE.axes, told, "mean")} == {"1e-6", "1e-4"}


def test_the_same_runs_draw_the_same_figure() -> None:
    readings = figure_readings(FIGURE.axes, documents(), "mean")
    drawn = draw_published(FIGURE.axes, readings)
    assert drawn == draw_published(FIGURE.axes, readings)
    assert ET.fromstring(drawn).tag.endswith("svg")


@pytest.mark.parametrize("name", ["<b>", "a&b", "$x_1$"])
def test_text_stays_text(name: str) -> None:
    told = documents(name)
    verdicts = [judge_claim("fig5", claim, told, "mean") for claim in FIGURE.claims]
    measured = {"apptcp/fig5-loss": Measured(told, "mean", f"plan of {name}")}
    page = reproduction_page(PAPER, [FIGURE], verdicts, measured, how=name)
    assert "<b>" not in page
    assert "a&b" not in page
    assert "not checkable" in page


def test_the_page_of_a_paper_tells_every_claim() -> None:
    aggregate = experiment_of("apptcp/fig5-loss").aggregate
    verdicts = [judge_claim("fig5", claim, documents(), aggregate) for claim in FIGURE.claims]
    page = markdown(PAPER, [FIGURE], verdicts, how="Measured.")
    assert [verdict.verdict for verdict in verdicts] == ["agrees", "agrees", "not checkable"]
    for claim in FIGURE.claims:
        assert f"| {claim.name}: {claim.words} |" in page
    assert "2 agrees, 1 not checkable; of 2 that gate, 0 differ" in page

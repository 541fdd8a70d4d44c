"""The search on claims whose edge is known: it is found from the benign side, and the condition is written in the experiment format."""

from __future__ import annotations

import math

import pytest

from longhaul.orchestrator.analysis.search.breaking_point import Condition, Hunt, along, anywhere
from longhaul.orchestrator.analysis.search.ranges import Position, distance, read_range
from longhaul.orchestrator.spec.yaml_text import document_text, parse_document
from longhaul.orchestrator.system.errors import PlanError


def hunt(margin: object) -> Hunt:
    def judge(positions: list[Position]) -> list[Condition]:
        return [Condition(one, {}, (margin(one),)) for one in positions]  # type: ignore[operator]

    return Hunt(judge)


@pytest.mark.parametrize("edge", [0.013, 0.1, 0.3333, 0.5, 0.77, 0.999])
def test_one_field_is_cut_down_to_the_edge(edge: float) -> None:
    looked = hunt(lambda one: edge - one[0])
    along(looked, (1.0,), 0.005, 24)
    assert looked.best is not None
    assert edge < looked.best.distance <= edge + 0.005
    assert len(looked.known) <= 24


def test_a_claim_that_holds_costs_five_conditions() -> None:
    looked = hunt(lambda one: 1.0)
    along(looked, (1.0,), 0.005, 24)
    assert looked.best is None
    assert len(looked.known) == 5


def test_a_claim_that_breaks_at_the_benign_end_breaks_there() -> None:
    looked = hunt(lambda one: -1.0)
    anywhere(looked, 2, 1, 24)
    assert looked.best is not None
    assert looked.best.distance == 0


def test_breaking_in_the_middle_alone_is_found() -> None:
    looked = hunt(lambda one: abs(one[0] - 0.5) - 0.1)
    along(looked, (1.0,), 0.005, 24)
    assert looked.best is not None
    assert looked.best.distance == pytest.approx(0.4, abs=0.006)


def test_two_fields_come_closer_than_the_diagonal() -> None:
    """Only the first field matters, from 0.4 on: the closest is (0.4, 0), at 0.283; the diagonal meets it at 0.4."""
    looked = hunt(lambda one: 0.4 - one[0])
    anywhere(looked, 2, 1, 60)
    assert looked.best is not None
    assert 0.4 / math.sqrt(2) <= looked.best.distance < 0.36
    assert len(looked.known) <= 60


def test_the_same_seed_tries_the_same_conditions() -> None:
    both = [hunt(lambda one: 0.7 - one[0] - one[1] / 2) for _ in range(2)]
    for one in both:
        anywhere(one, 2, 7, 40)
    assert [*both[0].known] == [*both[1].known]


@pytest.mark.parametrize(
    ("text", "position", "value"),
    [
        ("path.rtt=1ms..500ms", 0.0, "1 ms"),
        ("path.rtt=1ms..500ms", 1.0, "500 ms"),
        ("path.rtt=1 ms..100 ms", 0.5, "10 ms"),
        ("path.loss=1e-6..1e-2", 0.5, 1e-4),
        ("path.loss=0.01 %..1 %", 0.5, 1e-3),
        ("path.bandwidth=1 Gbit/s..10 Mbit/s", 0.5, "100 Mbit/s"),
        ("path.buffer=10 BDP..0.1 BDP", 0.5, "1 BDP"),
        ("path.buffer=1 packets..100 packets", 0.5, "10 packets"),
        ("flows.app.count=1..100", 0.5, 10),
        ("path.recording.parameters.snr_db=30..-10", 0.25, 20.0),
        ("path.recording.parameters.snr_db=30..-10", 1.0, -10.0),
    ],
)
def test_a_condition_is_written_with_its_unit(text: str, position: float, value: object) -> None:
    written = read_range(text).value(position)
    assert written == value
    assert type(written) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "path.rtt",
        "path.rtt=1ms",
        "=1..2",
        "path.loss=0..1",
        "path.rtt=1ms..1e-3",
        "path.rtt=1ms..1ms",
        "path.recording.parameters.snr_db=5..5",
    ],
)
def test_an_invalid_range_is_refused(text: str) -> None:
    with pytest.raises(PlanError, match="--over"):
        read_range(text)


def test_distance_goes_from_0_to_1() -> None:
    assert distance((0.0, 0.0)) == 0
    assert distance((1.0, 1.0)) == 1
    assert distance((1.0, 0.0)) == pytest.approx(math.sqrt(0.5))


def test_a_written_document_reads_back() -> None:
    data = {"on_off": {"on": "1 s", "off": True}, "kernel": "6.12", "loss": 1e-05, "share": "1e-5", "list": [{"a": 1}]}
    text = document_text(data, ["what\nit is"])
    assert text.startswith("# what it is\n")
    assert parse_document("text", text).data == data

"""Verdicts: constructed documents with a known verdict, for every kind of claim, on both sides of its tolerance."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from longhaul.orchestrator.papers import verdicts
from longhaul.orchestrator.papers.claims import CLAIMS, Claim
from longhaul.orchestrator.papers.verdicts import AGREES, DIFFERS, NOT_CHECKABLE, Verdict, judge_claim

RATE, VARIANT = "flows.app.params.rate", "flows.app"
ADAPTER: TypeAdapter[Claim] = TypeAdapter(Claim)


def document(goodput_mbps: float | None, *, seed: int = 1, status: str = "done", **point: str) -> Any:
    flow = {"name": "app", "goodput_bps": None if goodput_mbps is None else goodput_mbps * 1e6, "goodput_cv": 0.01}
    fields = {{"rate": RATE, "variant": VARIANT, "rtt": "path.rtt"}[name]: value for name, value in point.items()}
    return {"status": status, "seed": seed, "point": fields, **({"flows": [flow]} if status != "failed" else {})}


def judged(documents: list[Any], aggregate: str = "mean", **claim: Any) -> Verdict:
    written = {
        "name": "made", "class": "number", "words": "as stated", "published": "a value", "gate": True,
        "measure": "goodput", "flow": "app", "why": "a reason",
    }  # fmt: skip
    return judge_claim("fig0", ADAPTER.validate_python(written | claim), documents, aggregate)


def rtts(*goodputs_mbps: float, variant: str = "apptcp") -> list[Any]:
    return [document(value, rtt=f"{2**power} ms", variant=variant) for power, value in enumerate(goodputs_mbps, 1)]


def variants(**goodputs_mbps: float) -> list[Any]:
    return [document(value, variant=name) for name, value in goodputs_mbps.items()]


CASES: list[tuple[list[Any], dict[str, Any], str, float]] = [
    ([document(570.1)], {"kind": "value", "of": "600 Mbit/s", "within": "5 %"}, AGREES, 0.0),
    ([document(513.0)], {"kind": "value", "of": "600 Mbit/s", "within": "5 %"}, DIFFERS, 0.1),
    ([document(693.0)], {"kind": "value", "of": "600 Mbit/s", "within": "5 %"}, DIFFERS, 0.1),
    ([document(900.0)], {"kind": "value", "at_least": "900 Mbit/s"}, AGREES, 0.0),
    ([document(810.0)], {"kind": "value", "at_least": "900 Mbit/s"}, DIFFERS, 0.1),
    ([document(673.2)], {"kind": "value", "at_least": "590 Mbit/s", "at_most": "612 Mbit/s"}, DIFFERS, 0.1),
    (rtts(100, 102, 104), {"kind": "flat", "at_most": "5 %"}, AGREES, 0.0),
    (rtts(95, 100, 105), {"kind": "flat", "at_most": "5 %"}, DIFFERS, 0.05),
    ([document(98.0, rate="100 Mbit/s")], {"kind": "error", "asked": RATE, "at_most": "2 %"}, AGREES, 0.0),
    ([document(102.5, rate="100 Mbit/s")], {"kind": "error", "asked": RATE, "at_most": "2 %"}, DIFFERS, 0.005),
    ([document(90.0, rate="100 Mbit/s")], {"kind": "error", "asked": RATE, "at_most": "2 %"}, DIFFERS, 0.08),
    (rtts(500, 505, 300), {"kind": "trend", "along": "path.rtt", "direction": "falls", "by": "30 %"}, AGREES, 0.0),
    (rtts(500, 505, 400), {"kind": "trend", "along": "path.rtt", "direction": "falls", "by": "30 %"}, DIFFERS, 0.1),
    (rtts(500, 300, 330), {"kind": "trend", "along": "path.rtt", "direction": "falls"}, DIFFERS, 0.08),
    (rtts(300, 400, 500), {"kind": "trend", "along": "path.rtt", "direction": "rises"}, AGREES, 0.0),
    (rtts(500, 400, 300), {"kind": "trend", "along": "path.rtt", "direction": "rises"}, DIFFERS, 0.4),
    (variants(a=100, b=90, c=10), {"kind": "ordering", "over": VARIANT, "first": ["a"]}, AGREES, 0.0),
    (variants(a=90, b=100, c=10), {"kind": "ordering", "over": VARIANT, "first": ["a"]}, DIFFERS, 0.1),
    (variants(a=99, b=100, c=10), {"kind": "ordering", "over": VARIANT, "first": ["a"], "slack": "2 %"}, AGREES, 0.0),
    (variants(a=1, b=100, c=2), {"kind": "ordering", "over": VARIANT, "last": ["a", "c"]}, AGREES, 0.0),
    (variants(a=100, b=50, c=2), {"kind": "ordering", "over": VARIANT, "last": ["a", "c"]}, DIFFERS, 0.5),
    (variants(a=3, b=2, c=1), {"kind": "ordering", "over": VARIANT, "ranking": ["a", "b", "c"]}, AGREES, 0.0),
    (variants(a=3, b=1, c=2), {"kind": "ordering", "over": VARIANT, "ranking": ["a", "b", "c"]}, DIFFERS, 0.5),
    (variants(a=1, b=2), {"kind": "ordering", "over": VARIANT, "first": ["a"], "best": "lowest"}, AGREES, 0.0),
    (variants(a=2, b=1), {"kind": "ordering", "over": VARIANT, "first": ["a"], "best": "lowest"}, DIFFERS, 0.5),
    (
        variants(a=1.05, b=1),
        {"kind": "ordering", "over": VARIANT, "first": ["a"], "best": "lowest", "level": "100 Kbit/s"},
        AGREES,
        0.0,
    ),
]


@pytest.mark.parametrize(("documents", "claim", "verdict", "off"), CASES)
def test_a_known_verdict(documents: list[Any], claim: dict[str, Any], verdict: str, off: float) -> None:
    found = judged(documents, **claim)
    assert found.verdict == verdict
    assert found.off == pytest.approx(off, abs=1e-9)
    assert found.fails == (verdict == DIFFERS)
    assert found.why == ("a reason" if verdict == DIFFERS else "")


def test_every_kind_has_a_case_on_both_sides() -> None:
    seen = {(claim["kind"], verdict) for _, claim, verdict, _ in [*CASES, *TABLES, *LINES] if verdict != NOT_CHECKABLE}
    assert seen == {(kind, verdict) for kind in CLAIMS for verdict in (AGREES, DIFFERS)}


def test_repeats_count_by_the_experiments_aggregate_with_its_interval() -> None:
    documents = [document(value, seed=seed) for seed, value in enumerate([1, 100, 101, 102, 1000])]
    found = judged(documents, "trimmed_mean", kind="value", of="101 Mbit/s", within="1 %")
    assert found.verdict == AGREES
    assert found.value == pytest.approx(101e6)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 101e6 < found.high


PAIRS = {"rows": VARIANT, "columns": "path.rtt"}


def pairs(**cells: float) -> list[Any]:
    return [document(value, variant=name.split("_")[0], rtt=name.split("_")[1]) for name, value in cells.items()]


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    """A published table of two by two, and a second one."""
    tables = {
        "mine.csv": {("a", "x"): 1e6, ("a", "y"): 2e6, ("b", "x"): 3e6, ("b", "y"): 3e6},
        "theirs.csv": {("a", "x"): 1e6, ("a", "y"): 2e6, ("b", "x"): 1e6, ("b", "y"): 1e6},
        "lines.csv": {("a", "ours"): 1e6, ("b", "ours"): 2e6, ("a", "others"): 5e6, ("b", "others"): 5e6},
    }
    monkeypatch.setattr(verdicts, "load_matrix", lambda matrix: tables[matrix.file])


TABLES: list[tuple[dict[str, float], dict[str, Any], str, float]] = [
    ({"a_x": 1.04, "a_y": 2, "b_x": 3, "b_y": 9}, {"kind": "table", "apart": 5e4, "cells": "75 %"}, AGREES, 0.0),
    ({"a_x": 1.06, "a_y": 2, "b_x": 3, "b_y": 9}, {"kind": "table", "apart": 5e4, "cells": "75 %"}, DIFFERS, 0.25),
    ({"a_x": 1, "a_y": 5, "b_x": 7, "b_y": 7}, {"kind": "rank", "step": 1e3, "at_least": 0.99}, AGREES, 0.0),
    # 7.0001 and 7.0002 are the same at the published step; at a finer one they are not.
    ({"a_x": 1, "a_y": 5, "b_x": 7.0002, "b_y": 7.0001}, {"kind": "rank", "step": 1e3, "at_least": 0.99}, AGREES, 0.0),
    ({"a_x": 7, "a_y": 5, "b_x": 1, "b_y": 1}, {"kind": "rank", "step": 1e3, "at_least": 0.9}, DIFFERS, 1.9),
    ({"a_x": 1, "a_y": 5, "b_z": 7}, {"kind": "table", "apart": 5e4, "cells": "75 %"}, NOT_CHECKABLE, 0.0),
]  # fmt: skip


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize(
    ("cells", "claim", "verdict", "off"),
    TABLES,
)
def test_pairs_are_compared_with_a_published_table(
    cells: dict[str, float], claim: dict[str, Any], verdict: str, off: float
) -> None:
    found = judged(pairs(**cells), **claim, table=PAIRS | {"file": "mine.csv"})
    assert found.verdict == verdict
    assert (found.off or 0.0) == pytest.approx(off)


LINES: list[tuple[list[Any], dict[str, Any], str, float]] = [
    (variants(a=1.04, b=1.96), {"kind": "curve", "within": "5 %", "points": "100 %"}, AGREES, 0.0),
    (variants(a=1.04, b=1.88), {"kind": "curve", "within": "5 %", "points": "100 %"}, DIFFERS, 0.5),
    (variants(a=1.04, b=1.88), {"kind": "curve", "within": "5 %", "points": "50 %"}, AGREES, 0.0),
    (variants(a=1, b=2, c=3), {"kind": "curve", "within": "5 %", "points": "50 %"}, NOT_CHECKABLE, 0.0),
]


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize(("documents", "claim", "verdict", "off"), LINES)
def test_points_are_compared_with_a_published_curve(
    documents: list[Any], claim: dict[str, Any], verdict: str, off: float
) -> None:
    found = judged(documents, **claim, table={"file": "lines.csv", "rows": VARIANT}, column="ours")
    assert found.verdict == verdict
    assert (found.off or 0.0) == pytest.approx(off)
    if verdict != NOT_CHECKABLE:
        near = 2 if documents[1]["flows"][0]["goodput_bps"] > 1.9e6 else 1
        assert found.measured.startswith(f"{near} of 2 points within 5.00 %; the farthest is")
        assert "published as" in found.measured


@pytest.mark.usefixtures("published")
def test_a_share_was_published_as_two_tables() -> None:
    documents = pairs(a_x=0, a_y=0, b_x=0, b_y=0)
    for one, share in zip(documents, (0.51, 0.49, 0.74, 0.60), strict=True):
        one["flows"][0]["share"] = share
    mine, theirs = (PAIRS | {"file": f"{name}.csv"} for name in ("mine", "theirs"))
    found = judged(documents, kind="table", measure="share", apart=0.02, cells="75 %", table=mine, beside=theirs)
    assert found.verdict == AGREES
    assert "3 of 4 cells" in found.measured
    assert "60.00 % at variant=b, rtt=y, published as 75.00 %" in found.measured.replace("app", "variant")


def test_two_points_are_compared_repeat_by_repeat() -> None:
    documents = [document(value, rtt="1 ms", variant=name, seed=seed) for name, values in (("a", (100, 200)), ("b", (50, 80))) for seed, value in enumerate(values)]  # fmt: skip
    contrast = {"field": VARIANT, "of": "a", "to": "b"}
    ratio = judged(documents, kind="value", contrast=contrast | {"by": "ratio"}, at_least=2.2, at_most=2.3)
    assert ratio.verdict == AGREES
    assert ratio.value == pytest.approx((2 + 2.5) / 2)
    assert ratio.point == {"path.rtt": "1 ms"}
    lead = judged(documents, kind="value", contrast=contrast | {"by": "difference"}, at_least="90 Mbit/s")
    assert lead.verdict == DIFFERS
    assert lead.value == pytest.approx(85e6)
    alone = judged(documents[:2], kind="value", contrast=contrast | {"by": "ratio"}, at_least=1.0)
    assert (alone.verdict, alone.measured) == (NOT_CHECKABLE, f"{VARIANT}=b was not run at rtt=1 ms")


def test_points_can_be_taken_out() -> None:
    documents = variants(a=600, b=1)
    assert judged(documents, kind="value", at_least="500 Mbit/s", but={VARIANT: "b"}).verdict == AGREES
    assert judged(documents, kind="value", at_least="500 Mbit/s").verdict == DIFFERS


def test_the_point_farthest_from_agreeing_decides() -> None:
    found = judged(rtts(600, 500, 550), kind="value", of="600 Mbit/s", within="5 %")
    assert found.point == {"path.rtt": "4 ms", VARIANT: "apptcp"}
    assert found.value == pytest.approx(500e6)


def test_only_the_selected_points_count() -> None:
    documents = [*rtts(600, 600), *rtts(1, 1, variant="bic")]
    assert judged(documents, kind="flat", at_most="5 %", at={VARIANT: "apptcp"}).verdict == AGREES
    assert judged(documents, kind="flat", at_most="5 %").verdict == DIFFERS


def test_each_group_is_ranked_by_itself() -> None:
    documents = [*rtts(100, 100), *rtts(90, 110, variant="bic")]
    found = judged(documents, kind="ordering", over=VARIANT, first=["apptcp"])
    assert found.verdict == DIFFERS
    assert "at rtt=4 ms" in found.measured


def starters(**goodputs_mbps: float) -> list[Any]:
    """Points of two fields: of a_b, a is the variant and b the variant of the required rate."""
    return [
        document(value, variant=name.partition("_")[0], rate=name.partition("_")[2])
        for name, value in goodputs_mbps.items()
    ]


@pytest.mark.parametrize(
    ("documents", "verdict", "measured"),
    [
        (starters(a_b=20, b_a=30, c_a=29), AGREES, "c + a 29 Mbit/s, a + b 20 Mbit/s"),
        (starters(a_b=20, b_a=30, c_a=19), DIFFERS, "c + a 19 Mbit/s, a + b 20 Mbit/s"),
        (starters(a_b=20, b_a=30), NOT_CHECKABLE, "c + a was not run"),
    ],
)
def test_pairs_are_ranked_against_each_other(documents: list[Any], verdict: str, measured: str) -> None:
    found = judged(documents, kind="ordering", over=[VARIANT, RATE], first=["b + a", "c + a"])
    assert (found.verdict, found.measured) == (verdict, measured)


@pytest.mark.parametrize(
    ("documents", "claim", "reason"),
    [
        ([], {"kind": "value", "at_least": "1 Mbit/s"}, "no run"),
        ([document(None)], {"kind": "value", "at_least": "1 Mbit/s"}, "no value"),
        ([document(5), document(5, seed=2, status="failed")], {"kind": "value", "at_least": "1 Mbit/s"}, "1 of 2 runs"),
        (rtts(100), {"kind": "flat", "at_most": "5 %"}, "have no run"),
        (rtts(100), {"kind": "trend", "along": "path.rtt", "direction": "falls"}, "have no run"),
        (variants(a=1, b=2), {"kind": "ordering", "over": VARIANT, "first": ["c"]}, "c was not run"),
        (variants(a=1), {"kind": "ordering", "over": VARIANT, "first": ["a"]}, "have no run"),
    ],
)
def test_a_claim_without_measurements_is_not_judged(documents: list[Any], claim: dict[str, Any], reason: str) -> None:
    found = judged(documents, **claim)
    assert found.verdict == NOT_CHECKABLE
    assert reason in found.measured
    assert not found.fails

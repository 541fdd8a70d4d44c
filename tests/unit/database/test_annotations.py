"""Titles, tags and comments: changed at any time, found by every list, gone with their subject."""

from __future__ import annotations

import pytest

from longhaul.orchestrator.database.annotations import NOTHING, Annotation, Annotations
from longhaul.orchestrator.database.filters import Filter
from longhaul.orchestrator.database.work import Wanted
from tests.support.queue import Lab
from tests.support.queue import on_sqlite as on_sqlite
from tests.unit.database.test_lists import RUNS

A, B = "a" * 20, "b" * 20


@pytest.fixture
def annotated(lab: Lab) -> Annotations:
    for key, one in RUNS.items():
        lab.submit(f"e{key[0]}", [Wanted(key, one, {})], "ada", about="")
    words = Annotations(lab.database)
    words.change("ea", "ada", title="Überlast nach 日本", tags=["Night shift", "chile"], comment="first\nsecond")
    words.change(B, None, title="One run", tags=["night shift"])
    return words


def runs(lab: Lab, wanted: Filter) -> str:
    found = {row["id"][0] for row in lab.catalog.page(10, wanted)}
    assert lab.catalog.count(wanted) == len(found)
    return "".join(sorted(found))


def experiments(lab: Lab, wanted: Filter) -> str:
    found = {row["id"] for row in lab.experiments.page(10, wanted)}
    assert lab.experiments.count(wanted) == len(found)
    return " ".join(sorted(found))


@pytest.mark.parametrize(
    ("wanted", "of_runs", "of_experiments"),
    [
        (Filter(tags=("night shift",)), "ab", "ea"),
        (Filter(tags=("NIGHT  shift",)), "ab", "ea"),
        (Filter(text="tag=night-shift"), "ab", "ea"),
        (Filter(tags=("night",)), "", ""),
        (Filter(text="tag=night"), "", ""),
        (Filter(tags=("night shift", "chile")), "a", "ea"),
        # A title is found by parts of its words, in any case and language.
        (Filter(text="ÜBERLAST"), "a", "ea"),
        (Filter(text="日本 nach"), "a", "ea"),
        (Filter(text="one run"), "b", ""),
        (Filter(text="überlast cubic"), "a", "ea"),
        (Filter(text="überlast bbr"), "", ""),
        (Filter(text="%"), "", ""),
        (Filter(text="shift", controls=("bic",)), "b", ""),
    ],
)
def test_lists_find_titles_and_tags(
    lab: Lab, annotated: Annotations, wanted: Filter, of_runs: str, of_experiments: str
) -> None:
    assert runs(lab, wanted) == of_runs
    assert experiments(lab, wanted) == of_experiments


def test_what_is_not_given_stays_and_what_is_empty_goes(lab: Lab, annotated: Annotations) -> None:
    assert annotated.change("ea", "ben", tags=[" x  y ", "", "X Y", "z"]).tags == ("x y", "z")
    assert annotated.of(["ea", "eb", B]) == {
        "ea": Annotation("Überlast nach 日本", ("x y", "z"), "first\nsecond"),
        B: Annotation("One run", ("night shift",)),
    }
    assert runs(lab, Filter(tags=("chile",))) == ""
    assert annotated.change("ea", "ben", title="", tags=[], comment=" ") == NOTHING
    assert annotated.of(["ea"]) == {}
    assert experiments(lab, Filter(text="überlast")) == ""


def test_tags_are_counted_in_their_newest_spelling(annotated: Annotations) -> None:
    assert annotated.tags(10) == [("night shift", 2), ("chile", 1)]
    assert annotated.tags(1) == [("night shift", 2)]


def test_an_annotation_goes_with_its_run_or_experiment(lab: Lab, annotated: Annotations) -> None:
    lab.experiments.cancel("ea")
    lab.experiments.remove("ea")
    for key in (A, B):
        lab.experiments.cancel(f"e{key[0]}")
        lab.catalog.let_go(key)
    assert annotated.of(["ea", B]) == {}
    assert annotated.tags(10) == []

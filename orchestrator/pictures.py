"""The pictures of a published figure as data: over the paper's own axes and in its grouping, what is to be drawn from the runs.

    curves   a measure over a field of the sweep, a curve a value of another one (bars, where the field's values are names)
    groups   bars in groups along a field
    map      a measure of every pair of two fields, beside the published one
    series   a quantity over the time of runs
    cdf      how a measure is distributed over flows and repeats, or the round trips of every ACK

A picture is one of PICTURES, told apart by `kind`; analysis/drawings/ draws each. `breaches` says what does not fit its experiment.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from orchestrator.claims import Part, Selector, check_scope, selects, unselected
from orchestrator.errors import SpecError
from orchestrator.expectation import MEASURES, read_amount
from orchestrator.experiment import Experiment
from orchestrator.fields import Amount, Name
from orchestrator.sweep import expand, point_text, swept_texts

_PUBLISHED = Path(__file__).parent / "published"

Quantity = Literal["cwnd", "goodput", "rtt", "queue"]


class Axis(Part):
    """An axis along which a field of the sweep changes."""

    label: str = Field(description="as the paper has it")
    field: str = Field(description="field of the sweep")


class Measure(Part):
    """What is read from the runs of a point."""

    label: str = Field(description="as the paper has it; rates are drawn in Mbit/s")
    measure: str = Field(description="a measure's name")
    flow: Name | None = Field(None, description="whose, for a measure of a flow")

    @model_validator(mode="after")
    def _measured(self) -> Measure:
        check_scope(self.measure, self.flow)
        return self


class AnyPicture(Part):
    """What every kind of picture has."""

    title: str = Field("", description="what stands above it, where a figure has several")
    experiment: str | None = Field(None, description="whose runs; without it, the figure's first experiment")
    at: Selector = Field(default_factory=dict, description="points that are drawn; without it, all")

    def axes(self) -> dict[str, str | None]:
        """The fields of the sweep that it is drawn over, by where they are written."""
        raise NotImplementedError

    def measures(self) -> dict[str, Measure]:
        """What it reads from every point, by where that is written."""
        return {}

    def flow_names(self) -> dict[str, str]:
        """The flows that it names by themselves, by where they are written."""
        return {}


class Curves(AnyPicture):
    """A measure over a field, a curve a value of another."""

    kind: Literal["curves"]
    x: Axis
    y: Measure
    curves: str | None = Field(None, description="field of the sweep with a curve a value")

    def axes(self) -> dict[str, str | None]:
        return {"x.field": self.x.field, "curves": self.curves}

    def measures(self) -> dict[str, Measure]:
        return {"y": self.y}


class Groups(AnyPicture):
    """Bars in groups: along x the values of a field, in each group a bar a measure, or a bar a value of another field."""

    kind: Literal["groups"]
    x: Axis | None = Field(None, description="without it, one group")
    y: str = Field(description="label of the vertical axis; rates are drawn in Mbit/s")
    bars: list[Measure] = Field(min_length=1, max_length=12, description="the bars of a group")
    split: str | None = Field(None, description="field of the sweep of which each value has such bars in a group")

    @model_validator(mode="after")
    def _of_one_kind(self) -> Groups:
        if len({MEASURES[bar.measure][1] for bar in self.bars}) > 1:
            raise ValueError("bars beside each other need measures of one unit")
        return self

    def axes(self) -> dict[str, str | None]:
        return {"x.field": None if self.x is None else self.x.field, "split": self.split}

    def measures(self) -> dict[str, Measure]:
        return {f"bars.{index}": bar for index, bar in enumerate(self.bars)}


class Map(AnyPicture):
    """A heat map: a measure of every pair of values of two fields."""

    kind: Literal["map"]
    x: Axis
    y: Axis
    cell: Measure
    middle: Amount = Field(
        None, description="value from which the colours go apart; without it, they go from low to high"
    )
    published: str | None = Field(
        None, description="CSV file beside this one: what was published, a line a value of y, in the unit of the cells"
    )

    @model_validator(mode="after")
    def _has_a_middle(self) -> Map:
        if self.middle is not None:
            read_amount(self.cell.measure, self.middle)
        return self

    def axes(self) -> dict[str, str | None]:
        return {"x.field": self.x.field, "y.field": self.y.field}

    def measures(self) -> dict[str, Measure]:
        return {"cell": self.cell}


class OverTime(AnyPicture):
    """A quantity over time, of the first repeat of each point: a line a point and flow, a plot a value of `plots`."""

    kind: Literal["series"]
    quantity: Quantity
    label: str = Field(description="of the vertical axis, as the paper has it")
    flows: list[Name] = Field(default_factory=list, description="whose; without it, of all")
    plots: str | None = Field(None, description="field of the sweep with a plot a value")

    def axes(self) -> dict[str, str | None]:
        return {"plots": self.plots}

    def flow_names(self) -> dict[str, str]:
        return {f"flows.{index}": flow for index, flow in enumerate(self.flows)}


class Cdf(AnyPicture):
    """A distribution, of one value a run (and flow), or of every round trip: a curve a value of a field."""

    kind: Literal["cdf"]
    label: str = Field(description="of the horizontal axis, as the paper has it; rates are drawn in Mbit/s")
    measure: str | None = Field(None, description="a measure's name")
    samples: Literal["rtt"] | None = Field(
        None, description="instead of a measure: the round trip of every ACK in the window"
    )
    flows: list[Name] = Field(default_factory=list, description="whose; without it, of all")
    curves: str | None = Field(None, description="field of the sweep with a curve a value")

    @model_validator(mode="after")
    def _of_something(self) -> Cdf:
        if (self.measure is None) == (self.samples is None):
            raise ValueError("one of `measure` and `samples` is needed")
        if self.measure is not None:
            check_scope(self.measure, self.flows[0] if self.flows or self.of_flows else None)
        return self

    @property
    def of_flows(self) -> bool:
        """Whether each flow has a value of its own."""
        return self.measure is None or MEASURES[self.measure][0] == "flow"

    def axes(self) -> dict[str, str | None]:
        return {"curves": self.curves}

    def flow_names(self) -> dict[str, str]:
        return {f"flows.{index}": flow for index, flow in enumerate(self.flows)}


Picture = Annotated[Curves | Groups | Map | OverTime | Cdf, Field(discriminator="kind")]
PICTURES: Mapping[str, type[AnyPicture]] = {
    "curves": Curves, "groups": Groups, "map": Map, "series": OverTime, "cdf": Cdf
}  # fmt: skip


@cache
def read_matrix(name: str) -> dict[tuple[str, str], float]:
    """The published values of a map by row and column, as its file names them; SpecError."""
    try:
        with (_PUBLISHED / Path(name).name).open(newline="") as file:
            (_, *columns), *lines = csv.reader(file)
        return {
            (row, column): float(cell)
            for row, *cells in lines
            for column, cell in zip(columns, cells, strict=True)
            if cell
        }
    except (OSError, ValueError) as error:
        raise SpecError(name, [f"not a table of numbers with names above and on the left: {error}"]) from error


def short_name(text: str) -> str:
    """A value of a field without the study that it is of, as published tables write it."""
    return text.rpartition("/")[2]


def breaches(picture: Picture, experiment: Experiment) -> Iterator[tuple[str, str]]:
    """What does not fit the experiment: where it is written, and what is wrong."""
    texts = swept_texts(experiment.sweep)
    flows = [flow for written in experiment.flows for flow in written.names]
    for place, field in picture.axes().items():
        if field is not None and field not in texts:
            yield place, f"read {field!r}; allowed: {', '.join(texts) or 'nothing, there is no sweep'}"
    named = {f"{place}.flow": one.flow for place, one in picture.measures().items()} | picture.flow_names()
    for place, flow in named.items():
        if flow is not None and flow not in flows:
            yield place, f"read {flow!r}; allowed: {', '.join(flows)}"
    wrong = list(unselected("at", picture.at, texts))
    yield from wrong
    if not wrong and picture.measures():
        yield from _several(picture, experiment)
    if isinstance(picture, Map) and picture.published is not None:
        yield from _foreign(picture.published, picture, texts)


def _several(picture: Picture, experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Fields that vary although the picture has no place for them."""
    points = [text for point in expand(experiment.sweep) if selects(picture.at, text := point_text(point))]
    drawn = set(picture.axes().values())
    varied: dict[str, set[str]] = {}
    for point in points:
        for field in point.keys() - drawn:
            varied.setdefault(field, set()).add(point[field])
    for field, values in sorted(varied.items()):
        if len(values) > 1:
            yield "at", f"{field} has {len(values)} values that would be drawn on top of each other; select one"


def _foreign(name: str, picture: Map, texts: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Rows and columns of a published table that the sweep does not have."""
    try:
        matrix = read_matrix(name)
    except SpecError as error:
        yield "published", str(error)
        return
    for axis, found in ((picture.y, [row for row, _ in matrix]), (picture.x, [column for _, column in matrix])):
        known = [short_name(text) for text in texts.get(axis.field, ())]
        for one in dict.fromkeys(found):
            if one not in known:
                yield "published", f"{name} has {one!r}; allowed: {', '.join(known)}"

"""The charts of a published figure as data: the measures of runs to draw, over the paper's own axes and in its grouping.

    curves   a measure over a field of the sweep, a curve a value of another one (bars if the field's values are names), with published curves
    groups   bars in groups along a field
    map      a measure of every pair of two fields, next to the published one
    series   a quantity over the time of runs
    cdf      how a measure is distributed over flows and repeats, or the round trips of every ACK

A picture is one of PICTURES, distinguished by `kind`; papers/drawings/ draws each. `breaches` lists what does not fit its experiment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from longhaul.orchestrator.papers.claims import CurveTable, Matrix, Part, Selector, check_scope, selects, unselected
from longhaul.orchestrator.spec.amounts import read_amount
from longhaul.orchestrator.spec.fields import Amount, Name
from longhaul.orchestrator.spec.measures import MEASURES, known_measure
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.sweep import expand, point_texts, swept_texts

Quantity = Literal["cwnd", "goodput", "rtt", "queue"]

_QUANTITY = re.compile(r"([-+0-9.eE]+) ?(.*)")


class Axis(Part):
    """An axis along which a field of the sweep changes."""

    label: str = Field(description="as in the paper")
    field: str = Field(description="field of the sweep")


class Measure(Part):
    """A measure to read from the runs of a point."""

    label: str = Field(description="as in the paper; rates are drawn in Mbit/s")
    measure: str = Field(description="a measure's name")
    flow: Name | None = Field(None, description="the flow, for a measure of a flow")
    phase: Name | None = Field(None, description="one of the experiment's phases; by default the window")

    @model_validator(mode="after")
    def _measured(self) -> Measure:
        check_scope(self.measure, self.flow)
        if self.phase is not None and not MEASURES[self.measure].phased:
            raise ValueError(f"{self.measure} is of the whole run, not of a phase")
        return self


class AnyPicture(Part):
    """The fields of every kind of picture."""

    title: str = Field("", description="its heading, if a figure has several pictures")
    experiment: str | None = Field(None, description="the experiment of its runs; by default the figure's first")
    at: Selector = Field(default_factory=dict, description="points that are drawn; by default all")

    def axes(self) -> dict[str, str | None]:
        """The fields of the sweep on its axes, by their paths."""
        return {}

    def measures(self) -> dict[str, Measure]:
        """The measures that it reads from every point, by their paths."""
        return {}

    def flow_names(self) -> dict[str, str]:
        """The flows that it names itself, by their paths."""
        return {}


class Curves(AnyPicture):
    """A measure over a field, a curve a value of another."""

    kind: Literal["curves"]
    x: Axis
    y: Measure
    curves: str | None = Field(None, description="field of the sweep with a curve a value")
    published: CurveTable | None = Field(None, description="published curves, in the measure's unit, drawn dashed")

    @model_validator(mode="after")
    def _over_one_axis(self) -> Curves:
        if self.published and self.published.rows != self.x.field:
            raise ValueError("rows of `published` must be the field of x")
        return self

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
        if len({MEASURES[bar.measure].quantity for bar in self.bars}) > 1:
            raise ValueError("bars side by side need measures of one unit")
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
    middle: Amount = Field(None, description="middle value of diverging colours; by default they run from low to high")
    published: Matrix | None = Field(None, description="the published values, in the measure's unit, drawn next to it")

    @model_validator(mode="after")
    def _has_a_middle(self) -> Map:
        if self.middle is not None:
            read_amount(self.cell.measure, self.middle)
        if self.published and {self.published.rows, self.published.columns} != {self.x.field, self.y.field}:
            raise ValueError("rows and columns of `published` must be the fields of x and y")
        return self

    def axes(self) -> dict[str, str | None]:
        return {"x.field": self.x.field, "y.field": self.y.field}

    def measures(self) -> dict[str, Measure]:
        return {"cell": self.cell}


class OverTime(AnyPicture):
    """A quantity over time, of the first repeat of each point: a line a point and flow, a plot a value of `plots`."""

    kind: Literal["series"]
    quantity: Quantity
    label: str = Field(description="of the vertical axis, as in the paper")
    flows: list[Name] = Field(default_factory=list, description="the flows drawn; by default all")
    plots: str | None = Field(None, description="field of the sweep with a plot a value")

    def axes(self) -> dict[str, str | None]:
        return {"plots": self.plots}

    def flow_names(self) -> dict[str, str]:
        return {f"flows.{index}": flow for index, flow in enumerate(self.flows)}


class Cdf(AnyPicture):
    """A distribution, of one value a run (and flow), or of every round trip: a curve a value of a field."""

    kind: Literal["cdf"]
    label: str = Field(description="of the horizontal axis, as in the paper; rates are drawn in Mbit/s")
    measure: str | None = Field(None, description="a measure's name")
    samples: Literal["rtt"] | None = Field(
        None, description="instead of a measure: the round trip of every ACK in the window"
    )
    flows: list[Name] = Field(default_factory=list, description="the flows drawn; by default all")
    curves: str | None = Field(None, description="field of the sweep with a curve a value")

    @model_validator(mode="after")
    def _of_something(self) -> Cdf:
        if (self.measure is None) == (self.samples is None):
            raise ValueError("give one of `measure` and `samples`")
        if self.measure is not None:
            known_measure(self.measure)
            if self.flows and MEASURES[self.measure].of not in ("flow", "either"):
                raise ValueError(
                    f"{self.measure} is a measure of the {MEASURES[self.measure].of}: flows are not allowed"
                )
        return self

    @property
    def of_flows(self) -> bool:
        """Whether each flow has its own value."""
        return self.measure is None or bool(self.flows) or MEASURES[self.measure].of == "flow"

    def axes(self) -> dict[str, str | None]:
        return {"curves": self.curves}

    def flow_names(self) -> dict[str, str]:
        return {f"flows.{index}": flow for index, flow in enumerate(self.flows)}


Picture = Annotated[Curves | Groups | Map | OverTime | Cdf, Field(discriminator="kind")]
PICTURES: Mapping[str, type[AnyPicture]] = {
    "curves": Curves, "groups": Groups, "map": Map, "series": OverTime, "cdf": Cdf
}  # fmt: skip


def short_name(text: str) -> str:
    """A value of a field without the name of its study, as published tables write it."""
    return text.rpartition("/")[2]


def numbers(names: Sequence[str]) -> list[float] | None:
    """The values along an axis, if all are numbers of one unit."""
    found = [_QUANTITY.fullmatch(name) for name in names]
    try:
        values = [float(one[1]) for one in found if one]
    except ValueError:
        return None
    return values if len(values) == len(names) and len({one[2] for one in found if one}) == 1 else None


def breaches(picture: Picture, experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Parts that do not fit the experiment: their path, and the error."""
    texts = swept_texts(experiment.sweep)
    flows = [flow for written in experiment.flows for flow in (*written.names, *written.totals)]
    for place, field in picture.axes().items():
        if field is not None and field not in texts:
            yield place, f"read {field!r}; allowed: {', '.join(texts) or 'nothing, as there is no sweep'}"
    named = {f"{place}.flow": one.flow for place, one in picture.measures().items()} | picture.flow_names()
    for place, flow in named.items():
        if flow is not None and flow not in flows:
            yield place, f"read {flow!r}; allowed: {', '.join(flows)}"
    for place, one in picture.measures().items():
        if one.phase is not None and one.phase not in experiment.phases:
            phases = ", ".join(experiment.phases) or "nothing, as there are no phases"
            yield f"{place}.phase", f"read {one.phase!r}; allowed: {phases}"
    wrong = list(unselected("at", picture.at, texts))
    yield from wrong
    if isinstance(picture, Curves) and picture.published and numbers(texts.get(picture.x.field, [])) is None:
        yield (
            "published",
            f"the values of {picture.x.field} are not all numbers of one unit: they make bars, not curves",
        )
    if not wrong and picture.measures():
        yield from _several(picture, experiment)


def _several(picture: Picture, experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Fields that vary although the picture has no axis for them."""
    drawn = [field for field in picture.axes().values() if field is not None]
    places: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for point in expand(experiment.sweep):
        if selects(picture.at, text := point_texts(point)):
            places.setdefault(tuple(text.get(field, "") for field in drawn), []).append(text)
    together = max(places.values(), key=len, default=[])
    for field in together[0] if len(together) > 1 else ():
        if values := {point.get(field, "") for point in together} - {together[0][field]}:
            yield "at", f"{len(values) + 1} values of {field} would overlap; select one"

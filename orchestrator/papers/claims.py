"""Published statements as data: the statement of a paper, its computation from runs, its tolerance, and whether it gates.

A claim is one of CLAIMS, distinguished by `kind`; papers/verdicts.py judges each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from longhaul.orchestrator.spec.amounts import read_amount
from longhaul.orchestrator.spec.fields import Amount, Name, Share
from longhaul.orchestrator.spec.measures import MEASURES, known_measure
from longhaul.orchestrator.spec.sweep import value_text

# Fields of a sweep, and the selected values (as tables show them); other fields may have any.
Selector = dict[str, Any]


class Part(BaseModel):
    """Every part of a published file: no unknown keys, no changes afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


class Contrast(Part):
    """Two values of a field compared repeat by repeat: their difference is judged."""

    field: str = Field(description="field of the sweep")
    of: str = Field(description="the value that counts")
    to: str = Field(description="the value that it is compared with")
    by: Literal["difference", "ratio"] = Field(description="of - to, or of / to")


class AnyClaim(Part):
    """The fields of every kind of claim."""

    name: Name = Field(description="its name in tables")
    grade: Literal["number", "ordering", "curve"] = Field(
        alias="class",
        description="what was published: a stated number, an order, or a curve without numbers",
    )
    words: str = Field(min_length=1, description="the paper's statement, in short")
    published: str = Field(min_length=1, description="the value or order, as tables show it")
    gate: bool = Field(False, description="whether the exit code depends on it")
    why: str = Field("", description="the explanation of a difference; shown only with one")
    experiment: str | None = Field(None, description="the experiment of its runs, if the figure has several")
    measure: str = Field(description="a measure's name")
    flow: Name | None = Field(None, description="the flow, for a measure of a flow")
    phase: Name | None = Field(None, description="one of the experiment's phases; by default the window")
    at: Selector = Field(default_factory=dict, description="points that count; by default all")
    but: Selector = Field(default_factory=dict, description="points of these that do not count")
    contrast: Contrast | None = Field(
        None, description="instead of the measure itself: its difference between two points"
    )

    @model_validator(mode="after")
    def _measured(self) -> AnyClaim:
        check_scope(self.measure, self.flow)
        return self

    def amount(self, written: object) -> float:
        """A bound in the unit of the judged value; ValueError states what is allowed."""
        if self.contrast is None or self.contrast.by == "difference":
            return read_amount(self.measure, written)
        if isinstance(written, bool) or not isinstance(written, int | float):
            raise ValueError("a plain number, as for any ratio")
        return written


class ValueClaim(AnyClaim):
    """The measure has this value at every point: `of` with `within`, or bounds."""

    kind: Literal["value"]
    of: Amount = Field(None, description="the published value")
    within: Share | None = Field(None, description="largest deviation, as a share of `of`")
    at_least: Amount = Field(None, description="lowest value that agrees")
    at_most: Amount = Field(None, description="highest value that agrees")

    @model_validator(mode="after")
    def _bounded(self) -> ValueClaim:
        bounds = [bound for bound in (self.of, self.at_least, self.at_most) if bound is not None]
        if not bounds or (self.of is None) != (self.within is None) or (self.of is not None and len(bounds) > 1):
            raise ValueError("give `of` and `within`, or `at_least` and `at_most`")
        for bound in bounds:
            self.amount(bound)
        return self


class FlatClaim(AnyClaim):
    """The measure hardly changes between the points: (largest - smallest) / mean."""

    kind: Literal["flat"]
    at_most: Share = Field(description="largest spread that agrees")


class ErrorClaim(AnyClaim):
    """The measure equals the point's requested value: |measured - asked| / asked at every point."""

    kind: Literal["error"]
    asked: str = Field(description="field of the sweep with the requested value")
    at_most: Share = Field(description="largest error that agrees")


class TrendClaim(AnyClaim):
    """The measure falls or rises from each point to the next along a field, in the order of the sweep."""

    kind: Literal["trend"]
    along: str = Field(description="field of the sweep")
    direction: Literal["falls", "rises"]
    by: Share = Field(0.0, description="least change from the first to the last point, as a share of the first")
    slack: Share = Field(0.02, description="step in the other direction that still counts as level, as a share")


class OrderingClaim(AnyClaim):
    """An order at every point: values of a field in the order of the measure."""

    kind: Literal["ordering"]
    over: str | list[str] = Field(
        description="field of the sweep whose values are ranked; or fields, whose combined values are, as in reno + cubic"
    )
    best: Literal["highest", "lowest"] = Field("highest", description="which end of the measure is ahead")
    first: list[str] = Field(default_factory=list, description="values ahead of all others, in any order")
    last: list[str] = Field(default_factory=list, description="values behind all others, in any order")
    ranking: list[str] = Field(default_factory=list, description="values from the best to the worst")
    slack: Share = Field(0.0, description="values that differ by up to this share are level, which counts as agreement")
    level: Amount = Field(None, description="the same as a difference in the measure's unit")

    @model_validator(mode="after")
    def _ordered(self) -> OrderingClaim:
        if self.level is not None:
            self.amount(self.level)
        if sum(map(bool, (self.first, self.last, self.ranking))) != 1 or len(self.ranking) == 1:
            raise ValueError("give one of `first`, `last`, or a `ranking` of two or more")
        return self

    @property
    def fields(self) -> list[str]:
        """The fields whose values are ranked."""
        return [self.over] if isinstance(self.over, str) else self.over

    def entrant(self, texts: Mapping[str, str]) -> str:
        """The name of a point in the order."""
        return " + ".join(texts.get(field, "") for field in self.fields)

    def named(self) -> list[str]:
        """The names in the order."""
        return [*self.first, *self.last, *self.ranking]


class Matrix(Part):
    """A published table of pairs: a CSV file next to the published file, with the sweep's values as its header and first column."""

    file: str = Field(pattern=r"^[a-z0-9_]+\.csv$", description="the file's name")
    rows: str = Field(description="field of the sweep whose values name the rows")
    columns: str = Field(description="field of the sweep whose values name the columns")


class CurveTable(Part):
    """Published curves: a CSV file next to the published file, with the names of the curves as its header and a field's values in its first column."""

    file: str = Field(pattern=r"^[a-z0-9_]+\.csv$", description="the file's name")
    rows: str = Field(description="field of the sweep whose values name the rows")


class CurveClaim(AnyClaim):
    """Point by point along a field, the measure follows a published curve."""

    kind: Literal["curve"]
    table: CurveTable = Field(description="the published values, in the measure's unit")
    column: str = Field(description="the name of the curve")
    within: Share = Field(description="a point agrees up to this deviation, as a share of the published value")
    points: Share = Field(description="least share of the points that must agree")


class TableClaim(AnyClaim):
    """Cell by cell, the measure equals a published table."""

    kind: Literal["table"]
    table: Matrix = Field(description="the published values, in the measure's unit")
    beside: Matrix | None = Field(
        None, description="for a share: the other's values; the published value is then table / (table + beside)"
    )
    apart: float = Field(gt=0, description="a cell agrees up to this difference")
    cells: Share = Field(description="least share of the cells that must agree")


class RankClaim(AnyClaim):
    """The measure ranks the points as a published table does: Spearman's correlation, equal values sharing their rank."""

    kind: Literal["rank"]
    table: Matrix = Field(description="the published values")
    step: float = Field(gt=0, description="the rounding step of the published values, applied to the measured ones too")
    at_least: float = Field(ge=-1, le=1, description="lowest correlation that agrees")


Claim = Annotated[
    ValueClaim | FlatClaim | ErrorClaim | TrendClaim | OrderingClaim | CurveClaim | TableClaim | RankClaim,
    Field(discriminator="kind"),
]
CLAIMS: Mapping[str, type[AnyClaim]] = {
    "value": ValueClaim, "flat": FlatClaim, "error": ErrorClaim, "trend": TrendClaim, "ordering": OrderingClaim,
    "curve": CurveClaim, "table": TableClaim, "rank": RankClaim,
}  # fmt: skip


def check_scope(measure: str, flow: str | None) -> None:
    """ValueError unless it is a measure, with a flow exactly if it is a measure of a flow."""
    known_measure(measure)
    scope = MEASURES[measure].of
    if (flow is None) == (scope == "flow") and scope != "either":
        raise ValueError(
            f"{measure} is a measure of the {scope}: a flow is {'needed' if scope == 'flow' else 'not allowed'}"
        )


def selects(selector: Selector, texts: Mapping[str, str]) -> bool:
    """Whether a point, as tables show it, is selected."""
    return all(texts.get(field) in wanted(values) for field, values in selector.items())


def wanted(values: object) -> list[str]:
    """The values of a selector's field as tables show them."""
    return [value_text(value) for value in (values if isinstance(values, list) else [values])]


def unselected(place: str, selector: Selector, known: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """The fields and values of a selector that a sweep does not have: their path, and the error."""
    for field, values in selector.items():
        if field not in known:
            yield place, f"read {field!r}; allowed: {', '.join(known) or 'nothing, as there is no sweep'}"
            continue
        for value in wanted(values):
            if value not in known[field]:
                yield f"{place}.{field}", f"read {value!r}; allowed: {', '.join(known[field])}"

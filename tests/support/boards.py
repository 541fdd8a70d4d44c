"""The committed dashboards as tests read them: their queries, and variables filled in as Grafana does.

The rules of Grafana's Prometheus data source that matter here: a query's step is the time shown divided by the panel's points, at
least the least step of the query or of the data source, rounded to a short list of lengths; `$__rate_interval` is 4 least steps, or
a step and a least step if that is more; `label_values` gets the values of a label over the time shown, `query_result` a result at
its end, of which a regular expression picks a part.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.folders import REPOSITORY

FOLDER = REPOSITORY / "dashboards" / "grafana"
FILES = sorted(FOLDER.glob("*.json"))
PROVISIONED: dict[str, Any] = yaml.safe_load((FOLDER / "provisioning" / "datasources" / "longhaul.yml").read_text())[
    "datasources"
][0]

Json = dict[str, Any]

# Grafana's defaults where a panel sets nothing.
_USUAL_POINTS = 1000
_ROUNDED_MS = (
    (10, 1), (15, 10), (35, 20), (75, 50), (150, 100), (350, 200), (750, 500), (1500, 1000), (3500, 2000), (7500, 5000),
    (12_500, 10_000), (17_500, 15_000), (25_000, 20_000), (45_000, 30_000), (90_000, 60_000), (210_000, 120_000),
    (450_000, 300_000), (750_000, 600_000), (1_050_000, 900_000), (1_500_000, 1_200_000), (2_700_000, 1_800_000),
)  # fmt: skip
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@dataclass(frozen=True)
class Query:
    """A query of a panel, or of a dashboard's marks."""

    board: str
    where: str
    expr: str
    instant: bool = False
    least_step: str = ""
    points: int = _USUAL_POINTS
    legend: str = ""

    def __str__(self) -> str:
        return f"{self.board}: {self.where}: {self.expr}"


def read(file: Path) -> Json:
    """A committed dashboard."""
    board: Json = json.loads(file.read_text())
    return board


def panels(board: Json) -> Iterator[Json]:
    """All panels that are not headings, including those folded under one."""
    for panel in board["panels"]:
        yield from ([panel] if panel["type"] != "row" else panel.get("panels", []))


def panel_queries(board: Json) -> Iterator[Query]:
    """The Prometheus queries of panels."""
    for panel in panels(board):
        for target in panel.get("targets", []):
            yield Query(
                board["uid"],
                f"{panel['title']} {target['refId']}",
                target["expr"],
                bool(target.get("instant")),
                target.get("interval") or panel.get("interval") or "",
                int(panel.get("maxDataPoints") or _USUAL_POINTS),
                target.get("legendFormat", ""),
            )


def marks(board: Json) -> Iterator[Query]:
    """The Prometheus queries of a dashboard's annotations."""
    for one in board.get("annotations", {}).get("list", []):
        if one["datasource"]["type"] == "prometheus":
            yield Query(board["uid"], f"marks {one['name']}", one["expr"], False, one["step"], legend=one["textFormat"])


def variables(board: Json) -> list[Json]:
    """The variables, in order."""
    return list(board.get("templating", {}).get("list", []))


def used_variables(text: str) -> set[str]:
    """Names of the variables in a text, without Grafana's own."""
    names = {first or second for first, second in re.findall(r"\$\{(\w+)(?::\w+)?\}|\$(\w+)", text)}
    return {name for name in names if not name.startswith("__")}


def length_ms(text: str) -> int:
    """A length as Prometheus writes it."""
    match = re.fullmatch(r"(\d+)(ms|[smhd])", text)
    assert match, text
    return int(match[1]) * _UNITS_MS[match[2]]


def rounded_ms(exactly_ms: float) -> int:
    """A step as Grafana rounds it."""
    for below, step in _ROUNDED_MS:
        if exactly_ms < below:
            return step
    return 3_600_000


class Filled:
    """Variables with values, for a shown time range."""

    def __init__(self, values: Mapping[str, str], begin_s: float, end_s: float) -> None:
        self.values = dict(values)
        self.begin_s = begin_s
        self.end_s = end_s

    def step_ms(self, query: Query) -> int:
        """The step of a query."""
        shown_ms = (self.end_s - self.begin_s) * 1000
        exactly = max(shown_ms / query.points, self._least_ms(query))
        return max(rounded_ms(exactly), rounded_ms(shown_ms / 11_000))

    def expr(self, query: Query) -> str:
        """The query as Grafana sends it to Prometheus."""
        step_ms, least_ms = self.step_ms(query), self._least_ms(query)
        own = {
            "__interval": f"{step_ms}ms",
            "__rate_interval": f"{max(step_ms + least_ms, 4 * least_ms)}ms",
            "__range": f"{round(self.end_s - self.begin_s)}s",
        }
        return self.fill(query.expr, own)

    def fill(self, text: str, own: Mapping[str, str] | None = None) -> str:
        """A text with its variables filled in; KeyError for an unknown variable."""
        values = {**self.values, **(own or {"__range": f"{round(self.end_s - self.begin_s)}s"})}
        return re.sub(r"\$\{(\w+)(?::\w+)?\}|\$(\w+)", lambda match: values[match[1] or match[2]], text)

    def _least_ms(self, query: Query) -> int:
        return length_ms(self.fill(query.least_step) if query.least_step else PROVISIONED["jsonData"]["timeInterval"])

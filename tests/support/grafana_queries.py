"""Queries to a real Prometheus as Grafana sends them: variables get their values from it, and panels their series."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from tests.support.boards import Filled, Json, Query, length_ms, rounded_ms, variables

Series = list[dict[str, Any]]


class Reader:
    """One Prometheus."""

    def __init__(self, url: str) -> None:
        self._url = url

    def ask(self, path: str, **parameters: Any) -> Any:
        """The data of a response; AssertionError with its text if it has none."""
        body = urllib.parse.urlencode({name.removesuffix("_"): value for name, value in parameters.items()}).encode()
        try:
            with urllib.request.urlopen(f"{self._url}/api/v1/{path}", data=body, timeout=60) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()}") from error

    def values(self, label: str, match: str, begin_s: float, end_s: float) -> list[str]:
        """`label_values`: of series with samples in that time."""
        query = urllib.parse.urlencode({"match[]": match, "start": begin_s, "end": end_s})
        with urllib.request.urlopen(f"{self._url}/api/v1/label/{label}/values?{query}", timeout=60) as answer:
            found: list[str] = json.load(answer)["data"]
        return found

    def results(self, expr: str, at_s: float) -> list[str]:
        """`query_result`: each result as a line of text."""
        data = self.ask("query", query=expr, time=at_s)
        if data["resultType"] == "scalar":
            return [data["result"][1]]
        return [
            "{" + ",".join(f'{name}="{value}"' for name, value in one["metric"].items()) + "} " + one["value"][1]
            for one in data["result"]
        ]

    def series(self, filled: Filled, query: Query) -> Series:
        """The series that a panel gets: over the time shown in steps, or at its end."""
        expr = filled.expr(query)
        if query.instant:
            return list(self.ask("query", query=expr, time=filled.end_s)["result"])
        step_s = filled.step_ms(query) / 1000
        # Steps are multiples of the step, so that lines do not move between refreshes.
        begin_s = filled.begin_s // step_s * step_s
        return list(
            self.ask("query_range", query=expr, start=f"{begin_s:.3f}", end=filled.end_s, step=step_s)["result"]
        )


def opened(board: Json, prometheus: Reader, begin_s: float, end_s: float, **given: str) -> Filled:
    """A dashboard opened at a time, with some variables given in its address; the others get Grafana's first choice."""
    filled = Filled({}, begin_s, end_s)
    for variable in variables(board):
        name = variable["name"]
        if variable["type"] == "interval":
            least_ms = length_ms(variable["auto_min"])
            filled.values[name] = f"{rounded_ms(max(least_ms, (end_s - begin_s) * 1000 / variable['auto_count']))}ms"
        elif name in given:
            filled.values[name] = given[name]
        elif variable["includeAll"]:
            filled.values[name] = variable["allValue"]
        else:
            filled.values[name] = next(iter(choices(variable, prometheus, filled)), "")
    return filled


def choices(variable: Json, prometheus: Reader, filled: Filled) -> list[str]:
    """The values that a variable can have, in order."""
    text = filled.fill(variable["query"]["query"])
    if found := re.fullmatch(r"query_result\((.*)\)", text):
        lines = prometheus.results(found[1], filled.end_s)
    else:
        found = re.fullmatch(r"label_values\((.*), (\w+)\)", text)
        assert found, text
        lines = prometheus.values(found[2], found[1], filled.begin_s, filled.end_s)
    pattern = (variable.get("regex") or "").strip("/")
    picked = [match[1] for line in lines if (match := re.search(pattern, line))] if pattern else lines
    return sorted(picked)

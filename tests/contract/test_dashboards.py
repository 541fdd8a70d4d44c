"""The dashboards are fresh, Grafana's SDK accepts them, and they use names of the table of metrics."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import promql_parser
import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import units
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.grafana.boards import texts
from longhaul.orchestrator.live import grafana_links
from longhaul.orchestrator.live.metrics import BY_NAME, HISTOGRAM, RUN_METRICS, SERVICE_METRICS, Metric
from tests.support.boards import (
    FILES,
    PROVISIONED,
    Filled,
    Query,
    marks,
    panel_queries,
    panels,
    read,
    used_variables,
    variables,
)

BOARDS = {file.name: read(file) for file in FILES}
UIDS = {board["uid"]: board for board in BOARDS.values()}
GENERATED = texts()

# Prometheus' own metrics, with the labels that dashboards use.
_OF_PROMETHEUS = {"up": ("job", "instance"), "ALERTS": ("alertname", "alertstate")}
# Labels that Prometheus adds to everything that it scrapes.
_SCRAPED = ("instance", "job")
# The fields of annotations that belong to the data source and not to the SDK.
_OF_THE_SOURCE = {"step", "titleFormat", "textFormat", "tagKeys", "useValueForTime"}


def queries(board: Mapping[str, Any]) -> Iterator[Query]:
    """Every query of a dashboard, including those of its variables."""
    yield from panel_queries(dict(board))
    yield from marks(dict(board))
    for variable in variables(dict(board)):
        if variable["type"] != "query":
            continue
        text = variable["query"]["query"]
        where = f"variable {variable['name']}"
        if found := re.fullmatch(r"query_result\((.*)\)", text):
            yield Query(board["uid"], where, found[1], True)
        else:
            found = re.fullmatch(r"label_values\((.*), (\w+)\)", text)
            assert found, text
            yield Query(board["uid"], where, found[1], True, legend=f"{{{{{found[2]}}}}}")


def parsed(one: Query) -> Any:
    names = used_variables(one.expr) | used_variables(one.least_step)
    filled = Filled(dict.fromkeys(names, "1") | {"window": "1s"}, 0, 60)
    return promql_parser.parse(filled.expr(one))


def faults(one: Query, table: Mapping[str, Metric]) -> list[str]:
    """Metrics and labels of a query that are not in a table of metrics."""
    found: list[str] = []
    known: set[str] = set()
    wanted = set(re.findall(r"{{(\w+)}}", one.legend))

    def look(part: Any) -> bool:
        if isinstance(part, promql_parser.VectorSelector):
            labels = labels_of(str(part.name), table)
            if labels is None:
                found.append(f"no metric {part.name}")
            else:
                known.update(labels)
                matched = set(re.findall(r"(\w+)(?:=~|!=|!~|=)\"", str(part.matchers)))
                found.extend(f"{part.name} has no label {label}" for label in sorted(matched - set(labels)))
        if isinstance(part, promql_parser.AggregateExpr) and part.modifier:
            wanted.update(part.modifier.labels)
        if isinstance(part, promql_parser.BinaryExpr) and part.modifier and part.modifier.matching:
            wanted.update(part.modifier.matching.labels)
        return True

    promql_parser.walk(parsed(one), look)
    return found + [f"nothing has a label {label}" for label in sorted(wanted - known)]


def labels_of(name: str, table: Mapping[str, Metric]) -> tuple[str, ...] | None:
    if name in _OF_PROMETHEUS:
        return _OF_PROMETHEUS[name]
    base = re.sub(r"_(bucket|count|sum)$", "", name)
    metric = table.get(name) or (table[base] if base in table and table[base].kind == HISTOGRAM else None)
    if metric is None or (metric.kind == HISTOGRAM) != (metric.name != name):
        return None
    return (
        metric.labels + (_SCRAPED if metric in SERVICE_METRICS else ()) + (("le",) if name.endswith("_bucket") else ())
    )


QUERIES = [one for board in BOARDS.values() for one in queries(board)]


def test_every_dashboard_is_committed() -> None:
    assert set(BOARDS) == set(GENERATED)


@pytest.mark.parametrize("name", GENERATED)
def test_a_dashboard_is_fresh(name: str) -> None:
    assert (Path(FILES[0]).parent / name).read_text() == GENERATED[name], "run `make dashboards`"


@pytest.mark.parametrize("name", BOARDS)
def test_the_sdk_reads_a_dashboard_and_writes_the_same(name: str) -> None:
    register_default_plugins()
    board = BOARDS[name]
    for one in board.get("annotations", {}).get("list", []):
        assert set(one) - _OF_THE_SOURCE <= {
            "name", "datasource", "enable", "hide", "iconColor", "filter", "target", "type", "builtIn", "expr",
        }  # fmt: skip
    again = json.loads(json.dumps(Dashboard.from_json(board), cls=JSONEncoder))
    for one in board.get("annotations", {}).get("list", []):
        for field in _OF_THE_SOURCE:
            one.pop(field, None)
    assert again == board


@pytest.mark.parametrize("one", QUERIES, ids=lambda one: f"{one.board}-{one.where}")
def test_queries_are_promql_and_use_names_of_the_table(one: Query) -> None:
    assert faults(one, BY_NAME) == []


@pytest.mark.parametrize("metric", RUN_METRICS, ids=lambda metric: metric.name)
def test_a_metric_that_is_renamed_on_one_side_is_noticed(metric: Metric) -> None:
    renamed = {name: one for name, one in BY_NAME.items() if name != metric.name}
    users = [one for one in QUERIES if metric.name in re.findall(r"\w+", one.expr)]
    assert users, f"no dashboard shows {metric.name}"
    assert all(f"no metric {metric.name}" in faults(one, renamed) for one in users)


def test_a_label_that_is_not_there_is_noticed() -> None:
    one = Query("x", "x", 'sum by (colour) (longhaul_flow_cwnd_packets{shape="round",run="1"})', legend="{{taste}}")
    assert faults(one, BY_NAME) == [
        "longhaul_flow_cwnd_packets has no label shape",
        "nothing has a label colour",
        "nothing has a label taste",
    ]


@pytest.mark.parametrize("metric", SERVICE_METRICS, ids=lambda metric: metric.name)
def test_a_metric_of_the_service_is_shown(metric: Metric) -> None:
    words = {word for one in QUERIES for word in re.findall(r"\w+", one.expr)}
    assert any(word.startswith(metric.name) for word in words)


def test_uids_are_unique_and_match_links() -> None:
    assert len(UIDS) == len(BOARDS)
    assert set(UIDS) == {value for name, value in vars(grafana_links).items() if name.endswith("_BOARD")}


def test_every_query_goes_to_the_data_source_that_is_provisioned() -> None:
    assert PROVISIONED["uid"] == grafana_links.DATASOURCE_UID

    def sources(part: Any) -> Iterator[Mapping[str, str]]:
        if isinstance(part, dict):
            for key, value in part.items():
                if key == "datasource":
                    yield value
                else:
                    yield from sources(value)
        elif isinstance(part, list):
            for value in part:
                yield from sources(value)

    for board in BOARDS.values():
        found = {(one["type"], one["uid"]) for one in sources(board)}
        assert found <= {("prometheus", PROVISIONED["uid"]), ("grafana", "-- Grafana --")}
        assert all("datasource" in panel for panel in panels(board))


@pytest.mark.parametrize("name", BOARDS)
def test_panels_have_a_place_a_title_and_a_formula(name: str) -> None:
    board = BOARDS[name]
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert all(x < 24 for x, _ in cells), panel["title"]
        taken |= cells
    shown = list(panels(board))
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    assert len({panel["title"] for panel in shown}) == len(shown)
    assert all(panel["description"].endswith(".") for panel in shown)


@pytest.mark.parametrize("points", {one.points for one in QUERIES if not one.instant})
def test_no_shown_time_needs_more_points_than_prometheus_gives(points: int) -> None:
    shown_s = 1.0
    while shown_s < 90 * 86_400:
        step_ms = Filled({}, 0, shown_s).step_ms(Query("", "", "", points=points))
        assert shown_s * 1000 / step_ms <= 11_000
        shown_s *= 1.01


def test_a_minute_is_shown_at_the_resolution_of_the_export() -> None:
    (cwnd,) = [one for one in panel_queries(UIDS[grafana_links.RUN_BOARD]) if one.where == "Congestion window A"]
    assert Filled({}, 0, 60).step_ms(cwnd) == 10


@pytest.mark.parametrize("name", BOARDS)
def test_units_exist_in_grafana(name: str) -> None:
    known = {value for value in vars(units).values() if isinstance(value, str)} | {""}
    for panel in panels(BOARDS[name]):
        config = {"overrides": [], "defaults": {}} | panel.get("fieldConfig", {})
        overridden = [one["value"] for rule in config["overrides"] for one in rule["properties"] if one["id"] == "unit"]
        assert {config["defaults"].get("unit", ""), *overridden} <= known, panel["title"]


@pytest.mark.parametrize("name", BOARDS)
def test_variables_are_there_and_in_order(name: str) -> None:
    board = BOARDS[name]
    defined: set[str] = set()
    for variable in variables(board):
        assert used_variables(json.dumps(variable["query"])) <= defined, variable["name"]
        defined.add(variable["name"])
    rest = {key: value for key, value in board.items() if key != "templating"}
    used = used_variables(json.dumps(rest))
    assert used <= defined
    needed = used | {word for one in variables(board) for word in used_variables(json.dumps(one["query"]))}
    assert needed == defined


@pytest.mark.parametrize("name", BOARDS)
def test_links_lead_to_dashboards_and_their_variables(name: str) -> None:
    for uid, query in re.findall(r"/d/([\w-]+)(?:\?([^\"]*))?\"", (Path(FILES[0]).parent / name).read_text()):
        assert uid in UIDS
        there = {variable["name"] for variable in variables(UIDS[uid])}
        assert set(re.findall(r"var-(\w+)=", query)) <= there, (uid, query)

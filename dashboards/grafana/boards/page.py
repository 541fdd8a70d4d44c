"""Builds a dashboard: its variables, annotations, links and panels, in the order in which they appear."""

from __future__ import annotations

import json
from typing import Any

from grafana_foundation_sdk.builders import dashboard as board
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard

from dashboards.grafana.boards.parts import Marks, dashboard_link
from longhaul.orchestrator.live.grafana_links import COMPARE_BOARD, EXPERIMENT_BOARD, HOSTS_BOARD, LAB_BOARD, RUN_BOARD

# The order of the links between dashboards.
_BOARDS = {
    EXPERIMENT_BOARD: "Experiment",
    RUN_BOARD: "One run",
    COMPARE_BOARD: "Compare",
    LAB_BOARD: "Lab",
    HOSTS_BOARD: "Hosts",
}
_TAG = "longhaul"


class Page:
    """One dashboard. Panels are numbered in order; links to single panels use the numbers."""

    def __init__(
        self, uid: str, title: str, about: str, *, shown: tuple[str, str] = ("now-1h", "now"), live: str = ""
    ) -> None:
        self.uid = uid
        self._panels = 0
        self._board = (
            board.Dashboard(title)
            .uid(uid)
            .description(about)
            .tags([_TAG])
            .timezone("browser")
            .time(*shown)
            .refresh(live)
            .timepicker(board.TimePicker().refresh_intervals(["1s", "5s", "10s", "30s", "1m", "5m"]))
            .tooltip(dashboard.DashboardCursorSync.CROSSHAIR)
            .editable()
        )
        for other, name in _BOARDS.items():
            if other != uid:
                self._board.link(dashboard_link(name, f"/d/{other}", f"The dashboard {name}").icon("dashboard"))

    def variables(self, *variables: Any) -> None:
        """Add variables at the top, in order: each may use those before it."""
        self._board.variables(list(variables))

    def marks(self, *marks: Any) -> None:
        """Add events that are drawn over every panel."""
        self._board.annotations(list(marks))

    def add_link(self, title: str, url: str, about: str, *, keep_time: bool = False) -> None:
        """Add a link at the top."""
        self._board.link(dashboard_link(title, url, about, keep_time=keep_time))

    def row(self, title: str) -> None:
        """Add a heading."""
        self._panels += 1
        self._board.with_row(board.Row(title).id(self._panels))

    def add(self, *panels: Any) -> None:
        """Add panels, from left to right and then from top to bottom."""
        for panel in panels:
            self._panels += 1
            self._board.with_panel(panel.id(self._panels))

    def text(self) -> str:
        """The JSON text that Grafana reads."""
        return json.dumps(self._board.build(), cls=JSONEncoder, indent=1, sort_keys=True) + "\n"


def started(flows: str) -> Marks:
    """Marks when a flow is connected."""
    there = f"longhaul_flow_active{{{flows}}}"
    return Marks(
        "Flow starts", "green", f"{there} unless {there} offset $__interval", "{{flow}} {{cc}} starts", step="100ms"
    )


def stopped(flows: str) -> Marks:
    """Marks when a flow has stopped or completed."""
    there = f"longhaul_flow_active{{{flows}}}"
    return Marks(
        "Flow stops", "blue", f"{there} offset $__interval unless {there}", "{{flow}} {{cc}} stops", step="100ms"
    )


def changed(run: str) -> Marks:
    """Marks scheduled changes of the path and of flows."""
    expr = f"max_over_time(longhaul_run_change_info{{{run}}}[$__interval])"
    return Marks("Changes", "purple", expr, "{{change}}", step="100ms")


def losses(links: str) -> Marks:
    """Marks while a queue drops packets."""
    counter = f"longhaul_link_drops_total{{{links}}}"
    expr = f"({counter} - ({counter} offset $__interval or 0 * {counter})) > 0"
    return Marks("Drops", "red", expr, "{{link}} drops packets", step="100ms")


def annotations_by_longhaul(tag: str) -> Any:
    """Annotations that Longhaul writes to Grafana, if it has a token."""
    target = board.AnnotationTarget().type("tags").tags([_TAG, tag]).match_any(False).limit(200)
    return (
        board.AnnotationQuery()
        .name("Annotations by Longhaul")
        .datasource(dashboard.DataSourceRef(type_val="grafana", uid="-- Grafana --"))
        .enable(True)
        .icon_color("orange")
        .target(target)
    )

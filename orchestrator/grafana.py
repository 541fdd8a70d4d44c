"""Where Grafana shows a run: the names of the dashboards, and the links from a run to its dashboard and back.

The dashboards are made in dashboards/grafana/boards; both sides take these names from here.
"""

from __future__ import annotations

from urllib.parse import quote, urlencode

DATASOURCE_UID = "longhaul-prometheus"

RUN_BOARD = "longhaul-run"
COMPARE_BOARD = "longhaul-compare"
EXPERIMENT_BOARD = "longhaul-experiment"
LAB_BOARD = "longhaul-lab"
HOSTS_BOARD = "longhaul-hosts"

# What a person is sent to who wants to know all of a run: the service's own answer.
_RUN_PAGE = "/api/v1/runs/"


def run_in_grafana(grafana: str, experiment: str, run: str, begin_ms: int, end_ms: int) -> str:
    """The run's dashboard, at its time and with its variables filled in."""
    asked = {"from": begin_ms, "to": end_ms, "var-experiment": experiment, "var-run": run}
    return f"{grafana.rstrip('/')}/d/{RUN_BOARD}?{urlencode(asked)}"


def run_on_service(service: str, run: str) -> str:
    """What the service says of a run."""
    return f"{service.rstrip('/')}{_RUN_PAGE}{quote(run, safe='${}')}"

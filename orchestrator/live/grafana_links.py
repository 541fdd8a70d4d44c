"""Links to views of a run: the names of Grafana's dashboards, links from a run to its dashboard and back, and to the web page.

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

# Paths of the web page's views, below the service's address.
_RUN_VIEW = "/#/runs/"
_EXPERIMENT_VIEW = "/#/experiments/"


def run_in_grafana(grafana: str, experiment: str, run: str, begin_ms: int, end_ms: int) -> str:
    """The run's dashboard, at its time and with its variables filled in."""
    query = {"from": begin_ms, "to": end_ms, "var-experiment": experiment, "var-run": run}
    return f"{grafana.rstrip('/')}/d/{RUN_BOARD}?{urlencode(query)}"


def run_on_service(service: str, run: str) -> str:
    """The web page's view of a run."""
    return f"{service.rstrip('/')}{_RUN_VIEW}{quote(run, safe='${}')}"


def experiment_on_service(service: str, experiment: str) -> str:
    """The web page's view of an experiment."""
    return f"{service.rstrip('/')}{_EXPERIMENT_VIEW}{quote(experiment, safe='')}"

"""The dashboards, by file name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from dashboards.grafana.boards.compare import compare_page
from dashboards.grafana.boards.experiment import experiment_page
from dashboards.grafana.boards.hosts import hosts_page
from dashboards.grafana.boards.lab import lab_page
from dashboards.grafana.boards.page import Page
from dashboards.grafana.boards.run import run_page

FOLDER = Path(__file__).parents[1]

BOARDS: Mapping[str, Callable[[], Page]] = {
    "run.json": run_page,
    "compare.json": compare_page,
    "experiment.json": experiment_page,
    "lab.json": lab_page,
    "hosts.json": hosts_page,
}


def texts() -> Mapping[str, str]:
    """The text of every dashboard by file name."""
    return {name: page().text() for name, page in BOARDS.items()}

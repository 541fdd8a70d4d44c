"""What a link that shares a result may read: its runs or its experiment, the parts of their pages, and nothing else of the lab."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from fastapi import Request

from longhaul.api.schemas.experiments import ROOT
from longhaul.orchestrator.database.access.shares import Shares

_RUN = re.compile(
    rf"{ROOT}/runs/([0-9a-f]{{20}})"
    r"(?:/(?:events|live|series|moments|outline|timelines|distributions|phase|occupancy|states|sequence|report|files(?:/[A-Za-z0-9._-]+)?))?"
)
_EXPERIMENT = re.compile(
    rf"{ROOT}/experiments/([0-9a-f]{{16}})(?:/(?:summary|values|points|importance|point-values|bands|report|junit|events))?"
)
_COMPARISON = f"{ROOT}/comparisons"
_RUNS = f"{ROOT}/runs"
# The names of measures and of fields, and the visitor's own session.
_OF_ALL = {("GET", f"{ROOT}/catalogue"), ("GET", f"{ROOT}/session"), ("DELETE", f"{ROOT}/session")}


def is_shown(request: Request, path: str, shares: Shares, share_id: str) -> bool:
    """Whether a share shows the answer to a request, whose path is that within the service."""
    if (request.method, path) in _OF_ALL:
        return True
    if request.method not in ("GET", "HEAD"):
        return False
    if run := _RUN.fullmatch(path):
        return shares.shows_run(share_id, run[1])
    if experiment := _EXPERIMENT.fullmatch(path):
        return shares.get(share_id).experiment_id == experiment[1]
    if path == _COMPARISON:
        return _are(request, ("a", "b"), lambda key: _shows(shares, share_id, key))
    # The list of the experiment's runs.
    return path == _RUNS and _are(request, ("experiment_id",), lambda key: shares.get(share_id).experiment_id == key)


def _are(request: Request, names: Collection[str], shown: Callable[[str], bool]) -> bool:
    """Whether these parameters are given, and are shown, each as often as it is given."""
    given = [value for name, value in request.query_params.multi_items() if name in names]
    return bool(given) and all(map(shown, given))


def _shows(shares: Shares, share_id: str, key: str) -> bool:
    return shares.get(share_id).experiment_id == key or shares.shows_run(share_id, key)

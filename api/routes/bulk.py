"""One action on all runs that match a filter: the same as one request for each run, with the same rights, refusals and lines of the audit.

A request does some of the runs, the newest first, and returns where the next one continues. So a client sees the progress, and nothing more
happens once it stops or its connection breaks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request

from longhaul.api.auth import Runner
from longhaul.api.dependencies import TheLab
from longhaul.api.http.cursors import OfExperiment, RunFilter, moment, place_of, read_cursor
from longhaul.api.http.request_body import Reading
from longhaul.api.http.responses import ROOT
from longhaul.api.lab import Lab
from longhaul.api.routes import runs
from longhaul.api.schemas.bulk import MOST_NAMED, MOST_RUNS, BulkAction, BulkResult, Refusal
from longhaul.orchestrator.database.access.tokens import Caller
from longhaul.orchestrator.system.errors import LonghaulError, OverLimit

router = APIRouter(route_class=Reading, tags=["runs"])


def _rerun(key: str, lab: Lab, caller: Caller) -> None:
    lab.desk.rerun(key, caller.name, trusted=caller.may("admin"))


# The operation in the audit, and what it does with one run.
_ACTIONS: dict[str, tuple[str, Callable[[str, Lab, Caller], Any]]] = {
    "delete": ("delete_run", runs.delete),
    "pin": ("pin_run", runs.pin),
    "unpin": ("unpin_run", runs.unpin),
    "rerun": ("rerun", _rerun),
}


@router.post("/run-actions", summary="Act on all runs that match", operation_id="act_on_runs")
def act(
    asked: BulkAction,
    lab: TheLab,
    caller: Runner,
    request: Request,
    wanted: RunFilter,
    experiment_id: OfExperiment = None,
) -> BulkResult:
    """Delete, pin, unpin or rerun all runs that match the filter, at most 100 with each request: repeat it with `next` as the `cursor`.

    Each run is treated as by the request for this run alone: another owner's, or one that is pinned, is refused, and the others are not affected.
    """
    until = moment(asked.until)
    if until is not None:
        wanted = replace(wanted, until=until if wanted.until is None else min(until, wanted.until))
    rows = lab.store.catalog.page(MOST_RUNS + 1, wanted, after=read_cursor(asked.cursor), experiment_id=experiment_id)
    operation, action = _ACTIONS[asked.action]
    done, refused = 0, dict[tuple[int, str, str], list[str]]()
    address = request.client.host if request.client else ""
    last = None
    for row in rows[:MOST_RUNS]:
        if row["id"] in asked.without:
            last = row
            continue
        answer = 204
        try:
            action(row["id"], lab, caller)
            done += 1
        except OverLimit:
            # The same for every other run; the caller continues here later.
            if done == 0 and not refused:
                raise
            break
        except LonghaulError as error:
            answer = error.http_status
            refused.setdefault((answer, error.what, error.hint), []).append(row["id"])
        last = row
        lab.access.log(caller.name, address, operation, f"{ROOT}/runs/{row['id']}", answer, request.state.request_id)
    more = last is not None and last is not rows[-1]
    return BulkResult(
        done=done,
        refused=[
            Refusal(status=code, what=what, hint=hint, count=len(ids), runs=ids[:MOST_NAMED])
            for (code, what, hint), ids in refused.items()
        ],
        next=place_of(last) if more and last is not None else None,
    )

"""Runs: what one came to, its files, its events; and once more."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic_core import from_json
from starlette.concurrency import run_in_threadpool

from api.answers import EVENT_STREAM, LIVE, MADE, ROOT, KnownTag, LastEvent, event_stream, not_changed, rendered, tag
from api.auth import Reader, Runner, still_welcome
from api.dependencies import Lab, TheHub, TheLab
from api.following import stream
from api.paging import CursorQuery, LimitQuery, NameQuery, RunFilter, SortQuery, StatusQuery, page, read_cursor
from api.picture_schemas import Outline
from api.reading import Reading
from api.routes.experiments import experiment_document
from api.schemas import Experiment, Run, RunRow, Runs
from api.turns import looks_up, takes_long
from orchestrator.charting import as_outline, run_of
from orchestrator.errors import Conflict, NotAllowed, NotFound
from orchestrator.exporting import grafana_link
from orchestrator.results.ends import KEPT
from orchestrator.results.filters import Filter
from orchestrator.results.tables import RUNS
from orchestrator.run import Run as PlannedRun

router = APIRouter(route_class=Reading, prefix="/runs", tags=["runs"])

Row = dict[str, Any]
_UNTOLD = {*RUNS.c.keys(), "document"} - RunRow.model_fields.keys()
RunId = Annotated[
    str,
    Path(
        alias="id",
        pattern=r"^[0-9a-f]{20}$",
        description="The id of a run: the hash of what determines it.",
        examples=["5d41402abc4b2a769e07"],
    ),
]


@router.get("", summary="List runs", operation_id="list_runs", response_model=Runs)
async def list_runs(
    lab: TheLab,
    caller: Reader,
    wanted: RunFilter,
    limit: LimitQuery = 50,
    cursor: CursorQuery = None,
    sort: SortQuery = "newest",
    experiment: NameQuery = None,
    experiment_id: Annotated[
        str | None,
        Query(pattern=r"^[0-9a-f]{16}$", description="Those of one experiment.", examples=["5d41402abc4b2a76"]),
    ] = None,
    status: StatusQuery = None,
) -> Response:
    """A page of them, without their documents."""
    wanted = replace(wanted, name=experiment, status=status)
    # A search reads as many rows of an index as there are; others are answered at once.
    answer = _SEARCH if wanted.searches else _LOOK_UP
    return await answer(
        lab=lab, wanted=wanted, limit=limit, cursor=cursor, oldest_first=sort == "oldest", experiment_id=experiment_id
    )


def _page(
    lab: Lab, wanted: Filter, limit: int, cursor: str | None, *, oldest_first: bool, experiment_id: str | None
) -> Response:
    rows = lab.store.catalog.page(
        limit + 1, wanted, after=read_cursor(cursor), oldest_first=oldest_first, experiment_id=experiment_id
    )
    return rendered(page(rows, [_row(row) for row in rows], limit))


_SEARCH, _LOOK_UP = takes_long(_page), looks_up(_page)


@router.get("/{id}", summary="Read a run", operation_id="read_run")
def read(key: RunId, lab: TheLab, caller: Reader, response: Response, if_none_match: KnownTag = None) -> Run:
    """What it came to, as `longhaul run --json` prints it, or why it came to nothing."""
    row = find_run(lab, key)
    ended = row["status"] not in LIVE
    grafana = grafana_link(lab.settings, lab.store, row["experiment"], key)
    wanted_by = lab.experiments.wanting(key)
    may_change = (row["measured_by"] or "", row["finished_at"] or "", str(row["pinned"]), *wanted_by)
    known = tag("run", key, *may_change, _placed(row), grafana or "")
    not_changed(known if ended else None, if_none_match, response)
    href = f"{ROOT}/runs/{key}"
    links = {name: f"{href}/{name}" for name in ("events", "live", "series", "files", "rerun")}
    if grafana:
        links["grafana"] = grafana
    return Run(**_row(row), document=row["document"], experiments=wanted_by, links=links)


@router.get(
    "/{id}/events",
    summary="Follow a run",
    operation_id="follow_run",
    response_class=StreamingResponse,
    responses=EVENT_STREAM,
)
async def events(
    key: RunId, lab: TheLab, hub: TheHub, caller: Reader, request: Request, last_event_id: LastEvent = 0
) -> StreamingResponse:
    """Server-sent events about it, from the first or after Last-Event-ID; the stream ends with the run."""
    await run_in_threadpool(find_run, lab, key)

    def about(event: Row) -> bool:
        return bool(event["run_id"] == key)

    def over(event: Row) -> bool:
        return bool(event["kind"] == "run.finished")

    def kept(last: int, limit: int) -> list[Row]:
        return lab.events.of_run(key, last, limit)

    return event_stream(stream(hub, about, kept, last_event_id, over, still_welcome(request, "read")))


@router.post("/{id}/rerun", status_code=201, summary="Run it once more", operation_id="rerun", responses=MADE)
def rerun(key: RunId, lab: TheLab, caller: Runner, response: Response) -> Experiment:
    """Carry a kept run out again from its manifest: `done` if every byte of the trace is the same, `missed` with what differs if not."""
    made = lab.desk.rerun(key, caller.name, trusted=caller.may("admin"))
    response.headers["Location"] = f"{ROOT}/experiments/{made}"
    return experiment_document(lab, lab.experiments.get(made))


@router.put("/{id}/pin", status_code=204, summary="Keep a run for good", operation_id="pin_run")
def pin(key: RunId, lab: TheLab, caller: Runner) -> None:
    """Whatever its age and size, retention leaves it alone."""
    find_run(lab, key)
    lab.store.catalog.pin(key, True)


@router.delete("/{id}/pin", status_code=204, summary="Let a run go with the others", operation_id="unpin_run")
def unpin(key: RunId, lab: TheLab, caller: Runner) -> None:
    """Take the pin away; taking it away twice is no error."""
    find_run(lab, key)
    lab.store.catalog.pin(key, False)


@router.delete(
    "/{id}",
    status_code=204,
    summary="Delete a run",
    operation_id="delete_run",
    responses={409: {"description": "It goes on, is pinned, or belongs to something that does."}},
)
def delete(key: RunId, lab: TheLab, caller: Runner) -> None:
    """Forget a run with its trace. Experiments that had it keep its place; whoever asks for it again has it run again."""
    row = find_run(lab, key)
    if row["owner"] != caller.name and not caller.may("admin"):
        whose = f"it is {row['owner']}'s" if row["owner"] else "it was kept at the command line"
        raise NotAllowed("deleting run", key, whose, "ask them, or an admin")
    if why := lab.store.let_go(key):
        raise Conflict("deleting run", key, why, "take the pin away, cancel the experiment, or set another baseline")


def kept_run_id(lab: Lab, key: str) -> str:
    """The id of a run that has a trace; NotFound says why another has none."""
    if not lab.store.is_kept(key):
        row = find_run(lab, key)
        what = "it keeps no trace" if row["status"] in KEPT else f"it is {row['status']}, and has no trace"
        raise NotFound("reading the trace of run", key, what, "see GET /runs/{id}")
    return key


async def need_trace(lab: Lab, key: str) -> None:
    """NotFound where a run has no trace; the record is asked why only then, and in a thread."""
    if not lab.store.is_kept(key):
        await run_in_threadpool(kept_run_id, lab, key)


def _placed(row: Row) -> str:
    """Where it lies in Prometheus, which may become known later than the rest."""
    return json.dumps((row["document"] or {}).get("prometheus"))


def outline_of(lab: Lab, key: str) -> Outline:
    """What there is to draw of a run; NotFound where it has come to nothing."""
    row = find_run(lab, key)
    if lab.store.is_kept(key):
        run = run_of(lab.store, key)
    elif (wanted := lab.work.wanted(key)) is not None:
        run = PlannedRun.from_json(wanted.run)
    else:
        raise NotFound("outlining run", key, f"it is {row['status']}, and has no trace", "see GET /runs/{id}")
    return Outline(**as_outline(run))


def find_run(lab: Lab, key: str) -> Row:
    """What is recorded of a run; NotFound."""
    row = lab.store.catalog.run(key)
    if row is None:
        raise NotFound("looking for run", key, "there is none with that id, or it was pruned", "see GET /runs")
    return row


def _row(row: Row) -> Row:
    told = {
        **row,
        "controls": row["controls"].split(),
        "href": f"{ROOT}/runs/{row['id']}",
        "point": from_json(row["point"]),
    }
    for name in _UNTOLD:
        told.pop(name, None)
    return told

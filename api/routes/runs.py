"""Runs: results, events, reruns, pins."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import StreamingResponse
from pydantic_core import from_json
from starlette.concurrency import run_in_threadpool

from longhaul.api.auth import Reader, Runner, still_authorised
from longhaul.api.dependencies import TheHub, TheLab
from longhaul.api.http.cursors import (
    LimitQuery,
    OfExperiment,
    OrderQuery,
    PlaceQuery,
    RunFilter,
    SkipQuery,
    TotalQuery,
    page,
    place_cursor,
    read_place,
)
from longhaul.api.http.request_body import Reading
from longhaul.api.http.responses import (
    EVENT_STREAM,
    LIVE,
    MADE,
    ROOT,
    EventStream,
    KnownTag,
    LastEvent,
    not_changed,
    rendered,
    tag,
)
from longhaul.api.http.threads import looks_up, takes_long
from longhaul.api.lab import Lab
from longhaul.api.routes.experiments import experiment_document
from longhaul.api.schemas.experiments import AnnotationChange, Experiment, Run, RunRow, Runs, Verification
from longhaul.api.schemas.pictures import Outline
from longhaul.api.streams.events import stream
from longhaul.orchestrator.analysis.kept_series import as_outline, run_of
from longhaul.orchestrator.database.access.tokens import Caller
from longhaul.orchestrator.database.annotations import NOTHING, Annotation
from longhaul.orchestrator.database.filters import Filter
from longhaul.orchestrator.database.lists.orders import Order, read_order
from longhaul.orchestrator.database.statuses import KEPT
from longhaul.orchestrator.database.tables import RUNS
from longhaul.orchestrator.live.export_run import grafana_link
from longhaul.orchestrator.plan.run import Run as PlannedRun
from longhaul.orchestrator.plan.run_document import RerunVerdict, RunDocument
from longhaul.orchestrator.results.guest_logs import LOG
from longhaul.orchestrator.results.partial_runs import partial_stamp
from longhaul.orchestrator.results.verification import verification
from longhaul.orchestrator.spec.model import Capture
from longhaul.orchestrator.system.errors import Conflict, NotAllowed, NotFound, ResultsError

router = APIRouter(route_class=Reading, prefix="/runs", tags=["runs"])

Row = dict[str, Any]
_UNTOLD = {*RUNS.c.keys(), "document"} - RunRow.model_fields.keys()
_DIGITS = 20
RunId = Annotated[
    str,
    Path(
        alias="id",
        pattern=r"^[0-9a-f]{20}$",
        description="The id of a run: the hash of everything that determines it.",
        examples=["5d41402abc4b2a769e07"],
    ),
]

ReadId = Annotated[
    str,
    Path(
        alias="id",
        pattern=r"^[0-9a-f]{8,20}$",
        description="The id of a run, or its first 8 digits or more if no other run begins with them.",
        examples=["5d41402abc4b2a769e07"],
    ),
]


@router.get("", summary="List runs", operation_id="list_runs", response_model=Runs)
async def list_runs(
    lab: TheLab,
    caller: Reader,
    wanted: RunFilter,
    limit: LimitQuery = 50,
    cursor: PlaceQuery = None,
    skip: SkipQuery = 0,
    sort: OrderQuery = "newest",
    experiment_id: OfExperiment = None,
    total: TotalQuery = False,
) -> Response:
    """A page of runs, without their documents."""
    order = read_order(sort)
    # A search may read all rows of an index, and a jump or a sort does; other filters are fast.
    answer = _SEARCH if wanted.searches or total or experiment_id or skip or order.by else _LOOK_UP
    return await answer(
        lab=lab,
        wanted=wanted,
        limit=limit,
        cursor=cursor,
        order=order,
        experiment_id=experiment_id,
        total=total,
        skip=skip,
    )


def _page(
    lab: Lab,
    wanted: Filter,
    limit: int,
    cursor: str | None,
    *,
    order: Order,
    experiment_id: str | None,
    total: bool,
    skip: int,
) -> Response:
    catalog, place = lab.store.catalog, read_place(cursor)
    matching = catalog.count(wanted, experiment_id=experiment_id) if total else None
    if order.by is None:
        rows = catalog.page(
            limit + 1,
            wanted,
            after=None if place is None else place[1:],
            oldest_first=not order.falls,
            experiment_id=experiment_id,
            skip=skip,
        )
        return rendered(page(rows, _rows(lab, rows), limit, matching))
    found = catalog.ordered(limit + 1, wanted, order, after=place, skip=skip, experiment_id=experiment_id)
    shown = page([row for row, _ in found], _rows(lab, [row for row, _ in found]), limit, matching)
    if shown["next"] is not None:
        shown["next"] = place_cursor(found[limit - 1][1])
    return rendered(shown)


_SEARCH, _LOOK_UP = takes_long(_page), looks_up(_page)


@router.get("/{id}", summary="Read a run", operation_id="read_run")
def read(key: ReadId, lab: TheLab, caller: Reader, response: Response, if_none_match: KnownTag = None) -> Run:
    """The run with its document, as in `longhaul run --json`, or the reason of its failure."""
    row = find_run(lab, key) if len(key) == _DIGITS else find_run(lab, lab.store.catalog.id_beginning(key))
    key = row["id"]
    ended = row["status"] not in LIVE
    grafana = grafana_link(lab.settings, lab.store, row["experiment"], key)
    wanted_by = lab.experiments.wanting(key)
    damage, has_log = _damage(lab, row), lab.store.has_failed_log(key)
    may_change = (row["measured_by"] or "", row["finished_at"] or "", str(row["pinned"]), *wanted_by)
    noted = lab.annotations.of([key])
    columns, comment = _rows(lab, [row], noted)[0], noted.get(key, NOTHING).comment
    may_change += (_placed(row), grafana or "", damage or "", str(has_log), *columns["other_programs"])
    may_change += (columns["title"], *columns["tags"], comment)
    known = tag("run", key, *may_change)
    not_changed(known if ended else None, if_none_match, response)
    href = f"{ROOT}/runs/{key}"
    links = {name: f"{href}/{name}" for name in ("events", "live", "series", "files", "rerun", "packets")}
    if grafana:
        links["grafana"] = grafana
    if has_log:
        links["log"] = f"{href}/files/{LOG}"
    return Run(**columns, comment=comment, document=row["document"], experiments=wanted_by, links=links, damage=damage)


@router.get("/{id}/verification", summary="Verify a run", operation_id="verify_run")
@takes_long
def verify(key: RunId, lab: TheLab, caller: Reader) -> Verification:
    """Read every file of a kept run and compare it with its hash, as `longhaul verify` does.

    An `unsealed` run was kept before files had hashes: it can be read, but may not be whole. To repair a damaged run, run
    `longhaul verify RUN --repair` on the machine of the service, or, if its manifest is damaged, submit its experiment again.
    """
    row = find_run(lab, key)
    if not _keeps_files(row):
        raise NotFound("verifying run", key, f"it is {row['status']} and has no files", "see GET /runs/{id}")
    return Verification(**verification(key, lab.store.states(key)))


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
    """Server-sent events of the run, from the first or after Last-Event-ID; the stream ends with the run."""
    await run_in_threadpool(find_run, lab, key)

    def about(event: Row) -> bool:
        return bool(event["run_id"] == key)

    def over(event: Row) -> bool:
        return bool(event["kind"] == "run.finished")

    def kept(last: int, limit: int) -> list[Row]:
        return lab.events.of_run(key, last, limit)

    return EventStream(stream(hub, about, kept, last_event_id, over, still_authorised(request, "read")), request)


@router.post("/{id}/rerun", status_code=201, summary="Rerun a run", operation_id="rerun", responses=MADE)
def rerun(key: RunId, lab: TheLab, caller: Runner, response: Response) -> Experiment:
    """Run a kept run again from its manifest: `done` if every byte of the trace is the same, otherwise `missed` with what differs."""
    made = lab.desk.rerun(key, caller.name, trusted=caller.may("admin"))
    response.headers["Location"] = f"{ROOT}/experiments/{made}"
    return experiment_document(lab, lab.experiments.get(made))


@router.post(
    "/{id}/packets", status_code=201, summary="Capture packets of a run", operation_id="capture", responses=MADE
)
def capture(key: RunId, asked: Capture, lab: TheLab, caller: Runner, response: Response) -> Experiment:
    """Run a kept run again for its packets, which become its file capture.pcapng.zst; the trace must be the same, as in a rerun."""
    made = lab.desk.capture(key, asked, caller.name, trusted=caller.may("admin"))
    response.headers["Location"] = f"{ROOT}/experiments/{made}"
    return experiment_document(lab, lab.experiments.get(made))


@router.put("/{id}/pin", status_code=204, summary="Pin a run", operation_id="pin_run")
def pin(key: RunId, lab: TheLab, caller: Runner) -> None:
    """Keep a run whatever its age and size. Pinning and unpinning needs a token with the owner's name, or an admin."""
    _check_owner(find_run(lab, key), caller, "pinning run")
    lab.store.catalog.pin(key, True)


@router.delete("/{id}/pin", status_code=204, summary="Unpin a run", operation_id="unpin_run")
def unpin(key: RunId, lab: TheLab, caller: Runner) -> None:
    """Remove the pin; removing it twice is not an error."""
    _check_owner(find_run(lab, key), caller, "unpinning run")
    lab.store.catalog.pin(key, False)


@router.patch("/{id}", status_code=204, summary="Annotate a run", operation_id="annotate_run")
def annotate(key: RunId, wanted: AnnotationChange, lab: TheLab, caller: Runner) -> None:
    """Change its title, tags or comment. The run itself never changes."""
    _check_owner(find_run(lab, key), caller, "annotating run")
    lab.annotations.change(key, caller.name, title=wanted.title, tags=wanted.tags, comment=wanted.comment)


@router.delete(
    "/{id}",
    status_code=204,
    summary="Delete a run",
    operation_id="delete_run",
    responses={
        409: {"description": "It is running or pinned, or belongs to an experiment that is running or a baseline."}
    },
)
def delete(key: RunId, lab: TheLab, caller: Runner) -> None:
    """Delete a run with its trace. Its experiments still list it; if it is needed again, it runs again."""
    _check_owner(find_run(lab, key), caller, "deleting run")
    if why := lab.store.let_go(key):
        raise Conflict("deleting run", key, why, "remove the pin, cancel the experiment, or set another baseline")


def _check_owner(row: Row, caller: Caller, attempting: str) -> None:
    if row["owner"] != caller.name and not caller.may("admin"):
        whose = f"it belongs to {row['owner']}" if row["owner"] else "it was run on the command line"
        raise NotAllowed(attempting, row["id"], whose, "ask the owner or an admin")


def kept_run_id(lab: Lab, key: str, *, whole: bool = True) -> str:
    """The id of the run with this run's trace: for an identical rerun, the run that it repeats. NotFound explains why there is none.

    A cancelled run has a part of its trace, which is enough without `whole`.
    """
    if lab.store.is_kept(key):
        return key
    row = find_run(lab, key)
    if row["status"] == "cancelled" and lab.store.is_partial(key):
        if not whole:
            return key
        hint = "submit its experiment again"
        raise NotFound("measuring run", key, "it was cancelled, and its partial trace is not a result", hint)
    document: RunDocument | None = row["document"]
    again = document.get("rerun") if document else None
    if again and again["identical"] and lab.store.is_kept(again["run"]):
        return again["run"]
    raise NotFound("reading the trace of run", key, *_why_no_trace(row, again))


async def run_with_trace(lab: Lab, key: str, *, whole: bool = False) -> tuple[str, int]:
    """The same, and the number of the part, 0 for the whole trace, since responses about parts must not be cached for the whole.

    The database is read only if the run has no trace, and in a thread.
    """
    if lab.store.is_kept(key):
        return key, 0
    found = await run_in_threadpool(partial(kept_run_id, lab, key, whole=whole))
    return found, partial_stamp(lab.store.home, found) if found == key else 0


def _why_no_trace(row: Row, again: RerunVerdict | None) -> tuple[str, str]:
    """Why a run has no trace, and what to do."""
    if again is None:
        what = "it has no trace" if row["status"] in KEPT else f"it is {row['status']} and has no trace"
        return what, "see GET /runs/{id}"
    if again["identical"]:
        return f"it is identical to run {again['run']}, which was deleted", "submit the experiment again"
    what = f"it repeats run {again['run']} and differs from it, and the trace of a rerun is not kept"
    return what, f"GET /runs/{again['run']} is the kept run"


def _keeps_files(row: Row) -> bool:
    """Whether it has files; a rerun keeps only its verdict."""
    return row["status"] in KEPT and row["trace_sha256"] is not None


def _damage(lab: Lab, row: Row) -> str | None:
    """Damage of its files that can be found without reading traces."""
    try:
        fault = lab.store.fault(row["id"]) if _keeps_files(row) else None
    except ResultsError:
        # The files cannot be read now; they may still be whole.
        return None
    return fault.what if fault else None


def _placed(row: Row) -> str:
    """The link to its samples in Prometheus, which may be known later than the rest."""
    document: RunDocument | None = row["document"]
    return json.dumps(document.get("prometheus") if document else None)


def outline_of(lab: Lab, key: str) -> Outline:
    """The outline of a run; NotFound if it ended without a trace."""
    if not lab.store.is_kept(key) and (wanted := lab.work.wanted(key)) is not None:
        return Outline(**as_outline(PlannedRun.from_json(wanted.run)))
    found = kept_run_id(lab, key, whole=False)
    return Outline(**as_outline(run_of(lab.store, found), lab.store.reached_s(found)))


def find_run(lab: Lab, key: str) -> Row:
    """The database row of a run; NotFound."""
    row = lab.store.catalog.run(key)
    if row is None:
        raise NotFound("looking for run", key, "there is no run with this id, or it was pruned", "see GET /runs")
    return row


def _rows(lab: Lab, rows: Sequence[Row], noted: Mapping[str, Annotation] | None = None) -> list[Row]:
    kept = [row["id"] for row in rows if row["status"] in KEPT and row["trace_sha256"] is not None]
    others = lab.other_programs.of_runs(kept)
    if noted is None:
        noted = lab.annotations.of([row["id"] for row in rows])
    return [_row(lab, row, others.get(row["id"], []), noted.get(row["id"], NOTHING)) for row in rows]


def _row(lab: Lab, row: Row, other_programs: list[str], annotation: Annotation) -> Row:
    shown = {
        **row,
        "title": annotation.title,
        "tags": annotation.tags,
        "other_programs": other_programs,
        "controls": row["controls"].split(),
        "href": f"{ROOT}/runs/{row['id']}",
        "point": from_json(row["point"]),
        "partial": row["status"] == "cancelled" and lab.store.is_partial(row["id"]),
    }
    for name in _UNTOLD:
        shown.pop(name, None)
    return shown

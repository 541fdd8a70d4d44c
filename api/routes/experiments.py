"""Experiments: submit, follow, read, cancel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request, Response
from fastapi.responses import HTMLResponse, StreamingResponse
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool

from longhaul.api.auth import Reader, Runner, still_authorised
from longhaul.api.dependencies import TheHub, TheLab
from longhaul.api.http.cursors import (
    CursorQuery,
    ExperimentFilter,
    LimitQuery,
    NameQuery,
    SkipQuery,
    SortQuery,
    StatusQuery,
    TotalQuery,
    page,
    read_cursor,
)
from longhaul.api.http.reports import report_answer
from longhaul.api.http.request_body import EXPERIMENT_FILE, Reading
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
    streamed,
    tag,
)
from longhaul.api.http.threads import looks_up, takes_long
from longhaul.api.lab import Lab
from longhaul.api.schemas.experiments import (
    AskedFor,
    Experiment,
    ExperimentChange,
    ExperimentRow,
    Experiments,
    Note,
    Progress,
    Result,
)
from longhaul.api.streams.events import stream
from longhaul.orchestrator.analysis.aggregate import Repeats
from longhaul.orchestrator.analysis.report.junit import junit_xml
from longhaul.orchestrator.database.access.tokens import Caller
from longhaul.orchestrator.database.annotations import NOTHING, Annotation
from longhaul.orchestrator.database.filters import Filter
from longhaul.orchestrator.execution.evaluation import each_readable
from longhaul.orchestrator.execution.formulas import measured_by
from longhaul.orchestrator.live.export_run import with_grafana
from longhaul.orchestrator.plan.lint import Note as PlannedNote
from longhaul.orchestrator.plan.lint import one_line
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.system.errors import Conflict, NotAllowed

router = APIRouter(route_class=Reading, prefix="/experiments", tags=["experiments"])

Row = dict[str, Any]
_DIGITS = 16
ExperimentId = Annotated[
    str,
    Path(alias="id", pattern=r"^[0-9a-f]{16}$", description="The id of an experiment.", examples=["5d41402abc4b2a76"]),
]
# Browsers cannot open a report with more traces than this.
_MOST_REPORTED = 50


@router.post(
    "",
    status_code=201,
    summary="Submit an experiment",
    operation_id="submit_experiment",
    responses=MADE,
    openapi_extra=EXPERIMENT_FILE,
)
def submit(
    asked: AskedFor,
    lab: TheLab,
    caller: Runner,
    response: Response,
    idempotency_key: Annotated[
        str | None,
        Header(
            max_length=128,
            pattern=r"^[\x21-\x7e]+$",
            description="A key that prevents a second submission when the request is repeated.",
            examples=["nightly-2031-05-17"],
        ),
    ] = None,
) -> Experiment:
    """Check, compile and queue an experiment. Kept runs are not run again; an experiment with only kept runs is done at once."""
    made = lab.desk.submit(asked.as_request(), caller.name, idempotency_key, trusted=caller.may("admin"))
    response.headers["Location"] = f"{ROOT}/experiments/{made}"
    return experiment_document(lab, lab.experiments.get(made))


@router.get("", summary="List experiments", operation_id="list_experiments", response_model=Experiments)
async def list_experiments(
    lab: TheLab,
    caller: Reader,
    wanted: ExperimentFilter,
    limit: LimitQuery = 50,
    cursor: CursorQuery = None,
    skip: SkipQuery = 0,
    sort: SortQuery = "newest",
    name: NameQuery = None,
    status: StatusQuery = None,
    total: TotalQuery = False,
) -> Response:
    """A page of experiments, without their specs."""
    wanted = replace(wanted, name=name, status=status)
    answer = _SEARCH if wanted.searches or total or skip else _LOOK_UP
    return await answer(
        lab=lab, wanted=wanted, limit=limit, cursor=cursor, oldest_first=sort == "oldest", total=total, skip=skip
    )


def _page(
    lab: Lab, wanted: Filter, limit: int, cursor: str | None, *, oldest_first: bool, total: bool, skip: int
) -> Response:
    rows = lab.experiments.page(limit + 1, wanted, after=read_cursor(cursor), oldest_first=oldest_first, skip=skip)
    matching = lab.experiments.count(wanted) if total else None
    others = lab.other_programs.of_experiments({row["id"]: row["status"] for row in rows})
    noted = lab.annotations.of(list(others))
    return rendered(
        page(
            rows,
            [_row(row, others[row["id"]], noted.get(row["id"], NOTHING)).model_dump() for row in rows],
            limit,
            matching,
        )
    )


_SEARCH, _LOOK_UP = takes_long(_page), looks_up(_page)


@router.get("/{id}", summary="Read an experiment", operation_id="read_experiment")
def read(
    key: Annotated[
        str,
        Path(
            alias="id",
            pattern=r"^[0-9a-f]{8,16}$",
            description="The id of an experiment, or its first 8 digits or more if no other begins with them.",
            examples=["5d41402abc4b2a76"],
        ),
    ],
    lab: TheLab,
    caller: Reader,
) -> Experiment:
    """The submitted experiment, its progress, and links to its runs."""
    whole = key if len(key) == _DIGITS else lab.experiments.id_beginning(key)
    return experiment_document(lab, lab.experiments.get(whole))


@router.post("/{id}/cancel", summary="Cancel an experiment", operation_id="cancel_experiment")
def cancel(key: ExperimentId, lab: TheLab, caller: Runner) -> Experiment:
    """Cancel its unfinished runs, except those that another experiment needs too. Cancelling twice is not an error."""
    _check_owner(lab.experiments.get(key), caller)
    lab.experiments.cancel(key)
    return experiment_document(lab, lab.experiments.get(key))


@router.patch("/{id}", summary="Change an experiment", operation_id="change_experiment")
def change(key: ExperimentId, wanted: ExperimentChange, lab: TheLab, caller: Runner) -> Experiment:
    """Change its title, tags, comment, or its priority while it is not finished.

    Waiting runs come before those of a lower priority; a run that another experiment wants too keeps the higher of both.
    """
    row = lab.experiments.get(key)
    _check_owner(row, caller)
    if wanted.priority is not None and not lab.experiments.give_priority(key, wanted.priority):
        raise Conflict("changing experiment", key, f"it is {row['status']}", "only the runs that wait have an order")
    if (wanted.title, wanted.tags, wanted.comment) != (None, None, None):
        lab.annotations.change(key, caller.name, title=wanted.title, tags=wanted.tags, comment=wanted.comment)
    return experiment_document(lab, lab.experiments.get(key))


@router.delete("/{id}", status_code=204, summary="Delete an experiment", operation_id="delete_experiment")
def delete(key: ExperimentId, lab: TheLab, caller: Runner) -> None:
    """Delete an experiment that has ended. Its runs stay, since others may need them; `longhaul prune` removes them by age."""
    row = lab.experiments.get(key)
    _check_owner(row, caller)
    if row["status"] in LIVE:
        raise Conflict("deleting experiment", key, f"it is {row['status']}", "cancel it first")
    lab.experiments.remove(key)


@router.get(
    "/{id}/summary",
    summary="Read the results of an experiment",
    operation_id="summarise_experiment",
    response_model=Result,
)
@takes_long
def summary(
    key: ExperimentId,
    lab: TheLab,
    caller: Reader,
    response: Response,
    if_none_match: KnownTag = None,
) -> StreamingResponse:
    """The document of `longhaul run --json`: every finished run and the summary over the repeats."""
    row = lab.experiments.get(key)
    not_changed(result_tag(row), if_none_match, response)
    return streamed(_result_text(lab, row), response.headers)


@router.get(
    "/{id}/junit",
    summary="Read an experiment as JUnit",
    operation_id="junit_of_experiment",
    response_class=Response,
    responses={
        200: {
            "content": {"application/xml": {"schema": {"type": "string"}}},
            "description": "A test case for each run.",
        }
    },
)
@takes_long
def junit(
    key: ExperimentId,
    lab: TheLab,
    caller: Reader,
    response: Response,
    if_none_match: KnownTag = None,
) -> Response:
    """The expectations of its finished runs as tests, for any CI system."""
    row = lab.experiments.get(key)
    not_changed(result_tag(row), if_none_match, response)
    result = {"experiment": row["name"], "runs": list(_documents(lab, row))}
    return Response(junit_xml(result), media_type="application/xml", headers=dict(response.headers))


@router.get(
    "/{id}/report",
    summary="Read the report of an experiment",
    operation_id="report_of_experiment",
    responses={409: {"description": "None of its runs has finished, or too many have."}},
    response_class=HTMLResponse,
)
@takes_long
def report(
    key: ExperimentId,
    lab: TheLab,
    caller: Reader,
    response: Response,
    if_none_match: KnownTag = None,
) -> HTMLResponse:
    """A self-contained HTML page: charts, measures, fidelity."""
    row = lab.experiments.get(key)
    not_changed(result_tag(row), if_none_match, response)
    ended = [document["run"] for document in lab.experiments.documents(key) if document["status"] != "failed"]
    # A rerun has ended too, but keeps no trace.
    kept = [run for run in ended if lab.store.is_kept(run)]
    if not kept:
        hint = "try again when a run has finished; reruns keep no trace"
        raise Conflict("reporting experiment", key, "none of its runs has a trace", hint)
    if len(kept) > _MOST_REPORTED:
        hint = "read its summary, or write a report of some runs with `longhaul report`"
        raise Conflict(
            "reporting experiment", key, f"it has {len(kept)} runs, and a report can have {_MOST_REPORTED}", hint
        )
    return report_answer(lab, kept, response.headers)


@router.get(
    "/{id}/events", summary="Follow an experiment", operation_id="follow_experiment", response_class=StreamingResponse,
    responses=EVENT_STREAM,
)  # fmt: skip
async def events(
    key: ExperimentId,
    lab: TheLab,
    hub: TheHub,
    caller: Reader,
    request: Request,
    last_event_id: LastEvent = 0,
) -> StreamingResponse:
    """Server-sent events of the experiment and its runs, from the first or after Last-Event-ID; the stream ends with the experiment."""
    row = await run_in_threadpool(lab.experiments.get, key)
    its_runs = set(await run_in_threadpool(lab.experiments.run_ids, key))

    def about(event: Row) -> bool:
        return bool(event["experiment_id"] == key or event["run_id"] in its_runs) and event["id"] > row["first_event"]

    def over(event: Row) -> bool:
        return bool(event["kind"] == "experiment.finished" and event["experiment_id"] == key)

    def kept(last: int, limit: int) -> list[Row]:
        return lab.events.of_experiment(key, last, limit)

    return EventStream(stream(hub, about, kept, last_event_id, over, still_authorised(request, "read")), request)


def _check_owner(row: Row, caller: Caller) -> None:
    if row["owner"] != caller.name and not caller.may("admin"):
        raise NotAllowed("changing experiment", row["id"], f"it belongs to {row['owner']}", "ask the owner or an admin")


def _row(row: Row, other_programs: list[str], annotation: Annotation) -> ExperimentRow:
    return ExperimentRow(
        title=annotation.title,
        tags=list(annotation.tags),
        other_programs=other_programs,
        href=f"{ROOT}/experiments/{row['id']}",
        progress=Progress(**{name: row[name] for name in Progress.model_fields}),
        controls=row["controls"].split(),
        **{name: row[name] for name in ExperimentRow.model_fields if name in row and name != "controls"},
    )


def experiment_document(lab: Lab, row: Row) -> Experiment:
    """An experiment as a response."""
    href = f"{ROOT}/experiments/{row['id']}"
    others = lab.other_programs.of_experiments({row["id"]: row["status"]})
    noted = lab.annotations.of([row["id"]]).get(row["id"], NOTHING)
    return Experiment(
        **_row(row, others[row["id"]], noted).model_dump(),
        comment=noted.comment,
        spec=row["spec"],
        lint=[one if isinstance(one, str) else one_line(PlannedNote(**one)) for one in row["lint"]],
        notes=[Note(text=one, points=[]) if isinstance(one, str) else Note(**one) for one in row["lint"]],
        asked=row["asked"],
        runs=[f"{ROOT}/runs/{key}" for key in lab.experiments.run_ids(row["id"])],
        links={name: f"{href}/{name}" for name in ("events", "summary", "junit", "report", "cancel")},
    )


def _documents(lab: Lab, row: Row) -> Iterator[RunDocument]:
    return each_readable(lab.experiments.each_document(row["id"]), lab.store)


def _result_text(lab: Lab, row: Row) -> Iterator[bytes]:
    """A Result of any number of runs, which are read and forgotten one after the other."""
    repeats, between = Repeats(), b""
    yield b'{"experiment":' + to_json(row["name"]) + b',"runs":['
    for document in _documents(lab, row):
        if document["status"] != "failed":
            repeats.add(document)
        yield between + to_json(with_grafana(lab.settings, document))
        between = b","
    yield b'],"summary":['
    between = b""
    for found in repeats.summarise(row["aggregate"]):
        yield between + to_json(found)
        between = b","
    yield b"]}"


def result_tag(row: Row, *asked: str) -> str | None:
    """The tag of an ended experiment, which changes only with the formulas; and what of its results was asked for."""
    ended = (row["id"], row["finished_at"] or "", measured_by(), *asked)
    return None if row["status"] in LIVE else tag("experiment", *ended)

"""The lab: the run queue, workers and the state of the service."""

from __future__ import annotations

import platform
import shutil
import time
from functools import lru_cache
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic_core import from_json

from longhaul.api.auth import Reader
from longhaul.api.dependencies import TheHub, TheLab
from longhaul.api.http.request_body import Reading
from longhaul.api.http.responses import ROOT
from longhaul.api.schemas.lab import About, Change, Changes, Disk, Queue, Share, Task, Worker
from longhaul.orchestrator.database import queue_view
from longhaul.orchestrator.database.work import unpacked_run
from longhaul.orchestrator.database.workers import Workers
from longhaul.orchestrator.plan.cost import wall_estimate_s
from longhaul.orchestrator.plan.run import Run

router = APIRouter(route_class=Reading, tags=["lab"])

_BEGUN_S = time.time()


@router.get("/queue", summary="Read the queue", operation_id="read_queue")
def read_queue(
    lab: TheLab,
    caller: Reader,
    limit: Annotated[
        int, Query(ge=1, le=500, description="The most running and the most waiting runs to return.", examples=[20])
    ] = 50,
) -> Queue:
    """Running and waiting runs, each user's share of them, and the workers."""
    now_s = time.time()
    queue = queue_view.read_queue(lab.store.database, now_s, limit)
    return Queue(
        waiting=queue.waiting,
        oldest_s=0.0 if queue.first_s is None else max(0.0, now_s - queue.first_s),
        running=[_task(row) for row in queue.running],
        next=[_task(row) for row in queue.next],
        owners=[Share(**row) for row in queue.owners],
        workers=[
            Worker(**{name: row[name] for name in Worker.model_fields}) for row in Workers(lab.store.database).all()
        ],
    )


@router.get("/changes", summary="Read changes", operation_id="read_changes")
def read_changes(
    lab: TheLab,
    caller: Reader,
    after: Annotated[
        int | None, Query(ge=0, le=2**62, description="The `last` of the previous response.", examples=[0])
    ] = None,
    limit: Annotated[int, Query(ge=1, le=500, description="The most changes to return.", examples=[20])] = 200,
) -> Changes:
    """Changes of experiments and runs, without their progress; without `after`, only the position to begin at.

    A cheap request for lists that show the current status, instead of reading the list repeatedly.
    """
    if after is None:
        return Changes(last=lab.events.newest(), items=[])
    rows = lab.events.changes(after, limit)
    return Changes(
        last=rows[-1]["id"] if rows else after,
        items=[
            Change(
                id=row["id"],
                at=row["at"],
                kind=row["kind"],
                experiment=row["experiment_id"],
                run=row["run_id"],
                data=row["data"],
            )
            for row in rows
        ],
    )


@router.get("/about", summary="Read about the service", operation_id="read_about")
def read_about(lab: TheLab, hub: TheHub, caller: Reader) -> About:
    """The service's version, connections, totals and free disk space."""
    settings, counts, export = lab.settings, lab.counts.all(), lab.counts.export()
    disk = shutil.disk_usage(settings.home)
    return About(
        version=version("longhaul"),
        python=platform.python_version(),
        since_s=_BEGUN_S,
        database="postgresql" if lab.store.database.file is None else "sqlite",
        executor="dask" if settings.dask else "slots",
        jobs=settings.jobs,
        user_code=settings.user_code,
        grafana=settings.grafana.url if settings.grafana else None,
        prometheus=settings.prometheus is not None,
        export_lag_s=export.lag_s,
        spool_bytes=export.spool_bytes,
        runs=lab.store.catalog.by_status(),
        experiments=lab.experiments.by_status(),
        virtual_s=counts.get("virtual_s", 0.0),
        wall_s=counts.get("wall_s", 0.0),
        guest_deaths=int(counts.get("guest_deaths", 0)),
        followers=hub.followers,
        disk=Disk(free_bytes=disk.free, total_bytes=disk.total),
    )


@lru_cache(maxsize=4096)
def _estimate_s(run_id: str, packed: bytes) -> float | None:
    try:
        return round(wall_estimate_s(Run.from_json(unpacked_run(packed))), 3)
    except ValueError:
        # Queued by a version with another format of plans.
        return None


def _task(row: dict[str, Any]) -> Task:
    return Task(
        run=row["run_id"],
        href=f"{ROOT}/runs/{row['run_id']}",
        point=from_json(row["point"]),
        controls=row["controls"].split(),
        by=row["claimed_by"],
        wall_estimate_s=_estimate_s(row["run_id"], row["packed"]),
        **{name: row[name] for name in Task.model_fields.keys() & row.keys() - {"point", "controls"}},
    )

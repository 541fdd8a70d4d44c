"""Baselines: what experiments of a name are compared with, one for each branch of whatever is under test."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from api.auth import Reader, Runner
from api.dependencies import TheLab
from api.reading import Reading
from api.schemas import Baseline, NewBaseline
from orchestrator.errors import Conflict, NotFound
from orchestrator.results.ends import KEPT

router = APIRouter(route_class=Reading, prefix="/baselines", tags=["baselines"])

Name = Annotated[
    str, Path(pattern=r"^[a-z0-9][a-z0-9-]{0,127}$", description="The name of an experiment.", examples=["quick"])
]
# What git takes for the name of a branch, slashes too.
Branch = Annotated[
    str,
    Path(
        pattern=r"^[^\x00-\x20\x7f~^:?*\[\\]{1,128}$",
        description="A branch, as in main or feature/pacing.",
        examples=["main"],
    ),
]


@router.get("", summary="List baselines", operation_id="list_baselines")
def list_baselines(lab: TheLab, caller: Reader) -> list[Baseline]:
    """All of them, by name and branch."""
    return [Baseline(**row) for row in lab.experiments.baselines()]


@router.get("/{name}/{branch:path}", summary="Read a baseline", operation_id="read_baseline")
def read(name: Name, branch: Branch, lab: TheLab, caller: Reader) -> Baseline:
    """What experiments of that name are compared with on that branch."""
    row = lab.experiments.baseline(name, branch)
    if row is None:
        raise NotFound(
            "looking for the baseline of", f"{name} on {branch}", "none was set", "set one with `longhaul baseline set`"
        )
    return Baseline(**row)


@router.put("/{name}/{branch:path}", summary="Set a baseline", operation_id="set_baseline")
def set_baseline(name: Name, branch: Branch, asked: NewBaseline, lab: TheLab, caller: Runner) -> Baseline:
    """From now on it is this experiment, which has ended well enough to compare with. `longhaul prune` leaves its runs alone."""
    experiment = lab.experiments.get(asked.experiment_id)
    setting = "setting the baseline of", f"{name} on {branch}"
    if experiment["name"] != name:
        raise Conflict(*setting, f"{asked.experiment_id} is called {experiment['name']}", "give one of that name")
    if experiment["status"] not in KEPT:
        what = f"{asked.experiment_id} is {experiment['status']}"
        raise Conflict(*setting, what, "give one whose runs all have numbers: done or missed")
    lab.experiments.set_baseline(name, branch, asked.experiment_id, caller.name)
    return read(name, branch, lab, caller)

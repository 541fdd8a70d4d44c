"""Baselines: what experiments of a name are compared with, one for each branch of whatever is under test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path

from longhaul.api.auth import Reader, Runner
from longhaul.api.dependencies import TheLab
from longhaul.api.http.request_body import Reading
from longhaul.api.lab import Lab
from longhaul.api.schemas.experiments import Baseline, NewBaseline
from longhaul.orchestrator.database.access import Caller
from longhaul.orchestrator.database.outcomes import KEPT
from longhaul.orchestrator.system.errors import Conflict, NotAllowed, NotFound

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
    return _told(lab, lab.experiments.baselines())


@router.get("/{name}/{branch:path}", summary="Read a baseline", operation_id="read_baseline")
def read(name: Name, branch: Branch, lab: TheLab, caller: Reader) -> Baseline:
    """What experiments of that name are compared with on that branch."""
    row = lab.experiments.baseline(name, branch)
    if row is None:
        raise NotFound(
            "looking for the baseline of", f"{name} on {branch}", "none was set", "set one with `longhaul baseline set`"
        )
    return _told(lab, [row])[0]


@router.put("/{name}/{branch:path}", summary="Set a baseline", operation_id="set_baseline")
def set_baseline(name: Name, branch: Branch, asked: NewBaseline, lab: TheLab, caller: Runner) -> Baseline:
    """From now on it is this experiment, which has ended well enough to compare with. `longhaul prune` leaves its runs alone.

    Of a branch that gates (LONGHAUL_GATED_BRANCHES, `main` by default) it is set by a token of scope `gate` or `admin`; of any other
    branch by whoever set it before, or by an admin.
    """
    _hold_to_right(name, branch, lab, caller)
    experiment = lab.experiments.get(asked.experiment_id)
    setting = "setting the baseline of", f"{name} on {branch}"
    if experiment["name"] != name:
        raise Conflict(*setting, f"{asked.experiment_id} is called {experiment['name']}", "give one of that name")
    if experiment["status"] not in KEPT:
        what = f"{asked.experiment_id} is {experiment['status']}"
        raise Conflict(*setting, what, "give one whose runs all have numbers: done or missed")
    lab.experiments.set_baseline(name, branch, asked.experiment_id, caller.name)
    return read(name, branch, lab, caller)


def _told(lab: Lab, rows: Sequence[dict[str, Any]]) -> list[Baseline]:
    # Only what has ended well is one, and its runs stay.
    others = lab.other_programs.of_experiments({row["experiment_id"]: KEPT[0] for row in rows})
    return [Baseline(**row, other_programs=others[row["experiment_id"]]) for row in rows]


def _hold_to_right(name: str, branch: str, lab: Lab, caller: Caller) -> None:
    """A baseline decides which changes pass: of a branch that gates it is a right, of another it is its setter's."""
    setting = "setting the baseline of", f"{name} on {branch}"
    if branch in lab.settings.gated_branches:
        if not caller.may("gate"):
            what = f"{branch} gates, which needs the scope gate, and {caller.name}'s token has {caller.scope}"
            raise NotAllowed(*setting, what, "ask whoever runs this lab for a token of scope gate")
        return
    known = lab.experiments.baseline(name, branch)
    if known is not None and known["set_by"] != caller.name and not caller.may("admin"):
        raise NotAllowed(*setting, f"{known['set_by']} has set it", "ask them, or an admin, or take another branch")

"""Baselines: the experiments with which later ones of the same name are compared, one for each branch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path

from longhaul.api.auth import Reader, Runner
from longhaul.api.dependencies import TheLab
from longhaul.api.http.request_body import Reading
from longhaul.api.lab import Lab
from longhaul.api.schemas.experiments import Baseline, NewBaseline
from longhaul.orchestrator.database.access.tokens import Caller
from longhaul.orchestrator.database.statuses import KEPT
from longhaul.orchestrator.system.errors import Conflict, NotAllowed, NotFound

router = APIRouter(route_class=Reading, prefix="/baselines", tags=["baselines"])

Name = Annotated[
    str, Path(pattern=r"^[a-z0-9][a-z0-9-]{0,127}$", description="The name of an experiment.", examples=["quick"])
]
# Names of branches as in git, with slashes.
Branch = Annotated[
    str,
    Path(
        pattern=r"^[^\x00-\x20\x7f~^:?*\[\\]{1,128}$",
        description="A branch, such as main or feature/pacing.",
        examples=["main"],
    ),
]


@router.get("", summary="List baselines", operation_id="list_baselines")
def list_baselines(lab: TheLab, caller: Reader) -> list[Baseline]:
    """List all baselines by name and branch."""
    return _as_baselines(lab, lab.experiments.baselines())


@router.get("/{name}/{branch:path}", summary="Read a baseline", operation_id="read_baseline")
def read(name: Name, branch: Branch, lab: TheLab, caller: Reader) -> Baseline:
    """Read the baseline of an experiment's name on a branch."""
    row = lab.experiments.baseline(name, branch)
    if row is None:
        raise NotFound(
            "looking for the baseline of", f"{name} on {branch}", "none is set", "set one with `longhaul baseline set`"
        )
    return _as_baselines(lab, [row])[0]


@router.put("/{name}/{branch:path}", summary="Set a baseline", operation_id="set_baseline")
def set_baseline(name: Name, branch: Branch, asked: NewBaseline, lab: TheLab, caller: Runner) -> Baseline:
    """Make an experiment the baseline; all its runs must be `done` or `missed`. `longhaul prune` keeps its runs.

    A gated branch (LONGHAUL_GATED_BRANCHES, `main` by default) requires a token of scope `gate` or `admin`. On any other branch, a baseline
    can be replaced by the user who set it or by an admin.
    """
    _check_right(name, branch, lab, caller)
    experiment = lab.experiments.get(asked.experiment_id)
    setting = "setting the baseline of", f"{name} on {branch}"
    if experiment["name"] != name:
        raise Conflict(
            *setting, f"{asked.experiment_id} has the name {experiment['name']}", "give an experiment of this name"
        )
    if experiment["status"] not in KEPT:
        what = f"{asked.experiment_id} is {experiment['status']}"
        raise Conflict(*setting, what, "give an experiment that is done or missed")
    lab.experiments.set_baseline(name, branch, asked.experiment_id, caller.name)
    return read(name, branch, lab, caller)


def _as_baselines(lab: Lab, rows: Sequence[dict[str, Any]]) -> list[Baseline]:
    # A baseline has ended well, and its runs are kept.
    others = lab.other_programs.of_experiments({row["experiment_id"]: KEPT[0] for row in rows})
    return [Baseline(**row, other_programs=others[row["experiment_id"]]) for row in rows]


def _check_right(name: str, branch: str, lab: Lab, caller: Caller) -> None:
    """Gated branches need a scope, since a baseline decides which changes pass; on others, only its setter may replace it."""
    setting = "setting the baseline of", f"{name} on {branch}"
    if branch in lab.settings.gated_branches:
        if not caller.may("gate"):
            what = f"{branch} is gated, which needs the scope gate, and the token of {caller.name} has {caller.scope}"
            raise NotAllowed(*setting, what, "ask the lab's operator for a token of scope gate")
        return
    known = lab.experiments.baseline(name, branch)
    if known is not None and known["set_by"] != caller.name and not caller.may("admin"):
        raise NotAllowed(*setting, f"{known['set_by']} set it", "ask them or an admin, or use another branch")

"""Congestion controls: the kernels that they are built for, and their trials; and user-supplied modules, whose sources admins
send once. Experiments name them by the hash of their content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from longhaul.api.auth import Admin, Reader, Runner
from longhaul.api.dependencies import TheLab
from longhaul.api.http.request_body import Reading
from longhaul.api.http.responses import MADE, ROOT
from longhaul.api.routes.experiments import experiment_document
from longhaul.api.schemas.experiments import Experiment
from longhaul.api.schemas.lab import Module, Trial
from longhaul.api.schemas.modules import ModuleFiles, OwnModule
from longhaul.orchestrator.execution.catalogues import modules
from longhaul.orchestrator.kernels.build import built_modules, find_kernels, known_kernels
from longhaul.orchestrator.modules.content import reference
from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS
from longhaul.orchestrator.spec.trial import trial_name, trial_of
from longhaul.orchestrator.system.errors import NotFound

router = APIRouter(route_class=Reading, prefix="/modules", tags=["modules"])

Source = Annotated[
    str,
    Path(
        pattern=r"^[0-9a-f]{32}$",
        description="The hash of the sources.",
        examples=["43830b29c07922a36eb6dbbf48f8b285"],
    ),
]


@router.get("", summary="List modules", operation_id="list_modules")
def list_modules(lab: TheLab, caller: Reader) -> list[Module]:
    """Every congestion control with its parameters, the kernels that it is built for, and its last trial here."""
    by_control = {row["cc"]: row for row in modules()}
    tried = lab.experiments.newest_named([trial_name(name) for name in by_control])
    return [
        Module(
            **by_control[row["cc"]], **{name: row[name] for name in row if name != "cc"}, trial=_trial(tried, row["cc"])
        )
        for row in built_modules(lab.settings)
    ]


@router.post("/{name}/trial", status_code=201, summary="Try a module", operation_id="try_module", responses=MADE)
def try_module(
    name: Annotated[
        str, Path(pattern=r"^[a-z][a-z0-9_]{0,30}$", description="A congestion control.", examples=["htcp"])
    ],
    lab: TheLab,
    caller: Runner,
    response: Response,
    kernel: Annotated[
        str | None,
        Query(max_length=32, description="The kernel; the default kernel if none is given.", examples=["6.12"]),
    ] = None,
) -> Experiment:
    """Submit a short experiment that loads the module, drops some packets and changes the path; `done` means that it works."""
    if name not in CONGESTION_CONTROLS:
        known = f"known: {', '.join(CONGESTION_CONTROLS)}"
        raise NotFound("trying module", name, "there is no congestion control of this name", known)
    if kernel is not None:
        find_kernels(lab.settings, kernel)
    trial = trial_of(name, kernel or known_kernels()[0])
    made = lab.desk.queue_internal(trial, {"trial_of": name}, caller.name)
    response.headers["Location"] = f"{ROOT}/experiments/{made}"
    return experiment_document(lab, lab.experiments.get(made))


@router.get("/{source}", summary="Read a user-supplied module", operation_id="read_module")
def read(source: Source, lab: TheLab, caller: Admin) -> OwnModule:
    """Check whether the service has a module, before sending it."""
    return OwnModule(source=source, stored=lab.desk.has(source), reference=reference(source))


@router.put("/{source}", summary="Send a module", operation_id="send_module")
def send(source: Source, sent: ModuleFiles, lab: TheLab, caller: Admin, response: Response) -> OwnModule:
    """Store the sources of a module. Nothing is built or run before an experiment uses it; sending it twice changes nothing."""
    if not lab.desk.has(source):
        response.status_code = 201
    lab.desk.admit(source, sent.files)
    return OwnModule(source=source, stored=True, reference=reference(source))


def _trial(tried: Mapping[str, dict[str, Any]], name: str) -> Trial | None:
    row = tried.get(trial_name(name))
    if row is None:
        return None
    return Trial(experiment=f"{ROOT}/experiments/{row['id']}", status=row["status"], created_at=row["created_at"])

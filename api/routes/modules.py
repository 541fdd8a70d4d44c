"""Modules of one's own: sources that admins send, each once, to be named in experiments by the hash of their content."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from api.auth import Admin
from api.dependencies import TheLab
from api.reading import Reading
from api.schemas import ModuleFiles, OwnModule
from orchestrator.own_modules import reference

router = APIRouter(route_class=Reading, prefix="/modules", tags=["modules"])

Source = Annotated[
    str,
    Path(
        pattern=r"^[0-9a-f]{32}$",
        description="The hash of the content, as own_modules.py makes it.",
        examples=["3837a6c3d9901167b9c7bcc85370ca33"],
    ),
]


@router.get("/{source}", summary="Whether a module was sent", operation_id="read_module")
def read(source: Source, lab: TheLab, caller: Admin) -> OwnModule:
    """Who has something to send asks first."""
    return OwnModule(source=source, stored=lab.desk.has(source), reference=reference(source))


@router.put("/{source}", summary="Send a module", operation_id="send_module")
def send(source: Source, sent: ModuleFiles, lab: TheLab, caller: Admin, response: Response) -> OwnModule:
    """Keep its sources. Nothing is built or run before an experiment asks for it; sending twice changes nothing."""
    if not lab.desk.has(source):
        response.status_code = 201
    lab.desk.admit(source, sent.files)
    return OwnModule(source=source, stored=True, reference=reference(source))

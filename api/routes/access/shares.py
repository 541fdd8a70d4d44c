"""Links that share a result: anyone with the link reads it in the web page or over REST, until it expires or is revoked."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from longhaul.api.auth import Door, Runner
from longhaul.api.dependencies import TheLab
from longhaul.api.http.request_body import Reading
from longhaul.api.http.responses import MADE, ROOT
from longhaul.api.schemas.access import NewShare, ShareLink, ShownShareLink
from longhaul.orchestrator.database.access import shares
from longhaul.orchestrator.system.errors import NotAllowed

router = APIRouter(route_class=Reading, prefix="/shares", tags=["access"])

_MADE: dict[int | str, dict[str, Any]] = {**MADE, 404: {"description": "What is to be shared does not exist."}}


@router.get("", summary="List shares", operation_id="list_shares")
def list_shares(lab: TheLab, caller: Runner) -> list[ShareLink]:
    """The caller's shares, for admins all, without secrets; the newest first."""
    return [ShareLink(**_fields(one)) for one in lab.shares.of(None if caller.may("admin") else caller.name)]


@router.post("", status_code=201, summary="Share a result", operation_id="make_share", responses=_MADE)
def make_share(asked: NewShare, lab: TheLab, caller: Runner, response: Response) -> ShownShareLink:
    """Make a link that reads one run, a comparison of runs or an experiment with its runs; only this response contains it."""
    token, share = lab.shares.add(
        caller.name, asked.days * shares.DAY_S, runs=asked.runs, experiment_id=asked.experiment_id
    )
    response.headers["Location"] = f"{ROOT}/shares/{share.id}"
    return ShownShareLink(token=token, link=lab.settings.login_link(token, share.view), **_fields(share))


@router.delete("/{share}", summary="Revoke a share", operation_id="revoke_share")
def revoke_share(
    share: Annotated[str, Path(pattern=r"^[0-9a-f]{12}$", description="The share's id.", examples=["5d41402abc4b"])],
    lab: TheLab,
    caller: Runner,
    request: Request,
) -> ShareLink:
    """End a link and every page that it has opened; its owner and admins may."""
    owner = lab.shares.get(share).owner
    if not caller.may("admin") and owner != caller.name:
        raise NotAllowed("revoking share", share, f"it belongs to {owner}", "ask its owner or an admin")
    ended = lab.shares.revoke(share)
    door: Door = request.app.state.door
    door.forget()
    return ShareLink(**_fields(ended))


def _fields(share: shares.Share) -> dict[str, object]:
    return {**asdict(share), "view": share.view}

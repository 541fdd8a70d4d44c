"""Kernels of guests: what each consists of, and those that admins send, as patches for a version or as an archive.

The patches are applied before the response, so that a refusal names its file and hunk; the build follows in the background
(orchestrator/execution/kernel_builder.py).
"""

from __future__ import annotations

import contextlib
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from longhaul.api.auth import Admin, Reader
from longhaul.api.dependencies import TheLab
from longhaul.api.http.request_body import Reading, file_body, require_octets, write_body
from longhaul.api.http.responses import MADE, ROOT
from longhaul.api.http.threads import in_long_thread
from longhaul.api.lab import Lab
from longhaul.api.redaction import Outward
from longhaul.api.schemas.kernels import (
    FILE_NAME,
    SHA256,
    Kernel,
    KernelArchive,
    KernelBuild,
    KernelError,
    KernelPatch,
    KernelSource,
    NewKernel,
)
from longhaul.orchestrator.kernels import named_kernels, sent_kernels
from longhaul.orchestrator.kernels.build import built_kernels, find_kernels, known_kernels
from longhaul.orchestrator.kernels.named_kernels import NamedKernel, Source
from longhaul.orchestrator.kernels.sent_kernels import SentBuild
from longhaul.orchestrator.system.errors import NotFound, PlanError

router = APIRouter(route_class=Reading, tags=["kernels"])

_FULL: dict[int | str, dict[str, Any]] = {507: {"description": "The disk of the service has too little space."}}
_SENT: dict[int | str, dict[str, Any]] = {
    409: {"description": "The name is in use."},
    422: {"description": "A patch does not apply, the base is unknown, or no archive with this hash was sent."},
    **_FULL,
}
_ARCHIVE = file_body("linux-6.12.57.tar.xz")

KernelName = Annotated[
    str,
    Path(
        pattern=r"^[a-z0-9][a-z0-9._-]{0,39}$",
        description="A version of kernel.lock, or the name of a kernel.",
        examples=["6.12"],
    ),
]


@router.get("/kernels", summary="List kernels", operation_id="list_kernels")
def list_kernels(lab: TheLab, caller: Reader) -> list[Kernel]:
    """The kernels of guests, what those with a name consist of, and which of them are built here."""
    builds = {one.name: one for one in sent_kernels.builds(lab.settings)}
    rows = built_kernels(lab.settings)
    known = {row["version"] for row in rows}
    found = []
    for row in rows:
        # It may be deleted meanwhile.
        with contextlib.suppress(NotFound):
            found.append(_kernel(lab, row, builds.get(row["version"])))
    return found + [_failed(lab, one) for name, one in builds.items() if name not in known]


@router.get("/kernels/{name}", summary="Read a kernel", operation_id="read_kernel")
def read(name: KernelName, lab: TheLab, caller: Reader) -> Kernel:
    """What a kernel consists of, and the state of its build if an admin sent it."""
    record = sent_kernels.read(lab.settings, name)
    try:
        (row,) = find_kernels(lab.settings, name)
    except NotFound:
        if record is None:
            raise
        return _failed(lab, record)
    return _kernel(lab, row, record)


@router.post(
    "/kernel-archives",
    status_code=201,
    summary="Send an archive of a kernel's source",
    operation_id="send_kernel_archive",
    openapi_extra=_ARCHIVE,
    responses={409: {"description": "The request conflicts with the current state."}, **_FULL},
)
async def send_archive(
    request: Request,
    lab: TheLab,
    caller: Admin,
    name: Annotated[
        str,
        Query(pattern=FILE_NAME, description="The name of its file, for errors.", examples=["linux-6.12.57.tar.xz"]),
    ] = "archive",
    sha256: Annotated[
        str | None,
        Query(
            pattern=SHA256,
            description="The SHA-256 that it must have.",
            examples=["4b4f29b2cb3b7e2f1c4d1c0d6a1ac3a3c5e6b9c6a0f8b2b9f1a1c7d4b2e0f3a5"],
        ),
    ] = None,
) -> KernelArchive:
    """Send a tar archive of Linux, plain or compressed by xz, gzip, bzip2 or zstd. It is unpacked and checked, and a kernel may then name its SHA-256."""
    settings = lab.settings
    sent_kernels.require_user_code(settings, name)
    require_octets(request)
    with sent_kernels.receiving(settings, name) as (file, path):
        count = await write_body(request, file)
        found, release = await in_long_thread(sent_kernels.keep_archive, settings, path, name, sha256 or "")
    return KernelArchive(sha256=found, release=release, bytes=count)


@router.post(
    "/kernels", status_code=201, summary="Send a kernel", operation_id="send_kernel", responses={**_SENT, **MADE}
)
def send(sent: NewKernel, lab: TheLab, caller: Admin, response: Response) -> Kernel:
    """Give a name to a version or a sent archive with patches and lines of configuration, and queue its build, which is confined."""
    settings, name = lab.settings, sent.name
    sent_kernels.require_user_code(settings, name)
    if (sent.base is None) == (sent.archive is None):
        given = "both are given" if sent.base else "neither is given"
        raise PlanError(
            "adding the kernel", name, f"its source is a base or an archive, and {given}", "give one of them"
        )
    if sent.archive is not None:
        source = Source("archive", sent.archive.name, sha256=sent.archive.sha256)
    else:
        source = Source("version", sent.base or "")
    patches = [(patch.name, patch.text) for patch in sent.patches]
    sent_kernels.submit(settings, name, source, patches, sent.config, caller.name, known_kernels())
    response.headers["Location"] = f"{ROOT}/kernels/{name}"
    return read(name, lab, caller)


@router.delete(
    "/kernels/{name}",
    status_code=204,
    summary="Delete a kernel",
    operation_id="delete_kernel",
    responses={409: {"description": "It is a version of kernel.lock, or was added on the machine of the service."}},
)
def delete(name: KernelName, lab: TheLab, caller: Admin) -> None:
    """Delete a kernel that an admin sent, or end its build. Kept runs stay, and `longhaul rerun --original` on the machine of the service still runs them on it."""
    sent_kernels.remove(lab.settings, name, known_kernels())


def _kernel(lab: Lab, row: dict[str, Any], record: SentBuild | None) -> Kernel:
    found = Kernel(
        version=row["version"],
        built=row["built"],
        parts=row["parts"],
        release=row.get("kernelrelease"),
        hash=row.get("hash"),
    )
    if not row["parts"]:
        return found
    return _with_parts(lab, found, named_kernels.find(lab.settings, row["version"]), record)


def _failed(lab: Lab, record: SentBuild) -> Kernel:
    """A kernel whose build failed: only its record is left."""
    kernel = named_kernels.kernel_of(record.parts)
    found = Kernel(version=record.name, built=False, parts=[*kernel.lines()], release=None, hash=None)
    return _with_parts(lab, found, kernel, record)


def _with_parts(lab: Lab, found: Kernel, kernel: NamedKernel, record: SentBuild | None) -> Kernel:
    source = kernel.source
    return found.model_copy(
        update={
            "origin": "admin" if kernel.sent else "machine",
            "source": KernelSource(
                kind=source.kind, about=source.describe(), sha256=source.sha256, commit=source.commit
            ),
            "patches": [
                KernelPatch(name=one.name, sha256=one.sha256, offsets=list(one.offsets)) for one in kernel.patches
            ],
            "config": list(kernel.config),
            "build": record and _build(lab, record),
        }
    )


def _build(lab: Lab, record: SentBuild) -> KernelBuild:
    fields = {name: getattr(record, name) for name in KernelBuild.model_fields.keys() - {"error"}}
    if record.error is None:
        return KernelBuild(**fields, error=None)
    text = Outward(lab).text
    return KernelBuild(**fields, error=KernelError(**{name: text(str(part)) for name, part in record.error.items()}))

"""The sources of user-supplied modules: upload of folders and archives, their texts, builds for each kernel, differences and trials.

Only admins see and send them, and only where the operator allows user-supplied code. Every build is confined.
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import PlainTextResponse

from longhaul.api.auth import Admin
from longhaul.api.dependencies import TheLab
from longhaul.api.http.request_body import Reading, file_body, require_octets
from longhaul.api.http.responses import MADE, ROOT
from longhaul.api.http.threads import in_long_thread, takes_long
from longhaul.api.lab import Lab
from longhaul.api.schemas.modules import ModuleBuild, ModuleFiles, ModuleSource, ModuleSourceText, ModuleTrial
from longhaul.orchestrator.execution import module_library
from longhaul.orchestrator.kernels.build import find_kernels
from longhaul.orchestrator.modules.content import reference
from longhaul.orchestrator.spec.trial import trial_of
from longhaul.orchestrator.system.errors import PlanError

router = APIRouter(route_class=Reading, tags=["modules"])

_ARCHIVE = file_body("mymodule.tar.xz")
Source = Annotated[
    str,
    Path(
        pattern=r"^[0-9a-f]{32}$",
        description="The hash of a source.",
        examples=["43830b29c07922a36eb6dbbf48f8b285"],
    ),
]
KernelName = Annotated[
    str, Path(pattern=r"^[a-z0-9][a-z0-9._-]{0,39}$", description="A kernel of the service.", examples=["6.12"])
]


@router.get("/module-sources", summary="List sources of modules", operation_id="list_module_sources")
def list_sources(
    lab: TheLab,
    caller: Admin,
    limit: Annotated[int, Query(ge=1, le=1000, description="The most to return.", examples=[100])] = 100,
) -> list[ModuleSource]:
    """The newest sources that were sent, the newest first. Those that register a control of one name are its versions."""
    return [ModuleSource(**_fields(one)) for one in module_library.kept_sources(lab.settings, limit)]


@router.post(
    "/module-sources",
    status_code=201,
    summary="Send a source of modules",
    operation_id="send_module_source",
    responses=MADE,
)
def send(sent: ModuleFiles, lab: TheLab, caller: Admin, response: Response) -> ModuleSource:
    """Keep the files of a folder. Nothing is built before its builds are asked for or an experiment uses it; sending it twice changes nothing."""
    lab.desk.require_user_code("receiving module", "a folder")
    return _answer(lab, module_library.keep_files(lab.settings, sent.files), response)


@router.post(
    "/module-archives",
    status_code=201,
    summary="Send an archive of a module's source",
    operation_id="send_module_archive",
    openapi_extra=_ARCHIVE,
    responses=MADE,
)
async def send_archive(
    request: Request,
    lab: TheLab,
    caller: Admin,
    response: Response,
    name: Annotated[
        str,
        Query(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}[.](tar|tar[.]gz|tgz|tar[.]xz|txz|tar[.]bz2|tbz2|zip)$",
            description="The name of its file, whose ending says what it is.",
            examples=["mymodule.tar.xz"],
        ),
    ],
) -> ModuleSource:
    """Keep the source in an archive, as `longhaul run` reads one."""
    lab.desk.require_user_code("receiving module", name)
    require_octets(request)
    body = bytearray()
    async for piece in request.stream():
        body += piece
    return _answer(lab, await in_long_thread(_keep, lab, name, bytes(body)), response)


@router.get("/module-sources/{source}", summary="Read a source of modules", operation_id="read_module_source")
def read(source: Source, lab: TheLab, caller: Admin) -> ModuleSourceText:
    """A source with its texts."""
    kept = module_library.kept_source(lab.settings, source)
    return ModuleSourceText(**_fields(kept), texts=module_library.read_texts(lab.settings, source))


@router.get(
    "/module-sources/{source}/builds/{kernel}", summary="Build a source of modules", operation_id="build_module_source"
)
@takes_long
def build(source: Source, kernel: KernelName, lab: TheLab, caller: Admin) -> list[ModuleBuild]:
    """Its modules for a kernel, each built by itself, and the messages of the compiler. The first request takes as long as the compiler."""
    lab.desk.require_user_code("building module", source)
    find_kernels(lab.settings, kernel)
    found = module_library.build_kept(lab.settings, source, kernel)
    return [
        ModuleBuild(
            module=one.name,
            controls=[*one.controls],
            built=not one.error,
            problem=one.problem,
            needs_room=one.needs_room,
            log=found.log(one.name),
        )
        for one in found.modules
    ]


@router.get(
    "/module-sources/{source}/diff/{other}",
    summary="Compare two sources of modules",
    operation_id="compare_module_sources",
    response_class=PlainTextResponse,
)
def compare(source: Source, other: Source, lab: TheLab, caller: Admin) -> PlainTextResponse:
    """The difference from the first to the second, as a patch."""
    return PlainTextResponse(module_library.difference(lab.settings, source, other))


@router.post(
    "/module-sources/{source}/trials/{kernel}",
    status_code=201,
    summary="Try the controls of a source",
    operation_id="try_module_source",
)
@takes_long
def try_source(source: Source, kernel: KernelName, lab: TheLab, caller: Admin) -> list[ModuleTrial]:
    """Submit a short experiment for each control that is built for a kernel: it loads the module, drops some packets and changes the path."""
    lab.desk.require_user_code("trying module", source)
    find_kernels(lab.settings, kernel)
    found = module_library.build_kept(lab.settings, source, kernel)
    names = [name for module in found.modules if not module.error or module.needs_room for name in module.controls]
    if not names:
        problem = next((one.problem for one in found.modules), "its source has no control")
        raise PlanError("trying module", f"{source} on {kernel}", problem, "repair the source")
    made = []
    for name in names:
        trial = trial_of(name, kernel, [reference(source)])
        made.append((name, lab.desk.queue_internal(trial, {"trial_of": name, "source": source}, caller.name)))
    return [ModuleTrial(cc=name, kernel=kernel, experiment=f"{ROOT}/experiments/{one}") for name, one in made]


def _keep(lab: Lab, name: str, body: bytes) -> str:
    with tempfile.TemporaryDirectory(prefix="longhaul-") as folder:
        archive = FilePath(folder, name)
        archive.write_bytes(body)
        return module_library.keep_archive(lab.settings, archive)


def _answer(lab: Lab, source: str, response: Response) -> ModuleSource:
    response.headers["Location"] = f"{ROOT}/module-sources/{source}"
    return ModuleSource(**_fields(module_library.kept_source(lab.settings, source)))


def _fields(one: module_library.KeptSource) -> dict[str, Any]:
    return {**asdict(one), "reference": reference(one.source)}

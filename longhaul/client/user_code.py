"""The calls of the client about code that users bring: sources of modules, and kernels. All but reading kernels need the scope admin."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from pydantic import BaseModel, TypeAdapter, ValidationError

from longhaul.api.schemas.experiments import ROOT
from longhaul.api.schemas.kernels import Kernel, KernelArchive, NewKernel, NewPatch, SentArchive
from longhaul.api.schemas.modules import ModuleBuild, ModuleSource, ModuleTrial, OwnModule
from longhaul.client.connection import Connection
from longhaul.orchestrator.spec.kernel_versions import KERNEL_NAME_RULE
from longhaul.orchestrator.system.errors import BackendError, PlanError, error_of_parts

_Model = TypeVar("_Model", bound=BaseModel)

_LOOK_S = 1.0
# The first kernel of a service unpacks all of Linux before its patches are applied, minutes on a busy machine.
_READING_LINUX_S = 3600.0


class UserCode:
    """Calls on one connection."""

    _connection: Connection

    def knows_module(self, source: str) -> bool:
        """Whether the service has the module with this hash."""
        return self._read(OwnModule, f"/modules/{source}").stored

    def send_module(self, source: str, files: Mapping[str, str]) -> OwnModule:
        """Send the sources of a module, file name -> text, under their hash; needs the scope admin."""
        answer = self._connection.ask("PUT", f"{ROOT}/modules/{source}", json={"files": dict(files)})
        return OwnModule.model_validate_json(answer.content, extra="ignore")

    def module_sources(self) -> list[ModuleSource]:
        """The newest sources of modules that the service keeps; needs the scope admin, like all about them."""
        return TypeAdapter(list[ModuleSource]).validate_json(
            self._connection.ask("GET", f"{ROOT}/module-sources").content, extra="ignore"
        )

    def send_module_source(self, place: str) -> ModuleSource:
        """Send a folder, an archive or a git repository, named as in `modules`; the service keeps it under its hash."""
        # A client that sends nothing needs nothing that reads sources.
        from longhaul.orchestrator.spec.user_code.module_sources import read_sources

        answer = self._connection.ask("POST", f"{ROOT}/module-sources", json={"files": read_sources(place)[1]})
        return ModuleSource.model_validate_json(answer.content, extra="ignore")

    def build_module_source(self, source: str, kernel: str) -> list[ModuleBuild]:
        """The modules of a source for a kernel, each with its controls, or why it is not built, and the compiler's messages."""
        return TypeAdapter(list[ModuleBuild]).validate_json(
            self._connection.ask("GET", f"{ROOT}/module-sources/{source}/builds/{quote(kernel, safe='')}").content,
            extra="ignore",
        )

    def try_module_source(self, source: str, kernel: str) -> list[ModuleTrial]:
        """Submit a trial of each control of a source on a kernel; each has the path of its experiment."""
        return TypeAdapter(list[ModuleTrial]).validate_json(
            self._connection.ask("POST", f"{ROOT}/module-sources/{source}/trials/{quote(kernel, safe='')}").content,
            extra="ignore",
        )

    def kernels(self) -> list[Kernel]:
        """The kernels of the service, what those with a name consist of, and the state of their builds."""
        return TypeAdapter(list[Kernel]).validate_json(
            self._connection.ask("GET", f"{ROOT}/kernels").content, extra="ignore"
        )

    def kernel(self, name: str) -> Kernel:
        """A kernel by its name; NotFound if there is none."""
        return self._read(Kernel, f"/kernels/{quote(name, safe='')}")

    def send_kernel(
        self,
        name: str,
        *,
        base: str | None = None,
        archive: Path | None = None,
        sha256: str | None = None,
        patches: Sequence[Path] = (),
        config: Sequence[str] = (),
    ) -> Kernel:
        """Send a kernel with a name: a version or the file of an archive, patches and lines of configuration; needs the scope admin.

        The service then builds it; `wait_for_kernel` waits for the end."""
        sent = None
        if archive is not None:
            found = self.send_kernel_archive(archive, sha256)
            sent = SentArchive(name=_file_name(archive), sha256=found.sha256)
        texts = [NewPatch(name=_file_name(patch), text=_text(patch)) for patch in patches]
        try:
            asked = NewKernel(name=name, base=base, archive=sent, patches=texts, config=list(config))
        except ValidationError as error:
            first = error.errors()[0]
            if first["loc"] == ("name",):
                raise PlanError("adding the kernel", name, KERNEL_NAME_RULE, "choose another name") from None
            what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            raise PlanError("sending the kernel", name, what, "see docs/own-kernels.md") from error
        answer = self._connection.ask(
            "POST", f"{ROOT}/kernels", repeatable=False, json=asked.model_dump(), longest_s=_READING_LINUX_S
        )
        return Kernel.model_validate_json(answer.content, extra="ignore")

    def send_kernel_archive(self, archive: Path, sha256: str | None = None) -> KernelArchive:
        """Send the file of an archive of Linux; needs the scope admin."""
        query = {"name": _file_name(archive), **({"sha256": sha256} if sha256 else {})}
        try:
            with archive.open("rb") as file:
                # A file object has its length, so that one above the limit is refused before it is sent.
                answer = self._connection.ask(
                    "POST",
                    f"{ROOT}/kernel-archives",
                    repeatable=False,
                    longest_s=_READING_LINUX_S,
                    params=query,
                    content=file,
                    headers={"Content-Type": "application/octet-stream"},
                )
        except OSError as error:
            what = error.strerror or str(error)
            raise PlanError("sending the archive", str(archive), what, "name a tar archive of Linux") from error
        return KernelArchive.model_validate_json(answer.content, extra="ignore")

    def wait_for_kernel(self, name: str, on_step: Callable[[str], None] = lambda step: None) -> Kernel:
        """The kernel when its build has ended; `on_step` is called with each step. The error of a build that failed is raised."""
        last = ""
        while True:
            found = self.kernel(name)
            build = found.build
            if build is None or build.status == "done":
                return found
            if build.error is not None:
                parts = build.error
                kind = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in parts.error)
                known = error_of_parts(kind.strip("-"), parts.attempting, parts.subject, parts.what, parts.hint)
                raise known or BackendError(parts.attempting, parts.subject, parts.what, parts.hint)
            if (step := build.step or build.status) != last:
                on_step(step)
                last = step
            time.sleep(_LOOK_S)

    def delete_kernel(self, name: str) -> None:
        """Delete a kernel that was sent, or end its build; needs the scope admin."""
        self._connection.ask("DELETE", f"{ROOT}/kernels/{quote(name, safe='')}")

    def _read(self, model: type[_Model], path: str) -> _Model:
        return model.model_validate_json(self._connection.ask("GET", ROOT + path).content, extra="ignore")


def _file_name(file: Path) -> str:
    """The name of a file as the service takes it."""
    return re.sub(r"[^A-Za-z0-9._+@ -]", "_", file.name).lstrip("._+@ -")[:120] or "file"


def _text(patch: Path) -> str:
    try:
        text = patch.read_bytes().decode()
    except OSError as error:
        raise PlanError(
            "sending the patch", str(patch), error.strerror or str(error), "name a file of a patch"
        ) from error
    except UnicodeDecodeError:
        hint = "send an archive with it instead"
        raise PlanError("sending the patch", str(patch), "it is not UTF-8 text", hint) from None
    if not text.strip():
        raise PlanError("sending the patch", str(patch), "the file is empty", "name a file of a patch")
    return text

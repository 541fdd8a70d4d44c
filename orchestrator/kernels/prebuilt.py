"""The kernel, modules and agent of the release, taken out of wheels instead of being built.

    PREFIX/share/longhaul/prebuilt/kernels/<hash>/  modules/<hash>/  agent/     in an installed wheel, or in a wheel's file
        --> $LONGHAUL_CACHE/kernels/<hash>  modules/<hash>  current-<version>, as kmod/sandbox/build.sh names them, and AGENT

A part is used only if release.lock pins it, if it was built from this installation's sources, and if each file's content has the pinned
hash. It appears in the cache whole, by rename, under the lock of build.sh. The current links move from an older release to this one; a
kernel that the user built from source stays the current one until `longhaul kernel build` makes the release's current again.
The release's kernel has no headers (`tree/`): building modules against it needs `longhaul kernel build --from source`.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from longhaul.orchestrator.kernels.release_lock import (
    AGENT_PART,
    Part,
    Release,
    kernel_inputs,
    modules_inputs,
    read_release,
    write_part,
)
from longhaul.orchestrator.system.errors import BackendError, PlanError, refusal, remedy
from longhaul.orchestrator.system.installation import AGENT, FILES, IS_CHECKOUT, PREBUILT, agent_inputs
from longhaul.orchestrator.system.locks import locked, making
from longhaul.orchestrator.system.settings import Settings

# Where parts are in a wheel's file.
_IN_WHEEL = ".data/data/share/longhaul/prebuilt/"
_ATTEMPT = "installing the release's"


class Parts(Protocol):
    """A place with parts of a release; `name` is for messages."""

    name: str

    def has(self, path: str) -> bool:
        """Whether it has that file."""

    def read(self, path: str) -> bytes:
        """The content of that file."""


class FolderParts:
    """Parts in a folder."""

    def __init__(self, folder: Path) -> None:
        self.name = str(folder)
        self._folder = folder

    def has(self, path: str) -> bool:
        return (self._folder / path).is_file()

    def read(self, path: str) -> bytes:
        return (self._folder / path).read_bytes()


class WheelParts:
    """Parts in a wheel's file."""

    def __init__(self, wheel: Path) -> None:
        self.name = str(wheel)
        try:
            self._archive = zipfile.ZipFile(wheel)
        except (OSError, zipfile.BadZipFile) as error:
            what = error.strerror if isinstance(error, OSError) and error.strerror else "it is not a wheel"
            raise PlanError(
                "reading wheel", self.name, what, "name a file longhaul-*.whl or longhaul_kernel_*.whl"
            ) from error
        names = self._archive.namelist()
        self._members = {name.partition(_IN_WHEEL)[2]: name for name in names if _IN_WHEEL in name}

    def has(self, path: str) -> bool:
        return path in self._members

    def read(self, path: str) -> bytes:
        try:
            return self._archive.read(self._members[path])
        except zipfile.BadZipFile as error:
            raise BackendError(_ATTEMPT, path, f"{self.name} is damaged: {error}", "download it again") from error


def provide_kernel(settings: Settings, version: str) -> None:
    """Install the release's kernel and modules from this installation, if it has them and the user has built no other."""
    if not settings.prebuilt or not PREBUILT.is_dir():
        return
    release, parts = read_release(), FolderParts(PREBUILT)
    if offers_kernel(parts, release, version) and _may_point(settings, release, version):
        install_kernel(settings, version, parts)


def provide_agent(settings: Settings) -> None:
    """Install the release's agent from this installation, if it has one."""
    if settings.prebuilt and not AGENT.is_file() and PREBUILT.is_dir():
        install_agent(FolderParts(PREBUILT))


def find_parts(version: str) -> Parts | None:
    """The first place near this installation that has the release's kernel of that version; a checkout has them in build/ or dist/."""
    release = read_release()
    places: list[Parts] = [FolderParts(PREBUILT)]
    if IS_CHECKOUT:
        places += [FolderParts(FILES / "build/parts"), *map(WheelParts, sorted((FILES / "dist").glob("*.whl")))]
    return next((parts for parts in places if offers_kernel(parts, release, version)), None)


def offers_kernel(parts: Parts, release: Release, version: str) -> bool:
    """Whether a place has the release's kernel of that version."""
    kernel = release.kernels.get(version)
    return kernel is not None and parts.has(f"{kernel.folder}/linux")


def install_kernel(settings: Settings, version: str, parts: Parts) -> Path:
    """The folder of the release's kernel in the cache, installed with its modules if they are missing there, and made current."""
    release = read_release()
    kernel, modules = release.kernels[version], release.modules[version]
    if kernel.inputs != kernel_inputs(version) or modules.inputs != modules_inputs():
        what = "the sources in kmod/ are not those that release.lock pins"
        hint = f"build it with `longhaul kernel build {version} --from source`"
        raise BackendError(_ATTEMPT, f"kernel {version}", what, hint)
    try:
        with _held(settings, kernel):
            for part in (kernel, modules):
                _install(settings.cache, part, release, parts, version)
            point(settings.kernel(version), Path(kernel.folder).name)
            point(settings.modules(version), Path(modules.folder).name)
            _remember(settings, version, kernel, modules)
    except OSError as error:
        hint = remedy(error, "set LONGHAUL_CACHE to another folder")
        raise BackendError(_ATTEMPT, f"kernel {version}", refusal(error), hint) from error
    return settings.cache / kernel.folder


def install_agent(parts: Parts) -> bool:
    """Install the release's agent where this installation looks for it; False if there is none, or it has other sources."""
    release = read_release()
    if release.agent is None or release.agent.inputs != agent_inputs() or not parts.has(AGENT_PART):
        return False
    content = _checked(parts, AGENT_PART, release, "run `longhaul agent build` where LONGHAUL_PREBUILT is off")
    try:
        AGENT.parent.mkdir(parents=True, exist_ok=True)
        with locked(AGENT.parent / ".lock"):
            new = AGENT.with_name(f".new-{AGENT.name}")
            write_part(new, content)
            new.replace(AGENT)
    except OSError as error:
        hint = remedy(error, "set LONGHAUL_CACHE to another folder")
        raise BackendError(_ATTEMPT, "agent", refusal(error), hint) from error
    return True


def install_wheel(settings: Settings, wheel: Path) -> Iterator[tuple[str, Path]]:
    """Install all that a wheel's file has for this installation: (name, place) of each part."""
    parts, release = WheelParts(wheel), read_release()
    found = [version for version in release.kernels if offers_kernel(parts, release, version)]
    if not found:
        what = "it has no kernel that this version of Longhaul pins"
        raise PlanError("installing kernels from", wheel.name, what, f"needed: {_needed(release)}")
    for version in found:
        yield f"kernel {version}", install_kernel(settings, version, parts)
    if install_agent(parts):
        yield "agent", AGENT


def is_released(release: Release, folder: str) -> bool:
    """Whether a kernel's folder name is one that release.lock pins."""
    return any(part.folder == f"kernels/{folder}" for part in release.kernels.values())


def _needed(release: Release) -> str:
    listed = (f"{version} ({Path(part.folder).name[:12]})" for version, part in release.kernels.items())
    return ", ".join(listed) or "none; this installation has no kmod/sandbox/release.lock"


def _may_point(settings: Settings, release: Release, version: str) -> bool:
    """Whether the current links are missing, or still those of an older release."""
    wanted = release.kernels[version], release.modules[version]
    current = _current(settings.kernel(version)), _current(settings.modules(version))
    if current == tuple(Path(part.folder).name for part in wanted):
        return False
    if current[0] is None:
        return True
    if current[0] == Path(wanted[0].folder).name:
        return current[1] is None or current[1] == _remembered(settings, version).get("modules")
    return current[0] == _remembered(settings, version).get("kernel")


def _current(link: Path) -> str | None:
    """The name of the folder that a link leads to; a folder in its place stands for itself."""
    return link.resolve().name if link.is_dir() else None


def _held(settings: Settings, kernel: Part) -> AbstractContextManager[None]:
    folder = settings.cache / "kernels"
    folder.mkdir(parents=True, exist_ok=True)
    return locked(folder / f".lock-{Path(kernel.folder).name}")


def _install(cache: Path, part: Part, release: Release, parts: Parts, version: str) -> None:
    target, pinned = cache / part.folder, release.files_of(part)
    if target.is_dir():
        return
    hint = f"install the wheel again, or run `longhaul kernel build {version} --from source`"
    with making(target.parent) as folder:
        for path in pinned:
            file = folder / target.name / path.removeprefix(f"{part.folder}/")
            write_part(file, _checked(parts, path, release, hint))
        # build-modules.sh takes no lock.
        if not target.is_dir():
            (folder / target.name).rename(target)


def _checked(parts: Parts, path: str, release: Release, hint: str) -> bytes:
    """The content of a part, which has the pinned hash."""
    if not parts.has(path):
        raise BackendError(_ATTEMPT, path, f"{parts.name} does not have it", hint)
    content = parts.read(path)
    if fault := release.find_fault(path, content):
        raise BackendError(_ATTEMPT, path, f"its content in {parts.name} has {fault}", hint)
    return content


def point(link: Path, name: str) -> None:
    """Make a link of the cache lead to the folder of this name, at once."""
    if _current(link) != name:
        new = link.with_name(f".{link.name}-{os.getpid()}")
        new.unlink(missing_ok=True)
        new.symlink_to(name)
        new.replace(link)


def _remember(settings: Settings, version: str, kernel: Part, modules: Part) -> None:
    """Note which links are the release's, so that the next release may move them."""
    file = settings.cache / "prebuilt" / f"{version}.json"
    file.parent.mkdir(exist_ok=True)
    new = file.with_name(f".{file.name}-{os.getpid()}")
    new.write_text(json.dumps({"kernel": Path(kernel.folder).name, "modules": Path(modules.folder).name}) + "\n")
    new.replace(file)


def _remembered(settings: Settings, version: str) -> Mapping[str, str]:
    try:
        found = json.loads((settings.cache / "prebuilt" / f"{version}.json").read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}

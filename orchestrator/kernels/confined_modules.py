"""The project's modules for a kernel that an admin sent: compiled confined, because the headers of that kernel contain programs."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

from longhaul.orchestrator.kernels.build_user_modules import has_headers, missing_headers
from longhaul.orchestrator.modules.build import LIMITS, LONGEST_S, MOST_BYTES, PERL, SCRATCH_BYTES
from longhaul.orchestrator.system.confinement import View, confined
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.installation import KMOD
from longhaul.orchestrator.system.locks import making
from longhaul.orchestrator.system.process import Answer, run_untrusted
from longhaul.orchestrator.system.settings import Settings

_SCRIPT = "sandbox/build-modules.sh"
_BUILD = 'set -o pipefail; folder=$(bash "$1" "$2" | tail -n 1) && cd "$folder" && exec tar -c -- *.ko'
_PROBE = "lh_trace.ko"
# Inside the confinement, where compilers look for it.
_TEMPORARY = "/tmp"  # noqa: S108


def build_confined_modules(settings: Settings, version: str) -> Path:
    """The folder of the project's modules for a kernel that an admin sent: its headers contain programs, so even these are compiled confined."""
    kernel = settings.kernel(version).resolve()
    sources = [file for file in sorted(KMOD.glob("*.[ch]")) if not file.name.endswith(".mod.c")]
    digest = hashlib.sha256()
    for file in (kernel / "manifest.json", KMOD / _SCRIPT, KMOD / "Kbuild", *sources):
        digest.update(file.read_bytes())
    target = settings.cache / "modules" / f"sent-{digest.hexdigest()[:32]}"
    if target.is_dir():
        return target
    attempting = "building the kernel modules for"
    if not has_headers(kernel):
        raise missing_headers(attempting, version, version)
    answer = _run(settings, version, kernel)
    if answer.output is None:
        raise PlanError(attempting, version, first_error(answer), "the project's modules must compile for it")
    expected = [f"{file.stem}.ko" for file in sources if file.suffix == ".c"]
    with making(target.parent) as new:
        made = new / "objects"
        made.mkdir()
        for name, content in _objects(answer.output, expected, version, needed=_PROBE):
            (made / name).write_bytes(content)
        # Another process may have been quicker with the same kernel.
        if not target.is_dir():
            made.rename(target)
    return target


def first_error(answer: Answer) -> str:
    """The compiler's first error, or why it printed none."""
    errors = [line.strip() for line in answer.messages.splitlines() if "error:" in line]
    return errors[0][:300] if errors else answer.problem


def _run(settings: Settings, version: str, kernel: Path) -> Answer:
    view = View(
        reads={
            f"/cache/kernels/{kernel.name}": kernel,
            "/kmod": KMOD,
            **{str(place): place for place in PERL if place.is_dir()},
        },
        links={f"/cache/kernels/current-{version}": kernel.name},
        scratch={"/cache/modules": SCRATCH_BYTES, _TEMPORARY: SCRATCH_BYTES},
        environment={"PATH": "/usr/bin:/bin", "LONGHAUL_CACHE": "/cache", "LANG": "C.UTF-8", "HOME": _TEMPORARY},
        folder=_TEMPORARY,
    )
    words = ["/bin/bash", "-c", _BUILD, "build", f"/kmod/{_SCRIPT}", version]
    return run_untrusted(confined(words, view, LIMITS, settings), "", longest_s=LONGEST_S, most_bytes=MOST_BYTES)


def _objects(archive: bytes, expected: list[str], subject: str, needed: str) -> Iterator[tuple[str, bytes]]:
    """The expected files of an archive, of which `needed` must be there; nothing is unpacked."""
    wanted = set(expected)
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as members:
            for member in members:
                # A sparse file would be larger here than the archive.
                plain = member.type == tarfile.REGTYPE and not member.issparse()
                if plain and member.name in wanted and (content := members.extractfile(member)):
                    wanted.remove(member.name)
                    yield member.name, content.read(MOST_BYTES)
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise PlanError("building the module", subject, f"the compiler's output is not an archive: {error}") from error
    if needed in wanted:
        raise PlanError("building the module", subject, f"the output has no {needed}", "see the messages above")

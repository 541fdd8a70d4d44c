"""Builds the modules of a source for a guest's kernel, confined, each by itself.

    $LONGHAUL_CACHE/own/<source>/  -->  kmod/sandbox/build-user-modules.sh, confined  -->  $LONGHAUL_CACHE/modules/own-<hash>/
                                                                                            *.ko  logs/  report.json
    a kernel's headers             -->  kmod/sandbox/probe-features.sh, confined      -->  $LONGHAUL_CACHE/modules/features-<hash>/

The compiler, make and the programs that a Makefile starts see the kernel's tree, the project's headers and the source, and write to a folder
in memory. The output is an archive, of which the objects and the messages are taken. They can read no other file of this machine.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from longhaul.orchestrator.modules.content import content_files
from longhaul.orchestrator.modules.diagnosis import Diagnosis, diagnose
from longhaul.orchestrator.modules.output import Output, read_output
from longhaul.orchestrator.modules.recipe import Recipe
from longhaul.orchestrator.modules.source_text import SourceText
from longhaul.orchestrator.system.built_kernels import is_sent
from longhaul.orchestrator.system.confinement import Limits, View, confined
from longhaul.orchestrator.system.errors import BackendError, PlanError
from longhaul.orchestrator.system.installation import KMOD
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.locks import making
from longhaul.orchestrator.system.process import Answer, run_untrusted
from longhaul.orchestrator.system.settings import Settings

SCRIPT = "sandbox/build-user-modules.sh"
PROBE = "sandbox/probe-features.sh"
LONGEST_S = 180
MOST_BYTES = 64 * 2**20
LIMITS = Limits(cpu_s=120, file_bytes=MOST_BYTES, processes=64, memory_bytes=2**30)
SCRATCH_BYTES = 256 * 2**20
# Inside the confinement, where compilers look for it.
_TEMPORARY = "/tmp"  # noqa: S108
# The header that the probe prints.
_FEATURES = re.compile(
    r"(?:#define LH_[A-Z0-9_]{1,60} 1\n){1,200}(?:// cc [01] [\w ./=,:+-]{1,9000}\n){0,500}", re.ASCII
)
_PACK = 'bash "$@" && cd "${!#}" && exec tar -c -- objects logs parts'
_PACK_SYMBOLS = f"export LONGHAUL_DEBUG_INFO=yes; {_PACK}"
# Kbuild checks comments by a program in Perl, and a Makefile may use it too.
PERL = (Path("/usr/share/perl"), Path("/usr/share/perl5"))


@dataclass(frozen=True, slots=True)
class BuiltModule:
    """A module of a source: its name in the kernel, the controls that its object registers, and why there is no object."""

    name: str
    controls: tuple[str, ...]
    place: str = ""
    error: str = ""
    needs_room: bool = False

    @property
    def problem(self) -> str:
        """The error with its place; "" if it is built."""
        return f"{self.place}: {self.error}" if self.place else self.error


@dataclass(frozen=True, slots=True)
class Build:
    """The build of a source for a kernel: the folder of its objects, and its modules."""

    folder: Path
    modules: tuple[BuiltModule, ...]

    def object(self, name: str) -> Path:
        """The file of a module."""
        return self.folder / f"{name}.ko"

    def log(self, name: str) -> str:
        """The compiler's messages of a module."""
        file = self.folder / "logs" / name
        return file.read_text(errors="replace") if file.is_file() else ""


def build_source(settings: Settings, version: str, source: str, *, symbols: bool = False) -> Build:
    """The build of a source for that kernel, from the cache or made now; errors of the compiler are in it.

    With `symbols` its objects have debugging information, and the same code.
    """
    kernel = settings.kernel(version)
    if not (kernel / "manifest.json").is_file():
        what = "that kernel is not built"
        raise BackendError(
            "building the module", f"{source} for {version}", what, f"run `longhaul kernel build {version}`"
        )
    folder = settings.cache / "own" / source
    target = settings.cache / "modules" / f"own-{_key(kernel, source)}{'-symbols' if symbols else ''}"
    if not target.is_dir():
        if not (kernel / "tree").is_dir():
            what = "the release's kernel comes without headers"
            raise BackendError(
                "building the module",
                f"{source} for {version}",
                what,
                f"run `longhaul kernel build {version} --from source`",
            )
        _make(settings, version, folder, kernel.resolve(), target, _PACK_SYMBOLS if symbols else _PACK)
    rows = json.loads((target / "report.json").read_text())
    return Build(target, tuple(BuiltModule(**{**row, "controls": tuple(row["controls"])}) for row in rows))


def can_build(settings: Settings, version: str) -> bool:
    """Whether modules can be built for that kernel here."""
    kernel = settings.kernel(version)
    return (kernel / "manifest.json").is_file() and (kernel / "tree").is_dir()


def source_texts(folder: Path) -> dict[str, str]:
    """The texts of a source by their names."""
    return {name: file.read_text(errors="replace") for name, file in content_files(folder).items()}


def _make(settings: Settings, version: str, folder: Path, kernel: Path, target: Path, shell: str) -> None:
    recipe = Recipe(source_texts(folder))
    answer = run_build(settings, version, folder, kernel, recipe, shell)
    subject = f"{_subject(recipe)} for {version}"
    if answer.output is None:
        raise PlanError("building the module", subject, answer.problem, "repair its Makefile, or give its object (.ko)")
    output = read_output(answer.output, subject)
    modules = [*_report(recipe, version, output)]
    with making(target.parent) as new:
        made = new / "objects"
        (made / "logs").mkdir(parents=True)
        for name in (one.name for one in modules if not one.error):
            (made / f"{name}.ko").write_bytes(output.objects[name].content)
        for name, text in output.logs.items():
            (made / "logs" / name).write_text(text)
        (made / "report.json").write_text(json.dumps([asdict(one) for one in modules]) + "\n")
        # Another process may have been quicker with the same source.
        if not target.is_dir():
            made.rename(target)


def _report(recipe: Recipe, version: str, output: Output) -> Iterator[BuiltModule]:
    """The modules that were built, then those of which the text or a log says that they should have been."""
    for name, made in output.objects.items():
        yield BuiltModule(name, made.controls, error=made.error)
    parts = dict(output.parts)
    texts = {one.name.removesuffix(".c"): one for one in recipe.modules}
    reported = {stem for names in parts.values() for stem in names}
    # A source that nothing tried to build, as after a Makefile that cannot be read.
    parts |= {
        one.module: [stem] for stem, one in texts.items() if stem not in reported and one.module not in output.objects
    }
    for module in sorted({*parts, *output.logs} - {*output.objects, "make"}):
        sources = [texts[stem] for stem in parts.get(module, []) if stem in texts]
        names = [each.name for one in sources for each in one.operations() if each.name]
        found = next((_refused(recipe, one) for one in sources if one.name in recipe.refusals), None)
        found = found or diagnose(output.logs.get(module) or output.logs.get("make", ""), version)
        yield BuiltModule(module, tuple(dict.fromkeys(names)), found.place, found.reason, found.needs_room)


def _refused(recipe: Recipe, source: SourceText) -> Diagnosis:
    refusal = recipe.refusals[source.name]
    return Diagnosis(f"{refusal.file}:{refusal.line}", refusal.reason)


def _subject(recipe: Recipe) -> str:
    return ", ".join(one.module for one in recipe.modules) or "the source"


def _key(kernel: Path, source: str) -> str:
    """A hash of all that the objects depend on."""
    digest = hashlib.sha256(source.encode())
    ours = sorted(file for pattern in ("*.h", "foreign/**/*.*") for file in KMOD.glob(pattern))
    for file in (kernel / "manifest.json", KMOD / SCRIPT, *ours, *sorted(Path(__file__).parent.glob("*.py"))):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:32]


def _features(settings: Settings, version: str, kernel: Path) -> Path:
    """The header of what a kernel's headers have, from the cache or made now: it takes as long as a module."""
    digest = hashlib.sha256()
    for file in (kernel / "manifest.json", KMOD / PROBE, KMOD / "foreign/features.c"):
        digest.update(file.read_bytes())
    # The answers are for the tree as the compiler sees it.
    digest.update(b"" if settings.confinement else str(kernel).encode())
    target = settings.cache / "modules" / f"features-{digest.hexdigest()[:32]}"
    if not target.is_dir():
        attempting = "reading the kernel's headers"

        def words(at: Mapping[str, str]) -> list[str]:
            return ["/bin/bash", f"{at['kmod']}/{PROBE}", at["tree"], at["kmod"], f"{at['scratch']}/features"]

        answer = _run(settings, kernel, {}, words, "")
        text = (answer.output or b"").decode(errors="replace")
        if answer.output is None or not _FEATURES.fullmatch(text):
            raise BackendError(attempting, version, answer.problem or "the probe printed something else")
        with making(target.parent) as new:
            made = new / "features"
            made.mkdir()
            (made / "features.h").write_text(text)
            # Another process may have been quicker with the same kernel.
            if not target.is_dir():
                made.rename(target)
    return target


def run_build(
    settings: Settings,
    version: str,
    folder: Path,
    kernel: Path,
    recipe: Recipe,
    shell: str,
    more: tuple[str, ...] = (),
) -> Answer:
    """The output of a shell that runs the script; `more` are arguments before the script's."""

    def words(at: Mapping[str, str]) -> list[str]:
        arguments = [at["tree"], at["kmod"], f"{at['features']}/features.h", at["source"], f"{at['scratch']}/work"]
        return ["/bin/bash", "-c", shell, "build", *more, f"{at['kmod']}/{SCRIPT}", *arguments]

    reads = {"features": _features(settings, version, kernel), "source": folder}
    return _run(settings, kernel, reads, words, recipe.question)


def _run(
    settings: Settings,
    kernel: Path,
    reads: Mapping[str, Path],
    words: Callable[[Mapping[str, str]], list[str]],
    question: str,
) -> Answer:
    """The output of a command, made of the places of the kernel's tree, kmod, an empty folder and `reads` as it sees them."""
    # A kernel that was sent has programs of its own among its headers.
    if not settings.confinement and not is_sent(kernel):
        with tempfile.TemporaryDirectory(prefix="longhaul-") as scratch:
            folders = {"tree": kernel / "tree", "kmod": KMOD, "scratch": Path(scratch), **reads}
            command = words({name: str(folder) for name, folder in folders.items()})
            return run_untrusted(command, question, longest_s=LONGEST_S, most_bytes=MOST_BYTES)
    inside = f"/cache/kernels/{kernel.name}"
    view = View(
        reads={
            inside: kernel,
            "/kmod": KMOD,
            **{f"/{name}": folder for name, folder in reads.items()},
            **{str(place): place for place in PERL if place.is_dir()},
        },
        scratch={_TEMPORARY: SCRATCH_BYTES},
        environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": _TEMPORARY},
        folder=_TEMPORARY,
    )
    at = {"tree": f"{inside}/tree", "kmod": "/kmod", "scratch": _TEMPORARY, **{name: f"/{name}" for name in reads}}
    command = confined(words(at), view, LIMITS, settings)
    return run_untrusted(command, question, longest_s=LONGEST_S, most_bytes=MOST_BYTES)

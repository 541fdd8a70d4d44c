"""What this machine can do: for each capability, what it lacks, with a remedy.

    a capability = programs and files (system_packages.py) + needs of a backend + trials: writing, confining, booting a guest

It leaves the machine as it was. A capability is ready only when it was checked or tried, never because of a list of versions.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from longhaul.cli.machine.system_packages import ALWAYS, lacking
from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.execution.backend_status import Missing
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.kernels.build import built_kernels
from longhaul.orchestrator.kernels.build_user_modules import has_headers
from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.load import load_experiment
from longhaul.orchestrator.system.confinement import check_possible
from longhaul.orchestrator.system.errors import BackendUnavailable, LonghaulError
from longhaul.orchestrator.system.extras import EXTRAS, is_installed, remedy_for
from longhaul.orchestrator.system.installation import PAGE
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Settings
from longhaul.orchestrator.system.units import format_size

_Pieces = Iterator[tuple[str, str]]
_FREE_BYTES = 10**9
# The capability that is needed by default: the sandbox runs everything.
WANTED = "sandbox"


@dataclass(frozen=True, slots=True)
class Capability:
    """A capability, and what this machine lacks for it."""

    capability: str
    about: str
    missing: tuple[Missing, ...]

    @property
    def ready(self) -> bool:
        return not self.missing


def capabilities(settings: Settings) -> Iterator[Capability]:
    """All capabilities, the most wanted first."""
    for name, (about, pieces) in CAPABILITIES.items():
        yield Capability(name, about, tuple(Missing(*one) for one in dict.fromkeys(pieces(settings))))


def _sandbox(settings: Settings) -> _Pieces:
    plan = compile_plan(load_experiment("quick", ["duration=1 s", "warmup=0 s", "expect=[]"]))
    (run,) = plan.runs
    pieces = open_backend("sandbox", settings).check(run)
    yield from pieces
    memory = settings.guest_memory_dir
    if memory.is_dir() and (free := shutil.disk_usage(memory).free) < run.memory_mb * 2**20:
        remedy = "free some space, or set LONGHAUL_GUEST_MEMORY to a folder with more"
        yield f"{run.memory_mb} MiB of space in {memory} (it has {format_size(free)})", remedy
    yield from _writable(settings.home, "LONGHAUL_HOME")
    if not pieces:
        yield from _booting(plan, settings)


def _booting(plan: Plan, settings: Settings) -> _Pieces:
    """Boot a guest and move packets; what this machine forbids fails here."""
    with tempfile.TemporaryDirectory(prefix="longhaul-doctor-") as home:
        apart = replace(settings, home=Path(home), database="", prometheus=None)
        try:
            (document,) = Pipeline(open_backend("sandbox", apart), Store(apart)).execute(plan)
        except LonghaulError as error:
            yield f"a guest that boots ({error.what})", error.hint or "see docs/sandbox-kernel.md"
            return
    if document["status"] == "failed":
        failure = document["error"]
        yield (
            f"a guest that boots ({failure['what']})",
            failure["hint"].split("; its log")[0] or "see docs/sandbox-kernel.md",
        )


def _own_modules(settings: Settings) -> _Pieces:
    yield from lacking("modules", "confinement")
    yield from _writable(settings.cache, "LONGHAUL_CACHE")
    for row in built_kernels(settings)[:1]:
        if not row["built"]:
            yield f"the sandbox kernel {row['version']}", f"run `longhaul kernel build {row['version']} --from source`"
        elif not has_headers(Path(row["directory"])):
            yield (
                f"headers of the sandbox kernel {row['version']}",
                f"run `longhaul kernel build {row['version']} --from source`",
            )
    if settings.confinement and not list(lacking("confinement")):
        try:
            check_possible(settings)
        except BackendUnavailable as error:
            yield from error.missing
        except OSError as error:
            yield f"a system call filter in {settings.cache} ({error.strerror})", "set LONGHAUL_CACHE"


def _kernels(settings: Settings) -> _Pieces:
    yield from lacking("modules", "kernel")
    yield from _writable(settings.cache, "LONGHAUL_CACHE")


def _iperf3(_: Settings) -> _Pieces:
    return lacking("programs")


def _mininet(where: str) -> Callable[[Settings], _Pieces]:
    def pieces(settings: Settings) -> _Pieces:
        yield from open_backend("mininet", settings).check(
            compile_plan(load_experiment("quick"), backend="mininet", where=where).runs[0]
        )

    return pieces


def _hosts(settings: Settings) -> _Pieces:
    yield from open_backend("hosts", settings).check(compile_plan(load_experiment("quick")).runs[0])
    yield from _extra("hosts")


def _extra(extra: str) -> _Pieces:
    """The packages of an extra."""
    if not is_installed(extra):
        yield f"longhaul[{extra}], the packages for {EXTRAS[extra].purpose}", remedy_for(extra)


def _service(settings: Settings) -> _Pieces:
    yield from _extra("service")
    yield from _writable(settings.home, "LONGHAUL_HOME")


def _postgresql(settings: Settings) -> _Pieces:
    """The server that is set, or the programs that run one here."""
    from longhaul.orchestrator.database.connection import Database

    missing = list(_extra("postgresql"))
    yield from missing
    if not settings.database:
        yield from lacking("service")
    if missing or not settings.database:
        return
    try:
        Database(settings.database).ask()
    except LonghaulError as error:
        remedy = "start it, admit its user, or set LONGHAUL_DATABASE to its address"
        yield f"a response from {error.subject} ({error.what})", remedy


def _page(_: Settings) -> _Pieces:
    if not (PAGE / "index.html").is_file():
        yield "the web page", "run `make web`"
        yield from lacking("web")


def _prometheus(settings: Settings) -> _Pieces:
    if settings.prometheus is None:
        return lacking("live")
    from longhaul.orchestrator.live.prometheus_checks import lacking as unfit

    return iter(unfit(settings.prometheus))


def _containers(_: Settings) -> _Pieces:
    if shutil.which("docker") is None:
        yield from lacking("containers")


def _this_kernel(_: Settings) -> _Pieces:
    yield from lacking("modules")
    release = os.uname().release
    if not Path(f"/lib/modules/{release}/build").exists():
        yield f"headers of kernel {release}", f"run `apt-get install linux-headers-{release}`"


def _developing(_: Settings) -> _Pieces:
    return lacking(
        *ALWAYS, "kernels", "tests", "check", "stock", "bench", "service", "live", "containers", "hosts", "browser"
    )


CAPABILITIES: dict[str, tuple[str, Callable[[Settings], _Pieces]]] = {
    WANTED: ("runs in virtual time, the same on every machine with the same guest kernel", _sandbox),
    "own modules": ("user-supplied congestion controls, built and run confined", _own_modules),
    "kernels": ("building kernels for guests", _kernels),
    "iperf3": ("flows with `tool: iperf3`", _iperf3),
    "mininet --in guest": ("real Mininet in a guest", _mininet("guest")),
    "mininet --in host": ("real Mininet on this machine's kernel", _mininet("host")),
    "hosts": ("runs on physical hosts, and preparing hosts for them", _hosts),
    "service": ("`longhaul serve`, its database in SQLite", _service),
    "postgresql": ("the service's database in PostgreSQL", _postgresql),
    "cluster": ("runs on several machines, through Dask", lambda _: _extra("cluster")),
    "tuning": ("`longhaul tune` and `longhaul search`", lambda _: _extra("tuning")),
    "figures": ("figures in SVG and PNG", lambda _: _extra("figures")),
    "frames": ("frames of a result in Python", lambda _: _extra("frames")),
    "query": ("questions in SQL over kept runs", lambda _: _extra("query")),
    "page": ("the web page of the service", _page),
    "prometheus": ("streaming runs to Prometheus while they are running", _prometheus),
    "containers": ("the lab in containers", _containers),
    "modules": ("the project's modules for this machine's kernel", _this_kernel),
    "developing": ("every test and benchmark", _developing),
}


def _writable(folder: Path, setting: str) -> _Pieces:
    """Write into the folder, or the one above it: for root, modes allow writing even where it fails."""
    there = next(place for place in (folder, *folder.parents) if place.is_dir())
    try:
        with tempfile.TemporaryDirectory(dir=there, prefix=".longhaul-doctor-"):
            free = shutil.disk_usage(there).free
    except OSError as error:
        remedy = f"set {setting} to a writable folder, or `chown` that one"
        yield f"permission to write {folder} ({error.strerror})", remedy
        return
    if free < _FREE_BYTES:
        remedy = f"free some space (`longhaul prune --older-than 30d`), or set {setting} to a folder on a larger disk"
        yield f"{format_size(_FREE_BYTES)} of space for {folder} (it has {format_size(free)})", remedy

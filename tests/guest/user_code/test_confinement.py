"""User-supplied code that attacks this machine: a hostile source at build time, a hostile module in a guest that reports its attempts."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.kernels import build_user_modules
from longhaul.orchestrator.kernels.build_user_modules import build_objects
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.spec.user_modules import adopt
from longhaul.orchestrator.system.confinement import UNTRUSTED_USER, Limits
from longhaul.orchestrator.system.errors import GuestDied, PlanError, RunTimedOut
from longhaul.orchestrator.system.settings import Settings
from tests.support.folders import REPOSITORY
from tests.support.guests import experiment

HOSTILE = REPOSITORY / "tests" / "data" / "hostile" / "tcp_hostile.c"
SECRET = "the-secret-of-the-store"
EPERM, ENOENT, ESRCH, ENOMEM, EACCES, ETXTBSY, EROFS = -1, -2, -3, -12, -13, -26, -30


@pytest.fixture
def secret(settings: Settings) -> Iterator[Path]:
    """A file of the store."""
    settings.home.mkdir(parents=True, exist_ok=True)
    file = settings.home / "secret.txt"
    file.write_text(f'"{SECRET}"\n')
    yield file
    file.unlink()


def build(settings: Settings, folder: Path, text: str) -> bytes:
    folder.mkdir()
    (folder / "tcp_bad.c").write_text(f'#include <linux/module.h>\n{text}\nMODULE_LICENSE("GPL");\n')
    (source,) = adopt([folder], settings.cache)
    shutil.rmtree(folder)
    return (build_objects(settings, "6.12", source) / "tcp_bad.ko").read_bytes()


@pytest.mark.parametrize(
    "line",
    [
        '#include "{0}"',
        'const char text[] = {{\n#include "{0}"\n}};',
        'asm(".incbin \\"{0}\\"");',
        '#include "/source/../../../../../../../../../..{0}"',
    ],
    ids=["include", "text", "incbin", "traversal"],
)
def test_a_source_cannot_include_a_file_of_the_store(
    settings: Settings, secret: Path, tmp_path: Path, line: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(PlanError, match=r"building the module tcp_bad for 6\.12: .*(No such file|file not found)"):
        build(settings, tmp_path / "bad", line.format(secret))
    assert SECRET not in capfd.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        # An endless compilation: every line doubles the expansion.
        "\n".join(["#define A0 x,x,x,x", *(f"#define A{n} A{n - 1} A{n - 1}" for n in range(1, 60)), "int a[] = {A59};"]),
        # A compilation that would fill the memory.
        "const char big[1UL << 40] = {1};",
        '#include "tcp_bad.c"\n#include "tcp_bad.c"',
    ],
    ids=["macros", "memory", "itself"],
)  # fmt: skip
def test_an_endless_compilation_is_ended(
    settings: Settings, tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_user_modules, "_LONGEST_S", 10)
    monkeypatch.setattr(build_user_modules, "_LIMITS", Limits(5, 2**24, 64, 2**29))
    with pytest.raises(PlanError, match=r"building the module tcp_bad for 6\.12: "):
        build(settings, tmp_path / "bad", text)


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a server on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_module_that_attacks_the_machine_has_no_success(
    pipeline: Pipeline, secret: Path, port: int, tmp_path: Path
) -> None:
    folder = tmp_path / "hostile"
    folder.mkdir()
    shutil.copy(HOSTILE, folder)
    files = [
        secret,
        "/etc/passwd",
        "/etc/shadow",
        f"/proc/{os.getpid()}/environ",
        "/proc/1/environ",
        "/sys/kernel/notes",
    ]
    files += [
        "/proc/self/mountinfo",
        "/proc/1/cwd/../etc/passwd",
        "/proc/self/cwd/../run.json",
        "/memory/../etc/passwd",
    ]
    targets = [
        secret,
        "/written",
        "/usr/bin/written",
        "/linux",
        "/tmp/written",
        "/dev/shm/written",
    ]
    (folder / "hostile.h").write_text(
        f'#define SECRET "{secret}"\n#define PORT {socket.htons(port)}\n#define VICTIM {os.getpid()}\n'
        f"static long children[1000];\n{c_list('files', files)}{c_list('targets', targets)}"
    )  # fmt: skip
    plan = compile_plan(experiment(modules=[str(folder)], flows=[{"name": "one", "cc": "hostile"}], duration="2 s"))
    (document,) = pipeline.execute(plan)
    assert document["status"] == "done", document.get("error")
    kept = pipeline.store.directory(document["run"])
    log = (kept / "log.txt").read_text(errors="replace")
    results = {what: (int(number), text) for what, number, text in re.findall(r"hostile: (.*?): (-?\d+) ?(.*)", log)}
    for file in files:
        if file not in ("/proc/1/environ", "/proc/self/mountinfo"):
            assert results[f"read {file}"][0] in (ENOENT, EACCES), file
    # The shell that starts it may add PWD.
    assert re.fullmatch(r"(PWD=/[^|]*\|)?", results["read /proc/1/environ"][1])
    assert SECRET not in log
    for target in targets:
        assert results[f"write {target}"][0] in (ENOENT, EACCES, ETXTBSY, EROFS), target
    # Refused, or no such process.
    assert results["connect"][0] == EPERM
    assert results["signal"][0] in (ESRCH, EPERM)
    assert results["memory"][0] == ENOMEM
    assert [results[what][0] for what in ("segment", "keyring", "namespace")] == [EPERM] * 3
    assert results["forks"][0] < 200
    assert not any(path.is_symlink() for path in kept.rglob("*"))
    assert not [*(pipeline.store.home / "staging").glob("*/*/guest")]
    assert secret.read_text() == f'"{SECRET}"\n'
    assert document["trace_sha256"]


def c_list(name: str, items: Sequence[object]) -> str:
    texts = ", ".join(f'"{item}"' for item in items)
    return f"static const char *const {name}[] = {{{texts}}};\n"


def processes_of(seed: int) -> list[str]:
    """Running guests with this seed."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"rng-seed={seed}".encode() in (process / "cmdline").read_bytes():
                found.append(process.name)
    return found


@pytest.mark.parametrize(
    ("init", "error", "reason"),
    [
        ("for (;;) ;", RunTimedOut, "no virtual progress in 3 s"),
        ('panic("on purpose");', GuestDied, "panic"),
        ('asm volatile("mov $0x3e, %eax; mov $1, %edi; mov $9, %esi; syscall; mov $60, %eax; mov $3, %edi; syscall");', GuestDied, "ended with"),
    ],
    ids=["endless", "panic", "exit"],
)  # fmt: skip
def test_a_confined_guest_fails_like_any_other(
    settings: Settings, tmp_path: Path, init: str, error: type[Exception], reason: str
) -> None:
    folder = tmp_path / "dying"
    folder.mkdir()
    text = (REPOSITORY / "kmod" / "tcp_lhfixed.c").read_text().replace("lhfixed", "dying")
    (folder / "tcp_dying.c").write_text(text.replace("return tcp_register", f"{init}\n\treturn tcp_register"))
    flows = [{"name": "one", "cc": "dying"}]
    plan = compile_plan(experiment(modules=[str(folder)], flows=flows), seed=987_000_000 + os.getpid())
    (run,) = plan.runs
    directory = tmp_path / "run"
    directory.mkdir()
    (directory / "run.json").write_text(json.dumps(run.as_json()))
    with pytest.raises(error, match=reason):
        open_backend("sandbox", replace(settings, stall_limit_s=3)).run(run, directory, lambda virtual_ns: None)
    assert processes_of(run.seed) == []
    assert not (directory / "guest").exists()


def test_a_confined_guest_gives_the_same_bytes(settings: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "twin"
    folder.mkdir()
    text = (REPOSITORY / "kmod" / "tcp_agilesd.c").read_text()
    (folder / "tcp_twin.c").write_text(text.replace("agilesd", "twin"))
    flows = [{"name": "one", "cc": "twin"}, {"name": "two", "cc": "cubic"}]
    (run,) = compile_plan(experiment(modules=[str(folder)], flows=flows, duration="10 s", path={"loss": 0.001})).runs
    traces = set()
    for number, confinement in enumerate((True, False, True)):
        directory = tmp_path / f"run-{number}"
        directory.mkdir()
        (directory / "run.json").write_text(json.dumps(run.as_json()))
        backend = open_backend("sandbox", replace(settings, confinement=confinement))
        backend.run(run, directory, lambda virtual_ns: None)
        traces.add((directory / "trace.bin").read_bytes())
        assert (directory / "trace.bin").stat().st_uid == os.geteuid() != UNTRUSTED_USER
        assert not (directory / "guest").exists()
    assert len(traces) == 1

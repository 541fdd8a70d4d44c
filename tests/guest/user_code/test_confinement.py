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
from longhaul.orchestrator.modules import build as building
from longhaul.orchestrator.modules.build import Build, build_source
from longhaul.orchestrator.modules.content import adopt
from longhaul.orchestrator.plan.compile import compile_plan
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


CONTROL = """
#include <linux/module.h>
#include <net/tcp.h>
static struct tcp_congestion_ops ops = {
	.ssthresh = tcp_reno_ssthresh, .cong_avoid = tcp_reno_cong_avoid, .undo_cwnd = tcp_reno_undo_cwnd, .owner = THIS_MODULE, .name = "bad",
};
static int __init load(void) { return tcp_register_congestion_control(&ops); }
module_init(load);
MODULE_LICENSE("GPL");
"""


def build(settings: Settings, folder: Path, text: str, makefile: str = "") -> Build:
    """The build of a control with this text in front of it, and this Makefile; from no cache."""
    folder.mkdir()
    (folder / "tcp_bad.c").write_text(f"/* {os.urandom(8).hex()} */\n{text}\n{CONTROL}")
    if makefile:
        (folder / "Makefile").write_text(makefile)
    (source,) = adopt([folder], settings.cache)
    shutil.rmtree(folder)
    return build_source(settings, "6.12", source)


def everything(made: Build) -> str:
    """All that a build leaves."""
    return "".join(file.read_bytes().decode(errors="replace") for file in made.folder.rglob("*") if file.is_file())


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
    settings: Settings, secret: Path, tmp_path: Path, line: str
) -> None:
    made = build(settings, tmp_path / "bad", line.format(secret))
    (module,) = made.modules
    assert re.search(r"neither its folder nor Linux 6\.12 has|file not found", module.problem)
    assert SECRET not in everything(made)


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
    monkeypatch.setattr(building, "LONGEST_S", 20)
    monkeypatch.setattr(building, "LIMITS", Limits(5, 2**24, 64, 2**29))
    try:
        (module,) = build(settings, tmp_path / "bad", text).modules
    except PlanError as error:
        assert "building the module tcp_bad for 6.12: " in str(error)
    else:
        assert module.controls == ("bad",)
        assert module.error


LIST = "obj-m := tcp_bad.o\n"
MARK = "a-process-that-stays"


def running() -> list[str]:
    """Processes of the hostile Makefile."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if MARK.encode() in (process / "cmdline").read_bytes():
                found.append(process.name)
    return found


@pytest.mark.parametrize(
    ("rules", "others"),
    [
        # It prints lines as the list of objects has them.
        ("$(info object ../../x)$(info object /etc/passwd ../../y)$(info object -x)$(info object $$(touch z))$(info below ;touch z)\n", ()),
        ("$(info object ghost)$(info maybe tcp_bad)$(info object)$(info adapt tcp_bad.c 99999999)\n", ()),
        ("all:\n\tyes | tr -d y >/dev/stderr\n", ()),
        (f"all:\n\tsetsid sh -c 'while :; do : {MARK}; sleep 0.1; done' &\n\techo done\n", ()),
        ("all:\n\tf() {{ f | f & }}; f\n", ()),
        # Objects that are links, and none at all.
        ("all:\n\tln -s /etc/passwd a.ko; ln -sf /etc/passwd ../objects/b.ko; ln -sf {0} ../logs/c; mkfifo d.ko\n", ()),
        ("$(info \033]0;title\007)all:\n\tprintf '\\033[2J' >&2\n", ()),
        ("all:\n\techo $$(cat /etc/shadow {0}) | tee e.ko f.ko; printf '\\177ELF\\2\\1' >g.ko\n", ("e", "f", "g")),
    ],
    ids=["names", "lines", "endless", "background", "forks", "links", "terminal", "no objects"],
)  # fmt: skip
def test_a_makefile_that_attacks_its_build_gets_its_module_and_nothing_else(
    settings: Settings, secret: Path, tmp_path: Path, rules: str, others: tuple[str, ...]
) -> None:
    made = build(settings, tmp_path / "bad", "", LIST + rules.format(secret))
    assert [module.name for module in made.modules if not module.error] == ["tcp_bad"]
    assert {module.name for module in made.modules} == {"tcp_bad", *others}
    assert SECRET not in everything(made)
    assert "root:" not in everything(made)
    assert sum(file.stat().st_size for file in made.folder.rglob("*")) < 2**20
    assert running() == []
    assert "\033" not in "".join(file.read_text() for file in (made.folder / "logs").iterdir())
    assert not any(file.is_symlink() for file in made.folder.rglob("*"))


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("for one in $$(seq 3000); do echo x >../logs/$$one; done", "it has more than 64 modules"),
        # The output of the script that it has not started, which the archive goes to.
        ("for one in /proc/[0-9]*; do head -c 100000 /dev/urandom >$$one/fd/1; done", ""),
        ("head -c 30000000 /dev/zero >../logs/a; cp ../logs/a ../logs/b; cp ../logs/a ../logs/c", "it printed 67108864 bytes or more"),
    ],
    ids=["thousands of messages", "another output", "large messages"],
)  # fmt: skip
def test_a_makefile_that_spoils_the_output_has_a_build_of_no_use(
    settings: Settings, tmp_path: Path, rule: str, reason: str
) -> None:
    try:
        made = build(settings, tmp_path / "bad", "", f"{LIST}all:\n\t{rule} || true\n")
    except PlanError as error:
        assert "building the module tcp_bad for 6.12: " in str(error)
        assert reason in str(error)
    else:
        assert not reason
        assert {module.name for module in made.modules} == {"tcp_bad"}


def test_a_makefile_with_thousands_of_objects_gets_some(settings: Settings, tmp_path: Path) -> None:
    rule = "for one in $$(seq 3000); do echo x >x$$one.ko; done"
    made = build(settings, tmp_path / "bad", "", f"{LIST}all:\n\t{rule}\n")
    assert len(made.modules) <= 65
    listed = build(
        settings, tmp_path / "many", "", f"{LIST}obj-m += $(addsuffix .o,$(addprefix tcp_bad,$(shell seq 3000)))\n"
    )
    assert {module.name for module in listed.modules} == {"tcp_bad"}


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

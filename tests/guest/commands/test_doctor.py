"""`longhaul doctor` on a machine without one program or file at a time: it names the missing part and its remedy."""

from __future__ import annotations

import ctypes
import json
import os
import struct
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from longhaul.api.static_page import BUILT
from longhaul.cli.machine.system_packages import NEEDS
from longhaul.orchestrator.system.installation import AGENT
from longhaul.orchestrator.system.settings import load_settings
from tests.support.command import longhaul
from tests.support.folders import REPOSITORY
from tests.support.programs import run_program

# New namespaces, in which mounts do not affect the machine.
IN_NAMESPACES = ["unshare", "--map-root-user", "--mount", "--"]
PTRACE, MOUNT = 101, 165


def missing(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, str]]:
    """Capability -> piece -> remedy."""
    document: dict[str, Any] = json.loads(done.stdout)
    return {
        row["capability"]: {one["piece"]: one["remedy"] for one in row["missing"]} for row in document["capabilities"]
    }


def doctor(
    home: Path, *, before: list[str] | None = None, forbidden: int | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    if not before and forbidden is None:
        return longhaul("doctor", "--json", home=home, **environment)
    return run_program(
        [*(before or []), sys.executable, "-m", "longhaul.cli.main", "doctor", "--json"],
        env={**os.environ, "LONGHAUL_HOME": str(home), **environment},
        cwd=REPOSITORY,
        preexec_fn=None if forbidden is None else without(forbidden),
    )


def without(call: int) -> Callable[[], None]:
    """A function that forbids this system call to the process, as security modules and containers do."""
    rules = ((0x20, 0, 0, 0), (0x15, 0, 1, call), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000))
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(rules), ctypes.addressof(program)))
    libc = ctypes.CDLL(None)

    def forbid() -> None:
        assert program.raw, "the kernel reads it"
        assert libc.prctl(38, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS"
        assert libc.prctl(22, 2, head, 0, 0) == 0, "PR_SET_SECCOMP"

    return forbid


def mounted(commands: str) -> list[str]:
    """The beginning of a command that runs these commands first, in a new mount namespace."""
    return [*IN_NAMESPACES, "sh", "-ec", f'{commands}; exec "$@"', "sh"]


def covered(folder: Path) -> list[str]:
    return mounted(f"mount -t tmpfs none '{folder}'")


def test_this_machine_is_ready(tmp_path: Path) -> None:
    done = longhaul("doctor", home=tmp_path)
    assert done.returncode == 0, done.stdout
    assert {"sandbox: ready", "own modules: ready", "mininet --in guest: ready"} <= set(done.stdout.splitlines())
    assert list(tmp_path.iterdir()) == [], "doctor must leave no files behind"


def test_capabilities_that_are_not_ready_are_listed_in_one_line(tmp_path: Path) -> None:
    """A new home has no policy of hosts."""
    text = longhaul("doctor", home=tmp_path).stdout
    (folded,) = (line for line in text.splitlines() if line.startswith("not ready: "))
    assert "hosts" in folded
    assert "`longhaul doctor --all`" in folded
    assert "missing" not in text.replace(folded, ""), "a needed piece is missing"
    in_full = longhaul("doctor", "--all", home=tmp_path).stdout
    assert "hosts: not ready" in in_full.splitlines()
    assert "  missing the policy of hosts" in in_full
    needed = longhaul("doctor", "--need", "hosts", home=tmp_path).stdout
    assert "  missing the policy of hosts" in needed, "--need lists the missing pieces"


def test_the_needed_capability_decides_the_exit_code(tmp_path: Path) -> None:
    assert longhaul("doctor", "--need", "hosts", home=tmp_path).returncode == 3
    done = longhaul("doctor", "--need", "hots", home=tmp_path)
    assert done.returncode == 2
    assert "nearest: hosts" in done.stderr


def test_every_missing_program_and_file_is_named(tmp_path: Path) -> None:
    for folder in ("upper", "work"):
        (tmp_path / folder).mkdir()
    overlay = f"lowerdir=/usr,upperdir={tmp_path}/upper,workdir={tmp_path}/work"
    done = subprocess.run(
        [*mounted(f"mount -t overlay overlay -o '{overlay}' /usr"), sys.executable, "-m", "tests.guest.stripping"],
        # The empty cache has no kernel, so no guest boots each time.
        env={**os.environ, "LONGHAUL_HOME": str(tmp_path / "home"), "LONGHAUL_CACHE": str(tmp_path / "cache")},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    without_it = json.loads(done.stdout)
    for needs in NEEDS.values():
        for piece, package in needs:
            assert without_it[piece].get(piece) == f"run `apt-get install {package}`", piece


def strips() -> Iterator[tuple[str, dict[str, Any], str, str, str]]:
    """(id, how to remove a piece, the capability that misses it, the name of the piece, the remedy)."""
    ansible = Path(sysconfig.get_path("purelib")) / "ansible_runner"
    yield (
        "kernel",
        {"LONGHAUL_CACHE": "/nonexistent"},
        "sandbox",
        "the sandbox kernel 6.12",
        "longhaul kernel build 6.12",
    )
    yield "agent", {"before": covered(AGENT.parent)}, "sandbox", "the agent", "longhaul agent build"
    yield (
        "home",
        {"LONGHAUL_HOME": "/proc/longhaul"},
        "sandbox",
        "permission to write /proc/longhaul",
        "set LONGHAUL_HOME",
    )
    yield (
        "home",
        {"LONGHAUL_HOME": "/proc/longhaul"},
        "service",
        "permission to write /proc/longhaul",
        "set LONGHAUL_HOME",
    )
    yield "cache", {"LONGHAUL_CACHE": "/proc/cache"}, "kernels", "permission to write /proc/cache", "set LONGHAUL_CACHE"
    small = mounted("mount -t tmpfs -o size=64m none /mnt")
    in_small = {"before": small, "LONGHAUL_GUEST_MEMORY": "/mnt"}
    yield "room for guests", in_small, "sandbox", "128 MiB of space in /mnt", "set LONGHAUL_GUEST_MEMORY"
    yield (
        "disk",
        {"before": small, "LONGHAUL_HOME": "/mnt/home"},
        "sandbox",
        "1 GB of space for /mnt/home",
        "longhaul prune",
    )
    noexec = {"before": mounted("mount -t tmpfs -o noexec none /mnt"), "LONGHAUL_GUEST_MEMORY": "/mnt"}
    yield "exec", noexec, "sandbox", "a /mnt without noexec", "set LONGHAUL_GUEST_MEMORY"
    remounted = f"mount --bind '{AGENT.parent}' '{AGENT.parent}' && mount -o remount,bind,noexec '{AGENT.parent}'"
    yield (
        "exec of programs",
        {"before": mounted(remounted)},
        "sandbox",
        f"permission to execute {AGENT}",
        "mount its file system exec",
    )
    yield "ptrace", {"forbidden": PTRACE}, "sandbox", "no ptrace", "kernel.yama.ptrace_scope=1"
    yield (
        "mount",
        {"forbidden": MOUNT},
        "own modules",
        "the kernel's permission to run user code confined",
        "allow user namespaces",
    )
    yield "x86-64", {"before": ["setarch", "i686"]}, "sandbox", "an x86-64 processor", "LONGHAUL_SERVER"
    yield "root", {"before": ["unshare", "--user", "--"]}, "mininet --in host", "root", "use --in guest"
    yield "page", {"before": covered(BUILT) if BUILT.is_dir() else []}, "page", "the web page", "make web"
    yield "ansible", {"before": covered(ansible)}, "hosts", "longhaul[hosts]", "pip install"
    yield "policy", {}, "hosts", "the policy of hosts", "docs/hosts-operators.md"
    unreachable = {"LONGHAUL_DATABASE": "postgresql://lab:secret@127.0.0.1:1/lab"}
    yield (
        "database",
        unreachable,
        "postgresql",
        "a response from postgresql+psycopg://lab:***@127.0.0.1:1/lab",
        "LONGHAUL_DATABASE",
    )
    silent = {"LONGHAUL_PROMETHEUS": "http://127.0.0.1:1"}
    yield "prometheus", silent, "prometheus", "an answer of http://127.0.0.1:1", "set LONGHAUL_PROMETHEUS"
    yield (
        "headers",
        {"before": mounted("mkdir -p /lib/modules; mount -t tmpfs none /lib/modules")},
        "modules",
        "headers of kernel",
        "linux-headers-",
    )


@pytest.mark.parametrize(
    ("how", "capability", "piece", "remedy"), [pytest.param(*one[1:], id=one[0]) for one in strips()]
)
def test_a_missing_part_is_named_with_its_remedy(
    tmp_path: Path, how: dict[str, Any], capability: str, piece: str, remedy: str
) -> None:
    done = doctor(**{"home": tmp_path, **how})
    assert done.returncode == (3 if missing(done)["sandbox"] else 0), done.stderr
    named = {key: value for key, value in missing(done)[capability].items() if piece in key}
    assert named, missing(done)
    assert all(remedy in value for value in named.values()), named


def test_modules_are_named_where_only_the_kernel_exists(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "kernels").symlink_to(load_settings().cache / "kernels")
    pieces = missing(doctor(tmp_path, LONGHAUL_CACHE=str(tmp_path / "cache")))
    assert pieces["sandbox"] == {"the kernel modules for 6.12": "run `longhaul modules build --kernel 6.12`"}

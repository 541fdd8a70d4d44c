"""setup.sh with missing packages: it checks again after installing, and its printed commands can be run unchanged."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.folders import REPOSITORY
from tests.support.programs import run_program


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """An apt-get that succeeds and does nothing, as the real one does for a name that it reads as a pattern."""
    folder = tmp_path / "programs"
    folder.mkdir()
    _program(folder / "apt-get", 'echo "$0 $*" >>"${0%/*}/calls"')
    return folder


def _program(file: Path, script: str) -> None:
    file.write_text(f"#!/bin/bash\n{script}\n")
    file.chmod(0o755)


def set_up(
    programs: Path, *groups: str, codename: str = "bookworm", checkout: Path = REPOSITORY, empty: str = "/usr/src"
) -> subprocess.CompletedProcess[str]:
    """Run setup.sh on a machine of this release without the files of a folder, by default those of kernel sources."""
    release = programs / "os-release"
    release.write_text(f"VERSION_CODENAME={codename}\n")
    apart = f'mount -t tmpfs none {empty}; mount --bind "{release}" /etc/os-release; exec "$@"'
    return run_program(
        ["unshare", "--map-root-user", "--mount", "--", "sh", "-ec", apart, "sh", str(checkout / "setup.sh"), *groups],
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
    )


def test_packages_still_missing_after_installing_are_an_error(programs: Path) -> None:
    done = set_up(programs)
    assert done.returncode == 3, done.stderr
    assert "still missing after installing: linux-source-6.12" in done.stderr
    install = (programs / "calls").read_text().splitlines()[-1]
    assert "APT::Cmd::Pattern-Only=true" in install, "names are not patterns"


def test_only_the_group_of_every_kernel_needs_the_second(programs: Path) -> None:
    assert "linux-source-6.1 " not in set_up(programs).stderr.replace("\n", " ")
    assert "linux-source-6.12 linux-source-6.1 " in set_up(programs, "kernels").stderr.replace("\n", " ")


def test_only_the_comparison_with_ns3_needs_ns3(programs: Path) -> None:
    assert "libns3-dev" not in set_up(programs, "bench", empty="/usr/include").stderr
    assert "libns3-dev" in set_up(programs, "ns3", empty="/usr/include").stderr.splitlines()[0]


def test_the_printed_command_can_be_run_unchanged(programs: Path) -> None:
    """It updates the lists, asks no question, and reads no name as a pattern."""
    _program(programs / "id", "echo 1000")
    _program(
        programs / "sudo",
        'while [[ $1 == *=* ]]; do export "$1"; shift; done; echo "$DEBIAN_FRONTEND $*" >>"${0%/*}/calls"',
    )
    done = set_up(programs)
    assert done.returncode == 3
    (command,) = (line.strip() for line in done.stderr.splitlines() if line.startswith("    "))
    plain = {"PATH": f"{programs}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-c", command], env=plain, check=True)
    update, install = (programs / "calls").read_text().splitlines()
    assert update == " apt-get update"
    assert re.fullmatch(
        r"noninteractive apt-get install -y .*-o APT::Cmd::Pattern-Only=true.* linux-source-6\.12", install
    )


def test_a_later_debian_gets_the_second_kernel_from_debian_12(programs: Path, tmp_path: Path) -> None:
    """The path of the printed script is quoted if it has a space."""
    _program(programs / "id", "echo 1000")
    checkout = tmp_path / "my labs"
    (checkout / "kmod" / "sandbox").mkdir(parents=True)
    shutil.copy(REPOSITORY / "setup.sh", checkout)
    shutil.copy(REPOSITORY / "kmod" / "sandbox" / "debian-12.sh", checkout / "kmod" / "sandbox")
    done = set_up(programs, "kernels", codename="trixie", checkout=checkout).stderr
    plain, script = (line.strip() for line in done.splitlines() if line.startswith("    "))
    assert plain.endswith(" linux-source-6.12")
    assert script == f"sudo {checkout}/kmod/sandbox/debian-12.sh linux-source-6.1".replace("my labs", "my\\ labs")


def on_a_disk_of_20_mb(folder: Path, *command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the repository, with such a disk at this folder."""
    apart = f'mount -t tmpfs -o size=20m none "{folder}"; exec "$@"'
    return run_program(
        ["unshare", "--map-root-user", "--mount", "--", "sh", "-ec", apart, "sh", *command],
        cwd=REPOSITORY,
        env={**os.environ, **settings},
    )


def test_room_is_checked_on_the_disk_of_the_future_folder(tmp_path: Path) -> None:
    folder = str(tmp_path / "not yet" / "there")
    assert on_a_disk_of_20_mb(tmp_path, "./setup.sh", "--room", folder, "20", "a thing").returncode == 0
    done = on_a_disk_of_20_mb(tmp_path, "./setup.sh", "--room", folder, "21", "a thing", "do without")
    assert done.returncode == 3
    assert done.stderr == (
        f"setup: a thing takes up to 21 MB in {folder}, and its disk has 20 MB free; "
        "free some space, or do without, then run the same make again\n"
    )


def test_a_kernel_is_not_begun_on_a_disk_without_room(tmp_path: Path) -> None:
    """tar would print an error for each of a hundred thousand files."""
    done = on_a_disk_of_20_mb(tmp_path, "make", "-s", "kernel", LONGHAUL_CACHE=str(tmp_path / "a cache"))
    assert done.returncode == 2
    sentence = next(line for line in done.stderr.splitlines() if not line.startswith("make"))
    assert sentence.startswith(f"setup: building the guest kernel 6.12 takes up to 1900 MB in {tmp_path}/a cache"), (
        sentence
    )
    assert "tar:" not in done.stderr


def test_a_package_index_out_of_reach_gets_a_sentence(tmp_path: Path) -> None:
    """pip itself only reports that a version does not exist."""
    for file in ("Makefile", "setup.sh", "requirements.lock", "pyproject.toml"):
        shutil.copy(REPOSITORY / file, tmp_path)
    unreachable = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull}
    done = run_program(
        ["make", "-s", ".venv/.stamp-run"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if not name.startswith("PIP_")} | unreachable,
    )
    assert done.returncode == 2
    assert "setup: pip could not install the Python packages into .venv" in done.stderr
    assert "check the network or set PIP_INDEX_URL" in done.stderr
    assert not (tmp_path / ".venv" / ".stamp-run").exists()


def test_a_part_of_the_agent_compiles_below_a_folder_with_a_space(tmp_path: Path) -> None:
    """The objects have the same bytes as in any other folder."""
    built = []
    for name in ("a b's $HOME", "plain"):
        sources = tmp_path / name / "orchestrator" / "agent"
        shutil.copytree(REPOSITORY / "orchestrator" / "agent", sources, ignore=shutil.ignore_patterns("build"))
        shutil.copytree(REPOSITORY / "kmod", tmp_path / name / "kmod", ignore=shutil.ignore_patterns("sandbox"))
        subprocess.run(["make", "-s", "-C", str(sources), "build/plan/fields.o", "build/system/fatal.o"], check=True)
        built.append([(sources / "build" / part).read_bytes() for part in ("plan/fields.o", "system/fatal.o")])
    assert built[0] == built[1]

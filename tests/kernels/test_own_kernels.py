"""Kernels from patches, folders and repositories, compiled, run and bisected. The first one compiles everything, the others what differs."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.kernels.named_kernels import archive_of
from tests.kernels.command_line import longhaul
from tests.kernels.wide_series import SERIES, write_series
from tests.support.small_linux import commit, git

CUBIC = "net/ipv4/tcp_cubic.c"
BETA = "static int beta __read_mostly = 717;"
QUEUE = ("--measure", "queue_mean")


def run(kernel: str, *more: str) -> dict[str, Any]:
    """The document of a run of `quick` on a kernel."""
    found: dict[str, Any] = json.loads(
        longhaul("run", "quick", "--set", f'kernel="{kernel}"', "--json", *more).splitlines()[0]
    )
    document: dict[str, Any] = found["runs"][0]
    return document


def edit(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text, before
    file.write_text(text.replace(before, after, 1))


@pytest.fixture(scope="session")
def linux(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source of 6.12 in a Git repository."""
    folder = tmp_path_factory.mktemp("linux")
    subprocess.run(["tar", "xf", archive_of("6.12"), "--strip-components=1", "-C", folder], check=True)
    # Debian's names everything at the top, a clone of Linux does not.
    edit(folder / ".gitignore", "\n/*\n", "\n")
    commit(folder, "Linux 6.12")
    return folder


@pytest.fixture
def patches(linux: Path, tmp_path: Path) -> list[Path]:
    """A series of two: a smaller window after a loss, and a comment in a file that is patched twice."""
    edit(linux / CUBIC, BETA, BETA.replace("717", "600"))
    commit(linux, "tcp_cubic: reduce beta")
    edit(linux / CUBIC, "static int bic_scale", "/* A comment. */\nstatic int bic_scale")
    commit(linux, "tcp_cubic: a comment")
    git(linux, "format-patch", "--quiet", "--output-directory", str(tmp_path), "HEAD~2")
    git(linux, "reset", "--quiet", "--hard", "HEAD~2")
    return sorted(tmp_path.glob("*.patch"))


def test_a_base_with_patches_runs_beside_the_base(patches: Sequence[Path]) -> None:
    longhaul(
        "kernel", "add", "test-own-patched", "--base", "6.12", "--replace", *(f"--patch={patch}" for patch in patches)
    )
    longhaul("kernel", "build", "test-own-patched")
    stock, patched = run("6.12"), run("test-own-patched")
    assert patched["kernel"] == stock["kernel"]
    assert patched["identity"]["kernel"] != stock["identity"]["kernel"]
    assert patched["path"]["queue_packets"]["mean"] < 0.95 * stock["path"]["queue_packets"]["mean"]
    assert [one["name"] for one in patched["kernel_parts"]["patches"]] == [patch.name for patch in patches]
    assert "test-own-patched: Linux 6.12." in longhaul("show", patched["run"])
    assert "identical" in longhaul("rerun", patched["run"])
    compared = longhaul(
        "kernel", "compare", "6.12", "test-own-patched", "quick", "--for", "queue_mean", "--repeats", "3", "--trace"
    )
    assert "kernel test-own-patched" in compared
    worse = ("kernel", "compare", "test-own-patched", "6.12", "quick", "--for", "queue_mean", "--repeats", "3")
    assert "worse" in longhaul(*worse, code=1)


def test_a_series_that_changes_structures_runs_beside_the_base(linux: Path, tmp_path: Path) -> None:
    assert len({name for _, edits in SERIES for name, _, _ in edits}) == 16
    words = [f"--patch={patch}" for patch in write_series(linux, tmp_path)]
    longhaul("kernel", "add", "test-own-wide", "--base", "6.12", "--replace", *words)
    longhaul("kernel", "build", "test-own-wide")
    lossy = ("--set", "path.loss=1%", "--set", "flows.app.cc=bbr", "--set", "expect=[]")
    stock, wide = run("6.12", *lossy), run("test-own-wide", *lossy)
    assert wide["flows"][0]["goodput_bps"] != stock["flows"][0]["goodput_bps"]
    # Three quarters of the window, as the new operation is called for lost packets.
    assert wide["flows"][0]["cwnd_packets"]["mean"] < 0.9 * stock["flows"][0]["cwnd_packets"]["mean"]
    assert wide["fidelity"]["checks"]


def test_without_a_patch_it_is_the_kernel_of_kernel_lock(linux: Path) -> None:
    longhaul("kernel", "add", "test-own-stock", "--git", str(linux), "--rev", "HEAD", "--replace")
    longhaul("kernel", "build", "test-own-stock")
    assert run("test-own-stock")["trace_sha256"] == run("6.12")["trace_sha256"]


def test_an_edit_compiles_one_file_and_gives_the_bytes_of_a_whole_build(linux: Path) -> None:
    longhaul("kernel", "add", "test-own-tree", "--tree", str(linux), "--replace")
    longhaul("kernel", "build", "test-own-tree")
    before = run("test-own-tree")
    edit(linux / CUBIC, BETA, BETA.replace("717", "650"))
    begun_s = time.monotonic()
    built = Path(longhaul("kernel", "build", "test-own-tree").splitlines()[0])
    print(f"\nmeasured: a rebuild after an edit of tcp_cubic.c: {time.monotonic() - begun_s:.1f} s")
    edited = run("test-own-tree")
    assert edited["run"] != before["run"]
    assert edited["path"]["queue_packets"]["mean"] < before["path"]["queue_packets"]["mean"]
    kernel = (built / "linux").read_bytes()
    # Everything again, in an empty build tree.
    trees = built.parent / "trees"
    aside = trees.with_name("trees-aside")
    trees.rename(aside)
    try:
        shutil.rmtree(built)
        assert Path(longhaul("kernel", "build", "test-own-tree").splitlines()[0]) == built
    finally:
        shutil.rmtree(trees)
        aside.rename(trees)
    assert (built / "linux").read_bytes() == kernel
    git(linux, "checkout", "--quiet", ".")


@pytest.fixture(scope="session")
def history(linux: Path) -> tuple[Path, str, str]:
    """The repository with 64 commits more: the 41st changes what CUBIC does, and the 31st does not compile."""
    first = git(linux, "rev-parse", "HEAD")
    files = sorted((linux / "net/ipv4").glob("tcp_*.c"))
    for number in range(1, 65):
        if number == 41:
            edit(linux / CUBIC, BETA, BETA.replace("717", "600"))
        elif number == 31:
            edit(linux / CUBIC, BETA, f"int broken here;\n{BETA}")
        elif number == 32:
            edit(linux / CUBIC, "int broken here;\n", "")
        else:
            file = files[number % len(files)]
            file.write_text(f"{file.read_text()}/* Step {number}. */\n")
        commit(linux, "tcp_cubic: reduce beta" if number == 41 else f"step {number}")
    last = git(linux, "rev-parse", "HEAD")
    git(linux, "branch", "--quiet", "history")
    git(linux, "reset", "--quiet", "--hard", first)
    return linux, first, last


def test_a_bisect_names_the_commit_and_continues_after_a_kill(
    history: tuple[Path, str, str], tmp_path: Path, home: Path
) -> None:
    linux, first, last = history
    words = ("bisect", "quick", "--tree", str(linux), "--good", first, "--bad", last, *QUEUE)
    command = [sys.executable, "-m", "longhaul.cli.main", *words]
    begun_s = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if "suspects" in line:
                child.send_signal(signal.SIGKILL)
                break
    kept = [step["step"] for file in (home / "bisects").glob("*.json") for step in json.loads(file.read_text())]
    assert kept == [first, last]
    report = tmp_path / "report.html"
    printed = longhaul(*words, "--report", str(report))
    print(f"\nmeasured: a bisect of 64 commits: {time.monotonic() - begun_s:.0f} s")
    assert "the good end" not in printed
    assert re.search(r"the first with the change: [0-9a-f]{12} tcp_cubic: reduce beta", printed)
    assert "queue_mean" in printed
    assert report.stat().st_size > 10_000
    document = json.loads(longhaul(*words, "--json").splitlines()[0])
    assert document["runs"] == 0
    assert document["found"]["verdict"] == "bad"
    assert document["before"]["verdict"] == "good"
    assert min(document["found"]["values"]) < document["threshold"] < max(document["before"]["values"])
    # The repository is as it was.
    assert git(linux, "status", "--short") == ""
    assert git(linux, "rev-parse", "HEAD") == first


def test_a_bisect_skips_what_does_not_compile_and_names_the_suspects(history: tuple[Path, str, str]) -> None:
    linux, _, last = history
    broken = git(linux, "log", "--format=%H", "--grep=^step 31$", "history")
    printed = longhaul("bisect", "quick", "--tree", str(linux), "--good", f"{broken}~2", "--bad", f"{last}~23", *QUEUE)
    assert re.search(r"tcp_cubic: reduce beta", printed)
    around = longhaul("bisect", "quick", "--tree", str(linux), "--good", f"{broken}~1", "--bad", broken, *QUEUE, code=4)
    assert "this end cannot be judged" in around


def test_ends_that_do_not_differ_are_refused(history: tuple[Path, str, str]) -> None:
    linux, first, _ = history
    words = ("bisect", "quick", "--tree", str(linux), "--good", first, "--bad", "history~40")
    assert "the two ends do not differ: queue_mean is" in longhaul(*words, *QUEUE, code=2)
    assert "the two ends do not differ: both meet `expect`" in longhaul(*words, code=2)


def test_a_series_of_patches_is_bisected_by_expect(patches: Sequence[Path]) -> None:
    words = (
        "bisect",
        "quick",
        "--patches",
        str(patches[0].parent),
        "--set",
        "expect=[{measure: queue_mean, at_least: 24 packets}]",
    )
    assert "the first with the change: 0001-tcp_cubic-reduce-beta.patch" in longhaul(*words)

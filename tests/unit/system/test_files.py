"""Output for users: complete files or none, standard output, and one sentence if either cannot be written."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from longhaul.orchestrator.system.errors import PlanError, ResultsError
from longhaul.orchestrator.system.files import check_places, whole, write_whole
from tests.support.programs import run_program

FULL = Path("/dev/full")
_LONGHAUL = [sys.executable, "-m", "longhaul.cli.main"]
_LISTED = [*_LONGHAUL, "list"]


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    output = tmp_path / "report.md"
    write_whole(output, "first")
    with output.open() as reader:
        write_whole(output, b"second")
        assert reader.read() == "first", "a reader has the old or the new file"
        output.chmod(0o600)
        write_whole(output, b"third")
    assert output.read_text() == "third"
    assert stat.S_IMODE(output.stat().st_mode) == 0o600, "its permissions stay as before"
    assert os.listdir(tmp_path) == ["report.md"]


def test_an_interrupted_write_keeps_the_former_file(tmp_path: Path) -> None:
    output = tmp_path / "home.tar"
    output.write_text("yesterday's")
    with pytest.raises(KeyboardInterrupt), whole(output) as place:
        place.write_text("half")
        raise KeyboardInterrupt
    assert output.read_text() == "yesterday's"
    assert os.listdir(tmp_path) == ["home.tar"]


def test_a_link_and_a_pipe_are_written_where_they_are(tmp_path: Path) -> None:
    link, target, pipe = tmp_path / "link", tmp_path / "target", tmp_path / "pipe"
    link.symlink_to(target)
    write_whole(link, "through")
    assert link.is_symlink()
    assert target.read_text() == "through"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "along")
    assert os.read(reader, 100) == b"along"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_full_disk_is_an_error_and_a_device_stays_a_device() -> None:
    with pytest.raises(ResultsError, match=r"^writing /dev/full: No space left on device; free some space, or name "):
        write_whole(FULL, "more")
    assert stat.S_ISCHR(FULL.stat().st_mode)


@pytest.mark.parametrize(
    ("name", "what"),
    [("missing/a.xml", "there is no folder .*missing; create it first"), ("", "it is a folder; name a file")],
)
def test_an_unwritable_place_is_an_error_before_any_computation(tmp_path: Path, name: str, what: str) -> None:
    with pytest.raises(PlanError, match=what):
        check_places(None, tmp_path / name)
    with pytest.raises(PlanError, match=what):
        write_whole(tmp_path / name, "")


def test_unbuffered_output_comes_at_once() -> None:
    waiting = "import time; from longhaul.orchestrator.system.files import standard_output as s\nwith s(): print('here'); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-u", "-c", waiting], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.kill()


@pytest.mark.parametrize("words", [["list"], ["list", "--json"], ["show", "nowhere", "--json"]])
def test_standard_output_on_a_full_disk_is_an_error(words: list[str]) -> None:
    with FULL.open("w") as full:
        done = subprocess.run([*_LONGHAUL, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 4
    *before, last = done.stderr.splitlines()
    assert last == "longhaul: writing to standard output: No space left on device; free some space"
    assert all(line.startswith("longhaul: ") for line in before)


def test_a_reader_that_closes_the_pipe_causes_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(_LISTED, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_closed_output_is_no_error() -> None:
    done = run_program(["sh", "-c", '"$@" >&-', "sh", *_LISTED])
    assert (done.returncode, done.stderr) == (0, "")

"""Contents of sources: which files of a folder count, archives, repositories, and what is refused."""

from __future__ import annotations

import io
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from longhaul.orchestrator.modules.content import content_files, content_hash, place_of
from tests.support.own_controls import reno_source


def folder_of(path: Path) -> Path:
    """A folder with a source, a Makefile that names a table, and files that no build reads."""
    (path / "sub").mkdir(parents=True)
    (path / "a.c").write_text(reno_source("a"))
    (path / "sub" / "b.h").write_text("#define B 1\n")
    (path / "Makefile").write_text("obj-m := a.o\nmade.h: table.csv\n\tcp $< $@\n")
    for name in ("table.csv", "README.md", "a.mod.c", "a.o", "notes with spaces.txt", "sub/other.csv"):
        (path / name).write_text("1\n")
    return path


FILES = ["Makefile", "a.c", "sub/b.h", "table.csv"]


def test_what_a_build_reads_counts_and_nothing_else(tmp_path: Path) -> None:
    assert sorted(content_files(folder_of(tmp_path / "one"))) == FILES


def test_a_flat_folder_of_sources_keeps_the_hash_that_it_always_had(tmp_path: Path) -> None:
    (tmp_path / "tcp_x.c").write_text("int x;\n")
    (tmp_path / "x.h").write_text("int y;\n")
    (tmp_path / "x.yaml").write_text("not a source\n")
    assert content_hash(content_files(tmp_path)) == "5f83aea5af4fd29aef7af48235b63683"


def test_archives_and_repositories_have_the_hash_of_their_folder(tmp_path: Path) -> None:
    folder, cache = folder_of(tmp_path / "one"), tmp_path / "cache"
    wanted = content_hash(content_files(folder))
    with tarfile.open(tmp_path / "one.tar.xz", "w:xz") as archive:
        archive.add(folder, "one-1.0")
    with zipfile.ZipFile(tmp_path / "one.zip", "w") as packed:
        for name, file in content_files(folder).items():
            packed.write(file, name)
    git = ["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@localhost"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"], ["tag", "v1"]):
        subprocess.run([*git, *words], check=True)
    for written in (str(tmp_path / "one.tar.xz"), str(tmp_path / "one.zip"), f"git+file://{folder}@v1"):
        assert place_of(written, cache).name == wanted, written
    part = place_of(f"git+file://{folder}@v1#subdirectory=sub", cache)
    assert sorted(content_files(part)) == ["b.h"]


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("git+file:///nowhere/at/all", "a repository that can be fetched; file:///nowhere/at/all: fatal:"),
        ("git+ext::sh -c true", r"git\+URL, as in"),
        ("git+file://-x", "a repository that can be fetched|git\\+URL"),
        ("sha256:12", "sha256: and 32 hexadecimal digits"),
        ("sha256:" + "0" * 32, "a module that was uploaded here before"),
    ],
)
def test_a_wrong_place_is_refused(tmp_path: Path, written: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        place_of(written, tmp_path)


def test_a_path_without_anything_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"that exists; .*/gone does not"):
        content_files(tmp_path / "gone")


def test_an_archive_that_unpacks_to_more_than_a_source_has_is_refused(tmp_path: Path) -> None:
    file = io.BytesIO(b"\0" * (65 * 2**20))
    with tarfile.open(tmp_path / "big.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("big.c")
        member.size = 65 * 2**20
        archive.addfile(member, file)
    with pytest.raises(ValueError, match="an archive of at most 5000 files and 64 MiB"):
        place_of(str(tmp_path / "big.tar.gz"), tmp_path)

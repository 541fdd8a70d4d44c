"""The files of a module's source: of a folder, an archive or a git repository, known by the hash of their content.

    ./mymodule/     a folder               mymodule.tar.xz, mymodule.zip     an archive      tcp_mine.ko     an object
    git+https://host/mymodule.git@v1#subdirectory=linux                      a repository, a revision and a folder in it
        |
        v
    $LONGHAUL_CACHE/own/<hash>/     the copy that is built and run, so that a run stays repeatable when the folder has changed or is gone

Of a folder count what a build reads: sources, headers, Makefiles, Kbuild files, scripts, and every file that a Makefile names. Products of
an earlier build, documents and the folders of version control do not, so that they change no hash.

Refused are links, whose targets may belong to another owner, and file names that make or a shell could read as more than a name.
"""

from __future__ import annotations

import hashlib
import lzma
import re
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath

from longhaul.orchestrator.system.locks import making
from longhaul.orchestrator.system.process import printable, run_program

_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_REFERENCE = re.compile(r"sha256:([0-9a-f]{32})")
_MOST_BYTES = 4 * 2**20
_MOST_FILES = 200
_MOST_FOLDERS = 20
# Files that are looked at to find those: a tree of Linux has 90,000.
_MOST_ENTRIES = 5_000
_MOST_ARCHIVE_BYTES = 64 * 2**20
_CLONE_S = 120

_SOURCES = (".c", ".h", ".S", ".s", ".inc", ".def", ".in", ".mk", ".sh", ".py", ".pl", ".awk", ".sed", ".m4", ".tbl")
_SCRIPTS = (".sh", ".py", ".pl", ".awk", "configure")
_MAKEFILES = re.compile(r"(GNU|BSD)?[Mm]akefile(\..+)?|Kbuild(\..+)?|Kconfig(\..+)?|configure|.*\.mk")
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".zip")
# Written by a build: they are made again.
_PRODUCTS = re.compile(r".*\.mod\.c|.*\.ko\.(sig|cmd)|\.?tmp_.*")
# As pip writes them: git+URL@REVISION#subdirectory=FOLDER.
_GIT = re.compile(
    r"git\+((?:https?|ssh|git|file)://(?:[\w.~-]+@)?[^\s@#]+)(?:@(\w[\w./-]{0,199}))?(?:#subdirectory=(\w[\w./-]{0,199}))?",
    re.ASCII,
)


def is_reference(written: str) -> bool:
    """Whether an entry of `modules` is a hash, and not a path."""
    return written.startswith("sha256:")


def is_repository(written: str) -> bool:
    """Whether an entry of `modules` is the address of a git repository."""
    return written.startswith("git+")


def reference(source: str) -> str:
    """The entry of `modules` for the content with this hash."""
    return f"sha256:{source}"


def place_of(written: str, cache: Path) -> Path:
    """The path of an entry of `modules`, a repository's after it was fetched; ValueError states what is needed instead."""
    if is_repository(written):
        return cache / "own" / _fetched(written, cache)
    if not is_reference(written):
        path = Path(written)
        return cache / "own" / _unpacked_once(path, cache) if _is_archive(path) else path
    match = _REFERENCE.fullmatch(written)
    if match is None:
        raise ValueError("sha256: and 32 hexadecimal digits")
    place = cache / "own" / match[1]
    if not place.is_dir():
        raise ValueError("a module that was uploaded here before")
    return place


def content_files(path: Path) -> dict[str, Path]:
    """The files of a folder that its build reads, or the one object, by their names in it."""
    try:
        if path.suffix == ".ko" and path.is_file():
            files = {path.name: path}
        elif path.is_dir():
            files = _folder_files(path)
        else:
            if not path.exists():
                raise ValueError(f"a folder, an archive or an object that exists; {path} does not")
            files = {}
        for name, file in files.items():
            _check_file(name, file)
        if len(files) > _MOST_FILES:
            raise ValueError(f"at most {_MOST_FILES} files of source; it has {len(files)}")
        sizes = {name: file.stat().st_size for name, file in files.items()}
        if sum(sizes.values()) > _MOST_BYTES:
            largest = max(sizes, key=lambda name: sizes[name])
            raise ValueError(f"at most {_MOST_BYTES // 2**20} MiB of source; the largest file is {largest}")
    except OSError as error:
        raise ValueError(f"a folder that can be read ({error.strerror})") from error
    return files


def content_hash(files: Mapping[str, Path]) -> str:
    """The hash of a content."""
    digest = hashlib.sha256()
    for name in sorted(files):
        content = files[name].read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:32]


def adopt(paths: Sequence[Path], cache: Path) -> list[str]:
    """Copy them into the cache; the hashes of their content, which are their names there."""
    sources = []
    for path in paths:
        files = content_files(path)
        sources.append(content_hash(files))
        target = cache / "own" / sources[-1]
        if target.is_dir():
            continue
        with making(target.parent) as new:
            copy = new / "module"
            copy.mkdir()
            for name, file in files.items():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy / name)
                # Archives and uploads have no modes of files; a Makefile may start its scripts by their names.
                if name.endswith(_SCRIPTS):
                    (copy / name).chmod(0o755)
            # Another process may have been quicker with the same content.
            if not target.is_dir():
                copy.rename(target)
    return sources


def is_hash(name: str) -> bool:
    """Whether it is the hash of a content."""
    return _REFERENCE.fullmatch(f"sha256:{name}") is not None


def is_plain_name(name: str) -> bool:
    """Whether make and a shell can read it only as a file's name."""
    return _FILE_NAME.fullmatch(name) is not None


def is_plain_path(name: str) -> bool:
    """The same of a path within a folder."""
    return all(map(is_plain_name, name.split("/")))


def is_source(name: str) -> bool:
    """Whether a build reads a file of this name, whatever the Makefile names."""
    last = PurePosixPath(name).name
    return (last.endswith(_SOURCES) or is_makefile(last)) and not _PRODUCTS.fullmatch(last)


def is_makefile(name: str) -> bool:
    """Whether it is a file of make or Kbuild."""
    return _MAKEFILES.fullmatch(name) is not None


def _folder_files(path: Path) -> dict[str, Path]:
    everything = dict(_walk(path))
    chosen = {name: file for name, file in everything.items() if is_source(name)}
    named = "\n".join(
        file.read_text(errors="replace")
        for name, file in chosen.items()
        if is_makefile(file.name) and not file.is_symlink()
    )
    words = set(re.findall(r"[\w.-]+", named))
    for name, file in everything.items():
        if file.name in words and name not in chosen and not file.name.endswith((".o", ".ko")):
            chosen[name] = file
    return chosen


def _walk(path: Path) -> Iterator[tuple[str, Path]]:
    """The files below a folder by their names in it, hidden ones only where they are sources."""
    folders, count = [path], 0
    while folders:
        folder = folders.pop()
        for file in sorted(folder.iterdir()):
            count += 1
            if count > _MOST_ENTRIES:
                raise ValueError(
                    f"a folder of a module, with at most {_MOST_ENTRIES} files; `longhaul kernel add` takes a tree of Linux"
                )
            if file.is_dir() and not file.is_symlink():
                if not file.name.startswith("."):
                    folders.append(file)
            elif not file.name.startswith(".") or is_source(file.name):
                yield file.relative_to(path).as_posix(), file


def _check_file(name: str, file: Path) -> None:
    if not is_plain_path(name):
        raise ValueError(f"file names of letters, digits and _ . -, up to 64 of them; {name!r} is not")
    if file.is_symlink() or not file.is_file():
        raise ValueError(f"plain files; {name} is a link or not a file")
    if name.count("/") > _MOST_FOLDERS:
        raise ValueError(f"at most {_MOST_FOLDERS} folders in each other")


def _is_archive(path: Path) -> bool:
    return path.name.endswith(_ARCHIVES) and path.is_file()


def _unpacked_once(archive: Path, cache: Path) -> str:
    about = archive.stat()
    return _unpacked(archive, cache, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=64)
def _unpacked(archive: Path, cache: Path, changed_ns: int, size: int) -> str:
    """The hash of an archive's content, which is in the cache then; each point of a sweep asks for it."""
    with tempfile.TemporaryDirectory(prefix="longhaul-") as scratch:
        folder = Path(scratch)
        try:
            for name, content in _members(archive):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)
        except (
            tarfile.TarError,
            zipfile.BadZipFile,
            zlib.error,
            lzma.LZMAError,
            EOFError,
            NotImplementedError,
        ) as error:
            raise ValueError(f"an archive that can be read ({error})") from None
        except OSError as error:
            raise ValueError(f"an archive that can be read ({error.strerror or error})") from None
        return adopt([_inner(folder)], cache)[0]


def _inner(folder: Path) -> Path:
    """The folder that an archive has its files in, if it has one."""
    entries = [*folder.iterdir()]
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else folder


def _members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """The files of an archive, those of hidden folders left out; ValueError for names, links and sizes that no source has."""
    left = _MOST_ARCHIVE_BYTES
    for count, (name, size, is_file, read) in enumerate(_entries(archive)):
        left -= size
        if count >= _MOST_ENTRIES or left < 0:
            raise ValueError(f"an archive of at most {_MOST_ENTRIES} files and {_MOST_ARCHIVE_BYTES // 2**20} MiB")
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise ValueError(f"an archive whose files are within its folder; {name[:80]!r} is not")
        if any(part.startswith(".") for part in path.parts):
            continue
        if is_file:
            yield str(path), read()
        elif is_source(name):
            raise ValueError(f"plain files; {name[:80]} is a link or not a file")


def _entries(archive: Path) -> Iterator[tuple[str, int, bool, Callable[[], bytes]]]:
    """Each member but folders: its name, its size, whether it is a file, and its content."""
    if archive.name.endswith(".zip"):
        with zipfile.ZipFile(archive) as packed:
            for one in packed.infolist():
                if not one.is_dir():
                    plain = (one.external_attr >> 28) in (0, stat.S_IFREG >> 12)
                    yield one.filename, one.file_size, plain, partial(packed.read, one)
        return
    with tarfile.open(archive, mode="r|*") as packed:
        for member in packed:
            if not member.isdir():
                content = packed.extractfile(member) if member.isreg() and not member.issparse() else None
                yield member.name, member.size, content is not None, content.read if content else bytes


@lru_cache(maxsize=64)
def _fetched(address: str, cache: Path) -> str:
    """The hash of the content of a repository's revision, which is in the cache then."""
    match = _GIT.fullmatch(address)
    if match is None:
        raise ValueError("git+URL, as in git+https://host/name.git@v1#subdirectory=linux")
    url, revision, folder = match.groups()
    if folder and ".." in folder.split("/"):
        raise ValueError("a #subdirectory within the repository")
    with tempfile.TemporaryDirectory(prefix="longhaul-") as scratch:
        tree = Path(scratch, "tree")
        # The server may allow only branches and tags to be fetched by themselves.
        for words in (
            ["init", "--quiet"],
            ["fetch", "--quiet", "--depth=1", "--", url, revision or "HEAD"],
            ["checkout", "--quiet", "FETCH_HEAD"],
        ):
            _run_git(["init", "--quiet", str(tree)] if words[0] == "init" else ["-C", str(tree), *words], url, revision)
        place = tree / folder if folder else tree
        if not place.is_dir():
            raise ValueError(f"a folder of the repository; {folder} is not")
        return adopt([place], cache)[0]


def _run_git(words: Sequence[str], url: str, revision: str | None) -> None:
    environment = {"GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1", "LC_ALL": "C"}
    try:
        done = run_program(
            ["git", "-c", "core.hooksPath=/dev/null", *words], environment=environment, longest_s=_CLONE_S
        )
    except FileNotFoundError:
        raise ValueError("git on this machine: run `apt-get install git`") from None
    if done.returncode:
        lines = printable(done.stderr).strip().splitlines() or ["git failed"]
        at = f" at {revision}" if revision else ""
        first = next((line for line in lines if line.startswith("fatal:")), lines[-1])
        raise ValueError(f"a repository that can be fetched; {url}{at}: {first.strip()[:200]}")

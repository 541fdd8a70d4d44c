"""Confinement: the arguments that start a command with untrusted code.

    choom                 the first to go when memory runs out
     `- bwrap, setpriv    only as root: makes the files of the view accessible to a user that no account has
         `- bwrap         no network; own users, mounts, processes and IPC; files: the view; no privileges to gain; syscalls.py
             `- prlimit   memory, processor time, files, processes
                 `- the command

The process that starts the command also ends it: all of it dies with the first of these processes. It guarantees that the command reads
only the system's programs and libraries and the files of its view, and writes only where the view allows it. A machine
on which this does not work is refused with BackendUnavailable; untrusted code never starts without it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain
from pathlib import Path

from longhaul.orchestrator.system.errors import BackendError, BackendUnavailable
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.process import run_untrusted
from longhaul.orchestrator.system.settings import Settings
from longhaul.orchestrator.system.syscalls import call_filter

_BWRAP = "/usr/bin/bwrap"
_OTHERS = ("/usr/bin/setpriv", "/usr/bin/prlimit", "/usr/bin/choom")
# Root runs it as this user, whose number Debian's policy reserves, so that no account has it. Limits on processes do not
# apply to root, nor do the modes of files.
UNTRUSTED_USER = 65533

# The system's own programs and libraries, and the files that find them; not all of /usr, where machines keep other things.
_SYSTEM = ("/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/include")
_SYSTEM_OR_LINK = ("/bin", "/sbin", "/lib", "/lib32", "/lib64")
_SYSTEM_SEARCH = ("/etc/alternatives", "/etc/ld.so.cache")

_PROBE_S = 20
_OPEN_FILES = 1024
_INSTALL = "run `apt-get install bubblewrap util-linux`"
_ALLOW = (
    "allow user namespaces (in a container see docs/containers.md; on Ubuntu run `sysctl kernel.apparmor_restrict_unprivileged_userns=0`), "
    "or set LONGHAUL_CONFINEMENT=off if the code is your own"
)


@dataclass(frozen=True, slots=True)
class View:
    """The files that a command sees besides the system: each key is the path where it sees them, each value their source."""

    reads: Mapping[str, Path] = field(default_factory=dict)
    writes: Mapping[str, Path] = field(default_factory=dict)
    # Empty folders in memory, and their sizes in bytes.
    scratch: Mapping[str, int] = field(default_factory=dict)
    # Empty, read-only folders.
    folders: Sequence[str] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = "/"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of each process, and of their number; the caller limits wall time."""

    cpu_s: int
    file_bytes: int
    # None: as many as the user may have; a number works only in a user namespace of its own, as confined commands have one.
    processes: int | None
    # Address space. None: a kernel that keeps a shadow of all memory reserves more than the machine has.
    memory_bytes: int | None

    def words(self) -> list[str]:
        """The arguments before a command that set these limits."""
        processes = [] if self.processes is None else [f"--nproc={self.processes}"]
        memory = [] if self.memory_bytes is None else [f"--as={self.memory_bytes}"]
        files = [f"--fsize={self.file_bytes}", f"--nofile={_OPEN_FILES}", "--core=0"]
        return ["/usr/bin/prlimit", f"--cpu={self.cpu_s}", *processes, *memory, *files, "--"]


def confined(command: Sequence[str], view: View, limits: Limits, settings: Settings) -> list[str]:
    """The arguments that start it; only descriptors are inherited."""
    check_possible(settings)
    return _words(command, view, limits, settings)


_possible = False


def check_possible(settings: Settings) -> None:
    """Try it with a program that does nothing; a success is remembered."""
    global _possible
    if _possible:
        return
    words = _words(["/usr/bin/true"], View(), Limits(_PROBE_S, 2**20, 8, 2**30), settings)
    answer = run_untrusted(words, "", longest_s=_PROBE_S, most_bytes=2**16)
    if answer.output is None:
        missing = [one for one in (_BWRAP, *_OTHERS) if not Path(one).is_file()]
        if missing:
            raise BackendUnavailable("confinement", [(one, _INSTALL) for one in missing])
        piece = f"the kernel's permission to run user code confined ({answer.problem})"
        raise BackendUnavailable("confinement", [(piece, _ALLOW)])
    _possible = True


def _words(command: Sequence[str], view: View, limits: Limits, settings: Settings) -> list[str]:
    _check_sources(chain(map(Path, _SYSTEM), view.reads.values(), view.writes.values()), command, settings)
    limited = [*limits.words(), *command]
    before, view = _as_other_user(view) if os.geteuid() == 0 else ([], view)
    # The innermost bwrap reads its filter from descriptor 4, which all processes before it pass on; those from 5 on are a guest's.
    # The environment is cleared first of all: other processes can read the one that a process was started with.
    opened = ["/usr/bin/env", "-i", "/bin/sh", "-c", 'exec 4<"$0" && exec "$@"', str(_filter_file(settings.cache))]
    return [*opened, "/usr/bin/choom", "-n", "1000", "--", *before, *_inside(view), "--", *limited]


def _check_sources(sources: Iterator[Path], command: Sequence[str], settings: Settings) -> None:
    home = settings.home.resolve()
    for source in sources:
        if home.is_relative_to(source.resolve()):
            raise BackendError(
                "confining", command[0], f"it must see {source}, which contains the store {home}", "move LONGHAUL_HOME"
            )


def _as_other_user(view: View) -> tuple[list[str], View]:
    """For root: each source of the view at a path that the unprivileged user can reach, and the view with these sources."""
    # Root without capabilities may not signal that user's processes: they die with their namespace.
    words = [
        _BWRAP,
        "--unshare-pid",
        "--die-with-parent",
        "--cap-drop",
        "ALL",
        "--cap-add",
        "CAP_SETUID",
        "--cap-add",
        "CAP_SETGID",
    ]
    words += ["--cap-add", "CAP_SETPCAP", "--ro-bind", "/usr", "/usr", *_links(), "--dir", "/tmp"]  # noqa: S108
    words += ["--dir", "/etc", *chain.from_iterable(("--ro-bind-try", one, one) for one in _SYSTEM_SEARCH)]
    # Its new /proc requires a complete one.
    words += ["--dev-bind", "/proc", "/proc", "--dev-bind", "/dev", "/dev"]
    reads, writes = {}, {}
    for number, (place, source) in enumerate(view.reads.items()):
        reads[place] = Path(f"/read-{number}")
        words += ["--ro-bind", str(source), str(reads[place])]
    for number, (place, source) in enumerate(view.writes.items()):
        writes[place] = Path(f"/write-{number}")
        words += ["--bind", str(source), str(writes[place])]
    become = ["/usr/bin/setpriv", f"--reuid={UNTRUSTED_USER}", f"--regid={UNTRUSTED_USER}", "--clear-groups"]
    become += ["--bounding-set=-all", "--inh-caps=-all", "--"]
    return [*words, "--", *become], replace(view, reads=reads, writes=writes)


def _inside(view: View) -> list[str]:
    words = [_BWRAP, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
    words += ["--cap-drop", "ALL", "--seccomp", "4", "--hostname", "confined", "--clearenv"]
    for name, value in view.environment.items():
        words += ["--setenv", name, value]
    words += chain.from_iterable(("--ro-bind-try", one, one) for one in (*_SYSTEM, *_SYSTEM_SEARCH))
    words += [*_links(), "--proc", "/proc", "--dev", "/dev"]
    words += chain.from_iterable(("--dir", one) for one in view.folders)
    for place, most_bytes in view.scratch.items():
        words += ["--size", str(most_bytes), "--tmpfs", place]
    for place, source in view.reads.items():
        words += ["--ro-bind", str(source), place]
    for place, source in view.writes.items():
        words += ["--bind", str(source), place]
    for place, target in view.links.items():
        words += ["--symlink", target, place]
    # The root and /dev are in memory too, and no limit counts what would be written there.
    return [*words, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", view.folder]


def _links() -> list[str]:
    """/bin and similar paths as this machine has them."""
    words: list[str] = []
    for one in map(Path, _SYSTEM_OR_LINK):
        if one.is_symlink():
            words += ["--symlink", str(one.readlink()), str(one)]
        elif one.is_dir():
            words += ["--ro-bind", str(one), str(one)]
    return words


def _filter_file(cache: Path) -> Path:
    """The filter of system calls, as a file."""
    program = call_filter()
    file = cache / "confinement" / f"{hashlib.sha256(program).hexdigest()[:32]}.bpf"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name(f".{file.name}-{os.urandom(8).hex()}")
        new.write_bytes(program)
        new.rename(file)
    return file

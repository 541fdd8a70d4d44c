"""What a guest needs on this machine: the release's kernel, modules and agent are installed, the rest is named with its remedy."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from longhaul.orchestrator.system.errors import BackendError, nearest
from longhaul.orchestrator.system.installation import PREBUILT
from longhaul.orchestrator.system.settings import Settings

_NO_PROCESSOR = (
    "an x86-64 processor",
    "run the experiment on another machine, through LONGHAUL_SERVER; plans, comparisons and reports work here (docs/installing.md)",
)


def _kernel_remedy(settings: Settings, kernel: str) -> str:
    from longhaul.orchestrator.kernels.build import known_kernels
    from longhaul.orchestrator.kernels.named_kernels import names

    known = [*known_kernels(), *names(settings)]
    if kernel in known:
        return f"run `longhaul kernel build {kernel}`"
    return f"add one with this name (`longhaul kernel add --help`); known: {', '.join(known)}{nearest(kernel, known)}"


def _provide(settings: Settings, kernel: str) -> None:
    """Install the release's parts, if this installation has any."""
    if PREBUILT.is_dir():
        from longhaul.orchestrator.kernels.prebuilt import provide_agent, provide_kernel

        provide_agent(settings)
        provide_kernel(settings, kernel)


def missing_files(settings: Settings, agent: Path, kernel: str) -> list[tuple[str, str]]:
    """Every missing piece, each with the command that provides it."""
    # User-Mode Linux, which guests are, has no port to ARM64.
    if platform.machine() != "x86_64":
        return [_NO_PROCESSOR]
    try:
        _provide(settings, kernel)
    except BackendError as error:
        return [(f"the release's {error.subject} ({error.what})", error.hint)]
    except PermissionError as error:
        # A cache of another user, whose umask hides it.
        return [(f"permission to read {error.filename}", "set LONGHAUL_CACHE to a folder that this user can read")]
    missing = []
    if not agent.is_file():
        missing.append(("the agent", "run `longhaul agent build`"))
    if not (settings.kernel(kernel) / "linux").is_file():
        missing.append((f"the sandbox kernel {kernel}", _kernel_remedy(settings, kernel)))
    elif not (settings.modules(kernel) / "lh_trace.ko").is_file():
        missing.append((f"the kernel modules for {kernel}", f"run `longhaul modules build --kernel {kernel}`"))
    for file in (agent, settings.kernel(kernel) / "linux"):
        # False also for a file system that is mounted noexec.
        if file.is_file() and not os.access(file, os.X_OK):
            hint = "mount its file system exec; LONGHAUL_CACHE puts the cache elsewhere"
            missing.append((f"permission to execute {file}", hint))
    memory = settings.guest_memory_dir
    if not (memory.is_dir() and os.access(memory, os.W_OK | os.X_OK)):
        missing.append(
            (f"a folder {memory} that this user can write", "create it, or set LONGHAUL_GUEST_MEMORY to another one")
        )
    elif os.statvfs(memory).f_flag & os.ST_NOEXEC:
        missing.append(
            (f"a {memory} without noexec", "set LONGHAUL_GUEST_MEMORY to a folder on a file system mounted exec")
        )
    return missing

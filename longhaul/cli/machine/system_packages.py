"""The programs and files that each capability needs, with the Debian package that contains each.

setup.sh has the same table, since it runs before there is a Python environment; a test compares the two.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from longhaul.orchestrator.system.installation import KMOD

# A command, or a file (also as a pattern), and its package.
NEEDS: dict[str, tuple[tuple[str, str], ...]] = {
    "modules": (
        ("gcc", "gcc"),
        ("make", "make"),
        ("/usr/include/linux/tcp.h", "linux-libc-dev"),
        ("/usr/lib/x86_64-linux-gnu/libc.a", "libc6-dev"),
    ),
    "kernel": (
        ("flex", "flex"),
        ("bison", "bison"),
        ("bc", "bc"),
        ("xz", "xz-utils"),
        ("patch", "patch"),
        ("/usr/src/linux-source-6.12.tar.xz", "linux-source-6.12"),
    ),
    "kernels": (("/usr/src/linux-source-6.1.tar.xz", "linux-source-6.1"),),
    "confinement": (("setpriv", "util-linux"), ("bwrap", "bubblewrap")),
    "mininet": (
        ("ip", "iproute2"),
        ("mn", "mininet"),
        ("brctl", "bridge-utils"),
        ("ping", "iputils-ping"),
    ),
    "programs": (("iperf3", "iperf3"),),
    "tests": (
        ("git", "git"),
        ("cpio", "cpio"),
        ("clang-format", "clang-format"),
        ("zsh", "zsh"),
        ("fish", "fish"),
        ("gdb", "gdb"),
        ("tshark", "tshark"),
        ("tcptrace", "tcptrace"),
        ("iperf", "iperf"),
        ("curl", "curl"),
        ("socat", "socat"),
        ("rsync", "rsync"),
        ("ssh", "openssh-client"),
        ("sshd", "openssh-server"),
    ),
    "check": (("sparse", "sparse"), ("perl", "perl"), ("man", "man-db")),
    "stock": (
        ("qemu-system-x86_64", "qemu-system-x86"),
        ("busybox", "busybox-static"),
        ("depmod", "kmod"),
        ("dkms", "dkms"),
    ),
    "bench": (("wrk", "wrk"),),
    "service": (("/usr/lib/postgresql/*/bin/initdb", "postgresql"),),
    "containers": (
        ("podman", "podman"),
        ("crun", "crun"),
        ("mmdebstrap", "mmdebstrap"),
        ("fuse-overlayfs", "fuse-overlayfs"),
        ("iptables", "iptables"),
        ("/usr/lib/podman/netavark", "netavark"),
        ("/usr/lib/podman/aardvark-dns", "aardvark-dns"),
    ),
    "hosts": (("mmdebstrap", "mmdebstrap"), ("mke2fs", "e2fsprogs"), ("ssh", "openssh-client"), ("depmod", "kmod")),
    "web": (("node", "nodejs"), ("npm", "npm")),
    "browser": (
        ("node", "nodejs"),
        ("npm", "npm"),
        ("chromium", "chromium"),
        ("firefox-esr", "firefox-esr"),
        ("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "fonts-dejavu-core"),
    ),
    "live": (("prometheus", "prometheus"), ("promtool", "prometheus")),
}

# `./setup.sh` always checks these; the others are its groups of the same names.
ALWAYS = ("modules", "kernel", "confinement", "mininet", "programs")

# Packages that no later Debian has, and the script that gets them.
_OF_DEBIAN_12 = ("linux-source-6.1",)
_FROM_DEBIAN_12 = KMOD / "sandbox" / "debian-12.sh"


def lacking(*groups: str) -> Iterator[tuple[str, str]]:
    """Every piece of these groups that this machine lacks, with the command that installs it."""
    for piece, package in dict.fromkeys(need for group in groups for need in NEEDS[group]):
        if not _there(piece):
            yield piece, f"run `{_command(package)}`"


def _command(package: str) -> str:
    """The command that installs a package here."""
    if package in _OF_DEBIAN_12 and platform.freedesktop_os_release().get("VERSION_CODENAME") != "bookworm":
        return f"sudo {shlex.quote(str(_FROM_DEBIAN_12))} {package}"
    return f"apt-get install {package}"


def _there(piece: str) -> bool:
    if piece.startswith("/"):
        return next(Path("/").glob(piece[1:]), None) is not None
    # Daemons are in folders that the PATH of an ordinary user leaves out.
    return shutil.which(piece, path=os.pathsep.join([*os.get_exec_path(), "/usr/sbin", "/sbin"])) is not None

"""A tree that has only the files of Linux by which it is known, and a Git repository of it."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from tests.support.programs import run_program

FILES: Mapping[str, str] = {
    "Makefile": "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 34\nEXTRAVERSION = -rc1\nNAME = A Name\n\nall:\n",
    "Kconfig": "mainmenu\n",
    "arch/um/Kconfig": "config UML\n",
    "net/ipv4/tcp_cubic.c": "one\ntwo\nthree\nfour\nint beta = 717;\nsix\nseven\neight\nnine\n",
    "net/ipv4/tcp_reno.c": "int reno;\n",
}


def write_linux(folder: Path) -> Path:
    """The folder with these files."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def packed() -> bytes:
    """An archive of these files, as from kernel.org."""
    found = io.BytesIO()
    with tarfile.open(fileobj=found, mode="w:xz") as archive:
        for name, text in FILES.items():
            member = tarfile.TarInfo(f"linux-6.12/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return found.getvalue()


def commit(folder: Path, subject: str) -> str:
    """Commit everything in a folder, which becomes a repository if it is none; the name of the commit."""
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", subject)
    return git(folder, "rev-parse", "HEAD")


def git(folder: Path, *words: str) -> str:
    """The output of Git in a folder."""
    identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org", "-c", "commit.gpgsign=false"]
    done = run_program(["git", "-C", str(folder), *identity, *words], check=True)
    return done.stdout.strip()


# Of Linux 6.12 itself.
BETA_PATCH = """\
--- a/net/ipv4/tcp_cubic.c
+++ b/net/ipv4/tcp_cubic.c
@@ -43,3 +43,3 @@
 static int fast_convergence __read_mostly = 1;
-static int beta __read_mostly = 717;	/* = 717/1024 (BICTCP_BETA_SCALE) */
+static int beta __read_mostly = 600;	/* = 717/1024 (BICTCP_BETA_SCALE) */
 static int initial_ssthresh __read_mostly;
"""

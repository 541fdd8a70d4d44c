"""Rules for the source trees that admins send: what an archive, and a tree after its patches, may consist of.

Files, and links that stay within the tree, of a total size. Git reads some of the files itself, and takes long for large ones: they have a
limit of their own.
"""

from __future__ import annotations

from collections.abc import Callable

from longhaul.orchestrator.system.errors import PlanError, TooLarge, visible

# The largest file of Linux has 16 MB.
_MOST_FILE_BYTES = 64 << 20
_OF_GIT = (".gitignore", ".gitattributes")
_MOST_OF_GIT_BYTES = 1 << 16
# Linux has some 60.
_MOST_LINKS = 1000
# Modes of Git's trees.
_FILES, _LINK = ("100644", "100755"), "120000"
_SMALLER = "send Linux alone"


def leaves(path: str, target: str) -> bool:
    """Whether a link at this path of a tree may lead out of the tree, judged by its text.

    `..` is allowed only at the beginning of the target, where it is above a folder: after another link it could be anywhere.
    """
    parts = [part for part in target.split("/") if part not in ("", ".")]
    up = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    return target.startswith("/") or up > path.count("/") or ".." in parts[up:]


def check_size(path: str, size: int, attempting: str, subject: str) -> None:
    """TooLarge for a file above its limit."""
    most_bytes = _MOST_OF_GIT_BYTES if path.rpartition("/")[2] in _OF_GIT else _MOST_FILE_BYTES
    if size > most_bytes:
        what = f"its file {path[:200]} has more than {most_bytes // 2**10} KiB"
        raise TooLarge(attempting, subject, visible(what), _SMALLER)


def check_entries(
    listing: str, target_of: Callable[[str], str], attempting: str, subject: str, most_bytes: int
) -> None:
    """Check a tree as `git ls-tree -r -l -z` lists it; `target_of` returns the target of a link by its object."""
    total = links = 0
    for line in listing.split("\0")[:-1]:
        about, _, path = line.partition("\t")
        mode, _, name, size = about.split()
        if mode == _LINK:
            links += 1
            if links > _MOST_LINKS:
                raise TooLarge(attempting, subject, f"it has more than {_MOST_LINKS} links", _SMALLER)
            target = target_of(name)
            if leaves(path, target):
                what = f"the link {path} leads to {target[:200]}, outside the tree"
                raise PlanError(attempting, subject, visible(what), "remove the link")
        elif mode not in _FILES:
            raise PlanError(attempting, subject, visible(f"{path} is neither a file nor a link"), "remove it")
        else:
            check_size(path, int(size), attempting, subject)
            total += int(size)
            if total > most_bytes:
                what = f"its files have more than {most_bytes // 2**20} MiB (LONGHAUL_KERNEL_BUILD_MB)"
                raise TooLarge(attempting, subject, what, _SMALLER)

"""This installation's own files: a checkout's, or what a wheel put into share/longhaul, which is laid out like a checkout.

    a checkout      CHECKOUT/kmod, .../playbooks, ...       the agent: where `make agent` builds it
    installed       PREFIX/share/longhaul/kmod, ...         the agent: in the cache, under the hash of its sources

Nobody else asks where a module of the program lies to find a file that is not one.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from longhaul.orchestrator.system.settings import cache_folder

_PACKAGE = Path(__file__).resolve().parents[1]


def _find_files() -> Path:
    """Any prefix will do, a person's own, an environment's or the machine's: it is above the packages that were installed into it."""
    for folder in _PACKAGE.parents:
        for files in (folder, folder / "share/longhaul"):
            if (files / "kmod/sandbox").is_dir():
                return files
    return _PACKAGE.parent


FILES = _find_files()
IS_CHECKOUT = _PACKAGE.parent == FILES
KMOD = FILES / "kmod"
PLAYBOOKS = FILES / "playbooks"
PAGE = FILES / "dashboards/web/dist"
AGENT_SOURCES = FILES / "orchestrator/agent"


def _find_agent() -> Path:
    if IS_CHECKOUT:
        return AGENT_SOURCES / "build/longhaul-agent"
    digest = hashlib.sha256()
    # What the agent and the modules say to each other is in a header of theirs.
    for file in (*sorted(file for file in AGENT_SOURCES.rglob("*") if file.is_file()), KMOD / "lh_dcf.h"):
        digest.update(f"{file.relative_to(FILES)}\0".encode() + file.read_bytes())
    return cache_folder() / "agents" / digest.hexdigest()[:32] / "longhaul-agent"


AGENT = _find_agent()

"""This installation's files: in a checkout, or in the share/longhaul of a wheel, which has the layout of a checkout.

    a checkout      CHECKOUT/kmod, .../playbooks, ...       the agent: where `make agent` builds it
    installed       PREFIX/share/longhaul/kmod, ...         the agent: in the cache, under the hash of its sources
                    PREFIX/share/longhaul/prebuilt/         parts of the release (orchestrator/kernels/prebuilt.py)

Only this module derives the place of data files from the place of Python modules.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from longhaul.orchestrator.system.settings import cache_folder

_PACKAGE = Path(__file__).resolve().parents[1]


def _find_files() -> Path:
    """The checkout or any prefix (a user's, an environment's, the machine's): it is above the installed packages."""
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
AGENT_FILE = "longhaul-agent"
# Parts of the release that wheels bring: kernels, modules, the agent.
PREBUILT = FILES / "prebuilt"


def agent_inputs() -> str:
    """The hash of the agent's sources."""
    digest = hashlib.sha256()
    built = AGENT_SOURCES / "build"
    sources = sorted(file for file in AGENT_SOURCES.rglob("*") if file.is_file() and built not in file.parents)
    # A header of the modules defines the interface between them and the agent.
    for file in (*sources, *sorted(KMOD.glob("lh_*.h"))):
        digest.update(f"{file.relative_to(FILES)}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:32]


def _find_agent() -> Path:
    if IS_CHECKOUT:
        return AGENT_SOURCES / "build" / AGENT_FILE
    return cache_folder() / "agents" / agent_inputs() / AGENT_FILE


AGENT = _find_agent()

"""Packages that only some commands need. The core runs experiments; each extra is named by the first command that misses it.

    pip install longhaul                    run, plan, compare, report, ..., and a service elsewhere as a server
    pip install 'longhaul[service]'         the same, with an extra; `longhaul[all]` has them all

A module that imports a package of an extra asks for it: at import (`except ImportError: need(...); raise`), or before work that would
be lost without it.
"""

from __future__ import annotations

from importlib.util import find_spec

from longhaul.orchestrator.system.errors import PackagesMissing
from longhaul.orchestrator.system.installation import FILES, IS_CHECKOUT
from longhaul.orchestrator.system.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Extra:
    """Modules by which the packages are found, and what they are for, as the end of "loading packages for"."""

    modules: tuple[str, ...]
    purpose: str


EXTRAS = {
    "service": Extra(
        ("fastapi", "uvicorn", "uvloop", "httptools", "starlette_compress", "prometheus_client"), "the service"
    ),
    "postgresql": Extra(("psycopg",), "a database in PostgreSQL"),
    "cluster": Extra(("distributed",), "runs on a Dask cluster"),
    "tuning": Extra(("optuna", "cmaes"), "a search of parameters or conditions"),
    "figures": Extra(("matplotlib",), "figures in SVG and PNG"),
    "frames": Extra(("pyarrow",), "frames of a result"),
    "query": Extra(("duckdb",), "questions in SQL"),
    "hosts": Extra(("ansible", "ansible_runner"), "the deployment of hosts"),
}


def is_installed(extra: str) -> bool:
    """Whether all packages of an extra are there, without loading them."""
    return all(_is_there(module) for module in EXTRAS[extra].modules)


def remedy_for(extra: str) -> str:
    """How to install it, in this kind of installation."""
    target = f"-e '{FILES}[{extra}]'" if IS_CHECKOUT else f"'longhaul[{extra}]'"
    return f"run `pip install {target}`"


def need(extra: str) -> None:
    """PackagesMissing if an extra is not installed."""
    if not is_installed(extra):
        what = f"`longhaul[{extra}]` is not installed"
        raise PackagesMissing("loading packages for", EXTRAS[extra].purpose, what, remedy_for(extra))


def _is_there(module: str) -> bool:
    try:
        found = find_spec(module)
    except ValueError:
        # A module that was withdrawn from the running process.
        return False
    # An uninstalled package may leave an empty folder.
    return found is not None and found.origin is not None

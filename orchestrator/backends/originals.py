"""Finds the original programs of a kept run by their hashes, if today's differ: its kernel, agent and modules.

    manifest.json's identity --> <cache>/kernels/<hash>, <cache>/modules/*, <cache>/artefacts/<sha256> --> a set (artefacts.py) --> settings that use it

Builds of kernels and modules stay in the cache under their hashes. An agent is built in one place, so a copy of the one that a guest starts
with is kept (`retain`). If the cache no longer has a program, it cannot be made from its hash: the error names the command that builds it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.backends.base import Backend
from longhaul.orchestrator.kernels.artefacts import Artefacts, hashes
from longhaul.orchestrator.plan.run import Module, Run
from longhaul.orchestrator.system.errors import BackendError, BackendUnavailable
from longhaul.orchestrator.system.installation import AGENT
from longhaul.orchestrator.system.settings import Settings

# An identity's parts besides modules; the rest are programs of this machine.
_KERNEL, _AGENT, _PROBE = "kernel", "agent", "lh_trace"


def retain(agent: Path, settings: Settings) -> None:
    """Keep an agent for later reruns; a failure to store it fails no run."""
    # A worker's agent is already in a cache.
    if settings.agent is None:
        with contextlib.suppress(BackendError, OSError):
            Artefacts(settings.cache, agent).retain(agent)


def original_backend(run: Run, identity: Mapping[str, str], settings: Settings) -> Backend:
    """A backend that uses the programs of this identity; BackendUnavailable names those that are gone."""
    backend = open_backend(run.backend, settings)
    with contextlib.suppress(BackendUnavailable):
        if backend.identity(run) == dict(identity):
            return backend
    if run.where != "guest":
        what = "it did not run in a guest, and programs of hosts are not kept"
        raise BackendUnavailable(run.backend, [], f"{what}; `longhaul rerun` without --original uses today's programs")
    backend = open_backend(run.backend, _settings_of(run, identity, settings))
    found = backend.identity(run)
    if differing := [name for name in {*found, *identity} if found.get(name) != identity.get(name)]:
        remedy = "install the version that the run was made with"
        raise _gone(run, [(f"its {name} ({identity.get(name, 'none')[:12]})", remedy) for name in sorted(differing)])
    return backend


def _settings_of(run: Run, identity: Mapping[str, str], settings: Settings) -> Settings:
    agent = settings.agent or AGENT
    kernel = settings.cache / "kernels" / identity.get(_KERNEL, "")
    if _KERNEL not in identity or not (kernel / "linux").is_file():
        remedy = f"check out the version of Longhaul that made the run, and run `longhaul kernel build {run.kernel}` there with this LONGHAUL_CACHE"
        raise _gone(run, [(f"its kernel {run.kernel} ({identity.get(_KERNEL, 'unknown')[:12]})", remedy)])
    files = {f"kernels/current-{run.kernel}/{name}": kernel / name for name in ("linux", "manifest.json", "config")}
    wanted = hashes(files) | {"agent": identity[_AGENT]}
    probe = [Module(_PROBE, {})] if _PROBE in identity else []
    for module in [*probe, *(module for module in run.modules if module.name in identity)]:
        place = f"own/{module.source}" if module.source else f"modules/current-{run.kernel}"
        wanted[f"{place}/{module.name}.ko"] = identity[module.name]
    if _PROBE not in identity:
        # A guest in real time has no probe loaded, but a cache without one is not complete.
        wanted[f"modules/current-{run.kernel}/{_PROBE}.ko"] = hashes(
            {_PROBE: settings.modules(run.kernel) / f"{_PROBE}.ko"}
        )[_PROBE]
    artefacts = Artefacts(settings.cache, agent)
    if missing_hashes := artefacts.lacking(wanted):
        missing = [
            (f"its {Path(name).stem} ({sha256[:12]})", _REMEDY)
            for name, sha256 in wanted.items()
            if sha256 in missing_hashes
        ]
        raise _gone(run, missing)
    folder = artefacts.lay_out(wanted)
    return replace(settings, cache=folder, agent=folder / "agent")


_REMEDY = "check out the version of Longhaul that made the run, run `make agent kernel` there with this LONGHAUL_CACHE, and run any experiment once"


def _gone(run: Run, missing: list[tuple[str, str]]) -> BackendUnavailable:
    listed = ", ".join(piece for piece, _ in missing)
    what = f"{listed} {'is' if len(missing) == 1 else 'are'} no longer in the cache; {missing[0][1]}"
    error = BackendUnavailable(run.backend, [], what)
    error.attempting, error.subject = "finding the programs of", f"a kept run of {run.experiment}"
    return error

"""Reruns by the current programs of runs that an earlier version kept: the trace is the same to the byte, or the rerun names the changed program.

How they were recorded: tests/support/former.py.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.execution.evaluation import rerun_verdict
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.modules.content import adopt
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.installation import AGENT
from longhaul.orchestrator.system.settings import Settings, load_settings
from tests.support.command import longhaul
from tests.support.former import MINE, unpack_home


@pytest.fixture
def lab(tmp_path: Path) -> Settings:
    settings = load_settings()
    # The original machine had the source of the user-supplied module in its cache.
    adopt([MINE], settings.cache)
    return replace(settings, home=unpack_home(tmp_path))


def test_a_rerun_is_identical_or_names_the_changed_program(lab: Settings) -> None:
    """With unchanged hashes of kernel, agent and modules the trace must be the same."""
    store = Store(lab)
    for folder in lab.home.glob("runs/*/*"):
        identity = store.manifest(folder.name)["identity"]
        done = longhaul("rerun", folder.name, "--json", home=lab.home)
        assert done.returncode in (0, 1), done.stderr
        verdict = json.loads(done.stdout)
        same_programs = open_backend("sandbox", lab).identity(store.planned(folder.name)) == identity
        assert same_programs == (verdict["differences"] == [])
        assert verdict["identical"] or verdict["differences"]
    store.database.close()


def test_another_agent_gives_another_run_with_the_same_trace(lab: Settings, tmp_path: Path) -> None:
    """As on a machine whose compiler makes other bytes from the same source: the id changes, the trace does not."""
    agent = tmp_path / "longhaul-agent"
    agent.write_bytes(AGENT.read_bytes() + b"\0")
    agent.chmod(0o755)
    store = Store(lab)
    backend = open_backend("sandbox", replace(lab, agent=agent))
    key = next(lab.home.glob("runs/*/*")).name
    manifest = store.manifest(key)
    again = Pipeline(backend, store).rerun(store.planned(key), manifest["spec"])
    verdict = rerun_verdict(manifest["document"], again)
    assert again["run"] != key
    assert "agent" in " ".join(verdict["differences"])
    kernel = open_backend("sandbox", lab).identity(store.planned(key))["kernel"]
    assert verdict["identical"] or kernel != manifest["identity"]["kernel"]
    store.database.close()

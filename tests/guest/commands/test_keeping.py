"""Kept runs of every kind are backed up, verified, repaired and run again with their original programs."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.backends.originals import original_backend
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.kernels.artefacts import Artefacts
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.backup import back_up, restore
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import BackendUnavailable
from longhaul.orchestrator.system.installation import AGENT
from longhaul.orchestrator.system.settings import Settings, load_settings
from tests.support.command import longhaul
from tests.support.documents import flip
from tests.support.folders import REPOSITORY
from tests.support.guests import experiment
from tests.support.parts import copy_of_cache

KMOD = REPOSITORY / "kmod"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("LONGHAUL_HOME", str(tmp_path / "home"))
    return load_settings()


def keep(settings: Settings, backend: str = "sandbox", **changes: Any) -> RunDocument:
    where = "guest" if backend == "mininet" else None
    plan = compile_plan(experiment(**({"duration": "1 s"} | changes)), backend=backend, where=where)
    (document,) = Pipeline(open_backend(backend, settings), Store(settings)).execute(plan)
    assert document["status"] == "done", document.get("error")
    return document


def files_of(store: Store, run: str) -> dict[str, bytes]:
    folder = store.directory(run)
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_run_of_every_kind_is_backed_up_restored_and_repaired(home: Settings, tmp_path: Path) -> None:
    mine = tmp_path / "mymodule"
    mine.mkdir()
    (mine / "tcp_mine.c").write_text((KMOD / "tcp_lhfixed.c").read_text().replace("lhfixed", "mine"))
    kinds = {
        "lh-flow": keep(home),
        "iperf3": keep(home, flows=[{"name": "one", "cc": "reno", "tool": "iperf3"}]),
        "mininet": keep(home, "mininet"),
        "user module": keep(home, modules=[str(mine)], flows=[{"name": "one", "cc": "mine"}]),
    }
    store = Store(home)
    known = {kind: files_of(store, document["run"]) for kind, document in kinds.items()}
    assert any(name.startswith("iperf3/") for name in known["iperf3"])
    assert back_up(store, tmp_path / "home.tar").runs == len(kinds)
    other = Store(replace(home, home=tmp_path / "other"))
    assert restore(other, tmp_path / "home.tar").runs == len(kinds)
    for kind, document in kinds.items():
        assert files_of(other, document["run"]) == known[kind], kind
        assert other.find(document["run"]) == store.find(document["run"]), kind
        assert set(other.states(document["run"]).values()) == {"whole"}, kind
        flip(other.directory(document["run"]) / "flows.parquet", 8 * 500)
    done = longhaul("verify", "--all", "--repair", "--json", home=tmp_path / "other")
    assert done.returncode == 0, (done.stdout, done.stderr)
    verified = {row["run"]: row for row in json.loads(done.stdout)["runs"]}
    for kind, document in kinds.items():
        assert (verified[document["run"]]["state"], verified[document["run"]]["identical"]) == ("repaired", True), kind
        again = files_of(other, document["run"])
        assert {name for name in again if again[name] != known[kind][name]} <= {"manifest.json", "log.txt"}, kind


def test_a_run_is_repeated_with_its_original_agent(home: Settings, tmp_path: Path) -> None:
    """The agent differs by its hash and not in behaviour: bytes at the end of a program have no effect."""
    agent = tmp_path / "agent"
    shutil.copy(AGENT, agent)
    with agent.open("ab") as file:
        file.write(b"\0\0\0\0")
    cache = copy_of_cache(home.cache, tmp_path / "cache")
    today = replace(home, cache=cache)
    document = keep(replace(today, agent=agent))
    store = Store(today)
    manifest, run = store.manifest(document["run"]), store.planned(document["run"])
    with pytest.raises(BackendUnavailable, match=r"its agent \([0-9a-f]{12}\) is no longer in the cache; check out"):
        original_backend(run, manifest["identity"], today)
    done = longhaul("rerun", document["run"], "--original", home=home.home, LONGHAUL_CACHE=str(cache))
    assert (done.returncode, "its agent" in done.stderr) == (3, True), done.stderr
    Artefacts(cache, agent).retain(agent)
    agent.unlink()
    done = longhaul("rerun", document["run"], "--original", "--json", home=home.home, LONGHAUL_CACHE=str(cache))
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert (verdict["identical"], verdict["differences"]) == (True, [])
    shown = json.loads(longhaul("show", document["run"], "--json", home=home.home, LONGHAUL_CACHE=str(cache)).stdout)
    assert [line.partition(":")[0] for line in shown["other_programs"]] == ["agent"]
    # With the current agent it is another run, and the kept one stays as it was.
    done = longhaul("rerun", document["run"], home=home.home, LONGHAUL_CACHE=str(cache))
    assert done.stdout.splitlines()[1].startswith("agent: ")
    flip(store.directory(document["run"]) / "acks.parquet", 8 * 500)
    done = longhaul("verify", document["run"], "--repair", home=home.home, LONGHAUL_CACHE=str(cache))
    assert (done.returncode, "identical to the byte" in done.stdout) == (0, True), done.stdout


def test_the_agent_of_a_run_is_kept_for_its_reruns(home: Settings, tmp_path: Path) -> None:
    cache = copy_of_cache(home.cache, tmp_path / "cache")
    document = keep(replace(home, cache=cache))
    kept = cache / "artefacts" / document["identity"]["agent"]
    assert kept.read_bytes() == AGENT.read_bytes()

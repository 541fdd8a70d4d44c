"""Runs of another identity (an earlier kernel or agent) stay: they are found, read, compared with runs of today's programs, and marked."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from longhaul.orchestrator.analysis.gates import compare_documents
from longhaul.orchestrator.analysis.kept_series import kept_timeline
from longhaul.orchestrator.analysis.report.comparison_text import as_json
from longhaul.orchestrator.backends.originals import original_backend
from longhaul.orchestrator.backends.sandbox import Sandbox
from longhaul.orchestrator.execution.evaluation import readable, readable_all
from longhaul.orchestrator.execution.other_programs import OtherPrograms
from longhaul.orchestrator.execution.run_rows import baseline_rows, kept_runs
from longhaul.orchestrator.kernels.artefacts import hashes
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.pruning import prune
from longhaul.orchestrator.results.seals import MANIFEST
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import BackendUnavailable, TraceError
from longhaul.orchestrator.system.settings import Settings, load_settings
from tests.support.command import longhaul
from tests.support.folders import DATA
from tests.support.queue import Lab

# A run as the commit before hashes in manifests kept it, with the kernel and agent of that time.
OLD = DATA / "kept" / "38aeb163e5885f3ac5e8"
KEY = OLD.name
MANIFEST_TEXT = (OLD / MANIFEST).read_text()
NEW = "f" * 20


@pytest.fixture
def store(store: Store) -> Store:
    """A home that the commit before wrote: a run, which is pinned, and an experiment of it that is a baseline."""
    store.directory(KEY).parent.mkdir(parents=True)
    shutil.copytree(OLD, store.directory(KEY))
    found = store.find(KEY)
    assert found is not None
    store.adopt(found)
    store.catalog.pin(KEY, True)
    lab = Lab(f"sqlite:///{store.home / 'catalogue.sqlite'}")
    lab.submit("old", [KEY])
    lab.experiments.set_baseline("quick", "main", "old", "ada")
    return store


def new_run(store: Store, goodput_share: float) -> list[RunDocument]:
    """The documents of an experiment by today's programs: the same point and seed, with this share of the goodput."""
    document = readable(store.get(KEY), store)
    document = document | {"run": NEW, "identity": document["identity"] | {"kernel": "0" * 32, "agent": "1" * 64}}
    return [
        document
        | {"flows": [{**flow, "goodput_bps": flow["goodput_bps"] * goodput_share} for flow in document["flows"]]}
    ]


def test_an_earlier_home_is_found_and_readable(store: Store, tmp_path: Path) -> None:
    assert store.get(KEY[:4])["run"] == KEY
    assert [row["id"] for row in store.list_runs(5)] == [KEY]
    document = readable(store.get(KEY), store)
    assert "caveat" not in document
    assert document["identity"]["kernel"]
    assert len(kept_timeline(store, KEY, "cwnd", flow="app").values) > 100
    assert store.states(KEY)[MANIFEST] == "unsealed"
    done = longhaul("show", KEY, "--json", home=store.home)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["run"] == KEY
    assert longhaul("report", KEY, "-o", str(tmp_path / "page.html"), home=store.home).returncode == 0
    assert prune(store, 0.0, 0, dry=False).runs == [], "it is pinned, and part of a baseline"


@pytest.mark.parametrize(("share", "fails"), [(1.0, False), (0.5, True)])
def test_a_baseline_of_another_identity_still_gates_and_is_marked(store: Store, share: float, fails: bool) -> None:
    lab = Lab(f"sqlite:///{store.home / 'catalogue.sqlite'}")
    baseline = lab.experiments.baseline("quick", "main")
    assert baseline is not None
    runs = readable_all(lab.experiments.documents(baseline["experiment_id"]), store)
    found = as_json(compare_documents("main", runs, "mine", new_run(store, share), ["goodput(app)"], "2 %"))
    assert found["pairs"] == [[KEY, NEW]]
    assert found["ok"] is not fails
    assert list(found["programs"]) == ["kernel", "agent"]
    assert found["programs"]["kernel"] == (runs[0]["identity"]["kernel"], "0" * 32)
    (note,) = [note for note in found["notes"] if "different identities" in note]
    assert "as their programs differ: kernel 3cfc52daa89d in A, 000000000000 in B" in note


def test_a_pair_of_one_identity_is_not_marked(store: Store) -> None:
    runs = [readable(store.get(KEY), store)]
    found = as_json(compare_documents("a", runs, "b", runs, [], "2 %"))
    assert found["programs"] == {}
    assert not [note for note in found["notes"] if "identity" in note]


def test_the_command_line_marks_the_comparison(store: Store, tmp_path: Path) -> None:
    for name, runs in (("then", [store.get(KEY)]), ("now", new_run(store, 0.5))):
        (tmp_path / f"{name}.json").write_text(json.dumps({"experiment": "quick", "runs": runs}))
    sides = [str(tmp_path / "then.json"), str(tmp_path / "now.json")]
    done = longhaul(
        "compare", *sides, "--for", "goodput(app)", "--markdown", str(tmp_path / "gate.md"), home=store.home
    )
    assert done.returncode == 1
    assert "different identities" in " ".join(done.stderr.split())
    assert "different identities" in (tmp_path / "gate.md").read_text()


def test_a_run_that_todays_formulas_cannot_measure_is_shown_with_its_earlier_numbers(store: Store) -> None:
    """Today's checks may need facts that an earlier agent did not record."""
    known = store.get(KEY)
    manifest = store.manifest(KEY) | {"facts": {"kernel": "6.12.1"}}
    (store.directory(KEY) / MANIFEST).write_text(json.dumps(manifest))
    store.catalog.revise(KEY, known | {"measured_by": "yesterday"})
    shown = readable(store.get(KEY), store)
    assert shown["flows"] == known["flows"]
    assert "measured by earlier formulas" in shown["caveat"]
    done = longhaul("show", KEY, home=store.home)
    assert done.returncode == 0, done.stderr
    assert "measured by earlier formulas" in " ".join(done.stderr.split())
    # A plan of another format has no chart; its numbers are shown.
    (store.directory(KEY) / MANIFEST).write_text(json.dumps(manifest | {"run": manifest["run"] | {"format": 99}}))
    done = longhaul("show", KEY, home=store.home)
    assert done.returncode == 0, done.stderr
    assert "no chart" in done.stdout
    assert "quick" in done.stdout or "app" in done.stdout
    with pytest.raises(TraceError, match="reading the plan of run"):
        store.planned(KEY)
    assert longhaul("rerun", KEY, home=store.home).returncode == 4


def test_missing_programs_are_named_with_the_command_that_rebuilds_them(store: Store, tmp_path: Path) -> None:
    manifest, run = store.manifest(KEY), store.planned(KEY)
    identity = manifest["identity"] | {"kernel": "0" * 32}
    with pytest.raises(
        BackendUnavailable, match=r"its kernel 6\.12 \(000000000000\) is no longer in the cache; check out"
    ):
        original_backend(run, identity, load_settings())
    agent = tmp_path / "agent"
    agent.write_text("an agent")
    assert len(hashes({"agent": agent})["agent"]) == 64


@pytest.fixture
def today(tmp_path: Path) -> Settings:
    """A machine with the kernel that the run was made with, and another agent and probe."""
    cache, agent = tmp_path / "cache", tmp_path / "agent"
    for folder in (cache / "kernels" / "current-6.12", cache / "modules" / "current-6.12"):
        folder.mkdir(parents=True)
    kernel = cache / "kernels" / "current-6.12"
    (kernel / "linux").write_text("a kernel")
    (kernel / "manifest.json").write_text(json.dumps({"hash": json.loads(MANIFEST_TEXT)["identity"]["kernel"]}))
    (cache / "modules" / "current-6.12" / "lh_trace.ko").write_text("a probe")
    agent.write_text("an agent")
    for program in (kernel / "linux", agent):
        program.chmod(0o755)
    return replace(load_settings(), cache=cache, agent=agent)


def keep_again(store: Store, key: str, identity: dict[str, str]) -> None:
    """The same run as these programs would have made it."""
    shutil.copytree(OLD, store.directory(key))
    manifest = json.loads(MANIFEST_TEXT) | {"run_id": key, "identity": identity}
    manifest["document"] |= {"run": key, "identity": identity}
    (store.directory(key) / MANIFEST).write_text(json.dumps(manifest))
    found = store.find(key)
    assert found is not None
    store.adopt(found)


def test_runs_and_experiments_that_other_programs_made_are_marked(store: Store, today: Settings) -> None:
    others = OtherPrograms(today, store)
    lines = others.of_run(KEY)
    assert [line.partition(":")[0] for line in lines] == ["agent", "lh_trace"]
    assert lines[0].startswith("agent: fb4dc37adf09 then, ")
    made_now = Sandbox(today).identity(store.planned(KEY))
    keep_again(store, NEW, made_now)
    assert others.of_runs([NEW, KEY, "0" * 20]) == {NEW: [], KEY: lines, "0" * 20: []}
    lab = Lab(f"sqlite:///{store.home / 'catalogue.sqlite'}")
    lab.submit("new", [NEW])
    lab.submit("both", [NEW, KEY])
    lab.submit("live", [KEY, "1" * 20])
    found = others.of_experiments({"old": "done", "new": "done", "both": "done", "live": "queued"})
    assert found == {"old": lines, "new": [], "both": lines, "live": []}
    # They are read once, and then cached.
    lab.experiments.remove("both")
    assert others.of_experiments({"both": "done"}) == {"both": lines}


def test_no_run_is_marked_if_todays_programs_are_missing(store: Store, today: Settings, tmp_path: Path) -> None:
    assert OtherPrograms(replace(today, cache=tmp_path / "empty"), store).of_run(KEY) == []
    (store.directory(KEY) / MANIFEST).unlink()
    assert OtherPrograms(today, store).of_run(KEY) == []


def test_a_user_supplied_module_is_neither_built_nor_compared(store: Store, today: Settings) -> None:
    manifest = json.loads(MANIFEST_TEXT)
    own = {"name": "tcp_mine", "params": {}, "source": "a" * 32}
    run = manifest["run"] | {"modules": [*manifest["run"]["modules"], own]}
    (store.directory(KEY) / MANIFEST).write_text(json.dumps(manifest | {"run": run}))
    assert [module.source for module in store.planned(KEY).modules][-1] == "a" * 32
    assert [line.partition(":")[0] for line in OtherPrograms(today, store).of_run(KEY)] == ["agent", "lh_trace"]


def test_lists_name_other_programs_only_where_there_are_any(store: Store) -> None:
    (row,) = store.list_runs(5)
    (shown,) = kept_runs([row | {"other_programs": ["kernel: a then, b now", "agent: c then, d now"]}])
    assert shown["other programs"] == "kernel, agent"
    assert "other programs" not in kept_runs([row | {"other_programs": []}])[0]
    baseline = {"experiment_id": "0" * 16, "name": "quick", "branch": "main", "set_at": "2031-05-17T10:20:30.123+00:00", "set_by": "ada"}  # fmt: skip
    rows = [baseline | {"other_programs": lines} for lines in ([], ["agent: c then, d now"])]
    assert [one["other programs"] for one in baseline_rows(rows)] == ["", "agent"]
    assert list(baseline_rows(rows[:1])[0].values()) == ["0" * 16, "quick", "main", "2031-05-17", "ada"]

"""Any flipped bit of a kept run is noticed: an error names the file, and no wrong number is shown."""

from __future__ import annotations

import json
import random
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longhaul.orchestrator.analysis.kept_series import kept_timeline, kept_timelines
from longhaul.orchestrator.analysis.timelines import FLOW_SERIES
from longhaul.orchestrator.results.backup import back_up, restore
from longhaul.orchestrator.results.downloads import SOURCES
from longhaul.orchestrator.results.export import export_trace
from longhaul.orchestrator.results.outbox import Outbox
from longhaul.orchestrator.results.partial_runs import Part, discard_partial, partial_folder
from longhaul.orchestrator.results.seals import MANIFEST, read_manifest
from longhaul.orchestrator.results.staging import Staging
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.results.traces import ALWAYS_KEPT, FILE_NAMES
from longhaul.orchestrator.system.errors import NotFound, ResultsError, RunCancelled, RunDamaged, TraceError
from longhaul.orchestrator.trace.records import EVER, TRACE_KINDS
from tests.support.command import longhaul
from tests.support.documents import KEYS, flip, keep, keep_recorded
from tests.support.programs import run_program
from tests.support.recordings import RUNS, recorded


def everything(store: Store, key: str) -> dict[str, Any]:
    """All readable parts of a kept run, each as bytes."""
    found: dict[str, Any] = {"manifest": store.manifest(key)}
    trace = store.trace(key)
    found |= {kind: records.tobytes() for kind, records in trace.kinds().items()}
    for kind, dtype in TRACE_KINDS.items():
        names = [name for name in dtype.names or () if name not in ("kind", "t_ns", "id")]
        found[f"columns of {kind}"] = [part.tobytes() for part in store.columns(key)(kind, names, 0, EVER).values()]
    kept = {file.name for file in store.directory(key).iterdir()}
    whole = {name for name in SOURCES if not name.endswith(".csv")} - (set(FILE_NAMES.values()) - {*ALWAYS_KEPT, *kept})
    return found | {name: store.file(key, name).read_bytes() for name in sorted(whole)}


@pytest.mark.parametrize("name", list(KEYS))
def test_every_flipped_bit_is_noticed(store: Store, name: str, request: pytest.FixtureRequest) -> None:
    key = keep(store, name)
    before = everything(store, key)
    folder = store.directory(key)
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    sizes = [file.stat().st_size for file in files]
    chance = random.Random(name)
    count = request.config.getoption("--flips")
    # Half of the bits are spread by file size, the other half evenly over files, so that small files get some.
    chosen = chance.choices(files, sizes, k=count // 2) + [
        files[place % len(files)] for place in range(count - count // 2)
    ]
    unnoticed, wrong = [], []
    for file in chosen:
        good, bit = file.read_bytes(), chance.randrange(8 * file.stat().st_size)
        flip(file, bit)
        place = f"{file.relative_to(folder)} bit {bit}"
        if store.fault(key, thorough=True) is None:
            unnoticed.append(place)
        try:
            if everything(store, key) != before:
                wrong.append(place)
        except RunDamaged:
            pass
        file.write_bytes(good)
    assert (unnoticed, wrong) == ([], [])
    assert everything(store, key) == before
    print(f"{len(chosen)} flips in {len(files)} files of {name}: all noticed")


def test_damage_of_a_run_without_hashes_is_one_error_or_none(store: Store) -> None:
    """Undetectable damage may be read; all other damage raises an error of Longhaul, never one of a library."""
    key = keep(store, sealed=False)
    folder = store.directory(key)
    chance = random.Random(3)
    noticed = 0
    for file in sorted(folder.glob("*.parquet")):
        good = file.read_bytes()
        for _ in range(20):
            flip(file, chance.randrange(8 * len(good)))
            try:
                everything(store, key)
            except TraceError:
                noticed += 1
            file.write_bytes(good)
    # Pages have checksums even if the manifest has none; only the footers are unprotected.
    assert noticed > 60


def test_a_page_that_changes_under_a_running_service_is_noticed(store: Store) -> None:
    """A file that was compared once is not hashed again; its pages are compared with their checksums at every reading."""
    key = keep(store)
    file = store.directory(key) / "acks.parquet"
    store.trace(key)
    # As a failing disk would: neither the size nor the times of the file change.
    unsealed = keep(store, "real_clock", sealed=False)
    file = store.directory(unsealed) / "acks.parquet" if recorded("real_clock")[1].acks.size else file
    content = file.read_bytes()
    flip(file, 8 * (len(content) // 3))
    with pytest.raises(TraceError, match=r"acks\.parquet"):
        store.trace(file.parent.name)


def test_every_reader_of_a_damaged_file_reports_it(store: Store, tmp_path: Path) -> None:
    key = keep(store)
    flip(store.directory(key) / "acks.parquet", 40_000)
    message = r"acks\.parquet is damaged: its content has changed"
    for read in (
        lambda: store.trace(key),
        lambda: store.columns(key)("ack", ["cwnd"], 0, EVER),
        lambda: kept_timeline(store, key, "cwnd", flow="first"),
        lambda: kept_timelines(store, key, list(FLOW_SERIES)),
        lambda: store.file(key, "acks.parquet"),
        lambda: store.file(key, "acks.csv"),
        lambda: export_trace(store, key, "csv", tmp_path / "out"),
    ):
        with pytest.raises(RunDamaged, match=message):
            read()
    # Undamaged files can still be read.
    assert store.file(key, "links.csv").is_file()


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"run_id": "a', b"\xff\xfe", b"[" * 100_000])
def test_an_invalid_manifest_is_an_error_with_exit_code_4(store: Store, content: bytes, sealed: bool) -> None:
    key = keep(store, sealed=sealed)
    (store.directory(key) / MANIFEST).write_bytes(content)
    with pytest.raises(RunDamaged, match=r"manifest\.json is damaged"):
        store.manifest(key)
    for words in (("show", key), ("rerun", key), ("report", key), ("export", key, "-o", str(store.home / "out"))):
        done = longhaul(*words, home=store.home)
        assert done.returncode == 4, (words, done.stderr)
        assert "Traceback" not in done.stderr
        assert "run its experiment again" in done.stderr


def test_a_file_that_cannot_be_opened_is_not_damaged(store: Store) -> None:
    """For example with too many open files: no run is run again for that."""
    key = keep(store)
    store.database.close()
    script = f"""
import os, resource
from longhaul.orchestrator.results.seals import check_file, read_manifest
from longhaul.orchestrator.system.errors import ResultsError, RunDamaged
from pathlib import Path
folder = Path({str(store.directory(key))!r})
resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1, 64))
for read in (lambda: read_manifest(folder), lambda: check_file(folder, "acks.parquet")):
    try:
        read()
    except ResultsError as error:
        print(error)
"""
    done = run_program([sys.executable, "-c", script])
    assert done.stdout.count("Too many open files; allow more open files") == 2, done.stdout + done.stderr


def test_a_manifest_of_half_a_file_is_noticed(store: Store) -> None:
    key = keep(store)
    file = store.directory(key) / MANIFEST
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(RunDamaged):
        store.manifest(key)


def test_verify_names_the_files_and_exits_with_4(store: Store) -> None:
    whole, old = keep(store), keep(store, "real_clock", sealed=False)
    done = longhaul("verify", "--all", "--json", home=store.home)
    assert done.returncode == 0
    report = json.loads(done.stdout)
    assert {row["run"]: row["state"] for row in report["runs"]} == {whole: "whole", old: "unsealed"}
    flip(store.directory(whole) / "iperf3" / "a.client.json", 17)
    (store.directory(whole) / "drops.parquet").unlink()
    done = longhaul("verify", whole, home=store.home)
    assert done.returncode == 4
    assert "drops.parquet missing, iperf3/a.client.json damaged" in done.stdout
    assert f"longhaul verify {whole} --repair" in done.stdout
    for words in ((), (whole, "--all")):
        assert longhaul("verify", *words, home=store.home).returncode == 2


def test_a_damaged_run_is_replaced_by_the_next_of_its_id_and_stays_pinned(store: Store) -> None:
    key = keep(store)
    store.catalog.pin(key, True)
    before = everything(store, key)
    csv = store.file(key, "acks.csv")
    flip(store.directory(key) / "acks.parquet", 40_000)
    keep(store)
    assert {name: value for name, value in everything(store, key).items() if name != "manifest"} == {
        name: value for name, value in before.items() if name != "manifest"
    }
    assert not csv.exists()
    row = store.catalog.run(key)
    assert row is not None
    assert row["pinned"]
    assert not list(store.home.glob("staging/*damaged*"))


def test_a_revised_manifest_is_sealed_again_and_an_old_one_stays_without(store: Store) -> None:
    for name, sealed in (("lossy_pair", True), ("real_clock", False)):
        key = keep(store, name, sealed=sealed)
        store.revise(store.get(key) | {"measured_by": "tomorrow"})
        assert ("files" in read_manifest(store.directory(key))) == sealed
        assert (store.fault(key, thorough=True)) is None


def test_files_from_a_worker_are_compared_on_arrival(store: Store) -> None:
    key = KEYS["lossy_pair"]
    outbox = Outbox(store.settings)
    keep_recorded(outbox, key)
    with Staging(store.home) as staging:
        files = dict(outbox.files)
        files["acks.parquet"] = files["acks.parquet"][:-9] + b"x" + files["acks.parquet"][-8:]
        with pytest.raises(ResultsError, match=r"acks\.parquet is not the one that the worker kept"):
            store.receive(key, files, staging)
        assert store.find(key) is None
        store.receive(key, outbox.files, staging)
    assert store.fault(key, thorough=True) is None


def test_a_backup_has_every_file_of_every_run_and_names_damaged_ones(store: Store, tmp_path: Path) -> None:
    keys = [keep(store), keep(store, "real_clock", sealed=False)]
    assert back_up(store, tmp_path / "home.tar").damaged == ()
    other = Store(replace(store.settings, home=tmp_path / "other"))
    saved = restore(other, tmp_path / "home.tar")
    assert (saved.runs, saved.damaged) == (2, ())
    for key in keys:
        files = {
            file.relative_to(store.directory(key)): file for file in store.directory(key).rglob("*") if file.is_file()
        }
        assert Path("iperf3/a.client.json") in files
        for name, file in files.items():
            assert (other.directory(key) / name).read_bytes() == file.read_bytes()
    flip(store.directory(keys[0]) / "log.txt", 5)
    assert back_up(store, tmp_path / "again.tar").damaged == (keys[0],)
    done = longhaul("backup", str(tmp_path / "third.tar"), home=store.home)
    assert done.returncode == 0
    assert f"damaged: {keys[0]}" in done.stderr


def test_series_of_a_run_are_read_as_before(store: Store) -> None:
    key, other = keep(store), keep(store, "real_clock", sealed=False)
    _, trace, _ = recorded("lossy_pair")
    np.testing.assert_array_equal(store.trace(key).acks["cwnd"], trace.acks["cwnd"])
    assert len(store.trace(other).flows) == len(recorded("real_clock")[1].flows)


def test_the_part_of_a_cancelled_run_is_read_and_its_damage_noticed(store: Store) -> None:
    key, (run, _, _) = KEYS["lossy_pair"], recorded("lossy_pair")
    directory = store.home / "staging" / key
    shutil.copytree(RUNS / "lossy_pair", directory)

    def cancel(_: int) -> None:
        raise RunCancelled("running", key, "it was cancelled", "")

    part = Part(store.home, directory, [directory / "trace.bin"], run, key, {"experiment": "x"}, lambda: True)
    with pytest.raises(RunCancelled) as cancelled, part:
        part.watched(cancel)(0)
    assert store.reached_s(key) == cancelled.value.reached_s is not None
    assert kept_timelines(store, key, ["cwnd", "queue"])
    folder = partial_folder(store.home, key)
    for name, state in (("acks.parquet", "damaged"), (MANIFEST, "damaged")):
        flip(folder / name, 800)
        with pytest.raises(RunDamaged, match=f"{name} is {state}.*run its experiment again"):
            kept_timelines(store, key, ["cwnd"])
    discard_partial(store.home, key)
    with pytest.raises(NotFound):
        kept_timelines(store, key, ["cwnd"])

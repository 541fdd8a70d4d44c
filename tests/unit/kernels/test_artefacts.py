"""Artefacts of guests are identified by their content: changed ones are refused, present ones are not requested."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from longhaul.orchestrator.kernels.artefacts import Artefacts, hashes
from longhaul.orchestrator.results.guest_logs import receive_log
from longhaul.orchestrator.results.outbox import Outbox
from longhaul.orchestrator.results.seals import sealed_text
from longhaul.orchestrator.results.staging import Staging
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import BackendError, PlanError, ResultsError
from longhaul.orchestrator.system.settings import Settings, scheduler_address
from tests.support.documents import document, keep_recorded
from tests.support.recordings import recorded


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def artefacts(tmp_path: Path) -> Artefacts:
    (tmp_path / "agent").write_bytes(b"agent")
    return Artefacts(tmp_path / "cache", tmp_path / "agent")


WANTED = {"kernels/current-6.12/linux": sha256(b"kernel"), "agent": sha256(b"agent")}


def test_only_absent_artefacts_are_requested(artefacts: Artefacts, tmp_path: Path) -> None:
    assert artefacts.lacking(WANTED) == [sha256(b"kernel")]
    own = tmp_path / "cache" / "kernels" / "current-6.12"
    own.mkdir(parents=True)
    (own / "linux").write_bytes(b"kernel")
    assert artefacts.lacking(WANTED) == []
    folder = artefacts.lay_out(WANTED)
    assert (folder / "agent").read_bytes() == b"agent"
    assert (folder / "kernels" / "current-6.12" / "linux").read_bytes() == b"kernel"
    assert (folder / "agent").stat().st_mode & 0o111 == 0o111
    assert artefacts.lay_out(WANTED) == folder


def test_an_artefact_changed_in_transit_is_refused(artefacts: Artefacts) -> None:
    with pytest.raises(BackendError, match="was changed in transit"):
        artefacts.receive(sha256(b"kernel"), b"Kernel")
    assert artefacts.lacking(WANTED) == [sha256(b"kernel")]
    artefacts.receive(sha256(b"kernel"), b"kernel")
    assert artefacts.lacking(WANTED) == []


def test_a_changed_artefact_is_requested_again(artefacts: Artefacts, tmp_path: Path) -> None:
    artefacts.receive(sha256(b"kernel"), b"kernel")
    artefacts.lacking(WANTED)
    damaged = artefacts.lay_out(WANTED) / "kernels" / "current-6.12" / "linux"
    damaged.write_bytes(b"broken")
    later = Artefacts(tmp_path / "cache", tmp_path / "agent")
    assert later.lacking(WANTED) == [sha256(b"kernel")]
    later.receive(sha256(b"kernel"), b"kernel")
    assert later.lacking(WANTED) == []
    assert (later.lay_out(WANTED) / "kernels" / "current-6.12" / "linux").read_bytes() == b"kernel"


def test_unfinished_files_of_a_killed_process_are_swept(artefacts: Artefacts, tmp_path: Path) -> None:
    making = """
import os, sys
from pathlib import Path
from longhaul.orchestrator.kernels import artefacts
def killed(*whatever):
    os.kill(os.getpid(), 9)
{kill}
made = artefacts.Artefacts(Path(sys.argv[1]), Path(sys.argv[2]))
made.receive(sys.argv[3], b"kernel")
made.lay_out({{"linux": sys.argv[3]}})
"""
    key = sha256(b"kernel")
    words = [str(tmp_path / "cache"), str(tmp_path / "agent"), key]
    for kill in ("Path.chmod = killed", "os.link = killed"):
        died = subprocess.run([sys.executable, "-c", making.format(kill=kill), *words], check=False)
        assert died.returncode == -signal.SIGKILL
    left = [folder.parent.name for folder in (tmp_path / "cache").glob("*/.new-*")]
    assert left == ["sets"], "the first one's was swept by the second"
    artefacts.receive(key, b"kernel")
    artefacts.lay_out({"linux": key})
    assert not list((tmp_path / "cache").glob("*/.new-*"))


def test_files_in_the_making_are_not_swept(artefacts: Artefacts, tmp_path: Path) -> None:
    """Many processes use one cache at once: each finds its artefact."""
    makers = [Artefacts(tmp_path / "cache", tmp_path / "agent") for _ in range(8)]
    contents = [f"kernel {number}".encode() * 10_000 for number in range(20)]

    def make(maker: Artefacts) -> None:
        for content in contents:
            maker.receive(sha256(content), content)
            assert (maker.lay_out({"linux": sha256(content)}) / "linux").read_bytes() == content

    with ThreadPoolExecutor(len(makers)) as threads:
        list(threads.map(make, makers))
    assert artefacts.lacking({str(number): sha256(content) for number, content in enumerate(contents)}) == []
    assert not list((tmp_path / "cache").glob("*/.new-*"))


def test_a_file_that_changes_gets_another_hash(tmp_path: Path) -> None:
    file = tmp_path / "module.ko"
    file.write_bytes(b"one")
    assert hashes({"m": file}) == {"m": sha256(b"one")}
    file.write_bytes(b"three")
    assert hashes({"m": file}) == {"m": sha256(b"three")}


def test_the_address_of_a_scheduler_is_read_or_refused() -> None:
    for good in ("tcp://lab:8786", "tls://10.0.0.1:8786", "tcp://[::1]:8786", ""):
        assert scheduler_address(good, "LONGHAUL_DASK") == good
    for bad in ("lab:8786", "http://lab:8786", "tcp://lab", "tcp://lab:8786/x"):
        with pytest.raises(PlanError, match="LONGHAUL_DASK"):
            scheduler_address(bad, "LONGHAUL_DASK")


def packed(settings: Settings, tmp_path: Path, run_id: str) -> dict[str, bytes]:
    """A run as a worker sends it."""
    outbox = Outbox(settings)
    keep_recorded(outbox, run_id)
    return outbox.files


def test_a_run_from_a_worker_is_kept_like_any_other(settings: Settings, tmp_path: Path) -> None:
    key, store = "a" * 20, Store(settings)
    files = packed(settings, tmp_path, key)
    assert not (settings.home / "catalogue.sqlite").exists(), "a worker that sends runs has no database"
    with Staging(settings.home) as staging:
        assert store.receive(key, files, staging) == document(key)
        # Twice, with another cost: the first one counts, on disk and in the database.
        other = json.loads(files["manifest.json"])
        other["document"]["wall_s"] = 9.0
        again = files | {"manifest.json": sealed_text(other).encode(), "iperf3/app.json": b"{}"}
        assert store.receive(key, again, staging) == document(key)
    assert store.get(key) == document(key)
    assert store.trace(key).acks.tobytes() == recorded("lossy_pair")[1].acks.tobytes()
    assert store.catalog.by_status() == {"done": 1}


def _manifest_of_b() -> bytes:
    return json.dumps(
        dict.fromkeys(("spec", "run", "identity", "facts")) | {"run_id": "b", "document": {"run": "b"}}
    ).encode()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"acks.parquet": None}, "missing or unknown: acks.parquet"),
        ({"../../evil": b""}, r"missing or unknown: \.\./\.\./evil"),
        ({"iperf3/../../evil": b""}, "missing or unknown"),
        ({"manifest.json": b'{"run_id": "b", "document": {"run": "b"}}'}, "it is not the manifest of run a"),
        ({"manifest.json": _manifest_of_b()}, "it is run b"),
        ({"manifest.json": None}, "missing or unknown: manifest.json"),
    ],
)
def test_files_of_another_run_are_refused(
    settings: Settings, tmp_path: Path, change: dict[str, bytes | None], complaint: str
) -> None:
    files = {
        name: content
        for name, content in {**packed(settings, tmp_path, "a" * 20), **change}.items()
        if content is not None
    }
    with Staging(settings.home) as staging, pytest.raises(ResultsError, match=complaint):
        Store(settings).receive("a" * 20, files, staging)
    assert Store(settings).find("a" * 20) is None
    assert not (settings.home / "runs").exists()


def test_the_log_of_a_guest_that_died_on_a_worker_is_kept(settings: Settings) -> None:
    where = receive_log(settings.home, "c" * 20, b"Kernel panic")
    assert where == "`longhaul log cccccccc` shows its log"
    assert (settings.home / "logs" / f"{'c' * 20}.txt").read_bytes() == b"Kernel panic"

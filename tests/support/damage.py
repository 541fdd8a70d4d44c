"""Damage: single bits of kept files turned over."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from longhaul.orchestrator.results.seals import MANIFEST
from longhaul.orchestrator.results.store import Store
from tests.support.documents import document
from tests.support.recordings import RUNS, recorded

KEYS = {"lossy_pair": "a" * 20, "real_clock": "b" * 20, "two_queues": "c" * 20}


def keep(store: Store, name: str = "lossy_pair", *, sealed: bool = True) -> str:
    """A recorded run, kept as pipelines keep one, with files of a program; unsealed as they were before manifests had hashes."""
    key, (run, trace, _) = KEYS[name], recorded(name)
    directory = store.home / "staging" / key
    shutil.copytree(RUNS / name, directory)
    (directory / "iperf3").mkdir()
    (directory / "iperf3" / "a.client.json").write_text('{"end": {"sum_sent": {"bytes": 1448}}}')
    store.keep(directory, run, key, {"kernel": "k"}, {"experiment": name}, document(key), trace)
    if not sealed:
        manifest = store.manifest(key)
        for name in ("files", "sha256"):
            del manifest[name]
        (store.directory(key) / MANIFEST).write_text(json.dumps(manifest))
    return key


def flip(file: Path, bit: int) -> None:
    content = bytearray(file.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    file.write_bytes(content)

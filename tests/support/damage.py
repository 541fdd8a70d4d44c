"""Damage: single bits of kept files turned over."""

from __future__ import annotations

import json
from pathlib import Path

from longhaul.orchestrator.results.seals import MANIFEST
from longhaul.orchestrator.results.store import Store
from tests.support.documents import keep_recorded

KEYS = {"lossy_pair": "a" * 20, "real_clock": "b" * 20, "two_queues": "c" * 20}


def keep(store: Store, name: str = "lossy_pair", *, sealed: bool = True) -> str:
    """A recorded run, kept as pipelines keep one, with files of a program; unsealed as they were before manifests had hashes."""
    key = KEYS[name]
    program_files = {"iperf3/a.client.json": '{"end": {"sum_sent": {"bytes": 1448}}}'}
    keep_recorded(store, key, name, program_files=program_files)
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

"""The spool of one process next to those of others; tests/live sends spools to a Prometheus."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from longhaul.orchestrator.live.spool import Spool
from longhaul.orchestrator.system.locks import locked


def test_a_process_that_ends_meanwhile_removes_its_spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leaving = tmp_path / "spool" / "1-leaving"
    leaving.mkdir(parents=True)

    def gone_by_then(file: Path, *, wait: bool = True) -> AbstractContextManager[None]:
        if file.parent == leaving:
            leaving.rmdir()
        return locked(file, wait=wait)

    monkeypatch.setattr("longhaul.orchestrator.live.spool.locked", gone_by_then)
    spool = Spool(tmp_path, 10**6)
    assert spool.first(0) is None
    spool.close()
    assert [entry.name for entry in (tmp_path / "spool").iterdir()] == [".lock"]

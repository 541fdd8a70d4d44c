"""A separate home for each test that keeps runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import Settings, load_settings


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of this machine, with a separate home."""
    monkeypatch.setenv("LONGHAUL_HOME", str(tmp_path / "home"))
    return load_settings()


@pytest.fixture
def store(settings: Settings) -> Store:
    """The runs of that home."""
    return Store(settings)

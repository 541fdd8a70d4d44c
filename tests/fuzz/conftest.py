"""The lab that runs the drawn experiments, with the kernel of `--kernel`."""

from __future__ import annotations

import pytest
from hypothesis.database import DirectoryBasedExampleDatabase, ExampleDatabase

from longhaul.orchestrator.system.settings import Settings, load_settings
from tests.fuzz.lab import Lab


@pytest.fixture(scope="session")
def kernel(request: pytest.FixtureRequest) -> str:
    return str(request.config.getoption("--kernel"))


@pytest.fixture(scope="session")
def settings() -> Settings:
    return load_settings()


@pytest.fixture(scope="session")
def lab(settings: Settings) -> Lab:
    return Lab(settings)


@pytest.fixture(scope="session")
def known(request: pytest.FixtureRequest, settings: Settings) -> ExampleDatabase | None:
    """Experiments that failed before and are tried first; without `--remember`, the same seed makes the same experiments."""
    folder = settings.cache / "fuzz"
    return DirectoryBasedExampleDatabase(folder) if request.config.getoption("--remember") else None

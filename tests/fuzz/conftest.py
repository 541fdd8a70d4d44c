"""The lab that runs the drawn experiments, with the kernel of `--kernel`."""

from __future__ import annotations

import pytest

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

"""A home of runs for the tests of kernels; the kernels that they add are removed after the last one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kernels.command_line import longhaul


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home of its own; kernels and build trees are in the cache of the machine."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("home")
        patch.setenv("LONGHAUL_HOME", str(folder))
        yield folder
        for row in json.loads(longhaul("kernel", "info", "--json")):
            if row["version"].startswith("test-own-"):
                longhaul("kernel", "remove", row["version"])

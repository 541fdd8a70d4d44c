"""Two stand-ins and a router, started once and deployed once for all runs; the numbers measured are printed at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.hosts.bench import MEASURED, Bench, built_elsewhere, measured
from tests.hosts.runs import PATH, Runner
from tests.hosts.standins import start


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["measured"] = MEASURED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Keep the numbers that a worker of xdist measured."""
    MEASURED.extend(getattr(node, "workeroutput", {}).get("measured", []))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in MEASURED:
        terminalreporter.write_line(f"measured: {line}")


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Two stand-ins; the lab's inventory gives both prebuilt modules, and beta could build its own. In the end they are as found."""
    begun_s = time.monotonic()
    with start(["alpha", "beta"], compilers=["beta"]) as lab:
        measured(f"two endpoints and a router started in {time.monotonic() - begun_s:.1f} s")
        modules = built_elsewhere(tmp_path_factory.mktemp("modules"), lab.release)
        bench = Bench(lab, tmp_path_factory.mktemp("home"), modules)
        yield bench
        if bench.is_deployed:
            bench.restored()


@pytest.fixture(scope="module")
def as_found(bench: Bench) -> None:
    """Nothing of Longhaul is on the stand-ins."""
    if bench.is_deployed:
        bench.restored()


@pytest.fixture(scope="module")
def runner(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """One deployment for all runs."""
    if not bench.is_deployed:
        bench.deployed()
    bench.lab.set_path(PATH)
    return Runner(bench, tmp_path_factory.mktemp("experiments"))

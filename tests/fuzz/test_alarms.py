"""Faults are reported: a guest whose kernel finds a fault has no result, on every kernel that can find it.

A module with a deliberate fault (tests/data/deliberate) is built for the kernel and loaded before a sound run, which then runs to
its end: without the kernel's report it would be accepted.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pytest

from longhaul.orchestrator.backends.sandbox import Sandbox
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.plan.run import Module
from longhaul.orchestrator.results.guest_logs import find_log
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.errors import KernelComplained
from longhaul.orchestrator.system.settings import Settings
from tests.fuzz.lab import Lab

SOURCE = Path(__file__).parent.parent / "data" / "deliberate"

# fault -> the kernel's message
EVERY_KERNEL = {"warning": "WARNING: CPU"}
DEBUG_KERNEL = {
    "heap": "KASAN: slab-out-of-bounds",
    "freed": "KASAN: slab-use-after-free",
    "stack": "KASAN: stack-out-of-bounds",
    "vmalloc": "KASAN: vmalloc-out-of-bounds",
    "shift": "UBSAN: shift-out-of-bounds",
    "index": "UBSAN: array-index-out-of-bounds",
    "locks": "possible circular locking dependency",
    "atomic": "sleeping function called from invalid context",
    "timer": "debug_print_object",
}

RUN = {
    "experiment": "alarm",
    "path": {"bandwidth": "1 Mbit/s", "rtt": "10 ms"},
    "flows": [{"name": "one", "cc": "cubic"}],
    "duration": "100 ms",
    "start_jitter": "0 s",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "fault" in metafunc.fixturenames:
        debug = str(metafunc.config.getoption("--kernel")).endswith("-debug")
        metafunc.parametrize(("fault", "message"), (EVERY_KERNEL | (DEBUG_KERNEL if debug else {})).items())


@pytest.fixture(scope="module")
def faulty(settings: Settings, kernel: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A cache whose modules include the faulty one."""
    cache = tmp_path_factory.mktemp("cache")
    modules, source = cache / "modules" / f"current-{kernel}", cache / "source"
    copytree(settings.cache / "modules" / f"current-{kernel}", modules)
    copytree(SOURCE, source)
    (cache / "kernels").symlink_to(settings.cache / "kernels")
    tree = settings.cache / "kernels" / f"current-{kernel}" / "tree"
    subprocess.run(["make", "-s", "-C", tree, "ARCH=um", f"M={source}", "modules"], check=True)
    (source / "deliberate.ko").rename(modules / "deliberate.ko")
    return replace(settings, cache=cache, home=tmp_path_factory.mktemp("home"))


def plan_with(fault: str, kernel: str) -> Plan:
    plan = compile_plan(parse_experiment(RUN | {"kernel": kernel}))
    (run,) = plan.runs
    return replace(plan, runs=(replace(run, modules=(*run.modules, Module("deliberate", {"fault": fault}))),))


def test_a_fault_is_reported(faulty: Settings, kernel: str, fault: str, message: str) -> None:
    with pytest.raises(KernelComplained) as complaint:
        Lab(faulty).execute(plan_with(fault, kernel).runs[0])
    assert message in complaint.value.what


def test_the_same_run_without_a_fault_is_good(faulty: Settings, kernel: str) -> None:
    done = Lab(faulty).execute(plan_with("none", kernel).runs[0])
    assert done.facts["flows"][0]["bytes_received"] > 0


def test_the_document_reports_the_fault_and_the_log_is_kept(faulty: Settings, kernel: str) -> None:
    store = Store(faulty)
    (document,) = Pipeline(Sandbox(faulty), store).execute(plan_with("warning", kernel))
    assert document["status"] == "failed"
    assert document["error"]["error"] == "KernelComplained"
    assert "a warning on purpose" in find_log(store, document["run"]).read_text()
    assert store.find(document["run"]) is None

"""Images are built once and a lab of them is started once; the numbers measured on the way are printed at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.containers.lab import Lab
from tests.containers.podman import TARGETS, build, image, inspect, make_base, start

_MEASURED: list[str] = []


@dataclass(frozen=True)
class Started:
    """A running lab, and the document of its first run."""

    lab: Lab
    document: dict[str, Any]


def measured(what: str) -> None:
    """Keep a number for the tests' output; none is asserted, since this machine has other work."""
    _MEASURED.append(what)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in _MEASURED:
        terminalreporter.write_line(f"measured: {line}")


@pytest.fixture(scope="session")
def images() -> dict[str, dict[str, Any]]:
    """podman's description of each image."""
    begun_s = time.monotonic()
    make_base()
    for target in TARGETS:
        build(target)
    measured(f"images made or found made in {time.monotonic() - begun_s:.0f} s")
    found = {target: inspect("image", image(target)) for target in TARGETS}
    for target, about in found.items():
        measured(f"image {target} has {about['Size'] / 1e6:.0f} MB")
    return found


@pytest.fixture(scope="module")
def started(images: dict[str, dict[str, Any]]) -> Iterator[Started]:
    """The profile `lab` without Grafana, which is not a Debian package, and its first run."""
    lab = Lab("lab", "api")
    lab.down(volumes=True)
    try:
        begun_s = time.monotonic()
        lab.up("postgres", "scheduler", "prometheus", "worker", "api")
        lab.read_token()
        lab.ready()
        ready_s = time.monotonic() - begun_s
        document = lab.run_experiment(shipped="quick")
        measured(
            f"profile lab, first start: ready after {ready_s:.1f} s, first result after {time.monotonic() - begun_s:.1f} s"
        )
        yield Started(lab, document)
    finally:
        lab.down(volumes=True)


@pytest.fixture(scope="session", autouse=True)
def nothing_left() -> Iterator[None]:
    """Remove everything that these tests started."""
    yield
    names = start("podman", "ps", "--all", "--format", "{{.Names}}").stdout.split()
    assert [name for name in names if name.startswith("lhtest-")] == []

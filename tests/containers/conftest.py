"""Images that are built once, and a lab of them that is brought up once; what was measured on the way is told at the end."""

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
class Brought:
    """A lab that runs, and what its first run came to."""

    lab: Lab
    document: dict[str, Any]


def measured(what: str) -> None:
    """A number for whoever reads the tests' output; none of them is asserted, since this machine has other work."""
    _MEASURED.append(what)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in _MEASURED:
        terminalreporter.write_line(f"measured: {line}")


@pytest.fixture(scope="session")
def images() -> dict[str, dict[str, Any]]:
    """What podman knows of each image."""
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
def brought(images: dict[str, dict[str, Any]]) -> Iterator[Brought]:
    """The profile `lab` but Grafana, which no package of Debian has, and its first run."""
    lab = Lab("lab", "api")
    lab.down(volumes=True)
    try:
        begun_s = time.monotonic()
        lab.up("postgres", "scheduler", "prometheus", "worker", "api")
        lab.greeted()
        lab.ready()
        ready_s = time.monotonic() - begun_s
        document = lab.carry_out(shipped="quick")
        measured(
            f"profile lab, first start: ready after {ready_s:.1f} s, first result after {time.monotonic() - begun_s:.1f} s"
        )
        yield Brought(lab, document)
    finally:
        lab.down(volumes=True)


@pytest.fixture(scope="session", autouse=True)
def nothing_left() -> Iterator[None]:
    """Everything of these tests ends with them."""
    yield
    names = start("podman", "ps", "--all", "--format", "{{.Names}}").stdout.split()
    assert [name for name in names if name.startswith("lhtest-")] == []

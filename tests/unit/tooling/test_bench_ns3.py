"""ns-3 for the benchmark: setup.sh installs it; where it cannot, the rows report its remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import cases, ns3_side
from tests.bench.cases import NS3_CASES, Bench
from tests.bench.longhaul_side import BenchError


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program in place of setup.sh, which notes its arguments."""
    script = tmp_path / "setup.sh"
    script.write_text('#!/bin/sh\necho "$@" >"${0%/*}/asked"\n')
    script.chmod(0o755)
    monkeypatch.setattr(ns3_side, "_SETUP", script)
    return script


def test_ns3_is_installed_by_its_group_of_setup(setup: Path) -> None:
    assert ns3_side.ns3_version()
    assert (setup.parent / "asked").read_text() == "ns3\n"


def test_without_the_right_to_install_the_rows_have_the_command(setup: Path, tmp_path: Path) -> None:
    setup.write_text("#!/bin/sh\necho 'setup: missing' >&2\necho '    sudo apt-get install libns3-dev' >&2\nexit 3\n")
    with pytest.raises(BenchError, match=r"could not install it: sudo apt-get install libns3-dev$"):
        ns3_side.ns3_version()
    rows = list(cases.ns3(Bench(tmp_path, 1, quick=False)))
    assert [row.value for row in rows] == [None] * len(NS3_CASES)
    assert all(row.note.startswith("not measured: ns-3 is not installed") for row in rows)

"""The pack l4s on the kernel that has L4S: its verdicts, and a coupling that is not the expected one is noticed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.kernels.test_own_kernels import longhaul


def test_the_pack_meets_the_statements_of_the_rfcs(tmp_path: Path) -> None:
    longhaul("kernel", "build", "7.3")
    longhaul("reproduce", "l4s", "-o", str(tmp_path / "l4s"))


def test_a_wrong_coupling_misses_its_expectation() -> None:
    longhaul("run", "l4s/coupling", "--repeats", "1")
    found = json.loads(
        longhaul(
            "run", "l4s/coupling", "--repeats", "1", "--set", "path.dualpi2.coupling=1", "--json", code=1
        ).splitlines()[0]
    )
    (expected,) = found["runs"][0]["expect"]
    assert not expected["ok"]
    assert 0.85 < expected["value"] < 1.15

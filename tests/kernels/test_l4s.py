"""The pack l4s on the kernel that has L4S: its verdicts, and a wrong coupling, as asked for or in the kernel, is noticed."""

from __future__ import annotations

import difflib
import json
import subprocess
from pathlib import Path
from typing import Any

from longhaul.orchestrator.kernels.named_kernels import archive_of
from tests.kernels.command_line import longhaul

DUALPI2 = "net/sched/sch_dualpi2.c"
COUPLED = "local_l_prob = (u64)prob * q->coupling_factor;"


def coupling(*more: str, code: int = 0) -> dict[str, Any]:
    """What the experiment says about its expectation."""
    out = longhaul("run", "l4s/coupling", "--repeats", "1", *more, "--json", code=code)
    (expected,) = json.loads(out.splitlines()[0])["runs"][0]["expect"]
    found: dict[str, Any] = expected
    return found


def test_the_pack_meets_the_statements_of_the_rfcs(tmp_path: Path) -> None:
    longhaul("kernel", "build", "7.3")
    longhaul("reproduce", "l4s", "-o", str(tmp_path / "l4s"))


def test_a_coupling_other_than_the_expected_one_is_noticed() -> None:
    assert coupling()["ok"]
    expected = coupling("--set", "path.dualpi2.coupling=1", code=1)
    assert not expected["ok"]
    assert 0.85 < expected["value"] < 1.15


def test_a_kernel_with_a_broken_coupling_is_noticed(tmp_path: Path) -> None:
    """Its dualpi2 accepts the factor, reports it, and leaves it out."""
    member = subprocess.run(
        ["tar", "xf", archive_of("7.3"), "--to-stdout", "--wildcards", f"*/{DUALPI2}"], capture_output=True, check=True
    )
    whole = member.stdout.decode()
    assert whole.count(COUPLED) == 1
    broken = whole.replace(COUPLED, "local_l_prob = prob;")
    before, after = whole.splitlines(keepends=True), broken.splitlines(keepends=True)
    patch = tmp_path / "broken-coupling.patch"
    patch.write_text("".join(difflib.unified_diff(before, after, f"a/{DUALPI2}", f"b/{DUALPI2}")))
    longhaul("kernel", "add", "test-own-coupling", "--base", "7.3", "--replace", f"--patch={patch}")
    longhaul("kernel", "build", "test-own-coupling")
    expected = coupling("--set", 'kernel="test-own-coupling"', code=1)
    assert not expected["ok"]
    assert 0.85 < expected["value"] < 1.15

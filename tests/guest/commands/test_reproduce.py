"""Reproducing a published figure: the command runs its experiment, judges every claim and sets the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import longhaul


@pytest.mark.parametrize(
    ("figure", "claims"), [("fig3", ["tracking", "tracking-at-saturation"]), ("fig11b", ["tracking"])]
)
def test_apptcp_follows_the_required_rate(tmp_path: Path, figure: str, claims: list[str]) -> None:
    pages = tmp_path / "pages"
    done = longhaul(
        "reproduce", f"apptcp/{figure}", "--quick", "--jobs", "1", "--json", "-o", str(pages), home=tmp_path / "home"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert [(one["paper"], one["figure"], one["claim"], one["verdict"]) for one in result["verdicts"]] == [
        ("apptcp", figure, claim, "agrees") for claim in claims
    ]
    assert {run["status"] for run in result["runs"]} == {"done"}
    assert {row["experiment"] for row in result["summary"]} == {run["experiment"] for run in result["runs"]}
    assert json.loads((pages / "result.json").read_text()) == result
    page = (pages / "apptcp.html").read_text()
    assert page.count("<svg") == 1
    assert "data:text/csv" in page
    assert "data:application/vnd.apache.parquet;base64," in page
    assert f"## {figure}" in (pages / "apptcp.md").read_text()


def test_dctcp_with_hosts_that_take_no_time_follows_ns3s_curve_above_a_threshold_of_0(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    done = longhaul(
        "reproduce", "simbricks-dctcp/fig1", "--quick", "--jobs", "1", "--json", "-o", str(pages), home=tmp_path / "home"
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = {one["claim"]: (one["verdict"], one["measured"]) for one in json.loads(done.stdout)["verdicts"]}
    agreeing = ("rises", "every-packet-marked", "a-seventh", "high-thresholds")
    assert {name: found[name][0] for name in agreeing} == dict.fromkeys(agreeing, "agrees")
    for name, near in {"as-ns-3": 3, "as-simbricks": 1, "as-the-testbed": 2}.items():
        assert found[name][0] == "differs"
        assert found[name][1].startswith(f"{near} of 4 points within 10.00 %"), found[name]
    page = (pages / "simbricks-dctcp.html").read_text()
    for curve in ("testbed", "SimBricks", "ns-3"):
        assert f">published: {curve}<" in page

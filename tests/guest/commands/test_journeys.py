"""Whole workflows of a user at the command line, with real guests underneath."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from longhaul.orchestrator.papers.load import load_paper
from longhaul.orchestrator.plan import cost
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.spec.kernel_versions import FURTHER_KERNELS
from longhaul.orchestrator.spec.load import at_point, load_experiment, shipped_experiments
from longhaul.orchestrator.spec.sweep import expand
from longhaul.orchestrator.trace.records import EVENT_PATH_CHANGE
from tests.support import command

SHORT = ["--set", "duration=3 s"]
# Kernels that `make test` does not build: their experiments run in tests/kernels.
OF_FURTHER_KERNELS = {name for name in shipped_experiments() if load_experiment(name).kernel in FURTHER_KERNELS}
# The estimate knows the pace of this machine, also one that it had in better times.
SLOW_S = 2
LARGE_BITS = 10e9
LEAST_BPS = 1_000_000  # of a path that gets a lower rate

Start = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def longhaul(home: Path, *arguments: str, code: int = 0, start: Start = command.longhaul) -> str:
    result = start(*arguments, home=home)
    assert result.returncode == code, result.stderr
    return result.stdout


def run(home: Path, *arguments: str, code: int = 0, start: Start = command.longhaul) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(longhaul(home, "run", *arguments, "--json", code=code, start=start))
    return document


def test_from_a_first_run_to_a_proof(home: Path, tmp_path: Path) -> None:
    text = longhaul(home, "run", "quick")
    assert all(word in text for word in ("Congestion window", "Goodput", "utilisation", "checks", "kernel 6.12"))

    again = run(home, "quick")["runs"][0]
    assert again["cached"] is True
    answer = longhaul(home, "run", "quick")
    assert longhaul(home, "run", "quick") == answer
    assert not command.loaded_by("run", "quick", home=home) & {
        "numpy",
        "rich",
        "pyarrow",
        "cramjam",
        "sqlalchemy",
        "alembic",
        "asyncio",
        "typer._adapters",
        "longhaul.orchestrator.analysis.fidelity",
        "longhaul.orchestrator.execution.evaluation",
        "longhaul.orchestrator.papers",
        "longhaul.orchestrator.trace.tail",
    }
    # In a new Python process, whose hash seed differs.
    fresh = run(home, "quick", "--no-cache", start=command.longhaul_anew)["runs"][0]
    assert fresh["cached"] is False
    assert (fresh["run"], fresh["trace_sha256"]) == (again["run"], again["trace_sha256"])

    assert "identical" in longhaul(home, "rerun", again["run"][:6], start=command.longhaul_anew)
    assert again["run"] in longhaul(home, "show", again["run"][:6])
    assert len(json.loads(longhaul(home, "list", "runs", "--json"))) == 1

    other = run(home, "quick", "--seed", "2")["runs"][0]
    compared = json.loads(longhaul(home, "compare", again["run"], other["run"], "--json"))
    assert compared["identical"] is False
    assert compared["measures"]
    assert "trace_differences" not in compared
    # Runs of one seed are the same until something is different.
    changed = run(home, "quick", "--set", "schedule=[{at: 5 s, path: {bandwidth: 8 Mbit/s}}]")["runs"][0]
    compared = json.loads(longhaul(home, "compare", again["run"], changed["run"], "--trace", "--json"))
    (difference,) = compared["trace_differences"]
    assert (difference["kind"], difference["b"]["what"]) == ("event", EVENT_PATH_CHANGE)
    assert 5.0 <= difference["t_s"] < 5.0001
    assert "on: an event (change of the path)" in longhaul(home, "compare", again["run"], changed["run"], "--trace")

    for name, begin in (("run.html", b"<!doctype html>"), ("run.svg", b"<?xml"), ("run.png", b"\x89PNG")):
        longhaul(home, "report", again["run"], other["run"], "-o", str(tmp_path / name))
        assert (tmp_path / name).read_bytes().lower().startswith(begin.lower())

    longhaul(home, "export", again["run"], "--to", "csv", "-o", str(tmp_path / "csv"))
    header, first, *_ = (tmp_path / "csv" / "acks.csv").read_text().splitlines()
    assert header.split(",")[0] == '"t_ns"'
    assert int(first.split(",")[0]) > 0


def test_a_sweep_with_repeats_is_summarised(home: Path) -> None:
    document = run(home, "quick", *SHORT, "--repeats", "3", "--set", "sweep={path.rtt: [20 ms, 40 ms]}", "--jobs", "2")
    assert [(one["point"]["path.rtt"], one["seed"]) for one in document["runs"]] == [
        (rtt, seed) for rtt in ("20 ms", "40 ms") for seed in (1, 2, 3)
    ]
    rows = [row for row in document["summary"] if (row["flow"], row["measure"]) == ("app", "goodput_bps")]
    assert [row["n"] for row in rows] == [3, 3]
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)


def test_a_shorter_buffer_closes_the_gate_where_it_costs_goodput(home: Path, tmp_path: Path) -> None:
    sweep = ["--set", "sweep={flows.app.cc: [cubic, lhfixed]}", "--repeats", "3", "--set", "expect=[]"]
    before, after = tmp_path / "before", tmp_path / "after"
    run(home, "quick", *SHORT, *sweep, "--out", str(before))
    run(home, "quick", *SHORT, *sweep, "--set", "path.buffer=0.1 BDP", "--out", str(after))
    junit, summary = tmp_path / "gate.xml", tmp_path / "summary.md"
    arguments = ["--for", "goodput(app)", "--for", "queue_delay_p95", "--junit", str(junit), "--markdown", str(summary)]
    compared = json.loads(longhaul(home, "compare", str(before), str(after), *arguments, "--json", code=1))
    verdicts = {
        (row["point"]["flows.app.cc"], row["measure"]): row["verdict"] for row in compared["measures"] if row["gates"]
    }
    # A tenth of a BDP is too short for CUBIC's sawtooth; the window of lhfixed is below the BDP and needs no buffer.
    assert verdicts["cubic", "goodput"] == "worse"
    assert verdicts["cubic", "queue_delay_p95"] == "better"
    assert verdicts["lhfixed", "goodput"] in ("same", "no difference")
    assert (compared["ok"], len(compared["pairs"]), compared["only_a"]) == (False, 6, [])
    assert ElementTree.parse(junit).getroot().get("failures") == "1"
    assert "goodput(app) at app.cc=cubic: worse" in summary.read_text()

    longhaul(home, "compare", str(before), str(after), "--for", "queue_delay_p95")
    assert "identical" in longhaul(home, "compare", str(before), str(before), "--for", "goodput(app)")
    assert "flows.app.cc=lhfixed" in longhaul(home, "compare", str(before), "--by", "flows.app.cc=cubic,lhfixed")


def test_a_missed_expectation_is_exit_code_1_and_a_failure_in_junit(home: Path, tmp_path: Path) -> None:
    greedy = "expect=[{measure: goodput, flow: app, at_least: 11 Mbit/s}]"
    junit = tmp_path / "junit.xml"
    document = run(home, "quick", *SHORT, "--set", greedy, "--junit", str(junit), code=1)
    assert document["runs"][0]["status"] == "missed"
    assert ElementTree.parse(junit).getroot().get("failures") == "1"


def test_out_contains_everything_for_another_program(home: Path, tmp_path: Path) -> None:
    document = run(home, "quick", *SHORT, "--out", str(tmp_path / "out"))
    folder = tmp_path / "out" / document["runs"][0]["run"]
    assert json.loads((tmp_path / "out" / "result.json").read_text()) == document
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["document"]["trace_sha256"] == document["runs"][0]["trace_sha256"]
    assert manifest["spec"]["duration"] == "3 s"
    assert {"kernel", "agent", "lh_trace"} <= set(manifest["identity"])
    queues = [qdisc["kind"] for device in manifest["facts"]["devices"] for qdisc in device["qdiscs"]]
    assert sorted(queues) == ["lh_link", "lh_link", "noqueue", "noqueue"]


def test_experiments_of_further_kernels_belong_to_the_pack_that_tests_kernels_runs() -> None:
    assert {use.experiment for figure in load_paper("l4s").figures for use in figure.uses} == OF_FURTHER_KERNELS


@pytest.mark.parametrize("name", sorted(set(shipped_experiments()) - OF_FURTHER_KERNELS - {"demo"}))
def test_every_shipped_experiment_runs_at_its_first_point(home: Path, name: str) -> None:
    experiment = load_experiment(name)
    point = next(iter(expand(experiment.sweep)))
    first = [word for path, value in point.items() for word in ("--set", f"{path}={json.dumps(value)}")]
    run_of = compile_plan(at_point(experiment, point)).runs[0]
    # The test only checks that it runs, so long experiments get a path of a lower rate, and so do their UDP flows.
    bits = run_of.meaning.bandwidth_bps * run_of.duration_us / 1e6
    if bits > LARGE_BITS or cost.wall_estimate_s(run_of) > SLOW_S:
        first += ["--set", f"path.bandwidth={max(run_of.meaning.bandwidth_bps // 50, LEAST_BPS)} bit/s"]
        slow = {flow.name: f"{flow.rate_bps // 50} bit/s" for flow in run_of.flows if flow.kind == "udp"}
        written = {flow.name for flow in experiment.flows if flow.udp is not None}
        first += [word for name in slow.keys() & written for word in ("--set", f"flows.{name}.udp={slow[name]}")]
    # Expectations are left out: they do not hold for the first point alone.
    document = run(home, name, *first, "--set", "expect=[]", "--set", "repeats=1", "--set", "sweep=null")
    assert document["runs"][0]["status"] == "done"

"""`import longhaul`: lazy, complete, documented; frames and errors without a guest."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import longhaul
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import Run as PlannedRun
from longhaul.orchestrator.spec.load import load_experiment
from longhaul.orchestrator.system.errors import PlanError, SpecError
from longhaul.orchestrator.trace.records import KIND_NUMBERS, TRACE_KINDS, Records, Trace
from longhaul.results.result import Result
from longhaul.results.run import Run
from tests.support.folders import REPOSITORY
from tests.support.programs import run_program


def _loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = run_program([sys.executable, "-c", code], check=True)
    return {name for name in done.stdout.split() if name.startswith("longhaul.") or name in ("numpy", "pydantic")}


def test_importing_it_loads_nothing_of_it() -> None:
    assert _loaded_by("import longhaul") == set()
    assert not any(
        name.startswith(("longhaul.laboratory", "longhaul.results", "longhaul.client", "longhaul.cli"))
        for name in _loaded_by("import longhaul.orchestrator.spec.load")
    )


def test_the_client_loads_no_engine() -> None:
    """A program that uses a service needs neither guests nor the web framework."""
    loaded = _loaded_by("import longhaul; longhaul.Client")
    assert not {name for name in loaded if re.match(r"longhaul\.(cli\b|laboratory\b|orchestrator\.backends\.)", name)}


def test_every_public_name_is_there_and_on_its_page() -> None:
    page = (REPOSITORY / "docs/python.md").read_text().partition("## Everything")[2]
    on_page = set(re.findall(r"`(\w+)", "".join(re.findall(r"^\|(.*?)\|", page, re.MULTILINE))))
    for name in longhaul.__all__:
        assert getattr(longhaul, name).__doc__, name
    assert on_page - {"name"} == set(longhaul.__all__)
    assert set(longhaul.__all__) <= set(dir(longhaul))
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        longhaul.runn  # noqa: B018


def test_attributes_on_the_page_exist() -> None:
    page = (REPOSITORY / "docs/python.md").read_text()
    for kind in (value for name in longhaul.__all__ if isinstance(value := getattr(longhaul, name), type)):
        rows = re.findall(rf"^\| `{kind.__name__}` \| (.*) \|$", page, re.MULTILINE)
        for attribute in re.findall(r"`(\w+)`", "".join(rows)):
            assert hasattr(kind, attribute), (kind, attribute)


class _Kept:
    """Two ACKs, and a drop of a link that the plan does not have."""

    def __init__(self) -> None:
        (self.run,) = compile_plan(load_experiment("quick")).runs

    def planned(self, run_id: str) -> PlannedRun:
        return self.run

    def trace(self, run_id: str) -> Trace:
        return Trace(*(self.records(run_id, kind) for kind in TRACE_KINDS))

    def text(self, run_id: str, name: str, made_of: str, make: Callable[[], tuple[str, bool]]) -> str:
        return make()[0]

    def records(self, run_id: str, kind: str) -> Records:
        count = {"ack": 2, "drop": 1}.get(kind, 0)
        records = np.zeros(count, TRACE_KINDS[kind])
        records["kind"] = KIND_NUMBERS[kind]
        records["t_ns"] = np.arange(count) * 1_500_000_000
        if kind == "ack":
            records["cwnd"], records["id"] = [10, 2**32 - 1], self.run.flows[0].id
        records["id"] += 99 if kind == "drop" else 0
        return records


def _document(cc: str, seed: int, status: str = "done") -> dict[str, Any]:
    return {"run": f"{cc}{seed}", "experiment": "x", "status": status, "seed": seed, "point": {"flows.app.cc": cc}}


def _result(*documents: dict[str, Any]) -> Result:
    summary = [
        {"point": {"flows.app.cc": cc}, "flow": "app", "measure": "goodput_bps", "value": value, "n": 1}
        for cc, value in (("cubic", 1e6), ("bbr", 2e6))
    ]
    return Result({"experiment": "x", "runs": list(documents), "summary": summary}, _Kept())


def test_frames_of_three_libraries_hold_the_same_numbers() -> None:
    result = _result(_document("cubic", 1), _document("bbr", 1))
    table = result.frame("acks", "pyarrow")
    assert isinstance(table, pyarrow.Table)
    assert table.column("cwnd").to_pylist() == [10, 2**32 - 1] * 2
    assert table.column("t_s").to_pylist() == [0.0, 1.5] * 2
    assert table.column("flow").to_pylist() == ["app"] * 4
    assert table.column("flows.app.cc").to_pylist() == ["cubic"] * 2 + ["bbr"] * 2
    panda, polar = result.frame("acks", "pandas"), result.frame("acks", "polars")
    assert isinstance(panda, pandas.DataFrame)
    assert isinstance(polar, polars.DataFrame)
    assert isinstance(result.frame("acks"), pandas.DataFrame)
    for name in table.column_names:
        assert panda[name].tolist() == polar[name].to_list() == table.column(name).to_pylist(), name
    assert result.frame("drops", "pyarrow").column("link").to_pylist() == [None, None]
    assert len(result.frame("links", "pyarrow")) == 0


def test_an_impossible_frame_raises_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _result(_document("cubic", 1))
    with pytest.raises(PlanError, match=r"known: measures, acks.*nearest: acks"):
        result.frame("acs")
    with pytest.raises(PlanError, match="known: pandas, polars, pyarrow"):
        result.frame("acks", "arrow")  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(PlanError, match="pip install polars"):
        result.frame("acks", "polars")
    with pytest.raises(longhaul.LonghaulError, match="none of its runs has numbers"):
        _result(_document("cubic", 1, "failed")).frame("acks")


def test_a_point_of_a_sweep_is_chosen_by_its_values() -> None:
    result = _result(_document("cubic", 1), _document("cubic", 2), _document("bbr", 1))
    assert [len(result.at(point).runs) for point in ("app.cc=cubic", "flows.app.cc = bbr")] == [2, 1]
    assert result.at({"flows.app.cc": "bbr"}).measures == {"goodput(app)": 2e6}
    with pytest.raises(PlanError, match="it has 2 points"):
        result.measures  # noqa: B018
    with pytest.raises(PlanError, match=r"known: app\.cc=cubic; app\.cc=bbr"):
        result.at("app.cc=reno")


@pytest.mark.parametrize(
    ("point", "runs"),
    [("rtt=80ms", 1), ("path.rtt=80 ms", 1), ("loss=0.00001", 1), ("loss=1e-05, rtt = 20 ms", 1), ("a.cc=bbr", 2)],
)
def test_a_point_is_written_as_in_an_experiment(point: str, runs: int) -> None:
    points = [("80 ms", "1e-5"), ("20 ms", "0.00001"), ("20 ms", "0.1")]
    controls = {"flows.a.cc": "bbr", "flows.b.cc": "reno"}
    documents = [
        _document("cubic", seed) | {"point": {"path.rtt": rtt, "path.loss": loss, **(controls if seed else {})}}
        for seed, (rtt, loss) in enumerate(points)
    ]
    result = _result(*documents)
    assert len(result.at(point).runs) == runs + (point == "loss=0.00001")
    with pytest.raises(PlanError, match=r"2 swept fields end in cc.*flows\.a\.cc, flows\.b\.cc"):
        result.at("cc=bbr")


def test_missing_parts_of_a_failed_run_raise_the_reason() -> None:
    error = {"attempting": "running guest", "subject": "x", "what": "it died", "hint": ""}
    run = Run(_document("cubic", 1, "failed") | {"error": error}, _Kept())
    assert (run.ok, run.measures, run.error) == (False, {}, "running guest x: it died")
    with pytest.raises(longhaul.LonghaulError, match="the run failed"):
        run.series("cwnd", flow="app")
    assert "it died" in run._repr_html_()


def test_points_of_different_fields_keep_every_column() -> None:
    other = _document("bbr", 1) | {"point": {"path.rtt": "10 ms"}}
    result = _result(_document("cubic", 1), other)
    table = result.frame("acks", "pyarrow")
    assert table.column("path.rtt").to_pylist() == [None] * 2 + ["10 ms"] * 2
    assert table.column("flows.app.cc").to_pylist() == ["cubic"] * 2 + [None] * 2


def test_a_cancelled_run_is_shown_without_numbers() -> None:
    result = _result(_document("cubic", 1, "cancelled") | {"partial": {"reached_s": 1.0, "of_s": 5.0}})
    assert "cancelled" in result._repr_html_()
    assert "cancelled" in result.runs[0]._repr_html_()
    with pytest.raises(longhaul.LonghaulError, match="the run is cancelled"):
        result.runs[0].chart()


def test_values_of_numpy_are_numbers() -> None:
    plans = [longhaul.plan("quick", set={"path.loss": loss}) for loss in (0.01, np.float64(0.01))]
    assert plans[0].document == plans[1].document
    swept = longhaul.plan("quick", set={"sweep": {"flows.app.params.beta": np.arange(600, 603)}})
    assert len(swept.runs) == 3


def test_names_in_html_are_text() -> None:
    result = _result(
        _document("<script>", 1, "failed") | {"error": {"attempting": "<b>", "subject": "", "what": "", "hint": ""}}
    )
    assert "<script" not in result._repr_html_()
    assert "<b>" not in result._repr_html_()


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: longhaul.load("quik"), SpecError, "nearest: quick"),
        (lambda: longhaul.load(7), PlanError, "it has the type int"),  # type: ignore[arg-type]
        (lambda: longhaul.load("quick", set="path.rtt=1ms"), PlanError, r'set=\["path.rtt=1ms"\]'),
        (lambda: longhaul.plan("quick", set={"path.rt": "1ms"}), SpecError, "path.rt"),
        (lambda: longhaul.plan("quick", backend="moon"), longhaul.LonghaulError, "known: hosts, mininet, sandbox"),
        (lambda: longhaul.sweep("quick", {}), PlanError, "no field with values"),
        (lambda: longhaul.sweep("quick", {"path.rtt": [{1}]}), PlanError, "it has the type set"),
        (lambda: longhaul.sweep("quick", {"path.rtt": np.array([])}), PlanError, "no field with values"),
        (lambda: longhaul.run(longhaul.plan("quick"), seed=3), PlanError, "a plan cannot be changed"),
        (lambda: longhaul.compare("quick"), PlanError, "with nothing"),
    ],
)
def test_mistakes_are_named(call: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


def test_changes_are_the_same_as_a_list_and_by_field() -> None:
    listed = longhaul.plan("quick", set=["path.rtt=80 ms", "flows.app.cc=reno"])
    named = longhaul.plan("quick", set={"path.rtt": "80 ms", "flows.app.cc": "reno"})
    again = longhaul.plan(longhaul.load("quick", set=["path.rtt=80 ms"]), set={"flows.app.cc": "reno"})
    assert listed.document == named.document == again.document
    assert (listed.runs[0].meaning.rtt_us, listed.runs[0].flows[0].cc) == (80_000, "reno")
    assert "<svg" in named._svg()
    assert "quick" in named._repr_html_()

"""Previews: numbers with known answers, a drawing with known paths, a sample of a large sweep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.cost import wall_estimate_s
from longhaul.orchestrator.preview.path_drawing import drawing_of
from longhaul.orchestrator.preview.preview import MOST_RUNS, preview
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.system.errors import FieldProblem, PlanError, SpecError
from tests.support.host_policy import POLICY

BASE: dict[str, Any] = {
    "experiment": "long",
    "path": {"bandwidth": "622 Mbit/s", "rtt": "300 ms"},
    "flows": [{"name": "app", "cc": "cubic"}],
    "duration": "60 s",
}


def _of(**changes: Any) -> Experiment:
    return parse_experiment(BASE | changes)


def test_the_numbers_of_a_long_fast_path() -> None:
    numbers = preview(_of()).numbers
    assert numbers.bdp_bytes == 622_000_000 * 0.3 / 8
    assert numbers.bdp_packets == numbers.buffer_packets == round(622e6 * 0.3 / 8 / 1514)
    assert numbers.buffer_bdp == 1
    assert numbers.buffer_us == pytest.approx(300_000, rel=1e-4)
    assert numbers.packets_per_s == pytest.approx(622e6 / 8 / 1514)
    assert (numbers.forward_us, numbers.reverse_us) == (150_000, 150_000)


def test_a_small_sweep_is_resolved_as_its_plan_is() -> None:
    experiment = _of(sweep={"path.rtt": ["10 ms", "100 ms"], "path.buffer": ["1 BDP", "2 BDP"]}, repeats=3)
    plan, found = compile_plan(experiment), preview(experiment)
    assert found.whole
    assert (found.points, found.runs) == (4, 12)
    assert [run.as_json() for run in found.plan.runs] == [run.as_json() for run in plan.runs]
    assert found.wall_s == pytest.approx(sum(map(wall_estimate_s, plan.runs)), abs=1e-3)
    assert found.fields == {"path.rtt": ["10 ms", "100 ms"], "path.buffer": ["1 BDP", "2 BDP"]}
    assert [one.point["path.rtt"] for one in found.resolved] == ["10 ms", "10 ms", "100 ms", "100 ms"]


def test_repeats_that_differ_only_in_their_seed_are_resolved_once() -> None:
    found = preview(_of(repeats=500))
    assert not found.whole
    assert (found.points, found.runs, len(found.plan.runs), len(found.resolved)) == (1, 500, 1, 1)
    assert found.wall_s == pytest.approx(500 * found.numbers.wall_s, abs=1e-3)


@pytest.mark.parametrize("listed", [False, True])
def test_a_sample_of_a_large_sweep_is_resolved(listed: bool) -> None:
    rates, rtts = [f"{rate} Mbit/s" for rate in range(1, 51)], [f"{rtt} ms" for rtt in range(10, 50)]
    axes: Any = {"path.bandwidth": rates, "path.rtt": rtts}
    if listed:
        axes = [{"path.bandwidth": rate, "path.rtt": rtt} for rate in rates[:10] for rtt in rtts]
    experiment = _of(sweep=axes, repeats=2)
    found = preview(experiment)
    assert (found.points, found.runs) == ((400, 800) if listed else (2000, 4000))
    assert len(found.plan.runs) == len(found.resolved) == MOST_RUNS
    assert found.numbers.bandwidth_bps == 1_000_000
    # The estimate has the magnitude of the cost of all points.
    whole_s = sum(map(wall_estimate_s, compile_plan(experiment, repeats=1).runs)) * 2 if listed else None
    assert whole_s is None or found.wall_s == pytest.approx(whole_s, rel=0.3)


def test_on_real_hosts_time_is_real_and_numbers_are_estimates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hosts.yml").write_text(json.dumps(POLICY))
    monkeypatch.setenv("LONGHAUL_HOSTS", str(tmp_path / "hosts.yml"))
    found = preview(_of(duration="10 s"), backend="hosts", hosts=("hk", "chicago"))
    assert (found.plan.runs[0].backend, found.plan.runs[0].clock) == ("hosts", "real")
    assert found.numbers.bandwidth_bps == 622_000_000
    assert found.wall_s >= 10
    assert [flow.name for flow in found.drawing.flows] == ["app"]
    with pytest.raises(PlanError, match="no host is named"):
        preview(_of(), backend="hosts")


def test_an_invalid_experiment_is_refused() -> None:
    with pytest.raises(PlanError, match="no host is named"):
        preview(_of(flows=[{"name": "app", "cc": "cubic", "sender": "unknown", "receiver": "b1"}]))


def test_the_drawing_of_a_dumbbell() -> None:
    path = {
        "bandwidth": "10 Mbit/s",
        "one_way": {"forward": "20 ms", "reverse": "30 ms"},
        "buffer": "50 packets",
        "loss": 1e-5,
    }
    flows = [{"name": "app", "cc": "cubic"}, {"name": "far", "cc": "reno", "rtt": "90 ms", "count": 2}]
    drawing = drawing_of(_of(path=path, flows=flows))
    assert [(node.name, node.kind) for node in drawing.nodes] == [
        ("s1", "switch"), ("s2", "switch"), ("a1", "host"), ("b1", "host"), ("a2", "host"), ("b2", "host"),
    ]  # fmt: skip
    (bottleneck,) = [link for link in drawing.links if link.bottleneck]
    assert bottleneck.name == "s1-s2"
    assert (bottleneck.forward.rate_bps, bottleneck.forward.buffer_packets) == (10_000_000, 50)
    assert bottleneck.forward.buffer_us == 50 * 1514 * 8 // 10
    assert bottleneck.forward.loss == 1e-5
    assert (bottleneck.forward.delay_us, bottleneck.reverse.delay_us) == (20_000, 30_000)
    assert bottleneck.reverse.rate_bps is None
    assert [(flow.name, flow.entry, flow.way[0], flow.rtt_us) for flow in drawing.flows] == [
        ("app", 0, "a1", 50_000), ("far-1", 1, "a2", 90_000), ("far-2", 1, "a2", 90_000),
    ]  # fmt: skip
    assert all(flow.way[1:3] == ("s1", "s2") for flow in drawing.flows)


def test_the_drawing_of_several_bottlenecks() -> None:
    flows = [{"name": "through", "cc": "cubic"}, {"name": "cross", "cc": "bic"}, {"name": "noise", "udp": "1 Mbit/s"}]
    drawing = drawing_of(_of(topology="parking_lot", path={"buffer": "20 ms"}, flows=flows))
    assert [link.name for link in drawing.links if link.bottleneck] == ["s1-s2", "s2-s3", "s3-s4"]
    assert drawing.flows[0].way == ("a0", "s1", "s2", "s3", "s4", "b0")
    assert drawing.flows[1].way == ("a1", "s1", "s2", "b1")
    assert [flow.cc for flow in drawing.flows] == ["cubic", "bic", None]


def test_only_used_parts_of_a_large_network_are_drawn() -> None:
    drawing = drawing_of(
        _of(topology="incast", params={"n": 500}, path={}, flows=[{"name": "all", "cc": "cubic", "count": 300}])
    )
    assert (len(drawing.nodes), drawing.more_nodes) == (120, 502 - 120)
    assert (len(drawing.flows), drawing.more_flows) == (100, 200)
    drawn = {node.name for node in drawing.nodes}
    assert all(set(flow.way) <= drawn for flow in drawing.flows)


@pytest.mark.parametrize(
    ("changes", "location", "field", "nearest"),
    [
        ({"flows": [{"name": "app", "cc": "cubik"}]}, ("flows", 0, "cc"), "flows.app.cc", "cubic"),
        ({"path": {"bandwith": "1 Mbit/s", "rtt": "1 ms"}}, ("path", "bandwith"), "path.bandwith", "bandwidth"),
        ({"duration": "60"}, ("duration",), "duration", "60 s"),
        ({"sweep": {"path.rtt": ["1 ms", "fast"]}}, ("sweep", "path.rtt", 1), "sweep.path.rtt.1", None),
        ({"flows": [{"name": "app", "cc": "cubic", "stop": "2 h"}]}, ("flows", 0, "stop"), "flows.app.stop", None),
    ],
)  # fmt: skip
def test_a_mistake_has_its_place(
    changes: dict[str, Any], location: tuple[str | int, ...], field: str, nearest: str | None
) -> None:
    with pytest.raises(SpecError) as caught:
        preview(_of(**changes))
    problem = caught.value.problems[0]
    assert isinstance(problem, FieldProblem)
    assert (problem.location, problem.field, problem.nearest) == (location, field, nearest)
    assert str(problem).startswith(field)

"""Presets and eras fill only the fields that an experiment leaves out."""

from __future__ import annotations

from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.spec.presets import PRESETS
from longhaul.orchestrator.system.errors import SpecError
from tests.support.guests import experiment


def compiled(flows: list[dict[str, Any]], **more: Any) -> Run:
    path = {"bandwidth": "1 Mbit/s", "rtt": "8 ms", "buffer": "50 packets", "mtu": 1052}
    # No module but those of the controls.
    fields = {"emulation": "chain", "path": path, "flows": flows, "duration": "10 s"}
    return compile_plan(experiment(**fields | more)).runs[0]


def sysctl(run: Run, node: str, name: str) -> str:
    (found,) = [node_ for node_ in run.nodes if node_.name == node]
    return dict(found.sysctls)[f"net/ipv4/{name}"]


def test_the_fifteen_variants_of_the_study_are_there() -> None:
    assert [name.removeprefix("unpa/") for name in PRESETS] == [
        "reno", "newreno", "sack", "fack", "vegas", "veno", "lp", "westwood", "highspeed", "htcp", "hybla", "bic",
        "cubic", "compound", "illinois",
    ]  # fmt: skip


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_compiles_with_its_window_and_label(preset: str) -> None:
    run = compiled([{"name": "a", "preset": preset}])
    (flow,) = run.flows
    # Hybla lifts NS-2's limit by itself.
    assert flow.options.window_clamp_bytes == (0 if preset == "unpa/hybla" else 20 * 1000)
    assert flow.variant == PRESETS[preset].fields["variant"]
    assert run.routes[0].initcwnd == 2
    assert sysctl(run, "a1", "tcp_sack") == ("0" if preset in ("unpa/reno", "unpa/newreno") else "1")
    assert sysctl(run, "a1", "tcp_recovery") == ("1" if preset == "unpa/fack" else "0")


def test_variants_with_other_host_options_get_separate_hosts() -> None:
    run = compiled([{"name": "a", "preset": "unpa/reno"}, {"name": "b", "preset": "unpa/vegas"}])
    assert [flow.from_node for flow in run.flows] == ["a1", "a2"]
    assert {module.name: dict(module.params) for module in run.modules} == {
        "tcp_vegas": {"alpha": "1", "beta": "3", "gamma": "1"}
    }


def test_fields_of_the_flow_override_its_preset() -> None:
    flow = {"name": "a", "preset": "unpa/vegas", "window": None, "initial_window": 4, "params": {"beta": "4 packets"}}
    run = compiled([flow])
    assert run.flows[0].options.window_clamp_bytes == 0
    assert run.routes[0].initcwnd == 4
    assert dict(run.modules[0].params) == {"alpha": "1", "beta": "4", "gamma": "1"}


def test_a_sweep_goes_through_presets() -> None:
    data = {
        "experiment": "presets",
        "path": {"bandwidth": "1 Mbit/s", "rtt": "8 ms"},
        "flows": [{"name": "a", "preset": "unpa/reno"}],
        "duration": "10 s",
        "sweep": {"flows.a.preset": ["unpa/reno", "unpa/cubic"]},
    }
    assert [run.flows[0].cc for run in compile_plan(parse_experiment(data)).runs] == ["reno", "cubic"]


@pytest.mark.parametrize(
    ("flow", "line"),
    [
        ({"preset": "unpa/renno"}, "flows.a.preset: read .*one of unpa/reno"),
        ({"preset": "unpa/vegas", "cc": "reno"}, "flows.a.cc: read .*unpa/vegas sets it"),
        ({"preset": "unpa/vegas", "udp": "1 Mbit/s"}, "flows.a.preset: only for a TCP flow"),
    ],
)
def test_fields_that_contradict_a_preset_are_refused(flow: dict[str, Any], line: str) -> None:
    with pytest.raises(SpecError, match=line):
        compiled([{"name": "a", **flow}])


def test_an_era_sets_the_fields_that_are_not_written() -> None:
    flows: list[dict[str, Any]] = [
        {"name": "a", "cc": "cubic"},
        {"name": "b", "cc": "bic", "initial_window": 10},
        {"name": "c", "udp": "1 kbit/s"},
    ]
    run = compiled(flows, cc_era="2.6")
    assert [route.initcwnd for route in run.routes] == [3, 10, 10]
    assert [sysctl(run, flow.from_node, "tcp_recovery") for flow in run.flows] == ["0", "0", "1"]
    assert {module.name: dict(module.params) for module in run.modules} == {
        "tcp_cubic": {"hystart": "0"}, "tcp_bic": {},
    }  # fmt: skip

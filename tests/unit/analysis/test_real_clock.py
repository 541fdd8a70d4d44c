"""A run in real time: its checks, its budget, and the numbers that it does not have. The recording is of a real run."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from longhaul.orchestrator.analysis.fidelity.checks import check_fidelity
from longhaul.orchestrator.analysis.fidelity.cpu_budget import over_budget
from longhaul.orchestrator.analysis.measures import summarise
from tests.support.recordings import failed_checks, recorded

NAME = "real_clock"


def broken(change: Callable[[dict[str, Any]], object]) -> set[str]:
    run, trace, facts = recorded(NAME)
    facts = copy.deepcopy(facts)
    change(facts)
    return failed_checks(run, trace, facts)


def test_a_sound_recording_passes_every_check() -> None:
    checks = check_fidelity(*recorded(NAME))
    assert [check.text for check in checks if not check.ok] == []
    assert "cpu budget" in {check.name for check in checks}


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("late_p99_us", 4_001, "one timer in a hundred was 4.0 ms late"),
        ("late_max_us", 226_257, "a timer was 226 ms late"),
        ("busy_us", 80_000_000, "busy for 97% of the time"),
        ("steal_us", 100_000, "went to other machines"),
        ("softnet_dropped", 3, "3 packets were dropped"),
    ],
)
def test_each_bound_of_the_budget_fails_a_run(name: str, value: int, text: str) -> None:
    machine = recorded(NAME)[2]["machine"]
    assert list(over_budget(machine)) == []
    (sentence,) = over_budget(machine | {name: value})
    assert text in sentence
    assert broken(lambda facts: facts["machine"].update({name: value})) == {"cpu budget"}


def test_counters_may_differ_by_the_packets_that_pass_during_the_reading_and_no_more() -> None:
    def lose(packets: int) -> Callable[[dict[str, Any]], object]:
        return lambda facts: facts["devices"][0].update(rx_packets=facts["devices"][0]["rx_packets"] + packets)

    run, _, facts = recorded(NAME)
    bridges = [node.name for node in run.nodes if node.bridge]
    facts["devices"].sort(key=lambda device: device["node"] not in bridges)
    # 5 Mbit/s are 413 full frames a second; reading took about 2 ms.
    assert facts["machine"]["snapshot_us"] < 4000
    assert _conservation(lose(8)) == set()
    assert _conservation(lose(30)) == {"conservation"}


def _conservation(change: Callable[[dict[str, Any]], object]) -> set[str]:
    def at_a_bridge(facts: dict[str, Any]) -> object:
        bridges = {node.name for node in recorded(NAME)[0].nodes if node.bridge}
        facts["devices"].sort(key=lambda device: device["node"] not in bridges)
        return change(facts)

    return broken(at_a_bridge)


def test_losses_are_counted_for_the_queue_and_for_no_flow() -> None:
    run, trace, facts = recorded(NAME)
    document = summarise(run, trace, facts)
    assert len(trace.drops) == 0
    bottleneck = [device for device in facts["devices"] if device["dev"] == run.links[0].dev]
    (queue,) = (qdisc for device in bottleneck for qdisc in device["qdiscs"] if qdisc["handle"] == run.links[0].queue)
    assert document["path"]["drops"] == queue["drops"] > 0
    (flow,) = document["flows"]
    assert (flow["loss_ratio"], flow["pdr"], flow["tpp"]) == (None, None, None)
    assert flow["retransmits"] > 0

"""CAKE in a plan: the kernel's numbers, the words of tc, queues in reverse, and refusals; and no trace of them without parameters."""

from __future__ import annotations

from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.queues.tc_words import tc_command
from longhaul.orchestrator.plan.run import Qdisc, Run
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.errors import PlanError, SpecError
from tests.support.guests import experiment

SLOW = {"reverse_bandwidth": "1 Mbit/s"}


def run_of(path: dict[str, Any], **changes: Any) -> Run:
    return compile_plan(experiment(path={"bandwidth": "10 Mbit/s"} | path, **changes)).runs[0]


def queue_of(run: Run, link: str) -> Qdisc:
    (followed,) = [one for one in run.links if one.name == link]
    return next(end for end in run.ends if end.dev == followed.dev).qdiscs[-1]


def words(run: Run, link: str = "bottleneck") -> str:
    return tc_command("d", queue_of(run, link)).partition(" cake ")[2]


def test_without_parameters_cake_is_as_before() -> None:
    plain = queue_of(run_of({"queue": "cake"}), "bottleneck")
    assert set(plain.options) == {"memory_bytes", "rtt_us"}
    assert "reverse_queue" not in str(run_of({"queue": "cake"}).as_json())


def test_parameters_are_the_kernels_numbers() -> None:
    cake = {
        "bandwidth": "9.5 Mbit/s",
        "isolation": "dual-dsthost",
        "diffserv": "diffserv4",
        "ack_filter": "aggressive",
        "rtt": "50 ms",
        "split_gso": "off",
        "overhead": 44,
        "mpu": 84,
        "cells": "atm",
    }
    run = run_of({"queue": "cake", "cake": cake})
    options = dict(queue_of(run, "bottleneck").options)
    del options["memory_bytes"]
    assert options == {
        "rtt_us": 50_000,
        "shaper_bps": 9_500_000,
        "isolation": 6,
        "diffserv": 1,
        "ack_filter": 2,
        "split_gso": False,
        "overhead": 44,
        "mpu": 84,
        "cells": 1,
    }
    assert words(run).endswith(
        "bandwidth 9500000bit rtt 50000us memlimit 72960 dual-dsthost diffserv4 ack-filter-aggressive no-split-gso overhead 44 mpu 84 atm".partition(
            "memlimit 72960"
        )[2]
    )
    assert words(run).startswith("bandwidth 9500000bit rtt 50000us memlimit ")


@pytest.mark.parametrize(("written", "number"), [("on", 1), (True, 1), ("off", 0), (False, 0), ("aggressive", 2)])
def test_an_ack_filter_is_a_word_or_a_truth(written: object, number: int) -> None:
    run = run_of({**SLOW, "reverse_queue": "cake", "reverse_cake": {"ack_filter": written}})
    assert queue_of(run, "reverse").options["ack_filter"] == number


def test_parameters_of_a_link_come_before_those_of_the_path() -> None:
    run = run_of(
        {"queue": "cake", "cake": {"isolation": "flows"}},
        links={"s1-b1": {"cake": {"isolation": "hosts"}, "reverse_bandwidth": "1 Mbit/s", "reverse_queue": "codel"}},
    )
    assert " hosts " in words(run)
    assert queue_of(run, "reverse").kind == "codel"


def test_a_sweep_varies_parameters() -> None:
    written = {
        "experiment": "test",
        "path": {"bandwidth": "10 Mbit/s", "rtt": "40 ms", "queue": "cake"},
        "flows": [{"name": "one", "cc": "cubic"}],
        "duration": "5 s",
        "sweep": {"path.cake.isolation": ["flows", "hosts"]},
    }
    runs = compile_plan(parse_experiment(written, "test")).runs
    assert [queue_of(run, "bottleneck").options["isolation"] for run in runs] == [4, 3]


@pytest.mark.parametrize(
    ("path", "changes", "text"),
    [
        ({"cake": {"isolation": "flows"}}, {}, "its queue is droptail, which has no parameters of CAKE"),
        ({"queue": "cake", "reverse_cake": {}}, {}, "its reverse_queue is droptail"),
        ({"reverse_queue": "cake"}, {}, "there is no rate in reverse"),
        ({}, {"links": {"s1-b1": {"cake": {}}}}, "links.s1-b1.cake"),
        ({}, {"links": {"a1-s1": {"reverse_queue": "codel"}}}, "links.a1-s1.reverse_queue"),
    ],
)
def test_what_has_no_effect_is_refused(path: dict[str, Any], changes: dict[str, Any], text: str) -> None:
    with pytest.raises(PlanError) as error:
        run_of(path, **changes)
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ({"queue": "cake", "cake": {"isolation": "triple"}}, "path.cake.isolation"),
        ({"queue": "cake", "cake": {"ack_filter": "maybe"}}, "off, on, aggressive"),
        ({"queue": "cake", "cake": {"overhead": 300}}, "path.cake.overhead"),
        ({"queue": "cake", "cake": {"nat": True}}, "path.cake.nat"),
        ({**SLOW, "reverse_queue": "dualpi2"}, "path.reverse_queue"),
    ],
)
def test_bad_parameters_are_named(path: dict[str, Any], text: str) -> None:
    with pytest.raises(SpecError) as error:
        run_of(path)
    assert text in str(error.value)

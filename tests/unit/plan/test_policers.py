"""Policers in a plan: their devices, changes of them, notes and refusals; and no trace of them without one."""

from __future__ import annotations

from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.plan.qdiscs import LINK
from longhaul.orchestrator.plan.queues.policers import is_policer
from longhaul.orchestrator.plan.run import DeviceChange, Run
from longhaul.orchestrator.preview.changes import run_marks
from longhaul.orchestrator.preview.describe import describe_plan
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.errors import PlanError, SpecError
from tests.support.guests import experiment

POLICE = {"rate": "10 Mbit/s", "burst": "100 KB"}


def planned(path: dict[str, Any] | None = None, backend: dict[str, Any] | None = None, **changes: Any) -> Plan:
    return compile_plan(experiment(path=path or {}, **changes), **(backend or {}))


def run_of(path: dict[str, Any] | None = None, **changes: Any) -> Run:
    return planned(path, **changes).runs[0]


def test_a_policer_has_a_device_of_its_own_in_front_of_the_link() -> None:
    run = run_of({"police": POLICE})
    (policer,) = run.policers
    assert (policer.name, policer.node, policer.dev) == ("s1-b1", "s1", "s1-x1")
    ends = {end.dev: end for end in run.ends}
    (qdisc,) = ends["s1-x1"].qdiscs
    assert (qdisc.kind, qdisc.options["police_bps"], qdisc.options["police_burst_bytes"]) == (LINK, 10**7, 100_000)
    assert run.links[0].dev == "x1-b1"
    assert run.flows[0].forward == ("a1-s1", "s1-x1", "x1-b1")
    assert run.trace.decisions
    assert run.modules[-1].name == "sch_lh_link"


def test_a_run_without_a_policer_has_no_word_of_it() -> None:
    document = str(run_of().as_json())
    for word in ("polic", "decisions"):
        assert word not in document


def test_a_run_is_read_again_with_its_policers() -> None:
    run = run_of({"police": POLICE})
    assert Run.from_json(run.as_json()) == run


def test_an_end_host_and_a_link_without_a_rate_have_policers() -> None:
    run = run_of(links={"a1-s1": {"police": POLICE}})
    assert [(one.name, one.dev) for one in run.policers] == [("a1-s1", "a1-x1")]


def test_the_delay_of_a_policed_link_stays_behind_the_policer() -> None:
    """Delays of hosts move on to the next device; one behind a policer does not come in front of another."""
    run = run_of(links={"a1-s1": {"rtt": "10 ms", "police": POLICE}})
    delays = {end.dev: one.options["delay_ns"] for end in run.ends for one in end.qdiscs if not is_policer(one)}
    assert delays["x1-s1"] == 5_000_000
    moved = run_of({"police": POLICE}, links={"a1-s1": {"rtt": "10 ms"}})
    (before,) = [end for end in moved.ends if end.node == "x2" and end.qdiscs] or [
        end for end in moved.ends if end.dev == "x1-s1"
    ]
    assert before.qdiscs[0].options["delay_ns"] == 5_000_000


@pytest.mark.parametrize("queue", ["droptail", "codel", "fq_codel", "pie", "red", "cake"])
@pytest.mark.parametrize("emulation", ["single", "chain"])
def test_a_policer_goes_with_every_queue(queue: str, emulation: str) -> None:
    run = run_of({"police": POLICE, "queue": queue}, emulation=emulation)
    assert len(run.policers) == 1
    assert run_of({"queue": queue}, emulation=emulation).links[0].queue == run.links[0].queue


def test_a_schedule_changes_a_policer_in_place() -> None:
    change = {"at": "2 s", "path": {"police": {"rate": "5 Mbit/s", "burst": "30 KB"}}}
    run = run_of({"police": POLICE}, schedule=[change])
    (made,) = run.schedule
    assert isinstance(made, DeviceChange)
    assert made.dev == "s1-x1"
    assert made.qdiscs[0].options["police_bps"] == 5_000_000
    assert [mark.text for mark in run_marks(run)] == ["policed to 5 Mbit/s, bursts of 30 KB pass the policer"]


def test_the_preview_names_the_policer() -> None:
    text = describe_plan(planned({"police": POLICE}))
    assert "s1: policed to 10 Mbit/s with bursts of 100 KB ---->" in text
    assert "lh_link (not a tc command: policed to 10000000bit, burst 100000, seed 0)" in text
    assert "Flach et al. 2016" in text


def test_a_policer_above_the_link_has_a_note() -> None:
    (note,) = [note for note in planned({"police": {"rate": "1 Gbit/s", "burst": "100 KB"}}).lint if "policer" in note]
    assert "it drops bursts alone" in note


@pytest.mark.parametrize(
    ("path", "changes", "words"),
    [
        ({"police": {"rate": "10 Mbit/s", "burst": "1 KB"}}, {}, "less than one frame of 1514 bytes"),
        ({"police": POLICE, "reorder": "1 %"}, {}, "cannot overtake each other"),
        (
            {},
            {"schedule": [{"at": "1 s", "path": {"police": POLICE}}]},
            "it can be changed, but not created or removed",
        ),
        ({"police": POLICE}, {"parts": 2}, "in the order in which the packets of all hosts come"),
        (
            {"police": POLICE},
            {"backend": {"backend": "mininet", "where": "guest", "clock": "real"}},
            "exact in virtual time alone",
        ),
    ],
)
def test_what_is_not_possible_is_refused(path: dict[str, Any], changes: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        planned(path, **changes)


def test_a_shared_channel_has_no_policer() -> None:
    with pytest.raises(PlanError, match=r"shared 802\.11 channel"):
        compile_plan(
            parse_experiment(
                {
                    "experiment": "test",
                    "topology": "mixed_wireless",
                    "links": {"base-air": {"police": POLICE}},
                    "flows": [{"name": "one", "cc": "cubic"}],
                    "duration": "5 s",
                },
                "test",
            )
        )


@pytest.mark.parametrize(
    ("police", "words"),
    [
        ({"rate": "10 Mbit/s"}, "burst"),
        ({"rate": "10", "burst": "1 MB"}, "unit"),
        ({"rate": "10 Mbit/s", "burst": "2 GB"}, "1 GB"),
        ({"rate": "0 bit/s", "burst": "2 MB"}, "rate"),
        ({"rate": "10 Mbit/s", "burst": "2 MB", "mark": True}, "mark"),
    ],
)
def test_bad_policers_are_named(police: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError) as error:
        run_of({"police": police})
    assert "path.police" in str(error.value)
    assert words in str(error.value)

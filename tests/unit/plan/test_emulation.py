"""Which links are one qdisc and which the kernel's chain, and that both have the same numbers."""

from __future__ import annotations

from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import DeviceChange, Qdisc, Run
from tests.support.guests import experiment


def planned(emulation: str | None = None, backend: str = "sandbox", clock: str | None = None, **changes: Any) -> Run:
    written = {"flows": [{"name": "app", "cc": "cubic"}], "duration": "10 s"}
    named = {} if emulation is None else {"emulation": emulation}
    (run,) = compile_plan(experiment(**written | named | changes), backend=backend, clock=clock).runs
    return run


def qdiscs(run: Run) -> dict[str, tuple[Qdisc, ...]]:
    return {end.dev: end.qdiscs for end in run.ends if end.qdiscs}


def test_a_plain_link_is_one_qdisc_with_the_numbers_of_the_chain() -> None:
    path = {"loss": "1 %", "jitter": "1 ms", "buffer": "64 KB"}
    single, chain = planned(path=path), planned("chain", path=path)
    (link,) = qdiscs(single)["s1-b1"]
    netem, tbf, fifo = qdiscs(chain)["s1-b1"]
    assert (link.kind, link.handle, link.parent) == ("lh_link", "2:", "root")
    for part, names in ((netem, ("delay_ns", "jitter_ns", "loss_2p32", "seed")), (tbf, ("rate_bps", "burst_bytes"))):
        assert {name: link.options[name] for name in names} == {name: part.options[name] for name in names}
    assert (
        (link.options["limit"], link.options["in_bytes"])
        == (fifo.options["limit"], fifo.kind == "bfifo")
        == (64_000, True)
    )
    assert [module.name for module in single.modules] == ["sch_lh_link"]
    assert not chain.modules
    # The trace follows the queue: here the qdisc itself, there the last of the chain.
    assert [run.links[0].queue for run in (single, chain)] == ["2:", "3:"]
    (back,) = qdiscs(single)["s1-a1"]
    assert (back.options["rate_bps"], back.options["delay_ns"]) == (0, 20_000_000)


@pytest.mark.parametrize(
    "path",
    [
        {"queue": "codel"},
        {"queue": "step", "mark_at": "20 packets"},
        {"duplicate": "1 %"},
        {"corrupt": "1 %"},
        {"reorder": "1 %"},
    ],
)
def test_a_link_that_does_more_is_the_chain(path: dict[str, Any]) -> None:
    run = planned(path=path)
    assert "netem" in {qdisc.kind for end in run.ends for qdisc in end.qdiscs}
    # Each device is judged by itself.
    assert [qdisc.kind for qdisc in qdiscs(run)["s1-a1"]] == ["lh_link"]


def test_a_link_that_does_more_later_is_the_chain_from_the_start() -> None:
    run = planned(schedule=[{"at": "5 s", "path": {"duplicate": "1 %"}}])
    assert [qdisc.kind for qdisc in qdiscs(run)["s1-b1"]] == ["netem", "tbf", "pfifo"]


@pytest.mark.parametrize(
    "changes", [{"backend": "mininet", "clock": "real"}, {"path": {"offloads": "on"}}, {"emulation": "chain"}]
)
def test_in_real_time_with_offloads_and_on_request_it_is_the_chain(changes: dict[str, Any]) -> None:
    run = planned(**changes)
    assert "lh_link" not in {qdisc.kind for end in run.ends for qdisc in end.qdiscs}


def test_draws_go_on_where_a_change_leaves_delay_and_losses_alone() -> None:
    schedule = [
        {"at": "2 s", "path": {"bandwidth": "50 Mbit/s"}},
        {"at": "4 s", "path": {"loss": "2 %"}},
        {"at": "6 s", "path": {"buffer": "10 packets"}},
    ]
    run = planned(path={"loss": "1 %"}, schedule=schedule)
    (first,) = qdiscs(run)["s1-b1"]
    changed = [change.qdiscs[0] for change in run.schedule if isinstance(change, DeviceChange)]
    seeds = [qdisc.options["seed"] for qdisc in (first, *changed)]
    assert seeds[0] == seeds[1] != seeds[2] == seeds[3]
    assert [qdisc.options["rate_bps"] for qdisc in changed] == [50_000_000] * 3

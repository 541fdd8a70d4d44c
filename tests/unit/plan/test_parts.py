"""Where a run is cut into parts, which of them have the trace of one guest, and which runs cannot be cut."""

from __future__ import annotations

from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import compile_plan, run_id
from longhaul.orchestrator.plan.guests.cut import Cut, cut_run
from longhaul.orchestrator.plan.run import Parts, Qdisc, Run
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.errors import PlanError, SpecError
from tests.support.guests import experiment

PATH: dict[str, Any] = {"bandwidth": "1 Gbit/s", "rtt": "40 ms"}
TWO_HOSTS = [{"name": "a", "cc": "cubic"}, {"name": "b", "cc": "htcp", "rtt": "80 ms"}]


def planned(*, backend: str = "sandbox", **fields: Any) -> Run:
    written = {"path": PATH | fields.pop("path", {}), "flows": [{"name": "a", "cc": "cubic"}], "duration": "10 s"}
    (run,) = compile_plan(experiment(**written | fields), backend=backend).runs
    return run


def devices(cut: Cut) -> dict[str, tuple[Qdisc, ...]]:
    return {end.dev: end.qdiscs for end in cut.run.ends}


def test_the_sender_is_in_one_part_and_its_delays_are_on_the_wire() -> None:
    run = planned(path={"rtt": "40 ms"})
    cut = cut_run(run, 2)
    assert cut.nodes == (frozenset({"a1"}), frozenset({"s1", "b1"}))
    (crossing,) = cut.crossings
    assert ({end.dev for end in crossing.wire.ends}, set(crossing.delays_ns)) == ({"a1-s1", "s1-a1"}, {20_000_000})
    # A quarter of the least delay, so that three windows of slack remain.
    assert cut.window_ns == 5_000_000
    queue, back = devices(cut)["s1-b1"], devices(cut)["s1-a1"]
    # The link foresees a packet's way, so it is given the packet before it arrives, and adds the delay.
    assert (queue[0].options["delay_ns"], queue[0].options["rate_bps"]) == (20_000_000, 10**9)
    wires = [wire for part in (0, 1) for wire in cut.document(part, 0)["wires"] if "crossing" in wire]
    ahead = [wire["crossing"].get("ahead_ns") for wire in wires]
    assert ahead == [None, 20_000_000]
    assert back == ()
    # All else is as in one guest.
    assert cut.run.flows == run.flows and cut.run.links == run.links


def test_a_window_is_short_where_many_packets_are_on_the_way() -> None:
    cut = cut_run(planned(path={"bandwidth": "10 Gbit/s", "rtt": "300 ms"}), 2)
    assert cut.window_ns == 4096 * 1514 * 8 // 10


def test_jitter_stays_in_the_queue_and_the_rest_of_the_delay_is_on_the_wire() -> None:
    for more, left_ns in (({}, 20_000_000), ({"emulation": "chain"}, 2_000_000)):
        cut = cut_run(planned(path={"jitter": "2 ms"}, **more), 2)
        options = devices(cut)["s1-b1"][0].options
        assert (options["delay_ns"], options["jitter_ns"]) == (left_ns, 2_000_000)
        assert sorted(cut.crossings[0].delays_ns) == [18_000_000, 20_000_000]


def test_a_link_that_loses_or_changes_is_given_packets_as_they_arrive() -> None:
    for more in ({"path": {"loss": "1 %"}}, {"schedule": [{"at": "3 s", "path": {"bandwidth": "10 Mbit/s"}}]}):
        cut = cut_run(planned(**more), 2)
        assert [crossing.ahead_ns for crossing in cut.crossings] == [0]
        assert devices(cut)["s1-b1"][0].options["delay_ns"] == 0


def test_hosts_that_send_are_dealt_out_by_what_they_will_send() -> None:
    flows = [
        {"name": "short", "cc": "cubic", "size": "10 KB", "rtt": "50 ms"},
        {"name": "long", "cc": "cubic", "rtt": "60 ms"},
        {"name": "middle", "cc": "cubic", "size": "20 MB", "rtt": "70 ms"},
    ]
    run = planned(flows=flows)
    hosts = {flow.name: flow.from_node for flow in run.flows}
    assert cut_run(run, 3).nodes[:2] == (
        frozenset({hosts["long"]}),
        frozenset({hosts["short"], hosts["middle"]}),
    )


def test_a_part_has_its_own_nodes_and_its_ends_of_the_wires() -> None:
    cut = cut_run(planned(flows=TWO_HOSTS), 3)
    sender, _, rest = (cut.document(part, 0) for part in range(3))
    (here,) = cut.nodes[0]
    assert [node["name"] for node in sender["nodes"] if not node.get("elsewhere")] == [here]
    assert {route["node"] for route in sender["routes"]} == {here}
    assert not sender["links"] and [link["id"] for link in rest["links"]] == [0]
    assert [peer["number"] for peer in sender["part"]["peers"]] == [2]
    assert [peer["number"] for peer in rest["part"]["peers"]] == [0, 1]
    crossing = [wire["crossing"] for wire in sender["wires"] if "crossing" in wire]
    assert [(one["peer"], one["place"], one["delay_ns"]) for one in crossing] == [(2, 0, 20_000_000)]


def test_parts_with_the_trace_of_one_guest_have_its_id() -> None:
    one, two = planned(parts=1), planned(parts=2)
    assert (one.parts, two.parts) == (None, Parts(2))
    assert run_id(one, {}) == run_id(two, {})
    assert Run.from_json(two.as_json()) == two


def test_random_losses_are_drawn_later_behind_a_wire_so_the_id_is_another_one() -> None:
    one, two = (planned(parts=parts, path={"loss": "1 %"}) for parts in (1, 2))
    assert two.parts == Parts(2, alters=True)
    assert run_id(one, {}) != run_id(two, {})
    # On the way back the wire is behind them.
    assert planned(parts=2, path={"reverse_loss": "1 %"}).parts == Parts(2)


def test_auto_cuts_a_long_run_that_has_the_machine_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    processors = {0, 1}
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: processors)
    assert planned().parts == Parts(2, auto=True)
    # A second run needs the other processor.
    written = {
        "experiment": "made",
        "path": PATH,
        "flows": [{"name": "a", "cc": "cubic"}],
        "duration": "10 s",
        "repeats": 2,
    }
    assert [run.parts for run in compile_plan(parse_experiment(written)).runs] == [None, None]
    # Few packets in a window cost less than waiting for each other, and losses would be drawn later.
    assert planned(path={"bandwidth": "1 Mbit/s"}).parts is None
    assert planned(path={"loss": "0.1 %"}).parts is None
    processors.remove(1)
    assert planned().parts is None


def test_a_schedule_may_change_the_line_but_not_what_is_done_to_packets_on_the_wire() -> None:
    line = cut_run(planned(schedule=[{"at": "3 s", "path": {"bandwidth": "10 Mbit/s"}}]), 2)
    (change,) = line.run.device_changes
    assert (change.qdiscs[0].options["delay_ns"], change.qdiscs[0].options["rate_bps"]) == (0, 10**7)
    with pytest.raises(PlanError, match="no constant delay before the first queue"):
        planned(parts=2, schedule=[{"at": "3 s", "path": {"rtt": "60 ms"}}])
    with pytest.raises(PlanError, match="no constant delay before the first queue"):
        planned(parts=2, schedule=[{"at": "3 s", "path": {"loss": "1 %"}}])


@pytest.mark.parametrize(
    ("why", "fields"),
    [
        ("only runs of the sandbox have parts", {"backend": "mininet"}),
        ("iperf3 has both its programs in one guest", {"flows": [{"name": "a", "cc": "cubic", "tool": "iperf3"}]}),
        ("come back with a constant delay", {"path": {"one_way": {"forward": "20 ms", "reverse": "0 s"}, "rtt": None}}),
        ("come back with a constant delay", {"path": {"offloads": "on"}}),
        ("1 of its hosts send over a wire with a delay, so it has at most 2 parts", {"parts": 3}),
    ],
)
def test_a_run_that_cannot_be_cut_is_refused_with_the_reason(why: str, fields: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match=why):
        planned(**{"parts": 2} | fields)


@pytest.mark.parametrize("parts", [0, 17, 2.5, "two", True])
def test_the_number_of_parts_is_checked(parts: object) -> None:
    with pytest.raises(SpecError, match="auto, or a number from 1 to 16"):
        planned(parts=parts)


def test_a_host_with_a_kernel_of_its_own_is_in_a_guest_of_that_kernel() -> None:
    run = planned(flows=TWO_HOSTS, nodes={"a1": {"kernel": "6.1"}, "b*": {"kernel": "7.3"}})
    # The receivers' kernel is the run's, and the switches have it too.
    assert (run.kernel, run.kernels) == ("7.3", ["7.3", "6.1", "6.12"])
    assert {node.name: node.kernel for node in run.nodes if node.kernel} == {"a1": "6.1", "a2": "6.12"}
    assert run.parts == Parts(3, alters=True)
    cut = cut_run(run, 3)
    assert {tuple(sorted(names)): cut.kernel(part) for part, names in enumerate(cut.nodes)} == {
        ("a1",): "6.1",
        ("a2",): "6.12",
        ("b1", "b2", "s1", "s2"): "7.3",
    }


def test_the_same_kernel_for_every_node_is_the_runs() -> None:
    named = planned(nodes={"*": {"kernel": "6.1"}}, parts=1)
    assert run_id(named, {}) == run_id(planned(kernel="6.1", parts=1), {})


def test_kernels_of_nodes_can_be_swept() -> None:
    written = {
        "experiment": "made",
        "path": PATH,
        "flows": [{"name": "a", "cc": "cubic"}],
        "duration": "1 s",
        "sweep": {"nodes.a1.kernel": ["6.1", "7.3"]},
    }
    runs = compile_plan(parse_experiment(written)).runs
    assert [run.kernels for run in runs] == [["6.12", "6.1"], ["6.12", "7.3"]]


@pytest.mark.parametrize(
    ("why", "fields"),
    [
        ("no host has this name; hosts: a1, b1", {"nodes": {"c1": {"kernel": "6.1"}}}),
        ("b1 has kernel 6.12 and b2 has kernel 7.3, but all hosts that do not send are in one guest", {"flows": TWO_HOSTS, "nodes": {"b2": {"kernel": "7.3"}}}),
        ("its nodes have several kernels, and a guest has one", {"parts": 1, "nodes": {"a1": {"kernel": "6.1"}}}),
        ("at least 3 parts", {"parts": 2, "flows": TWO_HOSTS, "nodes": {"a1": {"kernel": "6.1"}}}),
    ],
)  # fmt: skip
def test_kernels_that_no_cut_provides_are_refused(why: str, fields: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match=why):
        planned(**fields)


def test_a_change_behind_the_delay_of_a_chain_can_be_cut() -> None:
    """A change names the queueing disciplines that it changes, here the line and not the delay before it."""
    run = planned(path={"queue": "fq_codel"}, schedule=[{"at": "1 s", "path": {"bandwidth": "30 Mbit/s"}}], parts=2)
    cut = cut_run(run, 2)
    (change,), (left,) = run.device_changes, cut.run.device_changes
    assert change.qdiscs and left == change


def test_a_cut_for_kernels_that_is_not_possible_says_how_to_go_on() -> None:
    flows = [{"name": "a", "cc": "cubic", "tool": "iperf3"}]
    with pytest.raises(PlanError, match="iperf3 has both its programs in one guest") as error:
        planned(flows=flows, nodes={"a1": {"kernel": "6.1"}})
    assert error.value.hint == "give all hosts one kernel"

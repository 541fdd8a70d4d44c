"""Fidelity: a sound recording passes every check, and each kind of fault fails its check."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from longhaul.orchestrator.analysis.fidelity.checks import check_fidelity
from longhaul.orchestrator.analysis.fidelity.offered import flying_bytes
from longhaul.orchestrator.analysis.fidelity.remedies import REMEDIES, what_to_change
from longhaul.orchestrator.analysis.fidelity.senders import what_held
from longhaul.orchestrator.analysis.measures import summarise
from longhaul.orchestrator.analysis.series import of_flow
from longhaul.orchestrator.plan.run import End, Module, Qdisc, Run, TraceOptions
from longhaul.orchestrator.plan.tcp_settings import LARGEST_WINDOW_BYTES, MOST_BUFFER_BYTES
from longhaul.orchestrator.trace.records import Trace
from tests.support.folders import REPOSITORY
from tests.support.recordings import failed_checks, recorded

Recording = tuple[Run, Trace, dict[str, Any]]


def test_a_sound_run_passes_every_check() -> None:
    checks = check_fidelity(*recorded("lossy_pair"))
    assert [check.text for check in checks if not check.ok] == []
    assert {check.name for check in checks} == {
        "trace complete",
        "congestion control in use",
        "sysctls",
        "devices as asked",
        "no frame above the MTU",
        "bottleneck rate",
        "base RTT",
        "queue limit",
        "random loss",
        "conservation",
        "no drop elsewhere",
        "not limited by buffers",
        "limits have names",
    }


def _facts(change: Callable[[dict[str, Any]], object]) -> Callable[[Recording], Recording]:
    def spoil(recording: Recording) -> Recording:
        run, trace, facts = recording
        facts = copy.deepcopy(facts)
        change(facts)
        return run, trace, facts

    return spoil


def _acks(**fields: int) -> Callable[[Recording], Recording]:
    def spoil(recording: Recording) -> Recording:
        run, trace, facts = recording
        acks = trace.acks.copy()
        for name, value in fields.items():
            acks[name][:] = value
        return run, replace(trace, acks=acks), facts

    return spoil


def _links(change: Callable[[Any], object]) -> Callable[[Recording], Recording]:
    def spoil(recording: Recording) -> Recording:
        run, trace, facts = recording
        links = trace.links.copy()
        change(links)
        return run, replace(trace, links=links), facts

    return spoil


def _two_in_one(recording: Recording) -> Recording:
    run, trace, facts = recording
    drops = trace.drops.copy()
    drops["length"][-1] = 2 * 1448 + 66
    return run, replace(trace, drops=drops), facts


def _half_the_drops(recording: Recording) -> Recording:
    """Ten times the configured random losses."""
    run, trace, facts = recording
    drops = np.concatenate([trace.drops[trace.drops["state"] == 2]] * 10)
    return run, replace(trace, drops=drops), facts


def _planned(**settings: int) -> Callable[[Recording], Recording]:
    """The recording, checked against a plan with other settings at the bottleneck."""

    def spoil(recording: Recording) -> Recording:
        run, trace, facts = recording
        return (
            _at_bottleneck(
                run, lambda qdisc: {name: value for name, value in settings.items() if name in qdisc.options}
            ),
            trace,
            facts,
        )

    return spoil


def _at_bottleneck(run: Run, settings: Callable[[Qdisc], dict[str, int]]) -> Run:
    def changed(end: End) -> End:
        if end.dev != "s1-b1":
            return end
        return replace(end, qdiscs=tuple(replace(one, options={**one.options, **settings(one)}) for one in end.qdiscs))

    return replace(
        run, wires=tuple(replace(wire, ends=(changed(wire.ends[0]), changed(wire.ends[1]))) for wire in run.wires)
    )


def _all_mtus(mtu: int) -> Callable[[Recording], Recording]:
    def spoil(recording: Recording) -> Recording:
        run, trace, facts = recording
        wires = tuple(
            replace(wire, ends=(replace(wire.ends[0], mtu=mtu), replace(wire.ends[1], mtu=mtu))) for wire in run.wires
        )
        return replace(run, wires=wires), trace, facts

    return spoil


def _device(facts: dict[str, Any], dev: str) -> dict[str, Any]:
    return next(device for device in facts["devices"] if device["dev"] == dev)


@pytest.mark.parametrize(
    ("spoil", "name"),
    [
        (_facts(lambda facts: facts["trace"].update(records=1)), "trace complete"),
        (lambda it: (it[0], replace(it[1], events=it[1].events[:0]), it[2]), "trace complete"),
        (_facts(lambda facts: facts["flows"][0].update(cc="reno")), "congestion control in use"),
        (_facts(lambda facts: facts["flows"][0].update(ecn=True)), "ECN as asked"),
        (_facts(lambda facts: facts["flows"][0].update(error="connecting: timed out")), "flow"),
        (_facts(lambda facts: facts["nodes"][1]["sysctls"][0].__setitem__(1, "7")), "sysctls"),
        (_facts(lambda facts: facts["links"][0].update(max_frame_bytes=9000)), "no frame above the MTU"),
        (_two_in_one, "no frame above the MTU"),
        (_facts(lambda facts: facts["devices"][0].update(offloads_off=False)), "no frame above the MTU"),
        (_planned(rate_bps=4_000_008), "devices as asked"),
        (_planned(delay_ns=20_001_000), "devices as asked"),
        (_planned(limit=14), "devices as asked"),
        (_planned(loss_2p32=42_949_674), "devices as asked"),
        (_planned(corrupt_2p32=1), "devices as asked"),
        (_all_mtus(1499), "devices as asked"),
        (_facts(lambda facts: _device(facts, "s1-b1")["qdiscs"].pop()), "devices as asked"),
        (_facts(lambda facts: facts["devices"].pop()), "devices as asked"),
        (_links(lambda links: links["tx_bytes"].__imul__(2)), "bottleneck rate"),
        (_acks(rtt_us=39_000), "base RTT"),
        (_acks(rtt_us=47_000), "base RTT"),
        (_links(lambda links: links["queue_max_packets"].__iadd__(1000)), "queue limit"),
        (_half_the_drops, "random loss"),
        (_facts(lambda facts: _device(facts, "s1-b1").update(tx_packets=1)), "conservation"),
        (_facts(lambda facts: _device(facts, "a1-s1").update(tx_dropped=3)), "no drop elsewhere"),
        (_facts(lambda facts: facts["nodes_snmp"][0].update(ip_discards=1)), "no drop elsewhere"),
        (_facts(lambda facts: facts["flows"][0].update(sndbuf_limited_us=2_000_000)), "not limited by buffers"),
    ],
)
def test_each_fault_fails_its_check(spoil: Callable[[Recording], Recording], name: str) -> None:
    assert name in failed_checks(*spoil(recorded("lossy_pair")))


def _of_two_guests(on_the_way: int) -> set[str]:
    """The failed checks, as if the first host had been in a guest of its own, with so many packets that have not arrived."""

    def split(facts: dict[str, Any]) -> None:
        _device(facts, "a1-s1")["tx_packets"] = _device(facts, "s1-a1")["rx_packets"] + 2
        facts["parts"] = {"guests": [{}, {}], "on_the_way": {"a1-s1": on_the_way}}

    return failed_checks(*_facts(split)(recorded("lossy_pair")))


def test_a_packet_that_is_lost_between_guests_fails_the_conservation() -> None:
    assert "conservation" not in _of_two_guests(on_the_way=2)
    assert "conservation" in _of_two_guests(on_the_way=1)
    assert "conservation" in _of_two_guests(on_the_way=3)


def _capped(cap: int, **acks: Any) -> Recording:
    """The first flow checked as if its window had been capped, with other ACKs."""
    run, trace, facts = recorded("lossy_pair")
    first = replace(run.flows[0], options=replace(run.flows[0].options, window_clamp_bytes=cap))
    acks_now = trace.acks.copy()
    for name, value in acks.items():
        acks_now[name][:] = value
    return replace(run, flows=(first, *run.flows[1:])), replace(trace, acks=acks_now), facts


def test_a_window_is_checked_in_bytes() -> None:
    """Half-window segments: twice as many packets as the cap's full ones are in flight, which is sound."""
    most = flying_bytes(of_flow(recorded("lossy_pair")[1].acks, 0))
    cap = most + 1
    assert "window" not in failed_checks(*_capped(cap, snd_wnd=cap, inflight=1000))
    assert "window" in failed_checks(*_capped(cap, snd_wnd=cap - 1448))
    assert "window" in failed_checks(*_capped(cap, snd_wnd=cap + 2896))
    assert "window" in failed_checks(*_capped(most - 1, snd_wnd=most - 1))


def test_a_window_that_reads_back_differently_fails_the_run() -> None:
    run, trace, facts = recorded("lossy_pair")
    facts = copy.deepcopy(facts)
    facts["flows"][0]["window_clamp_bytes"] = 14_480
    assert "window" in failed_checks(run, trace, facts)


def test_a_flow_without_an_answer_is_a_result() -> None:
    run, trace, facts = recorded("lossy_pair")
    facts = copy.deepcopy(facts)
    facts["flows"][0] |= {"connected_us": None, "cc": None, "bytes_received": 0, "busy_us": 0}
    checks = check_fidelity(run, trace, facts)
    assert [check.text for check in checks if not check.ok] == []
    assert "first: no answer" in [check.text for check in checks]
    document = summarise(
        run, replace(trace, acks=trace.acks[trace.acks["id"] != 0], flows=trace.flows[trace.flows["id"] != 0]), facts
    )
    assert (document["flows"][0]["goodput_bps"], document["flows"][0]["connected_s"]) == (0.0, None)
    assert document["flows"][1]["connected_s"] == pytest.approx(0.073794)


def test_dctcp_without_ecn_passes_if_its_syn_was_retransmitted() -> None:
    run, trace, facts = recorded("lossy_pair")
    first = replace(run.flows[0], cc="dctcp")
    facts = copy.deepcopy(facts)
    facts["flows"][0] |= {"cc": "dctcp-reno"}
    run = replace(run, flows=(first, *run.flows[1:]))
    assert "congestion control in use" in failed_checks(run, trace, facts)
    facts["flows"][0]["connected_us"] = 1_063_616
    assert "congestion control in use" not in failed_checks(run, trace, facts)


def test_frames_that_were_corrupted_may_be_refused() -> None:
    """Both by a host and by a bridge, and at most as many as may have been corrupted."""
    run, trace, facts = recorded("lossy_pair")
    share = round(0.02 * 2**32)
    corrupting = _at_bottleneck(run, lambda qdisc: {"corrupt_2p32": share} if qdisc.kind == "netem" else {})

    def refusing(frames: int) -> dict[str, Any]:
        changed = copy.deepcopy(facts)
        next(one for one in _device(changed, "s1-b1")["qdiscs"] if one["kind"] == "netem")["options"][
            "corrupt_2p32"
        ] = share
        _device(changed, "b1-s1")["rx_dropped"] += frames
        _device(changed, "s1-b1")["tx_packets"] -= frames
        return changed

    assert failed_checks(corrupting, trace, refusing(10)) == set()
    assert failed_checks(corrupting, trace, refusing(200)) == {"conservation", "no drop elsewhere"}
    assert failed_checks(run, trace, refusing(1)) >= {"conservation", "no drop elsewhere"}


def test_a_link_is_idle_if_few_bytes_wait() -> None:
    """Twenty SYNs leave at once: waiting at each tick does not mean that the link was busy in between."""
    run, trace, facts = recorded("lossy_pair")
    links = trace.links.copy()
    idle = np.flatnonzero(links["id"] == 0)[10:30]
    links["queue_packets"][:], links["queue_packets"][idle], links["queue_bytes"][:] = 0, 20, 20 * 74
    links["tx_bytes"][idle] = links["tx_bytes"][idle[0]] + np.arange(len(idle)) * 1480
    assert "bottleneck rate" not in failed_checks(run, replace(trace, links=links), facts)
    links["queue_bytes"][:] = 20 * 1514
    assert "bottleneck rate" in failed_checks(run, replace(trace, links=links), facts)


def _with_iperf3(**reported: Any) -> Recording:
    """The recorded pair as if iperf3 had made its first flow, with its report."""
    run, trace, facts = recorded("lossy_pair")
    first = replace(run.flows[0], tool="iperf3", client_port=20_000, block_bytes=1_000_000)
    facts = copy.deepcopy(facts)
    fact = facts["flows"][0]
    fact["iperf3"] = {
        "version": "iperf 3.12",
        "block_bytes": 1_000_000,
        "bytes_sent": fact["bytes_sent"] + 4000,
        "retransmits": fact["retransmits"],
        "sender_cc": first.cc,
        "bytes_received": fact["bytes_received"],
        "receiver_cc": first.cc,
        "bytes_given": fact["bytes_sent"] + 4000,
        "bytes_under_way": 9000,
    } | reported
    return replace(run, flows=(first, *run.flows[1:])), trace, facts


def test_an_iperf3_report_that_agrees_passes() -> None:
    assert failed_checks(*_with_iperf3()) == set()


def test_an_iperf3_client_that_never_began_has_no_report() -> None:
    none = dict.fromkeys(("block_bytes", "sender_cc", "receiver_cc", "bytes_received"))
    assert failed_checks(*_with_iperf3(bytes_sent=0, bytes_given=0, **none)) == set()


@pytest.mark.parametrize(
    "reported",
    [
        {"block_bytes": 131_072},
        {"bytes_sent": 1},
        {"retransmits": 10**6},
        {"retransmits": 0},
        {"sender_cc": "yeah"},
        {"receiver_cc": "yeah"},
        {"bytes_received": 1},
        {"bytes_received": None},
    ],
    ids=lambda reported: "_".join(f"{key}_{value}" for key, value in reported.items()),
)
def test_an_iperf3_report_that_differs_fails_the_run(reported: dict[str, Any]) -> None:
    assert failed_checks(*_with_iperf3(**reported)) == {"iperf3 agrees"}


def test_ecn_that_a_receiver_refuses_fails_the_run() -> None:
    run, trace, facts = recorded("lossy_pair")
    asking = replace(
        run, nodes=tuple(replace(node, sysctls=(*node.sysctls, ("net/ipv4/tcp_ecn", "1"))) for node in run.nodes)
    )
    assert "ECN as asked" in failed_checks(asking, trace, facts)
    late = copy.deepcopy(facts)
    for fact in late["flows"]:
        fact["connected_us"] = 1_200_000
    assert "ECN as asked" not in failed_checks(asking, trace, late)


def _largest(run: Run) -> Run:
    """On a path that holds more than the kernel's socket buffers."""
    sizes = dict.fromkeys(("net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem"), f"4096 {MOST_BUFFER_BYTES} {MOST_BUFFER_BYTES}")
    nodes = [replace(node, sysctls=tuple((dict(node.sysctls) | sizes).items())) for node in run.nodes]
    return replace(run, nodes=tuple(nodes))


@pytest.mark.parametrize(("change", "named"), [(_largest, True), (lambda run: run, False)], ids=["largest", "smaller"])
def test_the_largest_send_buffer_is_a_limit_with_a_name(change: Callable[[Run], Run], named: bool) -> None:
    """A sender at 600,000 of its 2,000,000 packets, whose program is not woken: a third of 2 GiB is not free."""
    run, trace, facts = recorded("lossy_pair")
    run = change(run)
    acks = trace.acks[trace.acks["id"] == run.flows[0].id].copy()
    acks["cwnd"], acks["inflight"], acks["state"], acks["lost"] = 2_000_000, 600_000, 0, 0
    acks["snd_wnd"], acks["pacing_Bps"] = LARGEST_WINDOW_BYTES, 2**40
    limits = what_held(run, run.flows[0], acks, facts["flows"][0])
    assert (limits.largest_us > 0.9 * limits.total_us, limits.unnamed_us > 0.9 * limits.total_us) == (named, not named)


def _with_own_module(run: Run) -> Run:
    return replace(run, modules=(*run.modules, Module("tcp_mine", {}, source="a" * 32)))


def _by_iperf3(run: Run) -> Run:
    return replace(run, flows=(replace(run.flows[0], tool="iperf3"), *run.flows[1:]))


@pytest.mark.parametrize(
    ("change", "name", "found", "text"),
    [
        (lambda run: run, "not limited by buffers", "", "path.buffer: socket buffers are eight times"),
        (lambda run: run, "not limited by buffers", "", "window of the flow"),
        (
            _largest,
            "not limited by buffers",
            "",
            "path.bandwidth, path.rtt or path.buffer: lower values make the bytes",
        ),
        (lambda run: run, "limits have names", "", "window of the flow: a cap below its bytes in flight"),
        (lambda run: replace(run, trace=TraceOptions(1000, 10_000)), "limits have names", "", "sample: every-ack"),
        (lambda run: run, "bottleneck rate", "", "no field of the experiment is at fault"),
        (lambda run: replace(run, clock="real"), "bottleneck rate", "", "path.bandwidth or count of the flows"),
        (lambda run: replace(run, clock="real"), "cpu budget", "", "--backend sandbox"),
        (_with_own_module, "conservation", "", "modules: check whether it holds without tcp_mine"),
        (_by_iperf3, "flow", "", "tool: lh-flow"),
        (lambda run: run, "no drop elsewhere", "b1 udp_rcvbuf_errors: 3", "udp or on_off.rate of the flow"),
        (lambda run: run, "window", "", "window of the flow: another size"),
        (lambda run: run, "congestion control in use", "", "cc of the flow"),
    ],
)
def test_a_failed_check_names_the_field_to_change(
    change: Callable[[Run], Run], name: str, found: str, text: str
) -> None:
    run = change(recorded("lossy_pair")[0])
    assert text in what_to_change(run, [(name, found)])


def test_fields_to_change_come_first_and_once() -> None:
    run = recorded("lossy_pair")[0]
    remedies = what_to_change(run, [("conservation", ""), ("window", "one"), ("sysctls", ""), ("window", "two")])
    assert remedies.split("; ") == ["window of the flow: another size, or none", REMEDIES["sysctls"](run, "")]


def test_every_check_of_the_page_has_its_remedy() -> None:
    page = (REPOSITORY / "docs" / "fidelity.md").read_text()
    table = page.partition("| check | what must hold |")[2].partition("\n\n")[0]
    named = {line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")}
    assert len(named) > 15
    assert named == REMEDIES.keys() - {"host kept up", "within its cap", "clocks", "emulated path"}

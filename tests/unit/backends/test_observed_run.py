"""The run of a script, from what the guest's module wrote of its connections and queues."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from longhaul.orchestrator.backends.scripts.observed_run import NothingToKeep, observe, request_script
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_identity import run_id
from longhaul.orchestrator.preview.changes import run_marks
from longhaul.orchestrator.system.errors import TraceError
from longhaul.orchestrator.trace.records import EVENT_END, KIND_NUMBERS, TRACE_KINDS, Trace, read_trace

H1, H2, UNNAMED = 11, 12, 13
S = 10**9
BEGAN_NS = 7 * S


@dataclass
class Guest:
    """The files of a guest with two hosts, and the bytes that each direction got at the end of its connection."""

    folder: Path
    lines: list[str] = field(default_factory=lambda: [f"epoch {BEGAN_NS}", "queue 0 s1-eth1", "rate 0 5 10000000"])
    records: list[np.ndarray] = field(default_factory=list)
    connections: int = 0

    def record(self, kind: str, about: int, t_ns: int, **values: int) -> None:
        one = np.zeros(1, dtype=TRACE_KINDS[kind])
        one["t_ns"], one["kind"], one["id"] = t_ns, KIND_NUMBERS[kind], about
        for name, value in values.items():
            one[name] = value
        self.records.append(one)

    def connect(
        self, opened_s: float, closed_s: float, sent: int, answered: int, spaces: tuple[int, int] = (H1, H2)
    ) -> None:
        """A connection to port 80, closed at 0 if it is open at the end."""
        number, opened, closed = self.connections, int(opened_s * S), int(closed_s * S)
        self.connections += 1
        ends = [
            f"{space} 10.0.0.{side + 1} {port} {own} {other} 9 9 1 9 0 1448 20000 cubic"
            for side, (space, port, own, other) in enumerate(
                zip(spaces, (40_000 + number, 80), (sent, answered), (answered, sent), strict=True)
            )
        ]
        self.lines.append(" ".join([f"connection {number} {opened} {opened + S // 100} {closed}", *ends]))
        last = closed or 9 * S
        self.record("flow", 2 * number, last, app_bytes=sent)
        self.record("flow", 2 * number + 1, last, app_bytes=answered)
        self.record("ack", 2 * number, opened + S // 2, cwnd=10)

    def observe(self, missed: str = "0 0", written: int | None = None) -> tuple[Run, Trace]:
        guest = self.folder / "guest"
        guest.mkdir()
        self.record("link", 0, 9 * S, tx_packets=5, tx_bytes=5000)
        count = len(self.records) if written is None else written
        lines = [*self.lines, f"end {10 * S} {count} {missed}"]
        (guest / "connections.lines").write_text("\n".join(lines) + "\n")
        (guest / "connections.records").write_bytes(b"".join(one.tobytes() for one in self.records))
        (guest / "nodes.lines").write_text(
            f"{BEGAN_NS} {H1} h1\n{BEGAN_NS} {H2} h2\n{BEGAN_NS + 6 * S} {H2} web server\n"
        )
        return observe(request(), guest, self.folder, "6.12.1"), read_trace(self.folder / "trace.bin")


def request(text: str = "", folder: str = "/srv", asked_at: str = "", clock: str = "virtual") -> Run:
    return request_script(
        Path(folder) / "My net.py", text, ["4"], Path(folder), kernel="6.12", seed=1, clock=clock, asked_at=asked_at
    )


def test_connections_that_follow_one_another_are_one_flow(tmp_path: Path) -> None:
    guest = Guest(tmp_path)
    guest.connect(1, 2, 100_000, 0)
    guest.connect(2, 4, 200_000, 0)
    # Beside the second one, and open at the end.
    guest.connect(3, 0, 50_000, 0)
    run, trace = guest.observe()
    assert [(flow.name, flow.start_us) for flow in run.flows] == [("h1-h2-80", 1_000_000), ("h1-h2-80-2", 3_000_000)]
    got = trace.flows[trace.flows["id"] == 0]["app_bytes"]
    assert list(got) == [100_000, 300_000]
    facts = json.loads((tmp_path / "facts.json").read_text())
    assert [(fact["connections"], fact["bytes_received"]) for fact in facts["flows"]] == [(2, 300_000), (1, 50_000)]
    assert facts["flows"][0]["completed_us"] == 4_000_000


def test_a_request_is_no_flow_and_a_transfer_both_ways_is_two(tmp_path: Path) -> None:
    guest = Guest(tmp_path)
    guest.connect(1, 2, 100, 90_000)
    guest.connect(3, 4, 80_000, 90_000)
    guest.connect(5, 6, 0, 0)
    run, trace = guest.observe()
    assert [(flow.name, flow.from_node) for flow in run.flows] == [("h2-h1-80", "h2"), ("h1-h2-80", "h1")]
    assert list(trace.acks["id"]) == [1]


def test_a_namespace_has_the_name_of_its_host_at_that_time(tmp_path: Path) -> None:
    """Its number is used again by a later host; a namespace without a host has its address."""
    guest = Guest(tmp_path)
    guest.connect(1, 2, 1000, 0)
    guest.connect(7, 8, 1000, 0)
    guest.connect(8, 9, 1000, 0, (UNNAMED, H1))
    run, _ = guest.observe()
    assert [flow.name for flow in run.flows] == ["h1-h2-80", "h1-web server-80", "10.0.0.1-h1-80"]


def test_a_change_of_a_rate_names_its_device(tmp_path: Path) -> None:
    guest = Guest(tmp_path)
    guest.connect(1, 2, 1000, 0)
    # While a queue is replaced, its rate is unknown for a moment.
    guest.lines += [f"rate 0 {4 * S} 0", f"rate 0 {4 * S + 1000} 5000000", "queue 1 idle-eth0", "rate 1 7 1000000"]
    run, _ = guest.observe()
    assert [(link.dev, link.rate_bps) for link in run.links] == [("s1-eth1", 10_000_000)]
    assert run.link_rates(run.links[0]) == [(0, 4_000_001, 10_000_000), (4_000_001, 10_000_000, 5_000_000)]
    assert [mark.text for mark in run_marks(run)] == ["s1-eth1: 5 Mbit/s"]


def test_records_are_in_the_order_of_time_and_end_with_the_end(tmp_path: Path) -> None:
    guest = Guest(tmp_path)
    guest.connect(3, 4, 1000, 0)
    guest.connect(1, 2, 1000, 0)
    _, trace = guest.observe()
    assert list(trace.acks["t_ns"]) == sorted(trace.acks["t_ns"])
    assert list(trace.events["what"]) == [EVENT_END] and list(trace.events["t_ns"]) == [10 * S]


def test_a_guest_that_wrote_less_than_it_counted_is_no_run(tmp_path: Path) -> None:
    guest = Guest(tmp_path)
    guest.connect(1, 2, 1000, 0)
    with pytest.raises(TraceError, match="before it had written all of them"):
        guest.observe(written=99)


def test_more_than_can_be_followed_is_no_run(tmp_path: Path) -> None:
    guest = Guest(tmp_path)
    guest.connect(1, 2, 1000, 0)
    with pytest.raises(NothingToKeep, match="more than 32,768 connections"):
        guest.observe(missed="1 0")


def test_the_id_is_that_of_the_request(tmp_path: Path) -> None:
    guest = Guest(tmp_path)
    guest.connect(1, 2, 1000, 0)
    run, _ = guest.observe()
    assert run.experiment == "my-net"
    assert run_id(run, {}) == run_id(request(), {}) == run_id(request(folder="/elsewhere"), {})
    others = [request("print()"), request(asked_at="2031", clock="real"), request(asked_at="2032", clock="real")]
    assert len({run_id(one, {}) for one in [run, *others]}) == 4

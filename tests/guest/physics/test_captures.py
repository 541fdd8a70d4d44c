"""Packets of a run: tshark reads them and finds what the trace has; and the run is the one that it is without them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longhaul.orchestrator.database.run_index import RunIndex
from longhaul.orchestrator.execution.packets import packets_of
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.results.packets import PACKETS
from longhaul.orchestrator.spec.model import Capture
from longhaul.orchestrator.trace.pcap import blocks_of, unpack_pcapng
from longhaul.orchestrator.trace.records import DROP_RANDOM
from tests.support.guests import FLOW, VARIED, Runner, experiment
from tests.support.programs import run_program

EVERYWHERE = {"at": ["all"]}
PACKET = 6


def read(file: Path, *fields: str, of: str = "") -> list[list[str]]:
    """These fields of the packets that tshark's filter chooses."""
    chosen = [word for field in fields for word in ("-e", field)]
    command = ["tshark", "-n", "-r", str(file), "-Y", of or "frame", "-T", "fields", "-E", "separator=;", *chosen]
    done = run_program(command, check=True)
    return [line.split(";") for line in done.stdout.splitlines()]


def numbers(rows: list[list[str]]) -> np.ndarray:
    return np.array([[int(value) for value in row] for row in rows], dtype=np.int64).reshape(len(rows), -1)


def in_ns(seconds: str) -> int:
    whole, _, part = seconds.partition(".")
    return int(whole) * 1_000_000_000 + int(part.ljust(9, "0"))


@pytest.mark.parametrize("changes", VARIED.values(), ids=VARIED)
def test_a_run_with_a_capture_is_the_run_without_it(pipeline: Pipeline, changes: dict[str, Any]) -> None:
    short = {"duration": "2 s", "start_jitter": "1 RTT"} | changes
    plain, captured = (compile_plan(experiment(**short | more), seed=3) for more in ({}, {"capture": EVERYWHERE}))
    (without,) = pipeline.execute(plain)
    assert without["status"] == "done", without.get("error")
    # It runs again for its packets, and is refused if its trace differs.
    (again,) = pipeline.execute(captured)
    assert (again["status"], again["cached"]) == ("done", False), again.get("error")
    assert (again["run"], again["trace_sha256"]) == (without["run"], without["trace_sha256"])
    manifest = pipeline.store.manifest(again["run"])
    assert "capture" not in manifest["run"] and "capture" not in manifest["spec"]
    assert PACKETS in pipeline.store.file_names(again["run"])
    (kept,) = pipeline.execute(captured)
    assert kept["cached"]


def test_a_run_has_its_new_packets_when_its_row_returns(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    """An experiment ends with the row: a download at that moment must not read the packets of the capture before."""
    devices = []
    add = RunIndex.add

    def watched(self: RunIndex, run_id: str, *more: Any) -> None:
        devices.append({row[0] for row in read(pipeline.store.file(run_id, PACKETS), "frame.interface_name")})
        add(self, run_id, *more)

    monkeypatch.setattr(RunIndex, "add", watched)
    for at in ("a1", "b1"):
        (run,) = pipeline.execute(compile_plan(experiment(duration="1 s", capture={"at": [at]}), seed=3))
        assert run["status"] == "done", run.get("error")
    assert devices == [{"a1-s1"}, {"b1-s1"}]


def test_tshark_finds_what_the_trace_has(finish: Runner, pipeline: Pipeline) -> None:
    """At the sender: times of ACKs, acknowledged bytes, segments sent again, the least round trip."""
    run = finish(
        path={"loss": "0.02%"}, flows=[FLOW, FLOW | {"name": "other"}], capture={"at": ["a*"], "flows": ["one"]}
    )
    file = pipeline.store.file(run.document["run"], PACKETS)
    acks = run.trace.acks[run.trace.acks["id"] == 0]
    data = f"tcp.dstport == {run.run.flows[0].port} && tcp.len > 0"
    back = f"tcp.srcport == {run.run.flows[0].port} && tcp.flags.syn == 0"
    times = [in_ns(seconds) for (seconds,) in ((row[0],) for row in read(file, "frame.time_epoch", of=back))]
    assert {port for row in read(file, "tcp.port") for port in row[0].split(",")} >= {str(run.run.flows[0].port)}
    assert not read(file, "frame.number", of=f"tcp.port == {run.run.flows[1].port}"), "only packets of one flow"
    assert set(acks["t_ns"].tolist()) <= set(times)
    sent = numbers(read(file, "tcp.seq", "tcp.len", of=data))
    acknowledged = numbers(read(file, "tcp.ack", of=back))
    ends = sent.sum(axis=1)
    # Both count the SYN.
    assert set(acks["acked_bytes"][1:].tolist()) <= set(acknowledged[:, 0].tolist())
    before = np.maximum.accumulate(np.append(0, ends[:-1]))
    again = int((ends <= before).sum())
    assert run.document["flows"][0]["retransmits"] == again > 0
    found = [float(row[0]) for row in read(file, "tcp.analysis.ack_rtt", of=f"{back} && tcp.analysis.ack_rtt")]
    # tshark includes the time in which the receiver delays an ACK, TCP too.
    least_us = acks["rtt_us"][acks["rtt_us"] > 0].min()
    assert round(min(found) * 1e6) == pytest.approx(least_us, abs=1)


def test_losses_have_comments_with_their_causes(finish: Runner, pipeline: Pipeline) -> None:
    run = finish(path={"loss": "0.1%", "buffer": "0.2 BDP"}, capture={"at": ["bottleneck"]})
    file = pipeline.store.file(run.document["run"], PACKETS)
    rows = read(file, "frame.time_epoch", "frame.comment", of="frame.comment")
    drops = run.trace.drops
    by_chance = drops["state"] == DROP_RANDOM
    assert 0 < by_chance.sum() < len(drops) == len(rows)
    assert sum("by chance" in text for _, text in rows) == by_chance.sum()
    assert [in_ns(seconds) for seconds, text in rows if "by the queue" in text] == drops["t_ns"][~by_chance].tolist()
    sequence = numbers(read(file, "tcp.seq_raw", of="frame.comment"))
    assert sorted(sequence[:, 0]) == sorted(drops["seq"].tolist())


def test_marks_have_comments(finish: Runner, pipeline: Pipeline) -> None:
    run = finish(path={"queue": "codel", "ecn": "on"}, flows=[FLOW | {"count": 2}], capture={"at": ["bottleneck"]})
    file = pipeline.store.file(run.document["run"], PACKETS)
    marked = read(file, "ip.dsfield.ecn", of='frame.comment contains "marked"')
    assert len(marked) == run.document["path"]["marks"] > 0
    # A switch's packet is written as it leaves.
    assert {row[0] for row in marked} == {"3"}


def test_the_file_names_its_interfaces_and_hosts(finish: Runner, pipeline: Pipeline) -> None:
    run = finish(duration="1 s", capture={"at": ["bottleneck", "a1"], "snap": 60})
    file = pipeline.store.file(run.document["run"], PACKETS)
    rows = read(file, "frame.interface_name", "frame.cap_len", "frame.len", "frame.time_epoch")
    assert {row[0] for row in rows} == {"bottleneck s1-b1", "a1-s1"}
    assert max(int(row[1]) for row in rows) == 60 and max(int(row[2]) for row in rows) == 1514
    times = [in_ns(row[3]) for row in rows]
    assert times == sorted(times) and times[0] >= 0 and times[-1] <= 1_000_000_000
    hosts = run_program(["tshark", "-r", file, "-c", "1", "-N", "n"], check=True)
    assert "a1 → b1" in hosts.stdout
    about = run_program(["capinfos", "-M", file], check=True).stdout
    assert run.document["run"] in about and "Strict time order:   True" in about


@pytest.mark.parametrize("at", ["bottleneck", "a1", "b1", "s1"])
def test_two_guests_have_the_packets_of_one(pipeline: Pipeline, tmp_path: Path, at: str) -> None:
    """Those of s1 are captured in one guest: where the run is cut, packets arrive ahead of time."""
    flows = [FLOW | {"count": 2}, {"name": "udp", "udp": "10 Mbit/s"}]
    blocks, parts = [], []
    for number in (1, 2):
        asked = experiment(parts=number, flows=flows, duration="1 s", path={"buffer": "0.2 BDP"}, capture={"at": [at]})
        fresh = Pipeline(pipeline.backend, pipeline.store, use_cache=False)
        (run,) = fresh.execute(compile_plan(asked))
        assert run["status"] == "done", run.get("error")
        parts.append(run.get("parts", 1))
        plain = tmp_path / f"{number}.pcapng"
        unpack_pcapng(pipeline.store.file(run["run"], PACKETS), plain)
        blocks.append(sorted(body for kind, body in blocks_of(plain) if kind == PACKET))
    assert parts == ([1, 1] if at == "s1" else [1, 2])
    assert len(blocks[0]) > 5000 and blocks[0] == blocks[1]


def test_the_headers_are_kept_by_default(finish: Runner, pipeline: Pipeline) -> None:
    run = finish(duration="1 s", capture={"at": ["a1"]})
    file = pipeline.store.file(run.document["run"], PACKETS)
    lengths = {(int(row[0]), int(row[1])) for row in read(file, "frame.cap_len", "frame.len", of="tcp.len > 0")}
    # Ethernet, IP, and TCP with its time stamps.
    assert lengths == {(14 + 20 + 32, 1514)}


def test_a_kept_run_gives_its_packets(finish: Runner, pipeline: Pipeline) -> None:
    """It runs once more, with the same trace; the same request again reads the file."""
    run = finish(duration="2 s", parts=2).document
    assert run["parts"] == 2
    file = packets_of(pipeline.store, run["run"], Capture(at=["a1"]))
    made = file.stat().st_mtime_ns
    assert packets_of(pipeline.store, run["run"], None).stat().st_mtime_ns == made
    assert packets_of(pipeline.store, run["run"], Capture(at=["a1"])).stat().st_mtime_ns == made
    wider = packets_of(pipeline.store, run["run"], Capture(at=["a1", "b1"]))
    assert {row[0] for row in read(wider, "frame.interface_name")} == {"a1-s1", "b1-s1"}

"""Recorded links in guests: what leaves them is what their files say, packet by packet and to the nanosecond."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from longhaul.orchestrator.analysis.fidelity.replays import judge_replays
from longhaul.orchestrator.analysis.series import held, of_flow
from longhaul.orchestrator.system.settings import Settings
from longhaul.orchestrator.trace.records import DROP_RANDOM, Records
from tests.support.command import longhaul
from tests.support.guests import Finished, Runner
from tests.support.tested_kernels import TESTED_KERNELS

_WINDOW_US = 100_000
_PATH = {"bandwidth": None, "rtt": "20 ms", "buffer": "100 packets"}


def _opportunities(file: Path, seed: int, mean_a_ms: float, seconds: float) -> list[int]:
    """Milliseconds of a made-up cellular link, with pauses, in mahimahi's format."""
    draw = random.Random(seed)
    stamps: list[int] = []
    level = mean_a_ms
    for ms in range(1, int(seconds * 1000) + 1):
        if draw.random() < 0.02:
            level = mean_a_ms * draw.choice([0.2, 0.6, 1, 1.4, 2.5])
        if draw.random() < 0.9:
            stamps += [ms] * draw.randint(0, max(1, round(2 * level)))
    file.write_text("".join(f"{ms}\n" for ms in stamps))
    return stamps


def _overloaded(rate: str) -> list[dict[str, object]]:
    return [{"name": "udp", "udp": rate}]


def _delivered(done: Finished, edges_us: list[int]) -> list[int]:
    """The packets that left between these instants."""
    records = of_flow(done.trace.links, 0)
    return [int(count) for count in np.diff(held(records, "tx_packets", np.array(edges_us) / 1e6))]


def _offered(stamps: list[int], offset_ms: int, edges_us: list[int]) -> list[int]:
    """The opportunities between these instants of a run; behind its last one the recording begins again."""
    turns = edges_us[-1] // (stamps[-1] * 1000) + 2
    instants_us = np.array([stamp + turn * stamps[-1] - offset_ms for turn in range(turns) for stamp in stamps]) * 1000
    return [int(count) for count in np.diff(np.searchsorted(instants_us, edges_us, side="right"))]


def _never_empty(done: Finished, begin_us: int, end_us: int) -> bool:
    records = of_flow(done.trace.links, 0)
    within = (records["t_ns"] >= begin_us * 1000) & (records["t_ns"] <= end_us * 1000)
    return bool((records["queue_packets"][within] > 0).all())


@pytest.mark.parametrize("kernel", TESTED_KERNELS)
def test_a_constant_recording_of_12_mbit_s_is_12112_kbit_s_of_frames(
    finish: Runner, tmp_path: Path, kernel: str
) -> None:
    """One opportunity a millisecond is a frame of 1514 bytes a millisecond."""
    (tmp_path / "constant").write_text("".join(f"{ms}\n" for ms in range(1, 1001)))
    done = finish(
        path=_PATH | {"recording": {"file": str(tmp_path / "constant")}}, duration="6 s", warmup="1 s", kernel=kernel
    )
    (link, *_) = done.document["links"]
    assert link["throughput_bps"] == pytest.approx(12_112_000, rel=0.002)
    assert link["utilisation"] == pytest.approx(1, rel=0.002)
    assert done.run.links[0].rate_bps == 12_112_000


@pytest.mark.parametrize("seed", range(20))
def test_every_window_has_the_packets_of_its_opportunities(finish: Runner, tmp_path: Path, seed: int) -> None:
    """Also where the recording begins again, and where the run begins in its middle."""
    mean = [0.5, 1, 3, 8][seed % 4]
    seconds = [1.5, 4][seed // 4 % 2]
    stamps = _opportunities(tmp_path / "cellular", seed, mean, seconds)
    offset_ms = [0, 700][seed % 2]
    recording = {"file": str(tmp_path / "cellular"), "offset": f"{offset_ms} ms"}
    done = finish(path=_PATH | {"recording": recording}, flows=_overloaded(f"{mean * 60} Mbit/s"), duration="3 s")
    edges_us = list(range(200_000, 3_000_001, _WINDOW_US))
    assert _never_empty(done, edges_us[0], edges_us[-1])
    assert _delivered(done, edges_us) == _offered(stamps, offset_ms, edges_us)


@pytest.mark.parametrize(("mean_a_ms", "rate", "seconds"), [(83, "3 Gbit/s", 0.6), (826, "30 Gbit/s", 0.3)])
def test_windows_are_exact_at_1_and_10_gbit_s(
    finish: Runner, tmp_path: Path, mean_a_ms: int, rate: str, seconds: float
) -> None:
    stamps = _opportunities(tmp_path / "fast", 1, mean_a_ms, seconds)
    path = _PATH | {"recording": {"file": str(tmp_path / "fast")}, "buffer": f"{50 * mean_a_ms} packets"}
    done = finish(path=path, flows=_overloaded(rate), duration=f"{seconds} s", sample="10 ms")
    edges_us = list(range(100_000, int(seconds * 1e6) + 1, _WINDOW_US))
    assert _never_empty(done, edges_us[0], edges_us[-1])
    assert _delivered(done, edges_us) == _offered(stamps, 0, edges_us)


@pytest.mark.parametrize("kernel", TESTED_KERNELS)
def test_rates_carry_their_integral(finish: Runner, tmp_path: Path, kernel: str) -> None:
    """A table of rates, 0 among them: bytes in every window are those of the file, to one frame."""
    draw = random.Random(7)
    rows = [(at, draw.choice([0, 0.3, 5, 47.3, 80])) for at in range(0, 3000, 50)]
    (tmp_path / "rates.csv").write_text("time_ms,rate_mbps\n" + "".join(f"{at},{rate}\n" for at, rate in rows))
    path = _PATH | {"recording": {"file": str(tmp_path / "rates.csv")}}
    done = finish(path=path, flows=_overloaded("200 Mbit/s"), duration="3 s", kernel=kernel)
    records = of_flow(done.trace.links, 0)
    edges_s = np.arange(0.2, 3.01, 0.1)
    sent = held(records, "tx_bytes", edges_s)
    carried = np.array(
        [sum(rate * 1e6 / 8 * min(max(at - begin / 1000, 0), 0.05) for begin, rate in rows) for at in edges_s]
    )
    assert np.abs(np.diff(sent) - np.diff(carried)).max() <= 1514
    assert abs((sent[-1] - sent[0]) - (carried[-1] - carried[0])) <= 1514


def test_delays_are_those_of_the_recording(finish: Runner, tmp_path: Path) -> None:
    """An idle path: the least round trip in each second is that of its delay, to the transmission of a frame."""
    (tmp_path / "delays.csv").write_text("time_s,delay_ms\n0,10\n1,35\n2,15\n3,20\n")
    path = {"bandwidth": "100 Mbit/s", "rtt": "30 ms", "recording": {"file": str(tmp_path / "delays.csv")}}
    flows = [{"name": "one", "cc": "reno", "window": "4 packets"}]
    done = finish(path=path, flows=flows, duration="4 s", sample="every-ack")
    acks = of_flow(done.trace.acks, 0)
    t_s = acks["t_ns"] / 1e9
    for second, delay_ms in enumerate([10, 35, 15, 20]):
        within = (t_s > second + 0.2) & (t_s < second + 0.95) & (acks["rtt_us"] > 0)
        least_ms = acks["rtt_us"][within].min() / 1000
        assert least_ms == pytest.approx(30 + delay_ms, abs=0.3)


def test_a_pattern_loses_its_packets(finish: Runner, tmp_path: Path) -> None:
    """Three of every 20 packets."""
    (tmp_path / "pattern").write_text("0001000000\n0000000011")
    recording = {"file": str(tmp_path / "pattern"), "format": "losses"}
    path = {"bandwidth": "100 Mbit/s", "recording": recording}
    done = finish(path=path, flows=_overloaded("12 Mbit/s"), duration="2 s")
    drops = of_flow(done.trace.drops, 0)
    drops_ns = drops["t_ns"][drops["state"] == DROP_RANDOM].astype(np.int64)
    # A packet each 1514 x 8 / 12 us: those with the numbers 3, 18, 19, 23, 38, 39, ... are lost.
    apart = np.rint(np.diff(drops_ns) / (1514 * 8000 / 12)).astype(int)
    assert len(apart) > 250
    assert set(zip(apart[::3], apart[1::3], apart[2::3], strict=False)) == {(15, 1, 4)}


def test_losses_follow_the_recording(finish: Runner, tmp_path: Path) -> None:
    (tmp_path / "losses.csv").write_text("time_s,loss_percent\n0,0\n1,100\n2,10\n4,0\n")
    path = {"bandwidth": "100 Mbit/s", "recording": {"file": str(tmp_path / "losses.csv")}}
    done = finish(path=path, flows=_overloaded("24 Mbit/s"), duration="5 s")
    drops = of_flow(done.trace.drops, 0)
    seconds = (drops["t_ns"][drops["state"] == DROP_RANDOM] // 10**9).astype(int)
    lost = np.bincount(seconds, minlength=5)
    assert lost[0] == 0 and lost[4] == 0
    assert lost[1] == pytest.approx(1982, abs=2)
    # Two seconds of 10 %: 6.2 standard deviations.
    assert lost[2] + lost[3] == pytest.approx(396, abs=118)


def test_one_recording_serves_both_directions(finish: Runner, tmp_path: Path) -> None:
    """Its tables have the same rows, and the same files."""
    (tmp_path / "both.csv").write_text("time_s,rate_mbps,delay_ms,loss\n0,20,5,0\n1,10,9,0.01\n2,15,7,0\n")
    recording = {"file": str(tmp_path / "both.csv")}
    done = finish(path=_PATH | {"recording": recording, "reverse_recording": recording}, duration="3 s")
    assert len(done.run.recordings) == 6
    assert len({table.file for table in done.run.recordings}) == 3
    assert [link["name"] for link in done.document["links"]] == ["bottleneck", "reverse"]


def test_twenty_runs_have_one_trace(finish: Runner, tmp_path: Path) -> None:
    stamps = _opportunities(tmp_path / "cellular", 3, 4, 2)
    assert stamps
    recording = {"file": str(tmp_path / "cellular"), "offset": "drawn"}
    flows = [{"name": "one", "cc": "bbr"}, {"name": "two", "cc": "cubic"}]
    path = _PATH | {"recording": recording, "reverse_recording": recording}
    hashes = {finish(path=path, flows=flows, duration="1 s").document["trace_sha256"] for _ in range(20)}
    assert len(hashes) == 1


def test_a_line_that_is_not_its_recording_has_no_result(finish: Runner, tmp_path: Path) -> None:
    """Too much in an interval, too little while packets wait, and another count of the kernel."""
    _opportunities(tmp_path / "cellular", 5, 4, 2)
    path = _PATH | {"recording": {"file": str(tmp_path / "cellular")}}
    done = finish(path=path, flows=_overloaded("200 Mbit/s"), duration="2 s")

    def verdict(change: Callable[[Records, dict[str, Any]], None]) -> bool:
        links, facts = done.trace.links.copy(), copy.deepcopy(done.facts)
        change(links, facts)
        ((ok, _),) = judge_replays(done.run, replace(done.trace, links=links), facts)
        return ok

    def count(facts: dict[str, Any]) -> dict[str, int]:
        device = next(one for one in facts["devices"] if one["dev"] == done.run.links[0].dev)
        return device["qdiscs"][0]["link"]  # type: ignore[no-any-return]

    def more(links: Records, facts: dict[str, Any]) -> None:
        links["tx_bytes"][len(links) // 2 :] += 4000

    def less(links: Records, facts: dict[str, Any]) -> None:
        links["tx_bytes"][len(links) // 2 :] -= 4000

    assert verdict(lambda links, facts: None)
    assert not verdict(more)
    assert not verdict(less)
    assert not verdict(lambda links, facts: count(facts).update(offered_bytes=count(facts)["offered_bytes"] + 1500))


def test_the_least_severe_parameter_that_breaks_a_claim_is_found(settings: Settings, tmp_path: Path) -> None:
    """Of a model's signal, in decibels: an experiment file has the counterexample, and it breaks the claim."""
    model = {"model": "lte", "parameters": {"snr_db": 30, "shadowing_db": 0, "speed_kmh": 120}, "length": "20 s"}
    document = {
        "experiment": "cell",
        "path": {"rtt": "40 ms", "buffer": "100 packets", "recording": model},
        "flows": [{"name": "one", "cc": "cubic"}],
        "duration": "5 s",
    }
    file, found = tmp_path / "cell.json", tmp_path / "counterexample.yaml"
    file.write_text(json.dumps(document))
    over = ("--over", "path.recording.parameters.snr_db=30..-10", "--claim", "goodput(one) >= 5e6", "--trials", "8")
    done = longhaul("search", str(file), *over, "--confirm", "1", "-o", str(found), home=settings.home)
    assert done.returncode == 1, done.stderr
    recording = yaml.safe_load(found.read_text())["path"]["recording"]
    # The model's mean rate falls below 5 Mbit/s at about 6 dB.
    assert -10 < recording["parameters"].pop("snr_db") < 15
    assert recording == {"model": "lte", "parameters": {"shadowing_db": 0, "speed_kmh": 120}, "length": "20 s"}
    assert longhaul("run", str(found), home=settings.home).returncode == 1

"""The controller's side of runs on real hosts: clocks, the merging of traces, findings, lost leases."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longhaul.orchestrator.backends.hosts import findings
from longhaul.orchestrator.backends.hosts.clocks import Reading, drift_ppm, read_time, start_for
from longhaul.orchestrator.backends.hosts.handshake import greet
from longhaul.orchestrator.backends.hosts.health import read_health
from longhaul.orchestrator.backends.hosts.path_probe import IdlePath, probe_path
from longhaul.orchestrator.backends.hosts.run_on_hosts import Conduct
from longhaul.orchestrator.database.leases import Leases
from longhaul.orchestrator.execution.host_leases import hold_hosts_of_run
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import BackendError, BackendUnavailable, HostBusy, LeaseLost, TraceError
from longhaul.orchestrator.system.settings import load_settings
from longhaul.orchestrator.trace.merge import WAIT_NS, MergedTrace
from longhaul.orchestrator.trace.records import RECORD_BYTES, read_trace, trace_header
from tests.support.host_policy import SPEC, lab, planned, policy

__all__ = ["lab"]

SECOND = 1_000_000_000


def records(*times_ns: int, kind: int = 2, about: int = 0) -> bytes:
    rows = np.zeros((len(times_ns), RECORD_BYTES), dtype=np.uint8)
    rows[:, :8] = np.array(times_ns, dtype="<u8").view(np.uint8).reshape(-1, 8)
    rows[:, 8], rows[:, 10] = kind, about
    return rows.tobytes()


def test_a_clock_is_read_to_half_of_the_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic_ns", lambda: 1_010_000)
    # Sent at 1,000,000; received there 500 ns after the middle of the exchange, by a clock that is 7 s ahead.
    reading = read_time((1_000_000, 50 * SECOND), b"3 7001004000 7001006000 57001006000")
    assert reading.monotonic_ns == 7_000_000_000
    assert reading.error_ns == 4_000
    assert reading.wall_ns == pytest.approx(7 * SECOND + 1_000_000 - 5_000 + 5_000, abs=10_000)
    assert start_for(reading, 2_000_000) == 7_002_000_000


def test_drift_is_the_time_that_a_clock_gained() -> None:
    before, after = Reading(0, 5_000, 0, 100), Reading(10 * SECOND, 5_000 + 200_000, 0, 100)
    assert drift_ppm(before, after) == (20.0, 0.02)


def test_traces_become_one_in_the_order_of_time(tmp_path: Path) -> None:
    trace = MergedTrace(tmp_path / "trace.bin", ["hk", "chicago"])
    trace.add("hk", trace_header()[:1000])
    trace.add("hk", trace_header()[1000:] + records(1, 5, 9)[:100])
    trace.add("chicago", trace_header() + records(2, 3, 20, about=1))
    trace.add("hk", records(1, 5, 9)[100:])
    trace.write(10)
    # No record later than the time that every endpoint has reached.
    assert trace.records == 5
    trace.add("hk", records(30))
    trace.finish()
    merged = read_trace(tmp_path / "trace.bin")
    assert merged.flows["t_ns"].tolist() == [1, 2, 3, 5, 9, 20, 30]
    assert merged.flows["id"].tolist() == [0, 1, 1, 0, 0, 1, 0]
    assert trace.left_over() == []


def test_a_silent_endpoint_delays_no_other(tmp_path: Path) -> None:
    trace = MergedTrace(tmp_path / "trace.bin", ["hk", "chicago"])
    trace.add("hk", trace_header() + records(SECOND))
    trace.write(SECOND + WAIT_NS - 1)
    assert trace.records == 0
    trace.write(SECOND + WAIT_NS)
    assert trace.records == 1
    trace.add("chicago", trace_header() + records(5)[:60])
    trace.finish()
    assert trace.left_over() == ["chicago"]


def test_a_trace_of_another_version_is_refused(tmp_path: Path) -> None:
    trace = MergedTrace(tmp_path / "trace.bin", ["hk"])
    with pytest.raises(TraceError, match="another version"):
        trace.add("hk", b"x" * 5000)
    trace.close()


@pytest.fixture
def run(lab: Path) -> Run:
    return planned(SPEC).runs[0]


def host_report(**changes: Any) -> dict[str, Any]:
    settings = {
        f"net/ipv4/{name}": "1" for name in ("tcp_sack", "tcp_timestamps", "tcp_window_scaling", "tcp_no_metrics_save")
    }
    settings |= dict.fromkeys(("net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem"), "4096 131072 100000000")
    return {
        "kernel": "6.1.0", "processors": 2, "busy_milli": 10, "device": True, "mtu": 1500, "rx_bps": 0, "tx_bps": 0,
        "clock": {"kept": True, "max_error_us": 1000}, "settings": settings, "controls": {"cubic": True}, **changes,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "forbids", "text"),
    [
        ({"device": False}, True, "it has no device eth1"),
        ({"mtu": 1400}, True, "MTU of 1400, 1500 is needed"),
        ({"controls": {"cubic": False}}, True, "has no cubic; deploy it"),
        ({"controls": {"cubic": True, "lp": True}}, False, "the offset between the two machines' clocks"),
        ({"busy_milli": 900}, True, "busy for 90 %"),
        ({"busy_milli": 400}, False, "busy for 40 %"),
        ({"tx_bps": 50_000_000}, False, "other programs' traffic takes 50 Mbit/s on eth1"),
        ({"clock": {"kept": False, "max_error_us": 0}}, False, "no program synchronises its clock"),
        ({"settings": {"net/ipv4/tcp_sack": "0"}}, True, "net.ipv4.tcp_sack is off"),
        ({"settings": {"net/ipv4/tcp_no_metrics_save": "0"}}, False, "caches path metrics"),
        ({"settings": {"net/ipv4/tcp_wmem": "4096 16384 4194304"}}, False, "is at most 4194304 bytes"),
    ],
)
def test_findings_on_a_host(run: Run, change: dict[str, Any], forbids: bool, text: str) -> None:
    assert list(findings.of_host(run, run.hosts[0], host_report())) == []
    (found,) = findings.of_host(run, run.hosts[0], host_report(**change))
    assert (found.about, found.forbids) == ("hk", forbids)
    assert text in found.text


def test_a_clock_that_is_off_by_two_seconds_forbids_a_run() -> None:
    (found,) = findings.of_clock(policy(), "hk", Reading(0, 0, 2 * SECOND, 1_000_000))
    assert found.forbids
    assert "2.000 s ahead of this machine's, 100 ms is allowed" in found.text
    assert list(findings.of_clock(policy(), "hk", Reading(0, 0, -90_000_000, 1_000_000))) == []
    # An offset within the error of the exchange is not reported.
    assert list(findings.of_clock(policy(), "hk", Reading(0, 0, 150_000_000, 80_000_000))) == []


def echo(**changes: Any) -> dict[str, Any]:
    return {
        "sent": 3, "answered": 3, "ecn_there": 3, "ecn_back": 3, "largest_bytes": 1500, "rtt_us": [139_000, 139_500, 140_000], **changes,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "forbids", "text"),
    [
        ({"answered": 0}, False, "no probe got a reply"),
        ({"rtt_us": [39_000, 0, 0]}, False, "the round trip is 39.0 ms, 139 ms was expected"),
        ({"largest_bytes": 1400}, True, "no packet above 1400 bytes passes"),
        ({"answered": 2, "ecn_there": 2, "ecn_back": 2}, False, "1 of 3 probes were lost"),
        ({"ecn_there": 0}, False, "ECN bits are changed on the path there"),
    ],
)
def test_findings_on_a_path(run: Run, change: dict[str, Any], forbids: bool, text: str) -> None:
    assert list(findings.of_path(run, "hk", "chicago", echo())) == []
    (found,) = findings.of_path(run, "hk", "chicago", echo(**change))
    assert found.forbids == forbids
    assert text in found.text


@pytest.mark.parametrize(
    ("greeting", "what"),
    [('{"agent": "0.1"}', "0.1, which reports no build"), ('{"agent": "9", "build": 255}', "9, build ff")],
)
@pytest.mark.parametrize("attempt", ["a run", "a probe of the path"])
def test_an_agent_of_another_version_is_refused(
    greeting: str, what: str, attempt: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\nprintf 'HELO\\{len(greeting):o}\\0\\0\\0%s' '{greeting}'\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    (agent := tmp_path / "agent").write_bytes(b"this version's")
    with pytest.raises(BackendError, match="reaching hosts hk, chicago: hk: ") as found:
        if attempt == "a run":
            Conduct(run, policy(), tmp_path, agent, tmp_path, lambda _: None).execute()
        else:
            probe_path(policy(), "hk", "chicago", 5, lambda: None, agent=agent, home=tmp_path)
    assert f"the agent there ({what}) is not this version's" in str(found.value)
    assert found.value.hint == "run `longhaul hosts deploy`"
    assert (health := read_health(tmp_path, "hk")) is not None
    assert not health.ok


def test_without_an_agent_here_no_host_is_greeted(tmp_path: Path) -> None:
    with pytest.raises(BackendUnavailable, match="longhaul agent build"):
        greet({}, policy(), tmp_path / "agent", tmp_path)


def test_hosts_are_leased_to_one_run_and_lost_to_a_thief(run: Run, tmp_path: Path) -> None:
    settings = replace(load_settings(), home=tmp_path)
    store = Store(settings)
    leases = Leases(store.database)
    with hold_hosts_of_run(run, "first", store) as watch:
        reached: list[int] = []
        report = watch(reached.append)
        report(7)
        with pytest.raises(HostBusy, match="run first of"), hold_hosts_of_run(run, "second", store):
            pass
        leases.seize("chicago", "a thief", 60)
        until = time.monotonic() + 30
        with pytest.raises(LeaseLost, match="running on chicago: a thief has it"):
            while time.monotonic() < until:
                report(8)
                time.sleep(0.05)
    found = leases.get("hk")
    assert found is not None
    assert found["holder"] is None
    assert reached[0] == 7


def test_the_labs_own_cap_counts_all_leased_hosts(run: Run, lab: Path, tmp_path: Path) -> None:
    lab.write_text(lab.read_text().replace('{"hosts"', '{"rate": "150 Mbit/s", "hosts"', 1))
    settings = replace(load_settings(), home=tmp_path)
    store = Store(settings)
    leases = Leases(store.database)
    fence = leases.take("london", "another", 60)
    assert fence is not None
    with pytest.raises(HostBusy, match="the lab 150 Mbit/s"), hold_hosts_of_run(run, "key", store):
        pass
    leases.give_back("london", "another", fence)
    with hold_hosts_of_run(run, "key", store):
        pass


def test_bursts_of_losses_are_distinguished_from_single_losses() -> None:
    def path(*lost: int) -> IdlePath:
        return IdlePath((40_000,), tuple(map(bool, lost)), 1500, 1.0, 1.0)

    assert path(*[0] * 99, 1).burst is None
    assert path(*([0, 1] * 50)).burst is None
    found = path(*([0] * 97 + [1, 1, 1]) * 10).burst
    assert found == pytest.approx((10 / 970, 1 / 3))
    assert path(0, 0, 0, 1).loss == 0.25

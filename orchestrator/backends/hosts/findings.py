"""Findings on hosts and the paths between them, before and after a run: which forbid it, and which its reader should know.

All checks are made before any finding is reported, so that the operator gets all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from longhaul.orchestrator.backends.hosts.clocks import Reading
from longhaul.orchestrator.plan.placed.host import PlacedHost
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.spec.host_policy import Policy
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import format_duration, format_rate

# The agent's report on a host, on its settings, or on an echo between two hosts.
HostReport = Mapping[str, Any]

# Busy processors: above the first it is reported, above the second measurements there do not reflect the path.
_BUSY_MILLI, _TOO_BUSY_MILLI = 300, 850
# Share of the expected bandwidth.
_OTHERS_SHARE = 0.01
_RTT_SHARE, _RTT_GRACE_US = 0.1, 2_000
# TCP's memory should hold a bandwidth-delay product; the kernel accounts about twice a packet's bytes.
_MEMORY_FACTOR = 3
_NEEDED_SETTINGS = ("tcp_sack", "tcp_timestamps", "tcp_window_scaling")


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding, which `forbids` a run or is reported with it."""

    about: str
    forbids: bool
    text: str

    def __str__(self) -> str:
        return f"{self.about}: {self.text}"


def controls_of(run: Run, host: PlacedHost) -> list[str]:
    """The congestion controls that a host needs."""
    changed = {change.flow: change.cc for flow in run.flows for change in run.changes_of(flow) if change.cc}
    needed = []
    for flow in run.flows:
        if flow.cc and (flow.from_node == host.node or (flow.options.both_ends and flow.to_node == host.node)):
            needed += [flow.cc, *([changed[flow.id]] if flow.id in changed else [])]
    return sorted({one for one in needed if one})


def of_host(run: Run, host: PlacedHost, report: HostReport) -> Iterator[Finding]:
    """Findings of a check of a host."""
    name = host.node
    if not report["device"]:
        yield Finding(name, True, f"it has no device {host.device}; the policy names the one of test traffic")
        return
    if report["mtu"] < run.meaning.mtu:
        yield Finding(name, True, f"{host.device} has an MTU of {report['mtu']}, {run.meaning.mtu} is needed")
    for control, there in report["controls"].items():
        if not there:
            yield Finding(
                name, True, f"its kernel {report['kernel']} has no {control}; deploy it with `longhaul hosts deploy`"
            )
    busy = report["busy_milli"]
    if busy > _BUSY_MILLI:
        yield Finding(name, busy > _TOO_BUSY_MILLI, f"its processors are busy for {busy / 10:.0f} % of the time")
    others_bps = max(report["rx_bps"], report["tx_bps"])
    if others_bps > run.meaning.bandwidth_bps * _OTHERS_SHARE:
        yield Finding(name, False, f"other programs' traffic takes {format_rate(float(others_bps))} on {host.device}")
    if not report["clock"]["kept"]:
        yield Finding(name, False, "no program synchronises its clock; run chrony there")
    if "lp" in report["controls"]:
        yield Finding(
            name,
            False,
            "lp there measures the offset between the two machines' clocks, and yields to other flows or not by chance",
        )
    yield from _settings(run, host, report["settings"])


def of_box(run: Run, host: PlacedHost, report: HostReport) -> Iterator[Finding]:
    """The same for a middle box, whose own TCP is not used."""
    yield from of_host(run, host, {**report, "settings": {}})


def _settings(run: Run, host: PlacedHost, settings: HostReport) -> Iterator[Finding]:
    for name in _NEEDED_SETTINGS:
        if settings.get(f"net/ipv4/{name}") == "0":
            yield Finding(host.node, True, f"net.ipv4.{name} is off; set it, or run `longhaul hosts deploy`")
    if settings.get("net/ipv4/tcp_no_metrics_save") == "0":
        yield Finding(
            host.node, False, "its kernel caches path metrics between runs (net.ipv4.tcp_no_metrics_save is 0)"
        )
    needed = _MEMORY_FACTOR * run.meaning.bdp_bytes
    for name in ("net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem"):
        numbers = str(settings.get(name) or "").split()
        if len(numbers) == 3 and int(numbers[2]) < needed:
            setting = name.replace("/", ".")
            yield Finding(
                host.node,
                False,
                f"{setting} is at most {numbers[2]} bytes, which may limit flows; set at least {needed}",
            )


def of_clock(policy: Policy, name: str, reading: Reading) -> Iterator[Finding]:
    """Findings of the comparison of clocks."""
    off_us = abs(reading.wall_ns) / 1000
    if off_us - reading.error_ns / 1000 > policy.clock_limit_us:
        ahead = "ahead of" if reading.wall_ns > 0 else "behind"
        limit = format_duration(policy.clock_limit_us)
        yield Finding(
            name,
            True,
            f"its clock is {off_us / 1e6:.3f} s {ahead} this machine's, {limit} is allowed; set both by chrony",
        )


def of_path(run: Run, sender: str, receiver: str, echo: HostReport) -> Iterator[Finding]:
    """Findings of probes from one host to another."""
    about = f"{sender} to {receiver}"
    answered = echo["answered"]
    if not answered:
        yield Finding(about, False, "no probe got a reply (UDP may be blocked), so round trip, MTU and ECN are unknown")
        return
    rtt_us = min(rtt for rtt in echo["rtt_us"] if rtt)
    expected_us = run.meaning.rtt_us
    if abs(rtt_us - expected_us) > max(_RTT_GRACE_US, expected_us * _RTT_SHARE):
        yield Finding(
            about, False, f"the round trip is {rtt_us / 1000:.1f} ms, {format_duration(expected_us)} was expected"
        )
    if echo["largest_bytes"] < run.meaning.mtu:
        yield Finding(
            about, True, f"no packet above {echo['largest_bytes']} bytes passes, path.mtu is {run.meaning.mtu}"
        )
    if lost := echo["sent"] - answered:
        yield Finding(about, False, f"{lost} of {echo['sent']} probes were lost")
    needs_ecn = any(
        flow.options.both_ends for flow in run.flows if (flow.from_node, flow.to_node) == (sender, receiver)
    )
    for way, count in (("there", echo["ecn_there"]), ("back", echo["ecn_back"])):
        if count < answered:
            yield Finding(about, needs_ecn, f"ECN bits are changed on the path {way}")


def of_maintenance(policy: Policy, names: Sequence[str], begin: Any, end: Any) -> Iterator[Finding]:
    """Hosts that are in maintenance in that time."""
    for name in names:
        if (closed := policy.host(name).closed(begin, end)) is not None:
            since, until = (one.strftime("%Y-%m-%d %H:%M") for one in closed)
            yield Finding(name, True, f"it is in maintenance from {since} to {until} UTC")


def as_documents(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """For facts.json."""
    return [{"about": one.about, "forbids": one.forbids, "text": one.text} for one in findings]

"""One run on real hosts, from start to end.

    open sessions -> check hosts, clocks -> have a middle box emulate -> probe paths -> send the plan -> agree on a start
         -> gather traces while it runs -> check again -> have all settings restored

Whatever goes wrong, sessions are closed; each endpoint then ends its traffic and restores its settings by itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from longhaul.orchestrator.backends.hosts import findings as found
from longhaul.orchestrator.backends.hosts.clocks import (
    Reading,
    ask_time,
    compare_clocks,
    drift_ppm,
    read_time,
    start_for,
)
from longhaul.orchestrator.backends.hosts.findings import Finding
from longhaul.orchestrator.backends.hosts.handshake import greet
from longhaul.orchestrator.backends.hosts.health import note_health
from longhaul.orchestrator.backends.hosts.ssh_channel import Channel, failure, read_json
from longhaul.orchestrator.backends.merge_facts import merge_host_facts
from longhaul.orchestrator.plan.run import Progress, Run
from longhaul.orchestrator.spec.host_policy import Policy
from longhaul.orchestrator.system.dataclass_json import encode
from longhaul.orchestrator.system.errors import BackendError, BackendUnavailable, RunTimedOut
from longhaul.orchestrator.trace.merge import MergedTrace

_LOOK_S = 15.0
_PROBES, _GAP_US = 20, 20_000
_READY_S = 30.0
# From the command to the agreed start, besides the transmission of commands.
_AHEAD_NS = 500_000_000
_BEAT_S = 2.0
# An endpoint that is silent for this part of the dead-man's time is given up; it then ends by itself.
_SILENT_SHARE = 0.4
_END_S = 20.0
# After its end, a run still sends its last records over a slow connection.
_AFTERWARDS_S = 60.0
_LOOK_AROUND_S = 0.1


class Conduct:
    """The controller's side of one run."""

    def __init__(self, run: Run, policy: Policy, directory: Path, agent: Path, home: Path, progress: Progress) -> None:
        self._run = run
        self._policy = policy
        self._directory = directory
        self._agent = agent
        self._home = home
        self._progress = progress
        self._channels: dict[str, Channel] = {}
        self._facts: dict[str, dict[str, Any]] = {}
        self._more: dict[str, dict[str, Any]] = {host.node: {} for host in run.machines}
        self._start_ns = 0
        # The name of its traces on the hosts.
        self._mark = directory.name.lower().replace("_", "-")[:40] + "-" + os.urandom(4).hex()

    def execute(self) -> None:
        """Leave trace.bin, facts.json, log.txt and status.json in the run directory; BackendError."""
        log = self._directory / "log.txt"
        try:
            self._open()
            clocks = self._compare_clocks()
            findings = self._before(clocks)
            self._hand_out()
            self._start(clocks)
            records = self._follow()
            findings += self._after(clocks)
            self._restore_settings()
        finally:
            for channel in self._channels.values():
                channel.close()
            with log.open("a") as file:
                for name in self._channels:
                    messages = self._directory / f"ssh-{name}.txt"
                    file.write(
                        "".join(f"{name}: {line}\n" for line in messages.read_text(errors="replace").splitlines())
                    )
                    messages.unlink()
        facts = merge_host_facts(self._run, self._facts, records, self._more)
        if box := self._run.box:
            facts["box"] = {"name": box.host.node, **self._facts[box.host.node], **self._more[box.host.node]}
        facts["findings"] = found.as_documents(findings)
        (self._directory / "facts.json").write_text(json.dumps(facts))
        partial = self._directory / "status.json.partial"
        partial.write_text('{"status": "done"}\n')
        partial.rename(self._directory / "status.json")

    # ---- before ----

    def _open(self) -> None:
        for host in self._run.machines:
            self._channels[host.node] = Channel.open(self._policy, host.node, self._directory)
        greet(self._channels, self._policy, self._agent, self._home)

    def _compare_clocks(self) -> dict[str, Reading]:
        return {name: compare_clocks(channel) for name, channel in self._channels.items()}

    def _before(self, clocks: Mapping[str, Reading]) -> list[Finding]:
        begin = datetime.now(UTC)
        end = begin + timedelta(microseconds=self._run.duration_us)
        findings = list(found.of_maintenance(self._policy, [host.node for host in self._run.machines], begin, end))
        for name, reading in clocks.items():
            findings += found.of_clock(self._policy, name, reading)
        findings += self._check_hosts("before")
        if not any(one.forbids for one in findings):
            self._emulate()
        findings += self._probe()
        for host in self._run.machines:
            its = [one for one in findings if one.about == host.node]
            kernel = self._more[host.node]["before"]["kernel"]
            well = not any(one.forbids for one in its)
            note_health(self._home, host.node, ok=well, kernel=kernel, found=[one.text for one in its])
        if forbidding := [one for one in findings if one.forbids]:
            raise BackendUnavailable("hosts", [], "; ".join(map(str, forbidding)))
        return findings

    def _check_hosts(self, when: str) -> Iterator[Finding]:
        """All hosts are checked at the same time."""
        for host in self._run.machines:
            self._channels[host.node].send(" ".join(["look", *found.controls_of(self._run, host)]))
        for host in self._run.machines:
            answer = self._channels[host.node].wait_for("LOOK", _LOOK_S, "looking at host")
            report = read_json(host.node, answer)
            self._more[host.node][when] = report
            if when == "before":
                yield from (found.of_host if host in self._run.hosts else found.of_box)(self._run, host, report)

    def _probe(self) -> Iterator[Finding]:
        """Probe each path of flows, one after the other."""
        hosts = {host.node: host for host in self._run.hosts}
        for sender, receiver in dict.fromkeys((flow.from_node, flow.to_node) for flow in self._run.flows):
            port = self._policy.host(receiver).ports[0]
            self._channels[receiver].send(f"reflect {port}")
            # Its reply comes when the previous command has been executed.
            compare_clocks(self._channels[receiver])
            channel = self._channels[sender]
            channel.send(f"probe {hosts[receiver].address} {port} {_PROBES} {_GAP_US}")
            longest_s = _LOOK_S + _PROBES * _GAP_US / 1e6
            echo = self._wait_with_keepalive("ECHO", sender, receiver, longest_s)
            self._more[sender].setdefault("ways", {})[receiver] = echo
            yield from found.of_path(self._run, sender, receiver, echo)

    def _wait_with_keepalive(self, kind: str, name: str, other: str, longest_s: float) -> dict[str, Any]:
        answer = self._channels[name].wait_for(kind, longest_s, f"probing the path to {other} from")
        return read_json(name, answer)

    # ---- the run ----

    def _hand_out(self) -> None:
        plan = json.dumps(replace(self._run, links=(), box=None).as_json()).encode()
        for host in self._run.hosts:
            self._channels[host.node].send(f"plan {self._mark} {host.node} {len(plan)}", plan)
        for host in self._run.hosts:
            self._channels[host.node].wait_for("REDY", _READY_S, "preparing the run on")

    def _emulate(self) -> None:
        """The emulated path exists before probes are sent, so that they measure it."""
        if box := self._run.box:
            asked = {"duration_us": self._run.duration_us, "ends": [encode(end) for end in box.ends]}
            plan = json.dumps(asked).encode()
            channel = self._channels[box.host.node]
            channel.send(f"emulate {self._mark} {box.host.node} {len(plan)}", plan)
            channel.wait_for("REDY", _READY_S, "emulating the path on")

    def _start(self, clocks: Mapping[str, Reading]) -> None:
        slowest_ns = max(reading.error_ns for reading in clocks.values())
        self._start_ns = time.monotonic_ns() + _AHEAD_NS + 4 * slowest_ns
        for name, channel in self._channels.items():
            channel.send(f"start {start_for(clocks[name], self._start_ns)}")

    def _follow(self) -> int:
        """Gather records until every endpoint is done; returns their number."""
        trace = MergedTrace(self._directory / "trace.bin", [host.node for host in self._run.hosts])
        waiting = set(self._channels)
        asked: dict[str, tuple[int, int]] = {}
        beat_at, over_at = 0.0, time.monotonic() + self._run.duration_us / 1e6 + _AFTERWARDS_S
        with (
            contextlib.closing(trace),
            selectors.DefaultSelector() as selector,
            (self._directory / "log.txt").open("ab") as log,
        ):
            for channel in self._channels.values():
                selector.register(channel.fileno(), selectors.EVENT_READ, channel)
            while waiting:
                for key, _ in selector.select(_LOOK_AROUND_S):
                    if not key.data.receive():
                        raise self._lost(key.data)
                for name, channel in self._channels.items():
                    for kind, payload in channel.frames():
                        if kind == "TIME" and name in asked:
                            reading = read_time(asked.pop(name), payload)
                            self._more[name].setdefault("clock", []).append(_clock_document(reading))
                        elif kind == "TRCE":
                            trace.add(name, payload)
                        elif kind == "LOGS":
                            log.write(payload)
                        elif kind == "FACT":
                            self._facts[name] = read_json(name, payload)
                        elif kind == "STAT":
                            if read_json(name, payload).get("status") != "done":
                                raise failure(name, payload)
                            waiting.discard(name)
                now = time.monotonic()
                if now - beat_at > _BEAT_S:
                    beat_at = now
                    asked = {name: ask_time(channel, 0) for name, channel in self._channels.items()}
                self._watch(now, over_at)
                reached_ns = time.monotonic_ns() - self._start_ns
                trace.write(reached_ns)
                self._progress(max(0, min(reached_ns, self._run.duration_us * 1000)))
            if torn := trace.left_over():
                raise BackendError("gathering the trace of", torn[0], "it ends within a record", "please report this")
            trace.finish()
        return trace.records

    def _watch(self, now: float, over_at: float) -> None:
        silent_s = self._policy.silence_us / 1e6 * _SILENT_SHARE
        for channel in self._channels.values():
            if now - channel.heard_at > silent_s:
                what = f"it has sent nothing for {silent_s:g} s, {self._so_far()}"
                hint = f"check the network to it; {self._policy.ends_within}"
                raise BackendError("running on", channel.name, what, hint)
        if now > over_at:
            what = f"not finished {_AFTERWARDS_S:g} s after its end"
            raise RunTimedOut(
                "running", self._run.experiment, what, "check whether the connections to the hosts are too slow"
            )

    def _so_far(self) -> str:
        return f"{max(0, time.monotonic_ns() - self._start_ns) / 1e9:.1f} s after the start"

    def _lost(self, channel: Channel) -> BackendError:
        for kind, payload in channel.frames():
            if kind == "STAT" and read_json(channel.name, payload).get("status") != "done":
                return failure(channel.name, payload)
        error = channel.lost("running on")
        error.what += f", {self._so_far()}"
        return error

    # ---- after ----

    def _after(self, clocks: Mapping[str, Reading]) -> list[Finding]:
        findings = list(self._check_hosts("after"))
        for name, channel in self._channels.items():
            reading = compare_clocks(channel)
            ppm, unsure_ppm = drift_ppm(clocks[name], reading)
            self._more[name]["clocks"] = {
                "before": _clock_document(clocks[name]),
                "after": _clock_document(reading),
                "drift_ppm": round(ppm, 2),
                "drift_unsure_ppm": round(unsure_ppm, 2),
            }
        return findings

    def _restore_settings(self) -> None:
        for channel in self._channels.values():
            channel.send("end")
        for name, channel in self._channels.items():
            restored = read_json(name, channel.wait_for("GONE", _END_S, "restoring the settings of"))
            if restored.get("left"):
                what = f"{restored['left']} settings could not be restored"
                raise BackendError(
                    "restoring the settings of", name, what, "see its log, or restart the host, which restores them"
                )


def _clock_document(reading: Reading) -> dict[str, Any]:
    return {"wall_us": reading.wall_ns // 1000, "error_us": reading.error_ns // 1000}

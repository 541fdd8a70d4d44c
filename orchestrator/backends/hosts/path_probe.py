"""Properties of an idle path: many small probes there and back, over the endpoints' own sessions."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from longhaul.orchestrator.backends.hosts.clocks import compare_clocks
from longhaul.orchestrator.backends.hosts.handshake import greet
from longhaul.orchestrator.backends.hosts.ssh_channel import Channel, read_json
from longhaul.orchestrator.spec.host_policy import Policy
from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_GAP_US = 10_000
# A session executes one command at a time: a probe is sent in pieces of this length, with a sign of life between them.
_PIECE_S = 5
_MORE_S = 15.0
# Independent losses also produce fewer or shorter bursts than this.
_LEAST_BURSTS, _LEAST_BURST = 5, 1.5


@dataclass(frozen=True, slots=True)
class IdlePath:
    """Round trips in microseconds of the probes that came back, in order; and which probes did not."""

    rtt_us: tuple[int, ...]
    lost: tuple[bool, ...]
    largest_bytes: int
    ecn_there: float
    ecn_back: float

    @property
    def loss(self) -> float:
        """The share of lost probes."""
        return sum(self.lost) / len(self.lost)

    def percentile_us(self, percent: float) -> float:
        """A percentile of the round trips."""
        return float(np.percentile(self.rtt_us, percent))

    @property
    def burst(self) -> tuple[float, float] | None:
        """The probabilities to enter and to leave a loss burst; None if losses do not come in bursts, or are too few to tell."""
        lost = np.array(self.lost, dtype=np.int8)
        begun = int((np.diff(lost, prepend=0) == 1).sum())
        if begun < _LEAST_BURSTS or lost.sum() / begun < _LEAST_BURST:
            return None
        return begun / int((lost == 0).sum()), begun / int(lost.sum())


def probe_path(
    policy: Policy,
    sender: str,
    receiver: str,
    seconds: int,
    check: Callable[[], None],
    *,
    agent: Path,
    home: Path,
) -> IdlePath:
    """Probe from one host to another for so long, if both have this agent; `check` raises when the lease of a host is lost."""
    if policy.path(sender, receiver) is None:
        what = f"no traffic is allowed between {sender} and {receiver}"
        raise BackendError(
            "probing the path between", f"{sender} and {receiver}", what, "see the operator's policy for where it is"
        )
    address, port = policy.host(receiver).traffic.address, policy.host(receiver).ports[0]
    rtts: list[int] = []
    largest, ecn_there, ecn_back = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        channels = {}
        for name in (sender, receiver):
            channels[name] = Channel.open(policy, name, Path(folder))
            stack.callback(channels[name].close)
        greet(channels, policy, agent, home)
        channels[receiver].send(f"reflect {port}")
        for begun_s in range(0, seconds, _PIECE_S):
            check()
            # Its reply confirms that the previous command was executed, and keeps this side's session alive.
            compare_clocks(channels[receiver])
            piece_s = min(_PIECE_S, seconds - begun_s)
            channels[sender].send(f"probe {address} {port} {piece_s * 1_000_000 // _GAP_US} {_GAP_US}")
            echo = read_json(sender, channels[sender].wait_for("ECHO", piece_s + _MORE_S, "probing a path from"))
            rtts += echo["rtt_us"]
            largest = max(largest, int(echo["largest_bytes"]))
            ecn_there, ecn_back = ecn_there + echo["ecn_there"], ecn_back + echo["ecn_back"]
        for channel in channels.values():
            channel.send("end")
            channel.wait_for("GONE", _MORE_S, "ending probes on")
    answered = tuple(rtt for rtt in rtts if rtt)
    if not answered:
        what = f"none of {len(rtts)} probes got a reply"
        hint = f"allow UDP to port {port} of {address}"
        raise BackendError("probing the path between", f"{sender} and {receiver}", what, hint)
    lost = tuple(not rtt for rtt in rtts)
    return IdlePath(answered, lost, largest, ecn_there / len(answered), ecn_back / len(answered))

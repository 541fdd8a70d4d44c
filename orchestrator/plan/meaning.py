"""Texts of a run: what the experiment's text came to, for tables and reports, the words of programs, and scripts; nothing is computed from them."""

from __future__ import annotations

from dataclasses import field

from longhaul.orchestrator.system.dataclass_json import SELDOM
from longhaul.orchestrator.system.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Meaning:
    """The resolved values: a buffer of `1 BDP` and its integers, the base path, how repeats are summarised."""

    about: str
    topology: str
    bandwidth_bps: int
    rtt_us: int
    forward_us: int
    reverse_us: int
    mtu: int
    frame_bytes: int
    mss_bytes: int
    bdp_bytes: int
    bdp_packets: int
    queue: str
    buffer_text: str
    buffer_packets: int
    buffer_bytes: int
    aggregate: str


@dataclass(frozen=True, slots=True)
class Programs:
    """The words of two programs, and the folder where both start ("": an empty one); `connections` at once are as many flows."""

    server: tuple[str, ...]
    client: tuple[str, ...]
    server_sends: bool
    connections: int
    server_address: str
    client_address: str
    folder: str = field(default="", metadata=SELDOM)


@dataclass(frozen=True, slots=True)
class Group:
    """The common name of flows that belong together, as the streams of a transfer or the connections of requests, and their number."""

    name: str
    flows: int


@dataclass(frozen=True, slots=True)
class Requests:
    """What a client asks for: a pause after each response, or the interval of its requests; without a `count`, as many as fit.

    `timeout_us` is how long it waits for a response over UDP; 0: it asks over TCP. With a `barrier` all clients of its group ask at once.
    """

    request_bytes: int
    response_bytes: int
    think_us: int = field(default=0, metadata=SELDOM)
    every_us: int = field(default=0, metadata=SELDOM)
    count: int | None = field(default=None, metadata=SELDOM)
    new_connection: bool = field(default=False, metadata=SELDOM)
    timeout_us: int = field(default=0, metadata=SELDOM)
    barrier: bool = field(default=False, metadata=SELDOM)


@dataclass(frozen=True, slots=True)
class Script:
    """A user's Mininet script: its file and its text, its arguments, and the folder in which it starts."""

    file: str
    text: str
    arguments: tuple[str, ...]
    folder: str


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the run with measures of its own."""

    name: str
    begin_us: int
    end_us: int

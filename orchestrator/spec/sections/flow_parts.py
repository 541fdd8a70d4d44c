"""Parts of a flow as a user writes them: programs that make its traffic, the class of its packets, options of its sockets."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator

from longhaul.orchestrator.spec.fields import Duration, Period, Size, Switch, one_of, refuse
from longhaul.orchestrator.spec.sections.queue_parameters import Part

_LONGEST_WORD = 4096
ENDS = ("server", "client")


class Command(Part):
    """Two programs of this machine whose TCP connections are the flow; in the sandbox, in virtual time."""

    server: list[str] = Field(
        min_length=1,
        max_length=200,
        description="the words of the program that listens; it starts before the run, and the client's host name for it is `server`",
    )
    client: list[str] = Field(
        min_length=1,
        max_length=200,
        description="the words of the program that connects; it starts at the flow's `start`, and its end is the end of the flow",
    )
    sends: one_of(*ENDS) = Field(  # type: ignore[valid-type]
        "server", description="whose data the flow is: the server's (a download), or the client's (an upload)"
    )
    connections: int = Field(
        1,
        ge=1,
        le=100,
        description="connections at once, at most; above 1 each is a flow of its own, named name-1 to name-n",
    )
    folder: str | None = Field(
        None,
        max_length=400,
        description="folder of this machine in which both start, relative to this file's; without it, an empty one",
    )
    memory: Size = Field("256 MB", description="memory of the guest for both programs and the files that they write")

    @field_validator("server", "client")
    @classmethod
    def _words(cls, words: list[str]) -> list[str]:
        if not words[0] or any("\0" in word or len(word) > _LONGEST_WORD for word in words):
            raise refuse(f"words of up to {_LONGEST_WORD} letters, the first of which is the program")
        return words


def with_whole_folder(flow: Any, folder: pathlib.Path) -> Any:
    """A flow as it is written in a file of this folder, with the whole path of the folder of its programs."""
    command = flow.get("command") if isinstance(flow, dict) else None
    if not isinstance(command, dict) or not isinstance(command.get("folder"), str):
        return flow
    return flow | {"command": command | {"folder": str((folder / command["folder"]).resolve())}}


# Differentiated services codepoints by name (RFC 2474, 2597, 3246, 5865, 8622); BE is the default.
DSCPS: Mapping[str, int] = {
    "BE": 0,
    "LE": 1,
    **{f"CS{number}": 8 * number for number in range(8)},
    **{f"AF{level}{drops}": 8 * level + 2 * drops for level in range(1, 5) for drops in range(1, 4)},
    "VA": 44,
    "EF": 46,
}
_MOST_DSCP = 63


def dscp_number(written: str | int) -> int:
    """The number of a codepoint by its name or its number."""
    return DSCPS[written] if isinstance(written, str) else written


def dscp_text(number: int) -> str:
    """The name of a codepoint, or its number if it has none."""
    return next((name for name, one in DSCPS.items() if one == number), str(number))


def _dscp(value: object) -> object:
    if isinstance(value, str) and value.upper() in DSCPS:
        return value.upper()
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_DSCP:
        return value
    raise refuse(f"one of {', '.join(DSCPS)}, or a number from 0 to {_MOST_DSCP}")


_DSCP_SCHEMA: dict[str, Any] = {
    "type": ["integer", "string"],
    "minimum": 0,
    "maximum": _MOST_DSCP,
    "pattern": f"^({'|'.join(DSCPS)})$",
    "examples": ["EF", "CS1", 34],
}
Dscp = Annotated[str | int, BeforeValidator(_dscp), WithJsonSchema(_DSCP_SCHEMA)]


class Requests(Part):
    """A client at the flow's receiver that asks its sender again and again; the responses are the flow's data."""

    over: one_of("tcp", "udp") = Field(  # type: ignore[valid-type]
        "tcp", description="tcp, or udp: as pings, of one packet each, of which one without a response in time is lost"
    )
    request: Size = Field("100 B", description="size of a request, which goes to the flow's sender")
    response: Size | None = Field(
        None,
        description="size of a response; the client waits for all of it; without it 10 KB, over udp the size of a request",
    )
    timeout: Period | None = Field(
        None, description="over udp: how long the client waits for a response until it counts as lost; without it, 1 s"
    )
    think: Duration | None = Field(None, description="pause between a response and the next request; without it, none")
    every: Period | None = Field(
        None,
        description="instead of think: from the time of one request to that of the next, which waits for its response",
    )
    count: int | None = Field(None, ge=1, le=10**9, description="requests; without it, as many as fit")
    connections: int = Field(
        1, ge=1, le=100, description="clients at once; above 1 they are named name-1 to name-n, and name is their total"
    )
    barrier: Switch = Field(
        False,
        description="rounds: all connections ask at once, and again when every response of the round has come; each has the next of the senders, and one receiver is the client of all",
    )
    new_connection: Switch = Field(False, description="each request opens a connection, and its time includes that")


class SocketOption(Part):
    """An option of the sender's sockets, set before it connects, and read back."""

    level: str | int = Field("tcp", description="ip, socket, tcp, or a number", union_mode="left_to_right")
    name: str | int = Field(description="the option's name, as in TCP_NOTSENT_LOWAT, or its number")
    value: int = Field(ge=-(2**31), le=2**31 - 1, description="a number; on and off are 1 and 0")

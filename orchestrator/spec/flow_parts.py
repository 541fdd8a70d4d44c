"""Parts of a flow as a user writes them: programs that make its traffic, and options of its sockets."""

from __future__ import annotations

import pathlib
from typing import Any

from pydantic import Field, field_validator

from longhaul.orchestrator.spec.fields import Size, one_of, refuse
from longhaul.orchestrator.spec.path_model import Part

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


class SocketOption(Part):
    """An option of the sender's sockets, set before it connects, and read back."""

    level: str | int = Field("tcp", description="ip, socket, tcp, or a number", union_mode="left_to_right")
    name: str | int = Field(description="the option's name, as in TCP_NOTSENT_LOWAT, or its number")
    value: int = Field(ge=-(2**31), le=2**31 - 1, description="a number; on and off are 1 and 0")

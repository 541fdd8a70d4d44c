"""The ssh session with one endpoint: commands go there, frames come back (orchestrator/agent/host/frames.h, endpoint.c).

The system's ssh is used with its user's configuration, but never prompts, never accepts an unknown host key, and shares no
connection. When the session ends, for whatever reason, the endpoint stops its traffic and restores its settings.
"""

from __future__ import annotations

import json
import select
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from longhaul.orchestrator.spec.host_policy import Policy
from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.process import Talk, start_talk

AGENT_ON_HOST = "/usr/local/libexec/longhaul/agent"

_HEADER_BYTES = 8
_LARGEST_FRAME = 2**26
# Through a slow connection to a slow machine a key exchange takes seconds.
_CONNECT_S = 15
_ALIVE_S, _MISSED = 5, 3
_LONGEST_TEXT = 300
_LOOK_AROUND_S = 0.2


def ssh_command(policy: Policy, name: str, *command: str) -> list[str]:
    """The ssh command line that runs this on a host."""
    ssh = policy.host(name).ssh
    options = {
        "BatchMode": "yes",
        "StrictHostKeyChecking": "yes",
        "ControlMaster": "no",
        "ControlPath": "none",
        "ConnectTimeout": str(_CONNECT_S),
        "ServerAliveInterval": str(_ALIVE_S),
        "ServerAliveCountMax": str(_MISSED),
        "ForwardAgent": "no",
        "ForwardX11": "no",
        "ClearAllForwardings": "yes",
        "RequestTTY": "no",
        "LogLevel": "ERROR",
    }
    arguments = ["ssh", "-F", policy.ssh_config] if policy.ssh_config else ["ssh"]
    arguments += [argument for option, value in options.items() for argument in ("-o", f"{option}={value}")]
    sudo = ["sudo", "-n"] if ssh.sudo else []
    return [*arguments, "-l", ssh.user, "-p", str(ssh.port), "--", ssh.address, *sudo, *command]


class Channel:
    """The session with one endpoint."""

    def __init__(self, name: str, talk: Talk, messages: Path, ends: str) -> None:
        self.name = name
        self._ends = ends
        self._talk = talk
        self._messages = messages
        self._bytes = b""
        self._frames: deque[tuple[str, bytes]] = deque()
        self._ended = False
        self.heard_at = time.monotonic()

    @classmethod
    def open(cls, policy: Policy, name: str, folder: Path) -> Channel:
        """Begin a session with a host; its replies come later."""
        messages = folder / f"ssh-{name}.txt"
        talk = start_talk(ssh_command(policy, name, AGENT_ON_HOST, "endpoint"), messages)
        return cls(name, talk, messages, policy.ends_within)

    def fileno(self) -> int:
        """The descriptor to wait on."""
        return self._talk.fileno()

    def send(self, command: str, body: bytes = b"") -> None:
        """Send a command to the agent there."""
        try:
            self._talk.say(command.encode() + b"\n" + body)
        except OSError:
            raise self.lost() from None

    def receive(self) -> bool:
        """Read what has arrived; False at the end of the session."""
        while not self._ended:
            came = self._talk.hear()
            if came == b"":
                return True
            if came is None:
                self._ended = True
                break
            self.heard_at = time.monotonic()
            self._bytes += came
            self._split()
        return False

    def frames(self) -> Iterator[tuple[str, bytes]]:
        """The frames that have arrived, each once."""
        while self._frames:
            yield self._frames.popleft()

    def wait_for(self, kind: str, longest_s: float, attempting: str) -> bytes:
        """The next frame of this kind; BackendError if the agent reports a failure, or no frame arrives."""
        until = time.monotonic() + longest_s
        while True:
            for found, payload in self.frames():
                if found == kind:
                    return payload
                if found == "STAT":
                    raise failure(self.name, payload)
            if self._ended:
                raise self.lost(attempting)
            if time.monotonic() > until:
                what = f"no response within {longest_s:g} s"
                raise BackendError(attempting, self.name, what, "check the network to it")
            if self.receive() and not self._frames:
                select.select([self], [], [], _LOOK_AROUND_S)

    def lost(self, attempting: str = "talking to the agent on") -> BackendError:
        """The error of a session that ended by itself."""
        printed = [line for line in self._messages.read_text(errors="replace").splitlines() if line.strip()]
        last = printed[-1].strip()[:_LONGEST_TEXT] if printed else "the connection was closed"
        last = "".join(letter if letter.isprintable() else "?" for letter in last).removeprefix("longhaul: ")
        hint = "" if printed and "longhaul:" in printed[-1] else f"see `longhaul hosts check`; {self._ends}"
        return BackendError(attempting, self.name, last, hint)

    def close(self) -> None:
        """End the session, and with it all work of the endpoint."""
        self._talk.close()

    def _split(self) -> None:
        at = 0
        while at + _HEADER_BYTES <= len(self._bytes):
            length = int.from_bytes(self._bytes[at + 4 : at + _HEADER_BYTES], "little")
            if length > _LARGEST_FRAME:
                what = "its output is not in frames: its shell may print text at a login"
                raise BackendError("talking to the agent on", self.name, what, "let its shell print only to terminals")
            if at + _HEADER_BYTES + length > len(self._bytes):
                break
            begin = at + _HEADER_BYTES
            kind = self._bytes[at : at + 4].decode("ascii", "replace")
            self._frames.append((kind, self._bytes[begin : begin + length]))
            at = begin + length
        self._bytes = self._bytes[at:]


def read_json(name: str, payload: bytes) -> dict[str, Any]:
    """A document out of a frame."""
    try:
        found = json.loads(payload)
    except ValueError as error:
        raise BackendError("reading the message of", name, str(error), "deploy the agent of this version") from error
    return found if isinstance(found, dict) else {}


def failure(name: str, payload: bytes) -> BackendError:
    """The error that an endpoint's status reports."""
    status = read_json(name, payload)
    attempting, subject, what, hint = (str(status.get(part, "")) for part in ("attempting", "subject", "what", "hint"))
    return BackendError(attempting, f"{subject} on {name}" if subject != name else name, what, hint)

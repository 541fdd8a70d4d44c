"""The handshake with endpoints: a session needs an agent of this version, with the limits of the current policy."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path

from longhaul.orchestrator.backends.hosts.health import note_health
from longhaul.orchestrator.backends.hosts.ssh_channel import Channel, read_json
from longhaul.orchestrator.spec.host_policy import Policy, limits_of
from longhaul.orchestrator.system.errors import BackendError, BackendUnavailable

_HELLO_S = 30.0


def greet(channels: Mapping[str, Channel], policy: Policy, agent: Path, home: Path) -> None:
    """Wait for the greeting of every host; one error for all that are not as required, and a record of each."""
    expected_build = _build(agent)
    problems: list[BackendError] = []
    for name, channel in channels.items():
        try:
            _check(channel, policy, expected_build)
        except BackendError as error:
            problems.append(error)
            note_health(home, name, ok=False, kernel=None, found=[str(error)])
    if len(problems) == 1:
        raise problems[0]
    if problems:
        what = "; ".join(f"{one.subject}: {one.what}" for one in problems)
        raise BackendError("reaching hosts", ", ".join(channels), what, problems[0].hint)


def _build(agent: Path) -> int:
    try:
        return zlib.crc32(agent.read_bytes())
    except FileNotFoundError:
        raise BackendUnavailable("hosts", [("the agent", "run `longhaul agent build`")]) from None


def _check(channel: Channel, policy: Policy, expected_build: int) -> None:
    name = channel.name
    greeting = read_json(name, channel.wait_for("HELO", _HELLO_S, "reaching host"))
    found_build = greeting.get("build")
    if found_build != expected_build:
        build = f"build {found_build:x}" if isinstance(found_build, int) else "which reports no build"
        what = f"the agent there ({greeting.get('agent')}, {build}) is not this version's ({expected_build:x})"
        raise BackendError("reaching host", name, what, "run `longhaul hosts deploy`")
    if read_json(name, str(greeting["limits"]).encode()) != limits_of(policy, name):
        what = "its limits are not those of the operator's policy"
        raise BackendError("reaching host", name, what, "run `longhaul hosts deploy`, which installs them there")

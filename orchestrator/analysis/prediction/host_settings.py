"""The settings of real hosts for a transfer: socket buffers from the window that its streams had, and the commands that make them so.

In a prediction's runs buffers never limit. A buffer of twice the largest window that a stream had in flight does not either: while a lost
packet is sent again, the receiver holds a window that waits for it and a window that follows.
"""

from __future__ import annotations

from longhaul.orchestrator.plan.tcp_settings import MOST_BUFFER_BYTES, Pipe
from longhaul.orchestrator.spec.congestion_controls import find_control
from longhaul.orchestrator.system.installation import KMOD
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import format_size

_WINDOWS = 2
_STEP_BYTES = 2**20
# Linux' own largest buffers; a transfer that needs less keeps them.
_LEAST_READ_BYTES, _LEAST_WRITE_BYTES = 6_291_456, 4_194_304
# What a connection begins with, as Linux has it.
_FIRST_READ_BYTES, _FIRST_WRITE_BYTES = 131_072, 16_384


@dataclass(frozen=True, slots=True)
class HostSettings:
    """The largest socket buffer of one stream, and the settings of both hosts in the order in which they are made."""

    buffer_bytes: int
    sysctls: dict[str, str]
    commands: tuple[str, ...]


def settings_for(control: str, streams: int, inflight_packets: int, mtu: int, size_bytes: int) -> HostSettings:
    """The settings for streams that had so many packets in flight."""
    needed = _WINDOWS * inflight_packets * Pipe(0, mtu).skb_bytes
    whole = -(-needed // _STEP_BYTES) * _STEP_BYTES
    read = min(MOST_BUFFER_BYTES, max(_LEAST_READ_BYTES, whole))
    write = min(MOST_BUFFER_BYTES, max(_LEAST_WRITE_BYTES, whole))
    sysctls = {
        "net.core.rmem_max": str(read),
        "net.core.wmem_max": str(write),
        "net.ipv4.tcp_rmem": f"4096 {_FIRST_READ_BYTES} {read}",
        "net.ipv4.tcp_wmem": f"4096 {_FIRST_WRITE_BYTES} {write}",
        "net.ipv4.tcp_congestion_control": control,
    }
    commands = [
        *_module(control),
        *(
            f'sysctl -w {name}="{value}"' if " " in value else f"sysctl -w {name}={value}"
            for name, value in sysctls.items()
        ),
        _transfer(streams, size_bytes),
    ]
    return HostSettings(max(read, write), sysctls, tuple(commands))


def _module(control: str) -> list[str]:
    found = find_control(control)
    if found.builtin:
        return []
    if (KMOD / f"tcp_{control}.c").is_file():
        return [f"longhaul hosts deploy  # on the controller: installs {found.module}, which Linux does not have"]
    return [f"modprobe {found.module}"]


def _transfer(streams: int, size_bytes: int) -> str:
    size = format_size(size_bytes)
    if streams == 1:
        return f"# then send {size} over one connection"
    return f"# then send {size} over {streams} connections at once, each taking the next part when it has sent its own"

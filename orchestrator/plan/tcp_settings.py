"""The TCP stack of the nodes, sized from the path: socket buffers that never limit, options of the experiment, the guest's RAM.

Everything is in terms of the pipe: the packets that the path and its queue contain together, at the largest rate, round trip and buffer of
the run.
"""

from __future__ import annotations

from collections.abc import Sequence

from longhaul.orchestrator.plan.qdiscs import SKB_BYTES
from longhaul.orchestrator.spec.fields import ACCURATE
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import parse_packets_or_size

# The kernel keeps socket buffers in an int, to which the last packet is added before the comparison: so 16 MB less.
MOST_BUFFER_BYTES = 2**31 - 2**24
# A program that waits to send is woken when no more of its buffer than this is in use.
WOKEN_SHARE = 2 / 3
# The largest window that TCP can offer.
LARGEST_WINDOW_BYTES = 65_535 << 14
_LEAST_WRITE_BYTES = 4_194_304
_LEAST_READ_BYTES = 6_291_456
# The kernel raises a smaller window to this.
_LEAST_WINDOW_BYTES = 1152

# How many pipes a connection may span from its oldest byte to its newest: a window overshoots to two of them, and a control that continues to
# send while a lost packet is lost again has been seen to span five (BBR, on a path with a short buffer).
_PIPES = 8

# What a sender has ready beyond its window, in full segments: it is woken to add more when half of it is left. Below the least, a single
# ACK could use up all of it; above the most, the cost of waking is negligible.
_LEAST_UNSENT_PACKETS = 48
_MOST_UNSENT_PACKETS = 384

# The kernel's account of socket buffers, in pages: 4 TB, which no guest has. It counts full packets where a sender's are one page of zeros,
# and under its "memory pressure" windows would shrink without a message.
_ACCOUNT_PAGES = 2**30

# A booted guest, one process with its sockets, a network namespace with its tables, and the second descriptor of a packet in flight.
_GUEST_BYTES = 96 * 2**20
_FLOW_BYTES = 320 * 1024
_NODE_BYTES = 512 * 1024
_TRANSIT_BYTES = 1024
# In the order in which the kernel has them.
_BUILT_IN = ("reno", "cubic")
# Headers, and the kernel's structure behind the content of a packet.
_PIECE_BYTES = 400
# A client and a server of iperf3, their libraries' own pages and a block each.
_PROGRAMS_BYTES = 8 * 2**20
_MEMORY_STEPS_MB = (
    128,
    192,
    256,
    384,
    512,
    768,
    1024,
    1536,
    2048,
    3072,
    4096,
    6144,
    8192,
    12288,
    16384,
    24576,
    32768,
    49152,
    65536,
)

Sysctls = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class HostOptions:
    """The differences between sender nodes, with the defaults; `rtt_us` None is the path's."""

    rtt_us: int | None = None
    sack: bool = True
    ecn: bool | str = False
    # Whether its packets leave as ECT(1).
    ect1: bool = False
    recovery: str = "rack"
    initial_window: int = 10
    # Whether its receivers wait for a second segment before they acknowledge.
    delayed_ack: bool = True
    # The congestion control of its programs, whose sockets the agent does not make; "": it has none.
    cc: str = ""


@dataclass(frozen=True, slots=True)
class Pipe:
    """The most that is in flight or waiting, in full frames."""

    packets: int
    mtu: int

    @property
    def skb_bytes(self) -> int:
        """The kernel's account of one of its packets."""
        return max(SKB_BYTES, self.mtu + SKB_BYTES - 1500)

    @property
    def datagram_bytes(self) -> int:
        """The memory of one of its packets of UDP, whose content the kernel holds in one piece of a power of two."""
        return max(self.skb_bytes, (1 << (self.mtu + _PIECE_BYTES - 1).bit_length()) + SKB_BYTES - 2048)

    @property
    def write_bytes(self) -> int:
        """
        Send buffer, from the start. The kernel's own tuning, to twice the window as it grows, ends where the product of window and
        packet overflows an int: the buffer then stays as small as it began.
        """
        return self._buffer_bytes(_LEAST_WRITE_BYTES)

    @property
    def read_bytes(self) -> int:
        """Receive buffer, from the start, with room for the part that is not advertised."""
        return self._buffer_bytes(_LEAST_READ_BYTES)

    def _buffer_bytes(self, least: int) -> int:
        return min(MOST_BUFFER_BYTES, max(least, _PIPES * self.packets * self.skb_bytes))

    def unsent_packets(self, tcp_flows: int) -> int:
        """What each sender may have ready beyond its window: its share of the pipe."""
        share = self.packets // max(tcp_flows, 1)
        return min(max(share, _LEAST_UNSENT_PACKETS), _MOST_UNSENT_PACKETS)

    def memory_mb(
        self,
        *,
        tcp_flows: int,
        flows: int,
        iperf3_flows: int,
        programs_bytes: int,
        nodes: int,
        bottlenecks: int,
        offered_packets: int,
    ) -> int:
        """RAM of a guest, in a few steps so that the runs of a sweep have the same. Unused pages cost nothing."""
        windows = 4 * bottlenecks * self.packets + tcp_flows * self.unsent_packets(tcp_flows)
        queued = min(tcp_flows * self.write_bytes, windows * self.skb_bytes)
        transit = 2 * bottlenecks * self.packets * _TRANSIT_BYTES
        # A sender of UDP does not heed the path. What fits it is counted already, as frames of the usual size.
        transit += max(offered_packets * self.datagram_bytes - self.packets * SKB_BYTES, 0)
        # What programs send lies in the memory of both ends, each byte of it.
        queued += self.write_bytes + self.read_bytes if programs_bytes else 0
        processes = programs_bytes + flows * _FLOW_BYTES + iperf3_flows * _PROGRAMS_BYTES + nodes * _NODE_BYTES
        need = _GUEST_BYTES + processes + (queued + transit) * 11 // 10
        return next((step for step in _MEMORY_STEPS_MB if step * 2**20 >= need), -(-need // 2**20))


def window_bytes(flow: str, written: str, segment: int) -> int:
    """A window of an experiment in bytes, for segments of this size; PlanError if no receiver can limit its sender to it."""
    window = parse_packets_or_size(written, segment)
    least = max(segment, _LEAST_WINDOW_BYTES)
    if window < least:
        what = f"{written} is {window} bytes, and the kernel limits no sender to less than {least}"
        raise PlanError("compiling", f"flows.{flow}.window", what, f"give it at least {-(-least // segment)} packets")
    # The kernel offers whole segments. A window between one and two segments would grow without a limit.
    return segment if segment < window < 2 * segment else window


def largest_window_bytes(mtu: int, mss_bytes: int) -> int:
    """What one connection can always have in flight: TCP's largest window, or the full packets of this size that fit a send buffer that is refilled in time."""
    return min(LARGEST_WINDOW_BYTES, int(WOKEN_SHARE * MOST_BUFFER_BYTES) // Pipe(0, mtu).skb_bytes * mss_bytes)


def kernel_sysctls(controls: Sequence[str] = ()) -> Sysctls:
    """Settings that a kernel has only once: no account of all its sockets limits one of them.

    `controls` are those that hosts give to their programs, in the order in which their modules are loaded: a host's default is one
    that the kernel allows to everyone.
    """
    pages = f"{_ACCOUNT_PAGES} {_ACCOUNT_PAGES} {_ACCOUNT_PAGES}"
    allowed = " ".join(dict.fromkeys([*_BUILT_IN, *controls]))
    return (
        ("net/ipv4/tcp_mem", pages),
        ("net/ipv4/udp_mem", pages),
        *((("net/ipv4/tcp_allowed_congestion_control", allowed),) if controls else ()),
    )


def router_sysctls() -> Sysctls:
    """A host that forwards packets, and sends no redirects."""
    return (
        ("net/ipv4/ip_forward", "1"),
        ("net/ipv4/conf/all/send_redirects", "0"),
        ("net/ipv4/conf/all/rp_filter", "0"),
    )


def end_sysctls(pipe: Pipe, options: HostOptions | None, tcp_flows: int, *, accurate: bool) -> Sysctls:
    """An end host; the receiver has no options: it accepts those of the sender. `accurate`: some host asks for accurate ECN."""
    ecn = _ecn(options, accurate=accurate)
    return (
        ("net/ipv4/tcp_no_metrics_save", "1"),
        # 2: timestamps begin at the same number at both ends. With random beginnings (1) TCP-LP's one-way delay overflows.
        ("net/ipv4/tcp_timestamps", "2"),
        ("net/ipv4/tcp_window_scaling", "1"),
        ("net/ipv4/tcp_moderate_rcvbuf", "1"),
        ("net/ipv4/tcp_slow_start_after_idle", "1"),
        ("net/ipv4/tcp_sack", "1" if options is None or options.sack else "0"),
        ("net/ipv4/tcp_ecn", ecn),
        ("net/ipv4/tcp_recovery", "1" if options is None or options.recovery == "rack" else "0"),
        # The receive buffer starts at its largest: a window that has to be tuned up would hold back slow start.
        ("net/ipv4/tcp_rmem", f"4096 {pipe.read_bytes} {pipe.read_bytes}"),
        # The send buffer too; data that is not sent yet has its own limit.
        ("net/ipv4/tcp_wmem", f"4096 {pipe.write_bytes} {pipe.write_bytes}"),
        ("net/ipv4/tcp_notsent_lowat", f"{pipe.unsent_packets(tcp_flows) * pipe.mtu}"),
        *((("net/ipv4/tcp_congestion_control", options.cc),) if options is not None and options.cc else ()),
    )


def _ecn(options: HostOptions | None, *, accurate: bool) -> str:
    """The value of tcp_ecn: asks for ECN (1) or accurate ECN (3), asks for none (0), or accepts either (2, 5)."""
    if options is None:
        return "5" if accurate else "2"
    return "3" if options.ecn == ACCURATE else "1" if options.ecn else "0"

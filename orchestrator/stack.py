"""The TCP stack of the nodes, sized from the path: socket buffers that never limit, options a study asks for, the guest's RAM.

Everything is in terms of the pipe: what the path and its queue hold together, at the largest rate, round trip and buffer of
the run. A window overshoots to twice that before the sender learns of a loss.
"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.qdiscs import SKB_BYTES

# The kernel's limits of a socket buffer, and its own floors.
_INT_MAX = 2**31 - 1
_LEAST_WRITE_BYTES = 4_194_304
_LEAST_READ_BYTES = 6_291_456
_PAGE_BYTES = 4096

# A booted guest, one process with its sockets, a network namespace with its tables, and the second descriptor of a packet on its way.
_GUEST_BYTES = 96 * 2**20
_FLOW_BYTES = 320 * 1024
_NODE_BYTES = 512 * 1024
_TRANSIT_BYTES = 1024
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
    """What distinguishes one sender node from another, as it is where a flow asks for nothing; `rtt_us` None is the path's."""

    rtt_us: int | None = None
    sack: bool = True
    ecn: bool = False
    recovery: str = "rack"
    initial_window: int = 10
    # Whether its receivers wait for a second segment before they acknowledge.
    delayed_ack: bool = True


@dataclass(frozen=True, slots=True)
class Pipe:
    """The most that is on the way or waiting, in full frames."""

    packets: int
    mtu: int

    @property
    def skb_bytes(self) -> int:
        """What the kernel books for one of its packets."""
        return max(SKB_BYTES, self.mtu + SKB_BYTES - 1500)

    @property
    def write_bytes(self) -> int:
        """Largest send buffer: the overshooting window and half of it again that is not sent yet."""
        return min(_INT_MAX, max(_LEAST_WRITE_BYTES, 3 * self.packets * self.skb_bytes))

    @property
    def read_bytes(self) -> int:
        """Largest receive buffer: the overshooting window, out of order, with room for the part that is not advertised."""
        return min(_INT_MAX, max(_LEAST_READ_BYTES, 5 * self.packets * self.skb_bytes))

    def memory_mb(self, *, tcp_flows: int, flows: int, iperf3_flows: int, nodes: int, bottlenecks: int) -> int:
        """RAM of a guest, in a few steps so that runs of a sweep look alike. Pages that are not used cost nothing."""
        queued = min(tcp_flows * self.write_bytes, 4 * bottlenecks * self.packets * self.skb_bytes)
        transit = 2 * bottlenecks * self.packets * _TRANSIT_BYTES
        processes = flows * _FLOW_BYTES + iperf3_flows * _PROGRAMS_BYTES + nodes * _NODE_BYTES
        need = _GUEST_BYTES + processes + (queued + transit) * 11 // 10
        return next((step for step in _MEMORY_STEPS_MB if step * 2**20 >= need), -(-need // 2**20))


def kernel_sysctls(memory_mb: int) -> Sysctls:
    """Those that a kernel has only once: all its memory may be socket buffers."""
    pages = memory_mb * 2**20 // _PAGE_BYTES
    return (("net/ipv4/tcp_mem", f"{pages} {pages} {pages}"), ("net/ipv4/udp_mem", f"{pages} {pages} {pages}"))


def router_sysctls() -> Sysctls:
    """A host that passes packets on, and says nothing to those who send them."""
    return (
        ("net/ipv4/ip_forward", "1"),
        ("net/ipv4/conf/all/send_redirects", "0"),
        ("net/ipv4/conf/all/rp_filter", "0"),
    )


def end_sysctls(pipe: Pipe, options: HostOptions | None) -> Sysctls:
    """An end host; the receiver has no options: it takes what the sender asks for."""
    ecn = "2" if options is None else "1" if options.ecn else "0"
    return (
        ("net/ipv4/tcp_no_metrics_save", "1"),
        ("net/ipv4/tcp_timestamps", "1"),
        ("net/ipv4/tcp_window_scaling", "1"),
        ("net/ipv4/tcp_moderate_rcvbuf", "1"),
        ("net/ipv4/tcp_slow_start_after_idle", "1"),
        ("net/ipv4/tcp_sack", "1" if options is None or options.sack else "0"),
        ("net/ipv4/tcp_ecn", ecn),
        ("net/ipv4/tcp_recovery", "1" if options is None or options.recovery == "rack" else "0"),
        # The receive buffer starts at its largest: a window that has to be tuned up would hold back slow start.
        ("net/ipv4/tcp_rmem", f"4096 {pipe.read_bytes} {pipe.read_bytes}"),
        ("net/ipv4/tcp_wmem", f"4096 131072 {pipe.write_bytes}"),
    )

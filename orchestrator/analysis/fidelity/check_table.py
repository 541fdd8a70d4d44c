"""The fidelity checks and what each requires: `longhaul explain CHECK`, and the table of docs/fidelity.md."""

from __future__ import annotations

from collections.abc import Mapping

CHECKS: Mapping[str, str] = {
    "trace complete": "the trace has as many records as the kernel reports written, and the last event is the end of the run",
    "cpu budget": "in real time: this machine kept up with the packets, by the limits of docs/fidelity.md",
    "flow": "no flow had an error; a flow without a response is listed",
    "congestion control in use": "each socket's algorithm, read back from the socket at its start, at each switch and at its end, is the requested one; a DCTCP connection whose first SYN was lost no longer asks for ECN, and may be the kernel's dctcp-reno",
    "ECN as asked": "a connection uses ECN exactly where its sender's host asks for it; listed only where it does not",
    "scheduled changes": "each change happened at its time, or belonged to a flow that had ended by then",
    "sysctls": "each reads back as it was set",
    "devices as asked": "the MTU and every option of every queueing discipline, read back at the end, are those of the plan",
    "no frame above the MTU": "the largest frame that the bottleneck sent or dropped; segmentation offloads read back as off on every device; no more segments sent than frames",
    "bottleneck rate": "on each followed link, over the longest stretch with a queue: never more than 0.2 % and one nanosecond per packet above the configured rate; nor as far below it, if at each tick more bytes waited than the line sends in one tick",
    "recorded line": "on a recorded link: the kernel's line could carry exactly the bytes of the recording; in each interval of 10 ms or more no more left than it could carry, and no less while packets waited, to one frame",
    "policer": "on a policed link: each packet that came passed or was dropped as a token bucket of the policer's rate and burst decides, computed again from the packets in the trace; and the kernel counted as many packets and bytes of both",
    "base RTT": "no round trip is below the path's; nor above it, for a connection that met no queue at its start; tolerance max(0.1 %, 20 us), plus two frames for the upper side",
    "air time": "on a shared 802.11 channel: its exchanges equal its transmitters' frames, its busy time equals their exchanges and collisions, and these equal the values computed from their packets and bytes; on one of 802.11n, from their symbols, ACKs and BlockAcks (docs/wireless.md)",
    "queue limit": "never more waiting than the buffer holds, in packets or bytes; with CAKE, in memory (docs/fidelity.md)",
    "random loss": "within 6.2 standard deviations of its binomial mean (and 20 packets, for small counts)",
    "conservation": "at the bridge: packets in = out + dropped + waiting, all counters read at one instant of virtual time; on its wires from other guests, packets sent = arrived + on the way; with `corrupt`, up to the number of corrupted frames may be missing",
    "no drop elsewhere": "devices, sockets and IP dropped no packet, except up to the number of corrupted frames: a bit that flips in a header makes a host or a bridge refuse the frame; queues drop only where the experiment allows it",
    "window": "a capped window reads back as set, and equals the window that the sender was offered at the end, in whole segments; never more bytes than that were acknowledged within one round trip",
    "two queues": "on a link with dualpi2: what the kernel counted into the Classic and the L4S queue left that queue, was dropped or still waits; and the marks that it counted are those of the trace, where no other queue marks",
    "ECT as asked": "at a link with dualpi2: a flow with `ect: 1` has no packet with ECT(0), and each packet of a UDP flow has the requested codepoint or is marked",
    "marks": "for a TCP flow through dualpi2: its receiver saw the marks that left the queue, except for those on the way at the end; with accurate ECN its sender heard of those, except for those of the last round trip",
    "iperf3 agrees": "for a flow of iperf3: its JSON has the requested blocks and congestion control (of both ends); the bytes that it reports as sent are exactly those that its socket took; the bytes that it reports as received are those that arrived, except for those in flight when its client ended; it counted as many retransmitted segments as the kernel (for a size, no more)",
    "bytes of programs": "for a flow with a `command`: at its receiver no more data arrived than its sender sent; its text has the connections, the bytes in both directions, and that computing took no virtual time",
    "bytes of streams": "for a [transfer over several streams](traffic.md#parallel-streams): no stream received more bytes than were sent, exactly as many where it has ended; together they sent the size where the transfer is complete, and never more",
    "requests of both ends": "for a flow of [requests](traffic.md#requests-and-responses): client, server and trace count the same requests, at most one of which is under way; the bytes of the responses are those of their number",
    "rounds of a barrier": "for `requests` with a [barrier](traffic.md#barriers): client and trace count the same rounds; each has one response of every connection, begins with its first request and ends with its last response; none begins before the one before has ended",
    "DSCP as asked": "for a flow with a `dscp`: the sockets of its sender and its receiver read back as having it, at the end of each connection or of the run",
    "not limited by buffers": "by the kernel's clocks and by the trace, a sender waits for its send buffer or its receiver's window during at most 1 % of its time. Not counted are: the beginning, because the first window is 64 KB and a receiver opens it by two bytes for each that arrives; TCP's largest window, 1 GiB, and its largest send buffer, of which `longhaul plan` prints a note; and a sender in recovery that has half its buffers or more behind a packet that was lost again and again: they hold eight times what the path and its queue do",
    "limits have names": "for all but at most 2 % of its time, a sender is at its congestion window, at its receiver's window, paced, or without data. Any other limit has no name, and the run has no result. Not checked for web users, hosts whose own interface is wireless, and runs in real time",
}

# On real hosts.
HOST_CHECKS: Mapping[str, str] = {
    "host kept up": "the host had processor time to spare and lost no packet of the run in its own queues",
    "within its cap": "the host sent no more than the rate that its operator allows",
    "clocks": "the host's clock and the controller's drifted apart by less than the bound in the message",
    "emulated path": "the fastest probe took the round trip that was requested: the traffic passes through the middle box",
}

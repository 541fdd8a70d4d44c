"""The air time of 802.11 as arithmetic: the result that `kmod/sch_lh_dcf.c` must have, and what an experiment may expect of a channel.

IEEE 802.11-1999 clause 9.2 (DCF) and clause 15 (DSSS, long preamble), without propagation delay; times in microseconds:

    frame(n, rate) = 192 + ceil(8 n / rate)                       PLCP preamble and header, then n bytes (15.2.3.5)
    exchange(n)    = [frame(20, basic) + SIFS + frame(14, basic) + SIFS +] frame(n + overhead, rate) + SIFS + frame(14, basic)
    collision(n)   = frame(20, basic) with RTS, else frame(n + overhead, rate), + SIFS + frame(14, basic)
    backoff        = slots from 0 to CW, each as likely, of 20 us; CW is 31, 63, ..., 1023 after 0, 1, ... collisions

n counts bytes of an IP packet. One packet alone takes DIFS + backoff + exchange.

A lone TCP flow has two transmitters, the data's and the acknowledgements'. The data's always has a frame waiting, so every idle
slot counts its backoff down, and the acknowledgements' slots are among them. With one acknowledgement for k packets, which
meets a frame of data with the chance c = 1 / (1 + mean backoff in slots) that one begins in its slot:

    time of k packets = k (DIFS + backoff(31) + exchange(data)) + DIFS + exchange(ack) + c (DIFS + collision(data) + backoff(63))

Where a window of one packet leaves no contention, each of the two waits for its own backoff: `alternating_bps`.

`saturation` is Bianchi's model (IEEE JSAC 18(3), 2000) of n transmitters that always have a frame, with the retry limit (Wu et
al., INFOCOM 2002): tau the chance to transmit in a slot, p that of a transmission to collide.
"""

from __future__ import annotations

from fractions import Fraction

from longhaul.orchestrator.system.lazy_dataclasses import dataclass

SLOT_US, SIFS_US, DIFS_US = 20, 10, 50
PLCP_US = 192
RTS_BYTES, CTS_BYTES, ACK_BYTES = 20, 14, 14
CW_MIN, CW_MAX = 31, 1023
ATTEMPTS = 7
# MAC header and FCS of a data frame.
OVERHEAD_BYTES = 28

_BISECTIONS = 60


@dataclass(frozen=True, slots=True)
class Channel:
    """The parameters that determine the times."""

    rate_bps: int
    basic_rate_bps: int
    rts: bool
    overhead_bytes: int = OVERHEAD_BYTES

    def exchange_us(self, packet_bytes: int) -> int:
        """From the first bit of an RTS or frame to the last of its ACK."""
        return self.arrival_us(packet_bytes) + SIFS_US + self._control_us(ACK_BYTES)

    def arrival_us(self, packet_bytes: int) -> int:
        """From the first bit of an RTS or frame to the last of the data, when the packet arrives."""
        before_us = self._control_us(RTS_BYTES) + self._control_us(CTS_BYTES) + 2 * SIFS_US if self.rts else 0
        return before_us + frame_us(packet_bytes + self.overhead_bytes, self.rate_bps)

    def collision_us(self, packet_bytes: int) -> int:
        """The time lost by a collision whose longest packet this is."""
        lost_us = (
            self._control_us(RTS_BYTES) if self.rts else frame_us(packet_bytes + self.overhead_bytes, self.rate_bps)
        )
        return lost_us + SIFS_US + self._control_us(ACK_BYTES)

    def lone_flow_bps(self, payload_bytes: int, header_bytes: int, packets_per_ack: int = 1) -> Fraction:
        """Goodput of a TCP flow that has the channel to itself and always has a packet to send."""
        packet_bytes = payload_bytes + header_bytes
        data_us = DIFS_US + mean_backoff_us() + self.exchange_us(packet_bytes)
        ack_us = DIFS_US + self.exchange_us(header_bytes)
        met = 1 / (1 + Fraction(CW_MIN, 2))
        lost_us = met * (DIFS_US + self.collision_us(packet_bytes) + mean_backoff_us(1))
        return payload_bytes * 8_000_000 * packets_per_ack / (packets_per_ack * data_us + ack_us + lost_us)

    def alternating_bps(self, payload_bytes: int, header_bytes: int) -> Fraction:
        """Goodput of a TCP flow that has the channel to itself and waits for each acknowledgement."""
        both_us = self.exchange_us(payload_bytes + header_bytes) + self.exchange_us(header_bytes)
        return payload_bytes * 8_000_000 / (both_us + 2 * (DIFS_US + mean_backoff_us()))

    def saturation(self, transmitters: int, packet_bytes: int) -> Saturation:
        """The result of transmitters of equal packets that always have one."""
        exchange_us, collision_us = self.exchange_us(packet_bytes), self.collision_us(packet_bytes)
        return saturate(transmitters, SLOT_US, DIFS_US + exchange_us, DIFS_US + collision_us)

    def _control_us(self, frame_bytes: int) -> int:
        return frame_us(frame_bytes, self.basic_rate_bps)


@dataclass(frozen=True, slots=True)
class Saturation:
    """`collided` is the share of transmissions that collide; packets are those of all transmitters."""

    collided: float
    packets_per_s: float


def saturate(transmitters: int, slot_us: int, exchange_us: int, collision_us: int, cw_min: int = CW_MIN) -> Saturation:
    """Bianchi's model of transmitters whose exchanges and collisions, each with its DIFS, take these times."""
    tau, collided = _fixed_point(transmitters, cw_min)
    idle = (1 - tau) ** transmitters
    one = transmitters * tau * (1 - tau) ** (transmitters - 1)
    mean_us = idle * slot_us + one * exchange_us + (1 - idle - one) * collision_us
    return Saturation(collided, one * 1e6 / mean_us)


def frame_us(frame_bytes: int, rate_bps: int) -> int:
    """A frame in the air, in the whole microseconds that the PLCP's LENGTH field counts."""
    return PLCP_US + -(-frame_bytes * 8_000_000 // rate_bps)


def window(attempt: int, cw_min: int = CW_MIN) -> int:
    """CW of an attempt, the first being 0."""
    return min((cw_min + 1 << attempt) - 1, CW_MAX)


def mean_backoff_us(attempt: int = 0) -> Fraction:
    """Of one attempt."""
    return Fraction(window(attempt) * SLOT_US, 2)


def _fixed_point(transmitters: int, cw_min: int) -> tuple[float, float]:
    """tau and p: the first falls and the second grows with the other."""
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        collided = (low + high) / 2
        if 1 - (1 - _tau(collided, cw_min)) ** (transmitters - 1) > collided:
            low = collided
        else:
            high = collided
    return _tau(low, cw_min), low


def _tau(collided: float, cw_min: int) -> float:
    """Attempts over slots, of one frame: an attempt has a mean of CW / 2 slots of backoff and its own."""
    reached = [collided**attempt for attempt in range(ATTEMPTS)]
    return sum(reached) / sum(share * (window(attempt, cw_min) / 2 + 1) for attempt, share in enumerate(reached))

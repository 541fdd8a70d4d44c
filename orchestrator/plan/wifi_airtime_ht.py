"""The air time of 802.11n as arithmetic: `kmod/dcf_air.h` in Python, beside that of the DSSS PHY in wifi_airtime.py.

IEEE 802.11-2012 clause 20 (HT-mixed format, long guard interval) and clause 18 (control frames), in the 5 GHz band; times in microseconds:

    bits per symbol = 4 us of the rate, a whole number: rates are multiples of 250 kbit/s, up to 540 Mbit/s
    data(n)         = 32 + 4 fields + 4 ceil((16 + 8 n + 6 encoders) / bits)     1, 2, 4, 4 fields for 1 to 4 streams of up to 135 Mbit/s,
                                                                                 an encoder for each 300 Mbit/s
    control(n)      = 20 + 4 ceil((16 + 8 n + 6) / 96)                           at 24 Mbit/s
    exchange        = [control(20) + SIFS + control(14) + SIFS +] data(n) + SIFS + control(14, or 32 for a BlockAck)
    collision       = control(20) with RTS, else the longest data(n), + SIFS + control(14)
    backoff         = slots from 0 to CW, each as likely, of 9 us; CW is 15, 31, ..., 1023

n is a frame, its packet and 38 bytes, or an aggregate: each frame behind a delimiter of 4 bytes and, but for the last, padded to a multiple
of 4. An aggregate takes frames up to its number, 65535 bytes and 5.484 ms of data(n); a frame alone is sent as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

from longhaul.orchestrator.plan.wifi_airtime import (
    ACK_BYTES,
    CTS_BYTES,
    RTS_BYTES,
    Saturation,
    saturate,
    window,
)
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

SLOT_US, SIFS_US, DIFS_US = 9, 16, 34
CW_MIN = 15
CONTROL_RATE_BPS = 24_000_000
SYMBOL_US, SYMBOLS_PER_S = 4, 250_000
LEGACY_PREAMBLE_US, HT_PREAMBLE_US = 20, 32
SERVICE_BITS, TAIL_BITS = 16, 6
STREAM_BPS, ENCODER_BPS, MOST_STREAMS = 135_000_000, 300_000_000, 4
_TRAINING_FIELDS = (1, 2, 4, 4)
BLOCK_ACK_BYTES, DELIMITER_BYTES = 32, 4
# Further collisions of one burst of acknowledgements are too rare to change a mean.
_COLLISIONS = 2
# The limits of a subframe, of an aggregate and of its time; the window of a BlockAck.
MPDU_BYTES, PSDU_BYTES, PPDU_US, WINDOW = 4095, 65535, 5484, 64
# QoS header 26, LLC and SNAP 8, FCS 4; an MSDU has 2304 bytes with LLC and SNAP.
HT_OVERHEAD_BYTES = 38
LARGEST_PACKET_BYTES = 2304 - 8


@dataclass(frozen=True, slots=True)
class Burst:
    """The frames of one transmission: their number, and the bytes that the PHY sends for them."""

    count: int
    psdu_bytes: int


@dataclass(frozen=True, slots=True)
class HtChannel:
    """The parameters that determine the times; `aggregate` is the most frames of a transmission."""

    rate_bps: int
    aggregate: int = 1
    rts: bool = False
    basic_rate_bps: int = CONTROL_RATE_BPS
    overhead_bytes: int = HT_OVERHEAD_BYTES

    def burst(self, packets: Sequence[int]) -> Burst:
        """What is sent of these packets for one receiver, by their bytes; the first always is."""
        frames = [packet + self.overhead_bytes for packet in packets]
        burst = Burst(1, frames[0])
        for frame in frames[1 : self.aggregate]:
            before = burst.psdu_bytes + (DELIMITER_BYTES if burst.count == 1 else 0)
            padded = -(-before // DELIMITER_BYTES) * DELIMITER_BYTES
            longer = Burst(burst.count + 1, padded + DELIMITER_BYTES + frame)
            too_long = longer.psdu_bytes > PSDU_BYTES or self.data_us(longer.psdu_bytes) > PPDU_US
            if too_long or max(frames[0], frame) > MPDU_BYTES:
                break
            burst = longer
        return burst

    def full_burst(self, packet_bytes: int) -> Burst:
        """The largest of equal packets."""
        return self.burst([packet_bytes] * WINDOW)

    def data_us(self, psdu_bytes: int) -> int:
        """From the first bit of the preamble to the last of the data."""
        return self.preamble_us() + SYMBOL_US * self.symbols(psdu_bytes)

    def preamble_us(self) -> int:
        """With the training fields of its streams."""
        streams = -(-self.rate_bps // STREAM_BPS)
        return HT_PREAMBLE_US + SYMBOL_US * _TRAINING_FIELDS[streams - 1]

    def symbols(self, psdu_bytes: int) -> int:
        """Of the data."""
        return _symbols(psdu_bytes, self.rate_bps, self.encoders())

    def encoders(self) -> int:
        """Each has a tail of its own."""
        return -(-self.rate_bps // ENCODER_BPS)

    def before_us(self) -> int:
        """RTS and CTS, if they are used."""
        return self._control_us(RTS_BYTES) + self._control_us(CTS_BYTES) + 2 * SIFS_US if self.rts else 0

    def answer_us(self, count: int) -> int:
        """The ACK of a frame or the BlockAck of several, with the SIFS before it."""
        return SIFS_US + self._control_us(BLOCK_ACK_BYTES if count > 1 else ACK_BYTES)

    def exchange_us(self, burst: Burst) -> int:
        """From the first bit of an RTS or of data to the last of the answer."""
        return self.before_us() + self.data_us(burst.psdu_bytes) + self.answer_us(burst.count)

    def collision_us(self, psdu_bytes: int) -> int:
        """The time lost by a collision whose longest data this is."""
        return (self._control_us(RTS_BYTES) if self.rts else self.data_us(psdu_bytes)) + self.answer_us(1)

    def saturation(self, transmitters: int, packet_bytes: int) -> Saturation:
        """The result of transmitters that always have a full burst of equal packets."""
        burst = self.full_burst(packet_bytes)
        times_us = DIFS_US + self.exchange_us(burst), DIFS_US + self.collision_us(burst.psdu_bytes)
        saturated = saturate(transmitters, SLOT_US, *times_us, CW_MIN)
        return Saturation(saturated.collided, burst.count * saturated.packets_per_s)

    def lone_flow_bps(self, payload_bytes: int, header_bytes: int, packets_per_ack: int = 2) -> float:
        """Goodput of a TCP flow that has the channel to itself and always has a full burst to send.

        The acknowledgements of a burst come together, with its end, and contend then with the next one: see `_contend`. Without aggregates
        they come one by one, as on the channel of wifi_airtime.py.
        """
        burst = self.full_burst(payload_bytes + header_bytes)
        collision_us = DIFS_US + self.collision_us(burst.psdu_bytes)
        if burst.count == 1:
            data_us = DIFS_US + mean_backoff_us() + self.exchange_us(burst)
            ack_us = DIFS_US + self.exchange_us(self.burst([header_bytes]))
            lost_us = (collision_us + mean_backoff_us(1)) / (1 + Fraction(CW_MIN, 2))
            return float(payload_bytes * 8_000_000 * packets_per_ack / (packets_per_ack * data_us + ack_us + lost_us))
        contest = _contend()
        acks = max(1, round(contest.data * burst.count / packets_per_ack))
        cycle_us = (
            contest.data * (DIFS_US + self.exchange_us(burst))
            + (DIFS_US + self.exchange_us(self.burst([header_bytes] * acks)))
            + contest.collisions * collision_us
            + contest.slots * SLOT_US
        )
        return contest.data * burst.count * payload_bytes * 8e6 / cycle_us

    def _control_us(self, frame_bytes: int) -> int:
        return LEGACY_PREAMBLE_US + SYMBOL_US * _symbols(frame_bytes, self.basic_rate_bps, 1)


def mean_backoff_us(attempt: int = 0) -> Fraction:
    """Of one attempt."""
    return Fraction(window(attempt, CW_MIN) * SLOT_US, 2)


def _symbols(frame_bytes: int, rate_bps: int, encoders: int) -> int:
    bits = SERVICE_BITS + 8 * frame_bytes + TAIL_BITS * encoders
    return -(-bits // (rate_bps // SYMBOLS_PER_S))


@dataclass(frozen=True, slots=True)
class _Contest:
    """What happens on average until acknowledgements that came with a burst, and the next burst after them, are sent."""

    data: float = 0.0
    collisions: float = 0.0
    slots: float = 0.0

    def after(self, slots: int, data: int = 0, collisions: int = 0) -> _Contest:
        return _Contest(self.data + data, self.collisions + collisions, self.slots + slots)

    @staticmethod
    def mean(cases: Sequence[_Contest], count: int) -> _Contest:
        data, collisions, slots = (
            sum(getattr(one, name) for one in cases) / count for name in ("data", "collisions", "slots")
        )
        return _Contest(data, collisions, slots)


_DATA = _Contest(data=1)


@cache
def _contend() -> _Contest:
    """Data and acknowledgements each draw a backoff as a burst ends; the data draws again after each burst."""
    return _Contest.mean([_wait(backoff) for backoff in range(CW_MIN + 1)], CW_MIN + 1)


@cache
def _wait(left: int, cw: int = CW_MIN, collisions: int = 0) -> _Contest:
    """With so many slots left of the acknowledgements' backoff, and a new one of the data from 0 to CW."""
    cases = []
    again = 0
    for data in range(cw + 1):
        if data == 0 < left and cw == CW_MIN:
            # The same question again, after one more burst.
            again = 1
            cases.append(_DATA)
        elif data < left:
            cases.append(_wait(left - data, CW_MIN, collisions).after(data, data=1))
        elif data > left or collisions == _COLLISIONS:
            cases.append(_DATA.after(data))
        else:
            wider = window(collisions + 1, CW_MIN)
            both = [_wait(backoff, wider, collisions + 1) for backoff in range(wider + 1)]
            cases.append(_Contest.mean(both, len(both)).after(data, collisions=1))
    return _Contest.mean(cases, len(cases) - again)

"""Generators of recordings from published models, so that an experiment needs no measured data.

    generate("lte", 600, seed=1, parameters={"speed_kmh": 30})   a cellular downlink: opportunities in mahimahi's format
    generate("leo", 600, seed=1, parameters={})                  a low satellite: a table of time, rate, delay and loss

The same seed and parameters give the same text, as long as numpy draws the same numbers (releases may differ: NEP 19),
and a shorter recording is the beginning of a longer one, up to its last line. The text comes in pieces of some seconds,
so that an hour takes no memory. Unknown names, and values outside of the range of a parameter, raise PlanError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, fields
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from longhaul.orchestrator.recorded_links.chunks import LARGEST_RATE_BPS, OPPORTUNITY_BYTES
from longhaul.orchestrator.system.errors import PlanError, allowed_instead
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

Floats = npt.NDArray[np.float64]

_SHORTEST_S, _LONGEST_S = 1, 7 * 24 * 3600
_LIGHT_KM_PER_MS = 299.792458


def _parameter(default: float, least: float, highest: float, about: str) -> Any:
    """A field of a generator's parameters; its metadata has the range and the purpose."""
    return field(default=default, metadata={"least": least, "highest": highest, "about": about})


def _refusal(name: str, parameter: str, read: object, allowed: str) -> PlanError:
    return PlanError("generating a recording", name, f"{parameter} is {read}; allowed: {allowed}")


def _check_ranges(name: str, parameters: Lte | Leo) -> None:
    for one in fields(parameters):
        value, least, highest = getattr(parameters, one.name), one.metadata["least"], one.metadata["highest"]
        # A comparison with a number that is none is false.
        if not isinstance(value, int | float) or not least <= value <= highest:
            raise _refusal(name, one.name, value, f"{least:g} to {highest:g} ({one.metadata['about']})")


# ---- lte: a cellular downlink

# 3GPP TS 36.101, table 5.6-1: MHz and the resource blocks in it.
_RESOURCE_BLOCKS = {1.4: 6, 3: 15, 5: 25, 10: 50, 15: 75, 20: 100}
# 3GPP TS 36.211, table 6.2.3-1: subcarriers of a resource block; symbols of a subframe of 1 ms (normal cyclic prefix).
_SUBCARRIERS, _SYMBOLS = 12, 14
# 3GPP TS 36.213, table 7.2.3-1: bit/s/Hz, which are bits in a resource element, of each CQI (channel quality
# indicator). CQI 0 is out of range.
_EFFICIENCY = np.array(
    [
        *(0, 0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766),
        *(1.9141, 2.4063, 2.7305, 3.3223, 3.9023, 4.5234, 5.1152, 5.5547),
    ]
)
_HIGHEST_CQI = len(_EFFICIENCY) - 1
# The SNRs in dB at which the CQIs lose 10 % of the blocks, for one antenna in white noise, lie nearly on a line:
# Mehlführer et al., "Simulating the Long Term Evolution physical layer", EUSIPCO 2009. Its ends are in whole dB here.
_CQI_1_DB, _CQI_15_DB = -6.0, 20.0
_DB_PER_CQI = (_CQI_15_DB - _CQI_1_DB) / (_HIGHEST_CQI - 1)

# Sinusoids in the sum for Rayleigh fading: with 32, the powers are exponential to within a few percent.
_SINUSOIDS = 32
_BLOCK_MS = 10_000
# Shadowing changes in steps this long: at 3 km/h, 0.02 % of its decorrelation distance.
_SHADOWING_STEP_MS = 10


@dataclass(frozen=True)
class Lte:
    """A cellular downlink.

    The defaults without a comment are those of 3GPP TR 36.814, tables A.2.1.1-1 and A.2.1.1-2 (case 1).
    """

    bandwidth_mhz: float = _parameter(10, 1.4, 20, "width of the carrier, MHz: 1.4, 3, 5, 10, 15 or 20")
    # Chosen: CQI 9 of 15, without shadowing and fading.
    snr_db: float = _parameter(10, -20, 40, "signal-to-noise ratio without shadowing, mean over the fading, dB")
    shadowing_db: float = _parameter(8, 0, 12, "standard deviation of the log-normal shadowing, dB")
    decorrelation_m: float = _parameter(50, 5, 500, "distance in which the shadowing's correlation falls to 1/e, m")
    speed_kmh: float = _parameter(3, 0.1, 350, "speed of the receiver, km/h")
    carrier_ghz: float = _parameter(2, 0.4, 4, "frequency of the carrier, GHz, which sets the Doppler shift")
    # Chosen: two receivers that share a cell equally.
    share: float = _parameter(0.5, 0.01, 1, "share of the cell's resource blocks that this receiver gets")
    # Two symbols of control and the reference signals of two antennas take 21 %, three symbols 29 % (3GPP TS 36.211,
    # sections 6.7 and 6.10.1).
    overhead: float = _parameter(0.25, 0, 0.5, "share of the resource elements with control and reference signals")

    def __post_init__(self) -> None:
        _check_ranges("lte", self)
        if self.bandwidth_mhz not in _RESOURCE_BLOCKS:
            allowed = ", ".join(f"{mhz:g}" for mhz in _RESOURCE_BLOCKS)
            raise _refusal("lte", "bandwidth_mhz", self.bandwidth_mhz, f"{allowed} (3GPP TS 36.101)")

    @property
    def elements_per_ms(self) -> float:
        """Resource elements with data for this receiver in each subframe."""
        elements = _RESOURCE_BLOCKS[self.bandwidth_mhz] * _SUBCARRIERS * _SYMBOLS
        return elements * (1 - self.overhead) * self.share

    @property
    def speed_m_per_ms(self) -> float:
        """Its speed in metres in a millisecond."""
        return self.speed_kmh / 3600

    @property
    def doppler_per_ms(self) -> float:
        """The largest Doppler shift, in periods in a millisecond."""
        wave_m = _LIGHT_KM_PER_MS / (self.carrier_ghz * 1000)
        return self.speed_m_per_ms / wave_m


def _generate_lte(lte: Lte, length_ms: int, draw: np.random.Generator) -> Iterator[str]:
    """The milliseconds of the opportunities.

    Each millisecond (a subframe of 3GPP TS 36.211) the base station sends with the CQI of that millisecond's SNR:
    reports are neither late nor wrong, and blocks are never repeated. The fading is the same at all frequencies of the
    carrier.
    """
    opportunity_bits = OPPORTUNITY_BYTES * 8
    fading, shadowing = _draw_fading(lte, draw), _draw_shadowing(lte, draw)
    rest_bits = 0.0
    held: list[int] = []
    for begin_ms in range(0, length_ms, _BLOCK_MS):
        snr_db = lte.snr_db + next(shadowing) + 10 * np.log10(next(fading))
        cqi = np.clip(np.floor((snr_db - _CQI_1_DB) / _DB_PER_CQI + 1), 0, _HIGHEST_CQI).astype(np.int64)
        bits = rest_bits + np.cumsum(lte.elements_per_ms * _EFFICIENCY[cqi])
        whole = (bits // opportunity_bits).astype(np.int64)
        rest_bits = float(bits[-1]) - int(whole[-1]) * opportunity_bits
        # A packet leaves when the last millisecond that carries it ends.
        ends_ms = np.repeat(begin_ms + 1 + np.arange(_BLOCK_MS), np.diff(whole, prepend=0))
        stamps = held + ends_ms[ends_ms <= length_ms].tolist()
        held = stamps[-1:]
        yield "".join(f"{stamp}\n" for stamp in stamps[:-1])
    # The last line is the recording's length, so the last opportunity waits until then. A recording without any
    # opportunity has this one.
    yield f"{length_ms}\n"


def _draw_fading(lte: Lte, draw: np.random.Generator) -> Iterator[Floats]:
    """The power of each millisecond, on average 1: Rayleigh fading as a sum of sinusoids.

    Waves of the same strength reach the receiver from all sides (Clarke, Bell System Technical Journal 47(6), 1968;
    Jakes, "Microwave Mobile Communications", 1974), so the autocorrelation of the amplitude is nearly
    J0(2 pi Doppler time).
    """
    # All Doppler shifts differ: two equal ones would add up in all of one recording and cancel in all of another.
    angles = np.pi * (np.arange(_SINUSOIDS) + draw.random()) / _SINUSOIDS
    speeds = 2 * np.pi * lte.doppler_per_ms * np.cos(angles)
    phases = 2 * np.pi * draw.random(_SINUSOIDS)
    # A wave at the sum of two times is the product of a wave at each: a fraction of the sines, and the same powers.
    part_ms = 100
    within = np.exp(1j * np.outer(speeds, np.arange(part_ms))) / math.sqrt(_SINUSOIDS)
    begin_ms = 0
    while True:
        begins = begin_ms + np.arange(0, _BLOCK_MS, part_ms)
        # Not a matrix product, whose threads wait for each other on a machine with other work.
        amplitudes = np.einsum("bw,wi->bi", np.exp(1j * (np.outer(begins, speeds) + phases)), within)
        yield np.square(np.abs(amplitudes)).ravel()
        begin_ms += _BLOCK_MS


def _draw_shadowing(lte: Lte, draw: np.random.Generator) -> Iterator[Floats]:
    """The shadowing of each millisecond in dB.

    Its correlation falls exponentially with the distance (Gudmundson, Electronics Letters 27(23), 1991).
    """
    steps = _BLOCK_MS // _SHADOWING_STEP_MS
    keep = math.exp(-lte.speed_m_per_ms * _SHADOWING_STEP_MS / lte.decorrelation_m)
    fresh = math.sqrt(1 - keep * keep)
    level = float(draw.standard_normal())
    while True:
        levels = []
        for noise in draw.standard_normal(steps).tolist():
            levels.append(level)
            level = keep * level + fresh * noise
        yield lte.shadowing_db * np.repeat(np.array(levels), _SHADOWING_STEP_MS)


# ---- leo: a low satellite

_EARTH_KM = 6371.0
# The Earth's gravitational parameter, km^3/s^2 (WGS 84).
_GRAVITY = 398600.4418
_COLUMNS = "time_ms,rate_mbps,delay_ms,loss\n"


@dataclass(frozen=True)
class Leo:
    """A path from a terminal over a satellite to a ground station; each handover changes the satellite."""

    # Starlink's first shell flies at 550 km, and terminals use satellites from 25 degrees on (FCC 21-48, 2021).
    altitude_km: float = _parameter(550, 300, 2000, "altitude of the satellites, km")
    elevation_deg: float = _parameter(25, 5, 60, "least elevation at which a satellite is used, degrees")
    # Chosen: the terminal and its ground station are neighbours, not at the same place.
    gateway_km: float = _parameter(300, 0, 2000, "distance between the terminal and the ground station, km")
    # Chosen: with the light's way, a round trip over two such paths takes 32 to 39 ms.
    fixed_ms: float = _parameter(12, 0, 200, "part of the one-way delay on the ground and for scheduling, ms")
    # Starlink assigns satellites anew every 15 s, at 12, 27, 42 and 57 s of each minute (Tanveer et al., CoNEXT 2023
    # Companion; Mohan et al., WWW 2024), so a recording begins with a minute. A real terminal may keep its satellite.
    handover_s: float = _parameter(15, 5, 60, "time between handovers, s")
    handover_at_s: float = _parameter(12, 0, 60, "time of a handover, s, from which the others follow")
    step_ms: float = _parameter(100, 10, 1000, "time between rows, ms")
    # The rates, outages and losses are chosen in a plausible order, not taken from a publication.
    rate_mbps: float = _parameter(100, 1, 1000, "median rate over the times between handovers, Mbit/s")
    rate_sigma: float = _parameter(0.35, 0, 0.7, "standard deviation of the logarithm of these rates")
    variation_sigma: float = _parameter(0.08, 0, 0.3, "standard deviation of the logarithm of each row's rate within")
    outage_ms: float = _parameter(60, 0, 2000, "median length of the outage at a handover, ms; 0 for none")
    outage_sigma: float = _parameter(0.5, 0, 1, "standard deviation of the logarithm of these lengths")
    loss: float = _parameter(0.001, 0, 0.5, "share of packets lost")
    handover_loss: float = _parameter(0.01, 0, 0.5, "share of packets lost after a handover")
    handover_loss_s: float = _parameter(1, 0, 5, "time after a handover with this share, s")

    def __post_init__(self) -> None:
        _check_ranges("leo", self)
        # Within these limits enough draws give a satellite that both ends see until its handover (_draw_pass).
        seen = f"at altitude_km {self.altitude_km:g} and elevation_deg {self.elevation_deg:g}"
        highest_s = math.floor(self.reach / 2 / self.angle_per_ms / 1000)
        if self.handover_s > highest_s:
            raise _refusal(
                "leo", "handover_s", self.handover_s, f"at most {highest_s}, half of a satellite's way {seen}"
            )
        highest_km = math.floor(self.reach * _EARTH_KM)
        if self.gateway_km > highest_km:
            raise _refusal(
                "leo", "gateway_km", self.gateway_km, f"at most {highest_km}, as far as a satellite is seen {seen}"
            )

    @property
    def orbit_km(self) -> float:
        """Distance of a satellite from the centre of the Earth."""
        return _EARTH_KM + self.altitude_km

    @property
    def reach(self) -> float:
        """The angle at the centre of the Earth between a place and a satellite at its least elevation."""
        elevation = math.radians(self.elevation_deg)
        return math.acos(_EARTH_KM * math.cos(elevation) / self.orbit_km) - elevation

    @property
    def angle_per_ms(self) -> float:
        """The angle that a satellite flies in a millisecond, by Kepler's third law; the Earth does not rotate."""
        return math.sqrt(_GRAVITY / self.orbit_km**3) / 1000


def _generate_leo(leo: Leo, length_ms: int, draw: np.random.Generator) -> Iterator[str]:
    """The rows of the table, those from one handover to the next in one piece."""
    yield _COLUMNS
    period_ms = round(leo.handover_s * 1000)
    first_ms = round(leo.handover_at_s * 1000) % period_ms
    # The instants of the last two rows, and the values of the last one.
    before_ms, last_ms, values = 0, 0, ""
    for begin_ms in range(first_ms - period_ms, length_ms, period_ms):
        lines = []
        for at_ms, row in _draw_slot(leo, begin_ms, period_ms, draw):
            if 0 <= at_ms < length_ms:
                before_ms, last_ms, values = last_ms, at_ms, row
                lines.append(f"{at_ms},{row}\n")
        yield "".join(lines)
    # The last row of a table holds as long as the row before it: a row in the middle of the rest makes the recording
    # end at its length.
    if last_ms - before_ms != length_ms - last_ms:
        yield f"{(last_ms + length_ms) / 2},{values}\n"


def _draw_slot(leo: Leo, begin_ms: int, period_ms: int, draw: np.random.Generator) -> Iterator[tuple[int, str]]:
    """Instants from one handover to the next, and the other columns at each."""
    step_ms = round(leo.step_ms)
    # All draws come before the first row, so the rows do not depend on the end of the recording.
    ranges_km = _draw_pass(leo, period_ms, draw)
    slot_mbps = leo.rate_mbps * math.exp(leo.rate_sigma * draw.standard_normal())
    changes = np.exp(leo.variation_sigma * draw.standard_normal(-(-period_ms // step_ms)))
    outage_ms = leo.outage_ms * math.exp(leo.outage_sigma * draw.standard_normal())
    # An outage takes at least one millisecond and at most half of the slot.
    up_ms = min(max(round(outage_ms), 1), period_ms // 2) if leo.outage_ms else 0
    lossy_ms = round(leo.handover_loss_s * 1000)
    instants = {*range(0, period_ms, step_ms), up_ms, lossy_ms, max(-begin_ms, 0)}
    for after_ms in sorted(instants):
        if after_ms >= period_ms:
            continue
        mbps = min(slot_mbps * changes[after_ms // step_ms], LARGEST_RATE_BPS / 10**6) if after_ms >= up_ms else 0
        delay_ms = leo.fixed_ms + ranges_km(after_ms) / _LIGHT_KM_PER_MS
        loss = leo.handover_loss if after_ms < lossy_ms else leo.loss
        yield begin_ms + after_ms, f"{mbps:.3f},{delay_ms:.4f},{loss:g}"


def _draw_pass(leo: Leo, period_ms: int, draw: np.random.Generator) -> Callable[[float], float]:
    """The way from the terminal to a satellite and to the ground station in km, by the milliseconds since the handover.

    Each place in view of the terminal and each direction of flight are equally likely, as long as both ends see the
    satellite until the next handover. Vectors of length 1 point from the centre of the Earth to the terminal (0, 0, 1),
    the ground station and the satellite.
    """
    apart = leo.gateway_km / _EARTH_KM
    ends = np.array([[0, 0, 1], [math.sin(apart), 0, math.cos(apart)]])
    least = math.cos(leo.reach)
    flown = leo.angle_per_ms * period_ms
    while True:
        height, turn, course = draw.uniform([least, 0, 0], [1, 2 * math.pi, 2 * math.pi]).tolist()
        aside = math.sqrt(1 - height * height)
        place = np.array([aside * math.cos(turn), aside * math.sin(turn), height])
        outwards = np.array([height * math.cos(turn), height * math.sin(turn), -aside])
        sideways = np.array([-math.sin(turn), math.cos(turn), 0])
        # The cosine of the angle between an end and the satellite is a sum of these two, weighted by cosine and sine of
        # the angle flown.
        at_first = ends @ place
        ahead = ends @ (math.cos(course) * outwards + math.sin(course) * sideways)
        at_last = at_first * math.cos(flown) + ahead * math.sin(flown)
        # Between two instants at which it is in view it is in view too.
        if min(*at_first, *at_last) >= least:
            break

    def ranges_km(after_ms: float) -> float:
        angle = leo.angle_per_ms * after_ms
        cosines = at_first * math.cos(angle) + ahead * math.sin(angle)
        return float(np.sqrt(_EARTH_KM**2 + leo.orbit_km**2 - 2 * _EARTH_KM * leo.orbit_km * cosines).sum())

    return ranges_km


# ---- all of them


class Generator(NamedTuple):
    """A generator: its parameters, the function that gives the text, the suffix of its files, and a description."""

    parameters: type[Lte | Leo]
    function: Callable[[Any, int, np.random.Generator], Iterator[str]]
    suffix: str
    about: str


GENERATORS: Mapping[str, Generator] = MappingProxyType(
    {
        "lte": Generator(Lte, _generate_lte, "mahi", "LTE downlink: shadowing, Rayleigh fading and 15 CQIs, each ms"),
        "leo": Generator(Leo, _generate_leo, "csv", "low-earth-orbit satellite with a handover every 15 s"),
    }
)


def generate(name: str, seconds: float, seed: int, parameters: Mapping[str, float]) -> Iterator[str]:
    """The text of a recording in pieces; parameters that are not given have their defaults. PlanError at once."""
    if name not in GENERATORS:
        raise PlanError("generating a recording", name, f"no such generator{_instead(name, GENERATORS)}")
    generator = GENERATORS[name]
    known = [one.name for one in fields(generator.parameters)]
    for parameter in parameters:
        if parameter not in known:
            raise PlanError("generating a recording", name, f"no parameter {parameter!r}{_instead(parameter, known)}")
    if not _SHORTEST_S <= seconds <= _LONGEST_S:
        raise _refusal(name, "its length in seconds", seconds, f"{_SHORTEST_S} to {_LONGEST_S} (a week)")
    if not isinstance(seed, int) or seed < 0:
        raise _refusal(name, "its seed", seed, "a whole number from 0 on")
    draw = np.random.Generator(np.random.PCG64(seed))
    return generator.function(generator.parameters(**parameters), round(seconds * 1000), draw)


def _instead(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the allowed ones, and the nearest."""
    names = list(known)
    return f"; allowed: {allowed_instead(', '.join(names), name, names)}"

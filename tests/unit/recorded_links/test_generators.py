"""Generated recordings: means and correlations that follow from the parameters, bounds of geometry, and refusals."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from longhaul.orchestrator.recorded_links.chunks import NS_PER_S, Ints
from longhaul.orchestrator.recorded_links.formats import MAHIMAHI, TABLE, format_of
from longhaul.orchestrator.recorded_links.generators import GENERATORS, Floats, generate
from longhaul.orchestrator.recorded_links.recorded_file import RecordedFile
from longhaul.orchestrator.system.errors import PlanError

FORMATS = {"lte": MAHIMAHI, "leo": TABLE}
LIGHT_KM_PER_MS = 299.792458


def _text(name: str, seconds: float, seed: int = 1, /, **parameters: float) -> str:
    return "".join(generate(name, seconds, seed, parameters))


def _file(folder: Path, name: str, seconds: float, seed: int = 1, /, **parameters: float) -> RecordedFile:
    path = folder / f"recording.{GENERATORS[name].suffix}"
    path.write_text(_text(name, seconds, seed, **parameters))
    return RecordedFile(path, format_of(path))


@pytest.mark.parametrize("name", GENERATORS)
def test_the_same_seed_gives_the_same_text_and_another_seed_another(name: str) -> None:
    assert _text(name, 30, 7) == _text(name, 30, 7)
    assert _text(name, 30, 7) != _text(name, 30, 8)


@pytest.mark.parametrize("name", GENERATORS)
def test_a_short_recording_is_the_beginning_of_a_long_one(name: str) -> None:
    """Also where it ends within a block of the one and within an outage of the other."""
    long = _text(name, 60).splitlines()
    for seconds in (1, 9.999, 10, 12.02, 27.1, 44.4445):
        short = _text(name, seconds).splitlines()
        assert short[:-1] == long[: len(short) - 1]


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("seconds", [1, 10, 12.01, 12.1, 13.137, 27.1, 61.05, 120])
def test_recordings_have_the_requested_length_and_format(name: str, seconds: float, tmp_path: Path) -> None:
    file = _file(tmp_path, name, seconds)
    assert file.format == FORMATS[name]
    assert file.summary.length_ns == round(seconds * 1000) * NS_PER_S // 1000


@pytest.mark.parametrize("first", [0, 0.03, 7.777, 15])
@pytest.mark.parametrize("step", [10, 73, 1000])
def test_every_phase_and_step_of_a_satellite_keeps_the_length(first: float, step: float, tmp_path: Path) -> None:
    file = _file(tmp_path, "leo", 40.5, handover_at_s=first, step_ms=step, outage_ms=300)
    assert file.summary.length_ns == 40_500_000_000


@pytest.mark.parametrize("name", GENERATORS)
def test_the_text_comes_in_pieces_of_some_seconds(name: str) -> None:
    pieces = generate(name, 7 * 24 * 3600, 1, {})
    assert max(len(next(pieces)) for _ in range(10)) < 200_000


# ---- lte

EFFICIENCY = (
    *(0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141),
    *(2.4063, 2.7305, 3.3223, 3.9023, 4.5234, 5.1152, 5.5547),
)


def _expected_bps(snr_db: float, shadowing_db: float) -> float:
    """Half of 50 resource blocks with 25 % overhead: the exact mean over fading, by quadrature over the shadowing."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    mean_snr = 10 ** ((snr_db + shadowing_db * nodes) / 10)
    efficiency, before = 0.0, 0.0
    for cqi, reached in enumerate(EFFICIENCY, 1):
        threshold = 10 ** ((-6 + 26 * (cqi - 1) / 14) / 10)
        # The power of a Rayleigh channel is exponential.
        above = float((weights * np.exp(-threshold / mean_snr)).sum() / weights.sum())
        efficiency, before = efficiency + (reached - before) * above, reached
    return 50 * 12 * 14 * 0.75 * 0.5 * 1000 * efficiency


def _stamps(text: str) -> Ints:
    return np.fromstring(text, dtype=np.int64, sep="\n")


def _mean_bps(seconds: float, seed: int = 1, /, **parameters: float) -> float:
    return _text("lte", seconds, seed, **parameters).count("\n") * 12_000 / seconds


@pytest.mark.parametrize("snr_db", [-5, 10, 25])
def test_fading_alone_gives_the_mean_rate_of_a_rayleigh_channel(snr_db: float) -> None:
    mean = _mean_bps(600, snr_db=snr_db, shadowing_db=0)
    assert mean == pytest.approx(_expected_bps(snr_db, 0), rel=0.03)


@pytest.mark.parametrize(("snr_db", "tolerance"), [(-5, 0.12), (10, 0.06), (25, 0.03)])
def test_shadowing_and_fading_give_the_mean_rate_of_their_distributions(snr_db: float, tolerance: float) -> None:
    """A recording passes 400 decorrelation distances; the tolerance is three standard deviations of the mean."""
    means = [_mean_bps(600, seed, snr_db=snr_db, speed_kmh=120) for seed in range(6)]
    assert np.mean(means) == pytest.approx(_expected_bps(snr_db, 8), rel=tolerance)
    # At -5 dB shadowing triples the rate, so one without shadowing would not pass.
    assert _expected_bps(-5, 8) > 2.5 * _expected_bps(-5, 0)


def test_the_rate_is_proportional_to_the_resource_blocks_and_their_shares() -> None:
    """No byte is lost between milliseconds: counts differ by the unfinished packet at most."""
    count = {
        mhz: len(_stamps(_text("lte", 60, bandwidth_mhz=mhz, share=0.02, overhead=0)))
        for mhz in (1.4, 3, 5, 10, 15, 20)
    }
    for mhz, blocks in ((1.4, 6), (3, 15), (5, 25), (10, 50), (15, 75)):
        assert abs(count[mhz] - count[20] * blocks / 100) <= 2
    assert abs(len(_stamps(_text("lte", 60, share=1))) - 2 * len(_stamps(_text("lte", 60, share=0.5)))) <= 2
    assert abs(len(_stamps(_text("lte", 60, overhead=0))) * 0.75 - len(_stamps(_text("lte", 60)))) <= 2


def test_the_highest_cqi_is_the_highest_rate() -> None:
    """A subframe of 20 MHz for one receiver carries 7.78 packets at most."""
    stamps = _stamps(_text("lte", 60, snr_db=40, shadowing_db=0, bandwidth_mhz=20, share=1, overhead=0))
    _, counts = np.unique(stamps, return_counts=True)
    most = 100 * 168 * 5.5547 / 12_000
    assert counts.max() == math.ceil(most)
    assert len(stamps) / 60_000 == pytest.approx(most, rel=0.02)
    assert stamps[0] == 1


def test_a_weak_signal_has_outages_and_a_strong_one_has_none_to_speak_of(tmp_path: Path) -> None:
    weak = _file(tmp_path, "lte", 600, snr_db=-5).summary
    assert weak.outage_ns is not None and weak.longest_outage_ns is not None
    assert weak.outage_ns > 0.2 * weak.length_ns
    assert weak.longest_outage_ns > NS_PER_S
    strong = _file(tmp_path, "lte", 600, snr_db=25).summary
    assert strong.outage_ns is not None
    assert strong.outage_ns < 0.001 * strong.length_ns


def test_a_recording_without_opportunities_has_its_length() -> None:
    assert _text("lte", 5, snr_db=-20, shadowing_db=0, bandwidth_mhz=1.4, share=0.01) == "5000\n"


def _correlation(values: Floats, lag: int) -> float:
    return float(np.corrcoef(values[:-lag], values[lag:])[0, 1])


def _rates(seconds: int, window_ms: int, /, **parameters: float) -> Floats:
    stamps = _stamps(_text("lte", seconds, bandwidth_mhz=20, share=1, **parameters))
    return np.bincount((stamps - 1) // window_ms, minlength=seconds * 1000 // window_ms).astype(np.float64)


def test_the_fading_is_faster_at_a_higher_speed() -> None:
    """J0 is 0 at 2.405: at 3 km/h (5.6 Hz) the correlation is lost after 69 ms, at 30 km/h after a tenth of it."""
    slow, fast = (_rates(120, 5, shadowing_db=0, speed_kmh=speed) for speed in (3, 30))
    assert _correlation(slow, 2) > 0.9
    assert 0.55 < _correlation(slow, 5) < 0.85
    assert _correlation(slow, 14) < 0.15
    assert _correlation(fast, 5) < 0.25
    # The same waves ten times as far apart.
    assert _correlation(slow, 140) == pytest.approx(_correlation(fast, 14), abs=0.1)


def test_the_frequency_of_the_carrier_sets_the_doppler_shift() -> None:
    assert _text("lte", 20, shadowing_db=0, speed_kmh=6, carrier_ghz=1) == _text("lte", 20, shadowing_db=0)


def test_the_shadowing_lasts_longer_over_a_longer_distance_and_at_a_lower_speed() -> None:
    """Rates of seconds hold no fading to speak of at these speeds: 36 km/h are 10 m a second."""
    near, far = (_rates(600, 1000, speed_kmh=36, decorrelation_m=metres) for metres in (20, 200))
    assert _correlation(near, 4) < 0.4
    assert _correlation(far, 4) > 0.6
    assert _correlation(_rates(600, 1000, speed_kmh=108, decorrelation_m=200), 4) < _correlation(far, 4)


# ---- leo


class _Rows(NamedTuple):
    at_ms: Floats
    mbps: Floats
    delay_ms: Floats
    loss: Floats


def _rows(seconds: float, seed: int = 1, /, **parameters: float) -> _Rows:
    header, *rows = csv.reader(io.StringIO(_text("leo", seconds, seed, **parameters)))
    assert header == ["time_ms", "rate_mbps", "delay_ms", "loss"]
    return _Rows(*np.array(rows, dtype=np.float64).T)


@pytest.fixture(scope="module")
def hour() -> _Rows:
    """An hour with the defaults."""
    return _rows(3600)


def _slant_km(elevation_deg: float, altitude_km: float = 550) -> float:
    """The law of cosines, at the elevation of a satellite."""
    sine = math.sin(math.radians(elevation_deg))
    return math.sqrt((6371 * sine) ** 2 + altitude_km**2 + 2 * 6371 * altitude_km) - 6371 * sine


def test_delays_lie_between_those_of_the_least_elevation_and_of_the_zenith(hour: _Rows) -> None:
    nearest, farthest = (12 + 2 * _slant_km(elevation) / LIGHT_KM_PER_MS for elevation in (90, 25))
    assert (round(nearest, 2), round(farthest, 2)) == (15.67, 19.49)
    assert nearest <= hour.delay_ms.min() < nearest + 0.3
    assert farthest - 0.4 < hour.delay_ms.max() <= farthest


def test_a_terminal_beside_its_ground_station_uses_all_elevations() -> None:
    delays = _rows(3600, gateway_km=0, fixed_ms=0, altitude_km=1200, elevation_deg=40, handover_s=10).delay_ms
    nearest, farthest = (2 * _slant_km(elevation, 1200) / LIGHT_KM_PER_MS for elevation in (90, 40))
    assert nearest - 1e-4 <= delays.min() < nearest + 0.1
    assert farthest - 0.1 < delays.max() <= farthest + 1e-4


def test_delays_jump_at_handovers_alone_and_drift_between_them(hour: _Rows) -> None:
    """A satellite at 7.6 km/s changes each of two ways by 0.76 km in 100 ms at most."""
    changes = np.abs(np.diff(hour.delay_ms))
    after = hour.at_ms[1:]
    handovers = after % 15_000 == 12_000
    assert handovers.sum() == 240
    assert changes[~handovers].max() <= 2 * 0.76 / LIGHT_KM_PER_MS
    assert (changes[handovers] > 0.02).mean() > 0.95
    assert np.median(changes[handovers]) > 0.3
    # It moves all the time, also at its nearest for no longer than some rows.
    assert (changes[~handovers] > 0).mean() > 0.9


def test_every_handover_has_an_outage_and_losses(hour: _Rows) -> None:
    begins = hour.at_ms % 15_000 == 12_000
    assert (hour.mbps[begins] == 0).all()
    spans = np.diff(hour.at_ms, append=3_600_000)
    down = hour.mbps == 0
    slot = (hour.at_ms - 12_000) // 15_000
    outages = np.array([spans[down & (slot == number)].sum() for number in range(240 - 1)])
    assert np.median(outages) == pytest.approx(60, rel=0.15)
    assert np.log(outages).std() == pytest.approx(0.5, rel=0.15)
    # Each outage is one piece, which begins with the slot.
    since = (hour.at_ms - 12_000) % 15_000
    assert (since[down] < 60 * math.exp(0.5 * 5)).all()
    assert all(since[down & (slot == number)].max() < outages[number] for number in range(240 - 1))
    assert (hour.loss[since < 1000] == 0.01).all()
    assert (hour.loss[since >= 1000] == 0.001).all()


def test_the_losses_of_a_handover_end_on_time_between_rows() -> None:
    rows = _rows(20, step_ms=1000, handover_loss_s=0.25, outage_ms=0)
    assert rows.at_ms[rows.loss == 0.01].tolist() == [12_000]
    assert rows.at_ms[rows.at_ms > 12_000][0] == 12_250


def test_a_recording_that_begins_between_handovers_begins_without_an_outage(hour: _Rows) -> None:
    assert hour.mbps[0] > 0
    assert _rows(5, handover_at_s=0).mbps[0] == 0
    # Handovers follow from any of them.
    assert _text("leo", 60, handover_at_s=57) == _text("leo", 60)


def test_no_outages_and_no_changes_if_the_parameters_are_0() -> None:
    rows = _rows(300, outage_ms=0, rate_sigma=0, variation_sigma=0, handover_loss_s=0, loss=0)
    assert (rows.mbps == 100).all()
    assert (rows.loss == 0).all()
    assert (np.diff(rows.at_ms) == 100).all()


def test_the_rates_of_slots_are_log_normal_around_their_median() -> None:
    """Of 500 slots: the median's standard deviation is 1.25 x 0.35 / sqrt(500) = 2 %."""
    rows = _rows(7500, handover_at_s=0, step_ms=1000, rate_mbps=80)
    slot = rows.at_ms // 15_000
    logarithms = np.log([np.median(rows.mbps[(slot == number) & (rows.mbps > 0)]) for number in range(500)])
    assert math.exp(np.median(logarithms)) == pytest.approx(80, rel=0.06)
    assert logarithms.std() == pytest.approx(0.35, rel=0.12)


def test_rates_change_less_within_a_slot_than_between_slots(hour: _Rows) -> None:
    slot = (hour.at_ms - 12_000) // 15_000
    within = [np.log(hour.mbps[(slot == number) & (hour.mbps > 0)]).std() for number in range(100)]
    assert np.mean(within) == pytest.approx(0.08, rel=0.1)


# ---- refusals


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("let", {}, "no such generator; allowed: lte, leo, nearest: "),
        ("lte", {"speed": 3}, "no parameter 'speed'; allowed: bandwidth_mhz, snr_db, .*, nearest: speed_kmh"),
        ("lte", {"bandwidth_mhz": 7}, r"bandwidth_mhz is 7; allowed: 1.4, 3, 5, 10, 15, 20 \(3GPP"),
        ("lte", {"share": 0}, "share is 0; allowed: 0.01 to 1"),
        ("lte", {"snr_db": math.nan}, "snr_db is nan; allowed: -20 to 40"),
        ("leo", {"snr_db": 10}, "no parameter 'snr_db'; allowed: altitude_km, .*handover_loss_s"),
        ("leo", {"loss": 1}, r"loss is 1; allowed: 0 to 0.5 \(share of packets lost\)"),
        (
            "leo",
            {"gateway_km": 1500},
            "gateway_km is 1500; allowed: at most 940, .* altitude_km 550 and elevation_deg 25",
        ),
        ("leo", {"elevation_deg": 60, "handover_s": 30}, "handover_s is 30; allowed: at most 20, "),
    ],
)
def test_a_refused_name_or_value_is_answered_with_what_is_allowed(
    name: str, parameters: Mapping[str, float], sentence: str
) -> None:
    with pytest.raises(PlanError, match=sentence):
        generate(name, 10, 1, parameters)


@pytest.mark.parametrize(
    ("seconds", "seed", "sentence"), [(0.5, 1, "1 to 604800"), (math.inf, 1, "a week"), (9, -1, "from 0 on")]
)
def test_lengths_and_seeds_have_ranges(seconds: float, seed: int, sentence: str) -> None:
    with pytest.raises(PlanError, match=f"allowed: .*{sentence}"):
        generate("leo", seconds, seed, {})


@pytest.mark.parametrize("name", GENERATORS)
def test_every_end_of_every_range_gives_a_recording_or_a_sentence(name: str, tmp_path: Path) -> None:
    refused = []
    for one in fields(GENERATORS[name].parameters):
        assert one.metadata["about"]
        for value in (one.metadata["least"], one.metadata["highest"]):
            try:
                file = _file(tmp_path, name, 31, **{one.name: value})
            except PlanError as error:
                assert "; allowed: " in str(error)
                refused.append(one.name)
            else:
                assert file.summary.length_ns == 31 * NS_PER_S
    # These depend on others.
    assert set(refused) <= {"elevation_deg", "gateway_km", "handover_s"}

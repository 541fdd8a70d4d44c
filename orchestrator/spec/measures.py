"""What an `expect` line means: which measure, whose, and the bounds it has to keep, in the measure's own unit.

The names are those of the results' measures; how each is computed is the analysis' business.
"""

from __future__ import annotations

from collections.abc import Mapping

from longhaul.orchestrator.system.errors import nearest
from longhaul.orchestrator.system.units import (
    format_duration,
    format_rate,
    format_size,
    parse_duration,
    parse_packets,
    parse_rate,
    parse_share,
    parse_size,
)

# Measure -> (whose it is, a flow's, the path's, either's or the run's; what kind of quantity). Bounds become bit/s, seconds, milliseconds, packets, bytes or plain numbers.
MEASURES: Mapping[str, tuple[str, str]] = {
    "goodput": ("flow", "rate"),
    "throughput": ("either", "rate"),
    "goodput_cv": ("flow", "number"),
    "stability_sd": ("flow", "rate"),
    "loss_ratio": ("flow", "share"),
    "pdr": ("flow", "share"),
    "tpp": ("flow", "number"),
    "share": ("flow", "share"),
    "rate_error": ("flow", "share"),
    "completion_s": ("flow", "seconds"),
    "retransmits": ("flow", "number"),
    "bytes": ("flow", "size"),
    "rtt_min": ("flow", "milliseconds"),
    "rtt_mean": ("flow", "milliseconds"),
    "rtt_p50": ("flow", "milliseconds"),
    "rtt_p95": ("flow", "milliseconds"),
    "rtt_p99": ("flow", "milliseconds"),
    "cwnd_mean": ("flow", "packets"),
    "cwnd_max": ("flow", "packets"),
    "cwnd_peak_s": ("flow", "seconds"),
    "backoff": ("flow", "number"),
    "regrowth_s": ("flow", "seconds"),
    "utilisation": ("path", "share"),
    "efficiency": ("path", "share"),
    "drops": ("path", "number"),
    "marks": ("path", "number"),
    "queue_mean": ("path", "packets"),
    "queue_p95": ("path", "packets"),
    "queue_max": ("path", "packets"),
    "queue_delay": ("path", "milliseconds"),
    "queue_delay_p50": ("path", "milliseconds"),
    "queue_delay_p95": ("path", "milliseconds"),
    "queue_delay_p99": ("path", "milliseconds"),
    "jain": ("run", "share"),
    "goodput_total": ("run", "rate"),
    "convergence_s": ("run", "seconds"),
    "recovery_ratio": ("run", "number"),
    "fct_mean": ("run", "seconds"),
    "fct_p50": ("run", "seconds"),
    "fct_p95": ("run", "seconds"),
    "fct_p99": ("run", "seconds"),
    "fct_max": ("run", "seconds"),
}

# Which way is better, where one is for everybody: a larger window or a mark is neither good nor bad by itself.
HIGHER_IS_BETTER = (
    "goodput",
    "throughput",
    "pdr",
    "tpp",
    "bytes",
    "utilisation",
    "efficiency",
    "jain",
    "goodput_total",
    "recovery_ratio",
)
LOWER_IS_BETTER = (
    "goodput_cv",
    "stability_sd",
    "loss_ratio",
    "rate_error",
    "completion_s",
    "retransmits",
    "rtt_min",
    "rtt_mean",
    "rtt_p50",
    "rtt_p95",
    "rtt_p99",
    "drops",
    "queue_mean",
    "queue_p95",
    "queue_max",
    "queue_delay",
    "queue_delay_p50",
    "queue_delay_p95",
    "queue_delay_p99",
    "convergence_s",
    "fct_mean",
    "fct_p50",
    "fct_p95",
    "fct_p99",
    "fct_max",
)

# Measures that only a whole run has.
UNPHASED = (
    "convergence_s",
    "recovery_ratio",
    "efficiency",
    "bytes",
    "completion_s",
    "fct_mean",
    "fct_p50",
    "fct_p95",
    "fct_p99",
    "fct_max",
)

_QUANTITIES = {
    "rate": (parse_rate, 1, "a rate with its unit, as in 256 Mbit/s"),
    "seconds": (parse_duration, 10**6, "a duration with its unit, as in 12 s"),
    "milliseconds": (parse_duration, 10**3, "a duration with its unit, as in 40 ms"),
    "packets": (parse_packets, 1, "a number of packets, as in 20 packets"),
    "size": (parse_size, 1, "a size with its unit, as in 2 GB"),
}


def read_amount(measure: str, written: object) -> float:
    """A bound in the measure's unit; ValueError says what is allowed."""
    kind = MEASURES[measure][1]
    if kind in _QUANTITIES:
        parse, scale, allowed = _QUANTITIES[kind]
        try:
            return parse(written) / scale if scale > 1 else parse(written)  # type: ignore[arg-type]
        except ValueError:
            raise ValueError(allowed) from None
    if kind == "share":
        return parse_share(written)  # type: ignore[arg-type]
    if isinstance(written, bool) or not isinstance(written, int | float):
        raise ValueError("a plain number")
    return written


def write_amount(measure: str, bound: float) -> str | float:
    """A bound as a person would write it; what read_amount gives for that is the bound, to the unit's last step."""
    kind = MEASURES[measure][1]
    if kind == "packets":
        return f"{round(bound)} packets"
    if kind in _FORMS:
        form, scale = _FORMS[kind]
        return form(round(bound * scale))
    return bound


def say_amount(measure: str, value: float) -> str:
    """What was measured, to six digits and with its unit, beside a bound that has one; of a rate all six, as runs differ in the last."""
    kind = MEASURES[measure][1]
    if kind in _FORMS:
        form, scale = _FORMS[kind]
        text = form(round(float(f"{value:.6g}") * scale))
        number, unit = text.split(" ")
        return f"{float(number):#.6g}".rstrip(".") + f" {unit}" if kind == "rate" and value else text
    return f"{value:.6g} packets" if kind == "packets" else f"{value:.6g}"


_FORMS = {
    "rate": (format_rate, 1),
    "seconds": (format_duration, 10**6),
    "milliseconds": (format_duration, 10**3),
    "size": (format_size, 1),
}


def known_measure(name: str) -> None:
    """ValueError with the known names and the nearest one unless it is a measure."""
    if name not in MEASURES:
        raise ValueError(f"one of {', '.join(MEASURES)}{nearest(name, MEASURES)}")

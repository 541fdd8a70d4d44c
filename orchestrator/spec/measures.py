"""The measures: one row each, with the quantity and direction for expectations and claims; orchestrator/analysis/measures.py computes them.

amounts.py reads and writes their bounds and values.
"""

from __future__ import annotations

from collections.abc import Mapping

from longhaul.orchestrator.system.errors import UnknownName, allowed_instead
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# Which direction is better: a larger window or a mark is neither good nor bad by itself.
MORE, NEITHER, LESS = 1, 0, -1


@dataclass(frozen=True, slots=True)
class Measure:
    """`of` is flow, path, either of these, or run; `field` is the number's place in that part of a result document.

    `quantity` gives the unit: bit/s, seconds, milliseconds, packets, bytes, a share, or a plain number. A measure that is not `phased` covers only whole runs.
    """

    name: str
    of: str
    quantity: str
    better: int
    field: str
    formula: str
    phased: bool = True

    @property
    def path(self) -> tuple[str, ...]:
        """The keys of the number."""
        return tuple(self.field.split("."))


_ROWS = (
    Measure(
        "goodput", "flow", "rate", MORE, "goodput_bps", "bytes the receiver's application got / time in the window"
    ),
    Measure(
        "throughput",
        "either",
        "rate",
        MORE,
        "throughput_bps",
        "frames past the bottleneck x frame size / time in the window",
    ),
    Measure(
        "goodput_cv",
        "flow",
        "number",
        LESS,
        "goodput_cv",
        "standard deviation / mean of the goodput of whole seconds in the window",
    ),
    Measure(
        "stability_sd",
        "flow",
        "rate",
        LESS,
        "stability_sd_bps",
        "standard deviation of the goodput of whole seconds in the window",
    ),
    Measure("loss_ratio", "flow", "share", LESS, "loss_ratio", "packets dropped on the path / packets sent on it"),
    Measure("pdr", "flow", "share", MORE, "pdr", "packets delivered / packets sent"),
    Measure("tpp", "flow", "number", MORE, "tpp", "goodput in Mbit/s x pdr"),
    Measure("share", "flow", "share", NEITHER, "share", "goodput / goodput of all flows"),
    Measure(
        "rate_error",
        "flow",
        "share",
        LESS,
        "rate_error",
        "|goodput - requested| / requested, where a rate was requested",
    ),
    Measure(
        "completion_s",
        "flow",
        "seconds",
        LESS,
        "completion_s",
        "from the start of a sized flow until its receiver has every byte",
        phased=False,
    ),
    Measure("retransmits", "flow", "number", LESS, "retransmits", "segments sent again in the window"),
    Measure(
        "bytes", "flow", "size", MORE, "bytes", "bytes the receiver's application got in the whole run", phased=False
    ),
    Measure("rtt_min", "flow", "milliseconds", LESS, "rtt_ms.min", "least round trip of the window's ACKs"),
    Measure("rtt_mean", "flow", "milliseconds", LESS, "rtt_ms.mean", "mean round trip of the window's ACKs"),
    Measure("rtt_p50", "flow", "milliseconds", LESS, "rtt_ms.p50", "median round trip of the window's ACKs"),
    Measure(
        "rtt_p95", "flow", "milliseconds", LESS, "rtt_ms.p95", "95th percentile of the round trips of the window's ACKs"
    ),
    Measure(
        "rtt_p99", "flow", "milliseconds", LESS, "rtt_ms.p99", "99th percentile of the round trips of the window's ACKs"
    ),
    Measure(
        "requests", "flow", "number", MORE, "requests.completed", "requests whose whole response came in the window"
    ),
    Measure(
        "requests_lost",
        "flow",
        "number",
        LESS,
        "requests.lost",
        "requests over udp whose wait for a response ended in the window",
    ),
    Measure(
        "rounds",
        "flow",
        "number",
        MORE,
        "rounds.completed",
        "rounds of a barrier whose last response came in the window",
    ),
    *(
        Measure(f"{one}_{key}", "flow", "milliseconds", LESS, f"{one}s.time_ms.{key}", f"{words} {of}")
        for one, of in (
            (
                "request",
                "time from a request to the end of its response, of those completed in the window; with new_connection, from the first SYN",
            ),
            (
                "round",
                "time from the requests of a round to the end of its last response, of rounds that ended in the window",
            ),
        )
        for key, words in (
            *(("mean", "mean"), ("p50", "median"), ("p95", "95th percentile of the")),
            *(("p99", "99th percentile of the"), ("max", "longest")),
        )
    ),
    Measure("cwnd_mean", "flow", "packets", NEITHER, "cwnd_packets.mean", "mean congestion window over time"),
    Measure("cwnd_max", "flow", "packets", NEITHER, "cwnd_packets.max", "largest congestion window"),
    Measure(
        "cwnd_peak_s",
        "flow",
        "seconds",
        NEITHER,
        "cwnd_peak_s",
        "from the flow's start until its congestion window is within 5 % of the largest in the window",
    ),
    Measure(
        "backoff",
        "flow",
        "number",
        NEITHER,
        "backoff",
        "congestion window at the end of a recovery / the one before it began, the mean over recoveries; null where `sample` is longer than a round trip",
    ),
    Measure(
        "regrowth_s",
        "flow",
        "seconds",
        NEITHER,
        "regrowth_s",
        "from the end of a recovery until the congestion window is what it was before, the mean over recoveries after which it is",
    ),
    Measure(
        "utilisation",
        "path",
        "share",
        MORE,
        "utilisation",
        "throughput of all flows in the window / configured bandwidth",
    ),
    Measure(
        "efficiency",
        "path",
        "share",
        MORE,
        "efficiency",
        "throughput of all flows over the whole run / configured bandwidth",
        phased=False,
    ),
    Measure("drops", "path", "number", LESS, "drops", "packets dropped by the bottleneck's queue in the window"),
    Measure("marks", "path", "number", NEITHER, "marks", "packets marked by the bottleneck's queue in the window"),
    Measure("queue_mean", "path", "packets", LESS, "queue_packets.mean", "mean queue over time, in full frames"),
    Measure(
        "queue_p95",
        "path",
        "packets",
        LESS,
        "queue_packets.p95",
        "95th percentile of the queue at the ticks of the trace",
    ),
    Measure("queue_max", "path", "packets", LESS, "queue_packets.max", "longest queue"),
    Measure(
        "queue_delay", "path", "milliseconds", LESS, "queue_delay_ms", "mean queue in bytes / configured bandwidth"
    ),
    Measure(
        "queue_delay_p50",
        "path",
        "milliseconds",
        LESS,
        "queue_delay_percentiles_ms.p50",
        "median of the queue in bytes / the bandwidth then, over the ticks of the trace",
    ),
    Measure(
        "queue_delay_p95",
        "path",
        "milliseconds",
        LESS,
        "queue_delay_percentiles_ms.p95",
        "95th percentile of the queue in bytes / the bandwidth then, over the ticks of the trace",
    ),
    Measure(
        "queue_delay_p99",
        "path",
        "milliseconds",
        LESS,
        "queue_delay_percentiles_ms.p99",
        "99th percentile of the queue in bytes / the bandwidth then, over the ticks of the trace",
    ),
    *(
        measure
        for side, title in (("classic", "Classic"), ("l4s", "L4S"))
        for measure in (
            *(
                Measure(
                    f"{side}_delay{percentile}",
                    "path",
                    "milliseconds",
                    LESS,
                    f"dual.{side}.delay_ms.{percentile[1:] or 'mean'}",
                    f"{words} that packets waited in the {title} queue of dualpi2",
                )
                for percentile, words in (
                    *(("", "mean time"), ("_p50", "median time")),
                    *(("_p95", "95th percentile of the times"), ("_p99", "99th percentile of the times")),
                )
            ),
            Measure(
                f"{side}_signalled",
                "path",
                "share",
                NEITHER,
                f"dual.{side}.signalled",
                f"packets marked or dropped / packets, in the {title} queue of dualpi2",
            ),
        )
    ),
    Measure(
        "coupling",
        "path",
        "number",
        NEITHER,
        "dual.coupling",
        "l4s_signalled / square root of classic_signalled; dualpi2 makes it its coupling factor where the L4S queue stays below its step",
    ),
    Measure(
        "jain",
        "run",
        "share",
        MORE,
        "jain",
        "(sum x)^2 / (n sum x^2) of the goodputs of TCP flows without a size, while all of them are active",
    ),
    Measure(
        "goodput_total",
        "run",
        "rate",
        MORE,
        "goodput_total",
        "bytes that the receivers' applications of all flows got in the window while their flows were active / time in the window",
    ),
    Measure(
        "policed",
        "run",
        "number",
        LESS,
        "policed",
        "packets that policers dropped, which no queue counts; without a policer there is no value",
    ),
    Measure(
        "acks_filtered",
        "run",
        "number",
        NEITHER,
        "acks_filtered",
        "acknowledgements that the ACK filters of CAKE dropped in the whole run, which no queue counts; without a filter there is no value",
        phased=False,
    ),
    Measure(
        "convergence_s",
        "run",
        "seconds",
        LESS,
        "convergence_s",
        "from the last flow's start until every flow is within 10 % of the mean for 10 mean smoothed round trips of the slowest",
        phased=False,
    ),
    Measure(
        "recovery_ratio",
        "run",
        "number",
        MORE,
        "recovery_ratio",
        "goodput of the flows that stay: after the visitors left / before the first one came",
        phased=False,
    ),
    Measure(
        "fct_mean",
        "run",
        "seconds",
        LESS,
        "fct_mean",
        "mean completion_s of the flows with a size (objects of web flows are not timed), null until all of them are complete",
        phased=False,
    ),
    *(
        Measure(
            f"fct_{key}",
            "run",
            "seconds",
            LESS,
            f"fct_{key}",
            f"{words} completion_s of the flows with a size, null until all of them are complete",
            phased=False,
        )
        for key, words in (("p50", "median"), ("p95", "95th percentile of"), ("p99", "99th percentile of"))
    ),
    Measure(
        "fct_max",
        "run",
        "seconds",
        LESS,
        "fct_max",
        "completion_s of the last flow with a size, so of a transfer over parallel flows, null until all of them are complete",
        phased=False,
    ),
)

MEASURES: Mapping[str, Measure] = {measure.name: measure for measure in _ROWS}

# Those that several flows together have too, under their common name: the streams of a transfer, the connections of requests.
OF_TOTALS = (
    *("goodput", "completion_s", "retransmits", "bytes"),
    *(name for name, measure in MEASURES.items() if measure.field.startswith(("requests.", "rounds."))),
)


def known_measure(name: str) -> None:
    """UnknownName with the known names and the nearest one unless it is a measure."""
    if name not in MEASURES:
        raise UnknownName(allowed_instead(f"one of {', '.join(MEASURES)}", name, MEASURES))

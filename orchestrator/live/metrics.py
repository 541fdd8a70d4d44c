"""Every metric that Prometheus gets from Longhaul: its name, meaning and labels. This table is the only definition.

    RUN_METRICS       series of a run over time, by remote write, each sample with its own time (orchestrator/live)
    SERVICE_METRICS   what the service is doing, scraped from its /metrics (api/metrics.py)

Every writer of a metric uses this table, and tests check docs, rules and dashboards against it: a name that is changed in only one
place fails one.
"""

from __future__ import annotations

from longhaul.orchestrator.system.lazy_dataclasses import dataclass

GAUGE, COUNTER, HISTOGRAM = "gauge", "counter", "histogram"

# Of every series of a run. An empty label is one that Prometheus does not have.
_RUN_LABELS = ("experiment", "run", "backend")
_FLOW_LABELS = (*_RUN_LABELS, "host", "flow", "cc")
_LINK_LABELS = (*_RUN_LABELS, "host", "link")


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. `about` is its subject: a flow's, a link's, a whole run's, or the service's."""

    name: str
    kind: str
    unit: str
    help: str
    labels: tuple[str, ...]
    about: str


def _of_flow(name: str, kind: str, unit: str, about: str) -> Metric:
    return Metric(f"longhaul_flow_{name}", kind, unit, about, _FLOW_LABELS, "flow")


def _of_link(name: str, kind: str, unit: str, about: str) -> Metric:
    return Metric(f"longhaul_link_{name}", kind, unit, about, _LINK_LABELS, "link")


def _of_service(name: str, kind: str, unit: str, about: str, *labels: str) -> Metric:
    return Metric(f"longhaul_{name}", kind, unit, about, labels, "service")


RUN_METRICS: tuple[Metric, ...] = (
    _of_flow("cwnd_packets", GAUGE, "packets", "Congestion window as ACKs found it."),
    _of_flow("ssthresh_packets", GAUGE, "packets", "Slow start threshold, from the first one on."),
    _of_flow("rtt_seconds", GAUGE, "seconds", "Round trip that ACKs measured; smoothed in real time and without SACK."),
    _of_flow("inflight_packets", GAUGE, "packets", "Packets sent and neither acknowledged nor taken for lost."),
    _of_flow("pacing_bps", GAUGE, "bit/s", "Rate that TCP paces itself to, where one limits it."),
    _of_flow("retransmits_total", COUNTER, "packets", "Segments sent again so far."),
    _of_flow("goodput_bps", GAUGE, "bit/s", "What the receiver's application got, since the sample before."),
    _of_flow("throughput_bps", GAUGE, "bit/s", "Frames that reached the receiver, since the sample before."),
    _of_flow("active", GAUGE, "", "1 from when the flow is connected until it stops or is complete."),
    _of_link("queue_packets", GAUGE, "packets", "Packets that wait in the queue."),
    _of_link("drops_total", COUNTER, "packets", "Packets that the queue dropped so far."),
    _of_link("throughput_bps", GAUGE, "bit/s", "What left the queue, since the sample before."),
    _of_link("rate_bps", GAUGE, "bit/s", "Rate that the link is set to, as the schedule has it."),
    Metric(
        "longhaul_run_info",
        GAUGE,
        "",
        "1 for as long as the run lasts, once a second.",
        (*_RUN_LABELS, "clock", "kernel", "seed", "point"),
        "run",
    ),
    Metric(
        "longhaul_run_start_seconds",
        GAUGE,
        "seconds",
        "Where in time the run's start was put, since 1970; as often as longhaul_run_info.",
        _RUN_LABELS,
        "run",
    ),
    Metric(
        "longhaul_run_change_info",
        GAUGE,
        "",
        "1 at the moment when the schedule changes something, and what in `change`.",
        (*_RUN_LABELS, "change"),
        "run",
    ),
)

SERVICE_METRICS: tuple[Metric, ...] = (
    _of_service("request_seconds", HISTOGRAM, "seconds", "Time to the first byte of an answer.", "operation", "status"),
    _of_service("runs", GAUGE, "", "Runs in the database by state.", "state"),
    _of_service("experiments", GAUGE, "", "Experiments in the database by state.", "state"),
    _of_service("queue_runs", GAUGE, "", "Runs that wait for a slot."),
    _of_service("queue_age_seconds", GAUGE, "seconds", "How long the first of them has waited."),
    _of_service("followers", GAUGE, "", "Open event streams."),
    _of_service("virtual_seconds_total", COUNTER, "seconds", "Time that runs that were kept have simulated or lasted."),
    _of_service("wall_seconds_total", COUNTER, "seconds", "Time that they have taken of a slot."),
    _of_service(
        "virtual_seconds_per_wall_second", GAUGE, "", "The two's ratio over runs that ended in the last 10 minutes."
    ),
    _of_service("guest_deaths_total", COUNTER, "", "Guests that ended before their work."),
    _of_service(
        "run_retries_total", COUNTER, "", "Runs begun again: after a guest's death, or given back to the queue."
    ),
    _of_service("messages_delivered_total", COUNTER, "", "Notifications that e-mail servers and webhooks accepted."),
    _of_service("messages_failed_total", COUNTER, "", "Notifications that were given up, after the last attempt."),
    _of_service("export_lag_seconds", GAUGE, "seconds", "Age of the oldest samples that wait for Prometheus."),
    _of_service("export_spool_bytes", GAUGE, "bytes", "What waits for Prometheus on disks."),
    _of_service("export_samples_total", COUNTER, "", "Samples that Prometheus took."),
    _of_service("export_refused_samples_total", COUNTER, "", "Samples that Prometheus refused for good."),
    _of_service(
        "lease_held_seconds", GAUGE, "seconds", "How long its holder has had a lease, 0 while it is free.", "lease"
    ),
    _of_service("service_info", GAUGE, "", "1, and where people reach the service.", "url"),
)

BY_NAME: dict[str, Metric] = {metric.name: metric for metric in (*RUN_METRICS, *SERVICE_METRICS)}

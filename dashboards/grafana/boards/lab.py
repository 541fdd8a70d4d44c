"""The dashboard of the lab's health, from the service's own metrics: delays, failures and refusals."""

from __future__ import annotations

from dashboards.grafana.boards.page import Page
from dashboards.grafana.boards.parts import SCRAPE, Lines, choice, lines, query, rates, single
from longhaul.orchestrator.live.grafana_links import LAB_BOARD

_HERE = 'instance=~"$instance"'


def lab_page() -> Page:
    """The dashboard of the service."""
    page = Page(
        LAB_BOARD,
        "Longhaul: lab",
        "Health of the service and its workers: the run queue, running runs, guest deaths, samples that Prometheus accepts, and response times.",
        shown=("now-6h", "now"),
        live="10s",
    )
    page.variables(
        choice("instance", "Service", "label_values(longhaul_queue_runs, instance)", "Services to show.", many=True)
    )
    page.add(*_now())
    page.row("Runs")
    page.add(
        lines(
            "Queued and running runs",
            "Runs in the database that have not ended, by status.",
            "short",
            query(f'sum by (state) (longhaul_runs{{{_HERE},state=~"queued|running"}})', "{{state}}", least_step=SCRAPE),
        ),
        lines(
            "Ended runs",
            "Runs in the database that have ended, by status.",
            "short",
            query(f'sum by (state) (longhaul_runs{{{_HERE},state!~"queued|running"}})', "{{state}}", least_step=SCRAPE),
        ),
        lines(
            "Experiments",
            "Experiments in the database, by status.",
            "short",
            query(f"sum by (state) (longhaul_experiments{{{_HERE}}})", "{{state}}", least_step=SCRAPE),
        ),
        lines(
            "Age of the queue",
            "How long the first run in the queue has waited.",
            "s",
            query(f"longhaul_queue_age_seconds{{{_HERE}}}", "{{instance}}", least_step=SCRAPE),
        ),
        lines(
            "Virtual seconds per real second",
            "Simulated time per second of a slot, over runs that ended in the last 10 minutes, and over all runs in the database (of all).",
            "none",
            query(f"longhaul_virtual_seconds_per_wall_second{{{_HERE}}}", "{{instance}}", "A", SCRAPE),
            query(
                f"longhaul_virtual_seconds_total{{{_HERE}}} / longhaul_wall_seconds_total{{{_HERE}}}",
                "{{instance}} of all",
                "B",
                SCRAPE,
            ),
        ),
        _counted(
            "Guest deaths",
            "Guests that died before their run ended, per hour.",
            "longhaul_guest_deaths_total",
            "instance",
        ),
        _counted(
            "Retried runs",
            "Runs that started again after a guest's death or after their return to the queue, per hour.",
            "longhaul_run_retries_total",
            "instance",
        ),
        _counted(
            "Delivered notifications",
            "Messages that e-mail servers and webhooks accepted, per hour.",
            "longhaul_messages_delivered_total",
            "instance",
        ),
        _counted(
            "Failed notifications",
            "Messages that were given up, per hour: the last attempt failed, or none could succeed.",
            "longhaul_messages_failed_total",
            "instance",
        ),
    )
    page.row("Export to Prometheus")
    page.add(
        lines(
            "Export lag",
            "Age of the oldest samples that Prometheus has not accepted yet.",
            "s",
            query(f"longhaul_export_lag_seconds{{{_HERE}}}", "{{instance}}", least_step=SCRAPE),
        ),
        lines(
            "Spool",
            "Samples on disk that Prometheus has not accepted yet.",
            "bytes",
            query(f"longhaul_export_spool_bytes{{{_HERE}}}", "{{instance}}", least_step=SCRAPE),
        ),
        rates(
            "Samples",
            "Samples per second that Prometheus accepted, and those that it refused permanently.",
            "short",
            query(_rate("longhaul_export_samples_total", "instance"), "{{instance}} accepted", "A", SCRAPE),
            query(_rate("longhaul_export_refused_samples_total", "instance"), "{{instance}} refused", "B", SCRAPE),
        ),
        lines(
            "Leases",
            "How long each lease has been held; 0 while it is free.",
            "s",
            query(f"longhaul_lease_held_seconds{{{_HERE}}}", "{{lease}}", least_step=SCRAPE),
        ),
    )
    page.row("Requests")
    page.add(*_requests())
    return page


def _now() -> list[object]:
    return [
        single("Up", "Services that Prometheus can scrape.", "none", f'sum(up{{job="longhaul",{_HERE}}})'),
        single("Running", "Runs with the status running.", "short", f'sum(longhaul_runs{{{_HERE},state="running"}})'),
        single("Queued", "Runs that wait for a slot.", "short", f"sum(longhaul_queue_runs{{{_HERE}}})"),
        single(
            "Longest wait",
            "How long the first run in the queue has waited.",
            "s",
            f"max(longhaul_queue_age_seconds{{{_HERE}}})",
        ),
        single("Event streams", "Open event streams.", "short", f"sum(longhaul_followers{{{_HERE}}})"),
        single(
            "Alerts",
            "Longhaul alerts that are firing.",
            "short",
            'count(ALERTS{alertname=~"Longhaul.*",alertstate="firing"}) or vector(0)',
        ),
    ]


def _requests() -> list[Lines]:
    def quantile(of: str) -> str:
        return f"histogram_quantile({of}, sum by (le) (rate(longhaul_request_seconds_bucket{{{_HERE}}}[$__rate_interval])))"

    return [
        rates(
            "Requests",
            "Responses per second, by HTTP status.",
            "reqps",
            query(
                f"sum by (status) (rate(longhaul_request_seconds_count{{{_HERE}}}[$__rate_interval]))",
                "{{status}}",
                least_step=SCRAPE,
            ),
        ),
        rates(
            "Time to the first byte",
            "Percentiles over all responses, from the buckets of the histogram.",
            "s",
            *(query(quantile(f"0.{of}"), f"p{of}", ref, SCRAPE) for ref, of in (("A", "50"), ("B", "95"), ("C", "99"))),
        ),
        rates(
            "Slowest operations",
            "95th percentile of the time to the first byte, of the ten slowest operations.",
            "s",
            query(
                "topk(10, histogram_quantile(0.95, sum by (le, operation) "
                f"(rate(longhaul_request_seconds_bucket{{{_HERE}}}[$__rate_interval]))))",
                "{{operation}}",
                least_step=SCRAPE,
            ),
            span=24,
        ),
    ]


def _counted(title: str, about: str, counter: str, label: str) -> Lines:
    return rates(title, about, "short", query(f"3600 * {_rate(counter, label)}", f"{{{{{label}}}}}", least_step=SCRAPE))


def _rate(counter: str, label: str) -> str:
    return f"sum by ({label}) (rate({counter}{{{_HERE}}}[$__rate_interval]))"

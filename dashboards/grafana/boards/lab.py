"""The lab's health, by the service's own numbers: is anything stuck, late, dying or refused."""

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
        "How the service and its workers are doing: the queue, what runs, what dies, what Prometheus takes, how fast requests are answered.",
        shown=("now-6h", "now"),
        live="10s",
    )
    page.variables(
        choice("instance", "Service", "label_values(longhaul_queue_runs, instance)", "Which service.", many=True)
    )
    page.add(*_now())
    page.row("Runs")
    page.add(
        lines(
            "Runs that wait and run",
            "Runs of the record that are not over yet.",
            "short",
            query(f'sum by (state) (longhaul_runs{{{_HERE},state=~"queued|running"}})', "{{state}}", least_step=SCRAPE),
        ),
        lines(
            "Runs that are over",
            "Runs in the record that came to each end.",
            "short",
            query(f'sum by (state) (longhaul_runs{{{_HERE},state!~"queued|running"}})', "{{state}}", least_step=SCRAPE),
        ),
        lines(
            "Experiments",
            "Experiments of the record by state.",
            "short",
            query(f"sum by (state) (longhaul_experiments{{{_HERE}}})", "{{state}}", least_step=SCRAPE),
        ),
        lines(
            "Age of the queue",
            "How long the first run of the queue has waited.",
            "s",
            query(f"longhaul_queue_age_seconds{{{_HERE}}}", "{{instance}}", least_step=SCRAPE),
        ),
        lines(
            "Virtual seconds per wall second",
            "Time that runs simulated for each second of a slot, over runs that ended in the last 10 minutes. Dashed: over all that the record holds.",
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
            "Guests that ended before their work, an hour.",
            "longhaul_guest_deaths_total",
            "instance",
        ),
        _counted(
            "Runs begun again",
            "After a guest's death, or given back to the queue; an hour.",
            "longhaul_run_retries_total",
            "instance",
        ),
    )
    page.row("What Prometheus gets of runs")
    page.add(
        lines(
            "Export lag",
            "Age of the oldest samples that wait for Prometheus.",
            "s",
            query(f"longhaul_export_lag_seconds{{{_HERE}}}", "{{instance}}", least_step=SCRAPE),
        ),
        lines(
            "Spool",
            "Samples that wait for Prometheus on disks.",
            "bytes",
            query(f"longhaul_export_spool_bytes{{{_HERE}}}", "{{instance}}", least_step=SCRAPE),
        ),
        rates(
            "Samples",
            "Samples a second that Prometheus took, and those that it refused for good.",
            "short",
            query(_rate("longhaul_export_samples_total", "instance"), "{{instance}} taken", "A", SCRAPE),
            query(_rate("longhaul_export_refused_samples_total", "instance"), "{{instance}} refused", "B", SCRAPE),
        ),
        lines(
            "Leases",
            "How long each lease has been with its holder; 0 while it is free.",
            "s",
            query(f"longhaul_lease_held_seconds{{{_HERE}}}", "{{lease}}", least_step=SCRAPE),
        ),
    )
    page.row("Requests")
    page.add(*_requests())
    return page


def _now() -> list[object]:
    return [
        single(
            "Up",
            "Services that Prometheus reaches, of those it asks.",
            "none",
            f'sum(up{{job="longhaul",{_HERE}}})',
        ),
        single(
            "Running", "Runs that are being carried out.", "short", f'sum(longhaul_runs{{{_HERE},state="running"}})'
        ),
        single("Waiting", "Runs that wait for a slot.", "short", f"sum(longhaul_queue_runs{{{_HERE}}})"),
        single(
            "Waiting for", "How long the first of them has waited.", "s", f"max(longhaul_queue_age_seconds{{{_HERE}}})"
        ),
        single("Followers", "Open event streams.", "short", f"sum(longhaul_followers{{{_HERE}}})"),
        single(
            "Alerts",
            "Alerts of the lab that fire now.",
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
            "Requests answered a second, by status.",
            "reqps",
            query(
                f"sum by (status) (rate(longhaul_request_seconds_count{{{_HERE}}}[$__rate_interval]))",
                "{{status}}",
                least_step=SCRAPE,
            ),
        ),
        rates(
            "Time to the first byte",
            "Percentiles of all answers, from the histogram's buckets.",
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

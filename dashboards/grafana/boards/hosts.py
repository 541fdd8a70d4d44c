"""Long-haul hosts: what the flows of physical endpoints do, host by host."""

from __future__ import annotations

from dashboards.grafana.boards.page import Page, changed
from dashboards.grafana.boards.parts import (
    SCRAPE,
    Lines,
    Query,
    choice,
    lines,
    now,
    of_flows,
    query,
    rates,
    rows,
    stretch,
)
from longhaul.orchestrator.live.grafana_links import HOSTS_BOARD

_RUNS = 'backend="hosts"'
_FLOWS = f'{_RUNS},host=~"$host"'
_NAME = "{{host}} {{flow}} {{cc}}"


def hosts_page() -> Page:
    """The dashboard of physical endpoints."""
    page = Page(
        HOSTS_BOARD,
        "Longhaul: long-haul hosts",
        "Runs on physical endpoints over a real path, at the times when they happened; the host is the sending one.",
        shown=("now-6h", "now"),
        live="10s",
    )
    page.variables(
        choice(
            "host", "Host", f"label_values(longhaul_flow_goodput_bps{{{_RUNS}}}, host)", "The sending host.", many=True
        ),
        stretch(),
    )
    page.marks(changed(_RUNS))
    page.add(
        rows(
            "Runs",
            "What longhaul_run_info says of runs in the time shown.",
            [(name, name, "") for name in ("experiment", "run", "point", "seed", "clock", "kernel")],
            now(
                f"max by (experiment, run, point, seed, clock, kernel) (last_over_time(longhaul_run_info{{{_RUNS}}}[$__range]))"
            ),
            height=6,
        )
    )
    page.add(
        _mean("Goodput", "What the receiver's application got", "bps", "longhaul_flow_goodput_bps"),
        _mean("Throughput", "Frames that reached the receiver", "bps", "longhaul_flow_throughput_bps"),
        lines(
            "Round trip time",
            "What ACKs measured; what rises above the lowest is queues.",
            "s",
            _plain("longhaul_flow_rtt_seconds"),
        ),
        lines(
            "Round trip above its lowest",
            "The round trip less the lowest of the time shown, of the same flow: the time spent in queues, if the route stayed the same.",
            "s",
            query(
                f"longhaul_flow_rtt_seconds{{{_FLOWS}}} - min_over_time(longhaul_flow_rtt_seconds{{{_FLOWS}}}[$__range] @ end())",
                _NAME,
            ),
        ),
        lines(
            "Congestion window",
            "In packets of one MSS.",
            "short",
            _plain("longhaul_flow_cwnd_packets"),
            span=24,
            height=10,
        ),
        rates(
            "Retransmits",
            "Segments sent again a second, over `Rates over`; loss cannot be seen from the ends in any other way.",
            "short",
            query(f"rate(longhaul_flow_retransmits_total{{{_FLOWS}}}[$window])", _NAME),
        ),
        lines(
            "In flight",
            "Packets sent and neither acknowledged nor taken for lost.",
            "short",
            _plain("longhaul_flow_inflight_packets"),
        ),
        lines(
            "Leases of hosts",
            "How long each lease has been with its holder; 0 while it is free.",
            "s",
            query("longhaul_lease_held_seconds", "{{lease}}", least_step=SCRAPE),
            span=24,
        ),
    )
    return page


def _plain(metric: str) -> Query:
    return query(of_flows(metric, _FLOWS), _NAME)


def _mean(title: str, about: str, unit: str, metric: str) -> Lines:
    return rates(
        title,
        f"{about}: mean of the samples of the last `Rates over`.",
        unit,
        query(f"avg_over_time({metric}{{{_FLOWS}}}[$window])", _NAME),
    )

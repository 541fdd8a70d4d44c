"""The dashboard of physical hosts: the flows of each host."""

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
    """The dashboard of physical hosts."""
    page = Page(
        HOSTS_BOARD,
        "Longhaul: physical hosts",
        "Runs on physical hosts over a real path, in real time. The variable Host is the sending host.",
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
            "Runs in the time shown, from longhaul_run_info.",
            [(name, name, "") for name in ("experiment", "run", "point", "seed", "clock", "kernel")],
            now(
                f"max by (experiment, run, point, seed, clock, kernel) (last_over_time(longhaul_run_info{{{_RUNS}}}[$__range]))"
            ),
            height=6,
        )
    )
    page.add(
        _mean("Goodput", "Bytes delivered to the receiving application", "bps", "longhaul_flow_goodput_bps"),
        _mean("Throughput", "Frames that reached the receiver", "bps", "longhaul_flow_throughput_bps"),
        lines(
            "RTT",
            "Round-trip time measured by ACKs; values above the minimum are queueing.",
            "s",
            _plain("longhaul_flow_rtt_seconds"),
        ),
        lines(
            "RTT above the minimum",
            "RTT of a flow less its minimum in the time shown: the time in queues, if the route stayed the same.",
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
            "Segments sent again per second, over `Rates over`. The end hosts have no other measurement of loss.",
            "short",
            query(f"rate(longhaul_flow_retransmits_total{{{_FLOWS}}}[$window])", _NAME),
        ),
        lines(
            "In flight",
            "Packets sent that are neither acknowledged nor considered lost.",
            "short",
            _plain("longhaul_flow_inflight_packets"),
        ),
        lines(
            "Leases of hosts",
            "How long each lease has been held; 0 while it is free.",
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

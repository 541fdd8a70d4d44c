"""The dashboard of one run: every flow and every queue, on one time axis with one crosshair."""

from __future__ import annotations

from dashboards.grafana.boards.page import Page, annotations_by_longhaul, changed, losses, started, stopped
from dashboards.grafana.boards.parts import (
    FLOW,
    LINK,
    Lines,
    bars,
    choice,
    dashed,
    experiments,
    hidden,
    lines,
    logarithmic,
    now,
    of_flows,
    query,
    rates,
    rows,
    stretch,
)
from longhaul.orchestrator.live.grafana_links import COMPARE_BOARD, EXPERIMENT_BOARD, RUN_BOARD, run_on_service

_FLOWS = 'run="$run",flow=~"$flow"'
_LINKS = 'run="$run",link=~"$link"'


def run_page() -> Page:
    """The dashboard of one run."""
    page = Page(
        RUN_BOARD,
        "Longhaul: one run",
        "Every flow and every queue of one run. A run in virtual time is placed shortly before the time at which it was simulated, "
        "with its virtual duration.",
        live="5s",
    )
    page.variables(
        experiments(),
        choice(
            "run", "Run", 'label_values(longhaul_run_info{experiment=~"$experiment"}, run)', "Runs in the time shown."
        ),
        choice(
            "flow", "Flow", 'label_values(longhaul_flow_goodput_bps{run="$run"}, flow)', "Flows to draw.", many=True
        ),
        choice(
            "link", "Link", 'label_values(longhaul_link_queue_packets{run="$run"}, link)', "Links to draw.", many=True
        ),
        stretch(),
        hidden("service", "label_values(longhaul_service_info, url)", "The address of the service."),
    )
    page.marks(
        started(_FLOWS), stopped(_FLOWS), changed('run="$run"'), losses(_LINKS), annotations_by_longhaul("run:$run")
    )
    page.add_link(
        "Run in the web page",
        run_on_service("${service}", "${run}"),
        "The page of this run with its measures and files",
    )
    page.add_link(
        "Compare",
        f"/d/{COMPARE_BOARD}?var-experiment=${{experiment}}&var-a=${{run}}",
        "Compare other runs with this run",
        keep_time=True,
    )
    page.add_link(
        "Experiment",
        f"/d/{EXPERIMENT_BOARD}?var-experiment=${{experiment}}&from=now-24h&to=now",
        "All runs of the experiment",
    )

    page.add(
        rows(
            "Run",
            "The labels of longhaul_run_info.",
            [(name, name, "") for name in ("experiment", "run", "point", "seed", "backend", "clock", "kernel")],
            now(
                'max by (experiment, run, point, seed, backend, clock, kernel) (last_over_time(longhaul_run_info{run="$run"}[$__range]))'
            ),
            height=4,
        ),
    )
    page.row("Windows")
    page.add(*_windows())
    page.row("Rates")
    page.add(*_rates())
    page.row("Path")
    page.add(*_path())
    return page


def _windows() -> list[Lines]:
    cwnd = query(of_flows("longhaul_flow_cwnd_packets", _FLOWS), FLOW)
    ssthresh = query(of_flows("longhaul_flow_ssthresh_packets", _FLOWS), f"{FLOW} ssthresh", "B")
    about = "Congestion window of the sender at each ACK, in packets of one MSS. Dashed: slow start threshold, once it is set."
    return [
        dashed(lines("Congestion window", about, "short", cwnd, ssthresh, span=24, height=11), "/ssthresh/"),
        logarithmic(
            lines(
                "Congestion window, logarithmic",
                "The same, on a logarithmic axis to base 2: slow start is a straight line, and small flows are visible next to large ones.",
                "short",
                query(of_flows("longhaul_flow_cwnd_packets", _FLOWS), FLOW),
            )
        ),
        lines(
            "In flight",
            "Packets sent that are neither acknowledged nor considered lost. Below the window if the application, the receiver's window or pacing limits the flow.",
            "short",
            query(of_flows("longhaul_flow_inflight_packets", _FLOWS), FLOW),
        ),
        lines(
            "RTT",
            "Round-trip time measured by ACKs, with propagation and queueing. In real time without SACK it is the kernel's smoothed RTT.",
            "s",
            query(of_flows("longhaul_flow_rtt_seconds", _FLOWS), FLOW),
        ),
        lines(
            "Pacing rate",
            "The rate at which TCP paces the flow, if it is limited.",
            "bps",
            query(of_flows("longhaul_flow_pacing_bps", _FLOWS), FLOW),
        ),
    ]


def _rates() -> list[Lines]:
    goodput = f"avg_over_time(longhaul_flow_goodput_bps{{{_FLOWS}}}[$window])"
    # Only flows with congestion control: a constant bit rate has no fair share.
    adapting = (
        '(avg_over_time(longhaul_flow_goodput_bps{run="$run",cc!=""}[$window])'
        ' and on (flow) longhaul_flow_active{run="$run"})'
    )
    return [
        rates(
            "Goodput",
            "Bytes delivered to the receiving application, without headers and repetitions: mean of the samples of the last `Rates over`, in bit/s.",
            "bps",
            query(goodput, FLOW),
        ),
        rates(
            "Throughput",
            "Frames that reached the receiver, with headers and repetitions: mean of the samples of the last `Rates over`.",
            "bps",
            query(f"avg_over_time(longhaul_flow_throughput_bps{{{_FLOWS}}}[$window])", FLOW),
        ),
        bars(
            "Retransmits",
            "Segments sent again within each `Rates over`: the increase of the counter. Each segment is in exactly one bar.",
            "short",
            query(_within("longhaul_flow_retransmits_total", _FLOWS), FLOW, least_step="$window"),
        ),
        rates(
            "Jain's index of fairness",
            "(sum x)^2 / (n sum x^2) over the goodputs x of the n active flows with a congestion control; 1 means equal shares, 1/n means that one flow has all.",
            "none",
            query(f"sum{adapting} ^ 2 / (count{adapting} * sum({adapting} ^ 2))", "Jain"),
        )
        .min(0)
        .max(1),
    ]


def _path() -> list[Lines]:
    return [
        lines(
            "Queue",
            "Packets waiting in each link's queue.",
            "short",
            query(f"longhaul_link_queue_packets{{{_LINKS}}}", LINK),
            span=24,
        ),
        bars(
            "Drops",
            "Packets dropped by the queue within each `Rates over`: the increase of the counter. Each packet is in exactly one bar. Random loss of the path is not included.",
            "short",
            query(_within("longhaul_link_drops_total", _LINKS), LINK, least_step="$window"),
        ),
        dashed(
            rates(
                "Throughput of links",
                "Bytes that left each queue, with headers: mean of the samples of the last `Rates over`. Dashed: the configured rate of the link.",
                "bps",
                query(f"avg_over_time(longhaul_link_throughput_bps{{{_LINKS}}}[$window])", LINK),
                query(f"longhaul_link_rate_bps{{{_LINKS}}}", f"{LINK} rate", "B"),
            ),
            "/ rate$/",
        ),
    ]


def _within(counter: str, selector: str) -> str:
    """The increase of a counter within `window`; a missing value before the first sample counts as 0."""
    metric = f"{counter}{{{selector}}}"
    return f"{metric} - ({metric} offset $window or 0 * {metric})"

"""One run: what every flow and every queue did, on one time axis with one crosshair."""

from __future__ import annotations

from dashboards.grafana.boards.page import Page, changed, losses, started, stopped, told_by_longhaul
from dashboards.grafana.boards.parts import (
    FLOW,
    LINK,
    Lines,
    bars,
    choice,
    dashed,
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
        "What every flow and every queue of one run did. Virtual time is shown where it was put: a run in virtual time lies "
        "shortly before the moment at which it was carried out, as long as it lasted in its own time.",
        live="5s",
    )
    page.variables(
        choice(
            "experiment",
            "Experiment",
            "label_values(longhaul_run_info, experiment)",
            "Those with runs in the time shown.",
        ),
        choice(
            "run", "Run", 'label_values(longhaul_run_info{experiment=~"$experiment"}, run)', "Those in the time shown."
        ),
        choice(
            "flow", "Flow", 'label_values(longhaul_flow_goodput_bps{run="$run"}, flow)', "Which to draw.", many=True
        ),
        choice(
            "link", "Link", 'label_values(longhaul_link_queue_packets{run="$run"}, link)', "Which to draw.", many=True
        ),
        stretch(),
        hidden("service", "label_values(longhaul_service_info, url)", "Where the service says that it is."),
    )
    page.marks(started(_FLOWS), stopped(_FLOWS), changed('run="$run"'), losses(_LINKS), told_by_longhaul("run:$run"))
    page.door(
        "The run in the web page",
        run_on_service("${service}", "${run}"),
        "Watched, compared, with its numbers, files and verdicts",
    )
    page.door(
        "Compare it",
        f"/d/{COMPARE_BOARD}?var-experiment=${{experiment}}&var-a=${{run}}",
        "This run as the time base, others laid over it",
        keep_time=True,
    )
    page.door(
        "Its experiment", f"/d/{EXPERIMENT_BOARD}?var-experiment=${{experiment}}&from=now-24h&to=now", "All of its runs"
    )

    page.add(
        rows(
            "The run",
            "What longhaul_run_info says of it.",
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
    page.row("The path")
    page.add(*_path())
    return page


def _windows() -> list[Lines]:
    cwnd = query(of_flows("longhaul_flow_cwnd_packets", _FLOWS), FLOW)
    ssthresh = query(of_flows("longhaul_flow_ssthresh_packets", _FLOWS), f"{FLOW} ssthresh", "B")
    about = "Congestion window of the sender, in packets of one MSS, as each ACK found it. Dashed: slow start threshold, once there is one."
    return [
        dashed(lines("Congestion window", about, "short", cwnd, ssthresh, span=24, height=11), "/ssthresh/"),
        logarithmic(
            lines(
                "Congestion window, logarithmic",
                "The same, in powers of 2: slow start is a straight line, and small flows are seen beside large ones.",
                "short",
                query(of_flows("longhaul_flow_cwnd_packets", _FLOWS), FLOW),
            )
        ),
        lines(
            "In flight",
            "Packets sent and neither acknowledged nor taken for lost. Below the window where the application, the receiver's window or pacing limits.",
            "short",
            query(of_flows("longhaul_flow_inflight_packets", _FLOWS), FLOW),
        ),
        lines(
            "Round trip time",
            "What ACKs measured, propagation and queues. By the real clock and without SACK it is the kernel's smoothed one.",
            "s",
            query(of_flows("longhaul_flow_rtt_seconds", _FLOWS), FLOW),
        ),
        lines(
            "Pacing rate",
            "The rate that TCP paces itself to, where anything limits it.",
            "bps",
            query(of_flows("longhaul_flow_pacing_bps", _FLOWS), FLOW),
        ),
    ]


def _rates() -> list[Lines]:
    goodput = f"avg_over_time(longhaul_flow_goodput_bps{{{_FLOWS}}}[$window])"
    # Only those that adapt: a constant bit rate has no fair share.
    adapting = (
        '(avg_over_time(longhaul_flow_goodput_bps{run="$run",cc!=""}[$window])'
        ' and on (flow) longhaul_flow_active{run="$run"})'
    )
    return [
        rates(
            "Goodput",
            "What the receiver's application got: mean of the samples of the last `Rates over`, in bit/s, without headers and repetitions.",
            "bps",
            query(goodput, FLOW),
        ),
        rates(
            "Throughput",
            "Frames that reached the receiver, headers and repetitions too: mean of the samples of the last `Rates over`.",
            "bps",
            query(f"avg_over_time(longhaul_flow_throughput_bps{{{_FLOWS}}}[$window])", FLOW),
        ),
        bars(
            "Retransmits",
            "Segments sent again within each `Rates over`: the counter now less the counter then; each is in exactly one bar.",
            "short",
            query(_within("longhaul_flow_retransmits_total", _FLOWS), FLOW, least_step="$window"),
        ),
        rates(
            "Jain's index of fairness",
            "(sum x)^2 / (n sum x^2) over the goodputs x of the n flows that have a congestion control and are there; 1 is equal shares, 1/n is one flow having all.",
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
            "Packets that wait in each link's queue.",
            "short",
            query(f"longhaul_link_queue_packets{{{_LINKS}}}", LINK),
            span=24,
        ),
        bars(
            "Drops",
            "Packets that the queue dropped within each `Rates over`: the counter now less the counter then; each is in exactly one bar. Random loss of the path is none of the queue's.",
            "short",
            query(_within("longhaul_link_drops_total", _LINKS), LINK, least_step="$window"),
        ),
        dashed(
            rates(
                "Throughput of links",
                "What left each queue, headers and all: mean of the samples of the last `Rates over`. Dashed: the rate that the link is set to.",
                "bps",
                query(f"avg_over_time(longhaul_link_throughput_bps{{{_LINKS}}}[$window])", LINK),
                query(f"longhaul_link_rate_bps{{{_LINKS}}}", f"{LINK} rate", "B"),
            ),
            "/ rate$/",
        ),
    ]


def _within(counter: str, selector: str) -> str:
    """How far a counter came within `window`; it began at 0, so what is missing before the first sample is 0."""
    metric = f"{counter}{{{selector}}}"
    return f"{metric} - ({metric} offset $window or 0 * {metric})"

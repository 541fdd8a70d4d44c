"""The dashboard of an experiment: all of its runs with their results and links."""

from __future__ import annotations

from dashboards.grafana.boards.page import Page
from dashboards.grafana.boards.parts import choice, experiments, lifetimes, lines, linked, now, query, rows, single
from longhaul.orchestrator.live.grafana_links import COMPARE_BOARD, EXPERIMENT_BOARD, RUN_BOARD

_RUNS = 'experiment="$experiment",backend=~"$backend"'
_FLOWS = f'{_RUNS},cc=~"$cc"'


def experiment_page() -> Page:
    """The dashboard of all runs of an experiment."""
    page = Page(
        EXPERIMENT_BOARD,
        "Longhaul: experiment",
        "All runs of an experiment in the time shown. Numbers cover whole runs with their warmup; the measures in `longhaul show` leave the warmup out.",
        shown=("now-24h", "now"),
        live="30s",
    )
    page.variables(
        experiments(),
        choice(
            "backend",
            "Backend",
            'label_values(longhaul_run_info{experiment="$experiment"}, backend)',
            "Backends of the runs.",
            many=True,
        ),
        choice(
            "cc",
            "Congestion control",
            'label_values(longhaul_flow_cwnd_packets{experiment="$experiment"}, cc)',
            "Congestion controls of the flows.",
            many=True,
        ),
    )
    page.add(
        single(
            "Runs",
            "Runs of the experiment with samples in the time shown.",
            "short",
            f"count(last_over_time(longhaul_run_start_seconds{{{_RUNS}}}[$__range]))",
            drawn=False,
        ),
        single(
            "Mean goodput of a flow",
            "Mean over flows of each flow's mean over its run.",
            "bps",
            f"avg(avg_over_time(longhaul_flow_goodput_bps{{{_FLOWS}}}[$__range]))",
            drawn=False,
            decimals=1,
        ),
        single(
            "Mean RTT",
            "Mean over flows of each flow's mean of samples over its run.",
            "s",
            f"avg(avg_over_time(longhaul_flow_rtt_seconds{{{_FLOWS}}}[$__range]))",
            drawn=False,
            decimals=1,
        ),
        single(
            "Retransmits",
            "Segments sent again, sum over all runs.",
            "short",
            f"sum(max_over_time(longhaul_flow_retransmits_total{{{_FLOWS}}}[$__range]))",
            drawn=False,
        ),
        single(
            "Drops",
            "Packets dropped by queues, sum over all runs.",
            "short",
            f"sum(max_over_time(longhaul_link_drops_total{{{_RUNS}}}[$__range]))",
            drawn=False,
        ),
        single(
            "Fairness",
            "Jain's index, (sum x)^2 / (n sum x^2), over the mean goodputs x of a run's flows; mean over runs.",
            "none",
            f"avg({_jain()})",
            drawn=False,
            decimals=3,
        ),
    )
    page.add(_runs(), _flows())
    goodput = f"avg_over_time(longhaul_flow_goodput_bps{{{_FLOWS}}}[$__range])"
    page.add(
        lines(
            "Times of runs",
            "A line for the duration of each run, at the number of its flows at the time.",
            "short",
            query(f"count by (run) (longhaul_flow_goodput_bps{{{_FLOWS}}})", "{{run}}"),
            span=24,
        ),
        _by_cc(
            "Goodput by congestion control",
            "Mean over all flows of a congestion control of each flow's mean over its run.",
            "bps",
            goodput,
        ),
        _by_cc(
            "RTT by congestion control",
            "Mean over all flows of a congestion control of the 95th percentile of their RTT samples.",
            "s",
            f"quantile_over_time(0.95, longhaul_flow_rtt_seconds{{{_FLOWS}}}[$__range])",
        ),
    )
    return page


def _jain() -> str:
    mean = f"avg_over_time(longhaul_flow_goodput_bps{{{_FLOWS}}}[$__range])"
    return f"sum by (run) ({mean}) ^ 2 / (count by (run) ({mean}) * sum by (run) ({mean} ^ 2))"


def _runs() -> object:
    begins, ends = lifetimes(_RUNS, "[$__range]")
    table = rows(
        "Table of runs",
        "Jain's index is over the mean goodputs of the flows. The link in `run` opens the run's dashboard at its time, the link in `begins` compares other runs with it.",
        [
            *((name, name, "") for name in ("run", "point", "seed", "backend", "kernel")),
            ("Value #B", "begins", "dateTimeAsIso"),
            ("Value #C", "ends", "dateTimeAsIso"),
            ("Value #D", "total goodput", "bps"),
            ("Value #E", "Jain", ""),
            ("Value #F", "drops", "short"),
        ],
        now(
            f"max by (run, point, seed, backend, kernel) (last_over_time(longhaul_run_info{{{_RUNS}}}[$__range]))", "A"
        ),
        now(begins, "B"),
        now(ends, "C"),
        now(f"sum by (run) (avg_over_time(longhaul_flow_goodput_bps{{{_FLOWS}}}[$__range]))", "D"),
        now(_jain(), "E"),
        now(f"sum by (run) (max_over_time(longhaul_link_drops_total{{{_RUNS}}}[$__range]))", "F"),
        height=9,
    )
    at = "from=${__data.fields.begins.numeric}&to=${__data.fields.ends.numeric}"
    run = "${__data.fields.run}"
    linked(table, "run", "Open", f"/d/{RUN_BOARD}?var-experiment=${{experiment}}&var-run={run}&{at}")
    return linked(table, "begins", "Compare", f"/d/{COMPARE_BOARD}?var-experiment=${{experiment}}&var-a={run}&{at}")


def _flows() -> object:
    of_each = "by (run, flow, cc)"
    return rows(
        "Table of flows",
        "Over each whole run: means of samples, the 95th percentile of the RTT, and the last value of the counter. Goodput has a sample every 10 ms. Window and RTT have the minimum and maximum of each 10 ms with an ACK, so their means give more weight to times with many ACKs and to jumps.",
        [
            *((name, name, "") for name in ("run", "flow", "cc")),
            ("Value #A", "goodput", "bps"),
            ("Value #B", "RTT", "s"),
            ("Value #C", "RTT p95", "s"),
            ("Value #D", "window", "short"),
            ("Value #E", "retransmits", "short"),
        ],
        now(f"avg {of_each} (avg_over_time(longhaul_flow_goodput_bps{{{_FLOWS}}}[$__range]))", "A"),
        now(f"avg {of_each} (avg_over_time(longhaul_flow_rtt_seconds{{{_FLOWS}}}[$__range]))", "B"),
        now(f"avg {of_each} (quantile_over_time(0.95, longhaul_flow_rtt_seconds{{{_FLOWS}}}[$__range]))", "C"),
        now(f"avg {of_each} (avg_over_time(longhaul_flow_cwnd_packets{{{_FLOWS}}}[$__range]))", "D"),
        now(f"max {of_each} (max_over_time(longhaul_flow_retransmits_total{{{_FLOWS}}}[$__range]))", "E"),
        height=9,
    )


def _by_cc(title: str, about: str, unit: str, of_a_flow: str) -> object:
    return rows(
        title,
        about,
        [("cc", "congestion control", ""), ("Value #A", "mean", unit), ("Value #B", "flows", "short")],
        now(f"avg by (cc) ({of_a_flow})", "A"),
        now(f"count by (cc) ({of_a_flow})", "B"),
    ).span(12)

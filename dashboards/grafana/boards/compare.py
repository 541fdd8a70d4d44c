"""Overlays runs: each is moved in time so that it begins when run A begins.

Runs have different times in Prometheus. `longhaul_run_start_seconds` contains the start of each run, a hidden variable computes
the difference, and `offset` moves the series by it. The time axis is that of run A, and values of run B appear at the same time
after its start.
"""

from __future__ import annotations

from dashboards.grafana.boards.page import Page
from dashboards.grafana.boards.parts import (
    Lines,
    Query,
    choice,
    hidden,
    lifetimes,
    lines,
    linked,
    logarithmic,
    now,
    of_flows,
    query,
    rates,
    rows,
    stretch,
)
from longhaul.orchestrator.live.grafana_links import COMPARE_BOARD, RUN_BOARD

_OTHERS = ("b", "c", "d")
# Around the time shown, and also after it: a compared run may be later.
_ANY_TIME = "[60d] offset -30d"
_RUNS = (
    f'query_result(count by (run) (last_over_time(longhaul_run_start_seconds{{experiment=~"$experiment"}}{_ANY_TIME})))'
)
_RUN = '/run="([^"]+)"/'


def compare_page() -> Page:
    """The dashboard of up to four runs."""
    page = Page(
        COMPARE_BOARD,
        "Longhaul: compare runs",
        "Up to four runs on one time axis. The time shown must be that of run A: open this page from the dashboard of run A, or follow the link in the table.",
    )
    page.variables(
        choice(
            "experiment",
            "Experiment",
            f"query_result(count by (experiment) (last_over_time(longhaul_run_start_seconds{_ANY_TIME})))",
            "Experiments whose runs can be chosen.",
            many=True,
            pattern='/experiment="([^"]+)"/',
        ),
        choice("a", "Run A", _RUNS, "The run that sets the time axis.", pattern=_RUN),
        *(
            choice(one, f"Run {one.upper()}", _RUNS, "Drawn if it differs from the runs before it.", pattern=_RUN)
            for one in _OTHERS
        ),
        choice(
            "flow",
            "Flow",
            'label_values(longhaul_flow_goodput_bps{run=~"$a|$b|$c|$d"}, flow)',
            "Flows to draw.",
            many=True,
        ),
        stretch(),
        *(hidden(f"shift_{one}", _shift(one), f"Milliseconds by which run {one.upper()} is moved.") for one in _OTHERS),
    )
    page.add(_table())
    page.add(
        _over(
            "Congestion window",
            "Congestion window of each flow, in packets of one MSS.",
            "short",
            "longhaul_flow_cwnd_packets",
            span=24,
            height=11,
        ),
        logarithmic(
            _over(
                "Congestion window, logarithmic",
                "The same, on a logarithmic axis to base 2.",
                "short",
                "longhaul_flow_cwnd_packets",
            )
        ),
        _over("RTT", "Round-trip time measured by ACKs.", "s", "longhaul_flow_rtt_seconds"),
        _rates(),
        _difference(),
        _over("Queue", "Packets waiting in each link's queue.", "short", "longhaul_link_queue_packets", of="link"),
        _over(
            "Drops so far",
            "Packets dropped by each queue since the start of the run.",
            "short",
            "longhaul_link_drops_total",
            of="link",
        ),
    )
    return page


def _shift(one: str) -> str:
    """Milliseconds from the start of this run to that of A. Prometheus has no offset of 0, so A itself, which is not drawn again, gets 1."""
    begins = [f'max(last_over_time(longhaul_run_start_seconds{{run="${run}"}}{_ANY_TIME}))' for run in ("a", one)]
    later = f"round(1000 * ({begins[0]} - {begins[1]}))"
    return f"query_result(scalar({later} + ({later} == bool 0)))"


def _selector(one: str, of: str) -> str:
    """The series of a run; none if the same run was chosen before and is drawn already."""
    before = "".join(f',run!="${other}"' for other in ("a", *_OTHERS)[: ("a", *_OTHERS).index(one)])
    return f'run="${one}"{before}' + (',flow=~"$flow"' if of == "flow" else "")


def _moved(one: str) -> str:
    return "" if one == "a" else f" offset ${{shift_{one}}}ms"


def _goodput(one: str) -> str:
    return f"avg_over_time(longhaul_flow_goodput_bps{{{_selector(one, 'flow')}}}[$window]{_moved(one)})"


def _legend(one: str, of: str) -> str:
    return f"{one.upper()} " + ("{{flow}} {{cc}}" if of == "flow" else "{{link}}")


def _over(
    title: str, about: str, unit: str, metric: str, *, of: str = "flow", span: int = 12, height: int = 8
) -> Lines:
    return lines(title, about, unit, *_each(metric, of), span=span, height=height)


def _each(metric: str, of: str) -> list[Query]:
    each = [(one, _selector(one, of), _moved(one)) for one in ("a", *_OTHERS)]
    return [
        query(
            of_flows(metric, selector, moved) if of == "flow" else f"{metric}{{{selector}}}{moved}",
            _legend(one, of),
            one.upper(),
        )
        for one, selector, moved in each
    ]


def _rates() -> Lines:
    each = [query(_goodput(one), _legend(one, "flow"), one.upper()) for one in ("a", *_OTHERS)]
    about = "Bytes delivered to the receiving applications: mean of the samples of the last `Rates over`."
    return rates("Goodput", about, "bps", *each)


def _difference() -> Lines:
    """Goodput of each other run's flows less that of the flow with the same name in A."""
    base = f"sum by (flow) ({_goodput('a')})"
    each = [
        query(f"sum by (flow) ({_goodput(one)}) - {base}", f"{one.upper()} - A {{{{flow}}}}", one.upper())
        for one in _OTHERS
    ]
    about = "Goodput of a flow less that of the flow with the same name in run A, at the same time after the start; above 0 the other run is faster."
    return rates("Goodput, difference to A", about, "bps", *each)


def _table() -> object:
    started = f'max by (experiment, run, point, seed, backend, kernel) (last_over_time(longhaul_run_info{{run=~"$a|$b|$c|$d"}}{_ANY_TIME}))'
    begins, ends = lifetimes('run=~"$a|$b|$c|$d"', _ANY_TIME)
    table = rows(
        "Runs",
        "The times of the runs. The link in `run` opens the run's dashboard, the link in `begins` makes it run A.",
        [
            *((name, name, "") for name in ("experiment", "run", "point", "seed", "backend", "kernel")),
            ("Value #B", "begins", "dateTimeAsIso"),
            ("Value #C", "ends", "dateTimeAsIso"),
        ],
        now(started, "A"),
        now(begins, "B"),
        now(ends, "C"),
        height=6,
    )
    at = "from=${__data.fields.begins.numeric}&to=${__data.fields.ends.numeric}"
    linked(
        table,
        "run",
        "Open",
        f"/d/{RUN_BOARD}?var-experiment=${{__data.fields.experiment}}&var-run=${{__data.fields.run}}&{at}",
    )
    return linked(table, "begins", "Make it run A", f"/d/{COMPARE_BOARD}?var-a=${{__data.fields.run}}&var-b=$a&{at}")

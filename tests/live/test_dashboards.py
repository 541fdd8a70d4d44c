"""Every query of every dashboard against a real Prometheus, for runs of a real service in the sandbox and in Mininet.

There are no physical hosts here: their dashboard is only checked against the table of metrics (tests/contract/test_dashboards.py).
"""

from __future__ import annotations

import copy
import math
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from longhaul.orchestrator.database.leases import root_slot
from longhaul.orchestrator.live.grafana_links import COMPARE_BOARD, EXPERIMENT_BOARD, LAB_BOARD, RUN_BOARD
from tests.live.prometheus import CONFIG, PrometheusServer
from tests.support.boards import FILES, Filled, Json, marks, panel_queries, read, variables
from tests.support.grafana_queries import Reader, choices, opened
from tests.support.service import ROOT, Service, served
from tests.support.waiting import wait_for

BOARDS = {board["uid"]: board for board in map(read, FILES)}
GRAFANA = "https://grafana.example/lab"

# Every kind of line and mark: two flows that share a queue and lose packets, one of them for a while, and UDP; a path that changes.
SPEC: Json = {
    "experiment": "looked-at",
    "path": {"bandwidth": "20 Mbit/s", "rtt": "40 ms", "buffer": "0.5 BDP"},
    "flows": [
        {"name": "long", "cc": "cubic"},
        {"name": "short", "cc": "reno", "start": "4 s", "stop": "14 s"},
        {"name": "cross", "udp": "2 Mbit/s", "start": "2 s", "stop": "10 s"},
    ],
    "schedule": [{"at": "8 s", "path": {"bandwidth": "10 Mbit/s"}}],
    "start_jitter": "0 s",
    "duration": "20 s",
}
CHANGE_S, STOP_S = 8.0, 14.0


@dataclass(frozen=True)
class Lab:
    """A service, the Prometheus that it sends to and that scrapes it, and its runs, by backend."""

    service: Service
    prometheus: Reader
    runs: dict[str, list[Json]]
    experiments: dict[str, str]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("dashboards")
    # The project's own configuration, with another address of the service and a shorter scrape interval.
    shutil.copytree(CONFIG.parent, folder / "config", ignore=shutil.ignore_patterns("grafana"))
    config = folder / "config" / CONFIG.name
    config.write_text(config.read_text().replace("scrape_interval: 5s", "scrape_interval: 1s"))
    server = PrometheusServer(folder, config=config)
    submissions: dict[str, Json] = {
        "sandbox": {"repeats": 3},
        "mininet": {"backend": "mininet", "where": "guest", "repeats": 2},
    }
    with (
        stopped_at_the_end(server),
        served(folder / "home", LONGHAUL_PROMETHEUS=server.url, LONGHAUL_GRAFANA_URL=GRAFANA) as service,
    ):
        (config.parent / "targets" / "service.yml").write_text(f'- targets: ["127.0.0.1:{service.port}"]\n')
        server.start()
        made = {backend: service.submit({"spec": SPEC, **more}) for backend, more in submissions.items()}
        runs = {}
        for backend, experiment in made.items():
            ended = service.wait(experiment["id"])
            assert ended["status"] == "done", service.log.read_text()[-3000:]
            runs[backend] = [whole(service, href) for href in ended["runs"]]
        with service.client("run") as client:
            lease = client.post(f"{ROOT}/hosts/{root_slot(socket.gethostname())}/lease", json={"seconds": 600})
            assert lease.is_success, lease.text
        # A rate needs two scrapes, and the last step of the time shown is up to 5 s old.
        lease_held = 'count_over_time(longhaul_lease_held_seconds{job="longhaul"}[1h]) >= 10'
        wait_for(lambda: server.query(lease_held), 60, lambda: server.log()[-2000:])
        yield Lab(service, Reader(server.url), runs, {backend: one["id"] for backend, one in made.items()})


@contextmanager
def stopped_at_the_end(server: PrometheusServer) -> Iterator[None]:
    try:
        yield
    finally:
        server.stop()


def whole(service: Service, href: str) -> Json:
    """A run, after Prometheus has all its samples."""
    with service.client("read") as client:
        until_s = time.monotonic() + 60
        while (run := client.get(href).json())["document"]["prometheus"]["waiting"]:
            assert time.monotonic() < until_s
            time.sleep(0.1)
    assert run["document"]["prometheus"]["refused"] == 0
    return dict(run)


def shown(run: Json) -> tuple[float, float]:
    """The time of a run, in seconds since 1970."""
    placed = run["document"]["prometheus"]
    return placed["begin_ms"] / 1000, placed["end_ms"] / 1000


def empty(lab: Lab, board: Json, filled: Filled) -> list[str]:
    """Queries that found nothing."""
    return [str(one) for one in [*panel_queries(board), *marks(board)] if not lab.prometheus.series(filled, one)]


def of_run(lab: Lab, run: Json) -> Filled:
    """The run's dashboard as its link opens it."""
    link = urlsplit(run["links"]["grafana"])
    assert run["links"]["grafana"].startswith(f"{GRAFANA}/d/{RUN_BOARD}?")
    options = {name: values[0] for name, values in parse_qs(link.query).items()}
    given = {name.removeprefix("var-"): value for name, value in options.items() if name.startswith("var-")}
    return opened(BOARDS[RUN_BOARD], lab.prometheus, int(options["from"]) / 1000, int(options["to"]) / 1000, **given)


def query_of(board: str, where: str) -> Any:
    (found,) = [one for one in [*panel_queries(BOARDS[board]), *marks(BOARDS[board])] if one.where == where]
    return found


def points(series: Json) -> list[tuple[float, float]]:
    return [(float(at_s), float(value)) for at_s, value in series["values"]]


@pytest.mark.parametrize("backend", ["sandbox", "mininet"])
def test_every_panel_of_one_run_has_data(lab: Lab, backend: str) -> None:
    run = lab.runs[backend][0]
    filled = of_run(lab, run)
    assert filled.values["run"] == run["id"]
    assert empty(lab, BOARDS[RUN_BOARD], filled) == []
    assert filled.values["service"] == lab.service.url
    # As `longhaul run --json` prints it, here or with --server.
    with lab.service.client("read") as client:
        runs = client.get(f"{ROOT}/experiments/{lab.experiments[backend]}/summary").json()["runs"]
    assert [one["grafana"].partition("?")[0] for one in runs] == [f"{GRAFANA}/d/{RUN_BOARD}"] * len(runs)


@pytest.mark.parametrize("backend", ["sandbox", "mininet"])
def test_every_panel_of_an_experiment_has_data(lab: Lab, backend: str) -> None:
    filled = opened(
        BOARDS[EXPERIMENT_BOARD],
        lab.prometheus,
        time.time() - 3600,
        time.time(),
        experiment="looked-at",
        backend=backend,
    )
    assert empty(lab, BOARDS[EXPERIMENT_BOARD], filled) == []
    (runs,) = lab.prometheus.series(filled, query_of(EXPERIMENT_BOARD, "Runs A"))
    assert float(runs["value"][1]) == len(lab.runs[backend])


def test_every_panel_of_the_lab_has_data(lab: Lab) -> None:
    filled = opened(BOARDS[LAB_BOARD], lab.prometheus, time.time() - 3600, time.time())
    assert empty(lab, BOARDS[LAB_BOARD], filled) == []


def test_every_panel_that_compares_has_data_of_runs_of_both_backends(lab: Lab) -> None:
    filled = compared(lab, [*lab.runs["mininet"], *lab.runs["sandbox"]])
    assert empty(lab, BOARDS[COMPARE_BOARD], filled) == []


def compared(lab: Lab, runs: list[Json]) -> Filled:
    """Runs overlaid on the first of them."""
    chosen = {name: run["id"] for name, run in zip("abcd", runs, strict=False)}
    return opened(BOARDS[COMPARE_BOARD], lab.prometheus, *shown(runs[0]), **chosen)


@pytest.mark.parametrize("uid", [RUN_BOARD, EXPERIMENT_BOARD, COMPARE_BOARD, LAB_BOARD])
def test_variables_offer_existing_values(lab: Lab, uid: str) -> None:
    run = lab.runs["mininet"][0]
    of_lab = uid == LAB_BOARD
    begin_s, end_s = (time.time() - 60, time.time()) if of_lab else shown(run)
    given = {"experiment": "looked-at", "run": run["id"], "a": run["id"]}
    filled = opened(BOARDS[uid], lab.prometheus, begin_s, end_s, **given)
    for variable in variables(BOARDS[uid]):
        if variable["type"] == "query":
            offered = choices(variable, lab.prometheus, filled)
            assert offered, variable["name"]
            assert given.get(variable["name"], offered[0]) in offered


def test_a_shifted_run_overlays_another_of_the_same_trace(lab: Lab) -> None:
    """Two experiments that differ only in name: every point of every line is the same, relative to the start."""
    spec = copy.deepcopy(SPEC) | {"experiment": "looked-at-again"}
    ended = lab.service.wait(lab.service.submit({"spec": spec})["id"])
    again = whole(lab.service, ended["runs"][0])
    (same,) = [one for one in lab.runs["sandbox"] if one["trace_sha256"] == again["trace_sha256"]]
    board = BOARDS[COMPARE_BOARD]
    for a, b in ((same, again), (again, same)):
        filled = compared(lab, [a, b])
        assert (
            int(filled.values["shift_b"])
            == a["document"]["prometheus"]["begin_ms"] - b["document"]["prometheus"]["begin_ms"]
        )
        # Grafana fills in the first of the list for runs C and D, and so one of the others.
        of = {one.where: one for one in panel_queries(board)}
        for title in ("Congestion window", "RTT", "Queue", "Goodput", "Drops so far"):
            lines = [
                sorted(points(series) for series in lab.prometheus.series(filled, of[f"{title} {name}"]))
                for name in "AB"
            ]
            assert lines[0] == lines[1], title
            assert lines[0], title
        for series in lab.prometheus.series(filled, of["Goodput, difference to A B"]):
            assert {value for _, value in points(series)} == {0.0}


def test_marks_have_the_times_of_their_events(lab: Lab) -> None:
    run = lab.runs["sandbox"][0]
    filled, (begin_s, _) = of_run(lab, run), shown(run)

    def first(name: str) -> dict[str, float]:
        found = lab.prometheus.series(filled, query_of(RUN_BOARD, f"marks {name}"))
        labels = "change" if name == "Changes" else "flow"
        return {one["metric"][labels]: points(one)[0][0] - begin_s for one in found}

    starts = {flow["name"]: flow["start_s"] for flow in run["document"]["flows"]}
    marked = first("Flow starts")
    assert marked.keys() == starts.keys()
    # A connection takes a round trip and the mark a step.
    assert all(0 <= marked[name] - starts[name] <= 0.3 for name in starts)
    stops = first("Flow stops")
    assert stops.keys() == {"short", "cross"}
    assert 0 <= stops["short"] - STOP_S <= 0.2
    (change,) = first("Changes").items()
    assert change[0] == "10 Mbit/s"
    assert 0 <= change[1] - CHANGE_S <= 0.1


def test_bars_count_every_drop_once(lab: Lab) -> None:
    run = lab.runs["sandbox"][0]
    filled = of_run(lab, run)
    # A bar reaches back from its step: the last complete one is past the end of the run, where there is nothing.
    (bars,) = lab.prometheus.series(filled, query_of(RUN_BOARD, "Drops A"))
    at_s = points(bars)[-1][0]
    counted = lab.prometheus.ask("query", query=f'longhaul_link_drops_total{{run="{run["id"]}"}}', time=at_s)["result"]
    dropped = float(counted[0]["value"][1])
    assert dropped > 0
    assert sum(value for _, value in points(bars)) == dropped
    assert dropped <= run["document"]["path"]["drops"]


def test_a_line_ends_where_its_flow_does(lab: Lab) -> None:
    run = lab.runs["sandbox"][0]
    filled, (begin_s, end_s) = of_run(lab, run), shown(run)
    ends = {
        one["metric"]["flow"]: points(one)[-1][0] - begin_s
        for one in lab.prometheus.series(filled, query_of(RUN_BOARD, "Congestion window A"))
    }
    assert ends.keys() == {"long", "short"}
    assert STOP_S - 0.1 <= ends["short"] <= STOP_S + 0.1
    assert math.isclose(ends["long"], end_s - begin_s, abs_tol=0.05)


def test_fairness_is_between_one_share_and_all(lab: Lab) -> None:
    run = lab.runs["sandbox"][0]
    filled, (begin_s, _) = of_run(lab, run), shown(run)
    (jain,) = lab.prometheus.series(filled, query_of(RUN_BOARD, "Jain's index of fairness A"))
    values = {at_s - begin_s: value for at_s, value in points(jain) if not math.isnan(value)}
    alone = [value for t_s, value in values.items() if 1 < t_s < 3.9 or t_s > STOP_S + 1]
    together = [value for t_s, value in values.items() if 5 < t_s < STOP_S - 0.5]
    assert alone and all(math.isclose(value, 1, rel_tol=1e-9) for value in alone)
    assert all(0.5 - 1e-9 <= value <= 1 + 1e-9 for value in together)
    assert min(together) < 0.999

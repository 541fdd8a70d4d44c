"""Runs between two stand-ins: their numbers agree with the sandbox, samples arrive while they run, no run exceeds a cap."""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.backends.hosts.ssh_channel import Channel
from longhaul.orchestrator.database.events import EventLog
from longhaul.orchestrator.database.experiments import Experiments
from longhaul.orchestrator.database.leases import Leases
from longhaul.orchestrator.execution.dispatch import serve_dispatcher
from longhaul.orchestrator.execution.request import Request
from longhaul.orchestrator.execution.submission import Desk
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.hosts.authorization import not_allowed
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.host_policy import read_policy
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.locks import locked
from longhaul.orchestrator.system.supervise import Stop
from longhaul.orchestrator.trace.records import TraceTail
from tests.hosts.bench import QUIET, measured
from tests.hosts.runs import LONGHAUL, TRIES, Runner, experiment, only_run, refused_as_busy, wait_until
from tests.live.conftest import prometheus as prometheus
from tests.live.prometheus import PrometheusServer
from tests.support.programs import run_program

CUBIC = experiment("hosts-cubic", [{"name": "app", "cc": "cubic"}], duration="9 s", warmup="2 s")
APPTCP = experiment(
    "hosts-apptcp", [{"name": "app", "cc": "apptcp", "params": {"rate": "10 Mbit/s"}}], duration="6 s", warmup="2 s"
)
_LIVE_WITHIN_S = 2.0


def _goodput(document: dict[str, Any]) -> float:
    return float(only_run(document)["flows"][0]["goodput_bps"])


def _goodput_between(
    runner: Runner, spec: dict[str, Any], bounds: Callable[[dict[str, Any]], tuple[float, float]]
) -> float:
    """The goodput of the first run in which it is between the bounds that its flow's other numbers give."""
    found = []
    for _ in range(TRIES):
        code, document, messages = runner.run(spec)
        if code == 0:
            flow = only_run(document)["flows"][0]
            least_bps, most_bps = bounds(flow)
            if least_bps < flow["goodput_bps"] < most_bps:
                return float(flow["goodput_bps"])
            found.append((flow["goodput_bps"], least_bps, most_bps, flow["rtt_ms"]))
        runner.assert_clean("alpha", "beta")
    pytest.fail(f"goodput, bounds and round trips: {found}: {messages}")


def test_goodput_agrees_with_the_sandbox(runner: Runner) -> None:
    code, document, messages = runner.run(CUBIC, "--backend", "sandbox")
    assert code == 0, messages
    sandbox_bps = _goodput(document)
    real_bps = _goodput_between(runner, CUBIC, lambda flow: (0.95 * sandbox_bps, 1.05 * sandbox_bps))
    measured(
        f"cubic over 20 Mbit/s x 40 ms: {real_bps / 1e6:.2f} Mbit/s on stand-ins, {sandbox_bps / 1e6:.2f} in the sandbox"
    )


def test_apptcp_gets_its_configured_rate(runner: Runner) -> None:
    """Its window carries the rate over at least the shortest round trip, so the measured round trips bound the goodput.

    On an idle machine they hardly vary, and the bounds are 5 % from the rate; where the stand-ins wait for a processor, some
    round trips are longer, and the loop does not follow all of them.
    """

    def bounds(flow: dict[str, Any]) -> tuple[float, float]:
        return 0.95 * 10e6 * flow["rtt_ms"]["min"] / flow["rtt_ms"]["mean"], 1.05 * 10e6

    real_bps = _goodput_between(runner, APPTCP, bounds)
    measured(f"apptcp at 10 Mbit/s: {real_bps / 1e6:.2f} Mbit/s")


def test_a_transfer_has_a_completion_time(runner: Runner) -> None:
    spec = experiment("hosts-transfer", [{"name": "app", "cc": "cubic", "size": "4 MB"}], duration="6 s")
    code, document, messages = runner.run(spec)
    assert code == 0, messages
    flow = only_run(document)["flows"][0]
    assert flow["bytes"] == 4_000_000
    assert 4e6 * 8 / 20e6 < flow["completion_s"] < 6


def test_both_ways_and_shares(runner: Runner) -> None:
    flows = [{"name": "there", "cc": "cubic"}, {"name": "back", "cc": "reno", "sender": "b1", "receiver": "a1"}]
    code, document, messages = runner.run(experiment("hosts-both", flows, duration="5 s"))
    assert code == 0, messages
    run = only_run(document)
    assert all(flow["goodput_bps"] > 1e6 for flow in run["flows"])
    assert [link["name"] for link in run["links"]] == ["alpha-vec1", "beta-vec1"]


def test_a_path_is_measured_and_replayed(runner: Runner, tmp_path: Path) -> None:
    def hosts(*words: str) -> dict[str, Any]:
        done = run_program([LONGHAUL, "hosts", *words, "--json"], env=runner.environment())
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    with locked(QUIET):
        found = hosts("measure", "alpha", "beta", "--seconds", "6", "-o", str(tmp_path / "twin.yaml"))
    measured(
        f"measured: {found['rate_bps'] / 1e6:.1f} Mbit/s, {found['least_rtt_us'] / 1000:.1f} ms, queue {found['queue_us'] / 1000:.0f} ms"
    )
    assert 0.5 < found["rate_bps"] / 20e6 < 1.1
    assert 39_000 < found["least_rtt_us"] < 60_000
    assert (found["largest_bytes"], found["ecn_kept"], found["capped"]) == (1500, True, False)
    (tmp_path / "measured.json").write_text(json.dumps(found))
    asked = ["--size", "100MB", "--path", str(tmp_path / "measured.json"), "--cc", "cubic", "--streams", "2"]
    with locked(QUIET):
        done = run_program([LONGHAUL, "predict", *asked, "--verify", "alpha,beta", "--json"], env=runner.environment())
    assert done.returncode == 0, done.stderr
    sample = json.loads(done.stdout)["sample"]
    measured(f"a predicted sample: {sample['predicted_s']:.2f} s, on the path {sample['measured_s'] or 0:.2f} s")
    assert sample["measured_s"] is not None
    assert abs(sample["off"]) < 0.5
    rows = {row["measure"]: row for row in hosts("twin", str(tmp_path / "twin.yaml"), found["run"])["rows"]}
    measured(f"its twin: goodput off by {rows['goodput']['off']:+.1%}")
    assert abs(rows["goodput"]["off"]) < 0.5
    runner.assert_clean("alpha", "beta")


def _lags_of(runner: Runner, prometheus: PrometheusServer) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """The age of the newest sample at each look, and the document of the run."""
    home = runner.settings().home
    process = runner.start(CUBIC, LONGHAUL_PROMETHEUS=prometheus.url)
    lags: dict[str, list[float]] = {"store": [], "prometheus": []}
    run = ""
    while process.poll() is None:
        for folder in (home / "staging").glob("*/*-*"):
            run = folder.name.split("-")[0]
            reached_ns = TraceTail(folder / "trace.bin").virtual_ns()
            if reached_ns > 0:
                written_s = time.time() - (folder / "trace.bin").stat().st_mtime
                lags["store"].append(written_s)
        if run and (newest_s := prometheus.newest_s(run, "longhaul_flow_cwnd_packets")) > 0:
            lags["prometheus"].append(time.time() - newest_s)
        time.sleep(0.1)
    code, document, messages = runner.end(process)
    assert code == 0 or refused_as_busy(document), messages
    return lags, document


def test_samples_arrive_while_it_runs(runner: Runner, prometheus: PrometheusServer) -> None:
    for _ in range(TRIES):
        with locked(QUIET):
            lags, document = _lags_of(runner, prometheus)
        if not refused_as_busy(document):
            break
    assert only_run(document)["prometheus"]["samples"] > 1000
    for name, seen in lags.items():
        assert len(seen) > 10, name
        measured(
            f"live samples in {name}: newest {statistics.median(seen):.2f} s old in the middle of {len(seen)} looks"
        )
    assert statistics.median(lags["store"]) < _LIVE_WITHIN_S
    assert statistics.median(lags["prometheus"]) < _LIVE_WITHIN_S


def _served(runner: Runner, seed: int) -> dict[str, Any]:
    """The document of a run that is submitted as by the API, while another user has a host: the run waits for it."""
    settings = runner.settings()
    store, stop = Store(settings), Stop()
    leases, experiments = Leases(store.database), Experiments(store.database)
    fence = leases.take("beta", "a person", 3600, "cabling")
    assert fence is not None
    spec = {**CUBIC, "duration": "4 s", "warmup": "1 s", "seed": seed}
    made = Desk(settings, store).submit(Request(spec=spec, backend="hosts", hosts=("alpha", "beta")), "ci")
    dispatcher = threading.Thread(target=serve_dispatcher, args=(settings, stop))
    dispatcher.start()
    try:
        (key,) = experiments.run_ids(made)
        wait_until(
            lambda: "a person has it for cabling" in str(EventLog(store.database).of_run(key, 0, 100)), "the wait"
        )
        leases.give_back("beta", "a person", fence)
        wait_until(lambda: experiments.get(made)["status"] not in ("queued", "running"), "the end of the experiment")
    finally:
        stop.set()
        dispatcher.join()
    (document,) = experiments.documents(made)
    return {**document, "status": experiments.get(made)["status"]}


def test_the_service_runs_it(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in runner.environment().items():
        monkeypatch.setenv(name, value)
    for seed in range(1, TRIES + 1):
        with locked(QUIET):
            document = _served(runner, seed)
        if not refused_as_busy({"runs": [document]}):
            break
    assert document["status"] == "done", json.dumps(document.get("error"))
    assert document["flows"][0]["goodput_bps"] > 5e6


# ---- nothing exceeds the policy ----


def test_a_spec_cannot_pass_the_policy(runner: Runner) -> None:
    """All at the same time: none of them reaches a host."""
    attempts = [
        (("--set", change), words)
        for change, words in (
            ("flows.app.params.rate=120 Mbit/s", "100 Mbit/s are allowed"),
            ("duration=11 min", "600 s of a run"),
            ("flows.app.size=3 GB", "a run may send 2 GB"),
            ("flows.app.tool=iperf3", "use tool: lh-flow"),
            ("flows.app.sack=false", "belongs to the whole host"),
        )
    ] + [
        (("--backend", "hosts", "--hosts", hosts), words)
        for hosts, words in (
            ("alpha,gamma", "has no host of that name"),
            ("alpha", "two hosts are needed"),
            ("alpha,alpha", "two hosts are needed"),
            ("alpha,beta,alpha", "two hosts are needed"),
            ("a1=alpha,b1=alpha", "from alpha to itself"),
        )
    ]
    for process, (written, words) in [(runner.start(APPTCP, *one[0]), one) for one in attempts]:
        code, _, messages = runner.end(process)
        assert code == 2, (written, messages)
        assert words in messages, (written, messages)


def test_a_path_that_is_not_provisioned(runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = json.loads(runner.bench.lab.policy.read_text())
    narrow["paths"][0]["provisioned"] = False
    (tmp_path / "hosts.yml").write_text(json.dumps(narrow))
    monkeypatch.setattr(runner.bench.lab, "policy", tmp_path / "hosts.yml")
    for flow in APPTCP["flows"][0], {"name": "app", "udp": "5 Mbit/s"}:
        code, _, messages = runner.run({**APPTCP, "flows": [flow]})
        assert code == 2, messages
        assert "does not give way to other flows, and the path from alpha to beta is not provisioned" in messages
    # The deployed limits are still wider: this is reported, and nothing runs until both agree.
    code, document, _ = runner.run(CUBIC)
    assert code == 4
    assert "its limits are not those of the operator's policy" in only_run(document)["error"]["what"]
    narrow["paths"] = []
    (tmp_path / "hosts.yml").write_text(json.dumps(narrow))
    code, _, messages = runner.run(CUBIC)
    assert code == 2
    assert "no traffic is allowed between alpha and beta" in messages


def _planned(runner: Runner) -> Run:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LONGHAUL_HOSTS", str(runner.bench.lab.policy))
        return compile_plan(parse_experiment(APPTCP), backend="hosts", hosts=("alpha", "beta")).runs[0]


def _agent_error(runner: Runner, run: Run, folder: Path, host: str = "alpha") -> str:
    """The error of a host's agent about a plan that a hostile controller sends."""
    policy = read_policy(runner.bench.lab.policy)
    channel = Channel.open(policy, host, folder)
    try:
        channel.wait_for("HELO", 30, "reaching")
        plan = json.dumps(replace(run, links=()).as_json()).encode()
        channel.send(f"plan hostile {host} {len(plan)}", plan)
        channel.wait_for("REDY", 30, "preparing")
    except BackendError as error:
        return str(error)
    finally:
        channel.close()
    return ""


def test_an_agent_enforces_the_limits_on_a_hostile_controller(runner: Runner, tmp_path: Path) -> None:
    run = _planned(runner)
    flow = run.flows[0]
    options = replace(flow.options, max_pacing_bps=10**9)
    udp = replace(
        flow, kind="udp", cc=None, rate_bps=10**9, payload_bytes=1472, options=replace(flow.options, max_pacing_bps=0)
    )
    strange = tuple(replace(host, address="10.77.0.10" if host.node == "beta" else host.address) for host in run.hosts)
    attempts = [
        (replace(run, flows=(replace(flow, options=options),)), "alpha", "are allowed"),
        (replace(run, flows=(udp,)), "alpha", "are allowed"),
        (replace(run, duration_us=10**9), "alpha", "longer than"),
        (replace(run, flows=(replace(flow, port=22),)), "beta", "port 22 is not one of"),
        (replace(run, flows=(replace(flow, bytes=10**11),)), "alpha", "more than"),
        (replace(run, flows=(replace(flow, address="10.77.0.10"),)), "alpha", "it is for 10.77.0.10"),
        (
            replace(run, flows=(replace(flow, address="10.77.0.10"),), hosts=strange),
            "alpha",
            "no traffic is allowed with 10.77.0.10",
        ),
        (
            replace(run, modules=(replace(run.modules[0], name="kvm", params={"x": "1"}),)),
            "alpha",
            "no congestion control's",
        ),
    ]
    for hostile, host, words in attempts:
        assert list(not_allowed(read_policy(runner.bench.lab.policy), hostile)) or words == "no congestion control's"
        error = _agent_error(runner, hostile, tmp_path, host)
        assert words in error, (words, error)
        runner.assert_clean(host)


def test_a_cap_holds_for_all_flows_together(runner: Runner) -> None:
    """On a faster path: four flows, one of which has ended when the last one starts."""
    flows: list[dict[str, Any]] = [
        {"name": "a", "cc": "cubic", "count": 3, "stop": "6 s"},
        {"name": "b", "cc": "cubic", "start": "3 s"},
    ]
    with runner.under(each={"rate": "8 Mbit/s"}):
        code, document, messages = runner.run(experiment("hosts-capped", flows, duration="8 s"))
    assert code == 0, (messages, document)
    run = only_run(document)
    goodputs = [flow["goodput_bps"] for flow in run["flows"]]
    (check,) = [
        one["text"] for one in run["fidelity"]["checks"] if one["name"] == "within its cap" and "alpha" in one["text"]
    ]
    measured(f"capped at 8 Mbit/s: goodputs {[round(one / 1e6, 2) for one in goodputs]}, {check}")
    # Flows share the cap while two or more run; the last one alone gets all of it.
    assert goodputs[-1] > 1.5e6


def test_a_volume_that_is_used_up_ends_a_run(runner: Runner) -> None:
    with runner.under(each={"run_volume": "3 MB"}):
        code, document, _ = runner.run(CUBIC)
    assert code == 4
    assert "no more than 3000000 may be" in only_run(document)["error"]["what"]
    runner.assert_clean("alpha", "beta")

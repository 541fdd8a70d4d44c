"""A CI job's journey through a real service: submit, stream, gate, answer from the store; and what happens when either side dies."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from longhaul.client import Event
from longhaul.orchestrator.system.errors import AuthError, Conflict, NotAllowed, NotFound, SpecError
from tests.support.command import longhaul
from tests.support.service import Service, served
from tests.support.waiting import wait_for


def written(name: str, **changes: Any) -> dict[str, Any]:
    """A few seconds of one flow, with an expectation on the utilisation."""
    return {
        "experiment": name,
        "path": {"bandwidth": "20 Mbit/s", "rtt": "20 ms"},
        "flows": [{"name": "one", "cc": "cubic"}],
        "duration": "3 s",
        "repeats": 2,
        "expect": [{"measure": "utilisation", "at_least": 0.5}],
        **changes,
    }


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(tmp_path_factory.mktemp("service")) as running:
        yield running


def run(
    service: Service, folder: Path, experiment: dict[str, Any], *arguments: str
) -> tuple[subprocess.CompletedProcess[str], float]:
    """`longhaul run` of a file on the service: the finished process, and the seconds it took."""
    file = folder / "experiment.json"
    file.write_text(json.dumps(experiment))
    begun_s = time.monotonic()
    # The job's home is not the service's, so all results come from the service.
    done = longhaul("run", str(file), *arguments, home=folder / "job", **service.command())
    return done, time.monotonic() - begun_s


def cached_answer_s(service: Service, experiment: dict[str, Any], times: int) -> float:
    """The median seconds from the submission of a kept experiment to its JUnit file, over one connection."""
    with service.programs_client() as client:
        client.junit(client.wait(client.submit(experiment).id).id)
        took = []
        for _ in range(times):
            begun_s = time.monotonic()
            made = client.submit(experiment)
            assert made.status in ("done", "missed")
            assert client.junit(made.id)
            took.append(time.monotonic() - begun_s)
    return sorted(took)[times // 2]


def test_a_job_submits_streams_and_gates(service: Service, tmp_path: Path) -> None:
    junit, markdown = tmp_path / "junit.xml", tmp_path / "summary.md"
    report, out = tmp_path / "report.html", tmp_path / "out"
    outputs = ["--junit", str(junit), "--markdown", str(markdown), "--report", str(report), "--out", str(out)]
    first, first_s = run(service, tmp_path, written("journey"), "--json", *outputs)
    assert first.returncode == 0, first.stderr
    result = json.loads(first.stdout)
    assert [one["status"] for one in result["runs"]] == ["done", "done"]
    assert not (tmp_path / "job" / "runs").exists()
    suite = ElementTree.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "0", "0")
    with service.programs_client() as client:
        assert junit.read_text() == client.junit(result["id"])
    summary = markdown.read_text()
    assert "✅ 2 runs: every expectation met" in summary
    assert "utilisation at least 0.5 | ✅ 2 of 2" in summary
    assert result["id"] in summary
    assert "<html" in report.read_text()
    assert json.loads((out / "result.json").read_text()) == result
    for one in result["runs"]:
        kept = service.home / "runs" / one["run"][:2] / one["run"]
        downloaded = out / one["run"]
        assert {file.name: file.read_bytes() for file in kept.iterdir()} == {
            file.name: file.read_bytes() for file in downloaded.iterdir()
        }

    second, _ = run(service, tmp_path, written("journey"), "--json")
    again = json.loads(second.stdout)
    assert all(one["cached"] for one in again["runs"])
    assert [one["trace_sha256"] for one in again["runs"]] == [one["trace_sha256"] for one in result["runs"]]
    cached_s = cached_answer_s(service, written("journey"), 9)
    print(f"the first submission took {first_s:.3f} s, one from the store {cached_s * 1000:.1f} ms")
    assert cached_s < first_s / 2


def test_charts_of_a_run_on_the_service_equal_those_of_a_local_run(service: Service, tmp_path: Path) -> None:
    experiment = written("shown", repeats=1)
    there, _ = run(service, tmp_path, experiment)
    file = tmp_path / "here.json"
    file.write_text(json.dumps(experiment))
    here = longhaul("run", str(file), home=tmp_path / "here")
    assert there.returncode == here.returncode == 0, there.stderr + here.stderr
    charts, _, numbers = there.stdout.partition("flow ")
    assert "Congestion window, packets" in charts
    assert charts == here.stdout.partition("flow ")[0]
    assert numbers


def test_hosts_with_two_kernels_and_runs_in_parts_are_those_of_a_local_run(service: Service, tmp_path: Path) -> None:
    mixed = written("mixed", repeats=1, nodes={"a1": {"kernel": "6.1"}})
    parted = written("parted", repeats=1, parts=2)
    for experiment in (mixed, parted):
        there, _ = run(service, tmp_path, experiment, "--json")
        assert there.returncode == 0, there.stderr
        (document,) = json.loads(there.stdout)["runs"]
        here = longhaul("run", str(tmp_path / "experiment.json"), "--json", home=tmp_path / "here")
        (local,) = json.loads(here.stdout)["runs"]
        assert document["parts"] == local["parts"] == 2
        assert document["kernel"] == local["kernel"]
        assert document["trace_sha256"] == local["trace_sha256"]
    with service.programs_client() as client:
        one = client.submit(parted | {"parts": 1})
        assert client.wait(one.id).status == "done"
        # The parts are no part of a run's identity.
        assert client.result(one.id).runs[0].document["cached"]


def test_a_missed_expectation_is_exit_code_1(service: Service, tmp_path: Path) -> None:
    experiment = written("too-much", expect=[{"measure": "utilisation", "at_least": 0.9999}])
    junit, markdown = tmp_path / "junit.xml", tmp_path / "summary.md"
    done, _ = run(service, tmp_path, experiment, "--junit", str(junit), "--markdown", str(markdown))
    assert done.returncode == 1
    assert "missed: utilisation at least 0.9999" in done.stdout
    assert len([*ElementTree.parse(junit).getroot().iter("failure")]) == 2
    assert markdown.read_text().count("❌") == 2


def test_the_service_reports_a_mistake_like_this_machine(service: Service, tmp_path: Path) -> None:
    experiment = written("wrong", flows=[{"name": "one", "cc": "cubik"}])
    done, _ = run(service, tmp_path, experiment)
    assert done.returncode == 2
    with service.programs_client() as client, pytest.raises(SpecError) as refused:
        client.submit(experiment)
    (problem,) = map(str, refused.value.problems)
    # On this machine the line of the file is known as well.
    assert problem.partition(": ")[2] in done.stderr
    assert "nearest: cubic" in problem


@pytest.mark.parametrize(
    ("environment", "arguments", "code", "sentence"),
    [
        ({"LONGHAUL_TOKEN": "lh_000000000000_" + "x" * 43}, [], 2, "not a valid token"),
        ({"LONGHAUL_TOKEN": ""}, [], 2, "the environment has no such variable"),
        ({}, ["--token-env", "NOWHERE"], 2, "NOWHERE"),
        ({"LONGHAUL_SERVER": "http://127.0.0.1:9"}, [], 3, "check that the service is running there"),
        ({"LONGHAUL_SERVER": "nonsense"}, [], 2, "this is not a URL"),
        ({}, ["--jobs", "2"], 2, "--jobs is for runs on this machine only"),
        ({}, ["--report", "x.png"], 2, "HTML reports only"),
    ],
)
def test_a_connection_error_is_one_line(
    service: Service, tmp_path: Path, environment: dict[str, str], arguments: list[str], code: int, sentence: str
) -> None:
    done = longhaul("run", "quick", *arguments, home=tmp_path, **{**service.command(), **environment})
    assert (done.returncode, len(done.stderr.splitlines())) == (code, 1), done.stderr
    assert sentence in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_job_that_is_stopped_cancels_its_experiment(
    service: Service, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    file = tmp_path / "long.json"
    file.write_text(json.dumps(written(f"long-{code}", duration="3600 s", repeats=20, sample="1 s")))
    job = subprocess.Popen(
        [sys.executable, "-m", "longhaul.cli.main", "run", str(file)],
        env={**os.environ, **service.command()},
        stderr=subprocess.PIPE,
        text=True,
        # Tests started in the background ignore Ctrl-C, and the job would inherit that.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    assert job.stderr is not None
    experiment = job.stderr.readline().split()[1]
    job.send_signal(number)
    _, rest = job.communicate()
    assert job.returncode == code
    assert f"cancelled experiment {experiment}" in rest
    with service.programs_client() as client:
        assert client.experiment(experiment).status == "cancelled"


def test_a_service_that_is_killed_and_started_again_loses_and_doubles_nothing(tmp_path: Path) -> None:
    with served(tmp_path / "service") as service, service.programs_client() as client:
        made = client.submit(written("survivor", duration="60 s", repeats=12))
        events: list[Event] = []

        def listen() -> None:
            events.extend(client.follow(made.id))

        follower = threading.Thread(target=listen)
        follower.start()
        for _ in range(2):
            wait_for(lambda: progressed(client_runs(service, made.id)))
            service.kill()
            service.start()
        follower.join()
        ended = client.experiment(made.id)
        runs = client.result(made.id).runs
    assert ended.status == "done"
    assert ended.progress.done == 12
    ids = [event.id for event in events]
    assert ids == sorted(set(ids))
    finished = [event.run for event in events if event.kind == "run.finished"]
    assert sorted(str(key) for key in finished) == sorted(run["run"] for run in runs)
    assert [event.kind for event in events].count("experiment.finished") == 1
    assert events[0].kind == "experiment.queued"
    assert len({run["trace_sha256"] for run in runs}) == 12


def client_runs(service: Service, experiment: str) -> list[str]:
    with service.programs_client("read") as client:
        return [row.status for row in client.runs(experiment_id=experiment)]


def progressed(statuses: list[str]) -> bool:
    """Whether one run is done and one is still running, which a crash could lose."""
    return "done" in statuses and "running" in statuses


def test_the_same_key_submits_once_and_pages_list_every_run_once(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhaul.client.client._PAGE", 3)
    with service.programs_client() as client:
        made = client.submit(written("keyed", repeats=8), key="one")
        assert client.submit(written("keyed", repeats=8), key="one").id == made.id
        with pytest.raises(Conflict, match="used for another"):
            client.submit(written("keyed", repeats=9), key="one")
        client.wait(made.id)
        assert {row.id for row in client.runs(experiment_id=made.id)} == {one.rpartition("/")[2] for one in made.runs}
        assert [row.id for row in client.experiments(name="keyed")] == [made.id]


def test_series_and_frames_are_those_of_the_trace(service: Service) -> None:
    flows = [{"name": "one", "cc": "lhfixed", "params": {"cwnd": "20 packets"}}]
    with service.programs_client() as client:
        ended = client.wait(client.submit(written("fixed", flows=flows, repeats=1, expect=[])).id)
        (run,) = (href.rpartition("/")[2] for href in ended.runs)
        cwnd = client.series(run, "cwnd", flow="one", begin_s=1.0, points=100)
        assert set(cwnd.value.tolist()) == {20.0}
        assert cwnd.t_s.min() >= 1.0
        queue = client.series(run, "queue")
        assert queue.unit == "packets"
        frame = client.frame(run, ["cwnd", "rtt"], flows=["one"], points=100)
        assert set(frame["measure"].tolist()) == {"cwnd", "rtt"}
        assert len({len(column) for column in frame.values()}) == 1
        # The window is below the BDP, so no queue adds to the round trip.
        assert abs(float(frame["value"][frame["measure"] == "rtt"].min()) - 20.0) < 1.5
        with pytest.raises(NotFound, match="nothing"):
            client.series(run, "nothing")


def test_the_client_raises_the_errors_of_the_service(service: Service) -> None:
    with service.programs_client("read") as client:
        with pytest.raises(NotFound, match="no experiment with this id"):
            client.experiment("0" * 16)
        with pytest.raises(NotAllowed, match="needs the scope run") as refused:
            client.submit("quick")
        assert (refused.value.exit_code, refused.value.attempting) == (2, "asking for")
        with pytest.raises(NotAllowed, match="needs the scope admin"):
            client.knows_module("0" * 32)
    with pytest.raises(AuthError), service.programs_client() as client:
        client._connection._http.headers["Authorization"] = "Bearer lh_000000000000_" + "x" * 43
        client.baselines()


def test_experiments_are_compared_with_the_baseline_of_a_branch(service: Service, tmp_path: Path) -> None:
    ids = {}
    for name, bandwidth in (("same", "20 Mbit/s"), ("again", "20 Mbit/s"), ("worse", "10 Mbit/s")):
        experiment = written("compared", path={"bandwidth": bandwidth, "rtt": "20 ms"})
        done, _ = run(service, tmp_path, experiment, "--json")
        ids[name] = json.loads(done.stdout)["id"]
        (tmp_path / f"{name}.json").write_text(done.stdout)

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return longhaul(*arguments, home=tmp_path / "job", **service.command())

    def gate(side: str) -> subprocess.CompletedProcess[str]:
        files = ["--junit", str(tmp_path / "gate.xml"), "--markdown", str(tmp_path / "gate.md")]
        return command("compare", side, "--baseline", "feature/pacing", "--for", "goodput(one)", *files)

    missing = gate(ids["same"])
    assert (missing.returncode, "none is set" in missing.stderr) == (2, True)
    assert command("baseline", "set", ids["same"], "--branch", "feature/pacing").returncode == 0
    (listed,) = json.loads(command("baseline", "list", "--json").stdout)
    assert (listed["name"], listed["branch"], listed["experiment_id"]) == ("compared", "feature/pacing", ids["same"])
    assert gate(ids["again"]).returncode == 0
    worse = gate(ids["worse"])
    assert worse.returncode == 1, worse.stderr
    assert "gate: 1 of 1 fail" in worse.stdout
    assert ElementTree.parse(tmp_path / "gate.xml").getroot().get("failures") == "1"
    assert "❌" in (tmp_path / "gate.md").read_text()
    assert gate(str(tmp_path / "worse.json")).returncode == 1
    with service.programs_client("gate") as client:
        assert client.compare(ids["same"], ids["worse"], ["goodput(one)"])["ok"] is False
        with pytest.raises(Conflict, match="has the name compared"):
            client.set_baseline("another", "main", ids["same"])
    plain = command("compare", ids["same"], ids["worse"], "--for", "goodput(one)")
    assert plain.returncode == 1
    # Plans come from the service, also where a side is a file; the notes are those of its comparison.
    differs = "the runs of A and B differ in bandwidth (20 Mbit/s and 10 Mbit/s), buffer (33 packets and 17 packets)"
    assert f"note: {differs}" in " ".join(plain.stderr.split())
    for side in (ids["worse"], str(tmp_path / "worse.json")):
        found = json.loads(command("compare", ids["same"], side, "--json").stdout)
        with service.programs_client("read") as client:
            there = client.compare(ids["same"], ids["worse"])
        assert (found["differs"], found["notes"]) == (there["differs"], there["notes"])
        assert differs in found["notes"]
    assert "differ in" not in command("compare", ids["same"], ids["again"]).stderr
    assert re.search(
        r"the traces of \w+ and \w+ differ from [\d.]+ s on: ",
        command("compare", ids["same"], ids["worse"], "--trace").stdout,
    )
    with pytest.raises(NotAllowed), service.programs_client("read") as client:
        client.set_baseline("compared", "main", ids["same"])

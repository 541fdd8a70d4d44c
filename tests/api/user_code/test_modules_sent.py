"""User-supplied modules sent to the service: who may send them, what is refused, and that the service runs the sent module."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from longhaul.orchestrator.spec.user_code.module_sources import read_sources
from longhaul.orchestrator.system.errors import Conflict, LonghaulError, NotAllowed, PlanError, SpecError
from tests.support.command import longhaul
from tests.support.own_controls import reno_folder
from tests.support.service import Service, served

KMOD = Path(__file__).resolve().parents[3] / "kmod"
# A module that no cache contains.
SOURCE = (KMOD / "tcp_lhfixed.c").read_text().replace("lhfixed", "mine") + f"/* {secrets.token_hex(8)} */\n"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(tmp_path_factory.mktemp("service"), LONGHAUL_USER_CODE="on") as running:
        yield running


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    """An experiment and, in the same folder, a module with a constant window of 37 packets."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "tcp_mine.c").write_text(SOURCE)
    file = tmp_path / "experiment.json"
    written = {
        "experiment": "module-under-test",
        "modules": ["./mine"],
        "path": {"bandwidth": "20 Mbit/s", "rtt": "20 ms"},
        "flows": [{"name": "one", "cc": "mine", "params": {"cwnd": "37 packets"}}],
        "start_jitter": "0 s",
        "duration": "2 s",
    }
    file.write_text(json.dumps(written))
    return file


def test_a_module_is_sent_once_and_runs(service: Service, experiment: Path, tmp_path: Path) -> None:
    home = tmp_path / "job"
    first = longhaul("run", str(experiment), "--json", home=home, **service.command("admin"))
    assert first.returncode == 0, first.stderr
    assert "sent mine as sha256:" in first.stderr
    result = json.loads(first.stdout)
    (document,) = result["runs"]
    # The window is constant, so the mean and the maximum are equal.
    assert document["flows"][0]["cwnd_packets"] == {"mean": 37.0, "max": 37}
    with service.programs_client("read") as client:
        (reference,) = client.experiment(result["id"]).spec["modules"]
    assert reference == f"sha256:{read_sources(str(tmp_path / 'mine'))[0]}"

    again = longhaul("run", str(experiment), "--json", home=home, **service.command("admin"))
    assert "sent" not in again.stderr
    assert json.loads(again.stdout)["runs"][0]["cached"] is True

    source = tmp_path / "mine" / "tcp_mine.c"
    source.write_text(source.read_text().replace("READ_ONCE(cwnd),", "READ_ONCE(cwnd) + 1,"))
    changed = longhaul("run", str(experiment), "--json", home=home, **service.command("admin"))
    assert json.loads(changed.stdout)["runs"][0]["flows"][0]["cwnd_packets"]["max"] == 38


def test_one_that_replaces_a_control_and_one_beside_it_are_sent_and_run(
    service: Service, experiment: Path, tmp_path: Path
) -> None:
    reno_folder(tmp_path / "reno")
    written = json.loads(experiment.read_text())
    written["modules"] = ["./reno", {"from": "./reno", "as": "reno_mine"}]
    written["flows"] = [{"name": "one", "cc": "reno"}, {"name": "two", "cc": "reno_mine"}]
    experiment.write_text(json.dumps(written))
    done = longhaul("run", str(experiment), "--json", home=tmp_path / "job", **service.command("admin"))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    source = read_sources(str(tmp_path / "reno"))[0]
    remarks = [flow["variant"] for flow in result["runs"][0]["flows"]]
    assert remarks == [f"reno (user-supplied {source[:8]})", "reno_mine"]
    with service.programs_client("read") as client:
        spec = client.experiment(result["id"]).spec
        plan = client.plan_of(result["runs"][0]["run"])
    assert spec["modules"] == [f"sha256:{source}", {"from": f"sha256:{source}", "as": "reno_mine"}]
    assert {
        (one["name"], one["file"], one["registers"], one.get("replaces")) for one in plan["modules"] if "file" in one
    } == {
        ("own_reno", "tcp_reno", "own-reno", "reno"),
        ("tcp_reno_mine", "tcp_reno", "reno_mine", None),
    }
    with service.programs_client("admin") as client, pytest.raises(SpecError, match="another name than cubic"):
        client.submit(spec | {"modules": [{"from": f"sha256:{source}", "as": "cubic"}]})
    with service.programs_client("run") as client, pytest.raises(SpecError, match="admins may then upload"):
        client.submit(spec)


def test_only_admins_send_modules_submit_and_rerun_them(service: Service, experiment: Path, tmp_path: Path) -> None:
    refused = longhaul("run", str(experiment), home=tmp_path, **service.command("run"))
    assert (refused.returncode, "needs the scope admin" in refused.stderr) == (2, True)
    source, files = read_sources(str(tmp_path / "mine"))
    with service.programs_client("admin") as client:
        client.send_module(source, files)
        written = json.loads(experiment.read_text()) | {"modules": [f"sha256:{source}"]}
        made = client.wait(client.submit(written).id)
        (run,) = (href.rpartition("/")[2] for href in made.runs)
    with service.programs_client("run") as client:
        with pytest.raises(SpecError, match="admins may then upload"):
            client.submit(written)
        with pytest.raises(NotAllowed, match="only admins may start"):
            client._connection.ask("POST", f"/api/v1/runs/{run}/rerun")


@pytest.mark.parametrize(
    ("files", "error", "sentence"),
    [
        ({"tcp_mine.c": SOURCE + "/* */"}, Conflict, "its content has the hash"),
        ({"../tcp_mine.c": SOURCE}, PlanError, "is not the name of a source"),
        ({"/etc/tcp_mine.c": SOURCE}, PlanError, "is not the name of a source"),
        ({"Makefile": "all:"}, PlanError, "a folder whose source calls tcp_register_congestion_control"),
        ({"tcp_mine.ko": SOURCE}, PlanError, "is not the name of a source"),
        ({"a;b/tcp_mine.c": SOURCE}, PlanError, "is not the name of a source"),
        ({f"a{number}.c": "" for number in range(201)}, PlanError, "at most 200"),
        ({"tcp_mine.c": "x" * (8 << 20)}, PlanError, "may have at most 8192 KiB"),
    ],
)
def test_an_invalid_module_is_not_kept(
    service: Service, files: dict[str, str], error: type[LonghaulError], sentence: str, tmp_path: Path
) -> None:
    with service.programs_client("admin") as client:
        with pytest.raises(error, match=sentence):
            client.send_module("0" * 32, files)
        assert not client.knows_module("0" * 32)


def test_a_service_takes_code_only_if_its_operator_allows_it(experiment: Path, tmp_path: Path) -> None:
    source, files = read_sources(str(tmp_path / "mine"))
    with served(tmp_path / "service") as closed, closed.programs_client("admin") as client:
        with pytest.raises(NotAllowed, match="LONGHAUL_USER_CODE=on"):
            client.send_module(source, files)
        written = json.loads(experiment.read_text())
        for modules in ([f"sha256:{source}"], [str(tmp_path / "mine")]):
            with pytest.raises(SpecError, match="operator can allow"):
                client.submit(written | {"modules": modules})


def test_paths_on_the_machine_of_the_service_are_never_read(service: Service, experiment: Path, tmp_path: Path) -> None:
    written = json.loads(experiment.read_text())
    with service.programs_client("admin") as client:
        with pytest.raises(SpecError, match="sha256:<hash>"):
            client.submit(written | {"modules": [str(tmp_path / "mine")]})
        with pytest.raises(SpecError, match="sha256:<hash>"):
            client.submit("quick", set=[f'modules=["{tmp_path}/mine"]'])
        with pytest.raises(SpecError, match="of the lab"):
            client.plan("quick", set=[f"topology={tmp_path}/lab.py:Lab"])

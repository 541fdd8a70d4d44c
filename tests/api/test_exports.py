"""Exports over REST: packets, captured with an experiment or of a kept run, and flent's data file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import httpx

from longhaul.client import Client
from longhaul.orchestrator.results.packets import PACKETS
from tests.support.command import longhaul
from tests.support.programs import run_program
from tests.support.service import ROOT, Service

SHORT = ["duration=2 s"]
FLENT = "run.flent.gz"


def interfaces(file: Path) -> list[str]:
    command = ["tshark", "-n", "-r", str(file), "-T", "fields", "-e", "frame.interface_name"]
    done = run_program(command, check=True)
    return sorted(set(done.stdout.split("\n")) - {""})


def test_an_experiment_with_a_capture_keeps_its_packets(service: Service, tmp_path: Path) -> None:
    spec = {
        "experiment": "packets",
        "path": {"bandwidth": "20 Mbit/s", "rtt": "20 ms"},
        "flows": [{"name": "one", "cc": "cubic"}],
        "duration": "1 s",
    }
    with service.client("run") as http, Client(service.url, service.tokens["run"]) as client:
        plain = service.wait(service.submit({"spec": spec})["id"])
        run = plain["runs"][0].rpartition("/")[2]
        missing = http.get(f"{ROOT}/runs/{run}/files/{PACKETS}")
        assert missing.status_code == 404 and "longhaul export RUN --to pcapng" in missing.json()["detail"]
        captured = service.wait(service.submit({"spec": spec | {"capture": {"at": ["a1"]}}})["id"])
        # The run is the same, and ran once more.
        assert captured["runs"] == plain["runs"] and captured["status"] == "done"
        assert PACKETS in client.files(run)
        file = client.download(run, PACKETS, tmp_path)
        assert interfaces(file) == ["a1-s1"]
        first = http.head(f"{ROOT}/runs/{run}/files/{PACKETS}").headers["etag"]
        again = service.wait(service.submit({"spec": spec | {"capture": {"at": ["a1"]}}})["id"])
        assert again["progress"]["cached"] == 1
        service.wait(service.submit({"spec": spec | {"capture": {"at": ["b1"]}}})["id"])
        assert interfaces(client.download(run, PACKETS, tmp_path)) == ["b1-s1"]
        assert http.head(f"{ROOT}/runs/{run}/files/{PACKETS}").headers["etag"] != first


def test_a_kept_run_is_captured_without_its_experiment(service: Service, tmp_path: Path) -> None:
    with Client(service.url, service.tokens["run"]) as client:
        run = client.submit_and_wait("quick", set=SHORT).runs[0].id
        assert interfaces(client.packets(run, tmp_path, at=["bottleneck", "b1"])) == ["b1-s1", "bottleneck s1-b1"]
        # The run stays as it is.
        assert client.run(run).status == "done"


def test_moments_are_listed(service: Service, admin: httpx.Client) -> None:
    where = f"{ROOT}/runs/{service.run}/moments"
    whole = admin.get(where, params={"limit": 5000}).json()
    assert whole["total"] == len(whole["moments"]) > 0
    times = [one["t_s"] for one in whole["moments"]]
    assert times == sorted(times)
    drops = admin.get(where, params={"kind": "drop", "limit": 1}).json()
    every = [one for one in whole["moments"] if one["kind"] == "drop"]
    assert (drops["total"], drops["moments"]) == (len(every), every[:1])
    part = admin.get(where, params={"from": 1, "to": 2}).json()
    assert part["moments"] == [one for one in whole["moments"] if 1 <= one["t_s"] <= 2]
    unknown = admin.get(where, params={"kind": "explosion"})
    assert unknown.status_code == 404 and "known: start, stop" in unknown.json()["detail"]
    tagged = admin.get(where)
    assert admin.get(where, headers={"If-None-Match": tagged.headers["etag"]}).status_code == 304


def test_a_capture_that_cannot_be_is_refused(service: Service, admin: httpx.Client) -> None:
    def refusal(asked: object, status: int = 422) -> str:
        answer = admin.post(f"{ROOT}/runs/{service.run}/packets", json=asked)
        assert answer.status_code == status, answer.text
        return answer.text

    assert "no host, link or device nowhere; known: " in refusal({"at": ["nowhere"]})
    assert "no flow other" in refusal({"at": ["a1"], "flows": ["other"]})
    refusal({"at": []})
    refusal({"at": ["a1"], "snap": 7})
    refusal({})
    assert admin.post(f"{ROOT}/runs/{'0' * 20}/packets", json={"at": ["a1"]}).status_code == 404


def test_flents_file_is_what_the_command_line_exports(service: Service, admin: httpx.Client, tmp_path: Path) -> None:
    with Client(service.url, service.tokens["read"]) as client:
        assert FLENT in client.files(service.run)
        downloaded = client.download(service.run, FLENT, tmp_path).read_bytes()
    metadata = json.loads(gzip.decompress(downloaded))["metadata"]
    assert (metadata["NAME"], metadata["LONGHAUL"]["RUN"]) == ("tcp_nup", service.run)
    done = longhaul("export", service.run, "--to", "flent", "-o", str(tmp_path / "out"), home=service.home)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).read_bytes() == downloaded
    answer = admin.head(f"{ROOT}/runs/{service.run}/files/{FLENT}")
    assert (answer.headers["content-type"], int(answer.headers["content-length"])) == (
        "application/gzip",
        len(downloaded),
    )
    assert answer.headers["content-disposition"] == f'attachment; filename="{service.run}-{FLENT}"'


def test_a_run_that_is_not_kept_has_no_flent_file(admin: httpx.Client) -> None:
    assert admin.get(f"{ROOT}/runs/{'0' * 20}/files/{FLENT}").status_code == 404

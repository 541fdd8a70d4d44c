"""Recordings of links over the API: sent as they are, refused with line and column, named by experiments, and hostile ones."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longhaul.orchestrator.system.errors import NotAllowed, NotFound, OverLimit, PlanError, SpecError
from tests.support.command import longhaul
from tests.support.service import ROOT, Service, cache_without, served

OCTETS = {"Content-Type": "application/octet-stream"}
RECORDINGS = f"{ROOT}/recordings"
# 12 Mbit/s of IP packets for a second, an outage of half a second, and 12 Mbit/s again.
MAHI = "".join(f"{ms}\n" for ms in [*range(1, 1001), *range(1501, 2001)]).encode()
TABLE = b"time_s,rate_mbps,delay_ms,loss\n0,8,20,0\n0.5,0,30,0\n1,24,40,0.5\n1.5,24,50,0.5\n"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with low limits, whose cache has no recordings."""
    folder = tmp_path_factory.mktemp("service")
    cache = cache_without(folder, "recordings")
    with served(
        folder / "home", LONGHAUL_CACHE=str(cache), LONGHAUL_RECORDING_UPLOAD_MB="1", LONGHAUL_RECORDINGS_MB="4"
    ) as running:
        yield running


@pytest.fixture
def runner(service: Service) -> Iterator[httpx.Client]:
    with service.client("run") as client:
        yield client


def send(client: httpx.Client, content: Any, name: str = "link.mahi", **more: str) -> httpx.Response:
    return client.post(RECORDINGS, params={"name": name, **more}, content=content, headers=OCTETS)


def test_a_recording_is_sent_listed_shown_downloaded_and_deleted(service: Service, runner: httpx.Client) -> None:
    answer = send(runner, MAHI)
    assert answer.status_code == 201
    sent, sha256 = answer.json(), hashlib.sha256(MAHI).hexdigest()
    assert (sent["reference"], sent["name"], sent["bytes"]) == (f"sha256:{sha256}", "link.mahi", len(MAHI))
    assert (sent["length_s"], sent["mean_bps"], sent["rows"]) == (2.0, 9e6, 1500)
    assert answer.headers["location"] == f"{RECORDINGS}/{sha256}"
    assert send(runner, MAHI, "again.mahi").json()["name"] == "link.mahi"
    assert [one["name"] for one in runner.get(RECORDINGS).json() if one["reference"] == sent["reference"]] == [
        "link.mahi"
    ]
    shown = runner.get(f"{RECORDINGS}/{sha256}", params={"from": "0.9s", "for": "0.7s"}).json()
    assert shown["outages"] == {"count": 1, "longest_s": 0.501, "total_s": 0.501}
    part = shown["shown"]
    assert (part["from_s"], part["to_s"], len(part["rate_bps"])) == (0.9, 1.6, len(part["outage"]))
    assert sum(part["rate_bps"]) * part["every_s"] / 8 == pytest.approx(1500 * 200)
    assert runner.get(f"{RECORDINGS}/{sha256}/file").content == MAHI
    piece = runner.get(f"{RECORDINGS}/{sha256}/file", headers={"Range": "bytes=0-3"})
    assert (piece.status_code, piece.content) == (206, MAHI[:4])
    assert runner.delete(f"{RECORDINGS}/{sha256}").status_code == 403
    with service.client("admin") as admin:
        assert admin.delete(f"{RECORDINGS}/{sha256}").status_code == 204
        assert admin.delete(f"{RECORDINGS}/{sha256}").status_code == 404
    assert runner.get(f"{RECORDINGS}/{sha256}").status_code == 404


def test_a_table_with_columns_of_other_names(runner: httpx.Client) -> None:
    text = b"when,dl\n0,8\n10,16\n"
    refused = send(runner, text, "other.csv")
    assert refused.status_code == 422
    named = {"time": "when in ms", "rate": "dl in Mbit/s"}
    sent = send(runner, text, "other.csv", **named).json()
    assert (sent["mean_bps"], sent["length_s"]) == (12e6, 0.02)
    shown = runner.get(f"{RECORDINGS}/{sent['reference'][7:]}", params=named).json()
    assert shown["highest_bps"] == 16e6
    assert runner.get(f"{RECORDINGS}/{sent['reference'][7:]}").status_code == 422


@pytest.mark.parametrize(
    ("name", "content", "more", "what"),
    [
        ("a.mahi", b"1\n2;3\n", {}, "line 2, column 2: '2;3' is not a whole number"),
        ("a.mahi", b"", {}, "line 1, column 1: no line"),
        ("a.mahi", b"5\n3\n", {}, "line 2, column 1: 3 after 5"),
        ("a.mahi", b"9" * 900_000, {}, "line 1, column 1"),
        ("a.mahi", gzip.compress(MAHI), {}, "line 1, column 1"),
        ("a.csv", b"time_s,rate_mbps\n0,8\n1,x\n", {}, "line 3, column 2: 'x' is not a rate"),
        ("a.csv", b"time_s,rate_mbps\n0,8\n1,\xff\n", {}, "line 3, column 2: not UTF-8"),
        ("a.csv", b'time_s,rate_mbps\n0,"8\n', {}, "not CSV"),
        ("a.csv", b"time_s,rate_mbps\n" + b"1," * 450_000 + b"1\n", {}, "its time is not after"),
        ("a.csv", b"1e999999999,2\n", {}, "no column"),
        ("a.csv", b"time_s,rate_mbps\n0,1e999999999\n", {}, "line 2, column 2"),
        ("a.losses", b"0012", {"format": "losses"}, "line 1, column 4: '2' is neither 0 nor 1"),
        ("a.mahi", MAHI, {"rate": "x"}, "only tables have columns"),
        ("a.csv", TABLE, {"step": "soon"}, "'soon' is not a time"),
        ("a.csv", TABLE, {"rate": "rate_gbps"}, "no column 'rate_gbps'"),
        ("a.parquet", b"PAR1", {}, "a service reads no Parquet"),
    ],
)  # fmt: skip
def test_a_malformed_file_is_refused_in_one_sentence(
    name: str, content: bytes, more: dict[str, str], what: str, service: Service, runner: httpx.Client
) -> None:
    before = kept(service)
    answer = send(runner, content, name, **more)
    if what == "its time is not after":
        # A row may have any number of columns that are not used.
        assert answer.status_code == 201
        return
    assert answer.status_code == 422, answer.text
    problem = answer.json()
    assert what in problem["detail"]
    assert problem["detail"].count("\n") == 0 and len(problem["detail"]) < 400
    assert str(service.home) not in answer.text and ".new-" not in answer.text
    assert kept(service) == before


def kept(service: Service) -> list[str]:
    """What is in the folder of recordings."""
    folder = service.home.parent / "cache" / "recordings"
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*"))


@pytest.mark.parametrize(
    "name",
    ["../up.mahi", "..", "/etc/x.mahi", ".hidden", "a/b.mahi", "a\0b", "a\nb.mahi", "", "x" * 200, "\u202e.mahi"],
)
def test_a_name_is_that_of_a_file(name: str, service: Service, runner: httpx.Client) -> None:
    before = kept(service)
    assert send(runner, MAHI, name).status_code == 422
    assert kept(service) == before


def test_other_bodies_are_refused(service: Service, runner: httpx.Client) -> None:
    for headers, status in (
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/json"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
        ({**OCTETS, "Content-Encoding": "gzip"}, 415),
        ({**OCTETS, "Content-Encoding": "br"}, 415),
    ):
        answer = runner.post(RECORDINGS, params={"name": "a.mahi"}, content=gzip.compress(MAHI), headers=headers)
        assert answer.status_code == status, headers
    with service.client("read") as reader:
        assert send(reader, MAHI).status_code == 403
        assert reader.get(RECORDINGS).status_code == 200
    with service.client(None) as stranger:
        assert send(stranger, MAHI).status_code == 401
        assert stranger.get(RECORDINGS).status_code == 401


def test_the_size_is_limited_whatever_the_header_says(service: Service, runner: httpx.Client) -> None:
    before = kept(service)
    assert send(runner, b"1\n" * 600_000).status_code == 413

    def pieces() -> Iterator[bytes]:
        for _ in range(40):
            yield b"1\n" * 20_000

    # The connection may be closed before all of the body is sent.
    with contextlib.suppress(httpx.TransportError):
        assert send(runner, pieces()).status_code == 413
    assert kept(service) == before


def test_all_recordings_together_are_limited(service: Service, runner: httpx.Client) -> None:
    first = np.arange(1, 130_000)
    made: list[str] = []
    answer = httpx.Response(201)
    for number in range(1, 12):
        answer = send(runner, "\n".join(map(str, first + number)).encode() + b"\n", f"long-{number}.mahi")
        if answer.status_code != 201:
            break
        made.append(answer.json()["reference"])
    assert answer.status_code == 429
    assert "4 are allowed (LONGHAUL_RECORDINGS_MB)" in answer.json()["detail"]
    with service.programs_client("run") as client, pytest.raises(OverLimit):
        client.send_recording(write(service.home / "one.mahi", MAHI))
    with service.programs_client("admin") as client:
        for one in made:
            client.delete_recording(one)


def write(file: Path, content: bytes) -> Path:
    file.write_bytes(content)
    return file


def test_models_are_listed_and_shown(runner: httpx.Client) -> None:
    found = {one["model"]: one for one in runner.get(f"{ROOT}/recording-models").json()}
    assert {*found} == {"lte", "leo"}
    assert {one["parameter"]: one["default"] for one in found["lte"]["parameters"]}["snr_db"] == 10
    asked = {"parameters": {"snr_db": 30}, "length": "10 s"}
    strong = runner.post(f"{ROOT}/recording-models/lte", json=asked).json()
    weak = runner.post(f"{ROOT}/recording-models/lte", json={"parameters": {"snr_db": -5}, "length": "10 s"}).json()
    assert strong["mean_bps"] > weak["mean_bps"] > 0
    assert len(strong["shown"]["rate_bps"]) == 200
    for body, what in (
        ({"parameters": {"snr_db": 300}}, "snr_db is 300"),
        ({"parameters": {"snr": 3}}, "snr"),
        ({"length": "soon"}, "'soon' is not a time"),
        ({"length": "0 s"}, "allowed: 1 to"),
    ):
        answer = runner.post(f"{ROOT}/recording-models/lte", json=body)
        assert (answer.status_code, what in answer.text) == (422, True), answer.text
    assert runner.post(f"{ROOT}/recording-models/umts", json={}).status_code == 422
    # A week is shown by its first minutes.
    week = runner.post(f"{ROOT}/recording-models/leo", json={"length": "604800 s"}).json()
    assert week["shown"]["to_s"] <= 300


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "cell.mahi", MAHI)
    written = {
        "experiment": "cell",
        "path": {"recording": {"file": "cell.mahi"}, "rtt": "20 ms", "buffer": "50 packets"},
        "flows": [{"name": "one", "cc": "cubic"}],
        "duration": "3 s",
    }
    (tmp_path / "cell.json").write_text(json.dumps(written))
    return tmp_path


def test_a_run_sends_its_recordings_once_and_is_the_run_of_this_machine(
    service: Service, folder: Path, tmp_path: Path
) -> None:
    first = longhaul("run", str(folder / "cell.json"), "--json", home=tmp_path / "job", **service.command("run"))
    assert first.returncode == 0, first.stderr
    assert "sent cell.mahi as sha256:" in first.stderr
    (run,) = json.loads(first.stdout)["runs"]
    assert run["path"]["utilisation"] > 0.7
    here = longhaul("run", str(folder / "cell.json"), "--json", home=tmp_path / "here")
    assert json.loads(here.stdout)["runs"][0]["run"] == run["run"]
    again = longhaul("run", str(folder / "cell.json"), "--json", home=tmp_path / "job", **service.command("run"))
    assert "sent" not in again.stderr
    assert json.loads(again.stdout)["runs"][0]["cached"] is True


def test_parquet_is_sent_as_text_and_swept_files_are_sent_too(service: Service, folder: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"time_s": [0.0, 1.5], "rate_mbps": [4.0, 8.5]}), folder / "link.parquet")
    pq.write_table(pa.table({"time_s": [0.0, 1.5], "rate_mbps": [2.0, 3.5]}), folder / "other.parquet")
    written = json.loads((folder / "cell.json").read_text())
    written["path"]["recording"] = {"file": "link.parquet"}
    written["sweep"] = {"path.recording.file": ["link.parquet", "other.parquet"]}
    (folder / "cell.json").write_text(json.dumps(written))
    done = longhaul("run", str(folder / "cell.json"), "--json", home=tmp_path / "job", **service.command("run"))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("sent ") == 2
    runs = {one["run"] for one in json.loads(done.stdout)["runs"]}
    assert len(runs) == 2


def test_commands_send_list_show_and_remove(service: Service, folder: Path) -> None:
    write(folder / "link.csv", TABLE)
    done = longhaul("recordings", "import", str(folder / "link.csv"), home=folder, **service.command("run"))
    assert done.returncode == 0, done.stderr
    reference = done.stdout.split()[0]
    assert "link.csv  2 s, mean 14 Mbit/s" in done.stdout
    listed = longhaul("recordings", "list", home=folder, **service.command("read"))
    assert reference in listed.stdout
    shown = longhaul("recordings", "show", reference, home=folder, **service.command("read"))
    assert shown.returncode == 0, shown.stderr
    assert "1, the longest 0.5 s" in shown.stdout
    refused = longhaul("recordings", "remove", reference, home=folder, **service.command("run"))
    assert refused.returncode == 2
    removed = longhaul("recordings", "remove", reference, home=folder, **service.command("admin"))
    assert removed.returncode == 0, removed.stderr


def test_the_client_raises_the_errors_of_the_service(service: Service, tmp_path: Path) -> None:
    with service.programs_client("run") as client:
        with pytest.raises(PlanError, match="line 2, column 1"):
            client.send_recording(write(tmp_path / "a.mahi", b"2\n1\n"))
        with pytest.raises(PlanError, match="there is no such file"):
            client.send_recording(tmp_path / "nowhere")
        with pytest.raises(PlanError, match=r"at most 1024 KiB \(LONGHAUL_RECORDING_UPLOAD_MB\)"):
            client.send_recording(write(tmp_path / "b.mahi", b"1\n" * 600_000))
        with pytest.raises(NotFound):
            client.recording(f"sha256:{'0' * 64}")
        with pytest.raises(NotFound):
            client.delete_recording("link.csv")
        with pytest.raises(NotAllowed):
            client.delete_recording(f"sha256:{'0' * 64}")
        sent = client.send_recording(write(tmp_path / "my trace (1).csv", TABLE))
        assert sent.name == "my trace _1_.csv"
        with pytest.raises(SpecError, match="allowed: an imported recording"):
            client.plan({**SPEC, "path": {"recording": {"file": str(tmp_path / "a.mahi")}, "rtt": "20 ms"}})
        with pytest.raises(PlanError, match="no recording with this hash"):
            client.plan({**SPEC, "path": {"recording": {"file": f"sha256:{'0' * 64}"}, "rtt": "20 ms"}})
        plan = client.plan({**SPEC, "path": {"recording": {"file": sent.reference}, "rtt": "20 ms"}})
        assert plan.runs == 1


SPEC: dict[str, Any] = {"experiment": "sent", "flows": [{"name": "one", "cc": "cubic"}], "duration": "1 s"}

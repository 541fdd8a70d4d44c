"""A run beside recordings: those of the run itself have its numbers, and those of real tools on loopback are compared and drawn."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import longhaul as face
from longhaul.orchestrator.system.settings import Settings
from tests.support.command import longhaul
from tests.support.guests import Finished, Runner
from tests.support.tools.flent import flent

# flent writes a list where iperf 2 takes a number.
ADAPTER = """#!/bin/bash
exec /usr/bin/iperf "${@//[][\\']/}"
"""


@pytest.fixture(scope="module")
def run(finish: Runner) -> Finished:
    return finish(
        path={"loss": "0.02%"}, flows=[{"name": "one", "cc": "cubic"}, {"name": "two", "cc": "bbr"}], duration="10 s"
    )


def compared(settings: Settings, run: Finished, file: Path, *options: str) -> dict[str, dict[str, Any]]:
    """The rows of the comparison by measure and flow."""
    done = longhaul("compare", run.document["run"], str(file), "--json", *options, home=settings.home)
    assert done.returncode == 0, done.stderr
    return {f"{row['measure']}({row['flow']})": row for row in json.loads(done.stdout)["measures"]}


@contextmanager
def listening(*command: str) -> Iterator[int]:
    """A server of this program, at a free port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen([*command, "-p", str(port)], stdout=subprocess.PIPE, bufsize=0) as server:
        try:
            assert server.stdout is not None
            while b"listening" not in server.stdout.readline():
                pass
            yield port
        finally:
            server.kill()


@pytest.mark.parametrize("kind", ["pcapng", "tcptrace"])
def test_the_packets_of_a_run_have_its_numbers(settings: Settings, run: Finished, tmp_path: Path, kind: str) -> None:
    """Two readings of the same flows: the kernel's trace, and packets at their sender."""
    place = tmp_path / ("a.pcapng.zst" if kind == "pcapng" else "files")
    options = ("--to", kind, "--at", "a1", "-o", str(place))
    done = longhaul("export", run.document["run"], *options, home=settings.home)
    assert done.returncode == 0, done.stderr
    match = [word for flow in run.run.flows for word in ("--match", f"{flow.name}=:{flow.port}")]
    rows = compared(settings, run, place, *match)
    for flow in ("one", "two"):
        assert rows[f"retransmits({flow})"]["effect"] == 0 < rows[f"retransmits({flow})"]["a"]
        # What has arrived, and is not acknowledged at the sender: half a round trip of the line.
        assert 0 <= -rows[f"bytes({flow})"]["difference"] <= 100e6 / 8 * 0.02
        assert rows[f"goodput({flow})"]["effect"] == pytest.approx(0, abs=0.01)
        assert rows[f"rtt_min({flow})"]["difference"] == pytest.approx(0, abs=0.002)
        assert rows[f"rtt_p50({flow})"]["effect"] == pytest.approx(0, abs=0.01)


def test_the_exports_of_a_run_have_its_numbers(settings: Settings, run: Finished, tmp_path: Path) -> None:
    for kind in ("iperf3", "flent"):
        done = longhaul("export", run.document["run"], "--to", kind, "-o", str(tmp_path / kind), home=settings.home)
        assert done.returncode == 0, done.stderr
    (flent,) = (tmp_path / "flent").iterdir()
    for file, flow in ((flent, "one"), (flent, "two"), (tmp_path / "iperf3" / "two.json", "two")):
        rows = compared(settings, run, file, *(() if file == flent else ("--match", "two=two")))
        assert rows[f"goodput({flow})"]["effect"] == pytest.approx(0, abs=0.01)
        assert rows[f"rtt_mean({flow})"]["effect"] == pytest.approx(0, abs=0.1)


def test_a_real_iperf3_is_compared_with_intervals_and_drawn(
    settings: Settings, execute: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGHAUL_HOME", str(settings.home))
    (tmp_path / "real").mkdir()
    for number in range(3):
        # A server each: one that has served is busy for a moment.
        with listening("iperf3", "-s", "--forceflush") as port:
            command = ["iperf3", "-c", "127.0.0.1", "-p", str(port), "-t", "1", "-J", "-b", "50M"]
            output = subprocess.run(command, capture_output=True, check=True).stdout
        (tmp_path / "real" / f"{number}.json").write_bytes(output)
    result = face.run(
        {"experiment": "beside", "path": {"bandwidth": "50 Mbit/s", "rtt": "10 ms"}, "flows": [{"name": "app", "cc": "cubic"}], "duration": "1 s"},
        repeats=3,
    )  # fmt: skip
    found = face.compare(result, str(tmp_path / "real"), gates=["goodput(app)"])
    (gated,) = [row for row in found.rows if row.gates]
    assert (gated.n, gated.measure) == (3, "goodput")
    assert gated.b == pytest.approx(50e6, rel=0.1)
    assert gated.low is not None and gated.high is not None and gated.low < gated.high
    assert [one["tool"] for one in found["recorded"]] == ["iperf3"] * 3
    page = tmp_path / "page.html"
    one = str(tmp_path / "real" / "0.json")
    done = longhaul("compare", result.runs[0].id, one, "--report", str(page), home=settings.home)
    assert done.returncode == 0, done.stderr
    # A terminal shows both in one chart.
    assert "a app (cubic)" in done.stdout and "b app in 0.json" in done.stdout
    assert "app in 0.json" in page.read_text()


def test_a_real_flent_is_compared(settings: Settings, finish: Runner, tmp_path: Path) -> None:
    run = finish(flows=[{"name": "udp", "udp": "10 Mbit/s"}], duration="2 s")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "iperf").write_text(ADAPTER)
    (programs / "iperf").chmod(0o755)
    with subprocess.Popen(["iperf", "-s", "-u"], stdout=subprocess.DEVNULL) as server:
        try:
            words = ["udp_flood", "-H", "127.0.0.1", "-l", "2", "-d", "0", "--step-size", "0.5", "-D", str(tmp_path)]
            words += ["--test-parameter", "udp_bandwidth=10M", "--test-parameter", "udp_pktsize=1000"]
            flent(*words, home=tmp_path, PATH=f"{programs}{os.pathsep}{os.environ['PATH']}")
        finally:
            server.kill()
    (file,) = tmp_path.glob("*.flent.gz")
    rows = compared(settings, run, file)
    assert rows["goodput(udp)"]["b"] == pytest.approx(10.4e6, rel=0.2)


@pytest.mark.parametrize(
    ("side", "options", "words"),
    [
        ("broken.pcap", (), "reading the recording"),
        ("other.json", (), "it is not a result"),
        ("there.json", ("--trace",), "a recording has no trace"),
        ("there.json", ("--match", "one"), "it has no FLOW=NAME"),
        ("there.json", ("--match", "three=x"), "the run has no flow three"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    settings: Settings, run: Finished, tmp_path: Path, side: str, options: tuple[str, ...], words: str
) -> None:
    (tmp_path / "broken.pcap").write_bytes(b"\xd4\xc3\xb2\xa1 cut")
    (tmp_path / "other.json").write_text("{}")
    test = {"protocol": "TCP", "bytes": 0}
    stream = {"socket": 5, "start": 0, "end": 1, "bytes": 1000}
    document = {"start": {"test_start": test}, "intervals": [{"streams": [stream]}], "end": {}}
    (tmp_path / "there.json").write_text(json.dumps(document))
    done = longhaul("compare", run.document["run"], str(tmp_path / side), *options, home=settings.home)
    assert done.returncode in (2, 4), done.stdout
    assert words in " ".join(done.stderr.split()), done.stderr


def test_a_recording_is_the_second_side(settings: Settings, run: Finished, tmp_path: Path) -> None:
    done = longhaul("export", run.document["run"], "--to", "iperf3", "-o", str(tmp_path), home=settings.home)
    assert done.returncode == 0
    done = longhaul("compare", str(tmp_path / "one.json"), run.document["run"], home=settings.home)
    assert (done.returncode, "name the run first" in done.stderr) == (2, True)

"""A kept run in the formats of other tools, read by those tools, or compared with a file that the tool wrote."""

from __future__ import annotations

import gzip
import json
import re
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.system.settings import Settings
from tests.support.command import longhaul
from tests.support.guests import Finished, Runner
from tests.support.programs import run_program
from tests.support.tools.flent import flent


@pytest.fixture(scope="module")
def run(finish: Runner) -> Finished:
    return finish(
        flows=[
            {"name": "one", "cc": "cubic"},
            {"name": "sized", "cc": "bbr", "size": "2 MB", "start": "1 s"},
            {"name": "udp", "udp": "5 Mbit/s", "stop": "3 s"},
        ],
        path={"loss": "0.05%"},
    )


def export(settings: Settings, run: Finished, folder: Path, to: str, *options: str) -> list[Path]:
    done = longhaul("export", run.document["run"], "--to", to, "-o", str(folder), *options, home=settings.home)
    assert done.returncode == 0, done.stderr
    return [Path(line) for line in done.stdout.splitlines()]


def numbers(run: Finished, flow: str) -> dict[str, Any]:
    return next(one for one in run.document["flows"] if one["name"] == flow)


def keys(document: Any, place: str = "") -> set[str]:
    if isinstance(document, dict):
        return {one for name, value in document.items() for one in {f"{place}.{name}", *keys(value, f"{place}.{name}")}}
    return keys(document[0], place) if isinstance(document, list) and document else set()


def test_iperf3_has_the_fields_and_totals(settings: Settings, run: Finished, tmp_path: Path) -> None:
    files = export(settings, run, tmp_path / "out", "iperf3")
    assert sorted(file.name for file in files) == ["one.json", "sized.json", "udp.json"]
    one, sized, udp = (json.loads((tmp_path / "out" / f"{name}.json").read_text()) for name in ("one", "sized", "udp"))
    # The document counts what the application reads after the last tick, too.
    assert one["end"]["sum_received"]["bytes"] == pytest.approx(numbers(run, "one")["bytes"], abs=4 * 1448)
    assert sum(part["sum"]["bytes"] for part in one["intervals"]) == one["end"]["sum_sent"]["bytes"]
    assert one["end"]["sum_sent"]["retransmits"] == numbers(run, "one")["retransmits"] > 0
    stream = one["end"]["streams"][0]["sender"]
    assert stream["min_rtt"] == pytest.approx(numbers(run, "one")["rtt_ms"]["min"] * 1000, abs=1)
    assert stream["max_snd_cwnd"] == numbers(run, "one")["cwnd_packets"]["max"] * 1448
    assert sized["end"]["sum_received"]["bytes"] == 2_000_000
    assert sized["end"]["sum_sent"]["seconds"] == numbers(run, "sized")["completion_s"]
    assert udp["end"]["sum"]["bytes"] == numbers(run, "udp")["bytes"]
    assert udp["end"]["sum"]["bits_per_second"] == pytest.approx(numbers(run, "udp")["bytes"] * 8 / 3)
    assert [part["sum"]["end"] for part in udp["intervals"]] == [1.0, 2.0, 3.0]


def test_iperf3_is_a_part_of_what_a_real_one_writes(settings: Settings, run: Finished, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    with subprocess.Popen(["iperf3", "-s", "-1", "-p", port, "--forceflush"], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        while b"listening" not in server.stdout.readline():
            pass
        command = ["iperf3", "-c", "127.0.0.1", "-p", port, "-t", "1", "-J"]
        real = json.loads(run_program(command, check=True).stdout)
        server.wait()
    export(settings, run, tmp_path / "out", "iperf3")
    ours = json.loads((tmp_path / "out" / "one.json").read_text())
    # A real one has no title unless -T gives one.
    assert keys(ours) - keys(real) <= {".title"}


def test_flent_reads_its_file(settings: Settings, run: Finished, tmp_path: Path) -> None:
    (file,) = export(settings, run, tmp_path / "out", "flent")
    document = json.loads(gzip.decompress(file.read_bytes()))
    about = document["metadata"]["SERIES_META"]
    assert [about[f"TCP upload::{number}"]["FLOW"] for number in (1, 2)] == ["one", "sized"]
    text = flent("-i", str(file), "-f", "stats", home=tmp_path)
    mean = re.search(r"TCP upload::1:.*?Mean: +([\d.]+)", text, re.DOTALL)
    assert mean is not None, text
    whole = numbers(run, "one")["bytes"] * 8 / 1e6 / 5
    assert float(mean[1]) == pytest.approx(whole, rel=0.001)
    picture = tmp_path / "totals.svg"
    flent("-i", str(file), "-p", "totals", "-o", str(picture), home=tmp_path)
    assert "</svg>" in picture.read_text()


def test_qlog_has_each_change_of_tcps_state(settings: Settings, run: Finished, tmp_path: Path) -> None:
    files = export(settings, run, tmp_path / "out", "qlog")
    assert sorted(file.name for file in files) == ["one.qlog", "sized.qlog"]
    (trace,) = json.loads((tmp_path / "out" / "one.qlog").read_text())["traces"]
    acks = run.trace.acks[run.trace.acks["id"] == 0]
    events = trace["events"]
    assert [event["time"] for event in events] == sorted(event["time"] for event in events)
    windows = [one["data"].get("congestion_window") for one in events if one["name"] == "recovery:metrics_updated"]
    assert max(filter(None, windows)) == int(acks["cwnd"].max()) * 1448
    lost = sum(one["data"]["packets"] for one in events if one["name"] == "recovery:packet_lost")
    assert lost == int(acks["lost"][-1])
    changes = [one["data"]["new"] for one in events if one["name"] == "recovery:congestion_state_updated"]
    assert "recovery" in changes and changes[0] != "open"


def test_tcptrace_reads_its_file(settings: Settings, run: Finished, tmp_path: Path) -> None:
    (file,) = export(settings, run, tmp_path / "out", "tcptrace", "--at", "a1-s1", "--flow", "one")
    text = run_program(["tcptrace", "-l", "-r", str(file)], check=True).stdout
    again = re.search(r"rexmt data pkts: +(\d+)", text)
    least = re.search(r"RTT min: +([\d.]+) ms", text)
    assert again is not None and least is not None, text
    assert int(again[1]) == numbers(run, "one")["retransmits"]
    assert float(least[1]) == pytest.approx(numbers(run, "one")["rtt_ms"]["min"], abs=0.1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--to", "csv", "--snap", "100"), "it chooses packets, and --to csv has none"),
        (("--to", "pcapng", "--at", "nowhere"), "no host, link or device nowhere"),
        (("--to", "pcapng", "--snap", "7"), "allowed: a number from 42"),
        (("--to", "pcapng", "--flow", "none"), "the run has no flow none; its flows: one, sized, udp"),
    ],
)
def test_packets_that_cannot_be_are_refused(
    settings: Settings, run: Finished, options: tuple[str, ...], words: str
) -> None:
    done = longhaul("export", run.document["run"], *options, home=settings.home)
    assert (done.returncode, words in " ".join(done.stderr.split())) == (2, True), done.stderr

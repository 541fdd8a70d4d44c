"""The tests of flent as shipped experiments: flent reads their exported files, computes the run's own measures from them, and draws every plot."""

from __future__ import annotations

import csv
import gzip
import json
import re
import statistics
import struct
from pathlib import Path
from typing import Any

import pytest
from flent import resultset

import longhaul
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.spec.load import load_experiment
from longhaul.orchestrator.system.settings import Settings
from tests.support.command import longhaul as command
from tests.support.tools.flent import flent

# A full segment is 1448 bytes of 1514 on the line.
GOODPUT = 1448 / 1514
UP, DOWN = 10.0 * GOODPUT, 50.0 * GOODPUT


@pytest.fixture(scope="module")
def made(pipeline: Pipeline) -> dict[str, Any]:
    """The document of each, and of rrul with fq_codel and with cake in place of droptail."""
    names = ("rrul", "rrul_be", "tcp_nup", "tcp_ndown", "rtt_fair")
    changes = {"rrul": ['sweep={"path.queue": ["droptail", "fq_codel", "cake"]}']}
    plans = {name: compile_plan(load_experiment(f"flent/{name}", changes.get(name, ()))) for name in names}
    found = {name: pipeline.execute(plan, jobs=2) for name, plan in plans.items()}
    assert {one["status"] for documents in found.values() for one in documents} == {"done"}
    return {name: documents[0] for name, documents in found.items()} | dict(
        zip(("fq_codel", "cake"), found["rrul"][1:], strict=True)
    )


def exported(settings: Settings, document: Any, folder: Path) -> Path:
    done = command("export", document["run"], "--to", "flent", "-o", str(folder), home=settings.home)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def summary(file: Path, home: Path) -> dict[str, float]:
    """The mean of each series, as `flent -f summary` prints it."""
    text = flent("-i", str(file), "-f", "summary", home=home)
    found = re.findall(r"^ (\S.*?) +: +([\d.]+) ", text, re.MULTILINE)
    return {name: float(mean) for name, mean in found}


def steps(file: Path, home: Path) -> dict[str, list[float]]:
    """The values of each series, as `flent -f csv` prints them, in the steps that have one."""
    text = flent("-i", str(file), "-f", "csv", home=home)
    lines = text.splitlines()
    rows = list(csv.DictReader(lines[next(place for place, line in enumerate(lines) if "TCP" in line) :]))
    return {name: [float(row[name]) for row in rows if row[name]] for name in rows[0]}


def raw(file: Path, name: str) -> list[tuple[float, float]]:
    """The times and values of a series as flent's library reads them."""
    found = resultset.load(str(file))
    return list(found.raw_series(name))


def goodputs(document: Any) -> dict[str, float]:
    return {one["name"]: one["goodput_bps"] / 1e6 for one in document["flows"]}


@pytest.mark.parametrize("case", ["rrul", "rrul_be", "rtt_fair", "fq_codel"])
def test_flent_computes_the_measures_of_the_run(
    settings: Settings, made: dict[str, Any], tmp_path: Path, case: str
) -> None:
    file = exported(settings, made[case], tmp_path)
    about = json.loads(gzip.decompress(file.read_bytes()))["metadata"]["SERIES_META"]
    measured = {name: rate for name, rate in goodputs(made[case]).items() if not name.startswith("ping")}
    means, values = summary(file, tmp_path), steps(file, tmp_path)
    series = {one["FLOW"]: name for name, one in about.items() if "FLOW" in one}
    assert {*series} == {*measured}
    for flow, name in series.items():
        # flent prints two decimals.
        assert means[name] == pytest.approx(measured[flow], abs=0.006 + 0.002 * measured[flow])
        assert sum(values[name]) / len(values[name]) == pytest.approx(measured[flow], rel=0.005)
        (numbers,) = [one for one in made[case]["flows"] if one["name"] == flow]
        assert max(values[f"{name}::tcp_cwnd"]) <= numbers["cwnd_packets"]["max"]
        smoothed = values[f"{name}::tcp_rtt"]
        assert sum(smoothed) / len(smoothed) == pytest.approx(numbers["rtt_ms"]["mean"], rel=0.1)
    pings = [one for one in made[case]["flows"] if one["name"].startswith("ping")]
    assert len(pings) == 4
    for one in pings:
        label = one["name"].removeprefix("ping-").upper().replace("-", " ")
        (name,) = [name for name in means if name.startswith("Ping") and label in name.split(") ")[1]]
        # The file has the pings of the idle path too, before and after the window.
        inside = [value for t_s, value in raw(file, name) if 5 <= t_s <= 65]
        assert len(inside) == one["requests"]["completed"]
        assert statistics.median(inside) == pytest.approx(one["requests"]["time_ms"]["p50"], rel=0.001)
        assert max(inside) == pytest.approx(one["requests"]["time_ms"]["max"], rel=0.001)
    for way in ("upload", "download"):
        total = sum(rate for flow, rate in measured.items() if flow.startswith(way))
        assert means[f"TCP {way} sum"] == pytest.approx(total, rel=0.005)
        assert means[f"TCP {way} avg"] == pytest.approx(total / 4, rel=0.005)


def test_the_links_are_full_and_their_queues_are_seen(settings: Settings, made: dict[str, Any], tmp_path: Path) -> None:
    # The acknowledgements of uploads share the line with downloads, and those of downloads wait in the full queue of uploads.
    for case, least in (("tcp_ndown", 0.98), ("fq_codel", 0.96), ("rrul", 0.9)):
        downloads = summary(exported(settings, made[case], tmp_path / case), tmp_path)["TCP download sum"]
        assert least * DOWN < downloads < DOWN
    uploads = summary(exported(settings, made["tcp_nup"], tmp_path / "up"), tmp_path)["TCP upload sum"]
    assert 0.98 * UP < uploads < UP
    pings = {
        case: summary(exported(settings, made[case], tmp_path / case), tmp_path)["Ping (ms) ICMP"]
        for case in ("rrul", "tcp_nup", "fq_codel")
    }
    # The path has 40 ms; each droptail queue 100 ms; fq_codel sends the packets of sparse flows first, behind one of 1514 bytes at most on each link.
    assert 90 < pings["tcp_nup"] < 141
    assert 100 < pings["rrul"] < 241
    assert 40 < pings["fq_codel"] < 40 + 2 * (1.3 + 0.3)


def test_marks_matter_to_cake_alone(settings: Settings, made: dict[str, Any], tmp_path: Path) -> None:
    """fq_codel gives flows equal shares. cake puts CS1 into a tin with a sixteenth of the line, EF into one with a quarter, the others into a third tin."""
    found = {case: summary(exported(settings, made[case], tmp_path / case), tmp_path) for case in ("fq_codel", "cake")}
    for way in ("upload", "download"):
        equal = [found["fq_codel"][f"TCP {way} {label}"] for label in ("BE", "BK", "CS5", "EF")]
        assert max(equal) < 1.1 * min(equal)
        best, bulk, same, voice = (found["cake"][f"TCP {way} {label}"] for label in ("BE", "BK", "CS5", "EF"))
        total = found["cake"][f"TCP {way} sum"]
        assert best == pytest.approx(same, rel=0.1)
        assert 0.02 * total < bulk < total / 16
        assert total / 8 < voice < total / 4


def test_rtt_fair_has_the_distances_of_its_servers(settings: Settings, made: dict[str, Any], tmp_path: Path) -> None:
    values = steps(exported(settings, made["rtt_fair"], tmp_path), tmp_path)
    for number, base_ms in enumerate((20, 50, 100, 200), 1):
        pings = values[f"Ping (ms) ICMP{number} b{number}"]
        assert base_ms - 1 < min(pings) < sum(pings) / len(pings) < base_ms + 203


@pytest.mark.parametrize(
    ("case", "plots"),
    [
        ("rrul", {"all_scaled": "Download, upload, ping", "box_totals": "Download", "ping_cdf": "ICMP", "tcp_rtt": "RTT -- EF"}),
        ("rrul_be", {"all_scaled": "BE4"}),
        ("tcp_nup", {"totals": "Upload", "upload_box": "BE -- 4", "upload_with_ping_and_tcp_rtt": "TCP RTT -- 4"}),
        ("tcp_ndown", {"download": "BE -- 4", "ping_cdf": "Ping (ms)"}),
        ("rtt_fair", {"all_scaled": "Upload -- b4", "bar_fairness": "Upload fairness"}),
    ],
)  # fmt: skip
def test_flent_draws_its_plots(
    settings: Settings, made: dict[str, Any], tmp_path: Path, case: str, plots: dict[str, str]
) -> None:
    file = exported(settings, made[case], tmp_path)
    for plot, words in plots.items():
        assert words in svg_text(tmp_path, plot, file), plot


def test_flent_writes_a_picture(settings: Settings, made: dict[str, Any], tmp_path: Path) -> None:
    file = exported(settings, made["rrul"], tmp_path)
    flent("-i", str(file), "-p", "all_scaled", "-o", str(tmp_path / "out.png"), home=tmp_path)
    content = (tmp_path / "out.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert min(struct.unpack(">2I", content[16:24])) > 300


def test_several_files_are_combined(settings: Settings, made: dict[str, Any], tmp_path: Path) -> None:
    """Two points of a sweep in one plot, as flent's users compare queues."""
    files = [exported(settings, made[case], tmp_path / case) for case in ("rrul", "fq_codel")]
    text = svg_text(tmp_path, "ping_cdf", *files)
    assert "queue=droptail" in text and "queue=fq_codel" in text
    # Runs of one point are one box, named by what the points differ in.
    text = svg_text(tmp_path, "box_combine", *files)
    assert "Induced latency" in text and "droptail (n=1)" in text and "fq_codel (n=1)" in text


def svg_text(folder: Path, plot: str, *files: Path) -> str:
    """A plot of flent as SVG with its words as text."""
    (folder / "matplotlibrc").write_text("svg.fonttype: none\n")
    picture = folder / f"{plot}.svg"
    named = [word for file in files for word in ("-i", str(file))]
    flent(*named, "-p", plot, "-o", str(picture), home=folder)
    return picture.read_text()


def test_the_same_run_gives_the_same_bytes_everywhere(
    settings: Settings, made: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGHAUL_HOME", str(settings.home))
    run = made["tcp_nup"]["run"]
    first = exported(settings, made["tcp_nup"], tmp_path / "first").read_bytes()
    (second,) = longhaul.export(run, "flent", tmp_path / "second")
    assert (second.name, second.read_bytes()) == (f"tcp_nup-{run}.flent.gz", first)
    rows = longhaul.kept_runs(50)
    kept_at = next(row["finished_at"] for row in rows if row["id"] == run)
    assert json.loads(gzip.decompress(first))["metadata"]["TIME"][:23] == kept_at[:23]
    with pytest.raises(longhaul.LonghaulError, match=r"there is no format flnet; known: .*nearest: flent"):
        longhaul.export(run, "flnet")

"""`longhaul recordings` as users see it: its output, JSON, pictures, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import longhaul

TABLE = "time_s,rate_mbps,delay_ms,loss\n0,8,20,0\n0.5,0,30,0\n1,24,40,0.5\n1.5,24,50,0.5\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.csv").write_text(TABLE)
    (tmp_path / "link").write_text("".join(f"{at}\n" for at in range(1, 1001)))
    (tmp_path / "pattern").write_text("0010\n")
    (tmp_path / "broken").write_text("1\n2;3\n")
    return tmp_path


def printed(home: Path, *words: str) -> str:
    done = longhaul("recordings", *words, home=home)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_files_are_imported_listed_and_shown(folder: Path) -> None:
    assert printed(folder, "list") == "no recordings yet\n"
    lines = printed(folder, "import", "link.csv", "link").splitlines()
    assert lines[0].endswith("  link.csv  2 s, mean 14 Mbit/s, mean delay 35 ms, loss 25 %")
    assert lines[1].endswith("  link  1 s, mean 12 Mbit/s")
    reference = lines[0].split()[0]
    assert reference in printed(folder, "list")
    rows = json.loads(printed(folder, "list", "--json"))
    assert [(row["name"], row["bytes"]) for row in rows] == [("link", 3893), ("link.csv", len(TABLE))]
    shown = printed(folder, "show", reference)
    for words in (
        "length     2 s",
        "capacity   mean 14 Mbit/s, highest 24 Mbit/s",
        "outages    1, the longest 0.5 s, together 0.5 s",
        "delay      least 20 ms, mean 35 ms, highest 50 ms",
        "loss       25 %",
        "Capacity, Mbit/s",
        "Delay, ms",
        "Outages, % of the time",
    ):
        assert words in shown
    assert "highest 12 Mbit/s over 0.1 s" in (steady := printed(folder, "show", "link"))
    assert "Outages" not in steady


def test_a_format_that_the_experiment_must_name_is_printed(folder: Path) -> None:
    line = printed(folder, "import", "pattern", "--format", "losses")
    assert line.endswith("pattern  4 packets, loss 25 %, beside it in the experiment: `format: losses`\n")
    assert "4 packets" in printed(folder, "show", "pattern", "--format", "losses")


def test_json_has_the_numbers_of_a_known_file(folder: Path) -> None:
    (imported,) = json.loads(printed(folder, "import", "link.csv", "--json"))
    assert (imported["name"], imported["length_s"], imported["mean_bps"]) == ("link.csv", 2.0, 14e6)
    found = json.loads(printed(folder, "show", imported["reference"], "--from", "0.5s", "--for", "1s", "--json"))
    assert found["outages"] == {"count": 1, "longest_s": 0.5, "total_s": 0.5}
    assert found["delay_ms"] == {"least": 20.0, "mean": 35.0, "highest": 50.0}
    assert (found["highest_bps"], found["loss"], found["rows"]) == (24e6, 0.25, 4)
    assert found["shown"]["rate_bps"] == pytest.approx([0.0] * 100 + [24e6] * 100)


def test_a_recording_is_removed(folder: Path) -> None:
    (imported,) = json.loads(printed(folder, "import", "link.csv", "--json"))
    assert printed(folder, "remove", imported["reference"]) == f"removed {imported['reference']}\n"
    assert imported["reference"] not in printed(folder, "list")
    assert sorted(one.name for one in (folder / "cache" / "recordings").glob(".*")) == []


@pytest.mark.parametrize(("name", "begins"), [("a.svg", b"<?xml"), ("a.PNG", b"\x89PNG")])
def test_a_picture_is_the_same_each_time(folder: Path, name: str, begins: bytes) -> None:
    done = longhaul("recordings", "show", "link.csv", "-o", name, home=folder)
    assert (done.returncode, done.stderr) == (0, f"written: {name}\n")
    assert "Capacity, Mbit/s" not in done.stdout
    content = (folder / name).read_bytes()
    assert content.startswith(begins)
    printed(folder, "show", "link.csv", "-o", name)
    assert (folder / name).read_bytes() == content


def test_a_table_is_converted_with_a_caveat(folder: Path) -> None:
    done = longhaul("recordings", "convert", "link.csv", "link.mahi", home=folder)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "note: delays and losses of the recording are left out\nwritten: link.mahi\n"
    printed(folder, "convert", "link", "out.csv", "--every", "500ms")
    assert (folder / "out.csv").read_text() == "time_s,rate_bps\n0,12000000\n0.5,12000000\n"
    # The caveat of transfers is in the help too.
    assert "only while it" in " ".join(printed(folder, "convert", "--help").split())


def test_models_are_listed_and_generate_files(folder: Path) -> None:
    rows = json.loads(printed(folder, "generate", "lte", "--list", "--json"))
    assert {"parameter", "default", "least", "highest", "about"} == rows[0].keys()
    assert "snr_db" in printed(folder, "generate", "lte", "--list")
    done = longhaul(
        "recordings", "generate", "lte", "a.mahi", "--set", "snr_db=30", "--set", "share=1", "--length", "10s", home=folder
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "written: a.mahi\n")
    printed(folder, "generate", "lte", "b.mahi", "--length", "10s")
    fast, slow = ((folder / name).read_text().split() for name in ("a.mahi", "b.mahi"))
    assert len(fast) > len(slow)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["import", "nowhere"], "there is no such file"),
        (["import", "link.csv", "--format", "tabel"], "known: mahimahi, table, losses, nearest: table"),
        (["import", "link.csv", "--columns", "rate"], "it has no KIND=COLUMN"),
        (["import", "broken"], "reading the recording broken: line 2, column 2: '2;3' is not a whole number"),
        (["show", "link.csv", "-o", "a.pdf"], "ends in neither .svg nor .png"),
        (["show", "link.csv", "-o", "no/a.svg"], "there is no folder no"),
        (["show", "link.csv", "--from", "2s"], "2 s is not before its end, 2 s"),
        (["show", "pattern", "--format", "losses", "-o", "a.svg"], "a pattern of losses has no times"),
        (["remove", "link.csv"], "looking for the recording link.csv: it is not sha256: and 64 hexadecimal digits"),
        (["remove", f"sha256:{'0' * 64}"], "no recording with this hash is kept here"),
        (["convert", "link.csv", "a.txt"], "ends in neither .csv nor .mahi"),
        (["generate", "let", "a.mahi"], "known: lte, leo, nearest: lte"),
        (["generate", "lte"], "no file is named; name one, or list the parameters with --list"),
        (["generate", "lte", "a.mahi", "--set", "snr_db"], "it has no PARAMETER=NUMBER"),
        (["generate", "lte", "a.mahi", "--set", "snr_db=99"], "snr_db is 99"),
    ],
)
def test_a_mistake_is_one_sentence(folder: Path, words: list[str], message: str) -> None:
    before = sorted(folder.iterdir())
    done = longhaul("recordings", *words, home=folder)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
    assert sorted(folder.iterdir()) == before


def test_a_json_error_is_one_document(folder: Path) -> None:
    done = longhaul("recordings", "import", "link.csv", "broken", "--json", home=folder)
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["error"] == "Malformed"

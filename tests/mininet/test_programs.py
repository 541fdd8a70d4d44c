"""Mininet programs in the styles of courses and reproductions of papers, unchanged, in virtual time in a guest; or refused by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.mininet.test_scripts import mininet
from tests.support.folders import DATA

PROGRAMS = DATA / "mininet"


def printed(name: str, folder: Path, *arguments: str) -> list[str]:
    """The lines of its output, and of Mininet's, which is its second stream."""
    done = mininet(str(PROGRAMS / name), *arguments, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return [*done.stdout.splitlines(), *done.stderr.splitlines()]


def test_bufferbloat_of_a_home_router(tmp_path: Path) -> None:
    """A queue of 100 packets at 1.5 Mbit/s takes 0.8 s to drain; one of 20 a fifth of it."""
    first, again = (printed("bufferbloat.py", tmp_path, "20") for _ in range(2))
    found = [re.fullmatch(r"queue of (\d+): \d+ fetches, mean ([\d.]+) s, ping at most (\d+) ms", one) for one in first]
    large, small = (match for match in found if match)
    assert float(large[2]) > 2 * float(small[2])
    assert 800 < float(large[3]) < 2000 and float(small[3]) < 700
    assert again == first


def test_bbr_starves_cubic_in_a_small_buffer(tmp_path: Path) -> None:
    rates = dict(line.split(" ", 1) for line in printed("bbr_cubic.py", tmp_path) if "Mbit/s" in line)
    bbr, cubic = (float(rates[cc].split()[0]) for cc in ("bbr", "cubic"))
    assert bbr > 2 * cubic and 17 < bbr + cubic < 20


def test_a_parking_lot_favours_the_near_sender(tmp_path: Path) -> None:
    lines = printed("parking_lot.py", tmp_path)
    assert "loss 0.0" in lines
    alone = [float(rate) for line in lines if "Results: ['" in line for rate in re.findall(r"([\d.]+) Mbits/sec", line)]
    assert len(alone) == 6 and all(9.4 < rate < 9.7 for rate in alone)
    # Mininet's prompt reads an empty input, and ends.
    found = [re.search(r"\b(h\d): ([\d.]+) Mbits/sec", line) for line in lines]
    together = {match[1]: float(match[2]) for match in found if match}
    assert list(together) == ["h1", "h2", "h3"]
    assert together["h1"] > together["h2"] > together["h3"]


def test_fetches_beside_cross_traffic(tmp_path: Path) -> None:
    first, again = (printed("web_cross.py", tmp_path) for _ in range(2))
    took = {line.split()[0]: [float(text) for text in line.split()[1:]] for line in first if line[0] in "N48"}
    # A megabyte takes 0.85 s at 9.4 Mbit/s of payload, and longer where 4 or 8 of 10 Mbit/s are taken.
    assert 0.85 < took["None"][2] < 1.2 < took["4M"][2] < 2.2 < took["8M"][2]
    assert again == first


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("remote_controller.py", "RemoteController: a guest has no network but its own"),
        ("python2.py", "line 9, 'print \"': it is written for Python 2"),
        ("shares.py", "CPULimitedHost: computing costs no virtual time"),
        ("flow_rules.py", "ovs-ofctl on s1: guests have no Open vSwitch"),
    ],
)
def test_what_has_no_meaning_in_a_guest_is_refused_by_name(name: str, words: str, tmp_path: Path) -> None:
    done = mininet(str(PROGRAMS / name), folder=tmp_path)
    assert done.returncode == 2
    assert f"longhaul: running {PROGRAMS / name}: {words}" in done.stderr
    assert "Traceback" not in done.stderr and done.stderr.count("longhaul: ") == 1


def test_an_error_of_a_script_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text("import mininet.net\n\n\ndef f(:\n    pass\n")
    done = mininet("odd.py", folder=tmp_path)
    assert (done.returncode, "line 4: invalid syntax" in done.stderr) == (1, True)
    (tmp_path / "wrong.py").write_text("import sys\nprint(sys.argv[1:], __name__)\nraise ValueError('its own')\n")
    done = mininet("wrong.py", "a", "b", folder=tmp_path)
    assert done.stdout == "['a', 'b'] __main__\n"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "ValueError: its own")

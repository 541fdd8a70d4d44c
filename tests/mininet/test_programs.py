"""Mininet programs in the styles of courses and reproductions of papers, unchanged, in virtual time in a guest; or refused by name."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from longhaul.laboratory.scripts import CLOCKS
from longhaul.orchestrator.spec.kernel_versions import ORDINARY_KERNELS
from tests.mininet.test_scripts import mininet
from tests.support.folders import DATA
from tests.support.programs import run_program

HERE = Path(__file__).parent
PROGRAMS = DATA / "mininet"


def printed(name: str, folder: Path, *arguments: str) -> list[str]:
    """The lines of its output, and of Mininet's, which is its second stream; the last one is about its kept run."""
    done = mininet(str(PROGRAMS / name), *arguments, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kept" in done.stderr.splitlines()[-1]
    return [*done.stdout.splitlines(), *done.stderr.splitlines()]


def printed_twice(name: str, folder: Path, *arguments: str) -> list[str]:
    """The same of a program that prints the same and leaves the same trace when it runs again."""
    first, again = (printed(name, folder, *arguments) for _ in range(2))
    assert again[:-1] == first[:-1]
    assert again[-1].startswith("longhaul: identical to the kept run ")
    return first


def test_bufferbloat_of_a_home_router(tmp_path: Path) -> None:
    """A queue of 100 packets at 1.5 Mbit/s takes 0.8 s to drain; one of 20 a fifth of it."""
    first = printed_twice("bufferbloat.py", tmp_path, "20")
    found = [re.fullmatch(r"queue of (\d+): \d+ fetches, mean ([\d.]+) s, ping at most (\d+) ms", one) for one in first]
    large, small = (match for match in found if match)
    assert float(large[2]) > 2 * float(small[2])
    assert 800 < float(large[3]) < 2000 and float(small[3]) < 700


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
    first = printed_twice("web_cross.py", tmp_path)
    took = {line.split()[0]: [float(text) for text in line.split()[1:]] for line in first if line[0] in "N48"}
    # A megabyte takes 0.85 s at 9.4 Mbit/s of payload, and longer where 4 or 8 of 10 Mbit/s are taken.
    assert 0.85 < took["None"][2] < 1.2 < took["4M"][2] < 2.2 < took["8M"][2]


def test_a_transfer_follows_a_link_that_changes(tmp_path: Path) -> None:
    """20, 5 and 50 Mbit/s, less the headers; the last delay is 1 ms each way."""
    first = printed_twice("link_change.py", tmp_path, "6")
    rates = [float(match[1]) for line in first if (match := re.fullmatch(r"phase \d: ([\d.]+) Mbit/s", line))]
    assert all(0.93 < rate / link < 0.97 for rate, link in zip(rates, (20, 5, 50), strict=True))
    assert "after the first change: htb" in first and "ping: 2.000 ms" in first


def test_a_long_round_trip_gets_less(tmp_path: Path) -> None:
    lines = printed("rtt_unfairness.py", tmp_path, "20", "cubic")
    found = [
        re.fullmatch(r"cubic (c\d): ([\d.]+) Mbit/s, mean window ([\d.]+) of (\d+) samples", line) for line in lines
    ]
    near, far = (match for match in found if match)
    assert float(near[2]) > 2 * float(far[2])
    assert 9 < float(near[2]) + float(far[2]) < 10
    # A sample each half a second.
    assert near[4] == far[4] == "40" and float(far[3]) > 5


def test_policies_of_queues_at_a_router(tmp_path: Path) -> None:
    first = printed_twice("queue_policies.py", tmp_path, "6")
    shape = r"(\w+) +([\d.]+) Mbit/s, ping ([\d.]+) to ([\d.]+) ms, mean ([\d.]+)"
    found = {match[1]: match for line in first if (match := re.fullmatch(shape, line))}
    assert list(found) == ["pfifo", "prio", "fq_codel", "sfq", "red"]
    assert all(9 < float(match[2]) < 9.7 for match in found.values())
    # 200 packets of 1.2 ms wait before a ping in the fifo, at most one with a band or a queue of its own.
    assert float(found["pfifo"][4]) > 150
    assert all(float(found[name][3]) >= 20 and float(found[name][4]) < 24 for name in ("prio", "fq_codel", "sfq"))
    assert 24 < float(found["red"][5]) < 60
    assert "100% packet loss" in first


def test_windows_of_tcp_probe_are_those_of_ss(tmp_path: Path) -> None:
    first = printed_twice("tcp_probe.py", tmp_path, "reno", "10")
    assert any(re.fullmatch(r"\d{4} lines from 10.0.0.1 to 10.0.0.2:5001", line) for line in first)
    assert "40 of 40 windows as in ss" in first
    # 40 ms of delay both ways and 1.2 ms for a packet; 40 packets more in the queue.
    (match,) = (match for line in first if (match := re.search(r"round trip (\d+) to (\d+) us", line)))
    assert 40_000 < int(match[1]) < 60_000 < int(match[2]) < 200_000


def test_tcp_probe_as_a_module(tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text(
        "import os\n"
        "def do(words): print(words, os.system(words) >> 8, flush=True)\n"
        "do('test -e /proc/net/tcpprobe')\n"
        "do('modprobe tcp_probe bufsize=0')\n"
        "do('modprobe tcp_probe port=5001 full=1')\n"
        "do('modprobe tcp_probe')\n"
        "do('ip netns add other && ip netns exec other test -e /proc/net/tcpprobe')\n"
        "do('timeout 1 cat /proc/net/tcpprobe')\n"
        "do('rmmod tcp_probe')\n"
        "do('test -e /proc/net/tcpprobe')\n"
    )
    done = mininet("probe.py", folder=tmp_path)
    codes = [int(line.rsplit(" ", 1)[1]) for line in done.stdout.splitlines()]
    assert codes == [1, 1, 0, 0, 0, 124, 0, 1]
    assert done.stderr.splitlines()[:-1] == ["tcp_probe: Invalid argument"]


POLLS = """
import sys, time
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

net = Mininet(topo=SingleSwitchTopo(3))
net.start()
h1, h2, h3 = net.hosts
ping = h2.popen("ping -i 0.01 -c 200 10.0.0.3 > /tmp/ping.txt", shell=True)
start = time.time()
while time.time() < start + float(sys.argv[1]):
    pass
print("%.3f" % (time.time() - start))
ping.wait()
print(open("/tmp/ping.txt").read().splitlines()[-2:])
"""


def test_a_program_that_polls_the_clock_is_fast_and_disturbs_no_other(tmp_path: Path) -> None:
    """Thirty seconds took 117 million looks at the clock; the pings are sent at the same times beside it."""
    (tmp_path / "polls.py").write_text(POLLS)
    polling, idle = (mininet("polls.py", seconds, folder=tmp_path).stdout.splitlines() for seconds in ("30", "0"))
    assert 30 <= float(polling[0]) <= 30.001
    assert polling[1] == idle[1] and "200 received" in idle[1]


@pytest.mark.parametrize(
    ("loop", "name"),
    [
        ("h1.cmd('while :; do :; done')", "bash on h1"),
        ("h2.cmd('python3 -c \"while True: pass\"')", "python3 on h2"),
        ("[p for p in iter(h1.popen('sleep 9').poll, 0)]", "python3"),
    ],
)
def test_a_program_that_waits_without_sleeping_is_named(
    loop: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGHAUL_STALL_LIMIT_S", "2")
    (tmp_path / "loop.py").write_text(POLLS.partition("ping =")[0] + f"time.sleep(3)\n{loop}\n")
    done = mininet("loop.py", folder=tmp_path)
    assert done.returncode == 4
    sentence = done.stderr.splitlines()[-1]
    assert sentence.startswith(f"longhaul: running {tmp_path}/loop.py: {name} made no virtual time pass in 2 s"), (
        sentence
    )
    assert "let it sleep where it waits in a loop" in sentence


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


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("kernel", ORDINARY_KERNELS)
def test_a_program_has_its_registers_and_memory(kernel: str, clock: str, tmp_path: Path) -> None:
    """It prints the same here and in a guest. In real time its threads interrupt one another anywhere."""
    program = tmp_path / "memory"
    subprocess.run(["gcc", "-O1", "-static", "-pthread", "-o", program, HERE / "memory.c"], check=True)
    here = run_program([program, tmp_path])
    assert (here.returncode, here.stdout[:9]) == (0, "registers"), here.stdout
    run = f"import subprocess, sys; sys.exit(subprocess.run([{str(program)!r}, '/tmp']).returncode)\n"
    (tmp_path / "run.py").write_text(run)
    done = mininet("--kernel", kernel, "--clock", clock, "--no-keep", "run.py", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, here.stdout), done.stderr

"""A shell in a run whose clock stands: it stops where the trace says, looking changes nothing, and disturbing is reported."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import longhaul
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.spec.load import plain_data
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.system.errors import BackendError, PlanError
from tests.support.guests import FLOW, VARIED, Runner, experiment, guards, guests, kernels
from tests.support.programs import run_program
from tests.support.terminal import Terminal
from tests.support.waiting import wait_for

SHORT = {"duration": "2 s", "start_jitter": "1 RTT"}
# Without waiting, and without packets of their own.
LOOKS = (
    "ss -tin",
    "ss -s",
    "tc -s qdisc show",
    "ip -s link; ip route; ip neigh",
    "getent hosts b1; getent ahosts a1; date; cat /proc/net/snmp",
    "python3 -c 'import time; print(time.time())'",
)
PARKING_LOT = {"topology": "parking_lot", "flows": [FLOW | {"count": 2}]}
PROGRAM = {"flows": [{"name": "page", "command": {"server": ["iperf", "-s"], "client": ["iperf", "-c", "server"]}}]}


@pytest.fixture(autouse=True)
def home(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store in which the tests keep runs."""
    monkeypatch.setenv("LONGHAUL_HOME", str(pipeline.store.home))
    return pipeline.store.home


@pytest.mark.parametrize("changes", VARIED.values(), ids=VARIED)
def test_looking_and_stepping_leave_the_trace_as_it_is(pipeline: Pipeline, changes: dict[str, Any]) -> None:
    written = experiment(**SHORT | changes)
    (without,) = pipeline.execute(compile_plan(written, seed=3))
    with longhaul.shell(written, seed=3) as shell:
        assert shell.at_s == 0
        shell.step("300 ms")
        for look in LOOKS:
            looked = shell.run(look)
            assert (looked.at_s, looked.passed_s, looked.sent_packets) == (0.3, 0, 0), look
        assert shell.until("drop").at_s > 0.3
        shell.run("tc -s qdisc show", host="s1")
        finished = shell.finish()
    assert (finished.undisturbed, finished.document["trace_sha256"]) == (True, without["trace_sha256"])


def test_it_stops_where_the_trace_says(finish: Runner) -> None:
    changes = {"path": {"buffer": "0.5 BDP"}, "flows": [FLOW | {"count": 2}], "duration": "8 s"}
    done = finish(**changes)
    acks, drops = done.trace.acks, done.trace.drops
    ports = [flow.port for flow in done.run.flows]
    with longhaul.shell(experiment(**changes)) as shell:
        assert round(shell.until("drop").at_s * 1e9) == drops["t_ns"][0]
        now = round(shell.at_s * 1e9)
        of_second = drops["t_ns"][(drops["t_ns"] > now) & (drops["destination_port"] == ports[1])]
        assert round(shell.until("drop one-2").at_s * 1e9) == of_second[0]
        now = round(shell.at_s * 1e9)
        small = acks["t_ns"][(acks["t_ns"] > now) & (acks["id"] == 1) & (acks["cwnd"] < 130)]
        assert round(shell.until("cwnd<130 one-2").at_s * 1e9) == small[0]
        now = round(shell.at_s * 1e9)
        slow = acks["t_ns"][(acks["t_ns"] > now) & (acks["srtt_us"] >= 55_000)]
        assert round(shell.until("srtt >= 55 ms").at_s * 1e9) == slow[0]
        looked = shell.until("recovery")
        window = shell.run("ss -tin state established").output
        assert looked.moment.startswith("state 3") and "retrans:" in window
        assert shell.until("end").at_s == 7.999
        with pytest.raises(PlanError, match="the run is at its end"):
            shell.until("drop")


def test_every_host_reaches_every_other_and_packets_are_reported() -> None:
    with longhaul.shell(experiment(**SHORT | PARKING_LOT), at="100 ms") as shell:
        hosts = [name for name in shell.hosts if not name.startswith("s")]
        for host, other in zip(hosts, hosts[3:] + hosts[:3], strict=True):
            looked = shell.run(f"ping -c 1 -W 1 {other}", host=host)
            assert looked.code == 0, looked.output
            assert looked.passed_s > 0.01 and looked.sent_packets == 1
        assert shell.run("sleep 0.01").passed_s == pytest.approx(0.01, abs=1e-3)


def test_a_program_that_polls_the_clock_gets_on() -> None:
    waiting = "import time; end = time.monotonic() + 0.0002\nwhile time.monotonic() < end: pass"
    with longhaul.shell(experiment(**SHORT)) as shell:
        assert shell.run(f"python3 -c '{waiting}'").passed_s == pytest.approx(0.0002, abs=0.0001)


@pytest.mark.parametrize(
    ("changes", "options", "what"),
    [
        ({}, {"host": "q7"}, "the run has no host q7"),
        ({}, {"at": "2 s"}, "not before the end of the run"),
        ({}, {"at": "soon"}, "a number that is not negative"),
        ({}, {"until": "cwnd<few"}, "whole number"),
        ({}, {"until": "rtt<10"}, "compared with a time"),
        ({}, {"until": "drop two"}, "the run has no flow two; its flows: one"),
        ({}, {"until": "rain"}, "until 'rain' is no condition"),
        (PROGRAM, {"until": "drop page"}, "connections of page have no port of its own"),
        ({"nodes": {"a1": {"kernel": "6.1"}}}, {}, "guests whose trace one guest does not have"),
    ],
)
def test_an_impossible_shell_is_refused_in_one_sentence(
    changes: dict[str, Any], options: dict[str, Any], what: str
) -> None:
    with pytest.raises(PlanError, match=what), longhaul.shell(experiment(**SHORT | changes), **options):
        pass


def test_a_shell_that_was_left_says_so() -> None:
    with longhaul.shell(experiment(**SHORT)) as shell:
        with pytest.raises(BackendError, match="came to its end"):
            shell.run("sleep 5")
        with pytest.raises(BackendError, match="the shell is closed"):
            shell.run("true")


def test_a_kept_run_is_opened_by_its_id(pipeline: Pipeline) -> None:
    (kept,) = pipeline.execute(compile_plan(experiment(**SHORT), seed=5))
    with longhaul.shell(kept["run"], at="1 s") as shell:
        assert shell.finish().undisturbed


def write(folder: Path, written: Experiment) -> Path:
    file = folder / "e.json"
    file.write_text(json.dumps(plain_data(written)))
    return file


def test_the_journey_at_a_terminal(tmp_path: Path, finish: Runner) -> None:
    # Long enough for a ping that a key interrupts: meanwhile virtual time does not wait.
    first = finish(**SHORT | {"duration": "100 s"}).trace.drops["t_ns"][0]
    write(tmp_path, experiment(**SHORT | {"duration": "100 s"}))
    terminal = Terminal("longhaul", "shell", "e.json", "--at", "0.5s", cwd=tmp_path, TERM="xterm")
    terminal.wait_for("a1 at 0.5 s> ")
    terminal.type("until drop\r")
    at = f"{first / 1e9:.9f}".rstrip("0")
    assert f"at {at} s: lost a packet of one at s1-b1" in terminal.wait_for(f"a1 at {at} s> ")
    terminal.type("until cwnd>300\r")
    assert "of one" in terminal.wait_for(" of one")
    terminal.type("ping -i 0.1 b1\r")
    terminal.wait_for("bytes from b1")
    terminal.type("\x03")
    assert "from here on this is another run" in terminal.wait_for("this is another run")
    terminal.type("python3\r")
    terminal.wait_for(">>> ")
    terminal.type("exit()\r")
    terminal.type("exit\r")
    assert terminal.end() == 0


def test_lines_of_the_input_are_commands(tmp_path: Path) -> None:
    done = run_program(
        [sys.executable, "-m", "longhaul.cli.main", "shell", write(tmp_path, experiment(**SHORT)), "--until", "drop"],
        input="ss -tin | wc -l\nfalse\n",
    )
    assert done.returncode == 1, done.stderr
    assert "lost a packet of one" in done.stdout
    assert done.stdout.splitlines()[-1].isdigit()


def processor_ticks(pid: int) -> int:
    user, system = Path(f"/proc/{pid}/stat").read_text().split()[13:15]
    return int(user) + int(system)


def test_a_killed_shell_leaves_nothing(tmp_path: Path) -> None:
    write(tmp_path, experiment(**SHORT))
    terminal = Terminal("longhaul", "shell", "e.json", cwd=tmp_path, TERM="xterm")
    terminal.wait_for("a1 at 0 s> ")
    home = tmp_path / "home"
    (kernel,) = kernels(home)
    spent = processor_ticks(kernel)
    time.sleep(1)
    # A prompt that waits takes no processor time; a loop would take 100 ticks. The rest of the prompt's own start may take one or two.
    assert processor_ticks(kernel) - spent < 5
    terminal.stop(signal.SIGKILL)
    wait_for(lambda: not guests(home) and not guards(home), 20)
    assert not [name for name in os.listdir(home / "staging") if "shell" in name]

"""gdb on a guest with a foreign module, as docs/debugging-modules.md has it: lines, callers and variables of the module's source."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.guest.user_code.test_foreign_sources import FOREIGN
from tests.support.command import longhaul
from tests.support.guests import kernels
from tests.support.programs import run_program
from tests.support.waiting import wait_for

SHAPE = FOREIGN / "burst_goal"
EXPERIMENT = """
experiment: long
kernel: "{kernel}"
modules: [{folder}]
path: {{bandwidth: 50 Mbit/s, rtt: 40 ms, loss: 0.001}}
flows: [{{name: one, cc: bursts}}]
duration: 100 h
"""


# Linux keeps the parts of a module in memory in one way until 6.3, and in another since.
@pytest.mark.parametrize("kernel", ["6.1", "6.12"])
def test_gdb_stops_in_a_foreign_module(tmp_path: Path, kernel: str) -> None:
    file, home = tmp_path / "long.yaml", tmp_path / "home"
    file.write_text(EXPERIMENT.format(kernel=kernel, folder=SHAPE))
    built = longhaul("modules", "build", "--symbols", "--kernel", kernel, str(SHAPE), home=home)
    assert built.returncode == 0, built.stderr
    settings = {"LONGHAUL_HOME": str(home), "LONGHAUL_CONFINEMENT": "off", "LONGHAUL_STALL_LIMIT_S": "1000"}
    with subprocess.Popen(
        [sys.executable, "-m", "longhaul.cli.main", "run", str(file)],
        env=os.environ | settings,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        try:
            assert run.stderr is not None
            # The first report comes from a guest that is under way.
            assert "seed 1 is at" in run.stderr.readline()
            wait_for(lambda: kernels(home) or run.poll() is not None)
            commands = [
                "break bursts_size",
                "continue",
                "backtrace",
                "print bursts_ops.name",
                "print ((struct tcp_sock *)sk)->snd_cwnd",
                "detach",
            ]
            done = run_program(
                [
                    "gdb",
                    "-batch",
                    "-nx",
                    "-d",
                    str(SHAPE),
                    "-p",
                    str(kernels(home)[0]),
                    "-x",
                    f"{built.stdout.strip()}/module_symbols.py",
                    *(word for one in commands for word in ("-ex", one)),
                ],
                stdin=subprocess.DEVNULL,
            )
            text = done.stdout + done.stderr
        finally:
            run.terminate()
    assert "bursts_size (sk=0x" in text, text
    assert "at tcp_bursts.c:" in text
    assert "tcp_write_xmit" in text or "tcp_xmit_retransmit_queue" in text
    assert '$1 = "bursts' in text
    assert int(text.partition("$2 = ")[2].split()[0]) > 0

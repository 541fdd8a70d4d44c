"""The settings that a prediction prints, made by a real program's hosts: they are enough where Linux's defaults are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import longhaul

# Twice the bandwidth-delay product, 7.5 MB each way, is more than Linux's default buffers hold.
PATH = {"bandwidth": "200 Mbit/s", "rtt": "300 ms", "buffer": "0.5 BDP"}
LINE = "200 Mbit/s, 300 ms, buffer 0.5 BDP"
DEFAULTS = {"net.ipv4.tcp_rmem": "4096 131072 6291456", "net.ipv4.tcp_wmem": "4096 16384 4194304"}


def _goodput_bps(sysctls: dict[str, str], folder: Path, home: Path) -> float:
    """The goodput of iperf between hosts with these settings. The limits below net.core are of the whole machine, not of a host."""
    made = " && ".join(f"sysctl -w {name}='{value}'" for name, value in sysctls.items() if name.startswith("net.ipv4"))
    spec: dict[str, Any] = {
        "experiment": "settings",
        "path": PATH,
        "flows": [
            {
                "name": "app",
                "command": {
                    "server": ["sh", "-c", f"{made} && exec iperf -s"],
                    "client": ["sh", "-c", f"{made} && exec iperf -c server -t 28"],
                    "sends": "client",
                },
            }
        ],
        "duration": "30 s",
        "warmup": "12 s",
    }
    file = folder / "settings.yaml"
    file.write_text(json.dumps(spec))
    done = longhaul("run", str(file), "--json", home=home)
    assert done.returncode == 0, done.stderr
    goodput: float = json.loads(done.stdout)["runs"][0]["flows"][0]["goodput_bps"]
    return goodput


def test_the_printed_settings_are_enough(tmp_path: Path) -> None:
    home, written = tmp_path / "home", tmp_path / "fastest.yaml"
    asked = ["predict", "--size", "20 GB", "--path", LINE, "--cc", "cubic", "--streams", "1", "--write", str(written)]
    done = longhaul(*asked, "--json", home=home)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert row["how"] == "steady"
    assert row["low_s"] <= row["seconds"] <= row["high_s"]
    enough = _goodput_bps(row["sysctls"], tmp_path, home)
    assert enough == pytest.approx(row["rate_bps"], rel=0.05)
    assert _goodput_bps(DEFAULTS, tmp_path, home) < 0.7 * enough
    # The experiment of the fastest row runs, too.
    assert longhaul("run", str(written), "--set", "duration=2 s", home=home).returncode == 0

"""Tuning and searching with real guests, and separate runs of the experiments that they wrote."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

from longhaul.orchestrator.spec.load import load_experiment
from tests.support.command import longhaul

FAST_LOSSY = """
experiment: fast-lossy
path: {bandwidth: 100 Mbit/s, rtt: 20 ms, buffer: 0.25 BDP}
flows:
  - {name: app, cc: %s}
duration: 8 s
warmup: 3 s
"""


def test_ccpd_tuned_on_a_short_path_is_at_least_as_good_on_fresh_seeds(tmp_path: Path) -> None:
    written, tuned = tmp_path / "ccpd.yaml", tmp_path / "tuned.yaml"
    written.write_text(FAST_LOSSY % "ccpd, params: {kp: 0.25}")
    flags = ["--param", "app.kp=0.25,1,4", "--param", "app.kd=1 ms,2 ms", "--for", "goodput(app)/1e6", "--confirm", "3"]
    heat_map = tmp_path / "heat.svg"
    result = longhaul(
        "tune", str(written), *flags, "-o", str(tuned), "--heat-map", str(heat_map), "--json", home=tmp_path / "home"
    )
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert len(found["trials"]) == 6
    assert found["confirmation"]["seeds"] == [2, 3, 4]
    # The window is Kp / (1 + Kp) of pipe and buffer: a fifth at Kp = 0.25, which is less than the pipe.
    assert found["confirmation"]["low"] > 0
    assert found["best"]["params"]["app.kp"] > 0.25
    texts = [one.text for one in ElementTree.parse(heat_map).iter("{http://www.w3.org/2000/svg}text")]
    assert {"app.kp", "app.kd", "0.25", "1", "4", "1 ms", "2 ms"} <= set(texts)
    # Each of the six cells, with three digits of the largest.
    numbers = [float(str(text)) for text in texts if str(text).replace(".", "").isdigit()]
    values = [trial["value"] for trial in found["trials"]]
    assert all(min(abs(number - value) for number in numbers) <= 0.005 * max(values) for value in values)

    params = load_experiment(str(tuned)).flows[0].params
    assert params == {name.removeprefix("app."): value for name, value in found["best"]["params"].items()}
    again = longhaul("run", str(tuned), "--seed", "2", "--json", home=tmp_path / "home")
    assert json.loads(again.stdout)["runs"][0]["flows"][0]["goodput_bps"] > found["confirmation"]["untuned"] * 1e6


def test_a_counterexample_for_cubic_is_found_and_fails_as_an_experiment(tmp_path: Path) -> None:
    written, counterexample = tmp_path / "cubic.yaml", tmp_path / "counterexample.yaml"
    written.write_text(FAST_LOSSY % "cubic")
    flags = ["--over", "path.loss=1e-6..1e-2", "--claim", "goodput(app) >= 0.8 * 100e6", "--confirm", "2"]
    result = longhaul("search", str(written), *flags, "-o", str(counterexample), "--json", home=tmp_path / "home")
    assert result.returncode == 1, result.stderr
    found = json.loads(result.stdout)
    # At 1 % cubic is far below, as 1.2/sqrt(p) segments a round trip are 7 Mbit/s; without loss it fills the path.
    by_loss = sorted(found["conditions"], key=lambda one: one["distance"])
    assert not by_loss[0]["breaks"]
    assert by_loss[-1]["breaks"]
    assert all(value < 80e6 for value in found["confirmation"]["values"])
    assert 1e-6 < found["counterexample"]["values"]["path.loss"] < 1e-2

    again = longhaul("run", str(counterexample), home=tmp_path / "home")
    assert again.returncode == 1
    assert "missed" in again.stdout


def test_a_claim_that_holds_has_no_counterexample(tmp_path: Path) -> None:
    written, counterexample = tmp_path / "cubic.yaml", tmp_path / "counterexample.yaml"
    written.write_text(FAST_LOSSY % "cubic")
    flags = ["--over", "path.rtt=2ms..20ms", "--claim", "goodput(app) >= 10 Mbit/s", "-o", str(counterexample)]
    result = longhaul("search", str(written), *flags, home=tmp_path / "home")
    assert result.returncode == 0, result.stderr
    assert "holds at each of the 5 conditions tried" in result.stdout
    assert not counterexample.exists()

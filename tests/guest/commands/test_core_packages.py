"""A user with the core alone, an environment of exactly requirements.lock: run, report, results, comparison, export, and `longhaul doctor`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from longhaul.orchestrator.system.extras import EXTRAS, remedy_for
from tests.support.environments import environment_with, locked
from tests.support.programs import run_program


def test_the_core_runs_experiments_and_names_every_extra(tmp_path: Path) -> None:
    python = environment_with(tmp_path / "env", locked("requirements.lock"))
    environment = {**os.environ, "LONGHAUL_HOME": str(tmp_path / "home")}

    def longhaul(*words: str, code: int = 0) -> str:
        done = run_program([python, "-m", "longhaul", *words], cwd=tmp_path, env=environment)
        assert done.returncode == code, done.stderr
        return done.stdout

    result = json.loads(longhaul("run", "quick", "--json", "--report", "report.html", "--junit", "junit.xml"))
    (run,) = (run["run"] for run in result["runs"])
    page = (tmp_path / "report.html").read_text()
    assert "<canvas" in page
    assert "<img" not in page
    assert "Congestion window" in longhaul("run", "quick", "--set", "duration=2s", "--markdown", "summary.md")
    longhaul("run", "quick", "--set", "sweep={flows.app.cc: [reno, cubic]}", "--set", "duration=2s", "--out", "both")
    assert longhaul("compare", "both", "--by", "flows.app.cc")
    assert run in longhaul("list", "runs")
    assert run in longhaul("show", run)
    longhaul("export", run, "--to", "csv", "--output", "csv")
    assert (tmp_path / "csv" / "acks.csv").read_text().startswith('"t_ns"')
    longhaul("verify", run)
    longhaul("report", run, "--output", "again.html")
    plan = "import longhaul; longhaul.plan('quick')"
    subprocess.run([python, "-c", plan], env=environment, check=True, capture_output=True)
    missing = longhaul("doctor", "--all")
    for extra in EXTRAS:
        assert f"missing longhaul[{extra}], the packages for {EXTRAS[extra].purpose}: {remedy_for(extra)}" in missing

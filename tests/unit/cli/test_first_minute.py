"""The first minute: `longhaul new`, `explain`, `completion` and the hints after a result."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from longhaul.cli.experiments.explain import _names
from longhaul.cli.experiments.new import Answers, experiment_text
from longhaul.cli.terminal.hints import next_commands
from longhaul.orchestrator.analysis.fidelity.check_table import CHECKS, HOST_CHECKS
from longhaul.orchestrator.analysis.fidelity.remedies import REMEDIES
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.spec.load import load_experiment, parse_text
from longhaul.results.result import Result
from tests.support.command import longhaul
from tests.support.folders import REPOSITORY
from tests.support.programs import run_program
from tests.support.terminal import Terminal

if TYPE_CHECKING:
    from longhaul.results.source import TraceSource

LONGHAUL = Path(sys.executable).parent / "longhaul"
GIVEN = ("--bandwidth", "50 Mbit/s", "--rtt", "20ms", "--cc", "cubic,bbr,cubic")


def test_new_writes_what_plan_accepts_and_replaces_nothing(tmp_path: Path) -> None:
    file = tmp_path / "my path.yaml"
    done = longhaul("new", str(file), *GIVEN, home=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"longhaul run '{file}'" in done.stdout
    (run,) = compile_plan(load_experiment(str(file))).runs
    assert [flow.name for flow in run.flows] == ["cubic", "bbr", "cubic-2"]
    assert (run.meaning.bandwidth_bps, run.meaning.rtt_us, run.duration_us) == (50_000_000, 20_000, 20_000_000)
    before = file.read_text()
    assert before.count("#") >= 8
    again = longhaul("new", str(file), *GIVEN, home=tmp_path)
    assert (again.returncode, "already exists; give --force" in again.stderr) == (2, True)
    assert file.read_text() == before
    assert longhaul("new", str(file), *GIVEN, "--duration", "3 s", "--force", home=tmp_path).returncode == 0
    assert "duration: 3 s" in file.read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "there is no terminal to ask for --bandwidth, --rtt, --cc; give them, as in longhaul new mine.yaml"),
        (("--rtt", "1 ms"), "there is no terminal to ask for --bandwidth, --cc"),
        ((*GIVEN, "--buffer", "5 apples"), 'path.buffer (line 10): read "5 apples"'),
        (("--bandwidth", "1 Mbit/s", "--rtt", "1 ms", "--cc", "bogus"), 'flows.bogus.cc (line 15): read "bogus"'),
        ((*GIVEN, "--duration", "soon"), 'read "soon"'),
    ],
)
def test_new_states_what_is_wrong_and_writes_nothing(tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    done = longhaul("new", str(tmp_path / "a.yaml"), *words, home=tmp_path)
    assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "a.yaml").exists()


def test_new_asks_on_a_terminal_and_asks_again(tmp_path: Path) -> None:
    terminal = Terminal("longhaul", "new", "a.yaml", "--rtt", "10 ms", cwd=tmp_path)
    terminal.wait_for("rate of the bottleneck [100 Mbit/s]: ")
    terminal.type("fast\n")
    assert 'read "fast"' in terminal.wait_for("rate of the bottleneck [100 Mbit/s]: ")
    terminal.type("10 Mbit/s\n")
    assert "round trip" not in terminal.wait_for("buffer at the bottleneck"), "an option is not asked"
    terminal.type("\n")
    terminal.wait_for("congestion controls")
    terminal.type("reno\n")
    terminal.wait_for("duration [20 s]: ")
    terminal.type("\n")
    assert terminal.end() == 0
    (run,) = compile_plan(load_experiment(str(tmp_path / "a.yaml"))).runs
    assert (run.meaning.bandwidth_bps, run.meaning.rtt_us, run.flows[0].cc) == (10_000_000, 10_000, "reno")


@pytest.mark.parametrize("hostile", ["a: b", "'", '"', "{x}", "- x", "#", "\\", "%x", "*a", "on", "5, 6"])
def test_texts_of_users_stay_texts(hostile: str) -> None:
    """Whatever is typed is a value that the check refuses or accepts, never YAML of its own."""
    text = experiment_text(hostile, Answers(bandwidth=hostile))
    try:
        found = parse_text(text, "a.yaml")
    except Exception as error:
        assert "path.bandwidth" in str(error)
    else:
        pytest.fail(f"{hostile} is no rate: {found}")


def test_the_table_of_checks_is_that_of_the_page() -> None:
    page = (REPOSITORY / "docs" / "fidelity.md").read_text()
    table = page.partition("| check | what must hold |")[2].partition("\n\n")[0]
    rows = dict(re.findall(r"(?m)^\| (.+?) \| (.+) \|$", table))
    assert {name: text for name, text in rows.items() if name != "---"} == CHECKS
    assert CHECKS.keys() | HOST_CHECKS.keys() == REMEDIES.keys()


def test_explain_knows_every_name_and_suggests_the_nearest(tmp_path: Path) -> None:
    for words, parts in (
        (["path.buffer"], ("path.buffer: a field of an experiment", "default: 1 BDP")),
        (["flows.app.cc"], ("flows.cc: a field", "congestion control of the sender")),
        (["goodput(app)"], ("goodput: a measure of a flow", "goodput_bps", "more is better")),
        (["cpu", "budget"], ("cpu budget: a fidelity check", "this machine kept up")),
        (["window"], ("window: a field", "flows.window: a field", "window: a fidelity check")),
    ):
        done = longhaul("explain", *words, home=tmp_path)
        assert done.returncode == 0
        assert all(part in done.stdout for part in parts), done.stdout
    done = longhaul("explain", "gooodput", home=tmp_path)
    assert (done.returncode, "nearest: goodput" in done.stderr) == (2, True)
    from longhaul.cli.experiments.explain import _explanations

    assert all(list(_explanations(name)) for name in _names())


def shell(script: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    name, _, text = script.partition(":")
    path = f"{LONGHAUL.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(tmp_path), "LONGHAUL_HOME": str(tmp_path)}
    return run_program([name, "-c", text], env=environment)


def test_completion_in_bash_and_fish(tmp_path: Path) -> None:
    bash = "COMP_WORDS=(longhaul explai); COMP_CWORD=1; _longhaul_completion longhaul; echo ${COMPREPLY[*]}"
    for script in (
        f'bash:eval "$(longhaul completion bash)"; {bash}',
        'fish:longhaul completion fish | source; complete --do-complete "longhaul explai"',
    ):
        done = shell(script, tmp_path)
        assert done.stdout.split()[:1] == ["explain"], (script, done.stdout, done.stderr)
    wrong = longhaul("completion", "fsh", home=tmp_path)
    assert (wrong.returncode, "known: bash, zsh, fish, nearest: fish" in wrong.stderr) == (2, True)


def test_completion_in_zsh(tmp_path: Path) -> None:
    terminal = Terminal("zsh", "-f", "-i", cwd=tmp_path, PS1="ready> ")
    terminal.wait_for("ready> ")
    terminal.type('autoload -U compinit; compinit -u; eval "$(longhaul completion zsh)"; echo load""ed\n')
    terminal.wait_for("loaded")
    terminal.type("echo longhaul; longhaul explai\t")
    terminal.wait_for("longhaul explain ")
    terminal.stop()


def test_hints_name_the_runs_and_what_was_missed() -> None:
    def run(status: str, point: dict[str, str], *missed: str) -> dict[str, object]:
        return {
            "run": "a" * 20, "experiment": "mine", "status": status, "point": point, "seed": 1,
            "expect": [{"ok": False, "text": text, "value": None} for text in missed],
        }  # fmt: skip

    def hints(*runs: dict[str, object], reported: bool = False) -> list[str]:
        document = {"experiment": "mine", "runs": list(runs), "summary": [], "notes": []}
        return [
            words
            for words, _ in next_commands(
                Result(document, cast("TraceSource", None)), "my mine.yaml", reported=reported
            )
        ]

    single = hints(run("done", {}))
    assert single[0] == f"longhaul report {'a' * 20} --output report.html"
    assert "longhaul run 'my mine.yaml' --repeats 5" in single
    assert not any("report" in words for words in hints(run("done", {}), reported=True))
    assert hints(run("missed", {}, "utilisation at least 0.5: 0.3"))[0] == "longhaul explain utilisation"
    assert hints(run("failed", {}))[0] == f"longhaul log {'a' * 20}"
    assert any(
        words.endswith("longhaul compare results --by path.rtt")
        for words in hints(run("done", {"path.rtt": "1 ms"}), run("done", {"path.rtt": "2 ms"}))
    )

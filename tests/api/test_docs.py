"""The examples of the client and of CI in the documentation, run on a real service."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.api.test_ci_journey import written
from tests.support.folders import REPOSITORY
from tests.support.pages import DOCS, blocks
from tests.support.programs import run_program
from tests.support.service import Service, served

ACTION: dict[str, Any] = yaml.safe_load((REPOSITORY / "action.yml").read_text())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(tmp_path_factory.mktemp("service")) as running:
        yield running


def blocks_in(page: str, language: str) -> list[str]:
    """The text of each block of a page in a language."""
    return ["\n".join(block.lines) for block in blocks(DOCS / page) if block.language == language]


def test_the_notebook_of_the_client(service: Service, tmp_path: Path) -> None:
    notebook = "\n".join(blocks_in("client.md", "python"))
    done = run_program(
        [sys.executable, "-W", "error", "-c", notebook], cwd=tmp_path, env={**os.environ, **service.command("gate")}
    )
    assert done.returncode == 0, done.stderr
    for part in ("0 of 6 runs are known", " done", "Mbit/s (", "the queue had up to", "'t_s':", "acks.parquet"):
        assert part in done.stdout
    assert "quik: not a shipped experiment; nearest: quick" in done.stdout
    assert (tmp_path / "traces" / "acks.parquet").stat().st_size > 10_000


class Job:
    """A GitHub job with the steps of a composite action: it evaluates expressions and runs the shell steps."""

    def __init__(self, folder: Path, service: Service, **inputs: str) -> None:
        self.folder = folder
        self.inputs = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
        self.inputs |= {"server": service.url, "token": service.tokens["run"]} | inputs
        self.outputs: dict[str, dict[str, str]] = {}
        self.codes: dict[str, int] = {}
        self.output = ""
        self.path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        folder.mkdir()
        for step in STEPS:
            if "run" in step and self.enabled(step):
                self.codes[step["name"]] = self.execute(step)

    def enabled(self, step: Mapping[str, Any]) -> bool:
        if any(self.codes.values()):
            return "always()" in step.get("if", "")
        return all(
            any(self.is_true(one) for one in either.strip("() ").split("||"))
            for either in step.get("if", "'a' == 'a'").split("&&")
        )

    def is_true(self, comparison: str) -> bool:
        left, operator, right = re.fullmatch(r"\s*(\S+) (==|!=) '(.*)'\s*", comparison.strip("() ")).groups()  # type: ignore[union-attr]
        value = left.strip("'") if left.startswith("'") else self.value(left)
        return (value == right) == (operator == "==")

    def value(self, expression: str) -> str:
        if expression.startswith("inputs."):
            return self.inputs[expression.removeprefix("inputs.")]
        if match := re.fullmatch(r"steps\.(\w+)\.outputs\.(\w+)", expression):
            return self.outputs.get(match[1], {}).get(match[2], "")
        return {"github.action_path": str(REPOSITORY)}[expression]

    def execute(self, step: Mapping[str, Any]) -> int:
        output = self.folder / f"output-{step.get('id', 'none')}"
        environment = {
            name: re.sub(r"\$\{\{ (\S+) \}\}", lambda found: self.value(found[1]), str(text))
            for name, text in step.get("env", {}).items()
        }
        runner = {
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
            "GITHUB_PATH": str(self.folder / "path"),
            "RUNNER_TEMP": str(self.folder),
            "LONGHAUL_HOME": str(self.folder / "home"),
        }
        # The options with which GitHub starts bash.
        done = run_program(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder,
            env={**os.environ, "PATH": self.path, **runner, **environment},
        )
        self.output += done.stdout + done.stderr
        if output.exists():
            self.outputs[step["id"]] = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return done.returncode


def test_the_action_refers_to_existing_steps_and_inputs() -> None:
    assert ACTION["runs"]["using"] == "composite"
    ids = {step["id"] for step in STEPS if "id" in step}
    text = (REPOSITORY / "action.yml").read_text()
    for step in re.findall(r"steps\.(\w+)\.", text):
        assert step in ids
    for name in re.findall(r"inputs\.([\w-]+)", text):
        assert name in ACTION["inputs"]
    # Input reaches a shell in environment variables, never in its command text.
    assert not any("${{" in step.get("run", "") for step in STEPS)
    assert all("shell" in step for step in STEPS if "run" in step)


def test_the_action_runs_gates_and_keeps_a_baseline(service: Service, tmp_path: Path) -> None:
    file = tmp_path / "experiment.json"
    file.write_text(json.dumps(written("acted")))
    inputs = {"experiment": str(file), "for": "goodput(one)\nutilisation\n"}
    gating = service.tokens["gate"]
    main = Job(tmp_path / "main", service, **{**inputs, "set-baseline": "main", "token": gating})
    assert set(main.codes.values()) == {0}, main.output
    assert main.outputs["gate"] == {"code": "0"}
    files = Path(main.outputs["run"]["files"])
    assert ElementTree.parse(files / "junit.xml").getroot().get("tests") == "2"
    assert "✅ 2 runs" in (tmp_path / "main" / "summary").read_text()
    with service.programs_client() as client:
        assert client.baseline("acted", "main").experiment_id == main.outputs["run"]["id"]

    same = Job(tmp_path / "same", service, **inputs, baseline="main")
    assert (same.codes["Gate"], same.outputs["compare"]["code"]) == (0, "0"), same.output
    worse = Job(tmp_path / "worse", service, **inputs, baseline="main", set="path.bandwidth=12 Mbit/s\n")
    assert worse.outputs["compare"]["code"] == "1"
    assert worse.codes["Gate"] == 1
    assert "gate: 1 of 2 fail" in (tmp_path / "worse" / "summary").read_text()
    assert "Set the baseline" not in worse.codes


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"set": "expect=[{measure: utilisation, at_least: 0.9999}]"}, 1),
        ({"set": "path.rtt=soon"}, 2),
        ({"experiment": "$(touch pwned); --help"}, 2),
        ({"server": "http://127.0.0.1:9"}, 3),
    ],
)
def test_the_action_exits_like_the_run(service: Service, tmp_path: Path, inputs: dict[str, str], code: int) -> None:
    file = tmp_path / "experiment.json"
    file.write_text(json.dumps(written("acted")))
    job = Job(
        tmp_path / "job", service, **{"experiment": str(file), "baseline": "main", "set-baseline": "main", **inputs}
    )
    assert job.codes["Gate"] == code, job.output
    assert job.outputs["gate"]["code"] == str(code)
    assert "Set the baseline" not in job.codes
    assert not [*tmp_path.rglob("pwned")]


def test_the_snippet_for_gitlab(service: Service, tmp_path: Path) -> None:
    snippet = next(one for one in blocks_in("ci.md", "yaml") if "before_script" in one)
    (job,) = yaml.safe_load(snippet).values()
    experiment = next(one for one in blocks_in("ci.md", "yaml") if one.startswith("# experiments/pacing.yaml"))
    (tmp_path / "experiments").mkdir()
    plain = experiment.replace("modules: [../tcp_mine]\n", "").replace("cc: mine", "cc: bbr")
    (tmp_path / "experiments" / "pacing.yaml").write_text(plain)
    ended = []
    # GitLab passes a protected variable only to jobs of protected branches.
    on_main = {"CI_COMMIT_BRANCH": "main", "LONGHAUL_GATE_TOKEN": service.tokens["gate"]}
    for job_of in (on_main, {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}):
        done = run_program(["bash", "-eo", "pipefail", "-c", "\n".join(job["script"])], cwd=tmp_path, env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **service.command(), **job_of})  # fmt: skip
        ended.append((done.returncode, done.stdout, done.stderr))
    assert [code for code, _, _ in ended] == [0, 0], ended
    assert "baseline of pacing on main" in ended[0][1]
    assert ElementTree.parse(tmp_path / "gate.xml").getroot().get("failures") == "0"
    assert set(job["artifacts"]["paths"]) <= {file.name for file in tmp_path.iterdir()}

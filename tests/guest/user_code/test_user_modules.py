"""User-supplied congestion controls: built from a folder or given as an object, identified by their content."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from longhaul.orchestrator.kernels.build import own_module
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.settings import Settings
from tests.guest.windows import acks_of
from tests.support.command import longhaul
from tests.support.folders import REPOSITORY
from tests.support.guests import Runner, experiment

KMOD = REPOSITORY / "kmod"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder with a user's module, which uses the headers of the project."""
    folder = tmp_path / "mymodule"
    folder.mkdir()
    (folder / "tcp_mine.c").write_text((KMOD / "tcp_lhfixed.c").read_text().replace("lhfixed", "mine"))
    return folder


def flows(window: int) -> list[dict[str, object]]:
    return [{"name": "one", "cc": "mine", "params": {"cwnd": f"{window} packets"}}]


def test_a_folder_is_built_and_run(finish: Runner, mine: Path) -> None:
    done = finish(modules=[str(mine)], flows=flows(37), duration="2 s")
    assert set(acks_of(done.trace)["cwnd"].tolist()) == {37}
    assert done.facts["flows"][0]["cc"] == "mine"


def test_a_changed_source_is_another_run_and_the_old_one_stays_repeatable(
    finish: Runner, mine: Path, settings: Settings
) -> None:
    first = finish(modules=[str(mine)], flows=flows(20), duration="2 s")
    source = mine / "tcp_mine.c"
    source.write_text(source.read_text().replace("READ_ONCE(cwnd),", "READ_ONCE(cwnd) + 1,"))
    second = finish(modules=[str(mine)], flows=flows(20), duration="2 s")
    assert set(acks_of(second.trace)["cwnd"].tolist()) == {21}
    assert first.document["run"] != second.document["run"]
    shutil.rmtree(mine)
    again = longhaul("rerun", first.document["run"], home=settings.home)
    assert "identical" in again.stdout


def test_an_object_for_the_guests_kernel_is_run_and_one_for_another_refused(
    finish: Runner, mine: Path, settings: Settings, tmp_path: Path
) -> None:
    module, _ = compile_plan(experiment(modules=[str(mine)], flows=flows(20))).runs[0].modules
    built = own_module(settings, "6.12", module.source, "tcp_mine")
    shutil.copy(built, tmp_path / "tcp_mine.ko")
    changes = {"modules": [str(tmp_path / "tcp_mine.ko")], "flows": flows(20), "duration": "2 s"}
    assert set(acks_of(finish(**changes).trace)["cwnd"].tolist()) == {20}
    with pytest.raises(PlanError, match=r"it is built for 6\.12\..*, the guest's is 6\.1\."):
        finish(**changes, kernel="6.1")


def test_errors_of_the_compiler_are_reported(mine: Path, tmp_path: Path) -> None:
    source = mine / "tcp_mine.c"
    source.write_text(source.read_text().replace("static u32 mine_window", "static wrong mine_window"))
    file = tmp_path / "experiment.yaml"
    file.write_text(
        "experiment: mine\npath: {bandwidth: 1 Mbit/s, rtt: 10 ms}\nmodules: [./mymodule]\n"
        "flows: [{name: one, cc: mine}]\nduration: 1 s\n"
    )
    done = longhaul("run", str(file), home=tmp_path)
    assert done.returncode == 2
    assert "error: unknown type name" in done.stderr
    assert "building the module tcp_mine for 6.12" in done.stderr


def test_every_congestion_control_passes_its_trial(tmp_path: Path) -> None:
    done = longhaul("modules", "check", "--kernel", "6.1", home=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "compound" in done.stdout


def test_a_module_that_fails_its_trial_is_named(mine: Path, tmp_path: Path) -> None:
    with_code(mine, "mine_ssthresh", "return tcp_snd_cwnd(tcp_sk(sk)) / 0;")
    done = longhaul("modules", "check", str(mine), home=tmp_path)
    assert done.returncode == 1
    assert re.search(r"mine +tcp_mine +yes +yes +no +6\.12 +the guest died", done.stdout)


def with_code(mine: Path, function: str, code: str) -> int:
    """Put a statement at the beginning of a function of the module; return its line number."""
    source = mine / "tcp_mine.c"
    before, after = source.read_text().split(f"{function}(struct sock *sk)\n{{\n", 1)
    source.write_text(f"{before}{function}(struct sock *sk)\n{{\n\t{code}\n{after}")
    return before.count("\n") + 3


def run_mine(mine: Path, home: Path, **environment: str) -> CompletedProcess[str]:
    """The first two seconds of a flow that loses some packets."""
    file = mine.parent / "experiment.yaml"
    file.write_text(
        "experiment: mine\npath: {bandwidth: 10 Mbit/s, rtt: 40 ms, loss: 5 %}\nmodules: [./mymodule]\n"
        "flows: [{name: one, cc: mine, params: {cwnd: 20 packets}}]\nduration: 2 s\n"
    )
    return longhaul("run", str(file), home=home, **environment)


def test_a_crash_in_a_module_names_its_function_and_line(mine: Path, tmp_path: Path) -> None:
    line = with_code(mine, "mine_ssthresh", "*(volatile int *)0 = 1;")
    done = run_mine(mine, tmp_path)
    assert done.returncode == 4
    text = " ".join((done.stdout + done.stderr).split())
    assert f"Segfault with no mm, in mine_ssthresh of tcp_mine.c:{line}; the fault is the module's" in text
    assert "kernel=6.12-debug" in text
    assert "report" not in text
    log = longhaul("log", text.partition("`longhaul log ")[2][:8], home=tmp_path).stdout
    assert re.search(rf"longhaul:   mine_ssthresh +tcp_mine\.c:{line}\n", log)
    # The caller is a function of the kernel, found on the stack.
    assert re.search(r"longhaul: \? tcp_\w+ +the kernel\n", log)


def test_messages_of_a_module_are_in_the_log_of_its_run(mine: Path, tmp_path: Path) -> None:
    with_code(mine, "mine_init", 'pr_info("mine: a flow begins\\n");')
    run_mine(mine, tmp_path)
    (run,) = (folder.name for folder in (tmp_path / "runs").glob("*/*"))
    assert longhaul("log", run[:6], home=tmp_path).stdout.count("mine: a flow begins\n") == 1


@pytest.mark.parametrize(
    ("code", "limit_s", "found"),
    [
        ("for (;;) ;", "2", "no virtual progress in 2 s of its own processor time"),
        ('for (;;) pr_info("mine: the same once more\\n");', "300", "the guest printed more than 64 MB"),
    ],
    ids=["computes", "prints"],
)
def test_a_module_that_never_ends_leaves_its_log(
    mine: Path, tmp_path: Path, code: str, limit_s: str, found: str
) -> None:
    with_code(mine, "mine_ssthresh", f'pr_info("mine: a loss\\n"); {code}')
    done = run_mine(mine, tmp_path, LONGHAUL_STALL_LIMIT_S=limit_s)
    text = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 4 and found in text
    log = longhaul("log", text.partition("`longhaul log ")[2][:8], home=tmp_path).stdout
    assert log.count("mine: a loss\n") == 1

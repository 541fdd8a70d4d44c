"""User-supplied modules: their names, and their parameters before anything is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.modules.content import content_files, content_hash
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.spec.load import load_experiment, parse_experiment
from longhaul.orchestrator.spec.parameters import Parameter, object_parameters, parameters_of_user_source
from longhaul.orchestrator.spec.user_code.module_sources import admit_sources, read_sources
from longhaul.orchestrator.system.errors import SpecError
from tests.support.own_controls import experiment_with, reno_source

SOURCE = (
    reno_source("mine")
    .replace("static int keep __read_mostly = 512;", "static unsigned int step __read_mostly = 7;")
    .replace("module_param(keep, int, 0644);", "module_param(step, uint, 0644);")
    .replace(
        'MODULE_PARM_DESC(keep, "window kept at a loss, in 1/1024");', 'MODULE_PARM_DESC(step, "segments a step");'
    )
)


def data(modules: list[str], cc: str, **flow: Any) -> dict[str, Any]:
    return experiment_with(modules, {"name": "a", "cc": cc, **flow})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path / "cache"))
    made = tmp_path / "mine"
    made.mkdir()
    (made / "tcp_mine.c").write_text(SOURCE)
    return made


def test_a_plain_parameter_is_known_from_the_source(folder: Path) -> None:
    assert parameters_of_user_source(folder / "tcp_mine.c") == (
        Parameter("step", "number", 7, 0, 2**32 - 1, "segments a step"),
    )


def test_an_objects_parameters_are_known_from_its_modinfo() -> None:
    texts = (
        b"license=GPL", b"parm=a:first [thousandths 0..2000, default 1500]", b"parmtype=a:uint", b"parm=b:second",
        b"parmtype=b:int", b"vermagic=6.12",
    )  # fmt: skip
    assert object_parameters(b"\0" + b"\0".join(texts) + b"\0") == (
        Parameter("a", "thousandths", 1500, 0, 2000, "first"),
        Parameter("b", "number", 0, 0, 2**32 - 1, "second"),
    )


def test_a_module_is_identified_by_its_content(folder: Path) -> None:
    def run() -> Run:
        return compile_plan(parse_experiment(data([str(folder)], "mine", params={"step": 3}))).runs[0]

    first = run()
    assert [(module.name, dict(module.params)) for module in first.modules] == [("tcp_mine", {"step": "3"})]
    assert (folder.parent / "cache" / "own" / first.modules[0].source / "tcp_mine.c").read_text() == SOURCE
    assert Run.from_json(first.as_json()) == first
    (folder / "tcp_mine.c").write_text(SOURCE + "/* more */")
    assert run().modules[0].source != first.modules[0].source


def test_modules_are_found_from_the_experiments_folder(folder: Path) -> None:
    file = folder.parent / "experiment.yaml"
    file.write_text(
        "experiment: own\npath: {bandwidth: 1 Mbit/s, rtt: 10 ms}\nmodules: [mine]\n"
        "flows: [{name: a, cc: mine}]\nduration: 1 s\nsweep: {path.rtt: [10 ms, 20 ms]}\n"
    )
    assert [run.flows[0].cc for run in compile_plan(load_experiment(str(file))).runs] == ["mine", "mine"]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("newreno", "another name than newreno, which means reno: .* a source that registers reno replaces reno"),
        ("own-mine", "`as` with a name for its control 'own-mine'"),
        ("my control", "`as` with a name for its control 'my control'"),
    ],
)
def test_an_unusable_name_is_refused(folder: Path, name: str, line: str) -> None:
    (folder / "tcp_mine.c").write_text(SOURCE.replace('"mine"', f'"{name}"'))
    with pytest.raises(SpecError, match=line):
        parse_experiment(data([str(folder)], "mine"))
    assert compile_plan(parse_experiment(data([{"from": str(folder), "as": "mine"}], "mine")))  # type: ignore[list-item]


def test_a_control_is_found_by_what_it_registers(folder: Path) -> None:
    (folder / "tcp_mine.c").rename(folder / "Algo-2.c")
    run = compile_plan(parse_experiment(data([str(folder)], "mine", params={"step": 3}))).runs[0]
    assert [(one.name, dict(one.params), one.file) for one in run.modules] == [("Algo_2", {"step": "3"}, "")]


def test_a_folder_without_a_control_is_refused(folder: Path) -> None:
    (folder / "tcp_mine.c").rename(folder / "README")
    with pytest.raises(SpecError, match=r"modules\.0: read .*; allowed: a folder whose source calls tcp_register_con"):
        parse_experiment(data([str(folder)], "mine"))


def test_a_link_is_refused_unread(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (folder / "config.h").symlink_to(tmp_path / "secret")
    with pytest.raises(SpecError, match=r"plain files; config\.h is a link"):
        parse_experiment(data([str(folder)], "mine"))


@pytest.mark.parametrize("name", ["$(shell id).c", "sch_a b.c", "-o.c", ".hidden.h", "a;b.h", "x" * 70 + ".h"])
def test_an_unsafe_file_name_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_text("")
    with pytest.raises(SpecError, match="file names of letters, digits"):
        parse_experiment(data([str(folder)], "mine"))


def test_a_name_that_is_allowed_here_is_allowed_where_it_is_sent(folder: Path, tmp_path: Path) -> None:
    (folder / ("x" * 62 + ".h")).write_text("")
    source, files = read_sources(str(folder))
    admit_sources(files, source, tmp_path / "cache")
    assert content_hash(content_files(tmp_path / "cache/own" / source)) == source


def test_a_source_made_to_be_slow_is_read_in_one_pass(folder: Path) -> None:
    """Quadratic patterns would take hours and exceed the time limit of tests."""
    words = "static " + "x " * 100_000 + ";\n"
    (folder / "tcp_mine.c").write_text(SOURCE + "module_param(x, int, 0);\n" * 10_000 + words * 10)
    assert [one.name for one in parameters_of_user_source(folder / "tcp_mine.c")] == ["step", "x"]


def test_two_of_one_name_are_refused(folder: Path) -> None:
    with pytest.raises(SpecError, match=r"modules\.1: .*one mine only"):
        parse_experiment(data([str(folder), str(folder)], "mine"))


def test_the_error_of_an_unknown_control_lists_user_modules_too(folder: Path) -> None:
    with pytest.raises(SpecError, match="lhfixed, mine, nearest: mine"):
        parse_experiment(data([str(folder)], "mime"))

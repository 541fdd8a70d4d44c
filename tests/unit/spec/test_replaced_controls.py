"""Modules with the name of a known control, and `as`: names, properties, plans and refusals, before anything is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.hosts.place_on_hosts import refuse_unsupported
from longhaul.orchestrator.plan.kernel_names import in_kernel_names
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.preview.describe import describe_run
from longhaul.orchestrator.preview.flow_text import control_text
from longhaul.orchestrator.spec.load import OwnCode, load_experiment, parse_experiment, plain_data
from longhaul.orchestrator.spec.user_code.module_sources import admit_sources, read_sources
from longhaul.orchestrator.spec.user_code.user_modules import Entry, entry_of
from longhaul.orchestrator.system.errors import PlanError, SpecError
from tests.support.own_controls import experiment_with, reno_folder, reno_source

PARAMETERS = """
static int beta __read_mostly = 600;
static int hystart __read_mostly = 1;
static int mine = 7;
module_param(beta, int, 0644);
module_param(hystart, int, 0644);
module_param(mine, int, 0644);
MODULE_PARM_DESC(mine, "a new one");
"""
CUBIC = reno_source("cubic", more=PARAMETERS)


def data(modules: list[Any], *controls: str, **more: Any) -> dict[str, Any]:
    flows = [{"name": f"flow-{place}", "cc": cc} for place, cc in enumerate(controls)]
    return experiment_with(modules, *flows, **more)


def planned(modules: list[Any], *controls: str, **more: Any) -> Run:
    return compile_plan(parse_experiment(data(modules, *controls, **more))).runs[0]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def cubic(tmp_path: Path) -> Path:
    folder = tmp_path / "cubic"
    folder.mkdir()
    (folder / "tcp_cubic.c").write_text(CUBIC)
    return folder


def test_the_plan_maps_the_name_to_a_private_one(cubic: Path) -> None:
    run = planned([str(cubic)], "cubic", "htcp")
    own, _ = run.modules
    assert (own.name, own.file, own.registers, own.replaces) == ("own_cubic", "tcp_cubic", "own-cubic", "cubic")
    assert not own.builtin and own.source == read_sources(str(cubic))[0]
    assert [flow.cc for flow in run.flows] == ["cubic", "htcp"]
    assert Run.from_json(run.as_json()) == run
    inside = in_kernel_names(run)
    assert [flow.cc for flow in inside.flows] == ["own-cubic", "htcp"]
    assert all({*one} <= {"name", "params", "builtin", "source"} for one in inside.as_json()["modules"])
    assert "in place of the kernel's; own-cubic in the guest" in "\n".join(describe_run(run))


def test_the_remark_is_in_tables_also_next_to_a_studys_name(cubic: Path, tmp_path: Path) -> None:
    (flow,) = planned([str(cubic)], "cubic").flows
    assert control_text(flow.cc, flow.variant) == f"cubic (user-supplied {read_sources(str(cubic))[0][:8]})"
    reno = reno_folder(tmp_path / "reno")
    (flow,) = planned([str(reno)], flows=[{"name": "a", "preset": "unpa/newreno"}]).flows
    assert control_text(flow.cc, flow.variant) == f"reno (newreno, user-supplied {read_sources(str(reno))[0][:8]})"


def test_a_run_that_does_not_use_it_is_the_same_run(cubic: Path) -> None:
    assert planned([str(cubic)], "htcp") == planned([], "htcp")


def test_another_source_is_another_run(cubic: Path) -> None:
    first = planned([str(cubic)], "cubic")
    (cubic / "tcp_cubic.c").write_text(CUBIC + "/* more */")
    assert planned([str(cubic)], "cubic") != first


def test_what_is_known_of_the_control_holds_for_a_users_version(cubic: Path, tmp_path: Path) -> None:
    experiment = parse_experiment(data([str(cubic), {"from": str(cubic), "as": "mine"}], "cubic"))
    for name in ("cubic", "mine"):
        control = experiment.control(name)
        assert control.loss_based and control.hystart == ("hystart", "0", "1") and not control.builtin
        # The source's own default, and the known range.
        (_, beta, hystart, mine) = control.parameters
        assert (beta.default, beta.low, beta.high) == (600, 512, 1023)
        assert (hystart.unit, mine.unit, mine.about) == ("switch", "number", "a new one")
    (tmp_path / "dctcp").mkdir()
    (tmp_path / "dctcp" / "tcp_dctcp.c").write_text(reno_source("dctcp"))
    run = planned([str(tmp_path / "dctcp")], "dctcp")
    assert run.flows[0].options.both_ends


def test_hybrid_slow_start_is_set_where_the_source_has_it(cubic: Path) -> None:
    flows = [{"name": "a", "preset": "unpa/cubic"}]
    assert planned([str(cubic)], flows=flows).modules[0].params == {"hystart": "0"}
    assert planned([str(cubic)], "cubic", cc_era="2.6").modules[0].params == {"hystart": "0"}
    assert planned([{"from": str(cubic), "as": "mine"}], "mine", cc_era="2.6").modules[0].params == {"hystart": "0"}
    (cubic / "tcp_cubic.c").write_text(CUBIC.replace("module_param(hystart, int, 0644);", ""))
    assert planned([str(cubic)], flows=flows).modules[0].params == {}
    assert planned([str(cubic)], "cubic", cc_era="2.6").modules[0].params == {}
    with pytest.raises(SpecError, match="the user-supplied cubic has no parameter that switches hybrid slow start"):
        planned([str(cubic)], flows=[{"name": "a", "cc": "cubic", "hystart": "off"}])


def test_what_a_control_needs_may_be_replaced_too(tmp_path: Path) -> None:
    vegas = reno_folder(tmp_path / "vegas", "vegas")
    assert [module.name for module in planned([str(vegas)], "yeah").modules] == ["own_vegas", "tcp_yeah"]
    beside = [{"from": str(vegas), "as": "vegas_mine"}]
    assert [module.name for module in planned(beside, "vegas_mine", "yeah").modules] == [
        "tcp_vegas_mine",
        "tcp_vegas",
        "tcp_yeah",
    ]


def test_a_schedule_switches_to_it_and_sets_its_parameters(cubic: Path) -> None:
    change = {"at": "500 ms", "flows": {"flow-0": {"cc": "cubic", "params": {"mine": 8}}}}
    run = planned([str(cubic)], "htcp", schedule=[change])
    assert [module.name for module in run.modules] == ["tcp_htcp", "own_cubic"]
    module_change, flow_change = run.schedule
    assert getattr(module_change, "module", "") == "own_cubic"
    assert getattr(flow_change, "cc", "") == "cubic"
    assert getattr(in_kernel_names(run).schedule[1], "cc", "") == "own-cubic"
    assert "cc cubic (user-supplied" in "\n".join(describe_run(run))


def test_as_gives_another_name_up_to_15_letters(cubic: Path) -> None:
    name = "abcdefghijklmno"
    run = planned([{"from": str(cubic), "as": name}], "cubic", name)
    (own,) = run.modules
    assert (own.name, own.file, own.registers, own.replaces) == (f"tcp_{name}", "tcp_cubic", name, "")
    assert in_kernel_names(run).flows == run.flows


def test_as_with_the_name_of_the_file_changes_nothing(tmp_path: Path) -> None:
    folder = reno_folder(tmp_path / "mine", "mine")
    assert planned([{"from": str(folder), "as": "mine"}], "mine") == planned([str(folder)], "mine")


def test_both_are_swept(cubic: Path) -> None:
    modules = [str(cubic), {"from": str(cubic), "as": "mine"}]
    experiment = parse_experiment(data(modules, "cubic", sweep={"flows.flow-0.cc": ["cubic", "mine", "htcp"]}))
    assert [run.modules[0].name for run in compile_plan(experiment).runs] == ["own_cubic", "tcp_mine", "tcp_htcp"]


def test_with_and_without_it_are_swept(cubic: Path, cache: Path) -> None:
    experiment = parse_experiment(data([], "cubic", sweep={"modules": [[], [str(cubic)]]}))
    before, after = compile_plan(experiment).runs
    assert (before.modules, after.modules[0].name) == ((), "own_cubic")
    assert (cache / "own" / after.modules[0].source).is_dir()


def test_paths_in_entries_are_relative_to_the_experiments_file(cubic: Path, tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(
        "experiment: own\npath: {bandwidth: 1 Mbit/s, rtt: 10 ms}\nmodules: [{from: cubic, as: mine}]\n"
        "flows: [{name: a, cc: mine}]\nduration: 1 s\n"
    )
    experiment = load_experiment(str(file))
    assert plain_data(experiment)["modules"] == [{"from": str(cubic), "as": "mine"}]
    assert compile_plan(experiment).runs[0].modules[0].name == "tcp_mine"


def test_an_upload_may_have_any_name_that_an_experiment_can_change(tmp_path: Path, cache: Path) -> None:
    for name in ("cubic", "newreno"):
        source, files = read_sources(str(reno_folder(tmp_path / name, name)))
        admit_sources(files, source, cache)
        written = data([{"from": f"sha256:{source}", "as": "mine"}], "mine")
        assert parse_experiment(written, own_code=OwnCode.SENT).control("mine").file == f"tcp_{name}"


@pytest.mark.parametrize(
    ("entry", "needed"),
    [
        ({"from": "PATH", "as": "cubic"}, r"modules\.0: .*another name than cubic, which is taken"),
        (
            {"from": "PATH", "as": "htcp"},
            "another name than htcp, which is taken; only a source that registers htcp, without `as`",
        ),
        ({"from": "PATH", "as": "newreno"}, "another name than newreno, which means reno"),
        ({"from": "PATH", "as": "abcdefghijklmnop"}, "up to 15 lower-case letters"),
        ({"from": "PATH", "as": "own-cubic"}, "up to 15 lower-case letters"),
        ({"from": "PATH", "as": "Cubic"}, "up to 15 lower-case letters"),
        ({"from": "PATH", "as": ""}, r"modules\.0: .*\{from: \./mymodule, as: mine\}"),
        ({"from": "PATH"}, r"\{from: \./mymodule, as: mine\}"),
        ({"as": "mine"}, r"\{from: \./mymodule, as: mine\}"),
        ({"from": "PATH", "as": "mine", "more": 1}, r"\{from: \./mymodule, as: mine\}"),
        ({"from": "PATH", "as": 7}, r"\{from: \./mymodule, as: mine\}"),
        ({"path": "PATH", "as": "mine"}, r"\{from: \./mymodule, as: mine\}"),
        (7, r"\{from: \./mymodule, as: mine\}"),
        (["PATH"], r"\{from: \./mymodule, as: mine\}"),
    ],
)
def test_other_entries_are_refused(cubic: Path, entry: Any, needed: str) -> None:
    if isinstance(entry, dict):
        entry = {key: str(cubic) if value == "PATH" else value for key, value in entry.items()}
    with pytest.raises(SpecError, match=needed):
        parse_experiment(data([entry], "cubic"))


def test_two_of_one_name_are_refused(cubic: Path, tmp_path: Path) -> None:
    other = reno_folder(tmp_path / "other", "cubic")
    with pytest.raises(SpecError, match=r"modules\.1: .*one cubic only; `as` gives"):
        parse_experiment(data([str(cubic), str(other)], "cubic"))
    named = [{"from": str(folder), "as": "mine"} for folder in (cubic, other)]
    with pytest.raises(SpecError, match=r"modules\.1: .*one mine only"):
        parse_experiment(data(named, "mine"))


def test_as_names_one_control(cubic: Path) -> None:
    (cubic / "tcp_two.c").write_text(reno_source("two"))
    with pytest.raises(SpecError, match=r"`as: \{cubic: mine\}`, because its source has several controls: cubic, two"):
        parse_experiment(data([{"from": str(cubic), "as": "mine"}], "mine"))
    with pytest.raises(SpecError, match=r"names of its controls in `as`; 'three' is not among cubic, two"):
        parse_experiment(data([{"from": str(cubic), "as": {"three": "mine"}}], "mine"))
    both = planned([{"from": str(cubic), "as": {"cubic": "mine"}}], "mine", "two").modules
    assert [(one.name, one.file) for one in both] == [("tcp_mine", "tcp_cubic"), ("tcp_two", "")]
    assert [module.name for module in planned([str(cubic)], "cubic", "two").modules] == ["own_cubic", "tcp_two"]


@pytest.mark.parametrize("own_code", [OwnCode.NONE, OwnCode.SENT])
def test_no_file_is_read_for_a_caller_who_may_name_none(cubic: Path, own_code: OwnCode) -> None:
    for entry in (str(cubic), {"from": str(cubic), "as": "mine"}):
        with pytest.raises(SpecError, match=r"modules\.0: .*allowed: (modules of the lab|uploaded sources)"):
            parse_experiment(data([entry], "cubic", cc_era="2.6"), own_code=own_code)


def test_hosts_and_this_machine_refuse_it_in_one_sentence(cubic: Path) -> None:
    experiment = parse_experiment(data([str(cubic)], "cubic"))
    with pytest.raises(PlanError, match="cubic: a user-supplied module is loaded into guests only; use --in guest"):
        compile_plan(experiment, backend="mininet", where="host")
    sentence = "cubic: a user-supplied module is loaded into guests only; leave it out of modules to use the hosts' own"
    with pytest.raises(PlanError, match=sentence):
        refuse_unsupported(compile_plan(experiment).runs[0], experiment)


def test_entries_are_written_as_they_were_read() -> None:
    for written in ("./mine", {"from": "./mine", "as": "other"}, {"from": "./mine", "as": {"a": "b", "c": "d"}}):
        entry = entry_of(written)
        assert entry is not None and entry.at(entry.place) == written
    assert entry_of({"from": "./mine", "as": "other"}) == Entry("./mine", {"": "other"})

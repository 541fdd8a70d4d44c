"""Reading experiments: valid ones are accepted, and each mistake gets one line that names the field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.spec.load import OwnCode, at_point, load_experiment, parse_experiment, shipped_experiment
from longhaul.orchestrator.spec.yaml_text import parse_document
from longhaul.orchestrator.system.errors import FieldProblem, SpecError
from tests.support.folders import DATA

# Experiments that are not one with a line or two changed; the first line of each file is the field that the message must name.
WHOLE = sorted((DATA / "malformed").glob("*.yaml"))
BASE = {
    "experiment": "experiment: mistake",
    "path": "path: {bandwidth: 10 Mbit/s, rtt: 40 ms}",
    "flows": "flows: [{name: app, cc: cubic}]",
    "duration": "duration: 10 s",
}

GOOD: dict[str, Any] = {
    "experiment": "good",
    "path": {"bandwidth": "10 Mbit/s", "rtt": "40 ms"},
    "flows": [{"name": "app", "cc": "cubic"}, {"name": "other", "cc": "reno"}],
    "duration": "10 s",
}


def test_a_number_that_lacks_its_unit_is_answered_with_one() -> None:
    flow = {"name": "a", "cc": "lhfixed", "params": {"cwnd": 1000}}
    with pytest.raises(SpecError, match="the unit is missing, as in 10 packets"):
        parse_experiment(
            {"experiment": "made", "path": {"bandwidth": "8 Mbit/s", "rtt": "4 ms"}, "flows": [flow], "duration": "9 s"}
        )


def malformed() -> Iterator[Any]:
    """The field that the message must name, and the experiment."""
    for file in WHOLE:
        yield pytest.param(file.read_text().splitlines()[0].removeprefix("# "), file.read_text(), id=file.stem)
    blocks = re.findall(r"^(\w+): (.+)\n((?: {4}.+\n)+)", (DATA / "malformed/mistakes.txt").read_text(), re.MULTILINE)
    for name, field, changes in blocks:
        lines = dict(BASE)
        for line in changes.split("\n")[:-1]:
            changed = line.strip()
            if changed.startswith("-"):
                del lines[changed[1:]]
            else:
                lines[changed.partition(":")[0]] = changed
        yield pytest.param(field, "\n".join(lines.values()), id=name)


MALFORMED = list(malformed())


def test_there_are_malformed_experiments() -> None:
    assert len(MALFORMED) >= 169


@pytest.mark.parametrize(("field", "text"), MALFORMED)
def test_a_malformed_experiment_gets_one_line_that_names_the_field(tmp_path: Path, field: str, text: str) -> None:
    file = tmp_path / "malformed.yaml"
    file.write_text(text)
    with pytest.raises(SpecError) as caught:
        load_experiment(str(file))
    (line,) = str(caught.value).splitlines()
    message = line.removeprefix(f"{file}: ")
    if field == "not an experiment":
        assert message.startswith(field)
    else:
        assert message.startswith(field) or f"{field}:" in message or f" {field} " in message
    assert caught.value.exit_code == 2


def test_several_mistakes_get_a_line_each() -> None:
    wrong = GOOD | {"duration": 5, "path": {"bandwidth": "10", "rtt": "40 ms", "loss": 2}}
    with pytest.raises(SpecError) as caught:
        parse_experiment(wrong)
    assert len(caught.value.problems) == 3


def test_a_mistake_has_separate_parts(tmp_path: Path) -> None:
    """The printed text is made of the parts; no part is parsed from that text."""
    file = tmp_path / "wrong.yaml"
    file.write_text(
        'experiment: wrong\npath: {bandwidth: 10 Mbit/s, rtt: 40 ms}\nflows:\n- {name: app, cc: cubik}\nduration: "5, nearest: 6"\n'
    )
    with pytest.raises(SpecError) as caught:
        load_experiment(str(file))
    duration, hidden = caught.value.problems
    assert isinstance(duration, FieldProblem)
    assert (duration.location, duration.field, duration.line) == (("duration",), "duration", 5)
    assert (duration.read, duration.nearest) == ('"5, nearest: 6"', None)
    with pytest.raises(SpecError) as caught:
        load_experiment(str(file), ["duration=5 s"])
    (control,) = caught.value.problems
    assert isinstance(control, FieldProblem)
    assert hidden == control
    assert (control.location, control.field, control.line) == (("flows", 0, "cc"), "flows.app.cc", 4)
    assert (control.read, control.nearest) == ('"cubik"', "cubic")
    assert str(control) == f'flows.app.cc (line 4): read "cubik"; {control.what}'
    assert str(caught.value) == f"{file}: {control}"


def test_all_mistakes_are_found_at_once_with_what_was_meant(tmp_path: Path) -> None:
    """Mistakes of structure hide those of names, of rules and of the sweep."""
    file = tmp_path / "wrong.yaml"
    file.write_text(
        "experiment: Wrong One\n"
        "path: {bandwidth: 1 Gbits, rtt: 100, buffr: 1 BPD, queue: droptial, loss: 5}\n"
        "flows: [{name: one, cc: cubik, sack: 'yes', start: 40 s}]\n"
        "duration: 30\n"
        "sweep: {path.rt: [10, 20 ms], flows.one.cc: [reno, bbbr]}\n"
        "expect: [{measure: godput, flow: one, at_least: 1 Mbit/s}]\n"
    )
    with pytest.raises(SpecError) as caught:
        load_experiment(str(file))
    found = [one for one in caught.value.problems if isinstance(one, FieldProblem)]
    assert {(one.field, one.nearest) for one in found} == {
        ("experiment", "wrong-one"),
        ("path.bandwidth", "1 Gbit/s"),
        ("path.rtt", "100 ms"),
        ("path.buffr", "buffer"),
        ("path.buffr", "1 BDP"),
        ("path.queue", "droptail"),
        ("path.loss", "5 %"),
        ("flows.one.cc", "cubic"),
        ("flows.one.sack", "on"),
        ("flows.one.start", None),
        ("duration", "30 s"),
        ("sweep.path.rt", "path.rtt"),
        ("sweep.path.rt.0", "10 ms"),
        ("sweep.flows.one.cc.1", "bbr"),
        ("expect.0.measure", "goodput"),
    }
    assert len(found) == 15
    assert [one.field for one in found if one.misnamed] == ["path.buffr", "sweep.path.rt"]


@pytest.mark.parametrize(
    "written, field",
    [
        ("duration: x", "duration"),
        ("duration: 9 s\nwarmup: x\nwindow: [1 s, 2 s]", "warmup"),
        ("duration: x\nphases: {early: [8 s, 9 s]}", "duration"),
        ("duration: 9 s\nflws: []\nflow: 3", "flws"),
    ],
)
def test_consequences_of_a_mistake_are_no_mistakes(written: str, field: str, tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    flows = "path: {bandwidth: 1 Mbit/s, rtt: 9 ms}\nflows: [{name: one, cc: cubic, stop: 900 s}]\n"
    file.write_text(f"experiment: wrong\n{flows}{written}\n")
    with pytest.raises(SpecError) as caught:
        load_experiment(str(file))
    fields = [one.field for one in caught.value.problems if isinstance(one, FieldProblem)]
    assert fields[0] == field
    assert set(fields) <= {field, "flow"}


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(SpecError, match="nearest: quick"):
        load_experiment("quik")


def test_json_and_yaml_give_the_same_experiment(tmp_path: Path) -> None:
    as_json, as_yaml = tmp_path / "one.json", tmp_path / "one.yaml"
    as_json.write_text(json.dumps(GOOD))
    as_yaml.write_text(
        "experiment: good\npath: {bandwidth: 10 Mbit/s, rtt: 40 ms}\n"
        "flows: [{name: app, cc: cubic}, {name: other, cc: reno}]\nduration: 10 s\n"
    )
    assert load_experiment(str(as_json)) == load_experiment(str(as_yaml))


def test_set_changes_fields_by_name() -> None:
    changed = load_experiment("quick", ["path.rtt=100 ms", "flows.app.cc=htcp", "repeats=3"])
    assert changed.path.rtt == "100 ms"
    assert changed.flows[0].cc == "htcp"
    assert changed.repeats == 3


@pytest.mark.parametrize("change", ["path.rrt=100 ms", "flows.unknown.cc=reno", "path.rtt", "path.rtt=banana", "=1"])
def test_a_wrong_set_is_refused(change: str) -> None:
    with pytest.raises(SpecError):
        load_experiment("quick", [change])


def test_a_missing_file_is_an_error() -> None:
    with pytest.raises(SpecError, match=r"nowhere\.yaml"):
        load_experiment("/nowhere.yaml")


CODE = [("topology", "./lab.py:Lab"), ("modules", ["./mine"]), ("modules", ["sha256:" + "0" * 32])]


@pytest.mark.parametrize(("field", "value"), CODE)
@pytest.mark.parametrize("way", ["written", "changed", "swept", "changed in a shipped one"])
def test_user_code_needs_permission(field: str, value: object, way: str) -> None:
    written: dict[str, object] = GOOD
    change = f"{field}={json.dumps(value)}"
    with pytest.raises(SpecError, match=f"{field}.*(of the lab|may differ)"):
        match way:
            case "written":
                parse_experiment(written | {field: value}, own_code=OwnCode.NONE)
            case "changed":
                parse_experiment(written, overrides=[change], own_code=OwnCode.NONE)
            case "swept":
                swept = parse_experiment(written | {"sweep": [{field: value}]}, own_code=OwnCode.NONE)
                at_point(swept, {field: value})
            case _:
                shipped_experiment("quick", [change])


def test_permission_to_upload_sources_does_not_allow_files() -> None:
    written = GOOD
    for code, allowed in (
        ({"modules": ["./mine"]}, "sha256:<hash>"),
        ({"topology": "./lab.py:Lab"}, "topology of the lab"),
    ):
        with pytest.raises(SpecError, match=allowed):
            parse_experiment(written | code, own_code=OwnCode.SENT)
    with pytest.raises(SpecError, match="was uploaded here before"):
        parse_experiment(written | {"modules": ["sha256:" + "0" * 32]}, own_code=OwnCode.SENT)
    with pytest.raises(SpecError, match="32 hexadecimal digits"):
        parse_experiment(written | {"modules": ["sha256:../../etc"]}, own_code=OwnCode.SENT)


@pytest.mark.parametrize("text", ["[" * 120_000, "{a: " * 60_000, "- " * 120_000, "? " * 120_000])
def test_no_depth_ends_the_process(text: str) -> None:
    # The composer of libyaml is bounded only by the stack.
    with pytest.raises(SpecError, match="nested too deeply"):
        parse_document("deep", text)


@pytest.mark.parametrize(
    "text", ['about: "\\0"', 'about: "\\x1b[2J"', '"a\\x07": 1', "about: a\u202eb", '"\\u2066x": 1', 'about: "\\x9b2J"']
)
def test_control_characters_are_refused(text: str) -> None:
    with pytest.raises(SpecError, match="control characters are not allowed"):
        parse_document("strange", text)


def test_a_user_topology_is_found_from_the_experiments_folder(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(
        "experiment: a\ntopology: labs/lab.py:Lab\nflows: [{name: a, cc: cubic}]\nduration: 1 s\n"
    )
    assert load_experiment(str(tmp_path / "e.yaml")).topology == f"{tmp_path}/labs/lab.py:Lab"

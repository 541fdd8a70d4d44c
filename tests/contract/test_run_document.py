"""The type of a run's document, compared with written documents, with the API's responses and with the fields that the page reads.

A field that is added to only one of them fails here: to a document and not to its type, to the type and to no document, or as a
required field that some document lacks.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest
from pydantic import TypeAdapter

from longhaul.api.schemas.experiments import Result, Status
from longhaul.api.schemas.experiments import Run as ApiRun
from longhaul.orchestrator.analysis.fidelity import checks
from longhaul.orchestrator.backends.base import Cost
from longhaul.orchestrator.database.statuses import ENDS
from longhaul.orchestrator.database.work import Claim
from longhaul.orchestrator.execution import evaluation
from longhaul.orchestrator.execution.local_executor import rerun_outcome
from longhaul.orchestrator.execution.runner import Runner, cancelled_document, failed_document
from longhaul.orchestrator.kernels.named_kernels import NamedKernel, Patch, Source
from longhaul.orchestrator.live.export_run import with_grafana
from longhaul.orchestrator.live.run_export import note
from longhaul.orchestrator.live.stream import Stream
from longhaul.orchestrator.plan.meaning import Phase
from longhaul.orchestrator.plan.run import Expectation, Parts, Run
from longhaul.orchestrator.plan.run_document import (
    CompletionTimes,
    FidelityCheck,
    FlowNumbers,
    OfEveryRun,
    PartNumbers,
    RunDocument,
    RunEnd,
    RunNumbers,
    TotalNumbers,
)
from longhaul.orchestrator.results.staging import Staging
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import GuestDied
from longhaul.orchestrator.system.settings import Grafana, load_settings
from tests.support.command import longhaul
from tests.support.folders import REPOSITORY
from tests.support.recordings import RUNS, recorded

PAGE = REPOSITORY / "dashboards/web/src/data/runDocument.ts"
# Numbers of runs with phases, with flows that belong together, with policers, and with ACK filters.
_SELDOM = {"phases", "totals", "policed", "policers", "acks_filtered"}


class Recordings:
    """A backend that gives the recorded directory of a run."""

    def __init__(self, name: str) -> None:
        self.name = name

    def identity(self, run: Run) -> dict[str, str]:
        return {"kernel": "k", "agent": "a"}

    def growing_traces(self, run: Run, directory: Path) -> list[Path]:
        return [directory / "trace.bin"]

    def run(self, run: Run, directory: Path, progress: object) -> Cost:
        for file in ("facts.json", "trace.bin", "log.txt", "status.json"):
            shutil.copy(RUNS / self.name / file, directory)
        if run.kernel == "mine":
            kernel = NamedKernel(
                "mine", Source("version", "6.12"), "6.12.117", "0" * 40, (Patch("a.patch", "0" * 64, ("at",)),), ("x",)
            )
            facts = json.loads((directory / "facts.json").read_text()) | {
                "kernel_parts": kernel.parts(["0005-x.patch"])
            }
            (directory / "facts.json").write_text(json.dumps(facts))
        return Cost(wall_s=0.5, cpu_s=0.25, max_rss_kb=20_000, parts=run.parts.number if run.parts else 1)


def kept(name: str, store: Store, **changes: Any) -> str:
    """Keep a recorded run as the pipeline does, and return its id."""
    run = replace(recorded(name)[0], **changes)
    backend: Any = Recordings(name)
    with Staging(store.home) as staging:
        runner = Runner(backend, store)
        return runner.run(run, {"experiment": "x"}, staging, lambda virtual_ns: None)["run"]


def exported(name: str, begin_ms: int | None) -> Stream:
    """The stream of a recorded run to a Prometheus that accepts all; without a begin nothing is sent."""
    run = recorded(name)[0]
    stream = Stream(run, "0" * 20, [RUNS / name / "trace.bin"], begin_ms, 10, lambda stream, request: True)
    stream.end(whole=True)
    stream.wait()
    return stream


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Any]]:
    """Every kind of document, written and read again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGHAUL_HOME", str(tmp_path_factory.mktemp("home")))
        settings = replace(load_settings(), grafana=Grafana("https://lab.example"))
        store = Store(settings)
        run, _, _ = recorded("lossy_pair")
        met = Expectation("utilisation", None, 0.0, None, "utilisation at least 0")
        keys = [kept("lossy_pair", store, expect=(met, replace(met, measure="fct_mean"))), kept("real_clock", store)]
        keys.append(
            kept("lossy_pair", store, phases=(Phase("early", 0, 1_000_000), Phase("late", 1_000_000, 2_500_000)))
        )
        keys += [kept("requests", store), kept("barrier", store)]
        keys += [kept("lossy_pair", store, kernel="mine"), kept("two_queues", store, parts=Parts(2))]
        early = Phase("early", 0, 1_000_000)
        keys += [kept("policed", store), kept("policed", store, phases=(early,))]
        note(store, keys[0], exported("lossy_pair", 1_795_305_560_000).outcome())
        lost = exported("lossy_pair", None)
        lost.tally.why = "there is no room"
        note(store, keys[1], lost.outcome())
        again = evaluation.readable(store.get(keys[1]), store)
        claim = Claim("e" * 20, 1, 1, "ada", "sandbox", run.as_json(), {}, rerun_of=keys[0])
        shown = longhaul("show", keys[2], "--json", home=store.home)
        assert shown.returncode == 0, shown.stderr
        found: list[Any] = [
            *(store.get(key) for key in keys),
            *(store.manifest(key)["document"] for key in keys),
            with_grafana(settings, store.get(keys[0])),
            json.loads(shown.stdout),
            rerun_outcome(claim, store, again).document,
            failed_document(run, keys[0], GuestDied("run", "panic", "the guest kernel panicked")),
            cancelled_document(run, keys[0], 1.5),
        ]
        store.revise(store.get(keys[0]) | {"measured_by": "yesterday"})
        patch.setattr(checks, "broken_text", lambda checks: "refused today")
        found.append(evaluation.readable(store.get(keys[0]), store))
        yield [json.loads(json.dumps(one)) for one in found]
        store.database.close()


def faults(value: Any, kind: Any, place: str, seen: dict[Any, list[set[str]]]) -> Iterator[str]:
    """Places where a value does not have its type; `seen` gets the fields of every typed mapping."""
    if is_typeddict(kind):
        hints = get_type_hints(kind)
        seen.setdefault(kind, []).append(set(value))
        yield from (f"{place}.{name} is no field of {kind.__name__}" for name in value.keys() - hints.keys())
        yield from (f"{place} has no {name}" for name in kind.__required_keys__ - value.keys())
        for name in value.keys() & hints.keys():
            yield from faults(value[name], hints[name], f"{place}.{name}", seen)
        return
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        (other,) = (one for one in inner if one is not NoneType)
        if value is not None:
            yield from faults(value, other, place, seen)
    elif origin is list and isinstance(value, list):
        for position, one in enumerate(value):
            yield from faults(one, inner[0], f"{place}[{position}]", seen)
    elif origin is dict and isinstance(value, dict):
        for name, one in value.items():
            yield from faults(one, inner[1], f"{place}[{name!r}]", seen)
    elif not (value in inner if origin is Literal else type(value) in ((int, float) if kind is float else (kind,))):
        yield f"{place} is {value!r}, of the type {kind}"


def without_none(kind: Any) -> Any:
    """A type without None."""
    return next((one for one in get_args(kind) if one is not NoneType), kind) if NoneType in get_args(kind) else kind


def test_every_document_is_of_its_type(documents: list[Any]) -> None:
    assert [fault for one in documents for fault in faults(one, RunDocument, "document", {})] == []


def test_every_field_is_written_and_optional_exactly_where_a_document_lacks_it(documents: list[Any]) -> None:
    seen: dict[Any, list[set[str]]] = {}
    for one in documents:
        assert not [*faults(one, RunDocument, "document", seen)]
    assert len(seen) > 10
    written = {kind: set().union(*fields) for kind, fields in seen.items()}
    always = {kind: set(fields[0]).intersection(*fields) for kind, fields in seen.items()}
    assert written == {kind: set(get_type_hints(kind)) for kind in seen}
    assert always == {kind: set(kind.__required_keys__) for kind in seen}


def test_a_run_that_was_measured_has_all_numbers_and_any_other_none(documents: list[Any]) -> None:
    numbers = get_type_hints(RunNumbers).keys()
    for one in documents:
        has = one.keys() & numbers
        assert has - _SELDOM == (numbers - _SELDOM if one["status"] in ("done", "missed") else set())


def test_repeated_parts_of_the_type_agree() -> None:
    whole = get_type_hints(RunNumbers)
    parts = get_type_hints(PartNumbers) | get_type_hints(CompletionTimes)
    assert {name: whole[name] for name in parts} == parts
    assert whole.keys() - parts.keys() == {"convergence_s", "recovery_ratio", "phases", "acks_filtered"}
    assert set(OfEveryRun.__required_keys__) == set(RunDocument.__required_keys__)


def test_the_faults_of_a_document_are_found(documents: list[Any]) -> None:
    """An additional field, a missing field and a value of another type, at any depth."""
    sound = json.dumps(documents[0])
    changed = [json.loads(sound) for _ in range(4)]
    changed[0]["flows"][0]["new"] = 1.0
    del changed[1]["path"]["queue_packets"]["p95"]
    changed[2]["fidelity"]["checks"][0]["ok"] = 1
    changed[3]["status"] = "queued"
    found = [[*faults(one, RunDocument, "document", {})] for one in changed]
    assert found[0] == ["document.flows[0].new is no field of FlowNumbers"]
    assert found[1] == ["document.path.queue_packets has no p95"]
    assert found[2] == ["document.fidelity.checks[0].ok is 1, of the type <class 'bool'>"]
    assert len(found[3]) == 1


def test_the_api_answers_documents_as_they_are(documents: list[Any]) -> None:
    answered = Result(experiment="x", runs=documents, summary=[]).model_dump()["runs"]
    assert json.dumps(answered) == json.dumps(documents)
    annotation: Any = ApiRun.model_fields["document"].annotation
    document: TypeAdapter[Any] = TypeAdapter(annotation)
    assert json.dumps([document.dump_python(document.validate_python(one)) for one in documents]) == json.dumps(
        documents
    )


def test_fields_that_the_api_repeats_from_a_document_have_the_same_type() -> None:
    hints = get_type_hints(RunDocument)
    # These fields of a row differ: addresses, and whether a part exists.
    repeated = hints.keys() & ApiRun.model_fields.keys() - {"links", "partial", "status"}
    assert {"experiment", "backend", "kernel", "seed", "point", "virtual_s", "wall_s", "trace_sha256"} <= repeated
    for name in repeated:
        assert without_none(ApiRun.model_fields[name].annotation) == without_none(hints[name]), name
    assert set(get_args(RunEnd)) == set(ENDS)
    assert set(get_args(RunEnd)) < set(get_args(Status))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("RunDocument", RunDocument),
        ("FlowNumbers", FlowNumbers),
        ("TotalNumbers", TotalNumbers),
        ("Check", FidelityCheck),
    ],
)
def test_the_page_reads_fields_that_are_there(name: str, kind: Any) -> None:
    interface = re.search(rf"^export interface {name} \{{$(.*?)^\}}$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert interface is not None
    read = dict(re.findall(r"^  (\w+)(\??):", interface[1], re.MULTILINE))
    assert read.keys() <= get_type_hints(kind).keys()
    assert {field for field, optional in read.items() if not optional} <= kind.__required_keys__

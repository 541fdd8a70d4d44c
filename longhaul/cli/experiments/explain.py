"""`longhaul explain`: what a field, a measure or a fidelity check means, from the tables of which the reference pages are made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import JsonOption
from longhaul.orchestrator.system.errors import PlanError, nearest
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

app = verb_app()

_BETTER = {1: "more is better", 0: "neither more nor less is better", -1: "less is better"}
_IN_EXPERIMENTS = {
    "flow": "{{measure: {name}, flow: NAME, at_least: VALUE}}",
    "either": "{{measure: {name}, flow: NAME, at_least: VALUE}}, without flow for the path",
    "path": "{{measure: {name}, at_least: VALUE}}",
    "run": "{{measure: {name}, at_least: VALUE}}",
}


def _known(begun: str) -> list[str]:
    """Names for the shell's completion."""
    return [name for name in _names() if name.startswith(begun)]


@dataclass(frozen=True)
class ExplainOptions:
    """The options of `longhaul explain`."""

    name: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME",
            help="A field such as path.buffer, a measure such as goodput, or a check such as cpu budget.",
            autocompletion=_known,
        ),
    ]
    as_json: JsonOption = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """One meaning of a name."""

    name: str
    kind: str
    about: str
    details: tuple[str, ...]


@command(app)
def explain(options: ExplainOptions) -> None:
    """Explain a field of an experiment, a measure or a fidelity check; exit code 2 if there is none of that name."""
    name = " ".join(options.name)
    found = list(_explanations(name))
    if not found:
        known = [*_names(), *{one.rpartition(".")[2] for one in _names()}]
        hint = f"known: the fields of docs/experiment-format.md, the measures of docs/catalogues.md, the checks of docs/fidelity.md{nearest(name, known)}"
        raise PlanError("explaining", name, "there is no field, measure or check of that name", hint)
    if options.as_json:
        rows = [{"name": one.name, "kind": one.kind, "about": one.about, "details": one.details} for one in found]
        print(json.dumps(rows))
        return
    for place, one in enumerate(found):
        lines = [f"{one.name}: {one.kind}", f"  {one.about}", *(f"  {line}" for line in one.details)]
        print("\n".join(["", *lines] if place else lines))


def _names() -> list[str]:
    from longhaul.orchestrator.analysis.fidelity.check_table import CHECKS, HOST_CHECKS
    from longhaul.orchestrator.spec.field_reference import all_fields
    from longhaul.orchestrator.spec.measures import MEASURES

    return [*(path for path, _ in all_fields()), *MEASURES, *CHECKS, *HOST_CHECKS]


def _explanations(name: str) -> Iterator[Explanation]:
    yield from _fields(name)
    yield from _measures(name)
    yield from _checks(name)


def _fields(name: str) -> Iterator[Explanation]:
    from longhaul.orchestrator.spec.field_reference import all_fields, default_of, meaning_of

    parts = name.split(".")
    # flows.app.cc and links.first.rtt name a flow or a link in the middle.
    paths = {name, ".".join([parts[0], *parts[2:]])} if len(parts) > 2 else {name}
    for path, field in all_fields():
        if path in paths or path.endswith(f".{name}"):
            default = default_of(field)
            about = "it is needed" if default == "needed" else f"default: {default}" if default else "no default"
            yield Explanation(path, "a field of an experiment", meaning_of(field), (about,))


def _measures(name: str) -> Iterator[Explanation]:
    from longhaul.orchestrator.spec.measures import MEASURES

    # goodput(app) is the measure of one flow.
    if (measure := MEASURES.get(name.partition("(")[0])) is not None:
        of = {"either": "a flow or the path", "flow": "a flow", "path": "the path", "run": "a run"}[measure.of]
        yield Explanation(
            measure.name,
            f"a measure of {of}",
            measure.formula,
            (
                f"in a result: {measure.field}; a {measure.quantity}" if measure.quantity != "number" else f"in a result: {measure.field}",
                _BETTER[measure.better],
                f"in an experiment: expect: [{_IN_EXPERIMENTS[measure.of].format(name=measure.name)}]",
            ),
        )  # fmt: skip


def _checks(name: str) -> Iterator[Explanation]:
    from longhaul.orchestrator.analysis.fidelity.check_table import CHECKS, HOST_CHECKS

    for table, where in ((CHECKS, ""), (HOST_CHECKS, " of runs on hosts")):
        for check, holds in table.items():
            if check.lower() == name.lower():
                remedy = "a run that fails it has no result; its error names the field to change (docs/fidelity.md)"
                yield Explanation(check, f"a fidelity check{where}", holds, (remedy,))

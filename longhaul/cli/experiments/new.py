"""`longhaul new`: an experiment as a commented file, by options, or by questions on a terminal.

The text is checked as `longhaul run` checks it before anything is written; a file that exists stays, unless --force is given.
"""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.orchestrator.system.errors import PlanError, SpecError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import format_duration, parse_duration

app = verb_app()

_EXAMPLE = "longhaul new mine.yaml --bandwidth '100 Mbit/s' --rtt 40ms --cc cubic,bbr"


@dataclass(frozen=True)
class NewOptions:
    """The options of `longhaul new`."""

    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, as in mine.yaml.")]
    bandwidth: Annotated[str | None, typer.Option(metavar="RATE", help="The bottleneck's rate.")] = None
    rtt: Annotated[str | None, typer.Option(metavar="TIME", help="The round trip without a queue.")] = None
    buffer: Annotated[
        str | None, typer.Option(metavar="SIZE", help="The largest queue at the bottleneck; 1 BDP by default.")
    ] = None
    controls: Annotated[
        str | None, typer.Option("--cc", metavar="CC,...", help="A flow for each of these congestion controls.")
    ] = None
    duration: Annotated[str | None, typer.Option(metavar="TIME", help="How long it runs; 20 s by default.")] = None
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False


@dataclass(frozen=True, slots=True)
class Answers:
    """The values of the experiment."""

    bandwidth: str = "100 Mbit/s"
    rtt: str = "40 ms"
    buffer: str = "1 BDP"
    controls: str = "cubic, bbr"
    duration: str = "20 s"


_QUESTIONS = {
    "bandwidth": "rate of the bottleneck",
    "rtt": "round trip without a queue",
    "buffer": "buffer at the bottleneck (BDP, packets, KB or ms)",
    "controls": "congestion controls, a flow each (`longhaul list modules`)",
    "duration": "duration",
}
# A run without a terminal has to give these: a path is never chosen by accident.
_NEEDED = {"bandwidth": "--bandwidth", "rtt": "--rtt", "controls": "--cc"}


@command(app)
def new(options: NewOptions) -> None:
    """Write an experiment as a commented file that `longhaul run` accepts; on a terminal, it asks for values without an option."""
    from longhaul.orchestrator.system.files import write_whole

    file = options.file
    if file.suffix not in (".yaml", ".yml"):
        raise PlanError(
            "writing an experiment to", str(file), "its name does not end in .yaml", f"as in {file.stem}.yaml"
        )
    if file.exists() and not options.force:
        raise PlanError(
            "writing an experiment to",
            str(file),
            "the file already exists",
            "give --force to replace it, or another name",
        )
    given = {name: value for name in _QUESTIONS if (value := getattr(options, name)) is not None}
    if sys.stdin.isatty() and sys.stderr.isatty():
        answers = _ask(file, given)
    else:
        missing = [option for name, option in _NEEDED.items() if name not in given]
        if missing:
            what = f"there is no terminal to ask for {', '.join(missing)}"
            raise PlanError("writing an experiment to", str(file), what, f"give them, as in {_EXAMPLE}")
        answers = replace(Answers(), **given)
    text = experiment_text(file.stem, answers)
    _check(file, text)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, text)
    quoted = shlex.quote(str(file))
    rows = (
        (str(file), "the experiment: every line may be changed"),
        (f"longhaul plan {quoted}", "shows every number that it resolves to"),
        (f"longhaul run {quoted}", "runs it: chart, numbers, exit code 1 if an expectation is missed"),
        ("longhaul explain path.buffer", "explains a field, a measure or a check"),
    )
    width = max(len(words) for words, _ in rows)
    for words, about in rows:
        print(f"{words:{width}}  {about}")


def experiment_text(name: str, answers: Answers) -> str:
    """The file; what the user typed is quoted where YAML needs it."""
    controls = [one.strip() for one in answers.controls.split(",") if one.strip()]
    title = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "mine"
    rivals = " and ".join(controls) if len(controls) < 3 else f"{', '.join(controls[:-1])} and {controls[-1]}"
    verb = "share" if len(controls) > 1 else "has"
    flows = "\n".join(f"  - {{name: {flow}, cc: {_quoted(cc)}}}" for flow, cc in _named(controls))
    return f"""\
# Made by `longhaul new`. `longhaul explain FIELD` explains a field, docs/experiment-format.md lists them all.
experiment: {title}
about: {_quoted(f"{rivals} {verb} {answers.bandwidth} and {answers.rtt}.")}

# The bottleneck, and the round trip without a queue.
path:
  bandwidth: {_quoted(answers.bandwidth)}
  rtt: {_quoted(answers.rtt)}
  # The largest queue at the bottleneck: a part of the bandwidth-delay product (BDP), packets, KB or ms.
  buffer: {_quoted(answers.buffer)}
  # loss: 0.01 %          random loss; queue: fq_codel, pie, ... for another queue than drop-tail

# A flow for each sender; `start: 5 s` begins one later, `size: 10 MB` ends it.
flows:
{flows}

# In virtual time: a run takes as long as its packets take to compute. Measures leave the warmup out.
duration: {_quoted(answers.duration)}
warmup: {_warmup(answers.duration)}

# Runs of the same point with other seeds give intervals; a sweep varies fields.
# repeats: 5
# sweep: {{path.rtt: [10 ms, 40 ms, 160 ms]}}

# Bounds on measures: exit code 1 if one is missed.
expect:
  - {{measure: utilisation, at_least: 0.5}}
"""


def _warmup(duration: str) -> str:
    """A tenth of the duration; nothing of one that is no duration, which the check reports."""
    try:
        return format_duration(parse_duration(duration) // 10)
    except ValueError:
        return "0 s"


def _named(controls: list[str]) -> list[tuple[str, str]]:
    """A name for each flow: that of its control, with a number if another flow has it."""
    found: dict[str, str] = {}
    for cc in controls:
        stem = re.sub(r"[^a-z0-9]+", "-", cc.lower()).strip("-") or "flow"
        name, number = stem, 2
        while name in found:
            name, number = f"{stem}-{number}", number + 1
        found[name] = cc
    return list(found.items())


def _quoted(text: str) -> str:
    """The text as YAML, in quotes unless it is plainly a word or a quantity."""
    plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 ./%-]*(, [A-Za-z0-9 ./%-]+)*( and [A-Za-z0-9 ./%-]+)*\.?", text)
    if plain and "," not in text:
        return text
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


def _check(file: Path, text: str) -> None:
    """SpecError or PlanError as `longhaul plan` would report it."""
    from longhaul.orchestrator.plan.compile import compile_plan
    from longhaul.orchestrator.spec.load import parse_text

    compile_plan(parse_text(text, str(file)))


def _ask(file: Path, given: dict[str, str]) -> Answers:
    """The answers; one that is not possible is asked again."""
    answers = replace(Answers(), **given)
    if given:
        _check(file, experiment_text(file.stem, answers))
    if len(given) < len(fields(Answers)):
        print("Enter accepts the value in brackets.", file=sys.stderr)
    for name, question in _QUESTIONS.items():
        while name not in given:
            asked = replace(answers, **{name: _read(question, getattr(answers, name))})
            try:
                _check(file, experiment_text(file.stem, asked))
            except (SpecError, PlanError) as error:
                print(error, file=sys.stderr)
                continue
            answers = asked
            break
    return answers


def _read(question: str, default: str) -> str:
    print(f"{question} [{default}]: ", end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not line:
        print(file=sys.stderr)
        raise PlanError("asking for the", question, "the input has ended", f"give options instead, as in {_EXAMPLE}")
    return line.strip() or default

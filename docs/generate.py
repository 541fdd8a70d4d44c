"""Generates the reference pages of docs/ from the code: `make docs`. A test checks that they are current."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import typer
from pydantic.fields import FieldInfo
from typer.core import TyperGroup

from dashboards.grafana.boards import BOARDS
from docs.error_index import error_index
from docs.manual import manual_page
from docs.reference_page import reference_page
from longhaul.api.app import create_app
from longhaul.cli.main import COMMANDS, app
from longhaul.orchestrator.execution.catalogues import CATALOGUES
from longhaul.orchestrator.live.metrics import RUN_METRICS, SERVICE_METRICS
from longhaul.orchestrator.preview.gallery import gallery_text
from longhaul.orchestrator.preview.topology_picture import as_svg, as_text, picture_of
from longhaul.orchestrator.spec import model
from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS
from longhaul.orchestrator.spec.field_reference import PARTS, default_of, meaning_of
from longhaul.orchestrator.spec.graph import Graph
from longhaul.orchestrator.spec.measures import MEASURES
from longhaul.orchestrator.spec.presets import ERAS, PRESETS
from longhaul.orchestrator.spec.sections import path_model
from longhaul.orchestrator.spec.topology import build_graph
from longhaul.orchestrator.system import settings
from longhaul.topologies import CATALOG

DOCS = Path(__file__).parent
# The width of help on a terminal of 80 columns or more.
_HELP_COLUMNS = 78


EXIT_CODES = (
    (0, "done, and every expectation is met"),
    (
        1,
        "an expectation is missed, a gated measure is worse, a rerun or a gating published claim differs, a claim breaks, or tuning is not confirmed",
    ),
    (2, "bad input: one line for each mistake, with the field's name"),
    (
        3,
        "a backend lacks something or a service does not respond: the message states what is missing and how to fix it",
    ),
    (4, "a run failed"),
    (130, "cancelled by Ctrl-C, on a service too; finished runs are kept"),
)


_IPERF3 = """## Flows of iperf3

With `tool: iperf3` a flow is an iperf3 client with its own server, both the program of this machine (`apt-get install iperf3`), in the guest.
Measures come from the same trace as those of lh-flow. A check compares the trace with what iperf3 reports as sent, received and retransmitted
([fidelity](fidelity.md)); iperf3's JSON stays with the result. The tool is for TCP flows that send all the time or up to a size:

- iperf3 first negotiates over a separate connection, so data begins 4 round trips later than with lh-flow; a flow's `start`
  is the start of the client. On the same path the flow then has the goodput of lh-flow.
- iperf3 sets the congestion control on an established connection, so it cannot use one that takes part in the handshake (dctcp).
- iperf3 sends whole blocks: a `size` above 1 MB has to be a whole number of blocks of 16 KB to 1 MB. A size is complete when its last
  byte has arrived, to within 1 % of the time it took; iperf3's own server stops counting before that.
- `stop` may be any time. `udp`, `on_off`, `web` and `window` need lh-flow. An experiment has at most 50 flows of iperf3; each takes 8 MB of
  the guest and about 0.1 s of wall time to start.
"""


def pages() -> Mapping[str, str]:
    """File name -> text of every generated page."""
    document = _reference()
    return {
        "experiment-format.md": "\n".join(_experiment_format()) + "\n",
        "command-line.md": "\n".join(_command_line()) + "\n",
        "errors.md": "\n".join(error_index(_table)) + "\n",
        "longhaul.1": "\n".join(_manual()) + "\n",
        "grafana.md": "\n".join(_grafana()) + "\n",
        "metrics.md": "\n".join(_metrics()) + "\n",
        "catalogues.md": "\n".join(_catalogues()) + "\n",
        "openapi.json": json.dumps(document, indent=1, sort_keys=True) + "\n",
        "api.md": reference_page(document),
        "topologies.md": "\n".join(_topologies()) + "\n",
        **{f"pictures/{name}.svg": as_svg(picture_of(_drawn(name)), name) for name in CATALOG},
        "../README.md": _front_page(),
        "limits.md": _with_speeds("limits.md"),
        "../dashboards/web/src/data/glossary.json": _glossary(),
        "../orchestrator/experiments/gallery.json": gallery_text(),
        "../longhaul/cli/help_lines.py": "\n".join(_help_lines()) + "\n",
    }


def _glossary() -> str:
    """The words of docs/glossary.md with their meanings, for the page's help: without links and marks."""
    rows = re.findall(r"(?m)^\| ([^|]+?) \| ([^|]+?) \|", (DOCS / "glossary.md").read_text())
    words = {
        word: re.sub(r"`", "", re.sub(r" ?\(\[[^\]]*\]\([^)]*\)\)|\[([^\]]*)\]\([^)]*\)", r"\1", meaning))
        for words, meaning in rows
        for word in words.split(", ")
        if words not in ("word", "---") and not ("," in words and ";" in meaning)
    }
    return json.dumps(words, indent=2, ensure_ascii=False) + "\n"


def _front_page() -> str:
    """README.md with the speeds of docs/benchmarks.md, and ten seconds of 1 Gbit/s with ns-3's beside it."""
    text = _with_speeds("../README.md")
    (longhaul_s, ns3_s) = re.findall(
        r"(?m)^\| 1000 Mbit/s × 40 ms, 10 s, an ACK each \|.*\| (\S+) s against (\S+) s;",
        (DOCS / "benchmarks.md").read_text(),
    )[0]
    return re.sub(
        r"(?m)^(\| 1 Gbit/s, in times of real time \|) \S+ \| \S+ \|",
        rf"\g<1> {10 / float(longhaul_s):.2g} | {10 / float(ns3_s):.1g} |",
        text,
    )


def _with_speeds(name: str) -> str:
    """A page with a row for each case that it names, as docs/benchmarks.md has it in virtual seconds per second."""
    row = r"(?m)^\| (.+?) \| (.+?)(?: \(missed\))? \|.*\| virtual s / wall s \|"
    measured = dict(re.findall(row, (DOCS / "benchmarks.md").read_text()))
    return re.sub(
        r"(?m)^\| ((?:[\d,]+ flows on )?\d+ [GM]bit/s × \d+ ms) \| \S+ \|",
        lambda match: f"| {match[1]} | {measured[match[1].replace(' flows', '')]} |",
        (DOCS / name).read_text(),
    )


def _reference() -> dict[str, Any]:
    """The OpenAPI document of the service, which does not depend on the home."""
    with tempfile.TemporaryDirectory() as home:
        return create_app(replace(settings.load_settings(), home=Path(home), database="")).openapi()


def _written(page: str, titles: Iterable[str]) -> str:
    """A page as people write it, until its first generated section; a new one may come before all that are there."""
    text = (DOCS / page).read_text()
    begins = [at for title in titles if (at := text.find(f"\n## {title}\n")) >= 0]
    assert begins, f"docs/{page} has none of its sections"
    return text[: min(begins)].rstrip()


def _grafana() -> Iterator[str]:
    boards = [json.loads(page().text()) for page in BOARDS.values()]
    yield _written("grafana.md", (board["title"] for board in boards))
    for board in boards:
        yield f"\n## {board['title']}\n"
        yield f"{board['description']}\n"
        rows = [(panel["title"], panel["description"]) for panel in board["panels"] if panel["type"] != "row"]
        yield from _table(("panel", "what it shows"), rows)
        if marks := [one["name"] for one in board["annotations"].get("list", [])]:
            yield f"\nMarks: {', '.join(marks)}."


def _metrics() -> Iterator[str]:
    yield "# Metrics\n"
    yield "Every metric that Longhaul sends to Prometheus. [live.md](live.md) explains how; rules and alerts on them are in `dashboards/rules`.\n"
    for title, table in (
        ("Metrics of runs, by remote write, each sample with its own time", RUN_METRICS),
        ("Metrics of the service, from its /metrics", SERVICE_METRICS),
    ):
        yield f"## {title}\n"
        rows = [
            (f"`{one.name}`", one.kind, one.unit, ", ".join(f"`{label}`" for label in one.labels), one.help)
            for one in table
        ]
        yield from _table(("name", "kind", "unit", "labels", "meaning"), rows)
        yield ""
    yield "`run` is the id of a run, `host` the node of the topology: a flow's sender, or where the queue is. `cc` is left out for UDP, `point` where nothing is swept."


def _experiment_format() -> Iterator[str]:
    yield "# Experiment format\n"
    yield "This page is the reference for people who write experiments: every field, its default and its meaning."
    yield "An experiment is a YAML or JSON file. Quantities have units; rates and sizes are powers of 1000. Longhaul never executes any part"
    yield "of the file. It reports each mistake in one line: the field, the value, the allowed values, the nearest known name.\n"
    yield "```yaml"
    yield (DOCS.parent / "orchestrator" / "experiments" / "path-change.yaml").read_text().rstrip()
    yield "```\n"
    for title, part in PARTS:
        yield f"## {title or 'The whole file'}\n"
        if part is not model.Experiment and part.__doc__:
            yield f"{part.__doc__.strip()}\n"
        rows = [(f"`{name}`", _shown_default(field), meaning_of(field)) for name, field in part.model_fields.items()]
        yield from _table(("field", "default", "meaning"), rows)
        yield ""
    yield "For the senders and receivers of flows, the names in `params` and `links`, and custom topologies, see [topologies.md](topologies.md).\n"
    yield _IPERF3
    yield "For flows of other programs (`command`) see [programs.md](programs.md), for `streams`, `requests` and `dscp` [traffic.md](traffic.md).\n"
    yield "## Scheduled changes\n"
    yield (
        "A schedule may change these fields of the path: "
        + ", ".join(f"`{name}`" for name in path_model.PathNumbers.model_fields)
        + "."
    )
    yield "A loss of 100 % is a blackout; a run may begin in one, by `path.loss` or by a change at 0 s. A smaller `mtu` makes TCP send smaller"
    yield "segments at once; queues keep the sizes for frames of the start.\n"
    yield "A schedule may change `cc` and `params` of a TCP flow; `params` are checked against the congestion control that the flow has at that time."
    yield "A change before the flow's start applies from its start; a change after the end of a sized flow has no effect. Parameters that belong to"
    yield "the module must be set for all its flows at once.\n"
    yield "```yaml"
    yield "schedule:"
    yield "  - at: 10 s"
    yield "    path: {rtt: 450 ms, mtu: 576, loss: 100 %}"
    yield "    flows:"
    yield "      app: {params: {rate: 128 Mbit/s}}"
    yield "      bic: {cc: reno}"
    yield "```\n"
    yield "[catalogues.md](catalogues.md) lists the measures for `expect`, the congestion controls and their parameters."


def _shown_default(field: FieldInfo) -> str:
    default = default_of(field)
    return default if default in ("", "needed") else f"`{default}`"


def _command_line() -> Iterator[str]:
    yield "# The command line\n"
    root = typer.main.get_command(app)
    for name, command in _commands(root, "longhaul"):
        context = command.context_class(command, info_name=name)
        words = " ".join(command.collect_usage_pieces(context))
        yield f"## {name}\n"
        yield f"`{name} {words}`\n"
        yield f"{(command.help or '').strip()}\n"
        options = [record for one in command.params if (record := one.get_help_record(context)) is not None]
        if options:
            yield from _table(("option", "meaning"), [(f"`{option}`", text) for option, text in options])
            yield ""
    yield "## Exit codes\n"
    yield from _table(("code", "meaning"), EXIT_CODES)
    yield "\nResults go to standard output, everything else to standard error; with `--json` standard output is one document.\n"
    yield "## Completion and the manual\n"
    yield "Tab completes verbs, options and names of experiments. In bash, and the same with zsh; in fish `longhaul completion fish | source`; `longhaul --install-completion` installs it for all later shells:\n"
    yield '    eval "$(longhaul completion bash)"\n'
    yield "`man docs/longhaul.1` shows this page in a terminal; copied to a folder of manual pages, such as `/usr/local/share/man/man1`, it is `man longhaul`.\n"
    yield "## Settings\n"
    yield "Environment variables, read once at the start:\n"
    yield "```"
    yield (settings.__doc__ or "").partition("\n\n")[2].rstrip()
    yield "```"


def _manual() -> Iterator[str]:
    environment = (settings.__doc__ or "").partition("\n\n")[2].rstrip()
    return manual_page(
        version("longhaul"), list(_commands(typer.main.get_command(app), "longhaul")), EXIT_CODES, environment
    )


def _help_lines() -> Iterator[str]:
    """What `longhaul --help` prints of each command, so that it loads none of them."""
    yield '"""The first paragraph of the help of each command, generated from its docstring: `make docs`."""\n'
    yield "from __future__ import annotations\n"
    yield "HELP_LINES = {"
    for name in COMMANDS:
        command = typer.main.get_command(import_module(f"longhaul.cli.{COMMANDS[name]}").app)
        text = " ".join((command.help or "").partition("\n\n")[0].split())
        yield f'    "{name}": {text!r},' if '"' in text else f'    "{name}": "{text}",'
    yield "}\n"
    yield "# What `longhaul --help` prints on a terminal of 80 columns or more."
    yield f'ROOT_HELP = """\\\n{_root_help()}"""'


def _root_help() -> str:
    """The whole help, whatever the terminal of `make docs` is."""
    root = typer.main.get_command(app)
    with root.make_context("longhaul", [], resilient_parsing=True, terminal_width=_HELP_COLUMNS) as context:
        return root.get_help(context) + "\n"


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Every verb with its full name; typer has its own class of commands."""
    if isinstance(command, TyperGroup):
        for verb in command.commands:
            yield from _commands(command.commands[verb], f"{name} {verb}")
    else:
        yield name, command


def _catalogues() -> Iterator[str]:
    yield "# Names for experiments\n"
    yield "## Shipped experiments\n"
    yield from _rows(CATALOGUES["experiments"]())
    yield "\n## Topologies\n"
    yield from _rows([{name: row[name] for name in ("topology", "about")} for row in CATALOGUES["topologies"]()])
    yield "\nTheir parameters and pictures are in [topologies.md](topologies.md).\n"
    yield "\n## Backends\n"
    yield from _rows(CATALOGUES["backends"]())
    yield "\n## Congestion controls\n"
    yield from _rows([{name: row[name] for name in ("cc", "also", "about")} for row in CATALOGUES["modules"]()])
    for control in CONGESTION_CONTROLS.values():
        if control.parameters:
            yield f"\n### Parameters of {control.name}\n"
            rows = [(f"`{one.name}`", one.show(one.default), one.allowed, one.about) for one in control.parameters]
            yield from _table(("parameter", "default", "allowed", "meaning"), rows)
    yield "\n## Flow presets\n"
    yield "`preset: NAME` in a flow fills the fields that are not written there; `window: null` takes a preset's window away.\n"
    presets = [
        (f"`{name}`", _fields({**preset.fields, **({"params": preset.params} if preset.params else {})}), preset.label)
        for name, preset in PRESETS.items()
    ]
    yield from _table(("preset", "fields", "what runs"), presets)
    yield "\n## Defaults of older kernels\n"
    yield "`cc_era` at the top of an experiment. A flow or its preset overrides it.\n"
    yield from _table(
        ("cc_era", "fields", "about"), [(f'`"{name}"`', _fields(era.fields), era.about) for name, era in ERAS.items()]
    )
    yield "\n## Measures\n"
    yield "A flow's measures look at the part of the window in which it was active. `key` is the place in a run's document, in"
    yield "summaries and in the catalogue of kept runs.\n"
    measures = [
        (
            f"`{name}`",
            f"`{measure.field}`",
            measure.of,
            measure.quantity,
            measure.formula,
        )
        for name, measure in MEASURES.items()
    ]
    yield from _table(("measure", "key", "of", "in", "formula"), measures)
    yield "\n## Series\n"
    yield "The series of a kept run over time ([results.md](results.md)). A series that a trace does not have, such as the window of UDP, is empty.\n"
    yield from _rows(CATALOGUES["series"]())
    yield "\n## Moments\n"
    yield "What happens in a run: `longhaul show RUN --moments KIND`, `Run.moments`, `GET /runs/{id}/moments`, and the list below the charts of a run.\n"
    yield from _rows(CATALOGUES["moments"]())


def _topologies() -> Iterator[str]:
    topologies = CATALOGUES["topologies"]()
    yield _written("topologies.md", (row["topology"] for row in topologies))
    for row in topologies:
        name = row["topology"]
        yield f"\n## {name}\n"
        yield f"{row['about'][0].upper()}{row['about'][1:]}.\n"
        yield f"```\n{as_text(picture_of(_drawn(name)))}\n```\n"
        yield f"![{name}](pictures/{name}.svg)\n"
        rows = [
            (f"`{one['name']}`", one["default"], f"{one['low']} to {one['high']}", one["about"])
            for one in row["parameters"]
        ]
        yield from _table(("parameter", "default", "allowed", "meaning"), rows)


def _drawn(name: str) -> Graph:
    """A topology at a size that shows its shape."""
    return build_graph(name, {"dumbbell": {"n": 3}, "long_path": {"hops": 3}}.get(name, {}))


def _fields(fields: Mapping[str, Any]) -> str:
    """Fields in YAML, on one line."""
    return ", ".join(f"`{name}: {_flow_style(value)}`" for name, value in fields.items())


def _flow_style(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_flow_style(inner)}" for name, inner in value.items()) + "}"
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def _rows(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    return _table(tuple(rows[0]), [tuple(row.values()) for row in rows])


def _table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in row) + " |"


def main() -> None:
    """Write every page."""
    for name, text in pages().items():
        (DOCS / name).parent.mkdir(exist_ok=True)
        (DOCS / name).write_text(text)


if __name__ == "__main__":
    main()

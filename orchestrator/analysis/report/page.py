"""The HTML of a report: tables drawn here, time series drawn by report.js from the JSON in the page.

Every text of an experiment is escaped, in the markup and in the JSON, so no name can become a tag or end a script.
The page contains its style, script, data and static figures, and its policy forbids the browser to load anything else.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import PurePath
from string import Template
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.figures.run_figure import draw_distributions, draw_figure
from longhaul.orchestrator.analysis.panels import Panel, overlaid, run_panels
from longhaul.orchestrator.analysis.report.html_shell import asset, html_page
from longhaul.orchestrator.analysis.series import Floats
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.plan.traffic.programs import programs_note
from longhaul.orchestrator.preview.changes import run_marks
from longhaul.orchestrator.preview.flow_text import NO_ANSWER, control_text, unanswered
from longhaul.orchestrator.spec.model import PROGRAM
from longhaul.orchestrator.system.extras import is_installed
from longhaul.orchestrator.system.units import format_duration, format_rate, format_share, spell_number
from longhaul.orchestrator.trace.records import Trace

# Values in the whole page are kept to about this many, so that a page of a large sweep still opens.
_MOST_POINTS, _LEAST_POINTS, _PAGE_POINTS = 2000, 100, 400_000
# A figure takes a third of a second to draw; a page with more runs has none, nor has one without the packages for figures.
_MOST_FIGURES = 24
_TIME_DECIMALS, _VALUE_DECIMALS = 4, 3


def report_page(runs: Sequence[tuple[RunDocument, Run, Trace]], recorded: Sequence[Panel] = ()) -> str:
    """The page that shows these runs, in their order, with series of recordings over theirs."""
    series = sum(3 * len(run.flows) + 1 for _, run, _ in runs)
    points = min(_MOST_POINTS, max(_LEAST_POINTS, _PAGE_POINTS // max(1, series)))
    figures = len(runs) <= _MOST_FIGURES and is_installed("figures")
    sections, data = [], []
    for index, (document, run, trace) in enumerate(runs):
        panels = overlaid(run_panels(run, trace, points), recorded)
        figure = draw_figure([(run, trace)], "svg", recorded) if figures else None
        shares = draw_distributions(run, trace) if figures else None
        sections.append(_section(index, document, run, panels, figure, shares))
        data.append(_chart_data(run, panels))
    names = dict.fromkeys(run.experiment for _, run, _ in runs)
    title = ", ".join(names)
    body = Template(asset(__package__, "report.html")).substitute(
        title=escape(title),
        contents=_contents(runs) if len(runs) > 1 else "",
        sections="\n".join(sections),
        data=_script_json({"runs": data}),
        pen=asset(__package__, "report_pen.js"),
        script=asset(__package__, "report.js"),
    )
    return html_page(title, asset(__package__, "report.css"), body, scripts=True)


def _script_json(value: object) -> str:
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _chart_data(run: Run, panels: Sequence[Panel]) -> dict[str, Any]:
    """The data of a run that report.js draws."""
    return {
        "title": run.title,
        "duration_s": run.duration_us / 1e6,
        "window_s": [edge_us / 1e6 for edge_us in run.window_us],
        "marks": [{"t_s": mark.t_s, "text": mark.text} for mark in run_marks(run)],
        "panels": [
            {
                "title": panel.title,
                "unit": panel.unit,
                "series": [
                    {
                        "label": series.label,
                        "x_s": _short(series.x_s, _TIME_DECIMALS),
                        "y": _short(series.y, _VALUE_DECIMALS),
                    }
                    for series in panel.series
                ],
            }
            for panel in panels
        ],
    }


def _short(values: Floats, decimals: int) -> list[float] | list[int]:
    if np.array_equal(values, np.rint(values)):
        return [int(value) for value in values]
    return [float(value) for value in np.round(values, decimals)]


def _contents(runs: Sequence[tuple[RunDocument, Run, Trace]]) -> str:
    rows = [
        [
            f'<a href="#run-{index}">{escape(run.title)}</a>',
            _status(document["status"]),
            format_rate(sum(flow["goodput_bps"] for flow in document["flows"])),
            _share(document["path"]["utilisation"]),
            _number(document["path"]["queue_delay_ms"], " ms"),
            str(document["path"]["drops"]),
            _number(document["jain"], "", 4),
        ]
        for index, (document, run, _) in enumerate(runs)
    ]
    head = ("Run", "Status", "Goodput of all flows", "Utilisation", "Queue delay", "Drops", "Jain index")
    return f'<nav aria-label="Runs">{_table("Runs in this report", head, rows)}</nav>'


def _section(
    index: int, document: RunDocument, run: Run, panels: Sequence[Panel], figure: bytes | None, shares: bytes | None
) -> str:
    about = f'<p class="about">{escape(run.meaning.about)}</p>' if run.meaning.about else ""
    parts = [
        f'<section id="run-{index}" aria-labelledby="title-{index}"{" class=figured" if figure else ""}>',
        f'<h2 id="title-{index}">{escape(run.title)} {_status(document["status"])}</h2>{about}',
        f'<p class="facts">{escape(_path_sentence(run))}</p>',
        _charts(index, run, panels),
        _static_figure(figure, run) if figure else "",
        _distributions(shares, run) if shares else "",
        _flow_table(document),
        _programs(document),
        _bottleneck_table(document),
        _expectations(document),
        _fidelity(document),
        _manifest(document, run),
        "</section>",
    ]
    return "\n".join(part for part in parts if part)


def _path_sentence(run: Run) -> str:
    meaning = run.meaning
    if run.script is not None:
        script = " ".join([PurePath(run.script.file).name, *run.script.arguments])
        return f"Mininet script {script} · {len(run.links)} queues, the one with most losses and waiting first · {format_duration(run.duration_us)}"
    point = "".join(f" · {path} = {spell_number(value)}" for path, value in run.point.items())
    return (
        f"{format_rate(meaning.bandwidth_bps)} · round trip {format_duration(meaning.rtt_us)} · "
        f"{meaning.queue}, buffer {meaning.buffer_text} ({meaning.buffer_packets} packets) · MTU {meaning.mtu} · "
        f"{meaning.topology} · {format_duration(run.duration_us)}, measured from "
        f"{format_duration(run.window_us[0])} to {format_duration(run.window_us[1])}{point}"
    )


def _charts(index: int, run: Run, panels: Sequence[Panel]) -> str:
    canvases = []
    for panel in panels:
        label = f"{panel.title}, {panel.unit}, over {format_duration(run.duration_us)}: " + ", ".join(
            series.label for series in panel.series[:8]
        )
        canvases.append(f'<canvas role="img" tabindex="0" aria-label="{escape(label)}"></canvas>')
    return f'<div class="charts" data-run="{index}">{"".join(canvases)}</div>'


def _static_figure(figure: bytes, run: Run) -> str:
    return f'<details class="static"><summary>Static figure</summary>{_image(figure, "Time series", run)}</details>'


def _distributions(figure: bytes, run: Run) -> str:
    image = _image(figure, "Distributions of round trips and queue delays", run)
    return f'<details class="shares"><summary>Distributions of round trips and queue delays</summary>{image}</details>'


def _image(figure: bytes, what: str, run: Run) -> str:
    image = base64.b64encode(figure).decode()
    return f'<img alt="{what} of {escape(run.title)}" src="data:image/svg+xml;base64,{image}">'


def _flow_table(document: RunDocument) -> str:
    head = ["Flow", "Congestion control", "Goodput", "RTT min", "RTT p50", "RTT p95"]
    head += ["cwnd mean", "Retransmits", "Loss", "Completion"]
    asked = any("requests" in flow for flow in document["flows"])
    head += ["Requests", "Lost requests", "Request p50", "Request p99"] if asked else []
    rounds = any("rounds" in one for one in (*document["flows"], *document.get("totals", ())))
    head += ["Rounds", "Round p50", "Round p99"] if rounds else []
    rows = []
    for flow in document["flows"]:
        rtt: Mapping[str, Any] = flow["rtt_ms"] or {}
        cwnd: Mapping[str, Any] = flow["cwnd_packets"] or {}
        rows.append(
            [
                escape(flow["name"]),
                escape(control_text(flow["cc"], flow["variant"])),
                format_rate(flow["goodput_bps"]),
                *(_number(rtt.get(name), " ms") for name in ("min", "p50", "p95")),
                _number(cwnd.get("mean"), ""),
                str(flow["retransmits"]),
                "" if flow["loss_ratio"] is None else format_share(float(f"{flow['loss_ratio']:.3g}")),
                NO_ANSWER if unanswered(flow) else _number(flow["completion_s"], " s", 3),
                *(_times(flow, "requests", "completed", "lost") if asked else ()),
                *(_times(flow, "rounds", "completed") if rounds else ()),
            ]
        )
    for total in document.get("totals", ()):
        whole = [
            escape(total["name"]),
            f"{total['flows']} {'connections' if 'requests' in total else 'streams'}",
            format_rate(total["goodput_bps"]),
            *[""] * 4,
        ]
        rows.append(
            [
                *whole,
                str(total["retransmits"]),
                "",
                _number(total["completion_s"], " s", 3),
                *(_times(total, "requests", "completed", "lost") if asked else ()),
                *(_times(total, "rounds", "completed") if rounds else ()),
            ]
        )
    return _table("Flows, in the part of the measured window in which each was active", head, rows)


def _times(flow: Mapping[str, Any], part: str, *counts: str) -> list[str]:
    """The counts and the times of the requests, or the rounds, of a flow or a total."""
    numbers: Mapping[str, Any] = flow.get(part) or {}
    times = numbers.get("time_ms") or {}
    return [
        *(str(numbers.get(name, "")) for name in counts),
        *(_number(times.get(name), " ms", 3) for name in ("p50", "p99")),
    ]


def _programs(document: RunDocument) -> str:
    note = programs_note([flow["name"] for flow in document["flows"] if flow["kind"] == PROGRAM])
    return f'<p class="facts">Note: {escape(note)}.</p>' if note else ""


def _bottleneck_table(document: RunDocument) -> str:
    path, queue = document["path"], document["path"]["queue_packets"]
    head = ["Utilisation", "Throughput", "Queue mean", "Queue p95", "Queue max", "Queue delay"]
    head += ["Drops", "Random losses", "Marks", "Jain index"]
    row = [
        _share(path["utilisation"]),
        format_rate(path["throughput_bps"]),
        _number(queue["mean"], " packets"),
        _number(queue["p95"], " packets", 0),
        _number(queue["max"], " packets", 0),
        _number(path["queue_delay_ms"], " ms"),
        *(str(count) for count in (path["drops"], path["losses"], path["marks"])),
        _number(document["jain"], "", 4),
    ]
    return _table("Bottleneck, in the measured window", head, [row])


def _expectations(document: RunDocument) -> str:
    rows = [[escape(one["text"]), _status("met" if one["ok"] else "missed")] for one in document["expect"]]
    return _table("Expectations", ("Expectation and value", "Result"), rows) if rows else ""


def _fidelity(document: RunDocument) -> str:
    checks = document["fidelity"]["checks"]
    passed = sum(check["ok"] for check in checks)
    rows = [[escape(one["name"]), _status("holds" if one["ok"] else "broken"), escape(one["text"])] for one in checks]
    table = _table("Checks of the run", ("Check", "Result", "Found"), rows)
    opened = " open" if passed < len(checks) else ""
    return f"<details{opened}><summary>Fidelity: {passed} of {len(checks)} checks hold</summary>{table}</details>"


def _kernel(document: RunDocument) -> str:
    return " ".join(
        [document["kernel"], *([f"({document['kernel_parts']['about']})"] if "kernel_parts" in document else [])]
    )


def _manifest(document: RunDocument, run: Run) -> str:
    facts = [
        ("Run", document["run"]),
        ("Command", f"longhaul rerun {document['run']}"),
        ("Kernel", _kernel(document)),
        ("Backend", document["backend"]),
        ("Seed", str(run.seed)),
        ("Trace SHA-256", document["trace_sha256"]),
        *((f"Program {name}", value) for name, value in document["identity"].items()),
        *(
            (f"{module.replaces}, user-supplied", f"source {module.source}, {module.registers} in the guest")
            for module in run.modules
            if module.replaces
        ),
        ("Time", f"{document['virtual_s']:g} s {document.get('clock', 'virtual')}, {document['wall_s']:.2f} s wall"),
    ]
    rows = [[escape(name), f"<code>{escape(value)}</code>"] for name, value in facts]
    return (
        f"<details open><summary>How to reproduce it</summary>{_table('Manifest', ('Fact', 'Value'), rows)}</details>"
    )


def _table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are already markup; the first one of a row names the row."""
    heads = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    lines = "".join(
        "<tr>"
        + "".join(f"<td>{cell}</td>" if at else f'<th scope="row">{cell}</th>' for at, cell in enumerate(row))
        + "</tr>"
        for row in rows
    )
    top = f"<thead><tr>{heads}</tr></thead>"
    return f'<div class="wide"><table><caption>{caption}</caption>{top}<tbody>{lines}</tbody></table></div>'


def _status(status: str) -> str:
    good = status in ("done", "met", "holds")
    return f'<span class="{"good" if good else "bad"}">{"✓" if good else "✗"} {escape(status)}</span>'


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _number(value: float | None, unit: str, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f}{unit}"

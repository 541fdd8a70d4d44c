"""JUnit files, which any CI system shows: for a result, a test case a run; for a comparison, one for each gated row."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from longhaul.orchestrator.analysis.compare import MISSING, Comparison
from longhaul.orchestrator.analysis.report.comparison_text import gate_text, measure_text, place_text
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.system.errors import sentence
from longhaul.orchestrator.system.units import spell_number


def junit_xml(result: dict[str, Any]) -> str:
    """The JUnit document of a `run --json` document."""
    runs: list[RunDocument] = result["runs"]
    suite = ElementTree.Element(
        "testsuite",
        name=result["experiment"],
        tests=str(len(runs)),
        failures=str(sum(run["status"] == "missed" for run in runs)),
        errors=str(sum(run["status"] == "failed" for run in runs)),
    )
    for run in runs:
        point = ", ".join(f"{path}={spell_number(value)}" for path, value in run["point"].items())
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=result["experiment"],
            name=f"{point or 'run'} seed={run['seed']}",
            time=f"{run.get('wall_s', 0):.3f}",
        )
        if run["status"] == "failed":
            error = run["error"]
            ElementTree.SubElement(case, "error", type=error["error"], message=sentence(error))
        for missed in (expectation for expectation in run.get("expect", []) if not expectation["ok"]):
            ElementTree.SubElement(case, "failure", type="expectation", message=missed["text"])
    return _text(suite)


def comparison_xml(comparison: Comparison) -> str:
    """The JUnit document of a comparison's gate."""
    gates = [row for row in comparison.rows if row.gates]
    name = f"{comparison.a} and {comparison.b}"
    suite = ElementTree.Element(
        "testsuite", name=name, tests=str(len(gates)), failures=str(sum(row.fails for row in gates)), errors="0"
    )
    for row in gates:
        place = place_text(row)
        case = ElementTree.SubElement(
            suite, "testcase", classname=name, name=f"{measure_text(row)}{' at ' if place else ''}{place}", time="0"
        )
        if row.fails:
            kind = "missing" if row.verdict == MISSING else "regression"
            ElementTree.SubElement(case, "failure", type=kind, message=gate_text(row))
        else:
            ElementTree.SubElement(case, "system-out").text = gate_text(row)
    return _text(suite)


def _text(suite: ElementTree.Element) -> str:
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"

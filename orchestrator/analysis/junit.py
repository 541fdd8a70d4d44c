"""A result as a JUnit file: one test case a run, so that any CI system shows which expectation a run missed."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree


def junit_xml(result: dict[str, Any]) -> str:
    """The JUnit document of a `run --json` document."""
    runs = result["runs"]
    suite = ElementTree.Element(
        "testsuite",
        name=result["experiment"],
        tests=str(len(runs)),
        failures=str(sum(run["status"] == "missed" for run in runs)),
        errors=str(sum(run["status"] == "failed" for run in runs)),
    )
    for run in runs:
        point = ", ".join(f"{path}={value}" for path, value in run["point"].items())
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=result["experiment"],
            name=f"{point or 'run'} seed={run['seed']}",
            time=f"{run.get('wall_s', 0):.3f}",
        )
        if run["status"] == "failed":
            error = run["error"]
            ElementTree.SubElement(
                case, "error", type=error["error"], message=f"{error['attempting']} {error['subject']}: {error['what']}"
            )
        for missed in (expectation for expectation in run.get("expect", []) if not expectation["ok"]):
            ElementTree.SubElement(case, "failure", type="expectation", message=missed["text"])
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"

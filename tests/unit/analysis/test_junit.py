"""The JUnit file contains what CI systems show: failures for missed expectations, errors for failed runs."""

from __future__ import annotations

from xml.etree import ElementTree

from longhaul.orchestrator.analysis.report.junit import junit_xml


def test_missed_and_failed_runs_are_distinguished() -> None:
    error = {
        "error": "GuestDied",
        "attempting": "running guest",
        "subject": "demo",
        "what": "the guest died",
        "hint": "its log is next to it",
    }
    result = {
        "experiment": "demo",
        "runs": [
            {"point": {}, "seed": 1, "status": "done", "wall_s": 1.5, "expect": [{"ok": True, "text": "fine"}]},
            {
                "point": {"path.rtt": "2 ms"},
                "seed": 2,
                "status": "missed",
                "wall_s": 1.0,
                "expect": [{"ok": False, "text": "too <slow>"}],
            },
            {"point": {}, "seed": 3, "status": "failed", "error": error},
        ],
    }
    suite = ElementTree.fromstring(junit_xml(result))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "too <slow>"
    fault = suite.find("testcase/error")
    assert fault is not None
    assert fault.get("message") == "running guest demo: the guest died; its log is next to it"
    assert [case.get("name") for case in suite] == ["run seed=1", "path.rtt=2 ms seed=2", "run seed=3"]

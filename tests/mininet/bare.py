"""A run that any host's own kernel can run: without netem, which many lack. As a program, the runner that a test kills.

python -m tests.mininet.bare DIRECTORY
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.plan.compile import Run, compile_plan
from longhaul.orchestrator.plan.run import End, Qdisc, Wire
from longhaul.orchestrator.system.settings import load_settings
from tests.support.guests import experiment


def bare_run(duration: str) -> Run:
    (run,) = compile_plan(
        experiment(path={"bandwidth": "20 Mbit/s"}, duration=duration), backend="mininet", where="host"
    ).runs
    return replace(run, wires=tuple(Wire((_bare(wire.ends[0]), _bare(wire.ends[1]))) for wire in run.wires))


def _bare(end: End) -> End:
    return replace(end, qdiscs=tuple(_at_the_root(qdisc) for qdisc in end.qdiscs if qdisc.kind != "netem"))


def _at_the_root(qdisc: Qdisc) -> Qdisc:
    return replace(qdisc, parent="root") if qdisc.kind == "tbf" else qdisc


def run_on_host(run: Run, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "run.json").write_text(json.dumps(run.as_json()))
    open_backend("mininet", load_settings()).run(run, directory, lambda now_ns: None)


if __name__ == "__main__":
    run_on_host(bare_run("60 s"), Path(sys.argv[1]))

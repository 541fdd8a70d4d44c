"""Runs every kept run of a home again with the programs built here and compares the traces: the proof for a row of SAME_PROGRAMS.

    python -m kmod.release.same_traces      `make same-traces HOME_OF_RUNS=DIR`

Make the runs with the version before: all kinds of traffic, links and controls that it knows, on every kernel. A run in real time never has the same trace
twice, so it is refused.
"""

from __future__ import annotations

import sys
from collections import Counter

from longhaul.laboratory.kept_runs import rerun
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import LonghaulError
from longhaul.orchestrator.system.settings import load_settings


def main() -> int:
    """Print each run whose trace differs, and the programs that made equal traces; exit code 1 if one differs."""
    store, pairs, differing = Store(load_settings()), Counter[str](), 0
    rows = store.list_runs(sys.maxsize)
    for row in rows:
        if store.planned(row["id"]).clock != "virtual":
            print(
                f"same-traces: comparing run {row['id']}: it ran in real time; delete it from the home", file=sys.stderr
            )
            return 2
        try:
            again = rerun(row["id"])
        except LonghaulError as error:
            print(f"same-traces: {error}", file=sys.stderr)
            return error.exit_code
        if again.identical:
            pairs.update(again.differences)
        else:
            differing += 1
            print(f"{row['id']}: the trace differs; {', '.join(again.differences)}")
    for pair, runs in pairs.items():
        print(f"{pair}: {runs} equal traces")
    print(f"{len(rows) - differing} of {len(rows)} runs have equal traces")
    return 1 if differing or not rows else 0


if __name__ == "__main__":
    sys.exit(main())

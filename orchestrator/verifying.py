"""`longhaul verify`: whether the files of kept runs are those that were kept, and damaged runs made again.

whole       every file has the hash that the manifest holds for it, and the manifest its own
unsealed    kept before manifests had hashes: it can be read, and nothing says whether it is what was kept; a rerun does
damaged     a file is gone, or is not what was kept; `repair` makes the run again, with the programs that made it
"""

from __future__ import annotations

import json
from typing import Any

from orchestrator.errors import LonghaulError, PlanError
from orchestrator.outcome import EXIT_DONE, EXIT_FAILED
from orchestrator.results.seals import MANIFEST
from orchestrator.results.store import Store
from orchestrator.settings import Settings, load_settings

Row = dict[str, Any]

_BAD = ("damaged", "missing")


def verify_runs(key: str | None, *, everything: bool, repair: bool, as_json: bool) -> int:
    """Look, repair, print; the exit code: 4 where a run is damaged and was not repaired."""
    if (key is None) != everything:
        raise PlanError("verifying", key or "", "it is not clear which runs are meant", "give either RUN, or --all")
    settings = load_settings()
    store = Store(settings)
    ids = store.catalog.kept_ids() if key is None else [store.get(key)["run"]]
    rows = [verified(store, run_id) for run_id in ids]
    if repair:
        for row in rows:
            if row["state"] == "damaged":
                _repair(store, row, settings)
    bad = [row for row in rows if row["state"] == "damaged"]
    if as_json:
        print(json.dumps({"ok": not bad, "runs": rows}))
    else:
        _print(rows, everything=everything)
    return EXIT_FAILED if bad else EXIT_DONE


def verified(store: Store, run_id: str) -> Row:
    """A kept run's state, and that of each of its files."""
    files = store.states(run_id)
    states = set(files.values())
    state = "damaged" if states & set(_BAD) else "unsealed" if "unsealed" in states else "whole"
    return {"run": run_id, "state": state, "files": files}


def _repair(store: Store, row: Row, settings: Settings) -> None:
    from orchestrator.backends.originals import original_backend
    from orchestrator.pipeline import Pipeline

    run_id = row["run"]
    if row["files"][MANIFEST] in _BAD:
        # What the run was is not known here.
        return
    try:
        manifest, run = store.manifest(run_id), store.planned(run_id)
        backend = original_backend(run, manifest["identity"], settings)
        document = Pipeline(backend, store, use_cache=False).rerun(run, manifest["spec"])
    except LonghaulError as error:
        row["error"] = str(error)
        return
    row |= verified(store, run_id)
    if row["state"] == "whole":
        row["state"] = "repaired"
        row["identical"] = document["trace_sha256"] == manifest["trace_sha256"]


def _print(rows: list[Row], *, everything: bool) -> None:
    for row in rows:
        if not everything or row["state"] in ("damaged", "repaired"):
            print(f"{row['run']}: {_words(row)}")
    if everything:
        states = [row["state"] for row in rows]
        counts = [f"{states.count(state)} {state}" for state in ("whole", "unsealed", "repaired", "damaged")]
        print(f"{len(rows)} runs: {', '.join(counts)}")
    if any(row["state"] == "unsealed" for row in rows):
        print("unsealed: kept before files had hashes; `longhaul rerun RUN` compares them with what comes out today")


def _words(row: Row) -> str:
    if row["state"] == "repaired":
        same = "to the byte what it was" if row["identical"] else "its trace is not what it was: it goes by real time"
        return f"repaired, {same}"
    if row["state"] != "damaged":
        return str(row["state"])
    bad = ", ".join(f"{name} {state}" for name, state in row["files"].items() if state in _BAD)
    why = row.get("error")
    if why:
        return f"{bad}; not repaired: {why}"
    if row["files"][MANIFEST] in _BAD:
        return f"{bad}; run its experiment again, which replaces it"
    return f"{bad}; `longhaul verify {row['run']} --repair` makes it again"

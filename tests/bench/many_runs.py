"""A database of as many runs as a lab has after years: copies of one real run under other names, owners, paths and times.

    a fifth   the points of one sweep: 200 round trips by as many buffers as there is room for
    the rest  experiments of 40 runs: 200 names, 25 owners, 12 congestion controls; some runs failed, missed or were cancelled

Every row is the one that the project's own code writes for such a run. A folder has hard links to the files of the real run, so that a
series is really read from Parquet; every tenth has a manifest of its own with the run's id, and only its series can be read: a file for
each run would take longer to delete than all measurements. The same count gives the same rows.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import insert, text

from longhaul.orchestrator.database.run_records import numbers_in
from longhaul.orchestrator.database.search_fields import experiment_traits, numbers_of, run_traits
from longhaul.orchestrator.database.shared_texts import share_texts
from longhaul.orchestrator.database.statuses import KEPT
from longhaul.orchestrator.database.tables import DOCUMENTS, EVENTS, EXPERIMENT_RUNS, EXPERIMENTS, MEASURES, RUNS
from longhaul.orchestrator.database.word_index import add_words
from longhaul.orchestrator.results.seals import MANIFEST
from longhaul.orchestrator.results.store import Store

SWEEP = "f" * 16
RTTS = 200
# A file has at most 65,000 links on ext4.
_LINKS = 50_000
_OWN_MANIFEST = 10
_OF_EXPERIMENT = 40
_BATCH = 2000
_BEGUN = datetime(2025, 1, 1, tzinfo=UTC)
_CONTROLS = [
    "cubic",
    "bbr",
    "reno",
    "htcp",
    "bic",
    "vegas",
    "westwood",
    "illinois",
    "yeah",
    "hybla",
    "scalable",
    "highspeed",
]
_RATES_MBPS = (10, 100, 155, 622, 1000, 10_000)
_ENDS, _CHANCES = ("done", "missed", "failed", "cancelled"), (980, 10, 8, 2)

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Group:
    """An experiment: its id, name, owner, time, and the points of its runs."""

    id: str
    name: str
    owner: str
    at: datetime
    points: Sequence[Mapping[str, str]]


def fill(store: Store, count: int) -> list[str]:
    """Copy the only run of the store until there are `count`; the ids of the runs whose series can be read."""
    (model,) = store.list_runs(1)
    document = store.find(model["id"])
    run = store.run_document(model["id"])
    assert document is not None and run is not None
    numbers = [row | {"run_id": ""} for row in numbers_in(document)]
    made = [model["id"]]
    links = _Links(store.directory(model["id"]))
    for group in _groups(count - 1):
        chance = random.Random(group.id)
        rows, members = [], []
        for position, point in enumerate(group.points):
            key = hashlib.sha256(f"{group.id} {position}".encode()).hexdigest()[:20]
            (status,) = chance.choices(_ENDS, _CHANCES)
            rows.append(_run_row(key, group, position, status, _changed(run, point, position), document, chance))
            members.append(
                {"experiment_id": group.id, "position": position, "run_id": key, "cached": False, "counted": status}
            )
        for begin in range(0, len(rows), _BATCH):
            _write(store, rows[begin : begin + _BATCH], document, numbers, chance)
        _write_experiment(store, group, rows, members, run)
        kept = [row["id"] for row in rows if row["status"] in KEPT]
        made += [run_id for run_id in kept if links.add(store.directory(run_id))]
    if store.database.file is None:
        # As PostgreSQL does itself, some time later.
        with store.database.write() as connection:
            connection.execute(text("ANALYZE"))
    return made


class _Links:
    """Folders with the files of a run."""

    def __init__(self, model: Path) -> None:
        self._model, self._from, self._number = model, model, 0
        # Its id, which is also the name of its folder, is in it twice: the manifest's own and the document's.
        self._manifest = (model / MANIFEST).read_text().rpartition(', "sha256": ')[0]

    def add(self, folder: Path) -> bool:
        """Another folder; whether it has a manifest of its own."""
        self._number += 1
        own = self._number % _OWN_MANIFEST == 0
        if self._number % _LINKS == 0:
            self._from = self._model.with_name(f"{self._model.name}-{self._number}")
            shutil.copytree(self._model, self._from)
        folder.mkdir(parents=True)
        for file in os.scandir(self._from):
            if file.name != MANIFEST or not own:
                os.link(file.path, folder / file.name)
        if not own:
            return False
        text = self._manifest.replace(f'"{self._model.name}"', f'"{folder.name}"')
        seal = hashlib.sha256(f"{text}}}".encode()).hexdigest()
        (folder / MANIFEST).write_text(f'{text}, "sha256": "{seal}"}}')
        return True


def _groups(count: int) -> Iterator[_Group]:
    """Experiments with this many runs, the oldest first; the sweep is in the middle."""
    swept = count // 5
    number, at, left = 0, _BEGUN, count - swept
    while left > 0:
        if swept and left <= (count - count // 5) // 2:
            points = [
                {"path.rtt": f"{1 + place % RTTS} ms", "path.buffer": f"{5 * (1 + place // RTTS)} packets"}
                for place in range(swept)
            ]
            yield _Group(SWEEP, "map-of-buffers", "ada", at, points)
            swept = 0
        chance = random.Random(number)
        rate, rtt = chance.choice(_RATES_MBPS), chance.randrange(1, 600)
        controls = chance.sample(_CONTROLS, 4)
        points = [
            {"path.bandwidth": f"{rate} Mbit/s", "path.rtt": f"{rtt} ms", "app.cc": controls[place % 4]}
            for place in range(min(_OF_EXPERIMENT, left))
        ]
        name, owner = f"study-{chance.randrange(200)}", f"owner{chance.randrange(25)}"
        yield _Group(f"{number:016x}", name, owner, at, points)
        number, at, left = number + 1, at + timedelta(minutes=chance.randrange(1, 600)), left - len(points)


def _changed(run: Mapping[str, Any], point: Mapping[str, str], position: int) -> Row:
    """The run.json with this point."""
    meaning = dict(run["meaning"])
    meaning["rtt_us"] = int(point["path.rtt"].split()[0]) * 1000
    if "path.bandwidth" in point:
        meaning["bandwidth_bps"] = int(point["path.bandwidth"].split()[0]) * 10**6
    flows = [dict(flow) for flow in run["flows"]]
    if "app.cc" in point:
        flows[0] |= {"cc": point["app.cc"], "variant": point["app.cc"]}
    return {**run, "meaning": meaning, "flows": flows, "point": dict(point), "seed": position + 1}


def _run_row(
    key: str, group: _Group, position: int, status: str, run: Row, document: Any, chance: random.Random
) -> Row:
    at = (group.at + timedelta(milliseconds=position)).isoformat(timespec="milliseconds")
    return {
        "id": key,
        "experiment": group.name,
        "status": status,
        "backend": run["backend"],
        "kernel": document["kernel"],
        "seed": run["seed"],
        "created_at": at,
        "virtual_s": document["virtual_s"],
        "wall_s": document["wall_s"],
        "trace_sha256": document["trace_sha256"] if status in KEPT else None,
        "measured_by": document["measured_by"],
        "point": json.dumps(run["point"], sort_keys=True),
        "owner": group.owner,
        "pinned": chance.random() < 0.001,
        "started_at": at,
        "finished_at": at,
        **run_traits(key, group.name, group.owner, run),
        **_varied(numbers_of(document), chance),
    }


def _varied(numbers: Mapping[str, float | None], chance: random.Random) -> dict[str, float | None]:
    """No two runs have the same result."""
    return {name: None if value is None else value * (0.5 + chance.random()) for name, value in numbers.items()}


def _write(store: Store, rows: list[Row], document: Any, numbers: list[Row], chance: random.Random) -> None:
    kept = [row for row in rows if row["status"] in KEPT]
    measures = []
    for row in kept:
        # No two runs have the same result.
        factor = 0.5 + chance.random()
        measures += [number | {"run_id": row["id"], "value": number["value"] * factor} for number in numbers]
    events = [
        {"at": row["created_at"], "kind": kind, "run_id": row["id"], "data": "{}"}
        for kind in ("run.queued", "run.started", "run.finished")
        for row in rows
    ]
    with store.database.write() as connection:
        shared = share_texts(connection, document)
        connection.execute(
            insert(RUNS), [row | (shared if row["status"] in KEPT else dict.fromkeys(shared)) for row in rows]
        )
        add_words(connection, rows)
        texts = [{"run_id": row["id"], "document": _document(row, document)} for row in kept]
        connection.execute(insert(DOCUMENTS), texts)
        connection.execute(insert(MEASURES), measures)
        connection.execute(insert(EVENTS), events)


def _document(row: Row, document: Any) -> str:
    known = {name: row[name] for name in ("experiment", "status", "seed")}
    return json.dumps({**document, **known, "run": row["id"], "point": json.loads(row["point"])})


def _write_experiment(store: Store, group: _Group, rows: list[Row], members: list[Row], run: Mapping[str, Any]) -> None:
    ends = [row["status"] for row in rows]
    counts = {end: ends.count(end) for end in _ENDS}
    about = f"Which of the congestion controls fills the path of {group.name}?"
    runs = (_changed(run, point, 0) for point in group.points)
    at = group.at.isoformat(timespec="milliseconds")
    row = {
        "id": group.id, "name": group.name, "about": about, "owner": group.owner, "priority": 0, "created_at": at, "finished_at": at,
        "status": next((end for end in ("failed", "cancelled", "missed") if counts[end]), "done"),
        "total": len(rows), "cached": 0, **counts, "aggregate": "mean", "spec": json.dumps({"experiment": group.name}), "lint": "[]",
        "asked": "{}", "asked_sha256": group.id, "first_event": 0,
        **experiment_traits(group.id, group.name, about, group.owner, runs),
    }  # fmt: skip
    with store.database.write() as connection:
        connection.execute(insert(EXPERIMENTS).values(row))
        connection.execute(insert(EXPERIMENT_RUNS), members)

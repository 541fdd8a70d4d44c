"""Requests of lists, searches, counts and maps, for the database of many_runs.py: what a page or a script asks, by name.

`QUESTIONS` are asked by 20 readers at once; `LARGE` answers have megabytes, and one reader asks for them.
"""

from __future__ import annotations

from tests.bench.many_runs import SWEEP

QUESTIONS = {
    "newest": "/runs",
    "oldest": "/runs?sort=oldest",
    "in the middle": "/runs?cursor={middle}",
    "newest, counted": "/runs?total=true",
    "failed": "/runs?status=failed",
    "done, counted": "/runs?status=done&total=true",
    "of a name": "/runs?experiment=study-7&total=true",
    "of a month": "/runs?from=2025-01-10&to=2025-02-10&total=true",
    "pinned": "/runs?pinned=true&total=true",
    "of an owner": "/runs?owner=owner7",
    "of an owner, counted": "/runs?owner=owner7&total=true",
    "of a control, counted": "/runs?cc=vegas&total=true",
    "of two fields, counted": "/runs?cc=cubic&bandwidth=622+Mbit/s&total=true",
    "of a backend, counted": "/runs?backend=sandbox&total=true",
    "search: frequent": "/runs?text=cubic&total=true",
    "search: seldom": "/runs?text=path.rtt%3D577ms+seed%3D3&total=true",
    "search: a part": "/runs?text=udy-19&total=true",
    "search: an id": "/runs?text={part}&total=true",
    "search: none": "/runs?text=nowhere&total=true",
    "of a sweep": f"/runs?experiment_id={SWEEP}&total=true",
    "experiments": "/experiments",
    "experiments, counted": "/experiments?total=true",
    "experiments: search": "/experiments?text=study-19+owner7&total=true",
    "a run": "/runs/{id}",
    "state of the lab": "/about",
    "changes": "/changes?after=0&limit=50",
    "queue": "/queue",
}
LARGE = {
    "the sweep": f"/experiments/{SWEEP}",
    "map of the sweep": f"/experiments/{SWEEP}/values?measure=goodput_bps&flow=app",
    "results of the sweep": f"/experiments/{SWEEP}/summary",
}

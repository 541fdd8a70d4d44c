"""Pairs recordings with the runs that they are compared with: measured in the same window, with the names of the runs' flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from longhaul.orchestrator.analysis.aggregate import point_key
from longhaul.orchestrator.analysis.compare import Comparison
from longhaul.orchestrator.analysis.gates import compare_pairs
from longhaul.orchestrator.analysis.pairing import Pairing
from longhaul.orchestrator.analysis.recordings.recording import Recording
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.system.errors import PlanError


def pair_recordings(
    a: Sequence[RunDocument], b: Sequence[Recording], match: Mapping[str, str]
) -> tuple[Pairing, tuple[Recording, ...]]:
    """The pairs, and the recordings in them. A single run or recording is paired with each of the others; else the first with the first, and so on.

    PlanError if the runs are of several points: a recording has no sweep.
    """
    measured = [document for document in a if document["status"] in ("done", "missed")]
    if not measured:
        raise PlanError("comparing with recordings", b[0].name, "no run has numbers")
    if len({point_key(document["point"]) for document in measured}) > 1:
        what = "the runs are of several points of a sweep, and a recording has no sweep"
        raise PlanError("comparing with recordings", b[0].name, what, "name one run")
    matched = tuple(recording.matched(measured[0]["flows"], match) for recording in b)
    count = max(len(measured), len(matched)) if 1 in (len(measured), len(matched)) else min(len(measured), len(matched))
    pairs = []
    for place in range(count):
        run = measured[place % len(measured)]
        pairs.append((run, matched[place % len(matched)].document(run)))
    return Pairing(tuple(pairs), tuple(measured[count:]), ()), matched[:count]


def compare_with_recordings(
    names: tuple[str, str],
    runs: Sequence[RunDocument],
    recordings: Sequence[Recording],
    gates: Sequence[str],
    least: str,
    match: Mapping[str, str],
) -> Comparison:
    """Compare runs with recordings, by the measures that both have."""
    pairing, recorded = pair_recordings(runs, recordings, match)
    found = compare_pairs(names, pairing, gates, least, None)
    notes = _notes(recorded, pairing.pairs[0][0]["to_s"], len(recordings) - len(recorded))
    return replace(found, recorded=recorded, about_recorded=tuple(dict.fromkeys(notes)))


def _notes(recordings: Sequence[Recording], end_s: float, left: int) -> list[str]:
    """What a reader of the comparison must know about the recordings."""
    notes = [note for recording in recordings for note in recording.notes]
    notes += [
        f"{recording.name} ends at {recording.end_s:.3g} s, and the window of the run at {end_s:.3g} s"
        for recording in recordings
        if recording.end_s < end_s * 0.99
    ]
    return [*notes, f"{left} more recordings have no run to be compared with"] if left > 0 else notes

"""The content of messages: the same facts for a program, as JSON, and for a person, as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from longhaul.orchestrator.analysis.gates import compare_documents
from longhaul.orchestrator.analysis.pairing import run_text
from longhaul.orchestrator.analysis.report.comparison_text import count_text, gate_text
from longhaul.orchestrator.analysis.values import flow_names
from longhaul.orchestrator.database.access.deliveries import Delivery
from longhaul.orchestrator.database.annotations import NOTHING, Annotations
from longhaul.orchestrator.database.experiments import Experiments
from longhaul.orchestrator.database.statuses import BASELINE_BROKEN, ENDS, EXPECTATION_MISSED, EXPERIMENT_FINISHED
from longhaul.orchestrator.execution.evaluation import readable_all
from longhaul.orchestrator.live.grafana_links import experiment_on_service, run_on_service
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import NotFound, PlanError, sentence
from longhaul.orchestrator.system.folder_names import FolderNames
from longhaul.orchestrator.system.settings import Settings

Message = dict[str, Any]
TRIAL = "trial"
# Longer lists are counted.
_LISTED = 20
_LEAST_EFFECT = "2 %"
_PAGE = "/#/lab/notifications"


def trial(settings: Settings, at: str) -> Message:
    """A message that only shows that messages arrive."""
    title = "a trial message: notifications of this subscription arrive"
    return {"type": TRIAL, "timestamp": at, "data": {"title": title, "url": settings.url or None}}


def compose(settings: Settings, store: Store, delivery: Delivery) -> Message | None:
    """The message of an event; None if none is needed, because a baseline is not broken or the experiment is gone."""
    facts, experiments, folders = delivery.facts, Experiments(store.database), FolderNames(settings)
    key = facts["experiment"]["id"]
    try:
        row: Mapping[str, Any] = experiments.get(key)
    except NotFound:
        if delivery.event != EXPERIMENT_FINISHED:
            return None
        row = {**facts["experiment"], **facts["counts"]}
    noted = Annotations(store.database).of([key]).get(key, NOTHING)
    data: Message = {
        "title": "",
        "experiment": {name: row[name] for name in ("id", "name", "owner", "status")}
        | {"title": noted.title, "tags": list(noted.tags)}
        | {"url": experiment_on_service(settings.url, key) if settings.url else None},
        "counts": {name: row[name] for name in ("total", *ENDS)},
        "missed": [_run(settings, one, text) for one, text in islice(_missed(experiments, key), _LISTED)],
        "failed": [
            # An error may name a folder of this machine.
            _run(settings, one, folders.in_text(text))
            for one, text in islice(_failed(experiments, key), _LISTED)
        ],
        "baseline": None,
    }
    if delivery.event == BASELINE_BROKEN:
        data["baseline"] = _broken(settings, store, delivery)
        if data["baseline"] is None:
            return None
    data["title"] = _title(delivery.event, data)
    return {"type": delivery.event, "timestamp": delivery.made_at, "data": data}


def text_of(message: Message, owner: str, address: str) -> tuple[str, str]:
    """Subject and text of an e-mail; `address` is that of the service, or empty."""
    data = message["data"]
    lines = [*_lines(message["type"], data), "", f"This message is for a subscription of {owner}. To end it, delete it"]
    lines[-1] += f" at {address}{_PAGE}" if address else " in Lab > Notifications"
    lines[-1] += ", or with `longhaul notification remove`."
    return f"[Longhaul] {data['title']}", "\n".join(lines) + "\n"


def as_bytes(message: Message) -> bytes:
    """The body of a webhook."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def _title(event: str, data: Message) -> str:
    experiment, counts = data["experiment"], data["counts"]
    name, status = experiment["title"] or experiment["name"], experiment["status"]
    if event == EXPECTATION_MISSED:
        return f"{name} missed an expectation"
    if event == BASELINE_BROKEN:
        return f"{name} is worse than the baseline of {data['baseline']['branch']}"
    ends = ", ".join(f"{counts[end]} {end}" for end in ENDS if counts[end])
    return f"{name}: {status} ({ends} of {count_text(counts['total'], 'run')})"


def _lines(kind: str, data: Message) -> Iterator[str]:
    yield f"{data['title'][0].upper()}{data['title'][1:]}." if kind == TRIAL else data["title"]
    if kind == TRIAL:
        return
    yield ""
    experiment, counts = data["experiment"], data["counts"]
    yield f"experiment  {experiment['name']} ({experiment['id']}) of {experiment['owner']}"
    yield f"status      {experiment['status']}"
    yield f"runs        {counts['total']}: " + (
        ", ".join(f"{counts[end]} {end}" for end in ENDS if counts[end]) or "none ended"
    )
    if experiment["url"]:
        yield f"page        {experiment['url']}"
    if baseline := data["baseline"]:
        yield from ("", f"Worse than the baseline of {baseline['branch']} ({baseline['experiment_id']}), or missing:")
        yield from (f"- {line}" for line in baseline["worse"])
    for title, name in (("Missed expectations", "missed"), ("Failed runs", "failed")):
        if data[name]:
            yield from ("", f"{title}:")
            yield from (f"- {one['text']} (run {one['run']}, {one['conditions']})" for one in data[name])
            if len(data[name]) == _LISTED:
                yield "- and perhaps more, on the page of the experiment"


def _missed(experiments: Experiments, key: str) -> Iterator[tuple[RunDocument, str]]:
    """Each missed expectation, with the bound and the measured value in words."""
    for document in experiments.each_document(key, ("missed",)):
        for one in document.get("expect", ()):
            if not one["ok"]:
                yield document, one["text"]


def _failed(experiments: Experiments, key: str) -> Iterator[tuple[RunDocument, str]]:
    for document in experiments.each_document(key, ("failed",)):
        if "error" in document:
            yield document, sentence(document["error"])


def _run(settings: Settings, document: RunDocument, text: str) -> Message:
    return {
        "run": document["run"],
        "conditions": run_text(document),
        "text": text,
        "url": run_on_service(settings.url, document["run"]) if settings.url else None,
    }


def _broken(settings: Settings, store: Store, delivery: Delivery) -> Message | None:
    """How an experiment is worse than its baseline; None if it is not."""
    key, baseline = delivery.facts["experiment"]["id"], delivery.facts["baseline"]
    experiments = Experiments(store.database)
    sides = [readable_all(experiments.documents(one), store) for one in (baseline["experiment_id"], key)]
    gates = delivery.wish.measures or _goodputs(*sides)
    try:
        found = compare_documents(
            baseline["experiment_id"], sides[0], key, sides[1], gates, _LEAST_EFFECT, store.run_document
        )
    except PlanError as error:
        raise PlanError("comparing with the baseline of", baseline["branch"], error.what, error.hint) from error
    if not found.fails:
        return None
    worse = [gate_text(row) for row in found.rows if row.fails]
    unlisted = [f"and {len(worse) - _LISTED} more"] if len(worse) > _LISTED else []
    url = experiment_on_service(settings.url, baseline["experiment_id"]) if settings.url else None
    return {**baseline, "worse": [*worse[:_LISTED], *unlisted], "url": url}


def _goodputs(*sides: Sequence[RunDocument]) -> list[str]:
    """The goodput of every flow that both sides have."""
    first, second = ({name for one in side for name in flow_names(one)} for side in sides)
    return [f"goodput({name})" for name in sorted(first & second)]

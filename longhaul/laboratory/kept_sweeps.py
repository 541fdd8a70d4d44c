"""The kept runs of a sweep as one result, without running anything."""

from __future__ import annotations

from longhaul.laboratory.kept_traces import KeptTraces
from longhaul.orchestrator.analysis.aggregate import Repeats
from longhaul.orchestrator.database.kept_rows import KeptRows
from longhaul.orchestrator.execution.evaluation import each_readable
from longhaul.orchestrator.plan.run import point_text
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import load_settings
from longhaul.results.result import Result


def kept_sweep(sweep: str, aggregate: str = "mean") -> Result:
    """The kept runs of an experiment, by its name or its id on the service, with their summary over the repeats; NotFound."""
    store = Store(load_settings())
    kept = KeptRows(store.database)
    wanted = kept.sweep(sweep)
    documents = list(each_readable((row.document for row in kept.rows(wanted)), store))
    if wanted.is_name:
        # They were kept as they ended, and several run at a time.
        documents.sort(key=lambda one: (point_text(one["point"]), one["seed"]))
    repeats = Repeats()
    for document in documents:
        repeats.add(document)
    name = documents[0]["experiment"] if documents else wanted.key
    summary = list(repeats.summarise(aggregate))
    return Result({"experiment": name, "runs": documents, "summary": summary}, KeptTraces(store))

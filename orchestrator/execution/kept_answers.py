"""Answers a kept run from the store, by today's formulas, instead of running it again."""

from __future__ import annotations

from longhaul.orchestrator.execution.formulas import is_current
from longhaul.orchestrator.plan.run import Module
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.packets import kept_packets
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import FidelityBroken, RunDamaged


def answer_from_store(key: str, store: Store, capture: Module | None = None) -> RunDocument | None:
    """The document of the kept run with this id; None if it must be run, also for packets that this module would capture.

    A run that today's checks refuse is deleted. A damaged one stays until the next run of the same id replaces it.
    """
    if not store.is_kept(key) or store.fault(key) is not None:
        return None
    known = store.find(key)
    if known is None or (capture is not None and kept_packets(store.derived(key), capture) is None):
        return None
    try:
        known = _by_todays_formulas(known, store)
    except FidelityBroken:
        store.delete(key)
        return None
    except RunDamaged:
        # Evaluating it again would read the damaged files.
        return None
    store.adopt(known)
    return known | {"cached": True}


def _by_todays_formulas(known: RunDocument, store: Store) -> RunDocument:
    """Those are loaded only if others computed it."""
    if is_current(known.get("measured_by")):
        return known
    from longhaul.orchestrator.execution.evaluation import up_to_date

    return up_to_date(known, store)

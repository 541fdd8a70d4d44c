"""`longhaul export`: a kept run for other programs, as files of its trace or of another tool, or as its samples for Prometheus."""

from __future__ import annotations

import sys
from pathlib import Path

from longhaul.orchestrator.live.grafana_links import run_in_grafana
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import Settings, load_settings


def export_run(key: str, to: str, output: Path | None) -> None:
    """Export a kept run to this target."""
    settings = load_settings()
    store = Store(settings)
    document = store.get(key)
    if to == "prometheus":
        _send(store, document["run"], settings)
    elif to == "openmetrics":
        _write(store, document["run"], settings, output or Path(f"{document['run']}.om"))
    else:
        for file in write_files(store, document["run"], to, output or Path(document["run"])):
            print(file)


def write_files(store: Store, run_id: str, to: str, folder: Path) -> list[Path]:
    """Write a kept run into a folder, as tables or as another tool would have written it; the files written."""
    if to in ("csv", "parquet", "json"):
        from longhaul.orchestrator.results.export import export_trace

        return export_trace(store, run_id, to, folder)
    from longhaul.orchestrator.analysis.formats.tables import write_formats

    return write_formats(store, run_id, to, folder)


def _send(store: Store, run_id: str, settings: Settings) -> None:
    from longhaul.orchestrator.live.replay import send
    from longhaul.orchestrator.live.run_export import note

    sent = send(store, store.get(run_id), settings.prometheus)
    note(store, run_id, sent)
    print(f"{run_id}: {sent['samples']} samples from {sent['begin_ms'] / 1000:.3f} to {sent['end_ms'] / 1000:.3f}")


def _write(store: Store, run_id: str, settings: Settings, output: Path) -> None:
    from longhaul.orchestrator.live.replay import write_openmetrics

    count = write_openmetrics(store, store.get(run_id), settings.prometheus, output)
    print(output)
    print(f"{run_id}: {count} samples", file=sys.stderr)


def grafana_link(settings: Settings, store: Store, experiment: str, run_id: str) -> str | None:
    """The Grafana link of a run, also of a running one; None if no Grafana is set, or the run was never exported to Prometheus."""
    if settings.grafana is None:
        return None
    from longhaul.orchestrator.database.prometheus_spans import Spans

    span = Spans(store.database).of(run_id)
    return run_in_grafana(settings.grafana.url, experiment, run_id, span.begin_ms, span.end_ms) if span else None


def with_grafana(settings: Settings, document: RunDocument) -> RunDocument:
    """The document of a run that has ended, with its Grafana link, if any."""
    placed = document.get("prometheus", {})
    if settings.grafana is None or "begin_ms" not in placed:
        return document
    begin_ms, end_ms = placed["begin_ms"], placed["end_ms"]
    link = run_in_grafana(settings.grafana.url, document["experiment"], document["run"], begin_ms, end_ms)
    return document | {"grafana": link}

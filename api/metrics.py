"""The service's metrics for Prometheus; orchestrator/live/metrics.py defines their names and meanings."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import get_args

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from longhaul.api.http.threads import in_long_thread
from longhaul.api.lab import Lab
from longhaul.api.schemas.experiments import Status
from longhaul.api.streams.events import Hub
from longhaul.orchestrator.live.metrics import BY_NAME

_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.2, 0.5, 1, 2, 5, 10)
# The database's counters by metric.
_COUNTED = {
    "longhaul_virtual_seconds_total": "virtual_s",
    "longhaul_wall_seconds_total": "wall_s",
    "longhaul_guest_deaths_total": "guest_deaths",
    "longhaul_run_retries_total": "retries",
    "longhaul_messages_delivered_total": "messages_delivered",
    "longhaul_messages_failed_total": "messages_failed",
    "longhaul_export_samples_total": "samples",
    "longhaul_export_refused_samples_total": "refused_samples",
}
# Scrapes come every few seconds.
_TRUE_S = 1.0
_RECENTLY = timedelta(minutes=10)


class Gauges:
    """One registry for each service, so that two in one process do not mix."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._text, self._counted_s, self._counting = b"", -_TRUE_S, asyncio.Lock()
        requests = BY_NAME["longhaul_request_seconds"]
        self.requests = Histogram(
            requests.name, requests.help, requests.labels, buckets=_BUCKETS, registry=self._registry
        )
        self._runs = self._gauge("longhaul_runs")
        self._experiments = self._gauge("longhaul_experiments")
        self._waiting = self._gauge("longhaul_queue_runs")
        self._age = self._gauge("longhaul_queue_age_seconds")
        self._followers = self._gauge("longhaul_followers")
        self._speed = self._gauge("longhaul_virtual_seconds_per_wall_second")
        self._lag = self._gauge("longhaul_export_lag_seconds")
        self._spooled = self._gauge("longhaul_export_spool_bytes")
        self._leases = self._gauge("longhaul_lease_held_seconds")
        self._service = self._gauge("longhaul_service_info")
        self._counted = _Counted()
        self._registry.register(self._counted)

    async def recent_text(self, lab: Lab, hub: Hub) -> bytes:
        """All metrics, at most one second old: anyone may read them, and counting in the database takes a while."""
        async with self._counting:
            if time.monotonic() - self._counted_s > _TRUE_S:
                self._text = await in_long_thread(self.text, lab, hub)
                self._counted_s = time.monotonic()
            return self._text

    def text(self, lab: Lab, hub: Hub) -> bytes:
        """All metrics now."""
        for gauge, counts in (
            (self._runs, lab.store.catalog.by_status()),
            (self._experiments, lab.experiments.by_status()),
        ):
            for state in get_args(Status):
                gauge.labels(state).set(counts.get(state, 0))
        waiting, age_s = lab.work.waiting()
        self._waiting.set(waiting)
        self._age.set(age_s)
        self._followers.set(hub.followers)
        since = (datetime.now(UTC) - _RECENTLY).isoformat(timespec="milliseconds")
        self._speed.set(lab.store.catalog.speed(since))
        export = lab.counts.export()
        self._lag.set(export.lag_s)
        self._spooled.set(export.spool_bytes)
        for lease in lab.leases.all():
            held_s = time.time() - lease["since_s"] if lease["holder"] is not None else 0.0
            self._leases.labels(lease["name"]).set(max(0.0, held_s))
        self._service.labels(lab.settings.url).set(1)
        self._counted.values = lab.counts.all()
        return generate_latest(self._registry)

    def _gauge(self, name: str) -> Gauge:
        metric = BY_NAME[name]
        return Gauge(metric.name, metric.help, metric.labels, registry=self._registry)


class _Counted(Collector):
    """Counters in the database, which continue when the service restarts."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}

    def collect(self) -> list[CounterMetricFamily]:
        """The values last read from the database."""
        return [
            CounterMetricFamily(metric, BY_NAME[metric].help, value=self.values.get(count, 0.0))
            for metric, count in _COUNTED.items()
        ]

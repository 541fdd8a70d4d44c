"""The service's own numbers, as Prometheus reads them."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest

from api.dependencies import Lab
from api.following import Hub

_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_STATES = ("queued", "running", "done", "missed", "failed", "cancelled")


class Gauges:
    """One registry a service: two in one process do not mix."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Histogram(
            "longhaul_request_seconds",
            "Time to the first byte of an answer.",
            ("operation", "status"),
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._runs = self._gauge("longhaul_runs", "Runs in the record by state.", "state")
        self._experiments = self._gauge("longhaul_experiments", "Experiments in the record by state.", "state")
        self._waiting = self._gauge("longhaul_queue_runs", "Runs that wait for a slot.")
        self._age = self._gauge("longhaul_queue_age_seconds", "How long the first of them has waited.")
        self._followers = self._gauge("longhaul_followers", "Open event streams.")
        self._service = self._gauge("longhaul_service_info", "1, and where people reach the service.", "url")

    def text(self, lab: Lab, hub: Hub) -> bytes:
        """All of them, now."""
        for gauge, counts in (
            (self._runs, lab.store.catalog.by_status()),
            (self._experiments, lab.experiments.by_status()),
        ):
            for state in _STATES:
                gauge.labels(state).set(counts.get(state, 0))
        waiting, age_s = lab.work.waiting()
        self._waiting.set(waiting)
        self._age.set(age_s)
        self._followers.set(hub.followers)
        self._service.labels(lab.settings.url).set(1)
        return generate_latest(self._registry)

    def _gauge(self, name: str, about: str, *labels: str) -> Gauge:
        return Gauge(name, about, labels, registry=self._registry)

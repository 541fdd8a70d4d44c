"""Prometheus' names are the same everywhere: in the table, in the promised list, at the service, in rules."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from longhaul.api.lab import Lab
from longhaul.api.metrics import Gauges
from longhaul.api.streams.events import Hub
from longhaul.orchestrator.live.metrics import BY_NAME, COUNTER, HISTOGRAM, RUN_METRICS, SERVICE_METRICS
from longhaul.orchestrator.system.settings import load_settings
from tests.support.rules import rules

# The names on which users build dashboards. They are repeated here so that a change needs two edits.
PROMISED = {
    "longhaul_flow_cwnd_packets", "longhaul_flow_ssthresh_packets", "longhaul_flow_goodput_bps", "longhaul_flow_throughput_bps",
    "longhaul_flow_rtt_seconds", "longhaul_flow_inflight_packets", "longhaul_flow_pacing_bps", "longhaul_flow_retransmits_total",
    "longhaul_link_queue_packets", "longhaul_link_drops_total", "longhaul_link_throughput_bps", "longhaul_run_info",
    "longhaul_flow_active", "longhaul_link_rate_bps", "longhaul_run_start_seconds", "longhaul_run_change_info",
}  # fmt: skip


def test_the_series_of_a_run_are_those_that_are_promised() -> None:
    assert {metric.name for metric in RUN_METRICS} == PROMISED
    for metric in RUN_METRICS:
        assert {"experiment", "run", "backend"} <= set(metric.labels)
        if metric.about in ("flow", "link"):
            assert {"host", metric.about} <= set(metric.labels)
        assert (metric.kind == COUNTER) == metric.name.endswith("_total")
    assert len(BY_NAME) == len(RUN_METRICS) + len(SERVICE_METRICS)


def test_the_service_exports_the_metrics_of_the_table(tmp_path: Path) -> None:
    lab = Lab(replace(load_settings(), home=tmp_path, database=""))
    gauges = Gauges()
    gauges.requests.labels("read_run", "200").observe(0.01)
    lab.counts.add(guest_deaths=2)
    lab.counts.heard("one", time.time() - 100, 5000, 10, 3)
    assert lab.leases.take("root@here", "ada", 60) is not None
    text = gauges.text(lab, Hub(lab.events)).decode()
    families = (one for one in text_string_to_metric_families(text) if not one.name.endswith("_created"))
    found = {family.name: family for family in families}
    # The parser removes the suffix of a counter's name.
    named = {name + "_total" if family.type == COUNTER else name: family for name, family in found.items()}
    assert set(named) == {metric.name for metric in SERVICE_METRICS}
    for metric in SERVICE_METRICS:
        family = named[metric.name]
        assert (family.type, family.documentation) == (metric.kind, metric.help)
        assert family.samples, metric.name
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == set(metric.labels)
    values = {sample.name: sample.value for family in found.values() for sample in family.samples}
    assert values["longhaul_guest_deaths_total"] == 2
    assert values["longhaul_export_samples_total"] == 10
    assert values["longhaul_export_refused_samples_total"] == 3
    assert values["longhaul_export_spool_bytes"] == 5000
    assert 99 < values["longhaul_export_lag_seconds"] < 110
    assert 0 <= values["longhaul_lease_held_seconds"] < 10


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: str(rule.get("alert", rule.get("record"))))
def test_every_metric_of_a_rule_is_one_that_is_exported(rule: dict[str, str]) -> None:
    parts = {
        f"{metric.name}_{part}"
        for metric in SERVICE_METRICS
        if metric.kind == HISTOGRAM
        for part in ("bucket", "sum", "count")
    }
    named = set(re.findall(r"\blonghaul_[a-z0-9_]+", rule["expr"]))
    assert named <= set(BY_NAME) | parts
    assert named or "up{" in rule["expr"]

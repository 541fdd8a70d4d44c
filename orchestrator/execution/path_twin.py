"""A measured real path and its twin: an experiment that replays the results of `longhaul hosts measure` in the sandbox, and a comparison.

probes of the idle path  -> least round trip, jitter, losses          a bulk transfer -> rate, size of the queue
                    `----------------> twin.yaml <---------------'
the transfer's run, and the twin's run in the sandbox -> a table, and a report with both
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.prediction.question import measured_fields
from longhaul.orchestrator.analysis.series import app_bytes, bins_s, of_flow
from longhaul.orchestrator.analysis.values import value_of
from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.backends.hosts.path_probe import IdlePath, probe_path
from longhaul.orchestrator.execution.host_leases import hold
from longhaul.orchestrator.execution.pipeline import Pipeline, opened_live
from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.host_policy import load_policy
from longhaul.orchestrator.spec.load import Experiment, parse_experiment
from longhaul.orchestrator.spec.yaml_text import document_text
from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.installation import AGENT
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Settings
from longhaul.orchestrator.system.units import format_duration, format_rate
from longhaul.orchestrator.trace.records import Trace

# Share of the host's cap: a flow with this rate has met the cap, not the path's limit.
_CAPPED_SHARE = 0.93
_WARMUP_SHARE = 0.25
_LEAST_JITTER_US = 200
_LEAST_BUFFER_US = 1_000
# On a loss-free path a probe gives no closer bound than this.
_FEW_LOSSES = 3
COMPARED = ("goodput", "rtt_min", "rtt_p50", "rtt_p95", "retransmits", "cwnd_mean")


@dataclass(frozen=True, slots=True)
class MeasuredPath:
    """The properties of a measured path; rates count frames."""

    sender: str
    receiver: str
    at: str
    run: str
    rate_bps: int
    capped: bool
    least_rtt_us: int
    rtt_us: Mapping[str, float]
    jitter_us: int
    queue_us: int
    loss: float
    burst: tuple[float, float] | None
    largest_bytes: int
    ecn_kept: bool

    def as_document(self) -> dict[str, Any]:
        """The document for --json."""
        return asdict(self)


def measure_path(settings: Settings, store: Store, sender: str, receiver: str, seconds: int) -> MeasuredPath:
    """Probe the path while it is idle, then fill it; the run that fills it is kept."""
    policy = load_policy(settings)
    with hold(
        (sender, receiver), (sender,), "measuring", f"the path from {sender} to {receiver}", store.leases, settings
    ) as check:
        agent = settings.agent or AGENT
        idle = probe_path(policy, sender, receiver, seconds, check, agent=agent, home=settings.home)
    run, trace, key = _fill(settings, store, sender, receiver, idle, seconds)
    return _summed_up(run, trace, key, idle)


def _fill(
    settings: Settings, store: Store, sender: str, receiver: str, idle: IdlePath, seconds: int
) -> tuple[Run, Trace, str]:
    cap_bps = load_policy(settings).host(sender).rate_bps
    spec = {
        "experiment": f"fill-{sender}-{receiver}",
        "about": f"A bulk transfer that fills the path from {sender} to {receiver}.",
        "path": {"bandwidth": format_rate(cap_bps), "rtt": format_duration(round(min(idle.rtt_us), -2) or 100)},
        "flows": [{"name": "app", "cc": "cubic"}],
        "duration": f"{seconds} s",
        "warmup": f"{seconds * _WARMUP_SHARE:g} s",
    }
    plan = compile_plan(parse_experiment(spec), backend="hosts", hosts=(sender, receiver))
    with opened_live(settings, store) as live:
        pipeline = Pipeline(open_backend("hosts", settings), store, use_cache=False, live=live)
        document = _run_single(pipeline, plan)
    return plan.runs[0], store.trace(document["run"]), document["run"]


def _summed_up(run: Run, trace: Trace, key: str, idle: IdlePath) -> MeasuredPath:
    begin_s, end_s = (at / 1e6 for at in run.window_us)
    per_second = app_bytes(run, trace, run.flows[0]).rates(bins_s(begin_s, end_s, 1.0)) * 8
    frame, mss = run.meaning.frame_bytes, run.meaning.mss_bytes
    rate_bps = _rounded(float(np.percentile(per_second, 90)) * frame / mss)
    acks = of_flow(trace.acks, 0)
    loaded_us = acks["rtt_us"][(acks["rtt_us"] > 0) & (acks["t_ns"] >= begin_s * 1e9)]
    least_us = int(min(idle.rtt_us))
    # Hosts cause single late packets; they do not indicate a queue.
    highest_us = float(np.percentile(loaded_us, 95)) if len(loaded_us) else least_us
    # Half of a uniform variation by this amount to either side; no packet can arrive before it was sent.
    jitter_us = min(int(idle.percentile_us(75) - idle.percentile_us(25)), least_us // 2)
    return MeasuredPath(
        sender=run.hosts[0].node,
        receiver=run.hosts[1].node,
        at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        run=key,
        rate_bps=rate_bps,
        capped=rate_bps >= run.hosts[0].rate_bps * _CAPPED_SHARE,
        least_rtt_us=least_us,
        rtt_us={f"p{percent}": round(idle.percentile_us(percent)) for percent in (50, 90, 95, 99)},
        jitter_us=jitter_us if jitter_us >= _LEAST_JITTER_US else 0,
        queue_us=max(_LEAST_BUFFER_US, int(highest_us - idle.percentile_us(50))),
        loss=idle.loss if sum(idle.lost) > _FEW_LOSSES else 0.0,
        burst=idle.burst,
        largest_bytes=idle.largest_bytes,
        ecn_kept=idle.ecn_there > 0 and idle.ecn_back > 0,
    )


def _rounded(bps: float) -> int:
    """Round to three digits, the precision of the measurement."""
    step = int(10 ** max(0, math.floor(math.log10(max(bps, 1))) - 2))
    return max(step, round(bps / step) * step)


def twin_of(path: MeasuredPath, seconds: int) -> str:
    """The experiment that replays a path in the sandbox, as YAML."""
    spec = {
        "experiment": f"twin-{path.sender}-{path.receiver}",
        "about": f"The path from {path.sender} to {path.receiver} as it was measured at {path.at} by run {path.run}.",
        "path": measured_fields(path.as_document()),
        "flows": [{"name": "app", "cc": "cubic"}],
        "duration": f"{seconds} s",
        "warmup": f"{seconds * _WARMUP_SHARE:g} s",
        "sample": "10 ms",
    }
    notes = ["Written by `longhaul hosts measure`; replays a real path in the sandbox."]
    if path.capped:
        notes.append("The transfer met the host's cap: the path may be faster.")
    return document_text(spec, notes)


def compare_twin(real: RunDocument, twin: RunDocument) -> list[dict[str, Any]]:
    """A row a measure: the value of the real path, the value of its twin, and the difference."""
    rows = []
    for measure in COMPARED:
        there, here = value_of(real, measure, "app"), value_of(twin, measure, "app")
        off = None if not there or here is None else here / there - 1
        rows.append({"measure": measure, "real": there, "twin": here, "off": off})
    return rows


def run_twin(settings: Settings, store: Store, experiment: Experiment) -> RunDocument:
    """The document of the twin's run in the sandbox."""
    plan = compile_plan(experiment)
    with opened_live(settings, store) as live:
        return _run_single(Pipeline(open_backend("sandbox", settings), store, live=live), plan)


def _run_single(pipeline: Pipeline, plan: Plan) -> RunDocument:
    """The document of a plan's only run; a failed run raises its error."""
    (document,) = pipeline.execute(plan)
    if document["status"] == "failed":
        error = document["error"]
        raise BackendError(error["attempting"], error["subject"], error["what"], error["hint"])
    return document

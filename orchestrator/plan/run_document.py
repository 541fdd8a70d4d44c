"""The document of a run: its measures, or why it has none. `longhaul run --json` prints it; the manifest and the database contain it.

    RunDocument --- OfEveryRun          fields of every document, also of a failed run
                 |- RunNumbers          the measures (analysis/measures.py): all of them in a measured run, else none
                 |    |- flows path links       FlowNumbers, PathNumbers, LinkNumbers
                 |    `- phases                 PartNumbers: the same of a part of the run
                 |- fidelity expect     checks and expectations, of a run that was measured
                 `- error partial ...   ErrorParts of a run that failed, Partial of one that was cancelled

Fields are those that this version writes. A document of an earlier version may lack some of them, so readers of kept runs get
newer fields with `get`. Units are in the names; null is a measure without a meaning for the run.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from longhaul.orchestrator.system.errors import ErrorParts

# How a run ends: `missed` is measured, and an expectation is missed.
RunEnd = Literal["done", "missed", "failed", "cancelled"]


class Percentiles(TypedDict):
    """Of values in the unit of the field."""

    p50: float
    p95: float
    p99: float


class RoundTrips(Percentiles):
    """Milliseconds."""

    min: float
    mean: float


class CongestionWindow(TypedDict):
    """Packets; the mean is over time."""

    mean: float
    max: int


class QueueLength(TypedDict):
    """Full frames; the mean is over time."""

    mean: float
    p95: float
    max: int


class RequestTimes(TypedDict):
    """Milliseconds, from a request to the end of its response, or from the requests of a round to its last response."""

    mean: float
    p50: float
    p95: float
    p99: float
    max: float


class RequestNumbers(TypedDict):
    """Requests that were completed in the window, and lost ones over UDP; the times are null without a completed one."""

    completed: int
    lost: int
    time_ms: RequestTimes | None


class RoundNumbers(TypedDict):
    """Rounds of a barrier that ended in the window; the times are null without one."""

    completed: int
    time_ms: RequestTimes | None


class _AnyFlowNumbers(TypedDict):
    name: str
    kind: str
    cc: str | None
    variant: str | None
    start_s: float
    stop_s: float | None
    connected_s: float | None
    goodput_bps: float
    throughput_bps: float
    goodput_cv: float | None
    stability_sd_bps: float | None
    rtt_ms: RoundTrips | None
    cwnd_packets: CongestionWindow | None
    cwnd_peak_s: float | None
    backoff: float | None
    regrowth_s: float | None
    retransmits: int
    loss_ratio: float | None
    pdr: float | None
    tpp: float | None
    bytes: int
    completion_s: float | None
    rate_error: float | None
    share: float | None


class FlowNumbers(_AnyFlowNumbers, total=False):
    """A flow, in the part of the window in which it was active; `requests` only of a flow that has them, `rounds` if it is alone at a barrier."""

    requests: RequestNumbers
    rounds: RoundNumbers


class Delays(TypedDict):
    """Of the packets that left a queue."""

    mean: float
    p50: float
    p95: float
    p99: float


class QueueNumbers(TypedDict):
    """One of the two queues of dualpi2; null without packets. `signalled` is the share that was marked or dropped."""

    packets: int
    marks: int
    drops: int
    signalled: float | None
    delay_ms: Delays | None


class DualQueueNumbers(TypedDict):
    """Both queues of a dualpi2 link; `coupling` is l4s.signalled / the square root of classic.signalled."""

    classic: QueueNumbers
    l4s: QueueNumbers
    coupling: float | None


class _AnyPathNumbers(TypedDict):
    throughput_bps: float
    utilisation: float | None
    efficiency: float | None
    drops: int
    losses: int
    marks: int
    queue_packets: QueueLength
    queue_delay_ms: float | None
    queue_delay_percentiles_ms: Percentiles | None


class PathNumbers(_AnyPathNumbers, total=False):
    """A link and its queue, in the window; `dual` only of a link with dualpi2, in virtual time. Of a script's link without a known rate,
    what needs the rate is null."""

    dual: DualQueueNumbers


class LinkNumbers(PathNumbers):
    """The same of a link by its name."""

    name: str


class _AnyTotalNumbers(TypedDict):
    name: str
    flows: int
    goodput_bps: float
    retransmits: int
    bytes: int
    completion_s: float | None


class TotalNumbers(_AnyTotalNumbers, total=False):
    """Several flows under their common name: the streams of one transfer, or the connections of `requests`; `rounds` only with a barrier."""

    requests: RequestNumbers
    rounds: RoundNumbers


class PolicerNumbers(TypedDict):
    """A policer by the name of its link: the packets that passed it and that it dropped, and the bytes of those that passed."""

    name: str
    passed: int
    passed_bytes: int
    policed: int


class _AnyPartNumbers(TypedDict):
    from_s: float
    to_s: float
    flows: list[FlowNumbers]
    path: PathNumbers
    links: list[LinkNumbers]
    jain: float | None
    goodput_total: float


class PartNumbers(_AnyPartNumbers, total=False):
    """The measures of a part of the run: of the window, and of each phase. `path` is the first of the links; `totals` only where flows
    belong together; `policed`, the packets that policers dropped, and the policers, only where there is one."""

    totals: list[TotalNumbers]
    policed: int
    policers: list[PolicerNumbers]


class CompletionTimes(TypedDict):
    """Seconds, over the flows with a size; the streams of a transfer count as one."""

    fct_mean: float | None
    fct_p50: float | None
    fct_p95: float | None
    fct_p99: float | None
    fct_max: float | None


class RunNumbers(TypedDict, total=False):
    """All measures of a run; `phases` only if the experiment has phases, `totals` only where flows belong together, `policers` only if a
    link has one, and `acks_filtered` only with an ACK filter."""

    from_s: float
    to_s: float
    flows: list[FlowNumbers]
    totals: list[TotalNumbers]
    path: PathNumbers
    links: list[LinkNumbers]
    jain: float | None
    goodput_total: float
    policed: int
    policers: list[PolicerNumbers]
    acks_filtered: int
    convergence_s: float | None
    recovery_ratio: float | None
    fct_mean: float | None
    fct_p50: float | None
    fct_p95: float | None
    fct_p99: float | None
    fct_max: float | None
    phases: dict[str, PartNumbers]


class FidelityCheck(TypedDict):
    """A check, whether it holds, and the value found."""

    name: str
    ok: bool
    text: str


class Fidelity(TypedDict):
    """A document has numbers only if every check holds."""

    ok: bool
    checks: list[FidelityCheck]


class ExpectationResult(TypedDict):
    """One line of `expect`; the value is in the measure's unit, null if the run has none."""

    ok: bool
    text: str
    value: float | None


class Partial(TypedDict):
    """The second up to which the trace of a cancelled run is kept, and the planned length of the run."""

    reached_s: float
    of_s: float


class RerunVerdict(TypedDict):
    """Whether a rerun gave every byte of the kept trace; `run` is the kept one, `differences` are the programs that differ."""

    run: str
    identical: bool
    trace_sha256: str
    differences: list[str]


class PrometheusSpan(TypedDict):
    """The place of a run's samples, in milliseconds since 1970, and their spacing."""

    begin_ms: int
    end_ms: int
    resolution_ms: int


class _SampleCounts(TypedDict):
    samples: int
    waiting: int
    refused: int


class PrometheusExport(_SampleCounts, total=False):
    """How many samples went to Prometheus; without a span the run has no place there; `why` if not all arrived."""

    begin_ms: int
    end_ms: int
    resolution_ms: int
    why: str


class KernelSource(TypedDict):
    """The source of a kernel with a name: a version, folder, revision or archive, and its commit or SHA-256."""

    kind: str
    place: str
    revision: str
    commit: str
    sha256: str


class KernelPatch(TypedDict):
    """A patch of a kernel, and the hunks that were found at other lines than it says."""

    name: str
    sha256: str
    offsets: list[str]


class KernelParts(TypedDict):
    """What a kernel with a name consists of: `about` is a line, `tree` Git's name of the source with the patches, `without` the
    sandbox's patches that do not apply."""

    name: str
    about: str
    source: KernelSource
    release: str
    tree: str
    patches: list[KernelPatch]
    config: list[str]
    without: list[str]


class OfEveryRun(TypedDict):
    """The fields that are known before a run begins, and how it ended; `cached`: the answer is from the store."""

    run: str
    experiment: str
    status: RunEnd
    backend: str
    seed: int
    point: dict[str, str]
    cached: bool


class RunDocument(OfEveryRun, RunNumbers, total=False):
    """A whole document."""

    # Of a measured run.
    where: str
    clock: str
    kernel: str
    kernel_parts: KernelParts
    virtual_s: float
    wall_s: float
    cpu_s: float
    max_rss_kb: int
    retries: int
    # Guests that ran it, if several did.
    parts: int
    trace_sha256: str
    fidelity: Fidelity
    expect: list[ExpectationResult]
    measured_by: str
    identity: dict[str, str]
    # Of a run whose samples go to Prometheus.
    prometheus: PrometheusExport
    # Why the numbers are those of earlier formulas.
    caveat: str
    # Of a rerun that compares its trace.
    rerun: RerunVerdict
    # Of a failed run, and of a cancelled one.
    error: ErrorParts
    partial: Partial
    # Added for readers, and not kept.
    grafana: str
    other_programs: list[str]

"""Series over time: known values, the same from memory and from a kept run of any age, and unknown names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longhaul.orchestrator.analysis.measures import summarise
from longhaul.orchestrator.analysis.timelines import FLOW_SERIES, LINK_SERIES, timeline
from longhaul.orchestrator.results.traces import FILE_NAMES, read_columns, read_traces, write_traces
from longhaul.orchestrator.system.errors import NotFound, TraceError
from longhaul.orchestrator.trace.records import EVER, TRACE_KINDS, Trace
from tests.support.recordings import plain_run, recorded, steady, trace_of

ACKS = [
    {"t_ns": 1_000_000_000, "id": 0, "cwnd": 10, "ssthresh": 2**31 - 1, "rtt_us": 0, "srtt_us": 41_000, "delivered": 5},
    {"t_ns": 1_500_000_000, "id": 1, "cwnd": 99, "ssthresh": 50, "rtt_us": 60_500, "srtt_us": 42_000, "delivered": 7},
    {"t_ns": 2_000_000_000, "id": 0, "cwnd": 20, "ssthresh": 15, "rtt_us": 40_125, "srtt_us": 40_500, "delivered": 9},
]


def test_values_are_those_of_the_flow_in_the_series_unit() -> None:
    run, trace = plain_run(), trace_of(ack=ACKS)
    window = timeline(run, trace.columns, "cwnd", flow="a")
    assert (window.t_s.tolist(), window.values.tolist(), window.unit) == ([1.0, 2.0], [10.0, 20.0], "packets")
    assert timeline(run, trace.columns, "srtt", flow="a").values.tolist() == [41.0, 40.5]
    # A field that TCP has not set yet is no value.
    assert timeline(run, trace.columns, "rtt", flow="a").values.tolist() == [40.125]
    assert timeline(run, trace.columns, "ssthresh", flow="a").values.tolist() == [15.0]


def test_a_part_of_the_run_has_both_its_ends() -> None:
    run, trace = plain_run(), trace_of(ack=ACKS)
    assert timeline(run, trace.columns, "cwnd", flow="a", begin_s=1, end_s=1.999).t_s.tolist() == [1.0]
    assert timeline(run, trace.columns, "cwnd", flow="a", begin_s=2, end_s=2).t_s.tolist() == [2.0]
    for begin_s, end_s in ((5, 1), (11, 12), (1e300, float("inf")), (-9, -5), (float("nan"), float("nan"))):
        for name in FLOW_SERIES:
            assert len(timeline(run, trace.columns, name, flow="a", begin_s=begin_s, end_s=end_s).t_s) <= 1


def test_without_sack_round_trips_are_the_smoothed_ones_in_every_part() -> None:
    run = plain_run()
    mixed = trace_of(ack=[{**ACKS[0]}, ACKS[2]])
    # One ACK of the flow has a measurement: it determines the field, also for a part without one.
    assert len(timeline(run, mixed.columns, "rtt", flow="a", end_s=1.5).t_s) == 0
    without = trace_of(ack=[ACKS[0], {**ACKS[2], "rtt_us": 0}])
    assert timeline(run, without.columns, "rtt", flow="a").values.tolist() == [41.0, 40.5]


def test_rates_are_means_of_bins() -> None:
    run = plain_run()
    trace = trace_of(flow=steady(0, 600_000, 0, 5))
    goodput = timeline(run, trace.columns, "goodput", flow="a")
    assert len(goodput.t_s) == 100
    assert goodput.t_s[0] == pytest.approx(0.05)
    assert goodput.values[:49] == pytest.approx(4.8e6, rel=0.01)
    assert goodput.values[51:] == pytest.approx(0)
    # Fewer points: longer bins.
    assert timeline(run, trace.columns, "goodput", flow="a", points=10).values == pytest.approx(
        [4.8e6] * 5 + [0] * 5, abs=1e4
    )


def test_counters_of_a_web_user_continue_over_its_connections() -> None:
    run = plain_run()
    run = replace(run, flows=(replace(run.flows[0], kind="web"), run.flows[1]))
    acks = [{"t_ns": 10**9 * (1 + n), "id": 0, "retrans": value} for n, value in enumerate((0, 2, 0, 1, 4))]
    line = timeline(run, trace_of(ack=acks).columns, "retransmits", flow="a")
    assert line.values.tolist() == [0, 2, 2, 3, 6]
    late = timeline(run, trace_of(ack=acks).columns, "retransmits", flow="a", begin_s=3.5, end_s=4.5)
    assert (late.t_s.tolist(), late.values.tolist()) == ([4.0], [3.0])


def test_a_queue_is_held_from_tick_to_tick() -> None:
    run = plain_run()
    records = [{"t_ns": 10**9, "id": 0, "queue_packets": 4, "queue_bytes": 1000, "drops": 1}]
    trace = trace_of(link=records)
    queue = timeline(run, trace.columns, "queue", begin_s=0.98, end_s=1.02)
    assert (queue.about, queue.values.tolist()) == ("bottleneck", [0, 0, 4, 4, 4])
    # 1000 bytes at 8 Mbit/s.
    assert timeline(run, trace.columns, "queue_delay", link="bottleneck").values[-1] == pytest.approx(1.0)
    assert timeline(run, trace.columns, "drops").values[-1] == 1


def test_a_recorded_run_has_the_series_of_its_measures() -> None:
    run, trace, facts = recorded("lossy_pair")
    run = replace(run, window_us=(0, run.duration_us))
    document = summarise(run, trace, facts)
    for flow, measured in zip(run.flows, document["flows"], strict=True):
        got = trace.columns("flow", ["app_bytes"], flow.id, (0, run.duration_us * 1000))["app_bytes"][-1]
        goodput = timeline(run, trace.columns, "goodput", flow=flow.name)
        assert goodput.values.sum() * 0.1 / 8 == pytest.approx(got)
        throughput = timeline(run, trace.columns, "throughput", flow=flow.name)
        if flow.kind == "udp":
            assert not len(timeline(run, trace.columns, "cwnd", flow=flow.name).t_s)
            assert throughput.values.sum() * 0.1 >= goodput.values.sum() * 0.1
            continue
        assert measured["cwnd_packets"] is not None and measured["rtt_ms"] is not None
        assert timeline(run, trace.columns, "cwnd", flow=flow.name).values.max() == measured["cwnd_packets"]["max"]
        assert timeline(run, trace.columns, "rtt", flow=flow.name).values.min() == measured["rtt_ms"]["min"]
        assert timeline(run, trace.columns, "retransmits", flow=flow.name).values[-1] == measured["retransmits"]
        delivered = timeline(run, trace.columns, "delivered", flow=flow.name)
        bits = delivered.values[-1] * run.meaning.frame_bytes * 8
        assert throughput.values.sum() * 0.1 == pytest.approx(bits, rel=1e-6)
    queue = timeline(run, trace.columns, "drops"), timeline(run, trace.columns, "losses")
    assert [line.values[-1] for line in queue] == [document["path"]["drops"], document["path"]["losses"]]
    sent = timeline(run, trace.columns, "throughput")
    assert sent.values.mean() == pytest.approx(document["path"]["throughput_bps"], rel=1e-3)


def as_older_versions_wrote(folder: Path, trace: Trace) -> None:
    """One group of rows without statistics."""
    for kind, records in trace.kinds().items():
        names = [name for name in records.dtype.names or () if name != "kind"]
        table = pa.table({name: np.ascontiguousarray(records[name]) for name in names})
        pq.write_table(table, folder / FILE_NAMES[kind], compression="zstd", write_statistics=False, store_schema=False)


@pytest.mark.parametrize("write", [write_traces, as_older_versions_wrote])
@pytest.mark.parametrize("rows", [64, 2**17])
def test_a_kept_trace_has_the_columns_of_the_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: object, rows: int
) -> None:
    monkeypatch.setattr("longhaul.orchestrator.results.traces._GROUP_ROWS", rows)
    assert callable(write)
    _, trace, _ = recorded("lossy_pair")
    write(tmp_path, trace)
    assert read_traces(tmp_path).acks.tobytes() == trace.acks.tobytes()
    for kind, layout in TRACE_KINDS.items():
        names = [name for name in layout.names or () if name not in ("t_ns", "kind")]
        for about in range(4):
            for span_ns in (EVER, (500_000_000, 1_500_000_000), (0, 10), (2_980_772_010, 2_980_772_010)):
                expected = trace.columns(kind, names, about, span_ns)
                found = read_columns(tmp_path, kind, names, about, span_ns)
                assert found.keys() == expected.keys()
                for name, column in expected.items():
                    assert found[name].dtype == column.dtype
                    np.testing.assert_array_equal(found[name], column)


def test_reading_a_part_touches_only_that_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longhaul.orchestrator.results.traces._GROUP_ROWS", 64)
    _, trace, _ = recorded("lossy_pair")
    write_traces(tmp_path, trace)
    file = tmp_path / "acks.parquet"
    metadata = pq.ParquetFile(file).metadata
    assert metadata.num_row_groups == -(-len(trace.acks) // 64)
    # The first group is damaged: a reader of the end does not notice, a reader of all does.
    first = metadata.row_group(0)
    begin = min(first.column(n).data_page_offset for n in range(first.num_columns))
    with file.open("r+b") as damaged:
        damaged.seek(begin)
        damaged.write(bytes(first.column(0).total_compressed_size // 2))
    late = read_columns(tmp_path, "ack", ["cwnd"], 0, (2_500_000_000, 3_000_000_000))
    np.testing.assert_array_equal(
        late["cwnd"], trace.columns("ack", ["cwnd"], 0, (2_500_000_000, 3_000_000_000))["cwnd"]
    )
    with pytest.raises(TraceError, match=r"acks\.parquet"):
        read_columns(tmp_path, "ack", ["cwnd"], 0)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"measure": "cwmd", "flow": "a"}, "nearest: cwnd"),
        ({"measure": "cwnd", "flow": "c"}, "known: a, b"),
        ({"measure": "cwnd"}, "no flow is named; known: a, b"),
        ({"measure": "queue", "flow": "a"}, "known: cwnd, ssthresh"),
        ({"measure": "queue", "link": "botleneck"}, "nearest: bottleneck"),
        ({"measure": "nothing"}, "known: queue, queue_bytes"),
    ],
)
def test_an_unknown_name_gets_the_known_names(arguments: dict[str, str], text: str) -> None:
    with pytest.raises(NotFound, match=text):
        timeline(plain_run(), trace_of().columns, **arguments)  # type: ignore[arg-type]


def test_every_series_of_every_recording_can_be_read_and_sent(tmp_path: Path) -> None:
    for name in ("lossy_pair", "real_clock"):
        run, trace, _ = recorded(name)
        for points in (4, 50, 2000):
            lines = [timeline(run, trace.columns, measure, flow=flow.name, points=points)
                     for measure in FLOW_SERIES for flow in run.flows]  # fmt: skip
            lines += [timeline(run, trace.columns, measure, points=points) for measure in LINK_SERIES]
            for line in lines:
                assert len(line.t_s) == len(line.values) <= points
                assert (np.diff(line.t_s) >= 0).all()
                json.dumps(line.values.tolist(), allow_nan=False)

"""From text to integers: every number of a plan has a closed form, and the run id covers everything that determines a run."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from longhaul.orchestrator.plan import compile as plan
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.link_parameters import Path, resolve_path
from longhaul.orchestrator.plan.run import Qdisc, Run
from longhaul.orchestrator.plan.run_identity import run_id
from longhaul.orchestrator.preview.describe import describe_plan
from longhaul.orchestrator.preview.topology_picture import as_svg, picture_of
from longhaul.orchestrator.spec import load
from longhaul.orchestrator.spec.load import OwnCode, at_point, load_experiment, parse_experiment, shipped_experiments
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.sweep import expand
from longhaul.orchestrator.spec.yaml_text import Document
from longhaul.orchestrator.system.errors import PlanError, SpecError
from longhaul.results.plan import Plan

BASE: dict[str, Any] = {
    "experiment": "base",
    # The kernel's qdiscs, one for each part of a link.
    "emulation": "chain",
    "path": {"bandwidth": "100 Mbit/s", "rtt": "40 ms"},
    "flows": [{"name": "app", "cc": "cubic"}],
    "duration": "10 s",
}


def only(**changes: Any) -> Run:
    path = BASE["path"] | changes.pop("path", {})
    (run,) = compile_plan(parse_experiment(BASE | changes | {"path": path})).runs
    return run


def qdiscs(run: Run, dev: str) -> tuple[Qdisc, ...]:
    return next(end.qdiscs for end in run.ends if end.dev == dev)


@pytest.mark.parametrize(
    ("buffer", "kind", "limit"),
    [
        ("1 BDP", "pfifo", 330),  # 100e6 x 0.04 / 8 / 1514 = 330.25
        ("0.5 BDP", "pfifo", 165),
        ("50 packets", "pfifo", 50),
        ("64 KB", "bfifo", 64_000),
        ("10 ms", "bfifo", 125_000),
    ],
)
def test_buffers_become_packets_or_bytes(buffer: str, kind: str, limit: int) -> None:
    queue = qdiscs(only(path={"buffer": buffer}), "s1-b1")[-1]
    assert (queue.kind, queue.options["limit"]) == (kind, limit)


def test_delay_is_split_and_loss_is_a_share_of_2_to_the_32() -> None:
    netem, tbf, _ = qdiscs(only(path={"loss": 1e-3}), "s1-b1")
    assert netem.options["delay_ns"] == 20_000_000
    assert netem.options["loss_2p32"] == round(1e-3 * 2**32)
    assert (tbf.options["rate_bps"], tbf.options["burst_bytes"]) == (100_000_000, 1600)
    (reverse,) = qdiscs(only(), "s1-a1")
    assert reverse.options["delay_ns"] == 20_000_000


def test_each_flow_gets_its_own_round_trip() -> None:
    run = only(flows=[{"name": "short", "cc": "cubic"}, {"name": "long", "cc": "cubic", "rtt": "160 ms"}])
    forward = qdiscs(run, "s1-s2")[0].options["delay_ns"]
    reverse = [qdiscs(run, f"s1-{name}")[0].options["delay_ns"] for name in ("a1", "a2")]
    assert [(int(forward or 0) + int(one or 0)) // 1_000_000 for one in reverse] == [40, 160]  # type: ignore[arg-type]


def test_asymmetric_delays_are_used_as_written() -> None:
    path = {"bandwidth": "100 Mbit/s", "one_way": {"forward": "100 ms", "reverse": "200 ms"}}
    (run,) = compile_plan(parse_experiment(BASE | {"path": path})).runs
    assert (run.meaning.rtt_us, run.meaning.forward_us, run.meaning.reverse_us) == (300_000, 100_000, 200_000)


def test_jitter_keeps_the_order_unless_reorder_is_given() -> None:
    assert qdiscs(only(path={"jitter": "3 ms"}), "s1-b1")[0].options["keep_order"] is True


def test_packets_overtake_before_the_bottleneck_never_around_it() -> None:
    run = only(path={"jitter": "3 ms", "reorder": 0.01, "loss": 1e-3})
    (delay,) = qdiscs(run, "s1-x1")
    assert (delay.options["keep_order"], delay.options["delay_ns"]) == (False, 20_000_000)
    loss, *_ = qdiscs(run, "x1-b1")
    assert (loss.options["delay_ns"], loss.options["reorder_2p32"], delay.options["loss_2p32"]) == (0, 0, 0)
    assert loss.options["loss_2p32"] == round(1e-3 * 2**32)


def test_gilbert_elliott_is_the_kernels() -> None:
    burst = {"p": 0.01, "r": 0.2, "good": 0, "bad": 0.5}
    assert qdiscs(only(path={"burst": burst}), "s1-b1")[0].options["gemodel_2p32"] == (
        round(0.01 * 2**32),
        round(0.2 * 2**32),
        2**31 - 1,
        0,
    )


def test_flows_with_a_count_of_zero_are_left_out() -> None:
    flows = [{"name": "app", "cc": "cubic"}, {"name": "load", "web": {}, "count": 1}]
    sweep = {"flows.load.count": [0, 2]}
    alone, together = compile_plan(parse_experiment(BASE | {"flows": flows, "sweep": sweep})).runs
    assert [flow.name for flow in alone.flows] == ["app"]
    assert [flow.name for flow in together.flows] == ["app", "load-1", "load-2"]


def test_a_sweep_is_every_combination_with_every_seed() -> None:
    sweep = {"path.rtt": ["10 ms", "20 ms"], "flows.app.cc": ["reno", "cubic", "bic"]}
    plan = compile_plan(parse_experiment(BASE | {"sweep": sweep, "repeats": 2}))
    assert len(plan.runs) == 12
    assert [run.seed for run in plan.runs[:2]] == [1, 2]
    assert plan.runs[0].point == {"path.rtt": "10 ms", "flows.app.cc": "reno"}
    assert len({run_id(run, {}) for run in plan.runs}) == 12


def test_an_inconsistent_point_is_named() -> None:
    sweep = {"path.jitter": ["1 ms", "30 ms"]}
    with pytest.raises((PlanError, SpecError), match="30 ms"):
        compile_plan(parse_experiment(BASE | {"sweep": sweep}))


def test_two_flows_cannot_differ_in_a_modules_parameters() -> None:
    flows = [{"name": name, "cc": "cubic", "params": {"beta": beta}} for name, beta in (("a", 600), ("b", 700))]
    with pytest.raises(PlanError, match="belong to the module"):
        compile_plan(parse_experiment(BASE | {"flows": flows}))


def test_run_json_reads_back_as_the_same_run() -> None:
    for name in shipped_experiments():
        experiment = load_experiment(name)
        for run in compile_plan(at_point(experiment, next(iter(expand(experiment.sweep)))), repeats=2).runs:
            assert Run.from_json(json.loads(json.dumps(run.as_json()))) == run


def test_the_run_id_changes_with_all_that_determines_the_run() -> None:
    run = only()
    ids = {
        run_id(run, {"kernel": "a"}),
        run_id(run, {"kernel": "b"}),
        run_id(only(seed=2), {"kernel": "a"}),
        run_id(only(path={"rtt": "41 ms"}), {"kernel": "a"}),
    }
    assert len(ids) == 4
    assert run_id(only(), {"kernel": "a"}) in ids


def test_seeds_only_move_the_starts_of_a_plain_run() -> None:
    one, two = only(), only(seed=2)
    assert one.flows[0].start_us != two.flows[0].start_us
    assert max(one.flows[0].start_us, two.flows[0].start_us) < 40_000
    assert only(start_jitter="0 s").flows[0].start_us == 0


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"path": {"buffer": "0.05 BDP"}}, "below 0.1 BDP"),
        ({"path": {"rtt": "600 ms"}, "duration": "3 s"}, "slow start alone"),
        ({"flows": [{"name": "app", "cc": "cubic", "window": "20 packets"}]}, "the window limits it"),
        (
            {"path": {"loss": 0.01}, "flows": [{"name": "app", "cc": "reno"}]},
            "in all in the long run, which begins after about",
        ),
        ({"path": {"ecn": "on"}}, "never marks"),
        ({"flows": [{"name": "app", "cc": "cubic", "size": "2 TB"}]}, "flow app cannot end in this run: 2 TB take "),
        (
            {"flows": [{"name": "app", "cc": "cubic", "count": 3, "size": "50 MB"}]},
            "3 flows over bottleneck together cannot end in this run: 150 MB take ",
        ),
        (
            {"path": {"loss": 0.01}, "flows": [{"name": "app", "cc": "reno", "size": "10 MB"}]},
            "flow app will hardly end in this run: with path.loss 0.01 10 MB take about ",
        ),
        ({"flows": [{"name": "app", "cc": "hstcp"}]}, "hstcp is highspeed"),
        ({"flows": [{"name": "app", "cc": "lp"}]}, "delayed_ack: off"),
        ({"schedule": [{"at": "5 s", "flows": {"app": {"cc": "lp"}}}]}, "delayed_ack: off"),
        (
            {"flows": [{"name": "near", "cc": "reno"}, {"name": "far", "cc": "reno", "rtt": "80 ms"}]},
            "a matter of phase",
        ),
        (
            {"flows": [{"name": "app", "cc": "cubic"}, {"name": "up", "cc": "bbr", "sender": "b1", "receiver": "a1"}]},
            "no link from b1 to a1 has a bandwidth, so only its window limits flow up",
        ),
        (
            {"kernel": "7.3", "flows": [{"name": "app", "cc": "reno", "recovery": "dupthresh"}]},
            "flow app: recovery: dupthresh is the same as rack on kernel 7.3",
        ),
    ],
)
def test_oddities_are_noted(changes: dict[str, Any], note: str) -> None:
    path = BASE["path"] | changes.pop("path", {})
    plan = compile_plan(parse_experiment(BASE | changes | {"path": path}))
    assert any(note in line for line in plan.lint), plan.lint


def test_a_note_has_the_points_that_it_is_about() -> None:
    path = BASE["path"] | {"buffer": "100 BDP"}
    sweep = {"path.bandwidth": ["10 Mbit/s", "20 Mbit/s"]}
    plan = compile_plan(parse_experiment(BASE | {"path": path, "sweep": sweep, "repeats": 2}))
    (note,) = [note for note in plan.notes if "BDP delay is mostly queue" in note.text]
    assert note.points == ({"path.bandwidth": "10 Mbit/s"}, {"path.bandwidth": "20 Mbit/s"})
    assert f"{note.text} (at path.bandwidth=10 Mbit/s and 1 more points)" in plan.lint
    (alone,) = [note for note in compile_plan(parse_experiment(BASE | {"path": path})).notes if "mostly" in note.text]
    assert alone.points == ({},)


@pytest.mark.parametrize(
    "changes",
    [
        {"path": {"jitter": "1 ms"}},
        {"path": {"loss": 1e-6}},
        {"path": {"queue": "codel"}},
        {"flows": [{"name": "near", "cc": "reno"}, {"name": "far", "cc": "reno"}]},
        {"flows": [{"name": "near", "cc": "reno", "count": 8}, {"name": "far", "cc": "reno", "rtt": "80 ms"}]},
        {
            "flows": [
                {"name": "near", "cc": "reno"},
                {"name": "far", "cc": "reno", "rtt": "80 ms"},
                {"name": "web", "web": {}},
            ]
        },
    ],
)
def test_phases_do_not_matter_where_something_is_random(changes: dict[str, Any]) -> None:
    flows = [{"name": "near", "cc": "reno"}, {"name": "far", "cc": "reno", "rtt": "80 ms"}]
    path = BASE["path"] | changes.pop("path", {})
    plan = compile_plan(parse_experiment(BASE | {"flows": flows} | changes | {"path": path}))
    assert not [line for line in plan.lint if "phase" in line]


@pytest.mark.parametrize("name", ["rtt-fairness", "rfc9743/rtt-fairness", "bbr-draft/rtts", "trust/near-and-far"])
def test_no_shipped_comparison_of_round_trips_is_decided_by_phases(name: str) -> None:
    assert not [line for line in compile_plan(load_experiment(name)).lint if "phase" in line]


def test_a_transfer_that_can_end_has_no_note_about_it() -> None:
    flows = [{"name": "app", "cc": "cubic", "count": 2, "size": "10 MB"}]
    lint = compile_plan(parse_experiment(BASE | {"flows": flows, "duration": "60 s"})).lint
    assert not [note for note in lint if " end in this run" in note]


def test_a_plan_draws_the_numbers_of_the_experiment_not_those_of_its_topology() -> None:
    path = {"bandwidth": "2 Gbit/s", "rtt": "280 ms", "loss": 1e-5}
    flows = [{"name": "scan", "cc": "cubic", "size": "1 MB", "start": "2 s"}]
    plan = compile_plan(parse_experiment(BASE | {"path": path, "flows": flows, "start_jitter": "0 s"}))
    text = describe_plan(plan)
    assert "===[ 2 Gbit/s, 140 ms, loss 1e-5; back 140 ms ]===" in text
    assert "2 Gbit/s, 140 ms" in as_svg(picture_of(plan.graph), "path")
    assert "100 Mbit/s" not in text, "the topology's own"
    assert "scan: tcp cubic 1 MB, a1 -> b1, starts at 2 s\n" in text, "a transfer has no planned end"


def test_a_sound_experiment_has_no_notes() -> None:
    assert compile_plan(parse_experiment(BASE | {"duration": "60 s", "warmup": "10 s"})).lint == ()


def test_only_kernels_without_dupthresh_have_its_note() -> None:
    def lint(kernel: str, **options: object) -> tuple[str, ...]:
        flows = [{"name": "app", "cc": "reno", "recovery": "dupthresh", **options}]
        return compile_plan(parse_experiment(BASE | {"kernel": kernel, "flows": flows, "duration": "60 s"})).lint

    assert not [note for note in (*lint("6.12"), *lint("7.3", sack=False)) if "dupthresh" in note]


def test_a_plan_for_people_shows_every_resolved_number() -> None:
    text = describe_plan(compile_plan(load_experiment("demo")))
    for number in (
        "15406 packets",
        "23.325 MB",
        "delay 150 ms one way",
        "622000000bit, burst 1600, limit 15406 packets",
        "51354 a second",
    ):
        assert number in text


@pytest.mark.parametrize(("first", "later"), [("200 ms", "5 packets"), ("1 BDP", "20 KB")])
def test_a_queue_keeps_its_unit(first: str, later: str) -> None:
    written = {
        "experiment": "unit",
        "path": {"bandwidth": "10 Mbit/s", "rtt": "40 ms", "buffer": first},
        "flows": [{"name": "one", "cc": "cubic"}],
        "schedule": [{"at": "1 s", "path": {"buffer": later}}],
        "duration": "2 s",
    }
    with pytest.raises(PlanError, match=f"{later} after {first}"):
        compile_plan(parse_experiment(written))
    compile_plan(parse_experiment(written, overrides=["path.queue=codel"]))


@pytest.mark.parametrize("queue", ["red", "step", "cake", "droptail"])
def test_a_buffer_beyond_32_bits_is_refused(queue: str) -> None:
    written = {
        "experiment": "unit",
        "path": {"bandwidth": "100 Gbit/s", "rtt": "1 s", "buffer": "5 GB", "queue": queue},
        "flows": [{"name": "one", "cc": "cubic"}],
        "duration": "2 s",
    }
    if queue == "step":
        written["path"]["mark_at"] = "20 packets"  # type: ignore[index]
    with pytest.raises(PlanError, match="more than a queue that counts bytes can hold"):
        compile_plan(parse_experiment(written))


@pytest.mark.parametrize(("written", "threshold_bytes"), [("20 packets", 30_280), ("30.28 KB", 30_280), ("0 B", 0)])
def test_a_threshold_may_count_packets_or_bytes(written: str, threshold_bytes: int) -> None:
    path = {"bandwidth": "10 Mbit/s", "rtt": "40 ms", "queue": "step", "ecn": "on", "mark_at": written}
    experiment = {"experiment": "unit", "path": path, "flows": [{"name": "one", "cc": "dctcp"}], "duration": "2 s"}
    (run,) = compile_plan(parse_experiment(experiment)).runs
    (queue,) = [qdisc for end in run.ends for qdisc in end.qdiscs if qdisc.kind == "red"]
    assert (queue.options["min"], queue.options["max"]) == (threshold_bytes, threshold_bytes)


def test_a_flow_of_iperf3_has_a_separate_port_and_whole_blocks() -> None:
    flows = [
        {"name": "plain", "cc": "reno"},
        {"name": "open", "cc": "reno", "tool": "iperf3"},
        {"name": "sized", "cc": "reno", "tool": "iperf3", "size": "2.5 MB"},
        {"name": "small", "cc": "reno", "tool": "iperf3", "size": "1234 B"},
    ]
    run = only(flows=flows)
    written = run.as_json()["flows"]
    assert {"tool", "client_port", "block_bytes"}.isdisjoint(written[0])
    assert [flow["tool"] for flow in written[1:]] == ["iperf3"] * 3
    assert [flow.client_port for flow in run.flows] == [0, 20_001, 20_002, 20_003]
    assert [flow.block_bytes for flow in run.flows] == [0, 1_000_000, 625_000, 1234]
    assert Run.from_json(run.as_json()) == run


@pytest.mark.parametrize("gbit", [9.9, 54])
def test_a_datagram_needs_a_power_of_two(gbit: float) -> None:
    """Packets of 9,000 bytes on 150 ms fly at once, each in a piece of 16 KiB; a guest needs 40 MB itself."""
    path = {"rtt": "300 ms", "bandwidth": "10 Gbit/s", "buffer": "1 packets", "mtu": 9000}
    run = only(path=path, flows=[{"name": "u", "udp": f"{gbit} Gbit/s"}])
    assert (run.memory_mb - 40) * 2**20 >= 2**14 * gbit * 1e9 * 0.15 / 8 / 9014


def test_programs_need_memory() -> None:
    flows = [{"name": "many", "cc": "reno", "count": 50}]
    plain = only(flows=flows).memory_mb
    assert only(flows=[flows[0] | {"tool": "iperf3"}]).memory_mb >= plain + 256


def test_a_path_is_resolved_once_for_all_repeats_of_a_point_and_for_the_drawing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolved: list[Path] = []

    def watched(*parts: Any) -> Path:
        resolved.append(resolve_path(*parts))
        return resolved[-1]

    monkeypatch.setattr(plan, "resolve_path", watched)
    swept = parse_experiment(BASE | {"repeats": 3, "sweep": {"path.rtt": ["20 ms", "40 ms"]}})
    compiled = compile_plan(swept)
    assert (len(compiled.runs), len(resolved)) == (6, 2)
    lane = resolved[0].bottlenecks[0]
    assert compiled.graph.lanes[lane] == resolved[0].states[0].lanes[lane].carriage()


@pytest.mark.parametrize(
    "sweep",
    [
        {"path.rtt": ["10 ms", "20 ms", "40 ms"]},
        [
            {"path.rtt": "10 ms"},
            {"path.rtt": "20 ms", "flows.app.cc": "reno"},
            {"flows": [{"name": "app", "cc": "bic"}]},
        ],
        {"path.rtt": ["10 ms", "20 ms"], "flows.app.cc": ["reno", "cubic"]},
    ],
)
def test_a_point_of_a_sweep_is_validated_once(sweep: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    validated: Counter[str] = Counter()
    validate = load._validate

    def counting(document: Document, own_code: OwnCode) -> Experiment:
        validated[document.subject] += 1
        return validate(document, own_code)

    monkeypatch.setattr(load, "_validate", counting)
    read = parse_experiment(BASE | {"sweep": sweep})
    runs = compile_plan(read, repeats=2).runs
    assert len(runs) == 2 * len(list(expand(sweep)))
    points = {subject: times for subject, times in validated.items() if " at " in subject}
    assert set(points.values()) == {1}
    assert len(points) == len(list(expand(sweep)))
    # The plan is the same as without the cache.
    read._points.clear()
    assert compile_plan(read, repeats=2).runs == runs


def test_socket_buffers_hold_the_largest_window_or_rate_of_any_flow() -> None:
    def read_bytes(**flow: Any) -> int:
        run = only(flows=[{"name": "app", "cc": "cubic"}, {"name": "asks", **flow}])
        return int(dict(run.nodes[-1].sysctls)["net/ipv4/tcp_rmem"].split()[-1])

    plain = read_bytes(cc="cubic")
    # Eight pipes of 2560 bytes a packet, and the pipe is half of the window.
    assert read_bytes(cc="lhfixed", params={"cwnd": "20000 packets"}) == 8 * 10_000 * 2560 > plain
    paced = 10**10 * 40_000 // 8_000_000 // 1514 // 2
    assert read_bytes(cc="apptcp", params={"rate": "10 Gbit/s"}) == 8 * paced * 2560
    assert read_bytes(udp="90 Mbit/s") == plain


def test_a_taker_gets_every_run_in_place_of_the_plan() -> None:
    experiment = parse_experiment(
        {
            "experiment": "wide",
            "path": {"bandwidth": "10 Mbit/s", "rtt": "40 ms"},
            "flows": [{"name": "app", "cc": "cubic"}],
            "duration": "3 s",
            "sweep": {"path.rtt": ["10 ms", "20 ms", "30 ms"]},
            "repeats": 2,
        }
    )
    whole = compile_plan(experiment)
    taken: list[Run] = []
    plan = compile_plan(experiment, take=taken.append)
    assert (plan.runs, tuple(taken)) == ((), whole.runs)
    assert (plan.lint, plan.graph) == (whole.lint, whole.graph)


def test_points_of_a_sweep_share_their_equal_parts() -> None:
    """As objects, so that a large sweep takes less memory; their text is that of runs compiled alone."""
    swept = BASE | {"sweep": {"path.buffer": ["10 packets", "20 packets", "30 packets"]}}
    runs = compile_plan(parse_experiment(swept)).runs
    assert len({id(run.flows) for run in runs}) == len({id(run.sysctls) for run in runs}) == 1
    alone: list[Run] = []
    compile_plan(parse_experiment(swept), take=alone.append)
    assert [json.dumps(run.as_json()) for run in runs] == [json.dumps(run.as_json()) for run in alone]


def test_the_parts_of_a_plan_are_its_document() -> None:
    found = Plan(compile_plan(parse_experiment(BASE | {"repeats": 3})), "sandbox")
    assert "".join(found.json_parts()) == json.dumps(found.document)
    assert [run["seed"] for run in found["runs"]] == [run.seed for run in found.runs]

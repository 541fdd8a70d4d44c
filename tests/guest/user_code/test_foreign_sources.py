"""Sources of other authors, unedited: each folder of tests/data/foreign has one shape in which people publish a congestion control. Its controls are
found, it is built for each kernel, and moves data in a guest; or its author reads one sentence that says why not.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.kernels.build import wide_patch
from longhaul.orchestrator.modules.build import build_source
from longhaul.orchestrator.modules.content import adopt
from longhaul.orchestrator.modules.controls import find_controls
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.spec.kernel_versions import ORDINARY_KERNELS
from longhaul.orchestrator.spec.trial import trial_of
from longhaul.orchestrator.system.settings import Settings
from tests.support.command import longhaul
from tests.support.folders import REPOSITORY
from tests.support.guests import Runner
from tests.support.tested_kernels import TESTED_KERNELS

FOREIGN = REPOSITORY / "tests" / "data" / "foreign"
KERNELS = ("5.10", "6.1", "6.12", "7.3")
# The shape of a folder is the same for all kernels.
ONE = ("6.12",)


@dataclass(frozen=True)
class Shape:
    """What a folder has: the controls of each module, and the sentences for those that are not built, in which KERNEL is the kernel."""

    modules: dict[str, tuple[str, ...]]
    kernels: tuple[str, ...] = KERNELS
    sentences: dict[str, str] | None = None

    def expected(self, kernel: str) -> dict[str, tuple[tuple[str, ...], str]]:
        """The controls and the sentence of each module."""
        sentences = self.sentences or {}
        return {
            module: (names, sentences.get(module, "").replace("KERNEL", kernel))
            for module, names in self.modules.items()
        }


def one(module: str, *controls: str, kernels: tuple[str, ...] = KERNELS) -> Shape:
    """A folder with one module that is built."""
    return Shape({module: controls}, kernels)


def wrong(module: str, control: str, sentence: str, kernels: tuple[str, ...] = KERNELS) -> Shape:
    """A folder with one module that is not."""
    return Shape({module: (control,)}, kernels, {module: sentence})


TOO_LARGE = "its private area is larger than the 104 bytes that the kernel keeps for a connection (ICSK_CA_PRIV_SIZE)"
SHAPES = {
    "accessors": one("tcp_access", "access"),
    "acked_of_three": one("tcp_waits", "waits"),
    "acked_of_two": one("tcp_waits", "waits", kernels=ONE),
    "area_checked": wrong("tcp_wide", "wide", f"tcp_wide.c:13: {TOO_LARGE}"),
    "area_returned": wrong("tcp_broad", "broad", f"tcp_broad.c:11: {TOO_LARGE}", ONE),
    "area_small": one("tcp_tiny", "tiny", kernels=ONE),
    "area_unchecked": wrong("tcp_vast", "vast", f"tcp_vast.c:15: {TOO_LARGE}", ("5.10", "6.1", "7.3")),
    "argument_in_flight": wrong(
        "flight",
        "flight",
        "tcp_flight.c:13: flight_avoid() expects the packets in flight as its third argument, as Linux before 3.13 gave them; since "
        "then it is the number of packets that the ACK acknowledges: change the function",
        ONE,
    ),
    "burst_goal": one("tcp_bursts", "bursts"),
    "burst_of_two": one("tcp_bursts", "bursts"),
    "control_by_version": one("tcp_rated", "rated", kernels=("6.1", "6.12")),
    "control_elsewhere": one("tcp_rated", "rated", kernels=("6.1", "6.12")),
    "control_of_four": one("tcp_rated", "rated"),
    "control_of_two": one("tcp_rated", "rated"),
    "extra_cflags": one("tcp_extra", "extra", kernels=("6.12", "7.3")),
    "file_name": one("gentle", "gentle", kernels=ONE),
    "files_alone": one("tcp_alone", "alone", kernels=("6.12", "7.3")),
    "former_arguments": one("tcp_args", "args"),
    "former_calls": one("tcp_calls", "calls"),
    "former_timer": wrong(
        "tcp_setup",
        "setup",
        "tcp_setup.c:42: it calls setup_timer(), which Linux KERNEL does not have; Linux had it until 4.14; timer_setup() gives the timer "
        "itself to its function",
        ONE,
    ),
    "hyphen": one("two_words", "two-words", kernels=("5.10", "6.12")),
    "in_tree": one("tcp_treelike", "treelike", kernels=ONE),
    "in_tree_builtin": one("tcp_always", "always", kernels=ONE),
    "included_source": one("tcp_outer", "outer", kernels=ONE),
    "kbuild_file": one("tcp_listed", "listed", kernels=ONE),
    "kfunc_lists": one("tcp_lists", "lists"),
    "kfunc_sets": one("tcp_sets", "sets"),
    "knobs": one("tcp_knobs", "knobs"),
    "later_calls": one("tcp_later", "later"),
    "made_header": one("tcp_made", "made", kernels=("5.10", "6.12")),
    "missing_header": wrong(
        "tcp_missing",
        "missing",
        "tcp_missing.c:5: it includes missing_law.h, which neither its folder nor Linux KERNEL has",
        ONE,
    ),
    "missing_source": wrong(
        "tcp_pieces",
        "other",
        "its Makefile lists tcp_gone.o, and its folder has no tcp_gone.c",
        ("6.12", "7.3"),
    ),
    "name_flag": one("tcp_flag", "flagged", kernels=ONE),
    "name_macro": one("tcp_macro", "macroed", kernels=ONE),
    "name_taken": one("tcp_cubic", "cubic", kernels=ONE),
    "no_license": wrong(
        "tcp_bare",
        "bare",
        'it has no MODULE_LICENSE(); the functions of TCP are for modules with MODULE_LICENSE("GPL")',
    ),
    "no_prototypes": one("tcp_open", "open", kernels=("6.12", "7.3")),
    "no_undo": one("tcp_noundo", "noundo", kernels=("5.10", "6.12")),
    "not_exported": wrong(
        "tcp_inside",
        "inside",
        "it calls tcp_simple_retransmit_all(), which none of its files has, and Linux KERNEL does not offer to modules",
    ),
    "own_accessors": one("tcp_shims", "shims"),
    "own_license": wrong(
        "tcp_closed",
        "closed",
        'its license is not the GPL, and the functions of TCP are for modules with MODULE_LICENSE("GPL")',
    ),
    "several": Shape(
        {"tcp_calm": ("calm",), "tcp_eager": ("eager",), "tcp_torn": ("torn",)},
        ONE,
        {"tcp_torn": "tcp_torn.c:6: error: expected '}' before ';' token"},
    ),
    "several_alone": Shape(
        {"left": ("left",), "right": ("right",), "lost": ("lost",)},
        ONE,
        {"lost": "lost.c:6: error: expected expression before ';' token"},
    ),
    "stamps": one("tcp_stamps", "stamps"),
    "start_event": one("tcp_starts", "starts", kernels=("6.12", "7.3")),
    "start_hook": one("tcp_starts", "starts", kernels=("5.10", "6.12", "7.3")),
    "start_hook_alone": one("tcp_alone", "lonely"),
    "sub_folders": Shape({"tcp_first": ("first",), "tcp_second": ("second",)}, ONE),
    "sub_folders_kbuild": one("tcp_inner", "inner", kernels=("6.12", "7.3")),
    "syntax_error": wrong("tcp_typo", "typo", "tcp_typo.c:8: error: expected ',' or ';' before 'static'", ONE),
    "time_echoed": wrong(
        "tcp_echo",
        "echoes",
        "tcp_echo.c:8: it compares rcv_tsecr with tcp_time_stamp, and both counted jiffies until Linux 4.12; since then rcv_tsecr counts "
        "milliseconds of another clock: change it to tcp_time_stamp_ts(tp)",
        ONE,
    ),
    "time_in_jiffies": one("tcp_ticks", "ticks"),
    "two_controls": one("tcp_pair", "pair_half", "pair_most", kernels=ONE),
    "two_objects": one("tcp_duo", "duo", kernels=("5.10", "6.12", "7.3")),
    "undeclared": wrong(
        "tcp_event",
        "event",
        "tcp_event.c:8: it uses CA_EVENT_DELAYED_ACK, which neither it nor Linux KERNEL declares",
        ONE,
    ),
    "unknown_hook": wrong(
        "tcp_hooked",
        "hooked",
        "tcp_hooked.c:33: it sets the hook skb_marked_lost, which Linux KERNEL does not have; it belongs to BBR's versions 2 and 3, whose "
        "authors patch the kernel: add their tree with `longhaul kernel add`",
        ONE,
    ),
    "wrapper": one("tcp_wrapped", "wrapped", kernels=("5.10", "6.12")),
    "wrapper_former": one("tcp_former", "formerly", kernels=ONE),
    "wrapper_short": one("tcp_short", "shortly", kernels=ONE),
}


def test_each_folder_has_a_row() -> None:
    assert sorted(SHAPES) == sorted(folder.name for folder in FOREIGN.iterdir())
    assert all({*shape.kernels} & {*ORDINARY_KERNELS} for shape in SHAPES.values())


@pytest.mark.parametrize("kernel", TESTED_KERNELS)
def test_the_patch_for_large_private_areas_fits(settings: Settings, tmp_path: Path, kernel: str) -> None:
    header = "include/net/inet_connection_sock.h"
    (tmp_path / header).parent.mkdir(parents=True)
    (tmp_path / header).write_text((settings.kernel(kernel) / "tree" / header).read_text())
    done = subprocess.run(["git", "apply", str(wide_patch(kernel))], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "512 / sizeof(u64)" in (tmp_path / header).read_text()


@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if {*shape.kernels} & {*TESTED_KERNELS}])
def test_a_source_is_built_unedited_or_its_author_reads_why_not(settings: Settings, name: str) -> None:
    shape = SHAPES[name]
    (source,) = adopt([FOREIGN / name], settings.cache)
    for kernel in (one for one in shape.kernels if one in TESTED_KERNELS):
        build = build_source(settings, kernel, source)
        found = {module.name: (module.controls, module.problem) for module in build.modules}
        assert found == shape.expected(kernel), kernel
        for module in build.modules:
            assert build.object(module.name).is_file() == (not module.error)
            assert module.needs_room == (TOO_LARGE in module.error)


def built() -> Iterator[tuple[str, str]]:
    """Each control that is built, with its folder."""
    for name, shape in SHAPES.items():
        for module, controls in shape.modules.items():
            if module not in (shape.sentences or {}):
                yield from ((name, control) for control in controls)


@pytest.mark.default_kernel
@pytest.mark.parametrize(("name", "control"), [*built()])
def test_a_control_moves_data(pipeline: Pipeline, name: str, control: str) -> None:
    (document,) = pipeline.execute(compile_plan(trial_of(control, "6.12", [str(FOREIGN / name)])))
    assert document["status"] == "done", document.get("error")
    assert document["goodput_total"] > 1e6


@pytest.mark.default_kernel
def test_modules_check_prints_a_row_a_control(tmp_path: Path) -> None:
    done = longhaul(
        "modules", "check", "--json", str(FOREIGN / "several"), str(FOREIGN / "area_unchecked"), home=tmp_path
    )
    rows = json.loads(done.stdout)
    found = {row["cc"]: (row["builds"], row["loads"], row["moves_data"], row["fault"]) for row in rows}
    assert found["calm"] == found["eager"] == (True, True, True, "")
    assert found["torn"] == (False, False, False, (SHAPES["several"].sentences or {})["tcp_torn"])
    # Its kernel with room is built here or is named.
    assert found["vast"][0] or "longhaul kernel build wide-6.12" in found["vast"][3]
    assert done.returncode == 1


def digest(finish: Runner, folder: Path, kernel: str = "6.12") -> str:
    """The trace of a control of a folder over a path with losses."""
    (control,) = find_controls(folder, [kernel]).controls
    flows = [{"name": "one", "cc": control.name}, {"name": "two", "cc": control.name}]
    path = {"bandwidth": "20 Mbit/s", "loss": 0.001}
    done = finish(modules=[str(folder)], flows=flows, path=path, duration="4 s", kernel=kernel, seed=7)
    found: str = done.document["trace_sha256"]
    assert found
    return found


SAME_LAW = [
    (("control_of_two", "control_of_four"), "6.1"),
    (("control_of_two", "control_of_four", "control_by_version", "control_elsewhere"), "6.12"),
    (("acked_of_two", "acked_of_three"), "6.12"),
    (("start_event", "start_hook"), "6.12"),
    (("start_event", "start_hook"), "7.3"),
]


@pytest.mark.parametrize(("folders", "kernel"), [one for one in SAME_LAW if one[1] in TESTED_KERNELS])
def test_the_same_law_for_two_interfaces_gives_the_same_trace(
    finish: Runner, folders: tuple[str, ...], kernel: str
) -> None:
    assert len({digest(finish, FOREIGN / folder, kernel) for folder in folders}) == 1


UNDO = """static u32 noundo_undo(struct sock *sk)
{
\treturn max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->snd_ssthresh << 1);
}

static struct tcp_congestion_ops noundo_ops = {
\t.undo_cwnd\t= noundo_undo,
"""


@pytest.mark.default_kernel
@pytest.mark.parametrize(
    ("folder", "changes"),
    [
        ("time_in_jiffies", {"tcp_time_stamp": "tcp_jiffies32"}),
        ("former_arguments", {"limited(sk, in_flight)": "limited(sk)", "tp->snd_cwnd);": "tp->snd_cwnd, 1);"}),
        ("accessors", {"tcp_snd_cwnd(tp)": "tp->snd_cwnd", "tcp_snd_cwnd_set(tp, ": "tp->snd_cwnd = ("}),
        (
            "stamps",
            {
                "struct skb_mstamp ": "u64 ",
                "ca->cut.v64": "ca->cut",
                "skb_mstamp_get(&now)": "now = tcp_clock_us()",
                "skb_mstamp_us_delta(&now, &ca->cut)": "now - ca->cut",
            },
        ),
        ("no_undo", {"static struct tcp_congestion_ops noundo_ops = {\n": UNDO}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_same_law_in_todays_words_gives_the_same_trace(
    finish: Runner, tmp_path: Path, folder: str, changes: dict[str, str]
) -> None:
    (source,) = (FOREIGN / folder).glob("*.c")
    text = source.read_text()
    for former, today in changes.items():
        assert former in text
        text = text.replace(former, today)
    (tmp_path / source.name).write_text(text)
    assert digest(finish, tmp_path) == digest(finish, FOREIGN / folder)

"""BPF programs as modules, before anything is built: what is read from their text, and what is refused."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from longhaul.orchestrator.modules.bpf import read_only_numbers
from longhaul.orchestrator.modules.diagnosis import diagnose
from longhaul.orchestrator.modules.recipe import Recipe
from longhaul.orchestrator.spec.parameters import Parameter, parameters_of_user_source

PROGRAM = """
#include "headers/vmlinux.h"
#include <bpf/bpf_helpers.h>
char _license[] SEC("license") = "GPL";
extern unsigned long CONFIG_HZ __kconfig;
const volatile __u32 gain = 7;
static const volatile bool quick = true;
const volatile char text[4] = "abc";
struct state { __u32 last; };
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 8); __type(key, __u32); __type(value, struct state); } seen SEC(".maps");
#define min(a, b) ((a) < (b) ? (a) : (b))
static __u64 div64_u64(__u64 a, __u64 b) { return a / b; }
SEC("struct_ops") void BPF_PROG(one_main, struct sock *sk, const struct rate_sample *rs) { struct state *s = inet_csk_ca(sk); }
SEC("struct_ops") __u32 BPF_PROG(one_ssthresh, struct sock *sk) { return 2; }
SEC(".struct_ops") struct tcp_congestion_ops one = {
    .ssthresh = (void *)one_ssthresh, .undo_cwnd = (void *)one_ssthresh, .cong_control = (void *)one_main, .name = "one" };
SEC(".struct_ops.link") struct tcp_congestion_ops two = {
    .ssthresh = (void *)one_ssthresh, .undo_cwnd = (void *)one_ssthresh, .cong_avoid = (void *)one_main, .name = "two" };
SEC(".struct_ops") struct tcp_congestion_ops part = { .ssthresh = (void *)one_ssthresh, .name = "part" };
struct tcp_congestion_ops plain = {
    .ssthresh = (void *)one_ssthresh, .undo_cwnd = (void *)one_ssthresh, .cong_avoid = (void *)one_main, .name = "plain" };
"""


def lines_of(text: str) -> tuple[list[str], list[str]]:
    """What goes in front of the program and behind it."""
    recipe = Recipe({"one.bpf.c": text})
    (front,) = recipe.adapters.values()
    (back,) = recipe.lines
    return front.splitlines(), back.splitlines()


def test_the_controls_are_those_that_the_kernel_registers() -> None:
    recipe = Recipe({"one.bpf.c": PROGRAM})
    (module,) = recipe.modules
    assert [one.name for one in module.operations()] == ["one", "two"]
    assert module.module == "one"
    assert recipe.is_certain
    assert not recipe.refusals


def test_what_stands_behind_a_program() -> None:
    _, back = lines_of(PROGRAM)
    assert back[0] == f"bpf . one.bpf {len(back) - 1}"
    assert "LH_BPF_CONG_CONTROL_2(one, one_main)" in back
    assert "LH_BPF_AS_IT_IS(two)" in back
    assert "LH_BPF_KCONFIG(CONFIG_HZ);" in back
    assert "module_param(gain, uint, 0644);" in back
    assert "LH_BPF_MAP(seen, BPF_MAP_TYPE_HASH, sizeof(__u32), sizeof(struct state), 8)" in "\n".join(back)


def test_a_license_may_be_a_macro() -> None:
    front, back = lines_of(PROGRAM.replace('= "GPL"', "= LICENSE"))
    assert "MODULE_LICENSE(LICENSE);" in back
    assert not any("MODULE_LICENSE" in line for line in front)


def test_what_stands_in_front_of_a_program() -> None:
    front, _ = lines_of(PROGRAM)
    assert front[0] == 'MODULE_LICENSE("GPL");'
    assert {"#undef min", "#undef div64_u64", "#undef CONFIG_HZ"} <= {*front}
    assert "#undef BPF_PROG" not in front
    assert front[-1] == '#include "lh_own_one.bpf.h"'


def test_constants_are_parameters(tmp_path: Path) -> None:
    (tmp_path / "one.bpf.c").write_text(PROGRAM)
    assert [*read_only_numbers(PROGRAM)] == [("uint", "gain", "7"), ("bool", "quick", "true")]
    assert parameters_of_user_source(tmp_path / "one.bpf.c") == (
        Parameter("gain", "number", 7, 0, 2**32 - 1, ""),
        Parameter("quick", "switch", 1, 0, 1, ""),
    )


def test_a_copy_of_a_replaced_header_defines_nothing() -> None:
    copies = {"bpf_tcp_helpers.h": "#define tcp_sk(x) x\n", "mine.h": "#define after(a, b) (a)\n"}
    text = '#include "bpf_tcp_helpers.h"\n#include "mine.h"\n' + PROGRAM
    front = Recipe({"one.bpf.c": text, **copies}).adapters["one.bpf.c"]
    assert "#undef after\n" in front
    assert "tcp_sk" not in front


def test_a_makefile_of_bpf_programs_is_not_started() -> None:
    recipe = Recipe({"one.bpf.c": PROGRAM, "Makefile": "one.bpf.o: one.bpf.c\n\tclang -target bpf -c $<\n"})
    assert not any(line.startswith("make") for line in recipe.lines)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PROGRAM.replace("struct state {", "struct tcp_sock___old { int x; };\nstruct state {"), "struct tcp_sock___old is struct tcp_sock"),
        (PROGRAM.replace("unsigned long CONFIG_HZ", "char CONFIG_HOST[8]"), "a text of the kernel's configuration"),
        (PROGRAM.replace("struct state {", 'struct bpf_map_def SEC("maps") old = {};\nstruct state {'), "as libbpf 0 read them"),
        (PROGRAM.replace("_license[]", "x[]").replace('"license"', '"other"'), "it has no license"),
        (PROGRAM.replace(".undo_cwnd", ".release"), "no struct tcp_congestion_ops with a name"),
    ],
)  # fmt: skip
def test_what_cannot_be_built_is_refused(text: str, reason: str) -> None:
    recipe = Recipe({"one.bpf.c": text})
    assert reason in str(recipe.refusals["one.bpf.c"])
    assert not recipe.lines


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("a.bpf.c:3:2: error: call to 'lh_bpf_no_x' declared with attribute error: it calls the BPF helper x()", "it calls the BPF helper x()"),
        ('a.bpf.c:3:2: error: static assertion failed: "the type of its map m is not"', "the type of its map m is not"),
        (
            "a.bpf.c:3:2: error: implicit declaration of function 'bpf_x'",
            "it calls bpf_x(), which a native build of a BPF program does not have (docs/bpf.md lists what it has)",
        ),
    ],
)  # fmt: skip
def test_the_compilers_message_in_plain_words(message: str, reason: str) -> None:
    assert str(diagnose(message, "6.12")) == f"a.bpf.c:3: {reason}"


@pytest.mark.parametrize(
    "hostile",
    ["struct" + " " * 200_000, "extern " * 30_000, "const volatile" + " " * 200_000, "struct { " + "__uint(a," * 20_000, "struct a*b=(" * 20_000],
    ids=["struct", "extern", "constant", "map", "private"],
)  # fmt: skip
def test_any_text_is_read_in_linear_time(hostile: str) -> None:
    begun = time.process_time()
    lines_of(PROGRAM + hostile)
    assert time.process_time() - begun < 5

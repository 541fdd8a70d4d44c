"""The recipe of a source: from the texts of its files to the lines of the script that builds it, and to the adapters in front of its files."""

from __future__ import annotations

import pytest

from longhaul.orchestrator.modules.adapters import our_macros
from longhaul.orchestrator.modules.recipe import Recipe

CONTROL = """
static struct tcp_congestion_ops {0}_ops = {{ .ssthresh = {0}_ssthresh, .owner = THIS_MODULE, .name = "{0}" }};
static int __init {0}_load(void) {{ return tcp_register_congestion_control(&{0}_ops); }}
"""
MINE = CONTROL.format("mine")
WRAPPER = """
obj-m += tcp_mine.o
KDIR ?= /lib/modules/$(shell uname -r)/build

all:
	$(MAKE) -C $(KDIR) M=$(PWD) modules

load: all
	-sudo insmod tcp_mine.ko
	@echo done

clean:
	@make -C /lib/modules/`uname -r`/build M=$(shell pwd) clean
	rm -f *.o
"""


@pytest.mark.parametrize(
    ("files", "lines"),
    [
        ({"mine.c": MINE}, ["plain . mine"]),
        ({"src/mine.c": MINE, "README": "x"}, ["plain src mine"]),
        ({"a.c": CONTROL.format("a"), "b.c": CONTROL.format("b")}, ["plain . a", "plain . b"]),
        # A file that another includes is no module of its own.
        ({"mine.c": '#include "law.c"', "law.c": MINE}, ["plain . mine"]),
        ({"mine.c": f"{MINE} u32 f(void) {{ return law(1); }}", "law.c": "u32 law(u32 x)\n{\n\treturn more(x);\n}", "more.c": "u32 more(u32 x)\n{\n}", "no.c": "u32 no(void)\n{\n}"}, ["plain . mine law more"]),
        ({"mine.c": f"{MINE} u32 f(void) {{ return law(1); }}", "law.c": "static u32 law(u32 x)\n{\n}"}, ["plain . mine"]),
        ({"mine.c": f"{MINE} u32 f(void) {{ return law(1); }}", "law.c": "u32 law(u32 x)\n{\n}\nint main(void)\n{\n}"}, ["plain . mine"]),
        ({"tcp_mine.c": MINE, "Makefile": WRAPPER}, ["kbuild . tcp_mine"]),
        ({"tcp_mine.c": MINE, "Makefile": WRAPPER.replace("all:", "all: made.h\n\nmade.h:\n\t./make.sh >made.h\n\nmore:")}, ["make .", "kbuild . tcp_mine"]),
        ({"tcp_mine.c": MINE, "Makefile": WRAPPER.replace("@echo done", "@echo '#define A 1' >made.h")}, ["make .", "kbuild . tcp_mine"]),
        ({"tcp_mine.c": MINE, "Makefile": WRAPPER.replace("M=$(PWD) modules", "M=$(PWD) EXTRA_CFLAGS=-DA modules")}, ["make .", "kbuild . tcp_mine"]),
        ({"tcp_mine.c": MINE, "Makefile": "all:\n\t./make.sh\n"}, ["make .", "plain . tcp_mine"]),
        ({"tcp_mine.c": MINE, "Kbuild": "obj-m := tcp_mine.o", "Makefile": WRAPPER.replace("obj-m += tcp_mine.o", "")}, ["kbuild . tcp_mine"]),
        ({"tcp_mine.c": MINE, "Makefile": "obj-$(CONFIG_TCP_CONG_MINE) += tcp_mine.o\nobj-${CONFIG_X} += x.o\n"}, ["kbuild . CONFIG_TCP_CONG_MINE=m CONFIG_X=m tcp_mine"]),
        ({"tcp_mine.c": MINE, "Makefile": "include $(src)/list.mk\n", "list.mk": "obj-m := tcp_mine.o\n"}, ["kbuild . tcp_mine"]),
        ({"a/tcp_a.c": CONTROL.format("a"), "a/Makefile": "obj-m := tcp_a.o", "Makefile": "obj-m := a/"}, ["kbuild . a/tcp_a", "kbuild a tcp_a"]),
        # A list that does not name the source.
        ({"mine.c": MINE, "Makefile": "obj-m := other.o"}, ["kbuild . mine", "plain . mine"]),
        ({"mine.c": "int x;", "mine.h": MINE}, []),
    ],
)  # fmt: skip
def test_the_lines_of_a_source(files: dict[str, str], lines: list[str]) -> None:
    assert Recipe(files).lines == lines


def test_it_is_certain_only_where_the_text_decides() -> None:
    assert Recipe({"mine.c": MINE}).is_certain
    assert not Recipe({"mine.c": MINE, "Makefile": "obj-m := mine.o"}).is_certain
    assert not Recipe({"mine.c": MINE.replace('"mine"', "NAME")}).is_certain
    assert not Recipe({"mine.c": "int x;"}).is_certain


def with_hook(hook: str, function: str, definition: str) -> str:
    return f"{definition}\n{MINE.replace('.owner', f'.{hook} = {function}, .owner')}"


@pytest.mark.parametrize(
    ("hook", "definition", "adapter"),
    [
        ("cong_control", "static void f(struct sock *sk, const struct rate_sample *rs)\n{\n}", "CONG_CONTROL_2"),
        ("cong_control", "static void f(struct sock *sk, u32 a, int b, const struct rate_sample *rs)\n{\n}", "CONG_CONTROL_4"),
        ("pkts_acked", "static void f(struct sock *sk, u32 n, s32 rtt)\n{\n}", "PKTS_ACKED_3"),
        ("cwnd_event_tx_start", "static void f(struct sock *sk)\n{\n}", "TX_START"),
        ("pkts_acked", "static void f(struct sock *sk, const struct ack_sample *s)\n{\n}", ""),
        ("tso_segs", "static u32 f(struct sock *sk, unsigned int mss)\n{\n}", "TSO_SEGS_2"),
        ("tso_segs_goal", "static u32 f(struct sock *sk)\n{\n}", "TSO_SEGS_GOAL_1"),
        # The source chooses by the kernel's version.
        ("cong_control", "#if A\nstatic void f(struct sock *sk, int a)\n{\n}\n#else\nstatic void f(struct sock *sk, int a, int b, int c)\n{\n}\n#endif", ""),
        ("cong_control", "#if A\nstatic void f(struct sock *sk, int a)\n#else\nstatic void f(struct sock *sk, int a, int b, int c)\n#endif\n{\n}", ""),
    ],
)  # fmt: skip
def test_a_hook_of_another_kernel_gets_an_adapter(hook: str, definition: str, adapter: str) -> None:
    found = Recipe({"mine.c": with_hook(hook, "f", definition)}).adapters
    if not adapter:
        assert found == {}
        return
    assert f"LH_ADAPT_{adapter}(f, static)\n" in found["mine.c"]
    assert f"#if LH_ADAPTS_{adapter}\n#define f(...) lh_own_f(__VA_ARGS__)\n#endif\n" in found["mine.c"]


def test_an_exported_function_and_one_of_another_module_keep_their_names() -> None:
    law = "void f(struct sock *sk)\n{\n}\n"
    assert Recipe({"mine.c": f"{with_hook('cwnd_event_tx_start', 'f', law)}EXPORT_SYMBOL_GPL(f);"}).adapters == {}
    files = {"mine.c": with_hook("cwnd_event_tx_start", "f", ""), "other.c": law + CONTROL.format("other")}
    assert Recipe(files).adapters == {}


def test_the_hooks_of_events_and_starts_become_one() -> None:
    laws = "static void f(struct sock *sk)\n{\n}\nstatic void g(struct sock *sk, enum tcp_ca_event event)\n{\n}\n"
    source = with_hook("cwnd_event_tx_start", "f, .cwnd_event = g", laws)
    lines = Recipe({"mine.c": source}).adapters["mine.c"]
    assert "LH_ADAPT_TX_START_AND_EVENTS(f, static, g, static)\n" in lines
    assert "#define cwnd_event_tx_start cwnd_event\n" in lines
    assert all(f"#define {name}(...) lh_own_{name}(__VA_ARGS__)\n" in lines for name in "fg")


def test_a_function_in_another_file_is_renamed_there_too() -> None:
    hook = with_hook("cong_control", "f", "")
    found = Recipe({"mine.c": hook, "law.c": "void f(struct sock *sk, const struct rate_sample *rs)\n{\n}"}).adapters
    assert "LH_ADAPT_CONG_CONTROL_2(f, extern)\n" in found["mine.c"]
    assert "#define f(...) lh_own_f(__VA_ARGS__)\n" in found["law.c"]


def test_words_that_had_another_meaning() -> None:
    found = Recipe({"mine.c": f"{MINE} u32 x = tcp_time_stamp;", "law.c": "u32 y = tcp_time_stamp - z;"}).adapters
    assert {name: "#define tcp_time_stamp tcp_jiffies32" in lines for name, lines in found.items()} == {
        "mine.c": True,
        "law.c": True,
    }
    assert Recipe({"mine.c": f"{MINE} u32 x = tcp_time_stamp(tp);"}).adapters == {}
    assert "#define GSO_MAX_SIZE 65536u" in Recipe({"mine.c": f"{MINE} u32 x = GSO_MAX_SIZE;"}).adapters["mine.c"]
    assert Recipe({"mine.c": f"{MINE} u32 x = A ? GSO_MAX_SIZE : GSO_LEGACY_MAX_SIZE;"}).adapters == {}


def test_its_own_functions_come_before_the_projects() -> None:
    assert {"tcp_snd_cwnd", "tcp_snd_cwnd_set", "prandom_u32", "del_timer", "proc_create"} <= our_macros()
    own = "static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp)\n{\n}\n"
    assert Recipe({"mine.c": own + MINE}).adapters == {"mine.c": "#undef tcp_snd_cwnd\n"}


@pytest.mark.parametrize(
    ("hook", "definition", "reason"),
    [
        ("cong_avoid", "static void f(struct sock *sk, u32 ack, u32 in_flight)\n{\n}", "expects the packets in flight as its third argument"),
        ("cong_avoid", "static void f(struct sock *sk, u32 ack, u32 rtt, u32 in_flight, int good)\n{\n}", "has 5 parameters, as cong_avoid() had before 2.6.22"),
        ("cong_control", "static void f(struct sock *sk, int a, int b)\n{\n}", "has 3 parameters; cong_control() has 2 before Linux 6.10, and 4 since"),
        ("cong_avoid", "static void f(struct sock *sk)\n{\n\tx = tcp_time_stamp - tp->rx_opt.rcv_tsecr;\n}", "compares rcv_tsecr with tcp_time_stamp"),
    ],
)  # fmt: skip
def test_another_meaning_is_refused_with_its_line(hook: str, definition: str, reason: str) -> None:
    files = {"mine.c": with_hook(hook, "f", f"/* f(struct sock *sk) {{ */\n\n{definition}")}
    recipe = Recipe(files)
    (refusal,) = recipe.refusals.values()
    assert reason in refusal.reason
    line = 5 if "tcp_time_stamp" in definition else 3
    assert (refusal.file, refusal.line) == ("mine.c", line)
    assert recipe.adapters["mine.c"].startswith(f'#line {line} "mine.c"\n#error longhaul refuses it: ')


def test_a_law_that_has_both_versions_is_not_refused() -> None:
    both = "#if A\nstatic void f(struct sock *sk, u32 ack, u32 in_flight)\n{\n}\n#else\nstatic void f(struct sock *sk, u32 ack, u32 acked)\n{\n}\n#endif"
    assert Recipe({"mine.c": with_hook("cong_avoid", "f", both)}).refusals == {}

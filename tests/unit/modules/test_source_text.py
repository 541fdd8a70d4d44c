"""The text of a source: what it registers, its hooks and its functions, from text alone; and hostile texts, in time that grows with their length."""

from __future__ import annotations

import time

import pytest

from longhaul.orchestrator.modules.recipe import Recipe
from longhaul.orchestrator.modules.source_text import Operations, SourceText, read_text, without_comments

SOURCE = """
/* .name = "comment" */
#define NAME "mine"
static struct tcp_congestion_ops mine_ops __read_mostly = {
	.ssthresh = mine_ssthresh, // .ssthresh = other,
	.cong_avoid = (void *)mine_avoid,
#if OLD
	.cong_control = &mine_control,
#endif
	.flags = TCP_CONG_NEEDS_ECN,
	.owner = THIS_MODULE,
	.name = NAME,
};
static struct tcp_congestion_ops unused = { .name = "unused" };
int init_module(void) { return tcp_register_congestion_control(&mine_ops); }
"""


def read(source: str, **others: str) -> SourceText:
    """The text of tcp_mine.c, with other files as law_h for law.h."""
    files = {"tcp_mine.c": source, **{name.replace("_h", ".h"): text for name, text in others.items()}}
    return read_text({name: without_comments(text) for name, text in files.items()}, "tcp_mine.c")


def test_the_structure_that_it_registers_has_a_name_and_hooks() -> None:
    (operations,) = read(SOURCE).operations()
    hooks = {"ssthresh": "mine_ssthresh", "cong_avoid": "mine_avoid", "cong_control": "mine_control"}
    assert operations == Operations("mine_ops", "mine", hooks)
    assert read(SOURCE).is_certain()


def test_it_reads_what_it_includes_and_nothing_else() -> None:
    source = SOURCE.replace('#define NAME "mine"', '#include "law.h"\n#include <other.h>')
    found = read(source, law_h='#define NAME "law"\n#include "tcp_mine.c"\n', other_h='#define NAME "other"\n')
    assert found.operations()[0].name == "law"
    assert found.includes == {"law.h"}


@pytest.mark.parametrize(
    ("change", "to"),
    [
        ('#define NAME "mine"', ""),
        ('#define NAME "mine"', '#ifdef A\n#define NAME "a"\n#else\n#define NAME "b"\n#endif'),
        (".name = NAME", ".name = {'m'}"),
        (".name = NAME", '.name = "a" NAME'),
        ("\t.name = NAME,\n", ""),
        ("\t.name = NAME,\n", '#if A\n.name = "a",\n#else\n.name = "b",\n#endif\n'),
        ("(&mine_ops)", "(&ops[0])"),
        ("(&mine_ops)", "(ops + 1)"),
        ("(&mine_ops)", "(&other_ops)"),
    ],
    ids=["flag", "two macros", "list", "joined", "no name", "two names", "array", "sum", "elsewhere"],
)
def test_a_name_that_only_the_compiler_knows_is_not_guessed(change: str, to: str) -> None:
    assert change in SOURCE
    assert not read(SOURCE.replace(change, to)).is_certain()


FUNCTIONS = """
static u32 __init
split(struct sock *sk, u32 ack)
{
}
u32 open(void) __must_hold(x) {
}
__bpf_kfunc static void marked(struct sock *sk) __releases__ {
}
struct law *area(struct sock *sk) {
	if (x) {
	}
	else if (y) {
	}
	return call(x) + 1;
}
u32 declared(u32);
#if A
static void twice(int a, int b) {
}
#else
static void twice(int a) {
}
#endif
"""


def test_functions_and_their_parameters() -> None:
    found = {name: [len(one.parameters) for one in all_of] for name, all_of in read(FUNCTIONS).functions.items()}
    assert found == {"split": [2], "marked": [1], "area": [1], "twice": [2, 1]}
    assert read(FUNCTIONS).offers == {"area"}


LONG = 2_000_000
HOSTILE = [
    "/*" * LONG,
    '"\\' * LONG,
    "'" * LONG,
    "a " * LONG,
    "a(" * LONG,
    "a(\n" * LONG,
    "f()\n" * LONG,
    "f()\n" + "__a\n" * LONG,
    "f() " + "_" * 1_900 + "\n" + "_\n" * LONG,
    "f(" + "a,\n" * LONG,
    "\n" * LONG,
    "#\\\n" * LONG,
    "tcp_ca_register(" + "\n" * LONG,
    "tcp_ca_register(x\n" * 200_000,
    "struct\n" * LONG + "tcp_congestion_ops",
    "struct tcp_congestion_ops x = {\n" * 100_000 + "tcp_ca_register(&x)",
    "struct tcp_congestion_ops x[\n" * 100_000,
    "struct tcp_congestion_ops x = {" + ".a\n" * 6_000 + "};tcp_ca_register(&x)",
    ("a " * 900 + "\n") * 2_000,
    '#define A "' + "\n#define B" * 400_000,
    "SEC(\n" * 800_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_text_is_read_in_time_that_grows_with_its_length(text: str) -> None:
    begun = time.process_time()
    recipe = Recipe({"a.c": text[: 4 * 2**20], "Makefile": text[:100_000]})
    assert recipe.question.count("\n") < 10
    # Some 0.5 s; a pattern that goes back would take hours.
    assert time.process_time() - begun < 10


def test_many_files_that_include_a_large_one_are_read_in_bounded_time() -> None:
    register = "int f(void) { return tcp_register_congestion_control(&x); }\n"
    header = ("static int word;\n" * 15_000) + register
    files = {f"a{number}.c": f'#include "a.h"\nint f{number}(void) {{ }}\n' for number in range(199)} | {"a.h": header}
    begun = time.process_time()
    assert len(Recipe(files).lines) == 64
    assert time.process_time() - begun < 20

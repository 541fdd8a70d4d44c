"""Other names for built modules: objects of the host's compiler in the shape of a kernel module."""

from __future__ import annotations

import struct
import subprocess
import time
from pathlib import Path

import pytest

from longhaul.orchestrator.modules.objects import controls_in, renamed

# As in the kernel's headers, without what does not matter here.
_HEADER = """
typedef unsigned long ulong;
struct module { int state; void *list[2]; char name[56]; ulong more[8]; };
struct tcp_congestion_ops { void *functions[11]; char name[16]; void *owner; void *list[2]; int key; };
extern struct module __this_module;
int tcp_register_congestion_control(struct tcp_congestion_ops *ops);
static void f(void) {}
#define OPS(named, ...) {{f, f, f}, named, __VA_ARGS__}
struct module __this_module __attribute__((section(".gnu.linkonce.this_module"))) = {.name = "tcp_mine"};
static const char about[] __attribute__((section(".modinfo"), used, aligned(1))) = "license=GPL\\0name=tcp_mine\\0vermagic=6.12";
"""
_INIT = "int init_module(void) { return tcp_register_congestion_control(&ops); }\n"
MINE = f'static struct tcp_congestion_ops ops = OPS("mine", &__this_module);\n{_INIT}'

TWO = """
static struct tcp_congestion_ops ops = OPS("mine", &__this_module), two = OPS("two", &__this_module);
int init_module(void) { return tcp_register_congestion_control(&ops) | tcp_register_congestion_control(&two); }
"""
ARRAY = """
static struct tcp_congestion_ops ops[2] = {OPS("mine", &__this_module), OPS("two", &__this_module)};
int init_module(void) { for (int i = 0; i < 2; i++) tcp_register_congestion_control(ops + i); return 0; }
"""


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    return tmp_path / "tcp_mine.ko"


def built(file: Path, text: str) -> bytes:
    source = file.with_suffix(".c")
    source.write_text(_HEADER + text)
    command = ["gcc", "-c", "-O2", "-w", "-mcmodel=large", "-fno-pic", "-fno-pie", "-o", str(file), str(source)]
    subprocess.run(command, check=True)
    return file.read_bytes()


def test_names_change_in_place_and_nothing_else(compiled: Path) -> None:
    content = built(compiled, MINE)
    made = renamed(content, "mine", "own_mine", "own-mine")
    assert len(made) == len(content)
    assert made.count(b"own-mine\0") == 1 and made.count(b"own_mine\0") == 1
    assert b"\0from=tcp_mine\0vermagic" in made and b"name=tcp_mine" not in made
    differing = [place for place, (one, other) in enumerate(zip(content, made, strict=True)) if one != other]
    assert len(differing) < 40


def test_names_of_the_greatest_length_fit(compiled: Path) -> None:
    made = renamed(built(compiled, MINE), "mine", "tcp_abcdefghijklmno", "abcdefghijklmno", beside=True)
    assert b"abcdefghijklmno\0" in made and b"tcp_abcdefghijklmno\0" in made


def test_a_control_without_an_owner_is_found_by_its_name(compiled: Path) -> None:
    made = renamed(built(compiled, MINE.replace("&__this_module", "0")), "mine", "own_mine", "own-mine")
    assert made.count(b"own-mine\0") == 1


def test_its_only_control_may_have_any_name_beside_the_kernels(compiled: Path) -> None:
    other = MINE.replace('"mine"', '"other"')
    assert b"wanted\0" in renamed(built(compiled, other), "mine", "tcp_wanted", "wanted", beside=True)


def test_a_structure_that_is_not_registered_keeps_its_name(compiled: Path) -> None:
    fallback = (
        'struct tcp_congestion_ops plain = OPS("mine-reno", &__this_module);\nvoid *later(void) { return &plain; }\n'
    )
    made = renamed(built(compiled, MINE + fallback), "mine", "own_mine", "own-mine")
    assert b"mine-reno\0" in made and b"own-mine\0" in made


def test_registering_twice_or_later_is_registering_one(compiled: Path) -> None:
    again = "int again(void) { return tcp_register_congestion_control(&ops) + 1; }\n"
    assert b"own-mine\0" in renamed(built(compiled, MINE + again), "mine", "own_mine", "own-mine")


def test_exports_are_withdrawn(compiled: Path) -> None:
    exported = 'ulong entry[2] __attribute__((section("__ksymtab_gpl"))) = {(ulong)f, (ulong)about};\n'
    content = built(compiled, MINE + exported)

    def sizes(of: bytes) -> dict[str, int]:
        (at,), (count, names) = struct.unpack_from("<Q", of, 40), struct.unpack_from("<HH", of, 60)
        rows = [struct.unpack_from("<IIQQQQIIQQ", of, at + 64 * place) for place in range(count)]
        start = rows[names][4]
        return {of[start + row[0] : of.index(b"\0", start + row[0])].decode(): row[5] for row in rows}

    kept = sizes(renamed(content, "mine", "own_mine", "own-mine"))
    gone = sizes(renamed(content, "mine", "tcp_new", "new", beside=True))
    assert (kept["__ksymtab_gpl"], gone["__ksymtab_gpl"], gone[".rela__ksymtab_gpl"]) == (16, 0, 0)


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        (MINE.replace('"mine"', '"other"'), r'\.name = "mine" in its struct tcp_congestion_ops; it registers other'),
        (f"static struct tcp_congestion_ops ops;\n{_INIT}", r'\.name = "mine" among its variables; it has none'),
    ],
    ids=["another name", "no name in its data"],
)
def test_other_controls_are_refused(compiled: Path, text: str, needed: str) -> None:
    with pytest.raises(ValueError, match=needed):
        renamed(built(compiled, text), "mine", "own_mine", "own-mine")


@pytest.mark.parametrize("text", [TWO, ARRAY], ids=["two", "an array"])
def test_of_several_controls_one_gets_the_name_and_no_other_keeps_its_own(compiled: Path, text: str) -> None:
    content = built(compiled, text)
    assert controls_in(content) == ["mine", "two"]
    names = controls_in(renamed(content, "two", "own_two", "given"))
    assert len(names) == 2 and "given" in names and not {"mine", "two"} & {*names}


def test_an_object_that_takes_long_to_read_is_refused(compiled: Path) -> None:
    content = bytearray(built(compiled, MINE))
    # As many sections as a header can count, all over the whole file.
    struct.pack_into("<HH", content, 60, 0xFFFF, 1)
    many = bytes(content) + b"\xff" * (64 * 0xFFFF)
    begun = time.process_time()
    with pytest.raises(ValueError, match="a module"):
        renamed(many, "mine", "own_mine", "own-mine")
    assert time.process_time() - begun < 1


def test_a_malformed_object_is_refused(compiled: Path) -> None:
    content = built(compiled, MINE)
    for broken in (b"", b"\x7fELF", content[:200], content[: len(content) // 2], content.replace(b"name=", b"nome=")):
        with pytest.raises(ValueError, match="a kernel module for x86-64"):
            renamed(broken, "mine", "own_mine", "own-mine")
    for place in range(0, len(content), 7):
        # Any damage gives an object or a sentence, never another error.
        damaged = content[:place] + b"\xff" + content[place + 1 :]
        try:
            assert len(renamed(damaged, "mine", "own_mine", "own-mine", beside=True)) == len(content)
        except ValueError as error:
            assert str(error)

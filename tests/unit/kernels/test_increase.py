"""kmod/lh_increase.h compiled for this machine: growth by fractions of a segment, exact at any window and any ACK."""

from __future__ import annotations

import subprocess
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.folders import REPOSITORY
from tests.support.programs import run_program

KMOD = REPOSITORY / "kmod"

# The kernel's names that the header uses, for a program.
KERNEL = """
#include <stdint.h>
typedef uint32_t u32;
typedef uint64_t u64;
#define min(a, b) ((a) < (b) ? (a) : (b))
#define min_t(type, a, b) min((type)(a), (type)(b))
#define div64_u64(a, b) ((a) / (b))
"""

# Reads rate, window and the ACKs' segments; prints the window after each ACK.
PROGRAM = """
#include <stdio.h>
#include "lh_increase.h"
int main(void)
{
	u64 credit = 0;
	u32 rate, cwnd, acked;

	while (scanf("%u %u", &rate, &cwnd) == 2) {
		for (credit = 0; scanf("%u", &acked) == 1 && acked;) {
			cwnd += lh_increase(&credit, cwnd, acked, rate);
			printf("%u ", cwnd);
		}
		printf("\\n");
		fflush(stdout);
	}
	return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("increase")
    (folder / "linux").mkdir()
    (folder / "linux" / "math64.h").write_text(KERNEL)
    (folder / "linux" / "minmax.h").write_text("")
    (folder / "increase.c").write_text(PROGRAM)
    binary = folder / "increase"
    subprocess.run(
        ["gcc", "-O1", "-fsanitize=undefined", "-fno-sanitize-recover", "-I", folder, "-I", KMOD, "-o", binary, folder / "increase.c"],
        check=True,
    )  # fmt: skip
    return binary


def windows(program: Path, rate: int, cwnd: int, acks: list[int]) -> list[int]:
    words = f"{rate} {cwnd} {' '.join(map(str, acks))} 0\n"
    done = run_program([program], input=words, check=True)
    return [int(word) for word in done.stdout.split()]


@pytest.mark.parametrize("segments", [1, 3])
def test_two_million_segments_still_grow(program: Path, segments: int) -> None:
    """Where 10^6 / cwnd would be 0: one window's ACKs give the segments of lambda."""
    cwnd = 2_000_000
    assert windows(program, segments * 1024, cwnd, [2] * (cwnd // 2 + 5))[-1] == cwnd + segments


@given(
    rate=st.integers(1, 2**28),
    cwnd=st.integers(2, 9_000_000),
    acks=st.lists(st.integers(1, 65_535), min_size=1, max_size=40),
)
@settings(max_examples=150, derandomize=True)
def test_nothing_is_lost_and_nothing_is_faster_than_slow_start(
    program: Path, rate: int, cwnd: int, acks: list[int]
) -> None:
    before, credit = cwnd, Fraction(0)
    for acked, after in zip(acks, windows(program, rate, cwnd, acks), strict=True):
        credit += Fraction(acked * rate, 1024 * before)
        grown = after - before
        assert 0 <= grown <= acked + 1
        # Whole segments are added at once; the rest is at most one segment.
        if grown <= acked and credit < acked:
            assert abs(credit - grown) <= 1 + Fraction(1, 1000)
            credit -= grown
        else:
            credit = Fraction(0)
        credit = min(credit, Fraction(1)) * before / after
        before = after


@given(cwnd=st.integers(2, 100_000), acks=st.lists(st.integers(1, 100), min_size=1, max_size=60))
@settings(max_examples=150, derandomize=True)
def test_at_one_segment_a_window_it_is_the_kernels_own_increase(program: Path, cwnd: int, acks: list[int]) -> None:
    """tcp_cong_avoid_ai(), written again from its description."""
    expected, count, window = [], 0, cwnd
    for acked in acks:
        bound = window
        if count >= bound:
            count = 0
            window += 1
        count += acked
        if count >= bound:
            window += count // bound
            count %= bound
        expected.append(window)
    assert windows(program, 1024, cwnd, acks) == expected

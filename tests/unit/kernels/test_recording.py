"""The arithmetic of recorded links (kmod/recording.h), compared with fractions on drawn tables and packets."""

from __future__ import annotations

import math
import random
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from longhaul.orchestrator.system.installation import KMOD
from tests.support.programs import run_program

Rows = Sequence[tuple[int, int]]
_SECOND = 10**9


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The header as a program of this machine."""
    folder = tmp_path_factory.mktemp("recording")
    (folder / "linux").mkdir()
    for header in ("math64.h", "types.h"):
        (folder / "linux" / header).write_text("")
    text = (KMOD / "lh_link.h").read_text().replace("__u64", "uint64_t").replace("__u32", "uint32_t")
    (folder / "lh_link.h").write_text(text)
    shutil.copy(KMOD / "recording.h", folder)
    program = folder / "driver"
    source = Path(__file__).with_name("recording_driver.c")
    warnings = ("-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover")
    subprocess.run(["gcc", "-O1", *warnings, "-I", folder, "-o", program, source], check=True)
    return program


def _ask(
    driver: Path, opportunities: bool, end: int, rows: Rows, packets: Rows, instants: Sequence[int]
) -> tuple[list[int], list[int]]:
    numbers = [int(opportunities), end, len(rows), *(part for row in rows for part in row)]
    numbers += [len(packets), *(part for packet in packets for part in packet), len(instants), *instants]
    done = run_program([driver], input=" ".join(map(str, numbers)), check=True)
    answers = list(map(int, done.stdout.split()))
    return answers[: len(packets)], answers[len(packets) :]


@dataclass(frozen=True)
class _Turns:
    """A table with its repeats."""

    rows: Rows
    end: int

    def row(self, number: int) -> tuple[int, int]:
        turn, place = divmod(number, len(self.rows))
        at, value = self.rows[place]
        return turn * self.end + at, value

    def after(self, number: int) -> int | None:
        """Where the next row begins."""
        return None if not self.end and number + 1 == len(self.rows) else self.row(number + 1)[0]


def _leave_at_rates(table: _Turns, packets: Rows) -> list[int]:
    """Exact: each packet begins where the one before ended, in fractions of a nanosecond, or when it comes."""
    now, leaves, number = Fraction(0), [], 0
    for look, size in packets:
        # A packet that comes within the nanosecond in which the line ends one uses the rest of that nanosecond.
        if look > math.ceil(now):
            now = Fraction(look)
        need = Fraction(size * 8)
        while True:
            end, rate = table.after(number), table.row(number)[1]
            room = None if end is None else max((end - now) * rate / _SECOND, Fraction(0))
            if rate and (room is None or need <= room):
                now += need * _SECOND / rate
                break
            assert room is not None and end is not None
            need -= room
            now, number = max(now, Fraction(end)), number + 1
        leaves.append(math.ceil(now))
    return leaves


def _leave_at_opportunities(table: _Turns, packets: Rows) -> list[int]:
    leaves, number, used = [], 0, 0
    for look, size in packets:
        while table.row(number)[0] < look or size > table.row(number)[1] - used:
            if table.row(number)[0] >= look:
                size -= table.row(number)[1] - used
            number, used = number + 1, 0
        used += size
        leaves.append(table.row(number)[0])
    return leaves


def _drawn(seed: int, opportunities: bool) -> tuple[int, Rows, Rows]:
    """The end of a table, its rows and packets that come in bursts and pauses."""
    draw = random.Random(seed)
    count, step = draw.randint(1, 60), draw.choice([1, 1000, 10**6, 10**7])
    instants = sorted({0, *(draw.randint(1, count * step) for _ in range(count - 1))})
    values = [1, 1500, 6000, 0] if opportunities else [8, 9999, 10**6, 12_345_678, 10**9, 10**10, 10**11, 0]
    rows = [(at, draw.choice(values)) for at in instants]
    rows[0] = (0, draw.choice([value for value in values if value > 1000]))
    end = instants[-1] + draw.randint(1, 2 * step) if opportunities or draw.random() < 0.7 else 0
    if not end:
        rows[-1] = (rows[-1][0], 10**9)
    # A turn that carries hardly anything would have millions of turns for a packet.
    carried = sum(value * (after - at) for (at, value), after in zip(rows, [*instants[1:], end], strict=True))
    if end and not opportunities and carried < 200 * 8 * _SECOND:
        end, rows[-1] = 0, (rows[-1][0], 10**9)
    packets, now = [], 0
    for _ in range(draw.randint(1, 200)):
        now += draw.choice([0, 0, 0, 1, 1212, step, draw.randint(0, 3 * step)])
        packets.append((now, draw.choice([1, 66, 577, 1500, 1514, 9014])))
    return end, rows, packets


@pytest.mark.parametrize("seed", range(150))
def test_a_packet_leaves_at_the_first_nanosecond_at_which_it_could_have(driver: Path, seed: int) -> None:
    end, rows, packets = _drawn(seed, opportunities=False)
    leaves, _ = _ask(driver, False, end, rows, packets, [])
    assert leaves == _leave_at_rates(_Turns(rows, end), packets)


@pytest.mark.parametrize("seed", range(150))
def test_an_opportunity_carries_its_bytes_and_no_more(driver: Path, seed: int) -> None:
    end, rows, packets = _drawn(seed, opportunities=True)
    leaves, _ = _ask(driver, True, end, rows, packets, [])
    assert leaves == _leave_at_opportunities(_Turns(rows, end), packets)


@pytest.mark.parametrize("opportunities", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_the_bytes_offered_are_those_of_the_table(driver: Path, seed: int, opportunities: bool) -> None:
    end, rows, _ = _drawn(seed, opportunities)
    draw = random.Random(seed)
    longest = 5 * (end or rows[-1][0] + 1)
    instants = [0, *(draw.randint(0, longest) for _ in range(20)), *(at for at, _ in rows[:5])]
    _, offered = _ask(driver, opportunities, end, rows, [], instants)
    table = _Turns(rows, end)
    for instant, found in zip(instants, offered, strict=True):
        exact, number = 0, 0
        while table.row(number)[0] <= instant:
            at, value = table.row(number)
            after = table.after(number)
            exact += value if opportunities else value * (min(instant, instant if after is None else after) - at)
            number += 1
            if after is None:
                break
        assert found == (exact if opportunities else exact // (8 * _SECOND))


def test_a_constant_rate_loses_nothing_to_whole_nanoseconds(driver: Path) -> None:
    """A frame of 1514 bytes takes 1211.2 ns at 10 Gbit/s: five take 6056."""
    leaves, _ = _ask(driver, False, 0, [(0, 10**10)], [(0, 1514)] * 5000, [])
    assert leaves[:6] == [1212, 2423, 3634, 4845, 6056, 7268]
    assert leaves[-1] == 5000 * 1514 * 8 // 10


def test_a_recording_that_is_over_carries_nothing(driver: Path) -> None:
    over = (2**63 - 1) // 2
    assert _ask(driver, True, 0, [(5, 1500)], [(0, 1500), (6, 66)], [4, 5, 100]) == ([5, over], [0, 1500, 1500])
    assert _ask(driver, False, 0, [(0, 12_000), (10**9, 0)], [(0, 1500), (0, 1)], [10**10]) == ([10**9, over], [1500])

"""The page of benchmarks: its content for a recorded measurement; a short measurement makes no page."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.bench import page
from tests.bench.bench import PARTS
from tests.support.folders import DATA

SHORT = DATA / "bench/short.json"
RECORDED: dict[str, Any] = json.loads(SHORT.read_text())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of result and page, still empty."""
    monkeypatch.setattr(page, "RESULT", tmp_path / "bench.json")
    monkeypatch.setattr(page, "PAGE", tmp_path / "benchmarks.md")
    return tmp_path


def test_every_part_has_its_place_on_the_page() -> None:
    assert set(page.PARTS) == set(PARTS)


def test_it_states_cases_machine_date_and_command() -> None:
    text = page.page(RECORDED)
    for fact in ("Intel(R) Xeon(R)", "6.12.117-longhaul", "2026-11-22", "make bench BENCH=", "12.34"):
        assert fact in text
    for row in RECORDED["rows"]:
        assert row["case"] in text
        assert row["note"] in text


def test_a_table_has_a_row_a_case_and_marks_missed_targets() -> None:
    (row,) = (line for line in page.page(RECORDED).splitlines() if line.startswith("| 1,000 on 1 Gbit/s"))
    assert (
        row
        == "| 1,000 on 1 Gbit/s × 40 ms | 0.212 (missed) | ≥ 0.3 | virtual s / wall s | 10.96 CPU us a segment; the guest 169 MB |"
    )


def test_a_case_that_could_not_be_measured_has_no_number() -> None:
    assert "Mininet in a guest | - |" in page.page(RECORDED)
    assert "## Not measured" not in page.page(RECORDED)
    broken = deepcopy(RECORDED) | {"not_measured": ["speed: no kernel"]}
    assert page.page(broken).rstrip().endswith("## Not measured\n\n- speed: no kernel")


def test_parts_without_rows_are_left_out() -> None:
    text = page.page(RECORDED)
    assert "## Many flows" in text
    assert "## Against ns-3" not in text


def test_a_short_measurement_makes_no_page(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert page.main() == 2
    assert "make bench" in capsys.readouterr().err
    (place / "bench.json").write_text(SHORT.read_text())
    assert page.main() == 2
    assert "without options" in capsys.readouterr().err
    assert not (place / "benchmarks.md").exists()


def test_a_whole_measurement_makes_a_page(place: Path) -> None:
    whole = RECORDED | {"measured": RECORDED["measured"] | {"whole": True}}
    (place / "bench.json").write_text(json.dumps(whole))
    assert page.main() == 0
    assert (place / "benchmarks.md").read_text() == page.page(whole)

"""The hash of formulas: which changes of their modules do not cause kept runs to be evaluated again."""

from __future__ import annotations

import ast
import gc
from collections.abc import Callable
from pathlib import Path

import pytest

from longhaul.orchestrator.analysis import measures
from longhaul.orchestrator.execution import formulas

BEFORE = '''"""Some measures."""

from __future__ import annotations

import numpy as np

from orchestrator.run import Run


# As the paper has it.
def share(run: Run) -> float:
    """A flow's part."""
    import math

    return math.floor(np.mean([1.0, 2.0]))  # rounded down
'''


@pytest.mark.parametrize(
    ("written", "instead", "same"),
    [
        ("orchestrator.run", "longhaul.orchestrator.plan.run", True),
        ("from orchestrator.run import Run", "from longhaul.orchestrator.plan import (\n    Run,\n)", True),
        ('"""Some measures."""', '"""Measures of runs.\n\nOne formula each.\n"""', True),
        ("# As the paper has it.\n", "", True),
        ('    """A flow\'s part."""\n', "", True),
        ("\n\n\n", "\n", True),
        ("2.0", "3.0", False),
        ("floor", "ceil", False),
        ("def share", "def part", False),
    ],
)
def test_only_code_that_computes_changes_the_hash(written: str, instead: str, same: bool) -> None:
    assert written in BEFORE
    after = BEFORE.replace(written, instead)
    assert (formulas.formulas_of(after) == formulas.formulas_of(BEFORE)) == same


def test_the_same_formulas_under_an_earlier_hash_are_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formulas, "SAME_FORMULAS", {"before": formulas.measured_by(), "long ago": "before"})
    assert formulas.is_current(formulas.measured_by())
    assert formulas.is_current("before")
    assert not formulas.is_current("long ago")
    assert not formulas.is_current("another")
    assert not formulas.is_current(None)


def test_the_hash_in_the_cache_is_that_of_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path / "cache"))
    read: list[str] = []
    code_of = formulas.formulas_of

    def noted(source: str) -> str:
        read.append(source)
        return code_of(source)

    monkeypatch.setattr(formulas, "formulas_of", noted)

    def found() -> tuple[str, bool]:
        read.clear()
        return formulas.measured_by.__wrapped__(), bool(read)

    wanted, _ = found()
    assert found() == (wanted, False)
    (file,) = (tmp_path / "cache/formulas").iterdir()
    for damaged in ("", "0" * 12, file.read_text().replace(wanted, "0" * 12), "one two three"):
        file.write_text(damaged)
        assert found() == (wanted, True)
        assert found() == (wanted, False)
    file.unlink()
    file.mkdir()
    assert found() == (wanted, True)
    monkeypatch.setenv("LONGHAUL_CACHE", "/proc/nowhere")
    assert found() == (wanted, True)
    assert wanted == formulas.measured_by()


def test_formulas_are_read_while_another_thread_reads_source() -> None:
    """CPython shares a counter between the two; the finalizer of garbage stands for the other thread."""
    text = Path(str(measures.__file__)).read_text()
    wanted = formulas.formulas_of(text)

    class Garbage:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            ast.parse("1 + 1")

    frequency = gc.get_threshold()
    try:
        for depth in range(3):
            gc.collect()
            gc.set_threshold(10)
            Garbage()
            assert _below(depth, lambda: formulas.formulas_of(text)) == wanted
    finally:
        gc.set_threshold(*frequency)


def _below(depth: int, call: Callable[[], str]) -> str:
    """Call a function further down the stack."""
    return call() if depth == 0 else _below(depth - 1, call)

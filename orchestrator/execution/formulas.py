"""The formulas that turn a trace into numbers, as a hash of their source: the `measured_by` of a document.

A formula is not loaded for this, so that a kept run whose numbers are today's is answered without any of them.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from longhaul.orchestrator.system.errors import LonghaulError
from longhaul.orchestrator.system.files import write_whole
from longhaul.orchestrator.system.settings import cache_folder

# All modules of longhaul.orchestrator that turn a trace into numbers, and the checks of these numbers.
FORMULAS = (
    "plan.wifi_airtime",
    "plan.wifi_airtime_ht",
    "analysis.fidelity.cpu_budget",
    "analysis.fidelity.devices",
    "analysis.fidelity.dscp",
    "analysis.expect",
    "analysis.fairness",
    "analysis.fidelity.checks",
    "analysis.fidelity.queue_checks",
    "analysis.measures",
    "analysis.unqueued_drops",
    "analysis.fidelity.policing",
    "analysis.programs",
    "analysis.fidelity.offered",
    "analysis.fidelity.replays",
    "analysis.fidelity.host_fidelity",
    "analysis.fidelity.senders",
    "analysis.traffic.requests",
    "analysis.series",
    "analysis.traffic.totals",
    "analysis.cwnd",
    "analysis.dual_queue",
    "analysis.fidelity.l4s",
    "analysis.fidelity.programs",
    "analysis.fidelity.requests",
    "analysis.fidelity.transfers",
    "analysis.fidelity.wireless",
    "analysis.values",
)

_PARSE_TRIES = 10

# Earlier hashes of formulas that compute the same: their runs are not evaluated again.
SAME_FORMULAS = dict.fromkeys(
    (
        "8dd13e60b14f",
        "efa6d239be3e",
        "3b467774ee1e",
        "d93c343051bb",
        "0e62fa02c347",
        "8f0888a258f3",
        "6f204bd04afa",
        "bdf161e1db69",
        "22ce21b1a038",
        "897393ced42e",
        "b0b4f4b99bc5",
        "5bb6d90e854c",
        "0820888b8f8a",
    ),
    "c4802f1adc82",
)


@cache
def measured_by() -> str:
    """A hash of the code of every formula.

    Finding the code in the text takes longer than all else of an answer, so the cache has the hash of each text that was read before.
    """
    texts = [source_of(name).read_text() for name in FORMULAS]
    text = hashlib.sha256(json.dumps([Path(__file__).read_text(), *texts]).encode()).hexdigest()
    file = cache_folder() / "formulas" / text
    with contextlib.suppress(OSError, ValueError):
        found, seal = file.read_text().split()
        if seal == _seal(text, found):
            return found
    code = hashlib.sha256("".join(map(formulas_of, texts)).encode()).hexdigest()[:12]
    with contextlib.suppress(OSError, LonghaulError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, f"{code} {_seal(text, code)}\n")
    return code


def _seal(text: str, code: str) -> str:
    """What a damaged file of the cache does not have."""
    return hashlib.sha256(f"{text} {code}".encode()).hexdigest()[:12]


def source_of(name: str) -> Path:
    """The file of a module of longhaul.orchestrator."""
    return Path(__file__).parents[1].joinpath(*name.split(".")).with_suffix(".py")


def formulas_of(source: str) -> str:
    """The lines of a module that compute: imports, docstrings and comments may change."""
    tree, lines = _parse(source), source.splitlines()
    for node in _statements(tree):
        imports = isinstance(node, ast.Import | ast.ImportFrom)
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if imports or text:
            for line in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[line] = ""
    return "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("#"))


def _statements(block: ast.AST) -> Iterator[ast.stmt]:
    """Every statement below, without a walk through expressions, which have none."""
    for part in ("body", "orelse", "handlers", "finalbody", "cases"):
        for node in getattr(block, part, ()):
            if isinstance(node, ast.stmt):
                yield node
            yield from _statements(node)


def _parse(source: str) -> ast.Module:
    """The tree of a module, also beside threads that parse or print tracebacks.

    CPython counts the depth of the trees of all threads in one place, so one of two may get a SystemError; it does not if it
    tries again.
    """
    for _ in range(_PARSE_TRIES - 1):
        try:
            return ast.parse(source)
        except SystemError:
            continue
    return ast.parse(source)


def is_current(code: str | None) -> bool:
    """Whether the formulas of this hash compute the same as today's."""
    return SAME_FORMULAS.get(str(code), code) == measured_by()

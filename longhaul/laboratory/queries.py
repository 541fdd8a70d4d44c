"""Questions in SQL over the kept runs of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import load_settings

if TYPE_CHECKING:
    from longhaul.results.frames import Library


def query(sql: str, *, sweep: str | None = None, library: Library | None = None, memory: str = "1 GB") -> Any:
    """The answer to one SELECT over kept runs, or over those of a sweep: a table of pandas, polars or pyarrow.

    The tables are those of `longhaul query --tables`. By default the first of these libraries that is installed.
    """
    from longhaul.orchestrator.analysis.query.engine import Engine
    from longhaul.results.frames import as_frame

    with Engine(Store(load_settings()), sweep, memory) as engine:
        return as_frame(engine.arrow(sql), library)

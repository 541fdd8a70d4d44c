"""Two runs or results compared, paired by point and seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.analysis.compare import Row
from longhaul.orchestrator.analysis.report.comparison_text import cells, count_text, difference_line, shown_rows
from longhaul.results.document import Documented
from longhaul.results.tables import text_table

if TYPE_CHECKING:
    from longhaul.orchestrator.analysis.trace_differences import TraceDifference
    from longhaul.results.frames import Library


class Comparison(Documented):
    """A comparison. Its keys are those of the document that `longhaul compare --json` prints (docs/comparing.md)."""

    @property
    def ok(self) -> bool:
        """Whether no gated measure is worse in B."""
        return bool(self["ok"])

    @property
    def identical(self) -> bool:
        """Whether the traces of every pair are identical to the byte."""
        return bool(self["identical"])

    @property
    def verdict(self) -> str:
        """The comparison in one sentence."""
        return str(self["verdict"])

    @property
    def trace_differences(self) -> list[TraceDifference] | None:
        """The first difference of each pair whose traces differ; None if the comparison was made without `trace`."""
        from longhaul.orchestrator.analysis.trace_differences import TraceDifference

        found = self.get("trace_differences")
        if found is None:
            return None
        return [TraceDifference(**{name: one[name] for name in one if name != "text"}) for one in found]

    @property
    def notes(self) -> list[str]:
        """Remarks besides the numbers: runs without a partner, failed runs, other kernels."""
        return list(self["notes"])

    @property
    def rows(self) -> list[Row]:
        """A row for each point and measure, with its verdict."""
        return [Row(**row) for row in self["measures"]]

    def frame(self, library: Library | None = None) -> Any:
        """The rows as a table: of pandas, polars or pyarrow, by default the first that is installed."""
        from longhaul.results.frames import as_frame, rows_table

        rows = [row | row["point"] for row in self["measures"]]
        return as_frame(
            rows_table([{name: value for name, value in row.items() if name != "point"} for row in rows]), library
        )

    def table(self, *, everything: bool = False) -> list[dict[str, str]]:
        """The rows as text: gated and changed ones, or all."""
        return [cells(row) for row in shown_rows(self.rows, everything=everything)]

    def __str__(self) -> str:
        lines = [difference_line(one) for one in self.trace_differences or []]
        return "\n".join(filter(None, [self._sides(), text_table(self.table()), *self.notes, self.verdict, *lines]))

    def __repr__(self) -> str:
        return f"<Comparison of {self['a']} and {self['b']}: {self.verdict}>"

    def _sides(self) -> str:
        return f"A: {self['a']}, B: {self['b']} ({count_text(len(self['pairs']), 'pair')})"

    def _repr_html_(self) -> str:
        from longhaul.results.html import lines_html, table_html

        return lines_html([self.verdict]) + table_html(self.table(), self._sides()) + lines_html(self.notes)

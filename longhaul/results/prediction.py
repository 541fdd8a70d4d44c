"""The answer of a prediction: a row for each congestion control and number of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.system.units import format_rate, format_size
from longhaul.results.document import Documented
from longhaul.results.tables import text_table

if TYPE_CHECKING:
    from longhaul.results.frames import Library


class Prediction(Documented):
    """A prediction. Its keys are those of the document that `longhaul predict --json` prints."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The candidates, the fastest first."""
        return list(self["rows"])

    @property
    def best(self) -> dict[str, Any] | None:
        """The fastest candidate; None if no time is known."""
        return next((row for row in self.rows if row["seconds"] is not None), None)

    def frame(self, library: Library | None = None) -> Any:
        """The candidates as a table: of pandas, polars or pyarrow, by default the first that is installed."""
        from longhaul.results.frames import as_frame, rows_table

        kept = ("cc", "streams", "how", "seconds", "low_s", "high_s", "rate_bps", "buffer_bytes", "loss_epochs")
        rows = [
            {name: row[name] for name in kept} | {"harm": row["harm"] and row["harm"]["share"]} for row in self.rows
        ]
        return as_frame(rows_table(rows), library)

    def table(self) -> list[dict[str, str]]:
        """The candidates as text."""
        return [
            {
                "control": row["cc"],
                "streams": str(row["streams"]),
                "time": "-" if row["seconds"] is None else long_time(row["seconds"]),
                "95 % interval": "-"
                if row["low_s"] is None
                else f"{long_time(row['low_s'])} to {long_time(row['high_s'])}",
                "rate": format_rate(float(row["rate_bps"])),
                "socket buffers": format_size(row["buffer_bytes"]) if row["buffer_bytes"] < 10**6 else _megabytes(row),
                "a CUBIC flow loses": "-" if row["harm"] is None else f"{max(0.0, row['harm']['share']):.0%}",
                "from": how_known(row),
            }
            for row in self.rows
        ]

    def __str__(self) -> str:
        return text_table(self.table())

    def __repr__(self) -> str:
        return f"<Prediction of {format_size(self['size_bytes'])}: {len(self.rows)} candidates>"

    def _repr_html_(self) -> str:
        from longhaul.results.html import table_html

        return table_html(self.table(), repr(self).strip("<>"))


def how_known(row: dict[str, Any]) -> str:
    """In a few words, what a row's time is from."""
    if row["how"] == "steady":
        if row["fills_line"]:
            return "steady state: fills the line"
        return f"steady state, {row['loss_epochs']} loss epochs"
    if row["how"] == "whole":
        return f"whole transfers: {row['why']}"
    return f"undecided: {row['why']}"


def long_time(seconds: float) -> str:
    """Seconds as a person reads them, to three digits."""
    for unit, length in (("days", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"


def _megabytes(row: dict[str, Any]) -> str:
    return f"{row['buffer_bytes'] / 1e6:.0f} MB"

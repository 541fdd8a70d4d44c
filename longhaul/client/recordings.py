"""The calls of the client about recordings of links: sent once, then named by the hash of their content in experiments."""

from __future__ import annotations

import csv
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import TypeAdapter

from longhaul.api.schemas.experiments import ROOT
from longhaul.api.schemas.recordings import (
    KeptRecording,
    ModelAsked,
    RecordingModel,
    RecordingRow,
    RecordingShown,
)
from longhaul.client.connection import Connection
from longhaul.orchestrator.system.errors import NotFound, PlanError

_SENDING = "sending the recording"
_LONGEST_NAME = 120
# The service reads a recording as a whole before it responds.
_READING_S = 1800.0


class Recordings:
    """Calls on one connection."""

    _connection: Connection

    def recordings(self) -> list[RecordingRow]:
        """The recordings that the service keeps."""
        answer = self._connection.ask("GET", f"{ROOT}/recordings")
        return TypeAdapter(list[RecordingRow]).validate_json(answer.content, extra="ignore")

    def send_recording(
        self,
        file: Path,
        *,
        format: str | None = None,
        columns: Mapping[str, str] | None = None,
        step: str | None = None,
    ) -> KeptRecording:
        """Send the file of a recording; needs the scope run. The service takes text: a Parquet table is sent as CSV with the same rows."""
        query = {"format": format, "step": step, **(columns or {})}
        with as_text(file) as text, text.open("rb") as content:
            # A file object has its length, so that one above the limit is refused before it is sent.
            answer = self._connection.ask(
                "POST",
                f"{ROOT}/recordings",
                repeatable=False,
                longest_s=_READING_S,
                params={"name": _name(text), **{name: value for name, value in query.items() if value is not None}},
                content=content,
                headers={"Content-Type": "application/octet-stream"},
            )
        return KeptRecording.model_validate_json(answer.content, extra="ignore")

    def recording(
        self,
        reference: str,
        *,
        format: str | None = None,
        columns: Mapping[str, str] | None = None,
        step: str | None = None,
        begin: str = "0 s",
        length: str | None = None,
    ) -> RecordingShown:
        """A recording in numbers, and a part of it; arguments as for `longhaul.describe_recording`."""
        query = {"format": format, "step": step, "from": begin, "for": length, **(columns or {})}
        answer = self._connection.ask(
            "GET",
            f"{ROOT}/recordings/{_hash(reference)}",
            params={name: value for name, value in query.items() if value is not None},
        )
        return RecordingShown.model_validate_json(answer.content, extra="ignore")

    def delete_recording(self, reference: str) -> None:
        """Delete a recording; needs the scope admin. Runs that replayed it stay."""
        self._connection.ask("DELETE", f"{ROOT}/recordings/{_hash(reference)}")

    def recording_models(self) -> list[RecordingModel]:
        """The models of `recording: {model: ...}`, with their parameters."""
        answer = self._connection.ask("GET", f"{ROOT}/recording-models")
        return TypeAdapter(list[RecordingModel]).validate_json(answer.content, extra="ignore")

    def show_recording_model(
        self, model: str, *, length: str = "60 s", seed: int = 1, parameters: Mapping[str, float] | None = None
    ) -> RecordingShown:
        """What a model makes, of which nothing is kept."""
        asked = ModelAsked(parameters=dict(parameters or {}), length=length, seed=seed)
        answer = self._connection.ask("POST", f"{ROOT}/recording-models/{model}", json=asked.model_dump())
        return RecordingShown.model_validate_json(answer.content, extra="ignore")


@contextmanager
def as_text(file: Path) -> Iterator[Path]:
    """The file of a recording as a text file: a Parquet table as CSV with the same rows; PlanError."""
    if not file.is_file():
        what = "it is not a file" if file.exists() else "there is no such file"
        raise PlanError(_SENDING, str(file), what, "name a file of a recording")
    if file.suffix != ".parquet":
        try:
            yield file
        except OSError as error:
            what = error.strerror or str(error)
            raise PlanError(_SENDING, str(file), what, "name a file of a recording") from error
        return
    from longhaul.orchestrator.recorded_links.parquet import parquet_rows

    with tempfile.TemporaryDirectory(prefix="longhaul-") as folder:
        table = Path(folder, f"{file.stem}.csv")
        with table.open("w", newline="", encoding="utf-8") as text:
            csv.writer(text, lineterminator="\n").writerows(row for _, row in parquet_rows(file, 1 << 15))
        yield table


def _name(file: Path) -> str:
    """The name of a file as the service takes it."""
    return re.sub(r"[^A-Za-z0-9._+@ -]", "_", file.name)[-_LONGEST_NAME:].lstrip("._+@ -") or "recording"


def _hash(reference: str) -> str:
    if not re.fullmatch("sha256:[0-9a-f]{64}", reference):
        what = "it is not sha256: and 64 hexadecimal digits"
        raise NotFound("looking for the recording", reference, what, "see `longhaul recordings list`")
    return reference.removeprefix("sha256:")

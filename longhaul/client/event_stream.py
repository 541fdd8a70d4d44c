"""Server-sent events for the client: an interrupted stream is resumed after the last event, and no event comes twice.

id: 17  event: run.finished  data: {"at": ..., "run": ..., "status": "done"}   -->   Event(17, "run.finished", ...)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from longhaul.client.connection import Connection, Interrupted
from longhaul.orchestrator.system.errors import ServiceUnavailable


@dataclass(frozen=True, slots=True)
class Event:
    """An event of an experiment or of one of its runs."""

    id: int
    kind: str
    at: str
    run: str | None
    data: dict[str, Any]


def listen(
    connection: Connection, path: str, over: Callable[[Event], bool], ended: Callable[[], bool], last: int = 0
) -> Iterator[Event]:
    """The events after `last`, up to the final one. Without events for a while, `ended` is asked whether more will come."""
    patience = connection.patience()
    while True:
        interrupted = Interrupted(
            ServiceUnavailable(
                "following", path, "the stream ends repeatedly", "the service may be stopping; try later"
            )
        )
        try:
            with connection.stream(path, {"Last-Event-ID": str(last), "Accept": "text/event-stream"}) as response:
                for event in _read(response.iter_lines()):
                    patience.renew()
                    if event is None:
                        if ended():
                            return
                        continue
                    if event.id <= last:
                        continue
                    last = event.id
                    yield event
                    if over(event):
                        return
        except Interrupted as raised:
            interrupted = raised
        patience.pause(interrupted)


def _read(lines: Iterator[str]) -> Iterator[Event | None]:
    """Whole events; None for a keep-alive."""
    fields: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            yield None
        elif line:
            name, _, value = line.partition(":")
            fields[name] = fields[name] + "\n" + value.removeprefix(" ") if name in fields else value.removeprefix(" ")
        else:
            if "data" in fields and fields.get("id", "").isdigit():
                data = json.loads(fields["data"])
                about = {key: data.pop(key, None) for key in ("at", "kind", "run")}
                yield Event(int(fields["id"]), fields.get("event", ""), str(about["at"]), about["run"], data)
            fields = {}

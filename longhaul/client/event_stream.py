"""Server-sent events for the client: an interrupted stream is resumed after the last event, and no event comes twice.

id: 17  event: run.finished  data: {"at": ..., "run": ..., "status": "done"}   -->   Event(17, "run.finished", ...)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from longhaul.client.connection import Connection, Interrupted
from longhaul.orchestrator.live.live_series import LiveEvent
from longhaul.orchestrator.system.errors import ServiceUnavailable
from longhaul.orchestrator.system.lazy_dataclasses import dataclass


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
    for message in _messages(connection, path, str(last)):
        if message is None:
            if ended():
                return
            continue
        event = _event(message)
        if event is None or event.id <= last:
            continue
        last = event.id
        yield event
        if over(event):
            return


def watch(connection: Connection, path: str) -> Iterator[LiveEvent]:
    """The events of a running run, up to its end: each sample once."""
    for message in _messages(connection, path, ""):
        if message is None:
            continue
        event = LiveEvent(message.get("event", ""), json.loads(message["data"]))
        yield event
        if event.kind == "end":
            return


def _messages(connection: Connection, path: str, last: str) -> Iterator[dict[str, str] | None]:
    """The fields of each message of a stream that is resumed whenever it ends; None for a keep-alive."""
    patience = connection.patience()
    while True:
        interrupted = Interrupted(
            ServiceUnavailable(
                "following", path, "the stream ends repeatedly", "the service may be stopping; try later"
            )
        )
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last} if last else {})
        try:
            with connection.stream(path, headers) as response:
                for message in _read(response.iter_lines()):
                    patience.renew()
                    last = (message or {}).get("id", last)
                    yield message
        except Interrupted as raised:
            interrupted = raised
        patience.pause(interrupted)


def _read(lines: Iterator[str]) -> Iterator[dict[str, str] | None]:
    fields: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            yield None
        elif line:
            name, _, value = line.partition(":")
            fields[name] = fields[name] + "\n" + value.removeprefix(" ") if name in fields else value.removeprefix(" ")
        else:
            if "data" in fields:
                yield fields
            fields = {}


def _event(message: dict[str, str]) -> Event | None:
    if not message.get("id", "").isdigit():
        return None
    data = json.loads(message["data"])
    about = {key: data.pop(key, None) for key in ("at", "kind", "run")}
    return Event(int(message["id"]), message.get("event", ""), str(about["at"]), about["run"], data)

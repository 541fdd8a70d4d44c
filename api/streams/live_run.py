"""Running runs, for pages that watch them: one thread for each watched run reads its trace, for any number of pages.

    Watchers.joined(run) --> Watch (a thread) --> samples (orchestrator/live) --> stream(...) for each page: samples, each once, then the run's end

A page that reconnects sends the position that it has reached (`Last-Event-ID`) and continues from there, also after a restart of the service,
which reads the same samples from the trace.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Annotated, Any

from fastapi import Depends, Request
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool

from longhaul.api.lab import Lab
from longhaul.api.schemas.experiments import LIVE
from longhaul.orchestrator.database.statuses import KEPT
from longhaul.orchestrator.live.live_series import SAME_AGAIN, SettledSamples, cell_of, step_fields
from longhaul.orchestrator.live.stream import NICE
from longhaul.orchestrator.live.watching import GrowingRun, growing_run
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.system.errors import ResultsError
from longhaul.orchestrator.system.process import lower_priority

_LOG = logging.getLogger("longhaul.api")

_LOOK_S = 0.1
_QUIET_S = 15.0
# A reloaded page finds the samples that were read before.
_LINGER_S = 10.0
# A run that began this long ago and has no folder here runs on another machine.
_ELSEWHERE_S = 3.0
# How often the progress of a repeated attempt is sent.
_REPEATS_S = 0.5
# The longest part of a run in one event, for a page that joins late.
_LONGEST_CELLS = 250


class Watch:
    """One run: `state` is queued, starting, live, elsewhere, or its final status; empty before the first look."""

    def __init__(self, lab: Lab, run_id: str) -> None:
        self.run_id = run_id
        self.state = ""
        self.samples = SettledSamples()
        self.followers = 0
        self.left_s = 0.0
        # Which attempt is being read.
        self.attempts = 0
        self._lab = lab
        self._growing: GrowingRun | None = None
        self._run: Run | None = None
        self._made_as = run_id
        self._readable = True
        self._running_s = 0.0
        self._texts: dict[tuple[str, int, int], bytes] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"watch-{run_id[:8]}", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Stop reading."""
        self._over.set()

    @property
    def idle(self) -> bool:
        """Whether no page has watched for a while."""
        return not self.followers and time.monotonic() - self.left_s > _LINGER_S

    @property
    def ended(self) -> bool:
        """Whether the run has ended and all samples are read."""
        return self.state not in ("", *LIVE, "starting", "live", "elsewhere")

    @property
    def reached_ms(self) -> int:
        """The time that the current attempt has reached: less than the samples reach while it repeats an earlier attempt."""
        growing = self._growing
        return 0 if growing is None else growing.reached_ms

    def text_since(self, attempt: str, position_ms: int) -> tuple[int, bytes] | None:
        """The next event after that time, and the time it reaches; None if there is nothing new."""
        run = self._run
        if run is None or attempt != self.samples.attempt or self.samples.front_ms <= position_ms:
            return None
        step = self.samples.since(position_ms, _LONGEST_CELLS * cell_of(run))
        if step is None:
            return None
        key = (attempt, step.begin_ms, step.end_ms)
        if key not in self._texts:
            if len(self._texts) > 16:
                self._texts.clear()
            self._texts[key] = _event("samples", step_fields(run, step), f"{attempt}.{step.end_ms}")
        return step.end_ms, self._texts[key]

    def _follow(self) -> None:
        lower_priority(NICE)
        while not self._over.wait(_LOOK_S) and not self.ended and not self.idle:
            try:
                self._look()
            except ResultsError:
                # An unreachable database is read again.
                continue
            except Exception as error:  # pages get the run's end whatever its trace contains
                _LOG.warning("watching run %s: %s: %s", self.run_id, type(error).__name__, error)
                self._readable = False
                self._let_go()
        self._let_go()

    def _look(self) -> None:
        self._growing = self._growing or self._found()
        if self._growing is not None and self._growing.look():
            self.state = "live"
            return
        status = self._lab.store.catalog.status(self.run_id) or "failed"
        if status not in LIVE:
            if self._growing is not None:
                self._growing.finish(whole=status in KEPT)
            self.state = status
        elif self._growing is None:
            self.state = self._waiting_as(status)
        elif (fresh := self._found()) is not None:
            self._growing.close()
            self._growing = fresh
        elif status == "queued":
            self.state = status

    def _let_go(self) -> None:
        if self._growing is not None:
            self._growing.close()
        self._growing = None

    def _found(self) -> GrowingRun | None:
        if not self._readable:
            return None
        if self._run is None:
            wanted = self._lab.work.wanted(self.run_id)
            if wanted is None:
                return None
            self._run = Run.from_json(wanted.run)
            # A rerun is written under the id of the run that it repeats.
            self._made_as = wanted.rerun_of or self.run_id
        found = growing_run(self._lab.settings, self._run, self.run_id, self._made_as, self.samples)
        if found is not None:
            self.attempts = self._lab.work.attempts(self.run_id)
        return found

    def _waiting_as(self, status: str) -> str:
        if status == "queued":
            self._running_s = 0.0
            return "queued"
        self._running_s = self._running_s or time.monotonic()
        return "elsewhere" if time.monotonic() - self._running_s > _ELSEWHERE_S else "starting"


class Watchers:
    """The watched runs of one service."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._watches: dict[str, Watch] = {}

    @contextlib.contextmanager
    def joined(self, run_id: str) -> Iterator[Watch]:
        """Watch a run within the context."""
        for key in [key for key, watch in self._watches.items() if watch.idle or (watch.ended and not watch.followers)]:
            self._watches.pop(key).stop()
        watch = self._watches.get(run_id)
        # An ended watch may still have followers, and a cancelled run may run again when it is submitted again.
        if watch is None or watch.ended:
            watch = self._watches[run_id] = Watch(self._lab, run_id)
            watch.followers += 1
            watch.start()
        else:
            watch.followers += 1
        try:
            yield watch
        finally:
            watch.followers -= 1
            watch.left_s = time.monotonic()

    def close(self) -> None:
        """Stop reading."""
        for watch in self._watches.values():
            watch.stop()


async def _watchers(request: Request) -> Watchers:
    watchers: Watchers = request.app.state.watchers
    return watchers


TheWatchers = Annotated[Watchers, Depends(_watchers)]


async def stream(
    watchers: Watchers, run_id: str, last: str, closing: asyncio.Event, welcome: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    """The text of a stream, from after the event `last` on."""
    yield b"retry: 1000\n\n"
    attempt, position, *_ = [*last.split("."), "", ""]
    position_ms, begun, state = int(position or 0), False, ""
    asked_s = spoke_s = repeats_s = time.monotonic()
    repeated = (0, 0)
    # Every event has its own id, since clients take equal ids for a repetition.
    number = itertools.count(int(time.time() * 1000) % 10**9)

    def event_of(kind: str, data: dict[str, Any]) -> bytes:
        return _event(kind, data, f"{attempt or SAME_AGAIN}.{position_ms}.{next(number)}")

    with watchers.joined(run_id) as watch:
        while not closing.is_set():
            ended = watch.ended
            if watch.state != state:
                state = watch.state
                yield event_of("state", {"state": state})
            # Samples may be read a moment before the state is.
            if state and watch.samples.front_ms and (not begun or attempt != watch.samples.attempt):
                # Samples of an earlier attempt no longer count.
                position_ms = position_ms if attempt == watch.samples.attempt else 0
                attempt, begun = watch.samples.attempt, True
                yield event_of("begin", {"from_ms": position_ms, "same_again": attempt == SAME_AGAIN})
            while begun and (event := await run_in_threadpool(watch.text_since, attempt, position_ms)):
                position_ms, text = event
                spoke_s = time.monotonic()
                yield text
            if ended:
                yield event_of("end", {"status": watch.state})
                return
            now = (watch.attempts, watch.reached_ms)
            # A second attempt is reported at once, since the page shows the first.
            due = time.monotonic() - repeats_s > _REPEATS_S or (now[0] > 1 and repeated == (0, 0))
            if watch.state == "live" and due and now != repeated and now[1] < position_ms:
                repeated, repeats_s = now, time.monotonic()
                yield event_of("repeating", {"attempt": now[0], "reached_ms": now[1]})
            if time.monotonic() - asked_s > _QUIET_S:
                if not await welcome():
                    return
                asked_s = time.monotonic()
            if time.monotonic() - spoke_s > _QUIET_S:
                spoke_s = time.monotonic()
                yield b": quiet\n\n"
            await asyncio.sleep(_LOOK_S)


def _event(kind: str, data: dict[str, Any], key: str) -> bytes:
    return f"id: {key}\nevent: {kind}\ndata: ".encode() + to_json(data) + b"\n\n"

"""Run a Mininet script in a guest, and keep what its TCP connections and queues did as a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from longhaul.laboratory.kept_traces import KeptTraces
from longhaul.orchestrator.backends.mininet import MininetBackend
from longhaul.orchestrator.backends.scripts.observed_run import NothingToKeep, request_script
from longhaul.orchestrator.backends.scripts.run_script import Output, ScriptFailed, absolute_words, run_script
from longhaul.orchestrator.execution.runner import Runner
from longhaul.orchestrator.plan.run import Run as PlannedRun
from longhaul.orchestrator.plan.run_identity import run_id
from longhaul.orchestrator.results.staging import Staging
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.kernel_versions import ORDINARY_KERNELS
from longhaul.orchestrator.system.errors import FidelityBroken, PlanError, TraceError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Settings, load_settings
from longhaul.results.run import Run

MN = "/usr/bin/mn"
CLOCKS = ("real", "virtual")
# Folders below them are shown.
_EMPTY_IN_GUESTS = ("/tmp", "/run", "/var/tmp")  # noqa: S108 (names, not files)
_LONGEST_TEXT = 1_000_000


@dataclass(frozen=True, slots=True)
class ScriptEnd:
    """The exit code of a script, and its run; without one, `why` says what there was not to keep.

    `identical` is whether its trace is that of the same script before, which is the one that is kept; None if it is the first.
    """

    code: int
    run: Run | None
    why: str = ""
    identical: bool | None = None


def run_mininet(
    script: str | os.PathLike[str],
    arguments: Sequence[str] = (),
    *,
    kernel: str = ORDINARY_KERNELS[0],
    seed: int = 1,
    clock: str = "virtual",
    keep: bool = True,
    echo: bool = False,
) -> ScriptEnd:
    """Run a Mininet script of this machine in a guest, in virtual time, and keep its run; `mn` is Mininet's own command.

    What it prints is kept with the run, and printed as it comes with `echo`. A script that fails keeps nothing.
    """
    output = Output(sys.stdout.buffer, sys.stderr.buffer) if echo else None
    name = os.fspath(script)
    settings = load_settings()
    request = _request(name, arguments, kernel, seed, clock)
    backend = MininetBackend(settings)
    backend.script_output = output
    identity = backend.identity(request)
    try:
        if not keep:
            with Staging(settings.home) as staging, staging.directory("mininet") as directory:
                run_script(backend.guests, request, directory, output)
            return ScriptEnd(0, None)
        return _run_and_keep(settings, backend, request, identity)
    except ScriptFailed as failed:
        return ScriptEnd(failed.code, None, "the script failed" if keep else "")
    except (NothingToKeep, FidelityBroken, TraceError) as error:
        return ScriptEnd(0, None, error.what)


def _run_and_keep(
    settings: Settings, backend: MininetBackend, request: PlannedRun, identity: Mapping[str, str]
) -> ScriptEnd:
    store, key, script = Store(settings), run_id(request, identity), request.script
    assert script is not None
    spec = {"experiment": request.experiment, "script": script.file, "arguments": list(script.arguments)}
    before = store.find(key)
    with Staging(settings.home) as staging:
        runner = Runner(backend, store)
        document = runner.run_identified(request, key, identity, spec, staging, lambda ns: None, ExitStack())
    identical = None if before is None else before["trace_sha256"] == document["trace_sha256"]
    return ScriptEnd(0, Run(document, KeptTraces(store)), identical=identical)


def _request(name: str, arguments: Sequence[str], kernel: str, seed: int, clock: str) -> PlannedRun:
    if clock not in CLOCKS:
        raise PlanError("running", name, f"there is no clock {clock}", f"known: {', '.join(CLOCKS)}")
    file = Path(MN if name == "mn" else name).absolute()
    try:
        text = file.read_text()
    except FileNotFoundError as error:
        hint = "install mininet" if name == "mn" else ""
        raise PlanError("running", name, "the file does not exist", hint) from error
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is not a text in UTF-8"
        raise PlanError("running", name, what or str(error), "name a script that you may read") from error
    if len(text) > _LONGEST_TEXT:
        raise PlanError(
            "running", name, f"it has more than {_LONGEST_TEXT} characters", "put its data in a file of its own"
        )
    if (folder := str(file.resolve().parent)) in _EMPTY_IN_GUESTS:
        raise PlanError("running", name, f"a guest has an empty {folder} of its own", "move the script to a folder")
    (place, *words) = absolute_words([str(file), *arguments])
    now = datetime.now(UTC).isoformat()
    return request_script(Path(place), text, words, Path.cwd(), kernel=kernel, seed=seed, clock=clock, asked_at=now)

"""The packets of a kept run, if it captured some: made while it ran, and again by running it once more.

    <home>/derived/<first two of id>/<id>/capture.pcapng.zst    the packets (trace/captures.py)
    <home>/derived/<first two of id>/<id>/capture.json          where and how they were captured

They are no part of the run: the same run with another capture has the same id, and the newest packets replace earlier ones.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.plan.captures import BLOCKS, CAPTURE_FILES, EVENTS, interfaces, same_packets
from longhaul.orchestrator.plan.run import Module, Run, point_text
from longhaul.orchestrator.system.errors import TraceError

if TYPE_CHECKING:
    from longhaul.orchestrator.trace.captures import CapturedInterface, CaptureHeader
    from longhaul.orchestrator.trace.records import Trace

PACKETS = "capture.pcapng.zst"
_ABOUT = "capture.json"
PACKET_FILES = (PACKETS, _ABOUT)


def pack_packets(directory: Path, run: Run, run_id: str, trace: Trace) -> Path:
    """Take the packets out of a finished run directory, as a file next to it."""
    from longhaul.orchestrator.trace.captures import write_pcapng

    if missing := [name for name in CAPTURE_FILES if not (directory / name).is_file()]:
        what = f"the guest left no {missing[0]}"
        raise TraceError("keeping packets of", run.experiment, what, "rebuild the kernel modules with `make kernel`")
    packed = directory.with_name(f"{directory.name}-{PACKETS}")
    header = _header(run, run_id, json.loads((directory / "facts.json").read_text()))
    with packed.open("wb") as file:
        write_pcapng(directory / BLOCKS, directory / EVENTS, header, trace.drops, file)
    for name in CAPTURE_FILES:
        (directory / name).unlink()
    return packed


def keep_packets(packed: Path, derived: Path, run: Run, same_trace: bool) -> None:
    """Put packets beside the other files made of a kept run; TraceError if that run has another trace."""
    assert run.capture is not None
    if not same_trace:
        packed.unlink()
        what = "it ran again for its packets and has another trace than the kept run"
        hint = "please report the experiment; `longhaul rerun` shows whether the programs differ"
        raise TraceError("keeping packets of run", derived.name, what, hint)
    derived.mkdir(parents=True, exist_ok=True)
    (derived / _ABOUT).unlink(missing_ok=True)
    packed.replace(derived / PACKETS)
    about = json.dumps({"capture": asdict(run.capture), "bytes": (derived / PACKETS).stat().st_size})
    (derived / _ABOUT).write_text(about)


def kept_packets(derived: Path, capture: Module | None = None) -> Path | None:
    """The file with the packets of a run, whatever they are or as captured by this module; None if there is none."""
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        about = json.loads((derived / _ABOUT).read_text())
        if (derived / PACKETS).stat().st_size == about["bytes"] and (
            capture is None or same_packets(Module(**about["capture"]), capture)
        ):
            return derived / PACKETS
    return None


def _header(run: Run, run_id: str, facts: Mapping[str, Any]) -> CaptureHeader:
    from longhaul.orchestrator.trace.captures import CaptureHeader

    assert run.capture is not None
    point = point_text(run.point)
    about = f"{run.experiment}{f' at {point}' if point else ''}, seed {run.seed}, run {run_id}; times are of virtual time, from the start of the run"
    return CaptureHeader(
        about=about,
        system=f"Linux {facts['kernel']} (User-Mode Linux)",
        program=f"Longhaul {facts['agent']}",
        snap=int(run.capture.params["snap"]),
        interfaces=_interfaces(run),
        names={
            end.address.partition("/")[0]: end.node
            for wire in run.wires
            for end in wire.ends
            if end.address is not None
        },
        ahead_ns=facts["epoch_ns"] - int(run.capture.params["epoch_ns"]),
        end_ns=run.duration_us * 1000,
    )


def _interfaces(run: Run) -> list[CapturedInterface]:
    from longhaul.orchestrator.trace.captures import CapturedInterface

    found = []
    for one in interfaces(run):
        about = f"device {one.dev} of {one.node}, to {one.peer}"
        if one.link is None:
            found.append(CapturedInterface(one.dev, about))
        else:
            name = one.dev if one.link.name == one.dev else f"{one.link.name} {one.dev}"
            found.append(CapturedInterface(name, about, one.link.rate_bps, one.link.id))
    return found

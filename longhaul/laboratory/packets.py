"""The packets of a kept run, as files for Wireshark, tshark and tcptrace."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from longhaul.orchestrator.execution.packets import packets_of
from longhaul.orchestrator.results.packets import PACKETS
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.load import parse_capture
from longhaul.orchestrator.spec.model import Capture
from longhaul.orchestrator.system.files import output_folder, whole
from longhaul.orchestrator.system.settings import load_settings


def packets(
    run: str,
    output: str | Path | None = None,
    *,
    at: Sequence[str] | None = None,
    snap: int | None = None,
    flows: Sequence[str] | None = None,
) -> Path:
    """The packets of a kept run as a pcapng file; it runs once more where it has none that were captured so, with the same trace.

    Without `output` the file is that of the store, compressed (zstd), as Wireshark reads it; an output that ends with .zst is compressed too.
    """
    (file,) = export_packets(
        run, "pcapng", None if output is None else Path(output), at=at, snap=snap, flows=flows, copy=output is not None
    )
    return file


def export_packets(
    run: str,
    to: str,
    output: Path | None,
    *,
    at: Sequence[str] | None = None,
    snap: int | None = None,
    flows: Sequence[str] | None = None,
    copy: bool = True,
) -> list[Path]:
    """Write the packets of a kept run, as pcapng or for tcptrace; the files written."""
    store = Store(load_settings())
    run_id = store.get(run)["run"]
    packed = packets_of(store, run_id, _asked(at, snap, flows))
    if not copy:
        return [packed]
    if to == "tcptrace":
        return _write_pcaps(packed, output or Path(run_id))
    output = output or Path(f"{run_id}-{PACKETS}")
    with whole(output) as place:
        if output.suffix == ".zst":
            shutil.copyfile(packed, place)
        else:
            from longhaul.orchestrator.trace.pcap import unpack_pcapng

            unpack_pcapng(packed, place)
    return [output]


def _asked(at: Sequence[str] | None, snap: int | None, flows: Sequence[str] | None) -> Capture | None:
    if at is None and snap is None and flows is None:
        return None
    asked = {"at": list(at or ["bottleneck"])} | ({} if snap is None else {"snap": snap})
    return parse_capture(asked | ({} if flows is None else {"flows": list(flows)}))


def _write_pcaps(packed: Path, folder: Path) -> list[Path]:
    from longhaul.orchestrator.trace.pcap import write_pcaps

    with output_folder(folder, "writing packets to", str(folder)):
        return write_pcaps(packed, folder)

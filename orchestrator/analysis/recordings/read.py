"""Reads a file as a recording, by its content: iperf3's JSON, flent's data, pcap or pcapng; each also compressed.

A folder of recordings is one measurement, repeated.
"""

from __future__ import annotations

import bz2
import gzip
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from longhaul.orchestrator.analysis.recordings.flent import is_flent, read_flent
from longhaul.orchestrator.analysis.recordings.iperf3 import is_iperf3, read_iperf3
from longhaul.orchestrator.analysis.recordings.packet_file import PCAP, PCAPNG
from longhaul.orchestrator.analysis.recordings.packets import read_capture
from longhaul.orchestrator.analysis.recordings.recording import Recording
from longhaul.orchestrator.system.errors import ResultsError
from longhaul.orchestrator.trace.pcap import unpack_pcapng

_GZIP, _BZIP2, _ZSTD = b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd"
_LARGEST_JSON_BYTES = 2**28
_KINDS = "the output of `iperf3 -J`, a data file of flent, a packet capture (pcap, pcapng)"


def read_recordings(place: Path) -> list[Recording]:
    """The recording in a file, or those in a folder, in the order of their names; an empty list if there are none. ResultsError if one is broken."""
    files = sorted(one for one in place.iterdir() if one.is_file()) if place.is_dir() else [place]
    return [found for file in files if (found := _read(file)) is not None]


def _read(file: Path) -> Recording | None:
    try:
        with _opened(file) as content:
            head = content.read(4)
            content.seek(0)
            if head == PCAPNG or head in PCAP:
                return read_capture(content, file.name)
            if head.lstrip()[:1] != b"{":
                return None
            document = _json(content)
        if is_iperf3(document):
            return read_iperf3(document, file.name)
        return read_flent(document, file.name) if is_flent(document) else None
    except OSError as error:
        raise _refused(file, error.strerror or str(error)) from error
    except EOFError as error:
        raise _refused(file, "it is cut off") from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        what = (
            str(error)
            if type(error) is ValueError
            else f"it is not as its program writes it ({type(error).__name__}: {error})"
        )
        raise _refused(file, what) from error


def _json(content: IO[bytes]) -> Any:
    text = content.read(_LARGEST_JSON_BYTES + 1)
    if len(text) > _LARGEST_JSON_BYTES:
        raise ValueError(f"it is larger than {_LARGEST_JSON_BYTES // 2**20} MiB")
    try:
        return json.loads(text)
    except ValueError:
        return None


@contextmanager
def _opened(file: Path) -> Iterator[IO[bytes]]:
    """The content of a file, without its compression."""
    with file.open("rb") as raw:
        head = raw.read(4)
    if head == _ZSTD:
        with tempfile.TemporaryDirectory(prefix="longhaul-") as folder:
            unpack_pcapng(file, Path(folder) / "plain")
            with (Path(folder) / "plain").open("rb") as plain:
                yield plain
    elif head.startswith(_GZIP):
        with gzip.open(file) as packed:
            yield packed  # type: ignore[misc]
    elif head.startswith(_BZIP2):
        with bz2.open(file) as packed_2:
            yield packed_2
    else:
        with file.open("rb") as plain:
            yield plain


def _refused(file: Path, what: str) -> ResultsError:
    return ResultsError("reading the recording", str(file), what, f"name {_KINDS}")

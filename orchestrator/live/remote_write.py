"""Prometheus' remote write 1.0: samples as its protobuf message in snappy, and the server's responses.

    WriteRequest { repeated TimeSeries timeseries = 1 }        Label  { string name = 1; string value = 2 }
    TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2 }      Sample { double value = 1; int64 timestamp = 2 }

A label block is encoded once a series, samples a series at a time, as rows of 18 bytes. It refuses to send samples later than
now: a server accepts a sample from the future, and then every present sample of any sender is too old for it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from enum import Enum

import cramjam
import httpx
import numpy as np

from longhaul.orchestrator.live.downsampling import Bits, Ints
from longhaul.orchestrator.system.errors import ServiceUnavailable
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Prometheus

# A request's size: a response takes milliseconds, and little is sent twice after an error.
MOST_SAMPLES = 10_000
# Six bytes of seven bits each: times from 1971 to 2109.
_FIRST_MS, _LAST_MS = 2**35, 2**42 - 1
_SAMPLE = np.frombuffer(bytes([0x12, 16, 0x09, *bytes(8), 0x10, *bytes(6)]), dtype=np.uint8)
_TIMEOUT = httpx.Timeout(5.0, connect=2.0)
_LONGEST_TEXT = 300
# Prometheus' texts, with any status, for samples that it will never take.
_FOR_GOOD = re.compile(
    r"too old sample|out of bounds|out of order|duplicate sample|not unique|too far in the future|label name",
    re.IGNORECASE,
)
# The samples are valid: the address, the credentials or the server's options are wrong.
_UNSUITABLE = {
    401: "it requires authentication: set LONGHAUL_PROMETHEUS_TOKEN, or LONGHAUL_PROMETHEUS_USER and _PASSWORD",
    403: "these credentials may not write",
    404: "it does not accept remote write: start it with --web.enable-remote-write-receiver",
    405: "it does not accept remote write there: check that LONGHAUL_PROMETHEUS is the address of a Prometheus",
}


class Verdict(Enum):
    """The outcome of a request."""

    TAKEN = "taken"
    REFUSED = "refused"
    LATER = "later"


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's response; `why` is for users, `retry_after_s` if it requested a pause."""

    verdict: Verdict
    why: str = ""
    retry_after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a query, and how far this machine's clock is ahead of the server's, to within a second, 0 if not reported."""

    well: bool
    text: str
    ahead_s: float


@dataclass(frozen=True, slots=True)
class Request:
    """A message ready to be sent, the time of its newest sample, and their number."""

    body: bytes
    newest_ms: int
    samples: int


# A message without a series.
EMPTY = Request(bytes(cramjam.snappy.compress_raw(b"")), 0, 0)


def label_block(labels: Mapping[str, str]) -> bytes:
    """The encoded labels of a series, which precede its samples."""
    block = b""
    for name, value in labels.items():
        label = _field(1, name.encode()) + _field(2, value.encode())
        block += _field(1, label)
    return block


def samples_block(ms: Ints, bits: Bits) -> bytes:
    """Encoded samples with these times and bits."""
    if not len(ms):
        return b""
    if ms.min() < _FIRST_MS or ms.max() > _LAST_MS:
        raise ValueError("a sample's time is milliseconds since 1970, between 1971 and 2109")
    rows = np.tile(_SAMPLE, (len(ms), 1))
    rows[:, 3:11] = bits.astype("<u8").view(np.uint8).reshape(-1, 8)
    for place in range(6):
        rows[:, 12 + place] = (ms >> (7 * place)) & 0x7F | (0x80 if place < 5 else 0)
    return rows.tobytes()


def requests(pieces: Iterable[tuple[bytes, Ints, Bits]], most: int = MOST_SAMPLES) -> Iterator[Request]:
    """Messages of some samples each, from (labels, times, bits) of series in their order."""
    parts: list[bytes] = []
    count = newest_ms = 0
    for labels, ms, bits in pieces:
        for begin in range(0, len(ms), most):
            some = ms[begin : begin + most]
            if count and count + len(some) > most:
                yield _request(parts, newest_ms, count)
                parts, count, newest_ms = [], 0, 0
            parts.append(_field(1, labels + samples_block(some, bits[begin : begin + most])))
            count += len(some)
            newest_ms = max(newest_ms, int(some.max()))
    if count:
        yield _request(parts, newest_ms, count)


def _request(parts: list[bytes], newest_ms: int, count: int) -> Request:
    return Request(bytes(cramjam.snappy.compress_raw(b"".join(parts))), newest_ms, count)


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    encoded = b""
    while value > 0x7F:
        encoded += bytes([value & 0x7F | 0x80])
        value >>= 7
    return encoded + bytes([value])


class RemoteWriter:
    """One Prometheus."""

    def __init__(self, server: Prometheus) -> None:
        authorization = {"Authorization": f"Bearer {server.token}"} if server.token else {}
        basic = httpx.BasicAuth(server.user, server.password) if server.user else None
        self.url = server.url
        self._client = httpx.Client(base_url=server.url, headers=authorization, auth=basic, timeout=_TIMEOUT)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def push(self, request: Request) -> Answer:
        """Send one; every outcome is an answer."""
        early_s = request.newest_ms / 1000 - time.time()
        if early_s > 0:
            return Answer(Verdict.LATER, f"its newest sample lies {early_s:.3f} s in the future", early_s)
        headers = {
            "Content-Encoding": "snappy",
            "Content-Type": "application/x-protobuf",
            "X-Prometheus-Remote-Write-Version": "0.1.0",
        }
        try:
            response = self._client.post("/api/v1/write", content=request.body, headers=headers)
        except httpx.HTTPError as error:
            return Answer(Verdict.LATER, f"it does not respond ({type(error).__name__}: {error})")
        return _judged(response)

    def ask(self, path: str) -> Reply:
        """Query it."""
        try:
            response = self._client.get(path)
        except httpx.HTTPError as error:
            what = f"it does not respond ({type(error).__name__}: {error})"
            raise ServiceUnavailable("asking Prometheus at", self.url, what, "check whether it runs") from error
        return Reply(response.is_success, response.text, _ahead_s(response))


def _ahead_s(response: httpx.Response) -> float:
    try:
        server_s = parsedate_to_datetime(response.headers["date"]).timestamp()
    except (KeyError, ValueError):
        return 0.0
    return time.time() - server_s


def _judged(response: httpx.Response) -> Answer:
    if response.is_success:
        return Answer(Verdict.TAKEN)
    text = " ".join(response.text.split())[:_LONGEST_TEXT]
    why = f"{response.status_code} {text or response.reason_phrase}"
    if response.status_code in _UNSUITABLE:
        return Answer(Verdict.LATER, f"{_UNSUITABLE[response.status_code]} ({why})")
    if _FOR_GOOD.search(text) or (response.is_client_error and response.status_code not in (408, 425, 429)):
        return Answer(Verdict.REFUSED, why)
    waits = response.headers.get("retry-after", "")
    return Answer(Verdict.LATER, why, float(waits) if waits.isascii() and waits.isdigit() else 0.0)

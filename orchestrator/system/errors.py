"""The error tree: what can go wrong on the road, said once.

    LonghaulError
    |-- SpecError            the experiment as written is not valid            exit 2, HTTP 422
    |-- PlanError            valid, but cannot be turned into runs             exit 2, HTTP 422
    |-- BackendError         a run could not be carried out                    exit 4, HTTP 500
    |   |-- BackendUnavailable   something is missing on this machine          exit 3, HTTP 503
    |   |-- GuestDied            the guest kernel ended before its work        exit 4
    |   |-- KernelComplained     the guest kernel reported a fault of its own  exit 4
    |   |-- RunTimedOut          no progress, or past a limit of time          exit 4
    |   |-- ReadBackMismatch     the kernel did not take what it was given     exit 4
    |   |-- RunCancelled         nobody wants it any more                      exit 4
    |   |-- WorkerLost           who carried it out is gone                    exit 4
    |   |-- LeaseLost            somebody else has its hosts by now            exit 4
    |   `-- FidelityBroken       it ran, but its numbers cannot be believed    exit 4
    |-- TraceError           a trace cannot be read                            exit 4, HTTP 500
    |   `-- RunDamaged           a file of a kept run is not what was kept      exit 4, HTTP 500
    |-- ResultsError         the store cannot keep or find something           exit 4, HTTP 500
    |   |-- NotFound             no such run or experiment                     exit 2, HTTP 404
    |   `-- RecordUnreachable    the record cannot be reached for a moment     exit 4, HTTP 503
    |-- ExportError          a run cannot be brought to Prometheus             exit 4, HTTP 500
    |-- AuthError            who is asking                                     exit 2, HTTP 401
    |   `-- NotAllowed           it is known who, and they may not             exit 2, HTTP 403
    |-- OverLimit            more than somebody may have, or may ask at once   exit 2, HTTP 429
    |-- Conflict             it does not go with what is recorded              exit 2, HTTP 409
    |-- ServiceUnavailable   a service elsewhere does not answer               exit 3, HTTP 503
    `-- HostBusy             somebody else holds the host                      exit 3, HTTP 409

Each error says what was attempted, on which thing, what happened, and what to do. One handler renders each of them as
command-line text, as JSON and as a server-sent event.
"""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypedDict


class ErrorParts(TypedDict):
    """An error in JSON documents and events."""

    error: str
    attempting: str
    subject: str
    what: str
    hint: str


class LonghaulError(Exception):
    """Root of the tree: one sentence made of four parts."""

    exit_code: ClassVar[int] = 4
    http_status: ClassVar[int] = 500

    def __init__(self, attempting: str, subject: str, what: str, hint: str = "") -> None:
        super().__init__(attempting, subject, what, hint)
        self.attempting = attempting
        self.subject = subject
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return sentence(self.as_dict())

    @classmethod
    def kind(cls) -> str:
        """What problem documents call it: spec-error."""
        return re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()

    def as_dict(self) -> ErrorParts:
        """The error for JSON documents and events."""
        return {
            "error": type(self).__name__,
            "attempting": self.attempting,
            "subject": self.subject,
            "what": self.what,
            "hint": self.hint,
        }


@dataclass(frozen=True, slots=True)
class Allowed:
    """What is allowed in the place of a name that is not known: `text` says it, `nearest` is the known name that was probably meant."""

    text: str
    nearest: str | None

    def __str__(self) -> str:
        return f"{self.text}, nearest: {self.nearest}" if self.nearest else self.text


def allowed_instead(text: str, name: str, known: Iterable[str]) -> Allowed:
    """What is allowed instead of a name, and which of the known ones is nearest to it."""
    return Allowed(text, next(iter(difflib.get_close_matches(name, list(known), 1)), None))


class UnknownName(ValueError):
    """A name that is not known, and what is allowed instead."""

    def __init__(self, allowed: Allowed) -> None:
        super().__init__(str(allowed))
        self.allowed = allowed


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """What is wrong with one field of an experiment, so that a page can show it where the field stands.

    `location` is keys and positions, `field` the same as people write it, `line` where it stands in a file. `read` is what was read there, None
    where nothing was; `what` says what is allowed or needed, and `nearest` is a known name that was probably meant.
    """

    location: tuple[str | int, ...]
    field: str
    line: int | None
    read: str | None
    what: str
    nearest: str | None = None

    def __str__(self) -> str:
        """One line."""
        line = f" (line {self.line})" if self.line else ""
        read = "" if self.read is None else f"read {self.read}; "
        return f"{self.field}{line}: {read}{self.what}"


def nearest(name: str, known: Iterable[str]) -> str:
    """How every part of the road ends a sentence that names what was probably meant; empty where nothing is near."""
    return str(allowed_instead("", name, known))


class SpecError(LonghaulError):
    """The experiment as written is not valid; `problems` has one line a field, most of them a FieldProblem."""

    exit_code = 2
    http_status = 422

    def __init__(self, subject: str, problems: Sequence[FieldProblem | str]) -> None:
        super().__init__("reading experiment", subject, "; ".join(map(str, problems)), "")
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(f"{self.subject}: {problem}" for problem in self.problems)


class PlanError(LonghaulError):
    """A valid experiment that cannot be turned into runs."""

    exit_code = 2
    http_status = 422


class BackendError(LonghaulError):
    """A run could not be carried out."""


class BackendUnavailable(BackendError):
    """Something a backend needs is missing; `missing` has one (piece, remedy) each."""

    exit_code = 3
    http_status = 503

    def __init__(self, backend: str, missing: list[tuple[str, str]], what: str = "") -> None:
        listed = "; ".join(f"missing {piece}: {remedy}" for piece, remedy in missing)
        super().__init__("preparing the backend", backend, listed or what)
        self.missing = missing


class GuestDied(BackendError):
    """The guest kernel ended before its work; `cause` is one of a named set."""

    def __init__(self, subject: str, cause: str, what: str, hint: str = "") -> None:
        super().__init__("running guest", subject, what, hint)
        self.cause = cause


class KernelComplained(BackendError):
    """The guest kernel reported a fault of its own and went on; nothing it measured can be believed."""


class RunTimedOut(BackendError):
    """No virtual progress, or past a limit of wall time."""


class ReadBackMismatch(BackendError):
    """The kernel did not take what it was given."""


class FidelityBroken(BackendError):
    """It ran, but its numbers cannot be believed."""


class RunCancelled(BackendError):
    """Nobody wants it any more."""

    # Up to which second what it had simulated is kept, if it is.
    reached_s: float | None = None


class WorkerLost(BackendError):
    """Who carried it out is gone; it says nothing about the experiment."""


class LeaseLost(BackendError):
    """Hosts of a run that goes on have become somebody else's: it is ended."""


class TraceError(LonghaulError):
    """A trace cannot be read."""


class RunDamaged(TraceError):
    """A file of a kept run is not what was kept."""


class ResultsError(LonghaulError):
    """The store cannot keep or find something."""


class NotFound(ResultsError):
    """No such run or experiment."""

    exit_code = 2
    http_status = 404


class RecordUnreachable(ResultsError):
    """The record cannot be reached for a moment; asking again may well help."""

    http_status = 503


class ExportError(LonghaulError):
    """A run cannot be brought to Prometheus."""


class AuthError(LonghaulError):
    """Who is asking is not known."""

    exit_code = 2
    http_status = 401


class NotAllowed(AuthError):
    """It is known who is asking, and they may not."""

    http_status = 403


class OverLimit(LonghaulError):
    """More than somebody may have, or may ask at once; `retry_after_s` where waiting helps."""

    exit_code = 2
    http_status = 429

    def __init__(self, attempting: str, subject: str, what: str, hint: str = "", retry_after_s: int = 0) -> None:
        super().__init__(attempting, subject, what, hint)
        self.retry_after_s = retry_after_s


class Conflict(LonghaulError):
    """It does not go with what is recorded."""

    exit_code = 2
    http_status = 409


class HostBusy(LonghaulError):
    """Somebody else holds the host."""

    exit_code = 3
    http_status = 409


class ServiceUnavailable(LonghaulError):
    """The service that was asked does not answer, or what answers is none."""

    exit_code = 3
    http_status = 503


# What the system says when it refuses something, and what helps.
_REMEDIES = (
    ((errno.ENOSPC, errno.EDQUOT), "free some space"),
    ((errno.EACCES, errno.EPERM, errno.EROFS), "see who may use it"),
    (
        (errno.ENOENT, errno.ENOTDIR, errno.ENOEXEC, errno.ESTALE),
        "see whether it is there and whole; `longhaul doctor` says what is missing",
    ),
    ((errno.EMFILE, errno.ENFILE), "allow more open files (`ulimit -n`), or have fewer runs at a time"),
    (
        (errno.ENOMEM, errno.EAGAIN),
        "free some memory, allow more processes (`ulimit -u`), or have fewer runs at a time",
    ),
    ((errno.EFBIG,), "allow larger files (`ulimit -f`)"),
    ((errno.EIO,), "see what the machine's log says of its disk"),
)
_OF_THE_PLACE = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO)


def remedy(error: OSError, elsewhere: str = "") -> str:
    """What to do about what the system refused; `elsewhere` says how another place is taken, where that helps. Nothing where nobody knows."""
    known = next((what for numbers, what in _REMEDIES if error.errno in numbers), "")
    return f"{known}, or {elsewhere}" if known and elsewhere and error.errno in _OF_THE_PLACE else known


def sentence(error: ErrorParts) -> str:
    """An error as documents have it, in words."""
    about = " ".join(filter(None, (error["attempting"], error["subject"])))
    return "; ".join(filter(None, (f"{about}: {error['what']}", error["hint"])))


def visible(text: str) -> str:
    """A text for a terminal: what would move the cursor or turn the direction of writing stands there by its number."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def told(
    kind: str, attempting: str, subject: str, what: str, hint: str = "", problems: Sequence[str] = ()
) -> LonghaulError | None:
    """The error that another process had, from its kind and parts; None where no error is of that kind."""
    found = next((one for one in error_tree() if one.kind() == kind), None)
    if found is None:
        return None
    if issubclass(found, SpecError):
        return found(subject, list(problems) or [what])
    if issubclass(found, BackendUnavailable):
        return found(subject, [], what)
    if issubclass(found, GuestDied):
        return found(subject, "elsewhere", what, hint)
    return found(attempting, subject, what, hint)


def error_tree(root: type[LonghaulError] = LonghaulError) -> Iterator[type[LonghaulError]]:
    """Every kind from this one on, each before what it branches into."""
    yield root
    for branch in root.__subclasses__():
        yield from error_tree(branch)

"""The tree of errors.

    LonghaulError
    |-- SpecError            the experiment as written is not valid            exit 2, HTTP 422
    |-- PlanError            valid, but cannot be turned into runs             exit 2, HTTP 422
    |-- BackendError         a run failed                                      exit 4, HTTP 500
    |   |-- BackendUnavailable   something is missing on this machine          exit 3, HTTP 503
    |   |-- GuestDied            the guest kernel ended before its work        exit 4
    |   |-- KernelComplained     the guest kernel reported a fault of its own  exit 4
    |   |-- RunTimedOut          no progress, or past a limit of time          exit 4
    |   |-- RunCancelled         the run was cancelled                         exit 4
    |   |-- WorkerLost           its worker is gone                            exit 4
    |   |-- LeaseLost            another run has its hosts by now              exit 4
    |   |-- DiskFull             the disk has no space left                    exit 4, HTTP 507
    |   `-- FidelityBroken       it ended, but its numbers cannot be believed  exit 4
    |-- TraceError           a trace cannot be read                            exit 4, HTTP 500
    |   `-- RunDamaged           a file of a kept run has changed              exit 4, HTTP 500
    |-- ResultsError         the store cannot write or find something          exit 4, HTTP 500
    |   |-- NotFound             no such run or experiment                     exit 2, HTTP 404
    |   `-- RecordUnreachable    the database cannot be reached for a moment   exit 4, HTTP 503
    |-- ExportError          a run cannot be exported to Prometheus            exit 4, HTTP 500
    |-- AuthError            the caller is unknown                             exit 2, HTTP 401
    |   `-- NotAllowed           the caller lacks a permission                 exit 2, HTTP 403
    |-- OverLimit            above a limit of the caller                       exit 2, HTTP 429
    |-- TooLarge             larger than a service takes                       exit 2, HTTP 413
    |-- Conflict             it contradicts the database                       exit 2, HTTP 409
    |-- PackagesMissing      an extra of the program is not installed        exit 3, HTTP 503
    |-- ServiceUnavailable   another service does not respond                  exit 3, HTTP 503
    `-- HostBusy             another run has the host                          exit 3, HTTP 409

Each error states what was attempted, on which object, what happened, and what to do. One handler renders each as
command-line text, as JSON and as a server-sent event.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, TypedDict

from longhaul.orchestrator.system.lazy_dataclasses import dataclass


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
        """Its name in problem documents: spec-error."""
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
    """What is allowed instead of an unknown name: `text` describes it, `nearest` is the known name that was probably meant."""

    text: str
    nearest: str | None

    def __str__(self) -> str:
        return f"{self.text}, nearest: {self.nearest}" if self.nearest else self.text


def allowed_instead(text: str, name: str, known: Iterable[str]) -> Allowed:
    """What is allowed instead of a name, and the known name nearest to it."""
    import difflib

    return Allowed(text, next(iter(difflib.get_close_matches(name, list(known), 1)), None))


class UnknownName(ValueError):
    """An unknown name, and what is allowed instead."""

    def __init__(self, allowed: Allowed) -> None:
        super().__init__(str(allowed))
        self.allowed = allowed


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """What is wrong with one field of an experiment, so that a page can show it at the field.

    `location` is keys and positions, `field` the same as people write it, `line` its line in a file. `read` is the value found there, None
    if there was none; `what` states what is allowed or needed, and `nearest` is the value that was probably meant; of a misnamed field, its name.
    """

    location: tuple[str | int, ...]
    field: str
    line: int | None
    read: str | None
    what: str
    nearest: str | None = None
    misnamed: bool = False

    def __str__(self) -> str:
        """One line."""
        line = f" (line {self.line})" if self.line else ""
        read = "" if self.read is None else f"read {self.read}; "
        return f"{self.field}{line}: {read}{self.what}"


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a sentence that names the known name that was probably meant; empty if none is near."""
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
    """The request cannot be met as asked; a valid experiment, for instance, that cannot be turned into runs."""

    exit_code = 2
    http_status = 422


class BackendError(LonghaulError):
    """A run failed."""


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
    """The guest kernel reported a fault of its own and continued; its measurements cannot be believed."""


class RunTimedOut(BackendError):
    """No virtual progress, or past a limit of wall time."""


class FidelityBroken(BackendError):
    """The run ended, but its numbers cannot be believed."""


class RunCancelled(BackendError):
    """The run was cancelled."""

    # Up to which second its simulation was kept, if it was.
    reached_s: float | None = None


class WorkerLost(BackendError):
    """The worker of a run is gone, for a reason that has nothing to do with the experiment."""


class LeaseLost(BackendError):
    """Hosts of a run that is still running were leased to another run: this run is ended."""


class DiskFull(BackendError):
    """The disk has too little space left."""

    http_status = 507


class TraceError(LonghaulError):
    """A trace cannot be read."""


class RunDamaged(TraceError):
    """A file of a kept run has changed since it was written."""


class ResultsError(LonghaulError):
    """The store cannot write or find something."""


class NotFound(ResultsError):
    """Not found: nothing has this name or id."""

    exit_code = 2
    http_status = 404


class RecordUnreachable(ResultsError):
    """The database cannot be reached for a moment; the same request may work later."""

    http_status = 503


class ExportError(LonghaulError):
    """A run cannot be exported to Prometheus."""


class AuthError(LonghaulError):
    """The caller is unknown."""

    exit_code = 2
    http_status = 401


class NotAllowed(AuthError):
    """The caller is known and lacks a permission."""

    http_status = 403


class OverLimit(LonghaulError):
    """More than a caller may have, or may request at once; `retry_after_s` where waiting helps."""

    exit_code = 2
    http_status = 429

    def __init__(self, attempting: str, subject: str, what: str, hint: str = "", retry_after_s: int = 0) -> None:
        super().__init__(attempting, subject, what, hint)
        self.retry_after_s = retry_after_s


class TooLarge(LonghaulError):
    """More than the service takes in one piece."""

    exit_code = 2
    http_status = 413


class Conflict(LonghaulError):
    """The request contradicts what is in the database."""

    exit_code = 2
    http_status = 409


class HostBusy(LonghaulError):
    """Another run has the host."""

    exit_code = 3
    http_status = 409


class PackagesMissing(LonghaulError):
    """Packages that only some commands need are not installed."""

    exit_code = 3
    http_status = 503


class ServiceUnavailable(LonghaulError):
    """The other service does not respond, or is not a Longhaul service."""

    exit_code = 3
    http_status = 503


# Refusals of the operating system, and what to do.
_REMEDIES = (
    ((errno.ENOSPC, errno.EDQUOT), "free some space"),
    ((errno.EACCES, errno.EPERM, errno.EROFS), "check its permissions"),
    (
        (errno.ENOENT, errno.ENOTDIR, errno.ENOEXEC, errno.ESTALE),
        "check that it exists and is complete; `longhaul doctor` lists what is missing",
    ),
    ((errno.EMFILE, errno.ENFILE), "allow more open files (`ulimit -n`), or run fewer at a time"),
    (
        (errno.ENOMEM, errno.EAGAIN),
        "free some memory, allow more processes (`ulimit -u`), or run fewer at a time",
    ),
    ((errno.EFBIG,), "allow larger files (`ulimit -f`)"),
    ((errno.EIO,), "check the machine's log for disk errors"),
)
_DEPENDS_ON_PLACE = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO)


def remedy(error: OSError, elsewhere: str = "") -> str:
    """What to do about an error of the operating system, or ""; `elsewhere` is how to use another place, where that helps."""
    known = next((what for numbers, what in _REMEDIES if error.errno in numbers), "")
    return f"{known}, or {elsewhere}" if known and elsewhere and error.errno in _DEPENDS_ON_PLACE else known


def refusal(error: OSError) -> str:
    """The refusal of the operating system, with the file if it names one."""
    what = error.strerror or str(error)
    return what if error.filename is None else f"{error.filename}: {what}"


def sentence(error: ErrorParts) -> str:
    """An error of a document as one sentence."""
    about = " ".join(filter(None, (error["attempting"], error["subject"])))
    return "; ".join(filter(None, (f"{about}: {error['what']}", error["hint"])))


def visible(text: str) -> str:
    """A text for a terminal: characters that move the cursor or change the direction of writing are replaced by their numbers."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def error_of_parts(
    kind: str, attempting: str, subject: str, what: str, hint: str = "", problems: Sequence[str] = ()
) -> LonghaulError | None:
    """The error of another process, from its kind and parts; None if no error is of that kind."""
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
    """This kind and all kinds below it, each before those below it."""
    yield root
    for branch in root.__subclasses__():
        yield from error_tree(branch)

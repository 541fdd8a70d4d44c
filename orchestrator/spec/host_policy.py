"""The host policy: the hosts, their test traffic and its limits, as the operator writes them (LONGHAUL_HOSTS=hosts.yml).

Anything it does not list is forbidden: an unlisted host is not reached, an unlisted pair exchanges no traffic. No
experiment, request or inventory can widen it. Its part for one host is also on that host (`limits_of`, written to
/etc/longhaul/limits.json by a deployment), where the agent enforces it on every run.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS
from longhaul.orchestrator.spec.yaml_text import read_document
from longhaul.orchestrator.system.errors import PlanError, SpecError
from longhaul.orchestrator.system.settings import Settings
from longhaul.orchestrator.system.units import format_duration, parse_duration, parse_rate, parse_size

LIMITS_FORMAT = 1

_HOST = re.compile(r"[a-z][a-z0-9-]{0,30}")
# Names with a meaning in the API.
_RESERVED = ("stop",)
_DEVICE = r"^[A-Za-z0-9][A-Za-z0-9_.@-]{0,14}$"
_SSH_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$"
_USER = r"^[a-z_][a-z0-9_-]{0,31}$"
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WEEKLY = re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")
_PORTS = re.compile(r"([0-9]{4,5})-([0-9]{4,5})")
_FIRST_FREE_PORT, _LAST_PORT = 1024, 65535
# Of a controller; the agent accepts no longer silence, whatever its file allows.
_LEAST_SILENCE_US, _MOST_SILENCE_US = 10_000_000, 30_000_000
_HINT = "see docs/hosts-operators.md"


def _quantity(parse: Callable[[str], int]) -> BeforeValidator:
    def read(value: object) -> int:
        found = parse(value)  # type: ignore[arg-type]  # it refuses values that are not text
        if not found:
            raise ValueError("more than 0 is needed")
        return found

    return BeforeValidator(read)


def _address(value: object) -> str:
    return str(ipaddress.IPv4Address(str(value)))


def _ports(value: object) -> tuple[int, int]:
    match = _PORTS.fullmatch(str(value))
    first, last = (int(match[1]), int(match[2])) if match else (0, 0)
    if not _FIRST_FREE_PORT <= first <= last <= _LAST_PORT:
        raise ValueError(f"a range from {_FIRST_FREE_PORT} to {_LAST_PORT}, as in 10000-10099")
    return first, last


def _instant(value: object) -> datetime:
    for form in ("%Y-%m-%d %H:%M", "%Y-%m-%d"):
        try:
            return datetime.strptime(str(value), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise ValueError("a time in UTC, as in 2031-12-24 18:00")


Rate = Annotated[int, _quantity(parse_rate)]
Size = Annotated[int, _quantity(parse_size)]
Duration = Annotated[int, _quantity(parse_duration)]
Instant = Annotated[datetime, BeforeValidator(_instant)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Ssh(_Strict):
    """How a host is reached; ssh's own configuration has keys and known hosts."""

    address: str = Field(pattern=_SSH_NAME)
    user: str = Field("root", pattern=_USER)
    port: int = Field(22, ge=1, le=_LAST_PORT)
    sudo: bool = False


class Traffic(_Strict):
    """The address and device of a host's test traffic."""

    address: Annotated[str, BeforeValidator(_address)]
    device: str = Field(pattern=_DEVICE)


class Closed(_Strict):
    """When a host is closed: every week, or from a time to a time; UTC."""

    weekly: str | None = None
    begin: Instant | None = Field(None, alias="from")
    end: Instant | None = Field(None, alias="until")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.weekly is None) == (self.begin is None) or (self.begin is None) != (self.end is None):
            raise ValueError("either `weekly`, or `from` and `until`")
        if self.weekly is not None and not _WEEKLY.fullmatch(self.weekly):
            raise ValueError("a day and a time in UTC, as in Sun 02:00-04:00")
        if self.begin is not None and self.end is not None and self.end <= self.begin:
            raise ValueError("`until` is later than `from`")
        return self

    def within(self, begin: datetime, end: datetime) -> tuple[datetime, datetime] | None:
        """The first time between these two at which it is closed."""
        return next((span for span in self._spans(begin, end) if span[0] < end and begin < span[1]), None)

    def _spans(self, begin: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
        if self.begin is not None and self.end is not None:
            return [(self.begin, self.end)]
        match = _WEEKLY.fullmatch(self.weekly or "")
        assert match is not None
        day, *numbers = match.groups()
        from_hour, from_minute, until_hour, until_minute = map(int, numbers)
        monday = begin.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=begin.weekday())
        length = timedelta(hours=until_hour - from_hour, minutes=until_minute - from_minute)
        # A span that ends before it begins ends on the next day.
        length += timedelta(days=1) if length <= timedelta(0) else timedelta(0)
        spans = []
        for week in range(-1, (end - begin).days // 7 + 2):
            first = monday + timedelta(weeks=week, days=_DAYS.index(str(day)), hours=from_hour, minutes=from_minute)
            spans.append((first, first + length))
        return spans


class HostPolicy(_Strict):
    """One host: how to reach it, and its limits."""

    ssh: Ssh
    traffic: Traffic
    ports: Annotated[tuple[int, int], BeforeValidator(_ports)]
    rate_bps: Rate = Field(alias="rate")
    run_bytes: Size = Field(alias="run_volume")
    day_bytes: Size = Field(alias="day_volume")
    longest_us: Duration = Field(alias="longest")
    maintenance: tuple[Closed, ...] = ()
    # As a middle box: its device towards each host that it emulates paths to.
    emulates: dict[str, Annotated[str, Field(pattern=_DEVICE)]] = {}

    def closed(self, begin: datetime, end: datetime) -> tuple[datetime, datetime] | None:
        """The first maintenance between two times."""
        return min((span for one in self.maintenance if (span := one.within(begin, end)) is not None), default=None)


class PathPolicy(_Strict):
    """Two hosts that may exchange test traffic; `provisioned`: also with controls that do not give way."""

    between: tuple[str, str]
    provisioned: bool = False


class Policy(_Strict):
    """The whole policy."""

    hosts: dict[str, HostPolicy] = Field(min_length=1)
    paths: tuple[PathPolicy, ...] = ()
    rate_bps: Rate | None = Field(None, alias="rate")
    clock_limit_us: Duration = Field(100_000, alias="clock_limit")
    silence_us: Duration = Field(_MOST_SILENCE_US, alias="silence")
    ssh_config: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name in self.hosts:
            if not _HOST.fullmatch(name) or name in _RESERVED:
                raise ValueError(f"{name!r} is not a host's name: lower-case letters, digits and dashes, 31 at most")
        if not _LEAST_SILENCE_US <= self.silence_us <= _MOST_SILENCE_US:
            raise ValueError(
                "silence: from 10 s to 30 s, the time after which a host without messages from its controller stops by itself"
            )
        for name, host in self.hosts.items():
            if unknown := [other for other in host.emulates if other not in self.hosts or other == name]:
                raise ValueError(f"hosts.{name}.emulates: no other host has the name {unknown[0]}")
        addresses = [host.traffic.address for host in self.hosts.values()]
        if len(set(addresses)) < len(addresses):
            raise ValueError("two hosts have the same address of test traffic")
        seen = set()
        for path in self.paths:
            if unknown := [name for name in path.between if name not in self.hosts]:
                raise ValueError(f"paths: no host has the name {unknown[0]}")
            if path.between[0] == path.between[1] or frozenset(path.between) in seen:
                raise ValueError(f"paths: {' and '.join(path.between)} are not a new pair")
            seen.add(frozenset(path.between))
        return self

    def host(self, name: str) -> HostPolicy:
        """The limits of a host; PlanError if there is none of that name."""
        if name not in self.hosts:
            what = "the operator's host policy has no host of that name"
            raise PlanError("choosing the host", name, what, f"known: {', '.join(self.hosts)}")
        return self.hosts[name]

    @property
    def ends_within(self) -> str:
        """The end of an error about a host that was lost."""
        return f"its run ends within {format_duration(self.silence_us)}"

    def path(self, one: str, other: str) -> PathPolicy | None:
        """The policy of the path between two hosts."""
        return next((path for path in self.paths if set(path.between) == {one, other}), None)

    def peers(self, name: str) -> Mapping[str, bool]:
        """The hosts that one may exchange traffic with, and whether the path there is provisioned."""
        return {
            other: path.provisioned
            for path in self.paths
            if name in path.between
            for other in path.between
            if other != name
        }


def yielding() -> list[str]:
    """The congestion controls that give way to other traffic."""
    return sorted(name for name, control in CONGESTION_CONTROLS.items() if control.yields and not control.source)


def limits_of(policy: Policy, name: str) -> dict[str, Any]:
    """The limits that the agent on a host enforces: the host's /etc/longhaul/limits.json."""
    host = policy.host(name)
    return {
        "format": LIMITS_FORMAT,
        "host": name,
        "address": host.traffic.address,
        "device": host.traffic.device,
        "first_port": host.ports[0],
        "last_port": host.ports[1],
        "rate_bps": host.rate_bps,
        "run_bytes": host.run_bytes,
        "day_bytes": host.day_bytes,
        "longest_us": host.longest_us,
        "silence_us": policy.silence_us,
        "peers": [
            {"address": policy.host(peer).traffic.address, "provisioned": provisioned}
            for peer, provisioned in sorted(policy.peers(name).items())
        ],
        "emulates": sorted(set(host.emulates.values())),
        "yielding": yielding(),
    }


def read_policy(path: Path) -> Policy:
    """The policy in a file; SpecError with a line for each problem."""
    document = read_document(path)
    try:
        return Policy.model_validate(document.data)
    except ValidationError as error:
        problems = []
        for one in error.errors():
            line = document.line(one["loc"])
            place = ".".join(map(str, one["loc"])) or "policy"
            problems.append(f"{f'line {line}: ' if line else ''}{place}: {one['msg'].removeprefix('Value error, ')}")
        raise SpecError(str(path), problems) from None


def load_policy(settings: Settings) -> Policy:
    """The policy of this lab; PlanError if its operator has none."""
    if not settings.hosts.is_file():
        what = "there is no host policy, so no host may be used"
        raise PlanError("reading the host policy", str(settings.hosts), what, f"its operator writes one; {_HINT}")
    return read_policy(settings.hosts)

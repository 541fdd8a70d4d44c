"""The environment as one frozen value; the only reader of os.environ in the project.

LONGHAUL_HOME            kept runs and their database       $XDG_DATA_HOME/longhaul, ~/.local/share/longhaul
LONGHAUL_CACHE           kernels and modules, rebuildable   $XDG_CACHE_HOME/longhaul, ~/.cache/longhaul
LONGHAUL_JOBS            runs at a time                     one per processor
LONGHAUL_WALL_LIMIT_S    seconds of real time a run may take   3600
LONGHAUL_STALL_LIMIT_S   seconds without progress while     30
                         a guest computes or waits
LONGHAUL_DATABASE        postgresql://USER@HOST/NAME        SQLite in LONGHAUL_HOME
LONGHAUL_DASK            tcp://HOST:PORT of a scheduler     runs on this machine
LONGHAUL_MOST_QUEUED     unfinished runs of one user        20000
LONGHAUL_MOST_RUNNING    runs of one user at a time         10000
LONGHAUL_GATED_BRANCHES  branches whose baselines need      main
                         the scope gate, as in main,release
LONGHAUL_RATE_LIMIT      requests a second of one token     200
LONGHAUL_MOST_STREAMS    open event streams of one user     1000
LONGHAUL_TRUSTED_PROXY   address of a TLS proxy whose       none: X-Forwarded-For and -Proto
                         headers about callers are read     are ignored
LONGHAUL_GUEST_MEMORY    folder for the RAM of guests       /dev/shm, else the temporary folder
LONGHAUL_USER_CODE       on: code of admins is accepted     off
LONGHAUL_CONFINEMENT     off: user code runs unconfined     on
LONGHAUL_PREBUILT        off: the kernel, modules and       on
                         agent in wheels are not used
LONGHAUL_KERNEL_TREES_MB most that build trees of kernels   16000
                         with a name take of the disk
LONGHAUL_MOST_KERNELS    kernels that admins may have sent  20
                         to the service
LONGHAUL_KERNEL_UPLOAD_MB  most of one archive that they    512
                         send
LONGHAUL_KERNEL_BUILD_MB most that a sent kernel takes of   8000
                         the disk, unpacked or being built
LONGHAUL_KERNEL_BUILD_S  seconds that its build may take    7200
LONGHAUL_RECORDING_UPLOAD_MB  most of one recording that    64
                         users send to the service
LONGHAUL_RECORDINGS_MB   most that recordings take when     2048
                         users may send another one
LONGHAUL_KERNEL_SOURCES  folder with archives of kernel     Debian's mirror and archives
                         sources (docs/sandbox-kernel.md)
LONGHAUL_PROMETHEUS      http://HOST:PORT, where samples    runs are not exported
                         of runs go while they run
LONGHAUL_PROMETHEUS_TOKEN        a bearer token to show there;
LONGHAUL_PROMETHEUS_USER         or a user
LONGHAUL_PROMETHEUS_PASSWORD     and a password
LONGHAUL_PROMETHEUS_WINDOW       its out_of_order_time_window   24h
LONGHAUL_RESOLUTION_MS   milliseconds per cell of samples   10
LONGHAUL_SPOOL_MB        most that waits for Prometheus     1024
LONGHAUL_GRAFANA_URL     http://HOST:PORT of the Grafana    no links to it, and no
                         with the dashboards                annotations
LONGHAUL_GRAFANA_TOKEN   of a service account that may      no annotations of runs
                         write annotations there
LONGHAUL_URL             address of this service for users  no links back to it
LONGHAUL_SMTP_HOST       server that sends e-mail           no e-mail
LONGHAUL_SMTP_FROM       the sender's address
LONGHAUL_SMTP_TLS        starttls, tls or none              starttls
LONGHAUL_SMTP_PORT       its port                           587, with tls 465, with none 25
LONGHAUL_SMTP_USER       a user there, and its password in
LONGHAUL_SMTP_PASSWORD   or LONGHAUL_SMTP_PASSWORD_FILE     no login
LONGHAUL_SMTP_DOMAINS    domains that mail may go to        any
LONGHAUL_WEBHOOK_NETWORKS  private networks that webhooks   none: public addresses only
                         may reach, as in 10.1.0.0/16
LONGHAUL_PROXY_USER_HEADER  header in which a reverse proxy   users log in with tokens
                         names the user (docs/service.md)
LONGHAUL_PROXY_FROM      networks of that proxy; required
LONGHAUL_PROXY_SCOPE     scope of users that it names       read
LONGHAUL_PROXY_SCOPES    of single ones, as in ada=admin
LONGHAUL_HOSTS           the operator's host policy         hosts.yml in LONGHAUL_HOME
LONGHAUL_SERVER          http://HOST:PORT, where to run     this machine
LONGHAUL_HINTS           off: no hint after a result      on, on a terminal
LONGHAUL_TOKEN           the token for that server; --token-env names another variable
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from pathlib import Path

from longhaul.orchestrator.system.access_settings import (
    Mail,
    Network,
    ProxySignIn,
    read_mail,
    read_networks,
    read_proxy_sign_in,
)
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prometheus:
    """Where samples of runs go; a cell of `resolution_ms` gives each series a sample or two."""

    url: str
    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    # How far back it accepts samples, from the newest that it has.
    window_s: int = 24 * 3600
    resolution_ms: int = 10
    spool_bytes: int = 1024 * 2**20


@dataclass(frozen=True, slots=True)
class Grafana:
    """Where dashboards are; with a token, runs are written there as annotations."""

    url: str
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """Folders, addresses and limits."""

    home: Path
    cache: Path
    jobs: int
    wall_limit_s: int
    stall_limit_s: int
    guest_memory_dir: Path
    user_code: bool = False
    confinement: bool = True
    # Whether parts of the release that wheels bring are used.
    prebuilt: bool = True
    # Build trees of kernels with a name, of some 2 GB each.
    kernel_trees_mb: int = 16_000
    # Of kernels that admins send to the service: their number, an archive, the source unpacked or a build, and the time of a build.
    most_kernels: int = 20
    kernel_upload_mb: int = 512
    kernel_build_mb: int = 8_000
    kernel_build_s: int = 7_200
    # Of recordings that users send to the service: one, and all that are kept.
    recording_upload_mb: int = 64
    recordings_mb: int = 2048
    # Whether a result is followed by a hint on what to do next.
    hints: bool = True
    database: str = ""
    most_queued: int = 20_000
    most_running: int = 10_000
    rate_limit: int = 200
    most_streams: int = 1000
    trusted_proxy: str = ""
    # Setting a baseline on these branches needs the scope gate.
    gated_branches: tuple[str, ...] = ("main",)
    dask: str = ""
    # Another agent than this installation's: a worker of a cluster uses the one that a run was queued with.
    agent: Path | None = None
    server: str = ""
    prometheus: Prometheus | None = None
    grafana: Grafana | None = None
    # The address of this home's service for users.
    url: str = ""
    mail: Mail | None = None
    # Private networks that webhooks may reach.
    webhook_networks: tuple[Network, ...] = ()
    proxy_sign_in: ProxySignIn | None = None
    # The host policy; without a name, the file in the home.
    hosts_file: Path | None = None

    @property
    def hosts(self) -> Path:
        """The operator's host policy; the file may not exist."""
        return self.hosts_file or self.home / "hosts.yml"

    def kernel(self, version: str) -> Path:
        """The folder of a guest kernel; it may not exist."""
        return _current(self.cache, "kernels", version)

    def modules(self, version: str) -> Path:
        """The folder of the project's modules for that kernel; it may not exist."""
        return _current(self.cache, "modules", version)

    def login_link(self, token: str, view: str = "") -> str:
        """The address of a view of the web page that logs in with a token; behind the #, so that no browser sends it and no log has it."""
        return f"{self.url}/#/{view}{'&' if '?' in view else '?'}token={token}"

    @property
    def origin(self) -> str:
        """The name in the database of processes that work for this home on this machine: the same after each restart, and unique."""
        import socket

        return f"{socket.gethostname()}-{hashlib.sha256(str(self.home).encode()).hexdigest()[:8]}"


@lru_cache(maxsize=256)
def _current(cache: Path, kind: str, version: str) -> Path:
    """Each run asks for these names some twenty times."""
    return cache / kind / f"current-{version}"


def load_settings() -> Settings:
    """Settings of this process; a value that cannot be read is a PlanError naming the variable."""
    environment = os.environ
    user_code = _switch(environment, "LONGHAUL_USER_CODE", default=False)
    confinement = _switch(environment, "LONGHAUL_CONFINEMENT", default=True)
    if user_code and not confinement:
        raise PlanError(
            "reading setting",
            "LONGHAUL_CONFINEMENT",
            "it is off, and LONGHAUL_USER_CODE is on: code of other users must run confined",
            "unset one of the two",
        )
    return Settings(
        home=home_folder(),
        cache=cache_folder(),
        jobs=_positive(environment, "LONGHAUL_JOBS", len(os.sched_getaffinity(0))),
        wall_limit_s=_positive(environment, "LONGHAUL_WALL_LIMIT_S", 3600),
        stall_limit_s=_positive(environment, "LONGHAUL_STALL_LIMIT_S", 30),
        guest_memory_dir=_guest_memory(environment),
        user_code=user_code,
        confinement=confinement,
        prebuilt=_switch(environment, "LONGHAUL_PREBUILT", default=True),
        kernel_trees_mb=_positive(environment, "LONGHAUL_KERNEL_TREES_MB", 16_000),
        most_kernels=_positive(environment, "LONGHAUL_MOST_KERNELS", 20),
        kernel_upload_mb=_positive(environment, "LONGHAUL_KERNEL_UPLOAD_MB", 512),
        kernel_build_mb=_positive(environment, "LONGHAUL_KERNEL_BUILD_MB", 8_000),
        kernel_build_s=_positive(environment, "LONGHAUL_KERNEL_BUILD_S", 7_200),
        recording_upload_mb=_positive(environment, "LONGHAUL_RECORDING_UPLOAD_MB", 64),
        recordings_mb=_positive(environment, "LONGHAUL_RECORDINGS_MB", 2048),
        hints=_switch(environment, "LONGHAUL_HINTS", default=True),
        database=environment.get("LONGHAUL_DATABASE", ""),
        dask=scheduler_address(environment.get("LONGHAUL_DASK", ""), "LONGHAUL_DASK"),
        most_queued=_positive(environment, "LONGHAUL_MOST_QUEUED", 20_000),
        most_running=_positive(environment, "LONGHAUL_MOST_RUNNING", 10_000),
        rate_limit=_positive(environment, "LONGHAUL_RATE_LIMIT", 200),
        most_streams=_positive(environment, "LONGHAUL_MOST_STREAMS", 1000),
        trusted_proxy=environment.get("LONGHAUL_TRUSTED_PROXY", ""),
        gated_branches=tuple(environment.get("LONGHAUL_GATED_BRANCHES", "main").replace(",", " ").split()),
        server=environment.get("LONGHAUL_SERVER", ""),
        prometheus=_prometheus(environment),
        grafana=_grafana(environment),
        url=_address(environment, "LONGHAUL_URL"),
        mail=read_mail(environment),
        webhook_networks=read_networks(environment, "LONGHAUL_WEBHOOK_NETWORKS"),
        proxy_sign_in=read_proxy_sign_in(environment),
        hosts_file=_expanded("LONGHAUL_HOSTS", named) if (named := environment.get("LONGHAUL_HOSTS")) else None,
    )


def home_folder() -> Path:
    """The folder of results, without the other settings."""
    return _folder(os.environ, "LONGHAUL_HOME", "XDG_DATA_HOME", ".local/share")


def cache_folder() -> Path:
    """The folder of artefacts that can be built again, without the other settings."""
    return _folder(os.environ, "LONGHAUL_CACHE", "XDG_CACHE_HOME", ".cache")


def _prometheus(environment: Mapping[str, str]) -> Prometheus | None:
    name = "LONGHAUL_PROMETHEUS"
    shown = f"and its credentials in {name}_TOKEN, or {name}_USER and {name}_PASSWORD"
    url = _address(environment, name, shown)
    if not url:
        return None
    token, user = environment.get(f"{name}_TOKEN", ""), environment.get(f"{name}_USER", "")
    if token and user:
        raise PlanError("reading setting", f"{name}_TOKEN", f"{name}_USER is set too", "unset one of the two")
    return Prometheus(
        url=url,
        user=user,
        password=environment.get(f"{name}_PASSWORD", ""),
        token=token,
        window_s=_window_s(environment.get(f"{name}_WINDOW", ""), f"{name}_WINDOW"),
        resolution_ms=_resolution_ms(environment),
        spool_bytes=_positive(environment, "LONGHAUL_SPOOL_MB", 1024) * 2**20,
    )


def _window_s(written: str, name: str) -> int:
    """A duration as in Prometheus' configuration: 30m, 24h, 7d."""
    if not written:
        return 24 * 3600
    match = re.fullmatch(r"([1-9][0-9]{0,4})([mhd])", written)
    if not match:
        raise PlanError(
            "reading setting", name, f"read {written!r}", "give minutes, hours or days, as in 30m, 24h or 7d"
        )
    return int(match[1]) * {"m": 60, "h": 3600, "d": 86400}[match[2]]


def _resolution_ms(environment: Mapping[str, str]) -> int:
    name = "LONGHAUL_RESOLUTION_MS"
    read = _positive(environment, name, 10)
    if not 2 <= read <= 1000:
        raise PlanError("reading setting", name, f"read {read}", "give a number from 2 to 1000")
    return read


def _grafana(environment: Mapping[str, str]) -> Grafana | None:
    url = _address(environment, "LONGHAUL_GRAFANA_URL")
    token = environment.get("LONGHAUL_GRAFANA_TOKEN", "").strip()
    if token and not url:
        what = "LONGHAUL_GRAFANA_URL is not set"
        raise PlanError("reading setting", "LONGHAUL_GRAFANA_TOKEN", what, "set both, or neither")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise PlanError(
            "reading setting", "LONGHAUL_GRAFANA_TOKEN", "it is not a token", "give one of a service account"
        )
    return Grafana(url, token) if url else None


def _address(environment: Mapping[str, str], name: str, hint: str = "or the address that users reach") -> str:
    """An address without its last slash; "" if the variable is not set."""
    url = environment.get(name, "").rstrip("/")
    if url and not re.fullmatch(r"https?://[^\s/@?#]+(/[^\s@?#]*)?", url):
        # The value may contain a password.
        raise PlanError("reading setting", name, "it is not an address", f"give http://HOST:PORT, {hint}")
    return url


def terminal_variables() -> dict[str, str | None]:
    """The variables by which rich decides on the width and the colours of a terminal."""
    names = "COLORTERM COLUMNS FORCE_COLOR JUPYTER_COLUMNS JUPYTER_LINES LINES NO_COLOR TERM TTY_COMPATIBLE TTY_INTERACTIVE UNICODE_VERSION"
    return {name: os.environ.get(name) for name in names.split()}


def secret(variable: str) -> str:
    """A token from the environment: every user of the machine can read the arguments of a command."""
    written = os.environ.get(variable, "").strip()
    if not written:
        hint = "set it to a token; the operator makes one with `longhaul token add`"
        raise PlanError("reading the token from", variable, "the environment has no such variable", hint)
    return written


def _folder(environment: Mapping[str, str], name: str, base: str, below_home: str) -> Path:
    if named := environment.get(name):
        return _expanded(name, named)
    # The XDG rule: a base folder that is not absolute is ignored.
    xdg = Path(environment.get(base) or "")
    return (xdg if xdg.is_absolute() else _expanded(name, "~") / below_home) / "longhaul"


def _expanded(name: str, written: str) -> Path:
    try:
        return Path(written).expanduser().absolute()
    except RuntimeError as error:
        what = f"user {os.getuid()} has no home folder: HOME is not set, and the machine does not know the user"
        raise PlanError("reading setting", name, what, f"set {name}, or HOME, to a folder") from error


def _positive(environment: Mapping[str, str], name: str, default: int) -> int:
    written = environment.get(name)
    if not written:
        return default
    if not written.isascii() or not written.isdigit() or int(written) == 0:
        raise PlanError("reading setting", name, f"read {written!r}", "give a whole number above 0")
    return int(written)


def scheduler_address(written: str, name: str) -> str:
    """The address of a Dask scheduler, or ""; PlanError if it is neither."""
    if written and not re.fullmatch(
        r"(tcp|tls)://[^\s/:]+:[0-9]{1,5}|(tcp|tls)://\[[0-9a-fA-F:]+\]:[0-9]{1,5}", written
    ):
        raise PlanError("reading setting", name, f"read {written!r}", "give tcp://HOST:PORT or tls://HOST:PORT")
    return written


def _switch(environment: Mapping[str, str], name: str, *, default: bool) -> bool:
    written = environment.get(name)
    if not written:
        return default
    if written not in ("on", "off"):
        raise PlanError("reading setting", name, f"read {written!r}", "give on or off")
    return written == "on"


def _guest_memory(environment: Mapping[str, str]) -> Path:
    if named := environment.get("LONGHAUL_GUEST_MEMORY"):
        return _expanded("LONGHAUL_GUEST_MEMORY", named)
    shared = Path("/dev/shm")  # noqa: S108 (the kernel puts RAM into an unnamed file there)
    if os.access(shared, os.W_OK):
        return shared
    import tempfile

    return Path(tempfile.gettempdir())

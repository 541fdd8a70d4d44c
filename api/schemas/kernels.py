"""The types of kernels of the sandbox: those that the service has, those that admins send, and their builds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from longhaul.api.schemas.experiments import TEXT, Wire
from longhaul.orchestrator.spec.kernel_versions import KERNEL_NAME

FILE_NAME = r"^[A-Za-z0-9][A-Za-z0-9._+@ -]{0,119}$"
SHA256 = r"^[0-9a-f]{64}$"


class NewPatch(Wire):
    """A patch for the source of a kernel."""

    name: str = Field(pattern=FILE_NAME, description="The name of its file.")
    text: str = Field(min_length=1, description="The patch, as of `git format-patch` or `diff -u`.")


class SentArchive(Wire):
    """An archive that was sent before."""

    name: str = Field(pattern=FILE_NAME, description="The name of its file.")
    sha256: str = Field(pattern=SHA256)


class NewKernel(Wire):
    """A kernel to build: the source is either a version or an archive that was sent."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"name": "with-etf", "base": "6.12", "patches": [], "config": ["CONFIG_NET_SCH_ETF=m"]}]
        },
    )

    name: str = Field(pattern=f"^{KERNEL_NAME}$", description="Its name in experiments, as in `kernel: mine`.")
    base: Annotated[str, Field(max_length=32, pattern=TEXT)] | None = Field(
        None, description="A version of kernel.lock."
    )
    archive: SentArchive | None = Field(None, description="The response of POST /kernel-archives, with a name.")
    patches: list[NewPatch] = Field(default=[], max_length=500, description="Patches, applied in this order.")
    config: list[Annotated[str, Field(max_length=200, pattern=TEXT)]] = Field(
        default=[], max_length=200, description="Lines of configuration more."
    )


class KernelArchive(Wire):
    """An archive that the service has checked and keeps."""

    sha256: str
    release: str = Field(description="The version of Linux in it.")
    bytes: int


class KernelSource(Wire):
    """Where the source of a kernel comes from."""

    kind: Literal["version", "folder", "revision", "archive"]
    about: str = Field(description="The source in words.")
    sha256: str = Field(description="The SHA-256 of the archive, also of a version's; empty for others.")
    commit: str = Field(description="The commit of a revision; empty for others.")


class KernelPatch(Wire):
    """A patch of a kernel."""

    name: str
    sha256: str
    offsets: list[str] = Field(description="The hunks that were found at other lines than the patch says.")


class KernelError(Wire):
    """Why a build failed."""

    error: str
    attempting: str
    subject: str
    what: str
    hint: str


class KernelBuild(Wire):
    """The build of a kernel that an admin sent."""

    status: Literal["queued", "building", "done", "failed"]
    by: str
    created_at: str
    started_at: str | None
    ended_at: str | None
    step: str = Field(description="What the build is doing.")
    error: KernelError | None


class Kernel(Wire):
    """A kernel of the sandbox: a version, or a name of `longhaul kernel add`."""

    # Defaults are for the client of an older service; this service always sends these fields.
    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    version: str
    built: bool
    parts: list[str] = Field(
        default=[], description="For a kernel with a name: its source, patches and configuration, a line each."
    )
    release: str | None = Field(description="The kernel's release name.")
    hash: str | None = Field(description="The hash of everything that it is built from.")
    origin: Literal["kernel.lock", "machine", "admin"] = Field(
        "kernel.lock", description="A version of kernel.lock, added on the machine of the service, or sent by an admin."
    )
    source: KernelSource | None = Field(None, description="The source of a kernel with a name.")
    patches: list[KernelPatch] = Field(default=[], description="Its patches, in order.")
    config: list[str] = Field(default=[], description="Its own lines of configuration.")
    build: KernelBuild | None = Field(None, description="The build of a kernel that an admin sent.")

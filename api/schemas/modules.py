"""The types of user-supplied modules: kept sources, their builds, and trials of their controls."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from longhaul.api.schemas.experiments import Wire

# A congestion control as short as one can be, which builds and runs.
_SMALLEST_MODULE = """\
#include <linux/module.h>
#include <net/tcp.h>

static struct tcp_congestion_ops mine = {
\t.ssthresh = tcp_reno_ssthresh,
\t.cong_avoid = tcp_reno_cong_avoid,
\t.undo_cwnd = tcp_reno_undo_cwnd,
\t.name = "mine",
\t.owner = THIS_MODULE,
};

static int __init mine_register(void)
{
\treturn tcp_register_congestion_control(&mine);
}
module_init(mine_register);
MODULE_LICENSE("GPL");
"""


class ModuleFiles(Wire):
    """The sources of a congestion-control module."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"files": {"tcp_mine.c": _SMALLEST_MODULE}}]})

    files: dict[Annotated[str, Field(max_length=300)], str] = Field(
        min_length=1, max_length=200, description="File name -> text: sources, headers, Makefiles and scripts."
    )


class OwnModule(Wire):
    """A user-supplied module, by the hash of its content."""

    source: str
    stored: bool
    reference: str = Field(description="Its name in the field `modules` of an experiment.")


class ModuleSource(Wire):
    """A source that the service keeps."""

    source: str = Field(description="The hash of its content.")
    reference: str = Field(description="Its name in the field `modules` of an experiment.")
    controls: list[str] = Field(description="The congestion controls that its text names.")
    files: list[str]
    bytes: int
    kept_at: datetime


class ModuleSourceText(ModuleSource):
    """The same with its texts."""

    texts: dict[str, str] = Field(description="File name -> text.")


class ModuleBuild(Wire):
    """A module of a source, built for a kernel."""

    module: str = Field(description="Its name in the kernel.")
    controls: list[str] = Field(description="The congestion controls that its object registers.")
    built: bool
    problem: str = Field(description="Why it is not built, with file and line; empty if it is.")
    needs_room: bool = Field(description="Whether only its private area is too large for this kernel.")
    log: str = Field(description="The messages of the compiler.")


class ModuleTrial(Wire):
    """A trial of a control: an experiment, queued."""

    cc: str
    kernel: str
    experiment: str = Field(description="The path of the experiment.")

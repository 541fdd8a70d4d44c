"""`longhaul kernel`: the kernels of guests."""

from __future__ import annotations

import json
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longhaul.cli.terminal.commands import command, group_app
from longhaul.cli.terminal.in_words import in_words
from longhaul.cli.terminal.options import (
    EverythingOption,
    GatesOption,
    JobsOption,
    JsonOption,
    JunitOption,
    LeastOption,
    MarkdownOption,
    PairsReportOption,
    RepeatsOption,
    SeedOption,
    SetOption,
    TraceOption,
)
from longhaul.cli.terminal.output import show_rows
from longhaul.cli.terminal.service_options import TOKEN_ENV, ServerOption, TokenEnvOption, open_client, server_of
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.orchestrator.kernels.named_kernels import Source

app = group_app("The sandbox kernel.")


class Origin(StrEnum):
    """Where a kernel comes from."""

    RELEASE = "release"
    SOURCE = "source"


NameArgument = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A kernel's name: a version of kernel.lock, or one of `longhaul kernel add`."),
]


@dataclass(frozen=True)
class AddOptions:
    """The options of `longhaul kernel add`."""

    name: Annotated[str, typer.Argument(metavar="NAME", help="The name for experiments, as in `kernel: mine`.")]
    base: Annotated[str | None, typer.Option(metavar="VERSION", help="The source: a version of kernel.lock.")] = None
    tree: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The source: a folder, also with changes that are not committed; read again at each build.",
        ),
    ] = None
    repository: Annotated[
        str | None,
        typer.Option("--git", metavar="URL|DIR", help="The source: a Git repository; --rev names the revision."),
    ] = None
    revision: Annotated[str | None, typer.Option("--rev", metavar="REV", help="A commit, tag or branch of --git.")] = (
        None
    )
    archive: Annotated[Path | None, typer.Option(metavar="FILE", help="The source: a tar archive.")] = None
    sha256: Annotated[str | None, typer.Option(metavar="HASH", help="The SHA-256 that the archive must have.")] = None
    patches: Annotated[
        list[Path] | None,
        typer.Option("--patch", metavar="FILE", help="A patch for the source; patches are applied in this order."),
    ] = None
    config: Annotated[
        list[str] | None, typer.Option(metavar="LINE", help="A line of configuration more, as in CONFIG_NET_SCH_ETF=m.")
    ] = None
    replace: Annotated[bool, typer.Option("--replace", help="Replace the kernel that has this name.")] = False
    server: ServerOption = None
    token_env: TokenEnvOption = TOKEN_ENV
    as_json: JsonOption = False


@command(app, "add")
def add(options: AddOptions) -> None:
    """Give a name to a kernel of your own: a source, patches in order, and lines of configuration; `longhaul kernel build NAME` compiles it.

    With --server, the service builds it at once: from --base or --archive, with the scope admin.
    """
    if server := server_of(options.server):
        from longhaul.cli.machine.kernels_of_service import send

        send(options, server)
        return
    from longhaul.orchestrator.kernels import named_kernels
    from longhaul.orchestrator.kernels.build import known_kernels
    from longhaul.orchestrator.system.settings import load_settings

    with in_words("reading the source"):
        kernel = named_kernels.add(
            load_settings(), options.name, _source(options), options.patches or (), options.config or (), taken=known_kernels(), again=options.replace
        )  # fmt: skip
    if options.as_json:
        print(json.dumps(kernel.content()))
        return
    print(f"{kernel.name}: {kernel.describe()}")
    for line in kernel.offsets():
        print(f"  {line}")
    print(f"compile it with `longhaul kernel build {kernel.name}`")


def _source(options: AddOptions) -> Source:
    """The source that exactly one of four options names."""
    from longhaul.orchestrator.kernels.named_kernels import Source

    named = {"--base": options.base, "--tree": options.tree, "--git": options.repository, "--archive": options.archive}
    given = [name for name, value in named.items() if value is not None]
    if len(given) != 1:
        what = f"{' and '.join(given)} are given" if given else "no source is given"
        raise PlanError("adding the kernel", options.name, what, f"use one of {', '.join(named)}")
    for name, value, needed in (("--rev", options.revision, "--git"), ("--sha256", options.sha256, "--archive")):
        if value is not None and given != [needed]:
            raise PlanError(
                "adding the kernel",
                options.name,
                f"{name} is given without {needed}",
                f"use it with {needed}, or leave it out",
            )
    if options.repository is not None:
        if options.revision is None:
            raise PlanError(
                "adding the kernel",
                options.name,
                "--git is given without --rev",
                "name a commit, tag or branch with --rev",
            )
        return Source("revision", options.repository, revision=options.revision)
    if options.base is not None:
        return Source("version", options.base)
    if options.tree is not None:
        return Source("folder", str(options.tree))
    return Source("archive", str(options.archive), sha256=options.sha256 or "")


@dataclass(frozen=True)
class BuildOptions:
    """The options of `longhaul kernel build`."""

    version: NameArgument = "6.12"
    origin: Annotated[
        Origin | None,
        typer.Option(
            "--from",
            help="The release's, which a wheel brings, or built from source; by default the release's where this installation has it.",
        ),
    ] = None


@command(app, "build")
def build(options: BuildOptions) -> None:
    """Install the release's sandbox kernel or build one, with its modules, unless the cache has it; runs use it from then on."""
    from longhaul.orchestrator.kernels.build import build_kernel

    typer.echo(build_kernel(options.version, options.origin or ""))


@dataclass(frozen=True)
class RemoveOptions:
    """The options of `longhaul kernel remove`."""

    name: Annotated[str, typer.Argument(metavar="NAME", help="A name of `longhaul kernel add`.")]
    server: ServerOption = None
    token_env: TokenEnvOption = TOKEN_ENV


@command(app, "remove")
def remove_kernel(options: RemoveOptions) -> None:
    """Forget the name of a kernel, with its build tree; `longhaul rerun --original` still runs kept runs on it. With --server, a build that is running ends."""
    if server := server_of(options.server):
        with open_client(server, options.token_env) as client:
            client.delete_kernel(options.name)
        return
    from longhaul.orchestrator.kernels.sent_kernels import remove_any
    from longhaul.orchestrator.system.settings import load_settings

    remove_any(load_settings(), options.name)


@dataclass(frozen=True)
class DiffOptions:
    """The options of `longhaul kernel diff`."""

    before: Annotated[
        str, typer.Argument(metavar="A", help="A version of kernel.lock, or a name of `longhaul kernel add`.")
    ]
    after: Annotated[str, typer.Argument(metavar="B", help="Another one.")]
    only_names: Annotated[
        bool, typer.Option("--stat", help="Only the names of the files, with the numbers of their lines.")
    ] = False


@command(app, "diff")
def diff(options: DiffOptions) -> None:
    """Show the difference between the sources of two kernels, and between their configurations, as a patch."""
    from longhaul.orchestrator.kernels import named_kernels
    from longhaul.orchestrator.system.settings import load_settings

    with in_words("reading the sources"):
        text = named_kernels.diff(load_settings(), options.before, options.after, only_names=options.only_names)
    print(text, end="")


def _experiments_and_packs(typed: str) -> list[str]:
    """The names that begin like this, for completion."""
    from longhaul.orchestrator.papers.load import published_papers
    from longhaul.orchestrator.spec.load import shipped_experiments

    return [name for name in (*shipped_experiments(), *published_papers()) if name.startswith(typed)]


@dataclass(frozen=True)
class CompareKernelsOptions:
    """The options of `longhaul kernel compare`."""

    a: Annotated[
        str,
        typer.Argument(metavar="A", help="The kernel to compare with: a version, or a name of `longhaul kernel add`."),
    ]
    b: Annotated[str, typer.Argument(metavar="B", help="The other one.")]
    experiment: Annotated[
        str,
        typer.Argument(
            metavar="EXPERIMENT|PACK",
            help="The name of a shipped experiment, a YAML or JSON file, or the name of a pack: all of its experiments.",
            autocompletion=_experiments_and_packs,
        ),
    ]
    gates: GatesOption = None
    least: LeastOption = "2 %"
    everything: EverythingOption = False
    trace: TraceOption = False
    changes: SetOption = None
    seed: SeedOption = None
    repeats: RepeatsOption = None
    jobs: JobsOption = None
    as_json: JsonOption = False
    junit: JunitOption = None
    summary: MarkdownOption = None
    report: PairsReportOption = None


@command(app, "compare")
def compare(options: CompareKernelsOptions) -> int:
    """Run an experiment, or all of a pack, on two kernels and compare the runs, paired by point and seed; exit code 1 if a measure of --for is worse on B."""
    from longhaul.cli.experiments.compare import CompareOptions, finish
    from longhaul.cli.terminal.progress import shown_progress
    from longhaul.laboratory.comparisons import differences_here
    from longhaul.laboratory.kernel_comparisons import compare_kernel_sides

    shown = CompareOptions(
        options.a, options.b, gates=options.gates, least=options.least, everything=options.everything, trace=options.trace,
        as_json=options.as_json, junit=options.junit, summary=options.summary, report=options.report,
    )  # fmt: skip
    shown.check()
    found = compare_kernel_sides(
        options.a, options.b, options.experiment, gates=options.gates or [], min_effect=options.least,
        set=options.changes or [], seed=options.seed, repeats=options.repeats, jobs=options.jobs,
        watcher=partial(shown_progress, options.experiment, quiet=options.as_json),
    )  # fmt: skip
    return finish(found, differences_here(found) if options.trace else None, shown)


@dataclass(frozen=True)
class InstallOptions:
    """The options of `longhaul kernel install`."""

    wheel: Annotated[
        Path, typer.Argument(metavar="WHEEL", help="A file longhaul-*.whl or longhaul_kernel_*.whl.", exists=True)
    ]


@command(app, "install")
def install(options: InstallOptions) -> None:
    """Install the kernels of a wheel's file into the cache, without a network; runs use them from then on."""
    from longhaul.orchestrator.kernels.prebuilt import install_wheel
    from longhaul.orchestrator.system.settings import load_settings

    for name, place in install_wheel(load_settings(), options.wheel):
        typer.echo(f"{name}: {place}")


@dataclass(frozen=True)
class ListOptions:
    """The options of `longhaul kernel list`."""

    as_json: JsonOption = False


@command(app, "list")
def list_kernels(options: ListOptions) -> None:
    """List the kernels in the cache: which are the release's, which are built here, and which runs use."""
    from longhaul.orchestrator.kernels.build import kernels_in_cache
    from longhaul.orchestrator.system.settings import load_settings

    rows = kernels_in_cache(load_settings())
    shown = [
        {
            "version": row["version"],
            "kernel": row["kernelrelease"],
            "hash": row["hash"][:16],
            "origin": row["origin"],
            "used by runs": "yes" if row["current"] else "no",
            "headers": "yes" if row["headers"] else "no",
        }
        for row in rows
    ]
    show_rows("kernels", rows, shown, as_json=options.as_json)


@dataclass(frozen=True)
class InfoOptions:
    """The options of `longhaul kernel info`."""

    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One kernel; by default all.", show_default=False)
    ] = None
    server: ServerOption = None
    token_env: TokenEnvOption = TOKEN_ENV
    as_json: JsonOption = False


@command(app, "info")
def info(options: InfoOptions) -> None:
    """Show which kernels exist, which are built, and what each with a name consists of."""
    if server := server_of(options.server):
        from longhaul.cli.machine.kernels_of_service import show

        show(options, server)
        return
    from longhaul.orchestrator.kernels.build import find_kernels
    from longhaul.orchestrator.kernels.release_lock import effect_of
    from longhaul.orchestrator.system.settings import load_settings

    rows = find_kernels(load_settings(), options.name)
    if options.as_json:
        print(json.dumps(rows))
        return
    for row in rows:
        built = f"{row['kernelrelease']}, {row['hash'][:16]}" if row["built"] else "not built"
        print(f"{row['version']}: {built}")
        for line in row["parts"]:
            print(f"  {line}")
        for patch in row.get("without", []):
            print(f"  without {patch}, which does not apply to its source{effect_of(patch)}")

"""`longhaul kernel add` and `info` with --server: kernels that an admin sends, which the service builds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longhaul.cli.terminal.in_words import in_words
from longhaul.cli.terminal.service_options import open_client
from longhaul.orchestrator.system.errors import PlanError

if TYPE_CHECKING:
    from longhaul.api.schemas.kernels import Kernel
    from longhaul.cli.machine.kernel import AddOptions, InfoOptions


def send(options: AddOptions, server: str) -> None:
    """Send a kernel, and wait for the end of its build."""
    local = {
        "--tree": options.tree,
        "--git": options.repository,
        "--rev": options.revision,
        "--replace": options.replace,
    }
    if given := [name for name, value in local.items() if value]:
        what = f"{given[0]} is for kernels of this machine only"
        raise PlanError("sending a kernel to", server, what, "leave it out, or unset LONGHAUL_SERVER")
    if (options.base is None) == (options.archive is None):
        what = "no source is given" if options.base is None else "--base and --archive are given"
        raise PlanError("adding the kernel", options.name, what, "use one of --base, --archive")
    if options.sha256 is not None and options.archive is None:
        hint = "use it with --archive, or leave it out"
        raise PlanError("adding the kernel", options.name, "--sha256 is given without --archive", hint)
    step = "sending"

    def tell(now: str) -> None:
        nonlocal step
        step = now

    with open_client(server, options.token_env) as client, in_words(f"kernel {options.name}", lambda: step):
        sent = client.send_kernel(
            options.name,
            base=options.base,
            archive=options.archive,
            sha256=options.sha256,
            patches=options.patches or (),
            config=options.config or (),
        )
        built = client.wait_for_kernel(sent.version, tell)
    if options.as_json:
        print(built.model_dump_json())
        return
    _print(built)


def show(options: InfoOptions, server: str) -> None:
    """Print the kernels of a service."""
    with open_client(server, options.token_env) as client:
        found = client.kernels() if options.name is None else [client.kernel(options.name)]
    if options.as_json:
        print(f"[{', '.join(kernel.model_dump_json() for kernel in found)}]")
        return
    for kernel in found:
        _print(kernel)


def _print(kernel: Kernel) -> None:
    built = f"{kernel.release}, {(kernel.hash or '')[:16]}" if kernel.built else "not built"
    if kernel.build and kernel.build.status in ("queued", "building"):
        built = ": ".join(filter(None, (kernel.build.status, kernel.build.step)))
    print(f"{kernel.version}: {built}")
    for line in kernel.parts:
        print(f"  {line}")
    if kernel.build and (error := kernel.build.error):
        print(f"  failed: {error.what}; {error.hint}")

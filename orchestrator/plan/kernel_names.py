"""The names that the kernel has for congestion controls of a run: a user-supplied module may get others than its source has.

    the plan: cc cubic, Module(name=own_cubic, file=tcp_cubic, registers=own-cubic, replaces=cubic)  -->  the guest's run.json: cc own-cubic

A Module's `file` is the name of the module that its source makes, `registers` the name of its control in the kernel, and `replaces` the control of the
experiment whose place it takes; they are "" for all other modules. Of a source whose module registers several controls, `control` is the one
that is meant, by the name that it has there.
"""

from __future__ import annotations

from dataclasses import replace

from longhaul.orchestrator.plan.run import FlowChange, Module, Run


def replaced(run: Run) -> dict[str, Module]:
    """The user-supplied modules that take the place of the kernel's or the project's, by congestion control."""
    return {module.replaces: module for module in run.modules if module.replaces}


def kernel_name(run: Run, cc: str) -> str:
    """The name under which a congestion control of a run is registered in the kernel."""
    own = replaced(run).get(cc)
    return cc if own is None else own.registers


def in_kernel_names(run: Run) -> Run:
    """The run as a guest gets it: with the names that its kernel knows, and nothing about their origin."""
    if not any(module.file for module in run.modules):
        return run
    return replace(
        run,
        modules=tuple(replace(module, file="", registers="", replaces="", control="") for module in run.modules),
        flows=tuple(flow if flow.cc is None else replace(flow, cc=kernel_name(run, flow.cc)) for flow in run.flows),
        schedule=tuple(
            replace(change, cc=kernel_name(run, change.cc))
            if isinstance(change, FlowChange) and change.cc is not None
            else change
            for change in run.schedule
        ),
    )

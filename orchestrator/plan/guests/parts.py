"""In how many guests a run is: as many as its experiment asks for, or as make it faster.

A kernel for each host needs a guest for each kernel. Where the parts leave the trace as it is, they are no part of the run's id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from longhaul.orchestrator.plan.guests.cut import cut_run, kernel_of, refuse, try_cut
from longhaul.orchestrator.plan.run import Parts, Run
from longhaul.orchestrator.plan.traffic.estimate import expected_traffic
from longhaul.orchestrator.spec.fields import AUTO
from longhaul.orchestrator.spec.kernel_versions import KERNELS_IN_PARTS
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.model import Node as NodeSettings
from longhaul.orchestrator.system.errors import PlanError

# Two parts are faster where a guest computes at least this long, and this many packets cross in a window.
_LEAST_CROSSINGS, _LEAST_PER_WINDOW = 200_000, 40.0


def in_parts(run: Run, experiment: Experiment, *, alone: bool) -> Run:
    """The run with the kernels of its hosts, and with as many guests as the experiment asks for, or as make it faster."""
    if experiment.nodes:
        run = _with_kernels(run, experiment.nodes)
    if run.backend != "sandbox":
        return run if experiment.parts in (AUTO, 1) else refuse(run, "only runs of the sandbox have parts")
    return _in_guests(run, experiment.parts, alone=alone)


def _in_guests(run: Run, asked: int | str, *, alone: bool) -> Run:
    several = len({kernel_of(run, node) for node in run.nodes}) > 1
    alike = run.kernel in KERNELS_IN_PARTS and not _has_users_code(run)
    if asked == AUTO and not several:
        return _faster(run) if alone and alike else run
    parts = _least_parts(run) if asked == AUTO else int(asked)
    if parts == 1:
        return refuse(run, "its nodes have several kernels, and a guest has one") if several else run
    exact = cut_run(run, parts).is_exact and not several and alike
    return replace(run, parts=Parts(parts, alters=not exact))


def _has_users_code(run: Run) -> bool:
    """Whether a module is a user's: its variables are of all hosts in a guest, and so may be its random numbers."""
    return any(module.source for module in run.modules)


def _faster(run: Run) -> Run:
    """The run in two guests if they are expected to be faster than one, and have its trace."""
    traffic = expected_traffic(run)
    if traffic.crossings < _LEAST_CROSSINGS or isinstance(cut := try_cut(run, 2), str) or not cut.is_exact:
        return run
    windows = run.duration_us * 1000 / cut.window_ns
    return replace(run, parts=Parts(2, auto=True)) if traffic.crossings / windows >= _LEAST_PER_WINDOW else run


def _with_kernels(run: Run, settings: Mapping[str, NodeSettings]) -> Run:
    """The kernel of the receivers and the switches becomes the run's; nodes with another one name it."""
    hosts = [node.name for node in run.nodes if not node.bridge]
    kernels = dict.fromkeys((node.name for node in run.nodes), run.kernel)
    for pattern, node in settings.items():
        if not (named := [host for host in hosts if fnmatchcase(host, pattern)]):
            raise PlanError(
                "compiling", f"nodes.{pattern}", "no host has this name", f"hosts: {', '.join(sorted(hosts))}"
            )
        kernels |= dict.fromkeys(named, node.kernel or run.kernel)
    senders = {flow.from_node for flow in run.flows}
    others = {kernels[name]: name for name in hosts if name not in senders}
    if len(others) > 1:
        two = " and ".join(f"{name} has kernel {kernel}" for kernel, name in sorted(others.items())[:2])
        refuse(run, f"{two}, but all hosts that do not send are in one guest")
    (own,) = others or (run.kernel,)
    nodes = tuple(
        replace(node, kernel=kernels[node.name]) if node.name in senders and kernels[node.name] != own else node
        for node in run.nodes
    )
    return replace(run, kernel=own, nodes=nodes)


def _least_parts(run: Run) -> int:
    """One for each kernel of hosts that send, and the last one."""
    return 1 + len({kernel_of(run, node) for node in run.nodes if node.name in {flow.from_node for flow in run.flows}})

"""Physical hosts at the ends of a real path: the plan's flows between them, by the agent deployed there.

    this process --ssh--> agent endpoint (sender)   =====  the real path  =====   agent endpoint (receiver) <--ssh-- this process

The operator's policy states which host may be used for what; it is read again for every run, and the agent there enforces it. A host
with a problem is not used, and the run reports the problem. No change is left on a host, however the run ends.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from pathlib import Path

from longhaul.orchestrator.backends.base import Cost
from longhaul.orchestrator.backends.guest import TRACE
from longhaul.orchestrator.backends.hosts.run_on_hosts import Conduct
from longhaul.orchestrator.kernels.prebuilt import provide_agent
from longhaul.orchestrator.plan.hosts.authorization import not_allowed
from longhaul.orchestrator.plan.run import Progress, Run
from longhaul.orchestrator.spec.host_policy import load_policy
from longhaul.orchestrator.system.errors import BackendUnavailable, NotAllowed, PlanError
from longhaul.orchestrator.system.installation import AGENT
from longhaul.orchestrator.system.settings import Settings


class HostsBackend:
    """Runs on two or more hosts of the operator's policy."""

    name = "hosts"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def check(self, run: Run) -> list[tuple[str, str]]:
        missing = []
        provide_agent(self._settings)
        if not self._agent.is_file():
            missing.append(("the agent", "run `longhaul agent build`"))
        if shutil.which("ssh") is None:
            missing.append(("ssh", "run `apt-get install openssh-client`"))
        if not self._settings.hosts.is_file():
            missing.append(
                (f"the policy of hosts {self._settings.hosts}", "its operator writes it, see docs/hosts-operators.md")
            )
        return missing

    def identity(self, run: Run) -> dict[str, str]:
        if missing := self.check(run):
            raise BackendUnavailable(self.name, missing)
        return self.programs(run)

    def programs(self, run: Run) -> dict[str, str]:
        return {"agent": hashlib.sha256(self._agent.read_bytes()).hexdigest()}

    def artefacts(self, run: Run) -> dict[str, Path]:
        return {}

    def growing_traces(self, run: Run, directory: Path) -> list[Path]:
        return [directory / TRACE]

    def run(self, run: Run, directory: Path, progress: Progress) -> Cost:
        begun = time.monotonic()
        policy = load_policy(self._settings)
        try:
            refused = list(not_allowed(policy, run))
        except PlanError as error:
            refused = [str(error)]
        if refused:
            raise NotAllowed("running on hosts", run.experiment, "; ".join(refused), "ask the operator of the hosts")
        Conduct(run, policy, directory, self._agent, self._settings.home, progress).execute()
        return Cost(time.monotonic() - begun, 0.0, 0)

    @property
    def _agent(self) -> Path:
        return self._settings.agent or AGENT

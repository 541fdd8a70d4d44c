"""What no shell can be opened in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from longhaul.orchestrator.backends.shell.guest_shell import ShellRequest, check_shell
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.settings import load_settings
from tests.support.recordings import plain_run


def test_a_kernel_without_the_patch_of_shells_is_named(tmp_path: Path) -> None:
    """Its modules are built without lh_shell."""
    (tmp_path / "modules" / "current-6.12").mkdir(parents=True)
    settings = replace(load_settings(), cache=tmp_path)
    with pytest.raises(PlanError, match="a patch of the sandbox that a shell needs does not apply to the kernel"):
        check_shell(settings, plain_run(), ShellRequest("", edited=False))

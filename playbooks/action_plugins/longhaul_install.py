"""Ansible action: copies an archive and a program from the controller to the host, where longhaul_files installs them."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible has no types
    """Two files at most are copied, and Python starts once on the host; `copy` and `unarchive` start it twice each."""

    TRANSFERS_FILES = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Copy the files and run the module with their paths on the host."""
        super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        shell = self._connection._shell
        copied = []
        try:
            for name in ("archive", "program"):
                if source := arguments.get(name):
                    there = shell.join_path(shell.tmpdir, name)
                    self._transfer_file(self._loader.get_real_file(source), there)
                    copied.append(there)
                    arguments[name] = there
            if copied:
                self._fixup_perms2((shell.tmpdir, *copied))
            done: dict[str, Any] = self._execute_module(
                module_name="longhaul_files", module_args=arguments, task_vars=task_vars
            )
        finally:
            self._remove_tmp_path(shell.tmpdir)
        return done

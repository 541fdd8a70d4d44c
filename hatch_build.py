"""What a wheel holds beside what is imported, and where that goes: Hatchling asks when it builds one.

    PREFIX/share/longhaul/                              a checkout in small: kmod/, orchestrator/agent/, playbooks/, dashboards/
    PREFIX/share/man/man1/, .../bash-completion/        where man and bash look
    PREFIX/share/doc/longhaul/                          where people look

PREFIX is the environment that the wheel is installed into. What a build left in the working copy stays out, so that the same commit
gives the same wheel; orchestrator/system/installation.py finds the files again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from pathspec import GitIgnoreSpec

_HOME = Path("share/longhaul")
_FOLDERS = ("kmod", "orchestrator/agent", "playbooks", "dashboards/grafana", "dashboards/rules", "dashboards/targets")
# dkms.sh reads the version in pyproject.toml.
_SINGLE = ("pyproject.toml", "dashboards/prometheus.yml")
_PAGE = "dashboards/web/dist"
# Folders of the repository that are imported as parts of longhaul.
_ROOMS = ("api", "orchestrator", "topologies")
_ELSEWHERE = {
    "docs/*.1": "share/man/man1",
    "docs/longhaul.bash-completion": "share/bash-completion/completions",
    "README.md": "share/doc/longhaul",
    "CHANGELOG.md": "share/doc/longhaul",
}
# A completion is found by the name of its command.
_NAMES = {"longhaul.bash-completion": "longhaul"}
# Of code that only writes files which are there.
_LEFT_OUT = ("dashboards/grafana/boards",)


class Files(BuildHookInterface[Any]):
    """Adds the files that no package holds."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """An editable installation has them where they are, and imports longhaul alone from there."""
        if version != "editable":
            build_data["shared_data"].update(shared_files(Path(self.root)))
            return
        # A source distribution has no links.
        for link, target in (
            ("build/import/longhaul", "../../longhaul"),
            *((f"longhaul/{name}", f"../{name}") for name in _ROOMS),
        ):
            place = Path(self.root, link)
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.is_symlink():
                place.symlink_to(target)


def shared_files(root: Path) -> dict[str, str]:
    """Place in the working copy -> place below PREFIX."""
    page = sorted(file for file in (root / _PAGE).rglob("*") if file.is_file())
    if not page:
        raise FileNotFoundError("building the wheel: the web page is not built: run `make web`, or `make wheel` alone")
    found = {str(file): str(_HOME / file.relative_to(root)) for file in (*_sources(root), *page)}
    for pattern, folder in _ELSEWHERE.items():
        found |= {str(file): f"{folder}/{_NAMES.get(file.name, file.name)}" for file in sorted(root.glob(pattern))}
    return found


def _sources(root: Path) -> Iterator[Path]:
    # What a build may leave is what git is told to pass over; a working copy need not be git's to be built from.
    ignored = GitIgnoreSpec.from_lines((root / ".gitignore").read_text().splitlines())
    for place in sorted((*_FOLDERS, *_SINGLE)):
        for file in sorted((root / place).rglob("*")) if place in _FOLDERS else [root / place]:
            name = str(file.relative_to(root))
            if file.is_file() and not name.startswith(_LEFT_OUT) and not ignored.match_file(name):
                yield file

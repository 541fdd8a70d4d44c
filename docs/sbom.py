"""`make sbom`: the bill of materials of the program and its images, as CycloneDX 1.6, from the files that pin or name the parts.

    requirements*.lock       --> Python's packages: required; optional for extras; excluded where only who works on it has them
    package-lock.json        --> npm's: in the page, or excluded where they only build or test it; with the hash of each
    setup.sh, Dockerfile     --> Debian's: nothing pins them, so they have a version where this machine has them installed
    kmod/sandbox/kernel.lock --> the kernel's source, with the patches that are laid on it

There are generators for the first two; none knows the others, and to put their answers together takes more than to read four lists.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import tomllib
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from longhaul.orchestrator.kernels.release_lock import patches_for

ROOT = Path(__file__).resolve().parents[1]
_ITSELF = "longhaul (pyproject.toml)"
_LOCKS = {
    "requirements": "required",
    "requirements-service": "optional",
    "requirements-hosts": "optional",
    "requirements-dev": "excluded",
}
_SCOPES = ("required", "optional", "excluded")
_DPKG = Path("/var/lib/dpkg/status")


@dataclass(slots=True)
class Part:
    """One third-party part; `needs` are references to other parts."""

    reference: str
    name: str
    version: str = ""
    scope: str = "required"
    needs: set[str] = field(default_factory=set)
    more: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """A component."""
        about = {"type": "library", "bom-ref": self.reference, "name": self.name, "purl": self.reference}
        return about | ({"version": self.version} if self.version else {}) | {"scope": self.scope} | self.more


def bill(when: str) -> dict[str, Any]:
    """The document; `when` is the time of the commit."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    itself = Part(f"pkg:pypi/longhaul@{about['version']}", "longhaul", about["version"])
    parts = {part.reference: part for part in (*python(itself), *npm(itself), *debian(itself), *kernels(itself))}
    names = [itself.reference, *parts]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, ' '.join(sorted(names)))}",
        "version": 1,
        "metadata": {
            "timestamp": when,
            "component": itself.as_json() | {"type": "application", "licenses": [{"expression": about["license"]}]},
        },
        "components": [parts[name].as_json() for name in sorted(parts)],
        "dependencies": [
            {"ref": part.reference, "dependsOn": sorted(part.needs)}
            for part in (itself, *(parts[name] for name in sorted(parts)))
        ],
    }


def python(itself: Part) -> list[Part]:
    """Of each lock file what none before it has; who needs a package stands below it."""
    found: dict[str, Part] = {}
    for lock, scope in _LOCKS.items():
        rows = list(_rows((ROOT / f"{lock}.lock").read_text()))
        # More than one version of a name is for more than one version of Python.
        here: dict[str, list[Part]] = {}
        for name, version, _ in rows:
            reference = f"pkg:pypi/{name}@{version}"
            here.setdefault(name, []).append(found.setdefault(reference, Part(reference, name, version, scope)))
        for name, version, by in rows:
            for part in (part for other in by for part in ([itself] if other == _ITSELF else here[other])):
                part.needs.add(f"pkg:pypi/{name}@{version}")
    return list(found.values())


def _rows(lock: str) -> Iterator[tuple[str, str, list[str]]]:
    """Name, version, and the packages that need it."""
    for row in re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE):
        if match := re.match(r"([A-Za-z0-9._-]+)==([^ ;\\]+)", row):
            _, _, origins = row.partition("# via")
            by = (line.strip("# ").partition("[")[0] for line in origins.splitlines())
            yield match[1], match[2], [name for name in by if name]


def npm(itself: Part) -> list[Part]:
    """Everything below node_modules, each as the one that its neighbours find when they look upwards."""
    packages: Mapping[str, Any] = json.loads((ROOT / "dashboards/web/package-lock.json").read_text())["packages"]
    found: dict[str, Part] = {}
    for place, about in packages.items():
        if place:
            name = about.get("name", place.rpartition("node_modules/")[2])
            reference = _npm_reference(name, about["version"])
            scope = "excluded" if about.get("dev") or about.get("devOptional") else "required"
            part = found.setdefault(reference, Part(reference, name, about["version"], scope))
            part.scope = min(part.scope, scope, key=_SCOPES.index)
            part.more = _npm_more(about)
    for place, about in packages.items():
        needing = found[_npm_reference_of(place, packages)] if place else itself
        kinds = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
        for name in {name for kind in kinds for name in about.get(kind, {})}:
            if (other := _seen_from(place, name, packages)) is not None:
                needing.needs.add(_npm_reference_of(other, packages))
    return list(found.values())


def _npm_reference_of(place: str, packages: Mapping[str, Any]) -> str:
    about = packages[place]
    return _npm_reference(about.get("name", place.rpartition("node_modules/")[2]), about["version"])


def _npm_reference(name: str, version: str) -> str:
    return f"pkg:npm/{quote(name)}@{version}".replace("/@", "/%40")


def _npm_more(about: Mapping[str, Any]) -> dict[str, Any]:
    more: dict[str, Any] = {}
    if about.get("license"):
        more["licenses"] = [{"expression": about["license"]}]
    kind, _, digest = about.get("integrity", "").partition("-")
    if kind == "sha512":
        more["hashes"] = [{"alg": "SHA-512", "content": base64.b64decode(digest).hex()}]
    return more


def _seen_from(place: str, name: str, packages: Mapping[str, Any]) -> str | None:
    while True:
        tried = f"{place}/node_modules/{name}".lstrip("/")
        if tried in packages:
            return tried
        if not place:
            return None
        place = place.rpartition("node_modules/")[0].rstrip("/")


def debian(itself: Part) -> list[Part]:
    """What is installed through apt-get: by setup.sh to run experiments or to work on it, by the Dockerfile into images."""
    needs, groups = (ROOT / "setup.sh").read_text().partition("\nfor group in")[::2]
    image = re.findall(r"--no-install-recommends((?:[^&$]|\\\n)*)", (ROOT / "Dockerfile").read_text())
    required = {*_named(needs), *(word for words in image for word in words.replace("\\", " ").split())}
    installed = _installed()
    parts = []
    for name in sorted(required | _named(groups.partition("\ndone")[0])):
        version = installed.get(name, "")
        reference = f"pkg:deb/debian/{name}{'@' + quote(version) if version else ''}"
        parts.append(Part(reference, name, version, "required" if name in required else "excluded"))
    itself.needs.update(part.reference for part in parts)
    return parts


def _named(script: str) -> set[str]:
    """The packages of words as `gcc:gcc`, what provides what; kernel.lock names a kernel's source."""
    lists = re.findall(r"needs\+?=\(((?:[^()]|\n)*)\)", script)
    packages = {word.strip("'").rpartition(":")[2] for words in lists for word in words.split()}
    return {name for name in packages if not name.startswith("linux-source-")}


def _installed() -> dict[str, str]:
    """Package -> version, of this machine."""
    if not _DPKG.is_file():
        return {}
    read = _DPKG.read_text(errors="replace").split("\n\n")
    rows = [dict(re.findall(r"^(Package|Status|Version): (.*)$", row, re.MULTILINE)) for row in read]
    return {row["Package"]: row["Version"] for row in rows if row.get("Status", "").endswith(" installed")}


def kernels(itself: Part) -> list[Part]:
    """A source may be made into more than one kernel."""
    installed = _installed()
    rows = [row.split() for row in (ROOT / "kmod/sandbox/sources.lock").read_text().splitlines()]
    pinned = {row[0]: row[2] for row in rows if row and row[0] != "#"}
    found: dict[str, Part] = {}
    for row in (ROOT / "kmod/sandbox/kernel.lock").read_text().splitlines():
        if row.strip() and not row.startswith("#"):
            _, package, release = row.split()[:3]
            version = pinned.get(package) or installed.get(package, release)
            patches = [
                {"type": "unofficial", "diff": {"url": str(patch.relative_to(ROOT))}}
                for patch, _ in patches_for(release)
            ]
            reference = f"pkg:deb/debian/{package}@{quote(version)}"
            more = {
                "licenses": [{"expression": "GPL-2.0-only WITH Linux-syscall-note"}],
                "pedigree": {"patches": patches},
            }
            found[reference] = Part(reference, package, version, more=more)
    itself.needs.update(found)
    return list(found.values())


if __name__ == "__main__":
    sys.stdout.write(json.dumps(bill(sys.argv[1]), indent=1) + "\n")

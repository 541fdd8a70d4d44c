"""The wheel has all that the program needs, and its bytes do not depend on who builds it or where."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

from hatch_build import shared_files
from longhaul.orchestrator.system.installation import FILES
from tests.packaging.conftest import build_wheel, start

_WEB = Path("dashboards/web")


def _tracked(*folders: str) -> list[str]:
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *folders]
    listed = start(words, FILES).split("\0")
    return [name for name in listed if name and (FILES / name).is_file()]


def test_it_contains_needed_files_and_executable_programs(wheel: Path) -> None:
    inside = {entry.filename.partition("/share/longhaul/")[2]: entry for entry in zipfile.ZipFile(wheel).infolist()}
    for name in _tracked("kmod", "orchestrator/agent", "playbooks", "dashboards/rules", "dashboards/prometheus.yml"):
        assert name in inside, name
        may_start = bool((FILES / name).stat().st_mode & 0o100)
        assert bool(inside[name].external_attr >> 16 & 0o100) == may_start, name
    for page in (FILES / _WEB / "dist").rglob("*.*"):
        assert str(page.relative_to(FILES)) in inside


def test_it_holds_every_module_and_every_experiment(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    rooms = [f"longhaul/{name}" for name in _tracked("api", "orchestrator", "topologies")]
    assert {name for name in (*rooms, *_tracked("longhaul")) if "orchestrator/agent/" not in name} <= inside


def test_nothing_but_longhaul_can_be_imported_from_it(wheel: Path) -> None:
    inside = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in inside if ".d" not in name.partition("/")[0]} == {"longhaul"}
    assert not [name for name in inside if name.startswith("longhaul/orchestrator/agent/")]


def test_a_source_distribution_gives_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    words = ["--quiet", "--no-build-isolation", "--no-deps", "--no-binary", ":all:"]
    start([sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(tmp_path)], FILES)
    (archive,) = tmp_path.glob("*.tar.gz")
    start([sys.executable, "-m", "pip", "wheel", *words, "--wheel-dir", str(tmp_path), str(archive)], tmp_path)
    (built,) = tmp_path.glob("*.whl")
    assert zipfile.ZipFile(built).namelist() == zipfile.ZipFile(wheel).namelist()


def test_it_contains_no_build_leftovers(wheel: Path) -> None:
    left = (".o", ".ko", ".cmd", ".mod", ".mod.c", ".pyc", "longhaul-agent")
    assert [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(left)] == []


def test_it_is_named_after_the_version(wheel: Path) -> None:
    version = tomllib.loads((FILES / "pyproject.toml").read_text())["project"]["version"]
    assert wheel.name == f"longhaul-{version}-py3-none-any.whl"


def test_it_names_the_licences(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    about = Parser().parsestr(archive.read(name).decode())
    assert about["License-Expression"] == "Apache-2.0 AND GPL-2.0-only"
    assert about.get_all("License-File") == ["LICENSE", "kmod/COPYING"]
    assert about["Requires-Python"] == ">=3.11"


def test_another_copy_elsewhere_gives_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    """Another folder, times, umask and owners' rights, and a page that is built there anew."""
    copy = tmp_path / "a folder that is named otherwise"
    for name in _tracked("."):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(FILES / name, copy / name)
        (copy / name).chmod(0o775 if (FILES / name).stat().st_mode & 0o100 else 0o660)
        os.utime(copy / name, (1e9, 1e9))
    (copy / _WEB / "node_modules").symlink_to(FILES / _WEB / "node_modules")
    start(["npm", "run", "--silent", "build", "--", "--logLevel", "warn"], copy / _WEB, TZ="Pacific/Auckland")
    before = os.umask(0o077)
    try:
        again = build_wheel(copy, tmp_path / "wheel")
    finally:
        os.umask(before)
    assert _differences(wheel, again) == []
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()


def test_without_the_page_there_is_no_wheel(tmp_path: Path) -> None:
    try:
        shared_files(tmp_path)
    except FileNotFoundError as error:
        assert "make web" in str(error)
    else:
        raise AssertionError("a wheel without a page")


def _differences(first: Path, second: Path) -> list[str]:
    """Differing files by name, so that a failure shows where to look."""
    contents = [{name: file.read(name) for name in file.namelist()} for file in map(zipfile.ZipFile, (first, second))]
    return sorted(name for name in contents[0] | contents[1] if contents[0].get(name) != contents[1].get(name))

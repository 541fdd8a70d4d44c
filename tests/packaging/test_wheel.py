"""The wheel has all that the program needs, and nothing else; test_release.py checks that its bytes do not depend on who builds it or where."""

from __future__ import annotations

import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from hatch_build import shared_files, wheel_tag
from longhaul.orchestrator.system.installation import FILES
from tests.packaging.conftest import start

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
    assert built.name.endswith("-py3-none-any.whl"), "it contains no programs of this machine"
    without = [name for name in zipfile.ZipFile(wheel).namelist() if "/prebuilt/" not in name]
    assert zipfile.ZipFile(built).namelist() == without


def test_it_contains_no_build_leftovers(wheel: Path) -> None:
    left = (".o", ".ko", ".cmd", ".mod", ".mod.c", ".pyc", "longhaul-agent")
    names = [name for name in zipfile.ZipFile(wheel).namelist() if "/prebuilt/" not in name]
    assert [name for name in names if name.endswith(left)] == []


def test_it_is_for_every_linux_because_its_programs_need_no_library(wheel: Path, kernel_wheel: Path) -> None:
    version = tomllib.loads((FILES / "pyproject.toml").read_text())["project"]["version"]
    programs = [next((FILES / "build/parts").glob("kernels/*/linux")), FILES / "build/parts/agent/longhaul-agent"]
    for program in programs:
        assert "NEEDED" not in start(["objdump", "--private-headers", str(program)], FILES)
    tag = wheel_tag([*programs, programs[0].with_name("config")])
    assert tag == "py3-none-manylinux_2_17_x86_64"
    assert wheel.name == f"longhaul-{version}-{tag}.whl"
    assert kernel_wheel.name == f"longhaul_kernel_6_1-{version}-{tag}.whl"
    with pytest.raises(ValueError, match="/bin/sh is not linked statically"):
        wheel_tag([Path("/bin/sh")])


def test_they_are_small(wheel: Path, kernel_wheel: Path) -> None:
    assert wheel.stat().st_size < 30e6
    assert kernel_wheel.stat().st_size < 10e6


def test_it_names_the_licences(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    about = Parser().parsestr(archive.read(name).decode())
    assert about["License-Expression"] == "Apache-2.0 AND GPL-2.0-only"
    assert about.get_all("License-File") == ["LICENSE", "kmod/COPYING"]
    assert about["Requires-Python"] == ">=3.11"


def test_without_the_page_there_is_no_wheel(tmp_path: Path) -> None:
    try:
        shared_files(tmp_path)
    except FileNotFoundError as error:
        assert "make web" in str(error)
    else:
        raise AssertionError("a wheel without a page")

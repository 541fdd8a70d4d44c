"""The installed wheel without a working copy: the command builds what it needs, runs, serves and packs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import httpx
import yaml

from longhaul.orchestrator.system.installation import AGENT, FILES, PAGE
from longhaul.orchestrator.system.settings import load_settings
from tests.packaging.conftest import Environment, start
from tests.support.programs import run_program
from tests.support.service import Service


def test_nothing_comes_from_the_working_copy(environment: Environment) -> None:
    code = "import longhaul.api as api, longhaul.orchestrator.system.installation as own, longhaul.topologies as topologies; print(api.__file__, own.__file__, topologies.__file__, own.FILES, sep='\\n')"
    for place in environment.run("python", "-c", code).splitlines():
        assert Path(place).is_relative_to(environment.folder), place


def test_without_the_release_it_reports_what_is_missing_and_the_printed_commands_build_it(
    environment: Environment, tmp_path: Path
) -> None:
    off = {"LONGHAUL_PREBUILT": "off"}
    refused = environment.attempt("longhaul", "run", "quick", **off)
    assert refused.returncode == 3
    assert "longhaul agent build" in refused.stderr
    assert "longhaul kernel build 6.12" in refused.stderr

    agent = Path(environment.run("longhaul", "agent", "build", **off))
    assert agent.is_relative_to(environment.cache)
    assert agent.read_bytes() == AGENT.read_bytes(), "where it is built does not matter"
    refused = environment.attempt("longhaul", "kernel", "build", **off)
    assert refused.returncode == 4
    assert "because of the space in its path; set LONGHAUL_CACHE" in refused.stderr

    cache = tmp_path / "cache"
    cache.mkdir()
    # Kernels that are built already save minutes.
    for part in ("kernels", "sources"):
        (cache / part).symlink_to((load_settings().cache / part).resolve())
    environment.run("longhaul", "kernel", "build", LONGHAUL_CACHE=str(cache), **off)
    for name in ("kernels", "modules"):
        here, there = (place / name / "current-6.12" for place in (load_settings().cache, cache))
        assert here.resolve().name == there.resolve().name, "the cache of one is the cache of the other"


def test_the_page_is_served(environment: Environment) -> None:
    service = Service(environment.home, environment.settings, program=[environment.longhaul])
    try:
        service.start()
        index = httpx.get(f"{service.url}/")
        assert index.text == (PAGE / "index.html").read_text()
        parts = sorted((PAGE / "assets").iterdir())
        compressed = {part.stem for part in parts if part.suffix == ".br"}
        assert compressed
        for name in (part.name for part in parts if part.suffix not in (".br", ".gz")):
            sent = httpx.get(f"{service.url}/assets/{name}", headers={"Accept-Encoding": "br"})
            assert sent.status_code == 200, name
            # The wheel has the compressed forms too.
            assert (sent.headers.get("content-encoding") == "br") == (name in compressed), name
    finally:
        service.stop()


def test_modules_for_hosts_are_packed_from_it(environment: Environment, tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from longhaul.orchestrator.execution import deployment as d; print(d._packed_sources(Path(sys.argv[1])).name, (d.PLAYBOOKS / 'endpoints.yml').is_file())"
    version = environment.run("longhaul", "--version").removeprefix("longhaul ")
    assert environment.run("python", "-c", code, tmp_path) == f"longhaul-{version}.tar True"


def test_the_action_installs_a_wheel_and_builds_nothing(wheel: Path, tmp_path: Path) -> None:
    (step,) = (
        one for one in yaml.safe_load((FILES / "action.yml").read_text())["runs"]["steps"] if one["name"] == "Set up"
    )
    path = tmp_path / "path"
    settings = {"ACTION": str(FILES), "SERVER": "", "WHEEL": str(wheel), "GITHUB_PATH": str(path)}
    settings |= {"RUNNER_TEMP": str(tmp_path), "LONGHAUL_CACHE": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"}
    start(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], tmp_path, **settings)
    longhaul = Path(path.read_text().strip()) / "longhaul"
    start([str(longhaul), "run", "quick"], tmp_path, **settings, LONGHAUL_HOME=str(tmp_path / "home"))
    assert [
        row["origin"] for row in json.loads(start([str(longhaul), "kernel", "list", "--json"], tmp_path, **settings))
    ] == ["release"]


def test_ansible_finds_roles_and_modules_where_they_are_installed(environment: Environment, tmp_path: Path) -> None:
    playbooks = environment.folder / "share/longhaul/playbooks"
    settings = {"ANSIBLE_CONFIG": str(playbooks / "ansible.cfg"), "ANSIBLE_HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "--syntax-check", "--inventory"]
    for name in ("endpoints.yml", "restore.yml", "run.yml", "controller.yml"):
        start([*command, str(playbooks / "inventory.example.yml"), str(playbooks / name)], tmp_path, **settings)


def test_bash_completes_its_words(environment: Environment) -> None:
    script = (
        f"PATH='{environment.folder}/bin':$PATH; . '{environment.folder}/share/bash-completion/completions/longhaul';"
        'COMP_WORDS=(longhaul re); COMP_CWORD=1; _longhaul longhaul; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    completions = run_program(["bash", "-c", script], check=True).stdout.split()
    assert "rerun" in completions
    assert all(word.startswith("re") for word in completions)

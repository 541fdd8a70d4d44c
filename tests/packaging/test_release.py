"""The release's prebuilt parts: pinned by content, equal to those of a build from source, and used wherever a wheel is installed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from kmod.release.pin import compiler, source_of
from longhaul.orchestrator.kernels.release_lock import kernel_inputs, modules_inputs, read_release
from longhaul.orchestrator.system.installation import AGENT, FILES, agent_inputs
from longhaul.orchestrator.system.settings import load_settings
from tests.packaging.conftest import EPOCH, Environment, start
from tests.support.command import longhaul
from tests.support.programs import run_program

# A process of such a user has no privileges, no network, and no compiler in its PATH.
_APART = (shutil.which("unshare") or "unshare", "--user", "--map-user=1000", "--map-group=1000", "--net", "--")
_PREBUILT = "/share/longhaul/prebuilt/"
RELEASE = read_release()


def test_the_pins_are_those_of_the_sources() -> None:
    assert RELEASE.agent is not None
    assert RELEASE.agent.inputs == agent_inputs(), "the agent's sources have changed: make pin"
    for version in ("6.12", "6.1"):
        assert RELEASE.kernels[version].inputs == kernel_inputs(version), "build.sh reads changed files: make pin"
        assert RELEASE.modules[version].inputs == modules_inputs(), "the modules' sources have changed: make pin"


def test_a_build_from_source_gives_the_pinned_kernel_where_compiler_and_source_are_the_pinned_ones() -> None:
    for version, part in RELEASE.kernels.items():
        source = RELEASE.sources[version]
        same = (compiler(), *source_of(version)) == (RELEASE.compiler, source.package, source.version, source.sha256)
        built = start([str(FILES / "kmod/sandbox/build.sh"), "--hash", version], FILES).strip()
        assert (f"kernels/{built}" == part.folder) == same, (
            "the hash depends on compiler and source, and on nothing else"
        )


def test_the_wheels_have_the_pinned_parts_and_the_bytes_of_the_build(wheel: Path, kernel_wheel: Path) -> None:
    cache = load_settings().cache
    for version, file in (("6.12", wheel), ("6.1", kernel_wheel)):
        archive = zipfile.ZipFile(file)
        inside = {name.partition(_PREBUILT)[2]: name for name in archive.namelist() if _PREBUILT in name}
        pinned = RELEASE.files_of(RELEASE.kernels[version]) | RELEASE.files_of(RELEASE.modules[version])
        assert pinned.keys() == {path for path in inside if not path.startswith("agent/")}
        for path in pinned:
            assert archive.read(inside[path]) == (cache / path).read_bytes(), path
    assert zipfile.ZipFile(wheel).read(f"longhaul-0.1.0.data/data{_PREBUILT}agent/longhaul-agent") == AGENT.read_bytes()


def test_an_image_takes_the_pinned_parts_and_refuses_others(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    start([sys.executable, "-m", "kmod.release.parts", str(parts), "6.12"], FILES)
    words = [str(FILES / "playbooks/containers/kernels.sh"), str(parts)]
    start([*words, str(tmp_path / "image"), "6.12"], FILES, LONGHAUL_CACHE=str(tmp_path / "unused"))
    kernel = RELEASE.kernels["6.12"]
    for path, sha256 in (RELEASE.files_of(kernel) | RELEASE.files_of(RELEASE.modules["6.12"])).items():
        assert hashlib.sha256((tmp_path / "image" / path).read_bytes()).hexdigest() == sha256
    assert (tmp_path / "image/kernels/current-6.12/linux").is_file()
    with (parts / kernel.folder / "config").open("a") as config:
        config.write("more\n")
    refused = run_program([*words, str(tmp_path / "other"), "6.12"], cwd=FILES)
    assert refused.returncode == 1
    assert "is not what release.lock pins; run `make parts` again" in refused.stderr


def test_a_run_of_a_wheel_is_that_of_a_checkout(environment: Environment, tmp_path: Path) -> None:
    """An unprivileged user without compiler and network, read-only packages, a home with a space: same id, same trace."""
    home = environment.home.parents[2]
    settings = {"HOME": str(home), "PATH": str(environment.folder / "bin")}
    command = [*_APART, str(environment.longhaul), "run", "demo", "--json"]
    done = run_program(command, env=settings, cwd=home)
    assert done.returncode == 0, done.stderr
    here = longhaul("run", "demo", "--json", home=tmp_path / "here")
    assert here.returncode == 0, here.stderr
    found, expected = (
        [(run["run"], run["trace_sha256"]) for run in json.loads(output)["runs"]]
        for output in (done.stdout, here.stdout)
    )
    assert found == expected
    listed = json.loads(environment.run("longhaul", "kernel", "list", "--json"))
    assert [(row["origin"], row["current"], row["headers"]) for row in listed] == [("release", True, False)]


def test_a_kernel_that_was_changed_in_the_cache_runs_nothing(environment: Environment) -> None:
    environment.run("longhaul", "run", "quick")
    (kernel,) = environment.cache.glob("kernels/[!.c]*/linux")
    content = bytearray(kernel.read_bytes())
    content[len(content) // 3] ^= 1
    kernel.write_bytes(content)
    again = ("longhaul", "run", "quick", "--seed", "2")
    refused = environment.attempt(*again)
    assert refused.returncode == 4
    printed = " ".join(refused.stdout.split())
    assert f"{kernel} has the hash " in printed
    assert "delete that folder, and run `longhaul kernel build 6.12`" in printed
    shutil.rmtree(kernel.parent)
    environment.run("longhaul", "kernel", "build", "6.12")
    environment.run(*again)


def test_the_kernel_of_the_release_has_no_headers_and_the_error_names_the_command_that_builds_them(
    environment: Environment, tmp_path: Path
) -> None:
    environment.run("longhaul", "kernel", "build", "--from", "release")
    environment.run("longhaul", "modules", "build")
    sources = tmp_path / "mine"
    sources.mkdir()
    shutil.copy(FILES / "kmod/tcp_lhfixed.c", sources / "tcp_mine.c")
    refused = environment.attempt("longhaul", "modules", "build", sources)
    assert refused.returncode == 4
    assert "`longhaul kernel build 6.12 --from source`" in refused.stderr


def test_a_damaged_part_is_refused(environment: Environment, tmp_path: Path) -> None:
    copied = Environment(tmp_path / "damaged", environment.cache, environment.home)
    shutil.copytree(environment.folder, copied.folder, symlinks=True)
    (linux,) = copied.prebuilt.glob("kernels/*/linux")
    linux.chmod(0o755)
    with linux.open("r+b") as file:
        file.seek(1_000_000)
        file.write(b"damaged")
    refused = copied.attempt("python", "-m", "longhaul", "run", "quick")
    assert refused.returncode == 3, refused.stderr
    assert re.search(r"linux .*has the hash \w{12}, not \w{12} as release.lock pins", refused.stderr)
    assert "longhaul kernel build 6.12 --from source" in refused.stderr
    assert not list((environment.cache / "kernels").glob("[!.]*")), "nothing of it is in the cache"


def test_a_kernel_wheel_is_installed_without_a_network(environment: Environment, kernel_wheel: Path) -> None:
    printed = environment.attempt("longhaul", "kernel", "install", kernel_wheel, before=_APART)
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.startswith("kernel 6.1: ")
    run = json.loads(environment.run("longhaul", "run", "quick", "--set", 'kernel="6.1"', "--json"))
    assert run["runs"][0]["kernel"].startswith("6.1.")
    use = [str(FILES / "kmod/release/use.sh"), "6.1"]
    start(use, FILES, LONGHAUL_CACHE=str(environment.cache))
    assert subprocess.run(use, check=False).returncode == 1, "the kernel of this cache was built here"
    refused = environment.attempt("longhaul", "kernel", "install", FILES / "pyproject.toml")
    assert refused.returncode == 2
    assert "it is not a wheel" in refused.stderr


def test_a_release_moves_the_links_of_an_older_one_and_no_others(environment: Environment) -> None:
    kernels, link = environment.cache / "kernels", environment.cache / "kernels/current-6.12"
    environment.run("longhaul", "kernel", "build")
    pinned = link.resolve()
    other = kernels / "0123456789abcdef"
    shutil.copytree(pinned, other)
    link.unlink()
    link.symlink_to(other.name)
    environment.run("longhaul", "kernel", "info")
    assert link.resolve() == other, "the user made it current"
    record = environment.cache / "prebuilt/6.12.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"kernel": other.name}))
    environment.run("longhaul", "kernel", "info")
    assert link.resolve() == pinned


def test_another_processor_is_refused_with_what_works_there(environment: Environment) -> None:
    refused = environment.attempt("longhaul", "run", "quick", before=["setarch", "i686"])
    assert refused.returncode == 3
    assert "missing an x86-64 processor" in refused.stderr
    assert "LONGHAUL_SERVER" in refused.stderr
    assert environment.attempt("longhaul", "plan", "quick", before=["setarch", "i686"]).returncode == 0


def test_a_release_is_made_from_a_tag_and_signed(wheel: Path, kernel_wheel: Path, tmp_path: Path) -> None:
    """A commit of the working copy, in a clone with a tag; other folder, times, umask and time zone, a page and an agent built anew: same bytes.

    This checkout's index and branches stay as they are.
    """
    clone = _tagged(tmp_path)
    for folder in (".venv", "dashboards/web/node_modules"):
        (clone / folder).symlink_to(FILES / folder)
    key = tmp_path / "key"
    start(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], tmp_path)
    before = os.umask(0o077)
    try:
        settings = {"LONGHAUL_SIGNING_KEY": str(key), "TZ": "Pacific/Auckland"}
        start(["kmod/release/release.sh", "v0.1.0"], clone, **settings)
    finally:
        os.umask(before)
    made = {file.name: file for file in (clone / "dist").iterdir()}
    assert made.keys() == {
        "SHA256SUMS",
        "SHA256SUMS.sig",
        "longhaul-0.1.0.cdx.json",
        wheel.name,
        "longhaul-0.1.0.tar.gz",
        kernel_wheel.name,
    }
    start(["sha256sum", "--check", "--quiet", "--strict", "SHA256SUMS"], clone / "dist")
    allowed = tmp_path / "allowed"
    allowed.write_text(f"release {key.with_suffix('.pub').read_text()}")
    words = [
        "ssh-keygen",
        "-Y",
        "verify",
        "-f",
        str(allowed),
        "-I",
        "release",
        "-n",
        "longhaul-release",
        "-s",
        "SHA256SUMS.sig",
    ]
    checked = subprocess.run(
        words, cwd=clone / "dist", input=made["SHA256SUMS"].read_bytes(), capture_output=True, check=False
    )
    assert checked.returncode == 0, checked.stdout
    with tarfile.open(made["longhaul-0.1.0.tar.gz"]) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    # All of the commit, which is the corresponding source that the GPL asks for, and the page; no program, no package of npm.
    tracked = set(start(["git", "ls-files"], clone).splitlines()) - {
        "longhaul/api",
        "longhaul/orchestrator",
        "longhaul/topologies",
    }
    page = {name for name in inside if name.startswith("dashboards/web/dist/")}
    assert "dashboards/web/dist/index.html" in page
    assert inside == tracked | page | {"PKG-INFO"}
    assert _differences(wheel, made[wheel.name]) == []
    for built in (wheel, kernel_wheel):
        assert made[built.name].read_bytes() == built.read_bytes(), "the same commit gives the same bytes"


def _differences(first: Path, second: Path) -> list[str]:
    """Differing files by name, so that a failure shows where to look."""
    contents = [{name: file.read(name) for name in file.namelist()} for file in map(zipfile.ZipFile, (first, second))]
    return sorted(name for name in contents[0] | contents[1] if contents[0].get(name) != contents[1].get(name))


def _tagged(folder: Path) -> Path:
    """A clone with the working copy as a commit that has a tag."""
    own = {"GIT_INDEX_FILE": str(folder / "index"), "GIT_COMMITTER_DATE": f"{EPOCH} +0000"}
    as_tester = ["git", "-c", "user.name=tester", "-c", "user.email=tester@localhost"]
    start(["git", "add", "--all"], FILES, **own)
    tree = start(["git", "write-tree"], FILES, **own).strip()
    commit = start([*as_tester, "commit-tree", "-m", "working copy", tree], FILES, **own).strip()
    clone = folder / "a clone"
    start(["git", "clone", "--quiet", "--shared", "--no-checkout", str(FILES), str(clone)], folder)
    start(["git", "-c", "advice.detachedHead=false", "checkout", "--quiet", commit], clone)
    start([*as_tester, "tag", "--force", "v0.1.0"], clone)
    return clone

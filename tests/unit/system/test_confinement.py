"""An untrusted Topo file: what it can reach, what ends it, and the error on machines that cannot confine it."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from longhaul.orchestrator.spec import topology
from longhaul.orchestrator.spec.topology import build_graph
from longhaul.orchestrator.system import confinement
from longhaul.orchestrator.system.confinement import Limits, View, confined
from longhaul.orchestrator.system.errors import BackendError, BackendUnavailable, PlanError
from longhaul.orchestrator.system.process import run_untrusted
from longhaul.orchestrator.system.settings import load_settings
from longhaul.orchestrator.system.syscalls import call_filter
from longhaul.orchestrator.system.untrusted_folder import discard, hand_over, take_out
from tests.support.programs import run_program

SECRET = "the-secret-of-the-store"

# The name of every host of the graph contains the result of an attempt.
ATTEMPTS = """
import ctypes, glob, os, socket, sys
from mininet.topo import Topo
import neighbour

def tried(attempt):
    try:
        return "yes" if attempt() else "no"
    except (OSError, ImportError, AttributeError):
        return "no"

def reads(path):
    return "{secret}" in open(path, errors="replace").read()

def connects():
    socket.create_connection(("127.0.0.1", {port}), 1)
    return True

def writes(path):
    open(path, "w").write("hostile")
    return True

def forks():
    children = []
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                import time
                time.sleep(60)
                os._exit(0)
            children.append(child)
        return True
    finally:
        for child in children:
            os.kill(child, 9)

def made(*call):
    return ctypes.CDLL(None).syscall(*call) >= 0

class Lab(Topo):
    def build(self):
        attempts = {{
            "store": lambda: reads("{home}/secret.txt"),
            "folder": lambda: reads("{folder}/data.csv") or reads("data.csv"),
            "environment": lambda: "LONGHAUL_SECRET" in os.environ,
            "others": lambda: any(reads(path) for path in glob.glob("/proc/[0-9]*/environ")),
            "users": lambda: "root" in open("/etc/passwd").read(),
            "network": connects,
            "write-home": lambda: writes("{home}/written"),
            "write-source": lambda: writes(__file__),
            "write-tmp": lambda: writes("/tmp/longhaul-test-written"),
            "write-root": lambda: writes("/longhaul-test-written"),
            "write-shm": lambda: writes("/dev/shm/longhaul-test-written"),
            "signal": lambda: os.kill({parent}, 0) is None,
            "forks": forks,
            "namespace": lambda: made(272, 0x10000000),
            "keyring": lambda: made(250, 0, -4, 0),
            "nothing": lambda: neighbour.NOTHING,
        }}
        for name, attempt in attempts.items():
            self.addHost(f"{{name}}_{{tried(attempt)}}")
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    (made / "secret.txt").write_text(SECRET)
    monkeypatch.setenv("LONGHAUL_HOME", str(made))
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LONGHAUL_SECRET", SECRET)
    return made


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def lab(home: Path, tmp_path: Path) -> Callable[[str], str]:
    """Write a user's topology; its name in an experiment."""
    folder = tmp_path / "lab"
    folder.mkdir()
    (folder / "neighbour.py").write_text("NOTHING = False\n")
    (folder / "data.csv").write_text(SECRET)

    def write(text: str) -> str:
        (folder / "lab.py").write_text(text)
        return f"{folder}/lab.py:Lab"

    return write


def in_build(line: str) -> str:
    return (
        f"import os, sys, time\nfrom mininet.topo import Topo\nclass Lab(Topo):\n    def build(self):\n        {line}\n"
    )


def test_a_hostile_topo_reaches_nothing(lab: Callable[[str], str], home: Path, tmp_path: Path, port: int) -> None:
    text = ATTEMPTS.format(secret=SECRET, home=home, folder=tmp_path / "lab", port=port, parent=os.getpid())
    names = build_graph(lab(text), {}).hosts
    assert len(names) == 16
    assert [name for name in names if not name.endswith("_no")] == []
    assert sorted(file.name for file in home.iterdir()) == ["secret.txt"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("while True: pass", "it was not done after 3 s|it was ended by SIGXCPU|it was ended by SIGKILL"),
        ("time.sleep(1000)", "it was not done after 3 s"),
        ("x = [bytes(2**20) for _ in range(2**20)]", "MemoryError"),
        ("while True: os.fork()", "Resource temporarily unavailable"),
        ("while True: os.write(1, bytes(2**16))", "it printed 4194304 bytes or more"),
        ("while True: os.write(2, bytes(2**16))", "it printed 4194304 bytes or more"),
        ("os.write(1, b'garbage'); os._exit(0)", "it must print nothing itself"),
        ("os.write(1, b'{\\xff}'); os._exit(0)", "it must print nothing itself"),
        ("os.write(1, b'[' * 100000); os._exit(0)", "nested too deeply"),
        ("os.write(1, b'[]'); os._exit(0)", "it must print nothing itself"),
        ('os.write(1, b\'{"nodes": 5, "links": []}\'); os._exit(0)', "int"),
        ("[self.addHost(f'h{n}') for n in range(5000)]", "more than 1024 nodes"),
        ("os.kill(os.getpid(), 9)", "it was ended by SIGKILL"),
        ("sys.exit('\\x1b[2J\\r\\nX-Header: 1')", r"X-Header: 1"),
    ],
)
def test_a_topo_that_misbehaves_is_ended_with_one_line(
    lab: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    if "not done" in message:
        monkeypatch.setattr(topology, "_LONGEST_S", 3)
    with pytest.raises(PlanError, match=f"building topology .*lab.py:Lab: .*({message})") as raised:
        build_graph(lab(in_build(line)), {})
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 1000


def test_a_changed_file_is_built_again(lab: Callable[[str], str]) -> None:
    assert build_graph(lab(in_build("self.addHost('first')")), {}).hosts == ["first"]
    assert build_graph(lab(in_build("self.addHost('the_second')")), {}).hosts == ["the_second"]


def test_a_file_that_is_not_there_is_named(home: Path) -> None:
    with pytest.raises(PlanError, match=r"building topology /nowhere/lab\.py:Lab: No such file"):
        build_graph("/nowhere/lab.py:Lab", {})


def run(words: list[str]) -> str:
    answer = run_untrusted(words, "", longest_s=20, most_bytes=2**16)
    assert answer.output is not None, answer.problem
    return answer.output.decode()


LIMITS = Limits(cpu_s=5, file_bytes=2**20, processes=8, memory_bytes=2**30)


def test_a_confined_program_sees_and_writes_only_its_view(home: Path, tmp_path: Path) -> None:
    given, written = tmp_path / "given.txt", tmp_path / "written"
    given.write_text("given")
    written.mkdir()
    hand_over(written)
    view = View(reads={"/in/it": given}, writes={"/out": written}, scratch={"/s": 2**16}, folder="/out")
    script = "cat /in/it; echo made > made; echo no >> /in/it; head -c 100000 /dev/zero > /s/x; stat -c %s /s/x; pwd; env; id -u; ls /"
    output = run(confined(["/bin/sh", "-c", script], view, LIMITS, load_settings())).split()
    assert output[:4] == ["given" + str(2**16), "/out", "PWD=/out", str(65533 if os.geteuid() == 0 else os.geteuid())]
    assert {"in", "out", "s", "usr", "proc", "dev"} <= set(output[4:])
    assert {"home", "root", "tmp", "var", "work", "mnt", "run", "sys"} & set(output[4:]) == set()
    assert given.read_text() == "given"
    assert (written / "made").read_text() == "made\n"


def test_a_view_that_holds_the_store_is_refused(home: Path, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="which contains the store"):
        confined(["/usr/bin/true"], View(reads={"/all": tmp_path}), LIMITS, load_settings())


def test_a_machine_without_confinement_refuses_user_code(lab: Callable[[str], str], tmp_path: Path) -> None:
    """In a namespace that allows no nested one, as in many containers."""
    marker = tmp_path / "lab" / "ran"
    written = lab(f"open({str(marker)!r}, 'w')\n" + in_build("self.addHost('h')"))
    program = (
        "from longhaul.orchestrator.spec.topology import build_graph\nfrom longhaul.orchestrator.system.errors import BackendUnavailable\n"
        f"try: build_graph({written!r}, {{}})\nexcept BackendUnavailable as error: print(error)"
    )
    words = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    output = run_program(
        ["unshare", "--user", "--map-root-user", "sh", "-c", words, "sh", sys.executable, "-c", program], check=True
    ).stdout
    assert output.startswith(
        "preparing the backend confinement: missing the kernel's permission to run user code confined ("
    )
    assert "allow user namespaces" in output
    assert "apt-get install" not in output, "installed programs are not missing"
    assert not marker.exists()


def test_without_bubblewrap_it_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "_BWRAP", "/usr/bin/no-such-bwrap")
    monkeypatch.setattr(confinement, "_possible", False)
    with pytest.raises(
        BackendUnavailable, match="missing /usr/bin/no-such-bwrap: run `apt-get install bubblewrap"
    ) as refused:
        confined(["/usr/bin/true"], View(), LIMITS, load_settings())
    assert "user namespaces" not in str(refused.value), "nothing was attempted that the kernel could have refused"


def test_code_of_others_and_no_confinement_do_not_go_together(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not load_settings().user_code
    monkeypatch.setenv("LONGHAUL_USER_CODE", "on")
    assert load_settings().user_code
    monkeypatch.setenv("LONGHAUL_CONFINEMENT", "off")
    with pytest.raises(PlanError, match="must run confined"):
        load_settings()
    monkeypatch.setenv("LONGHAUL_USER_CODE", "yes")
    with pytest.raises(PlanError, match="give on or off"):
        load_settings()


def test_files_handed_over_cannot_be_written_through(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.write_text("kept")
    folder.mkdir()
    os.link(outside, folder / "linked")
    (folder / "link").symlink_to(outside)
    hand_over(folder)
    (folder / "linked").write_text("changed")
    assert outside.read_text() == "kept"
    # Not a copy of what the code must not read.
    assert (folder / "link").is_symlink()
    assert outside.stat().st_uid == os.geteuid()


def test_only_plain_files_are_taken_out_and_all_the_rest_goes(tmp_path: Path) -> None:
    folder, target = tmp_path / "folder", tmp_path / "target"
    (folder / "inner" / "deeper").mkdir(parents=True)
    target.mkdir()
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    (folder / "facts.json").symlink_to(secret)
    (folder / "inner" / "link").symlink_to(secret)
    (folder / "inner" / "plain").write_text("plain")
    (folder / "plain").write_text("plain")
    os.mkfifo(folder / "pipe")
    for name in ("facts.json", "inner", "plain", "pipe", "missing"):
        take_out(folder, name, target, 2**20)
    assert sorted(str(path.relative_to(target)) for path in target.rglob("*")) == ["inner", "inner/plain", "plain"]
    with pytest.raises(BackendError, match="more than 4"):
        (folder / "large").write_text("large")
        take_out(folder, "large", target, 4)
    here = Path.cwd()
    os.chdir(folder)
    for _ in range(1500):
        os.mkdir("deep")
        os.chdir("deep")
    os.chdir(here)
    discard(folder)
    assert not folder.exists()
    assert secret.read_text() == SECRET


def test_the_filter_is_whole_instructions() -> None:
    assert len(call_filter()) % 8 == 0

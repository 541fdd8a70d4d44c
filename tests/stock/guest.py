"""The stock kernel's guest: Debian's own kernels with modules built for them, booted in an emulated machine without KVM.

Fetches a kernel (fetch.sh), builds the modules against its headers, packs what guest.sh needs into an initramfs, boots it
under a hard timeout and reads its reports from its second serial port. A check without a report has failed: silence, a panic and
a hang are all failures, and show the console's last lines. It installs nothing and opens no network.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from tests.support.programs import run_program

HERE = Path(__file__).parent
KMOD = HERE.parents[1] / "kmod"


def _names(prefix: str) -> tuple[str, ...]:
    files = (file for file in KMOD.glob(f"{prefix}*.c") if ".mod" not in file.name)
    return tuple(sorted(file.stem.removeprefix(prefix) for file in files))


CONTROLS, QUEUES = _names("tcp_"), _names("sch_")
# Congestion controls that are BPF objects, by the names that they register.
BPF_CONTROLS = ("bpf_apptcp", "bpf_window")
# Programs of the tests of native builds (tests/guest/user_code/test_bpf.py).
PROGRAMS = HERE.parent / "data" / "bpf"
MODULES = {*(f"tcp_{name}" for name in CONTROLS), *(f"sch_{name}" for name in QUEUES)}

# The checks that the guest reports for each module, in order.
CHECKS = ("loads", "allowed", "named", "carries", "in-use", "carries-with-loss", "unloads", "quiet")
BPF_CHECKS = ("loads", "allowed", "named", "carries", "carries-with-loss", "unloads", "quiet")
RATE_CHECKS = ("carries-its-rate", "keeps-rate")
QUEUE_CHECKS = ("loads", "shared", "in-use", "carries", "leaves", "unloads", "quiet")
IN_ORDER = (
    ("path", "laid"),
    *product(CONTROLS, CHECKS),
    *product(BPF_CONTROLS, BPF_CHECKS),
    *product(BPF_CONTROLS[:1], RATE_CHECKS),
    *product(QUEUES, QUEUE_CHECKS),
)

# Parameters without which 10 MB would take too long: a window of 10 segments at 20 ms carries 6 Mbit/s.
PARAMETERS = {"lhfixed": "cwnd=250"}

_TRACING_NET = """
#include "vmlinux.h"
#define SOL_TCP 6
#define TCP_CONGESTION 13
#define tcp_sk(sk) ((struct tcp_sock *)(sk))
"""

# A module's turn takes 3 s on an idle core; the limits are for slow and busy machines.
BOOT_LIMIT_S = 120
MODULE_LIMIT_S = 40

# The folder of root's programs in Debian, which is not on every user's PATH.
ENVIRONMENT = {**os.environ, "PATH": os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"}

# Kbuild's lines where the machine's tools are others than Debian's were; they are no fault of the modules.
_OTHER_TOOLS = re.compile(
    r"^warning: (the compiler|pahole version) differs from the one used to build the kernel\n.*\n.*\n", re.MULTILINE
)


@dataclass(frozen=True)
class Kernel:
    """A stock kernel in the cache, as fetch.sh left it."""

    version: str
    folder: Path

    @property
    def release(self) -> str:
        return (self.folder / "release").read_text().strip()

    @property
    def headers(self) -> Path:
        return self.folder / "build"

    @property
    def compiler(self) -> list[str]:
        """Arguments for make where the machine lacks the compiler of Debian's build: use its own, without an option that gcc has since 14."""
        config = (self.headers / ".config").read_text()
        (builder,) = re.findall(r'^CONFIG_CC_VERSION_TEXT="(\S+)', config, re.MULTILINE)
        return [] if shutil.which(builder) else ["CC=gcc", "CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT="]

    @property
    def bpf_controls(self) -> tuple[str, ...]:
        """The BPF objects that it can load: their programs call functions of the kernel, which is possible since Linux 5.13."""
        return () if self.version == "5.10" else BPF_CONTROLS

    @property
    def has_check(self) -> bool:
        """Debian's packages of 7.3 lack the script that Kbuild asks whether sparse is new enough."""
        asked = "checker-valid.sh" in next(self.folder.glob("headers/usr/src/*-common/Makefile")).read_text()
        return not asked or (self.headers / "scripts" / "checker-valid.sh").exists()


@dataclass(frozen=True)
class Report:
    """The guest's report of one check."""

    verdict: str
    detail: str


@dataclass(frozen=True)
class Guest:
    """A guest that has ended, with all its reports."""

    reports: dict[tuple[str, str], Report]
    fate: str
    console: str

    def why(self, module: str, check: str) -> str:
        """Why a check failed; empty if it passed."""
        report = self.reports.get((module, check))
        if report is not None:
            return "" if report.verdict == "ok" else f"{module}: {check}: {report.detail}"
        missing = next(each for each in IN_ORDER if each not in self.reports)
        if (module, check) != missing:
            return f"{module}: the guest did not report `{check}`; the first missing report is `{' '.join(missing)}`"
        return f"{module}: the guest did not report `{check}`; {self.fate}. Its console's last lines:\n{self.console}"


def attempt(words: Iterable[object], **settings: str) -> tuple[int, str]:
    """A command's exit code and its output; settings are more variables of its environment."""
    command = [str(word) for word in words]
    pipe, same = subprocess.PIPE, subprocess.STDOUT
    done = subprocess.run(command, stdout=pipe, stderr=same, text=True, check=False, env=ENVIRONMENT | settings)
    return done.returncode, done.stdout


def run(words: Iterable[object], what: str, **settings: str) -> str:
    """The output of a command that has to succeed."""
    code, output = attempt(words, **settings)
    if code:
        pytest.fail(f"{what}: exit code {code}; the end of its output:\n{output[-4000:]}", pytrace=False)
    return output


def fetch(version: str) -> Kernel:
    output = run([HERE / "fetch.sh", version], f"fetch the stock kernel {version}")
    return Kernel(version, Path(output.splitlines()[-1]))


def sources(folder: Path) -> Path:
    """A copy of the modules' sources, since a build writes next to them."""
    folder.mkdir()
    for file in (KMOD / "Makefile", KMOD / "Kbuild", *KMOD.glob("*.[ch]")):
        if not file.name.endswith(".mod.c"):
            shutil.copy(file, folder)
    return folder


def build(kernel: Kernel, folder: Path) -> tuple[int, str]:
    """`make -C kmod` with the compiler's warnings and sparse: its exit code and its output."""
    words = ["make", f"-j{os.cpu_count()}", "-C", sources(folder), f"KDIR={kernel.headers}"]
    check = ["C=1", "CHECK=sparse -Wsparse-error"] if kernel.has_check else []
    code, output = attempt([*words, *kernel.compiler, "W=1", *check])
    return code, _OTHER_TOOLS.sub("", output)


def build_bpf(kernel: Kernel, folder: Path) -> dict[str, Path]:
    """The BPF objects by the names that they register, made by clang with the types of the kernel, as a user makes them."""
    if not kernel.bpf_controls:
        return {}
    image = folder / "vmlinux"
    image.write_bytes(vmlinux(kernel.folder / "vmlinuz"))
    copy = folder / "kmod"
    shutil.copytree(KMOD / "bpf", copy / "bpf", ignore=shutil.ignore_patterns("*.o", "vmlinux.h"))
    for name in ("tcp_apptcp.c", "lh_info.h", "lh_param.h"):
        shutil.copy(KMOD / name, copy)
    run(["make", "-C", copy / "bpf", f"BTF={image}"], f"compile the BPF object for {kernel.release}")
    objects = {"bpf_apptcp": copy / "bpf" / "apptcp.bpf.o"}
    # A header of the kernel's self-tests, which libbpf does not have.
    (copy / "bpf" / "bpf_tracing_net.h").write_text(_TRACING_NET)
    for program in PROGRAMS.iterdir():
        made = objects[f"bpf_{program.name}"] = copy / f"{program.name}.bpf.o"
        run(
            [*("clang", "-O2", "-g", "-Wall", "-Werror", "-fms-extensions", "-Wno-microsoft-anon-tag", "-target", "bpf", f"-I{copy / 'bpf'}"),
             *("-c", program / f"{program.name}.bpf.c", "-o", made)],
            f"compile {program.name}.bpf.c for {kernel.release}",
        )  # fmt: skip
    return {name: objects[name] for name in kernel.bpf_controls}


def vmlinux(image: Path) -> bytes:
    """The kernel as an ELF file with its type data, from a vmlinuz, whose header says where it is (Documentation/arch/x86/boot.rst)."""
    content = image.read_bytes()
    offset, length = struct.unpack_from("<II", content, 0x248)
    start = ((content[0x1F1] or 4) + 1) * 512 + offset
    # Four bytes with its size follow the compressed kernel.
    packed = content[start : start + length - 4]
    programs = {b"\xfd7zXZ": "xz", b"(\xb5/\xfd": "zstd"}
    program = next((name for magic, name in programs.items() if packed.startswith(magic)), None)
    if program is None:
        pytest.fail(f"unpack {image}: its compression, {packed[:4].hex()}, is neither xz nor zstd", pytrace=False)
    return subprocess.run([program, "-dc"], input=packed, capture_output=True, check=True).stdout


def libraries(programs: Iterable[Path]) -> set[Path]:
    """The libraries that programs load when they start; none for static programs."""
    found = (run_program(["ldd", file]).stdout for file in programs)
    return {Path(path) for text in found for path in re.findall(r"(/\S+) \(0x", text)}


def initramfs(kernel: Kernel, modules: Iterable[Path], objects: Mapping[str, Path], folder: Path) -> Path:
    """guest.sh as PID 1, with the programs, libraries and modules it uses; not compressed: the guest is the slower side."""
    root = folder / "root"
    for place in ("bin", "boot", "sbin", "modules"):
        (root / place).mkdir(parents=True)
    shutil.copy(HERE / "guest.sh", root / "init")
    run(
        ["gcc", "-O2", "-Wall", "-Werror", "-static", HERE / "transfer.c", "-o", root / "bin" / "transfer"],
        "compile transfer.c",
    )

    programs = {}
    for name in ("busybox", "bpftool", "ip", "tc", "ss"):
        program = shutil.which(name, path=ENVIRONMENT["PATH"])
        if not program:
            pytest.fail(f"pack the guest: {name} is missing: run ./setup.sh stock", pytrace=False)
        programs[name] = Path(program)
        shutil.copy(program, root / ("bin" if name == "busybox" else "sbin") / name)
    for library in libraries(programs.values()):
        target = root / library.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)

    shutil.copytree(kernel.folder / "modules", root / "modules" / "kernel")
    shutil.copy(kernel.folder / "load-order", root / "modules")
    for module in modules:
        run(["strip", "--strip-debug", "-o", root / "modules" / module.name, module], f"strip {module.name}")
    for name, file in objects.items():
        shutil.copy(file, root / "modules" / f"{name}.bpf.o")
    # libbpf reads the kernel's configuration there.
    shutil.copy(kernel.headers / ".config", root / "boot" / f"config-{kernel.release}")
    for name, parameters in PARAMETERS.items():
        (root / "modules" / f"tcp_{name}.parameters").write_text(parameters)
    packed = folder / "initramfs"
    run(["sh", "-c", f"cd '{root}' && find . | cpio --quiet -o -H newc >'{packed}'"], "pack the guest")
    return packed


def boot(kernel: Kernel, packed: Path, folder: Path) -> Guest:
    """Boot, wait for the end or the limit, and read the reports."""
    console, reports = folder / "console", folder / "reports"
    limit_s = BOOT_LIMIT_S + MODULE_LIMIT_S * (len(MODULES) + len(BPF_CONTROLS))
    words = [
        *("qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-machine", "pc", "-accel", "tcg,thread=single", "-cpu", "max", "-smp", "2", "-m", "512"),
        *("-serial", f"file:{console}", "-serial", f"file:{reports}"),
        *("-kernel", str(kernel.folder / "vmlinuz"), "-initrd", str(packed)),
        *("-append", "console=ttyS0 loglevel=5 panic=-1 random.trust_cpu=on"),
    ]
    try:
        done = run_program(words, timeout=limit_s)
        fate = f"qemu ended with exit code {done.returncode} {done.stderr.strip()[-500:]}".rstrip()
    except FileNotFoundError:
        fate = "qemu-system-x86_64 is missing: run ./setup.sh stock"
    except subprocess.TimeoutExpired:
        fate = f"it was ended after {limit_s} s"
    return Guest(_parse(_text(reports)), fate, "\n".join(_text(console).splitlines()[-40:]))


def _text(file: Path) -> str:
    return file.read_text(errors="replace") if file.exists() else ""


def _parse(text: str) -> dict[tuple[str, str], Report]:
    lines = re.findall(r"^check (\S+) (\S+) (ok|failed) ?(.*?)\r?$", text, re.MULTILINE)
    return {(module, check): Report(verdict, detail) for module, check, verdict, detail in lines}

"""The congestion controls and kinds of queue on kernels that Longhaul did not make: Debian's own, unmodified, booted in an emulated machine.

AppTCP is there as a module and as a BPF object, which the kernel's verifier has to accept.

They build without a warning and through DKMS. Each check of each module in the guest is a case, so that a failure names the
kernel, the module and the check.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stock.conftest import Built
from tests.stock.guest import (
    BPF_CHECKS,
    BPF_CONTROLS,
    CHECKS,
    CONTROLS,
    KMOD,
    MODULES,
    QUEUE_CHECKS,
    QUEUES,
    RATE_CHECKS,
    Guest,
    Kernel,
    run,
)


def test_it_builds_without_a_warning(built: Built) -> None:
    if built.exit_code or "warning" in built.words.lower():
        pytest.fail(f"exit code {built.exit_code}:\n{built.words}", pytrace=False)
    assert {file.stem for file in built.folder.glob("*.ko")} == MODULES


def test_dkms_builds_the_package(kernel: Kernel, tmp_path: Path) -> None:
    run(["make", "-C", KMOD, "dkms-install", f"DESTDIR={tmp_path}"], "stage the DKMS package")
    (package,) = (tmp_path / "usr/src").iterdir()
    name, _, version = package.name.partition("-")
    (tmp_path / "dkms").mkdir()
    # Its own trees: the machine's modules are not touched.
    trees = ["--dkmstree", tmp_path / "dkms", "--sourcetree", package.parent, "--installtree", tmp_path / "modules"]
    run(["dkms", *trees, "add", f"{name}/{version}"], "add the package to DKMS")
    built = ["build", f"{name}/{version}", "-k", kernel.release, "--kernelsourcedir", kernel.headers]
    run(["dkms", *trees, *built], f"build the package for {kernel.release}", MAKEFLAGS=" ".join(kernel.compiler))
    assert {file.name.split(".")[0] for file in tmp_path.glob("dkms/**/module/*.ko*")} == MODULES


def test_the_guest_boots_and_lays_its_path(kernel: Kernel, guest: Guest) -> None:
    _holds(guest, "path", "laid")
    assert guest.reports["path", "laid"].detail == kernel.release


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("control", CONTROLS)
def test_a_module(guest: Guest, control: str, check: str) -> None:
    _holds(guest, control, check)


@pytest.mark.parametrize("check", BPF_CHECKS)
@pytest.mark.parametrize("control", BPF_CONTROLS)
def test_a_bpf_object(kernel: Kernel, guest: Guest, control: str, check: str) -> None:
    if control not in kernel.bpf_controls:
        pytest.skip("BPF programs call functions of the kernel since Linux 5.13")
    _holds(guest, control, check)


@pytest.mark.parametrize("check", RATE_CHECKS)
def test_the_bpf_object_of_apptcp_keeps_a_rate(kernel: Kernel, guest: Guest, check: str) -> None:
    test_a_bpf_object(kernel, guest, "bpf_apptcp", check)


@pytest.mark.parametrize("check", QUEUE_CHECKS)
@pytest.mark.parametrize("queue", QUEUES)
def test_a_kind_of_queue(guest: Guest, queue: str, check: str) -> None:
    _holds(guest, queue, check)


def _holds(guest: Guest, module: str, check: str) -> None:
    if why := guest.why(module, check):
        pytest.fail(why, pytrace=False)

"""Each stock kernel is fetched once and booted once; many tests check what its modules did there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.stock.guest import Guest, Kernel, boot, build, build_bpf, fetch, initramfs
from tests.support.tested_kernels import TESTED_KERNELS


@dataclass(frozen=True)
class Built:
    """The modules for one kernel, and the output of the build."""

    kernel: Kernel
    folder: Path
    exit_code: int
    words: str


@pytest.fixture(scope="session", params=TESTED_KERNELS)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return fetch(str(request.param))


@pytest.fixture(scope="session")
def built(kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("build") / "kmod"
    return Built(kernel, folder, *build(kernel, folder))


@pytest.fixture(scope="session")
def guest(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Guest:
    """The guest, after it has tried every module."""
    if built.exit_code:
        pytest.fail(f"the modules do not build for {built.kernel.release}, so nothing was booted", pytrace=False)
    folder = tmp_path_factory.mktemp("guest")
    packed = initramfs(built.kernel, built.folder.glob("*.ko"), build_bpf(built.kernel, folder), folder)
    return boot(built.kernel, packed, folder)

"""The kernels that tests of guests run on: those of `make test`, or those that TEST_KERNELS lists (`make test-kernels-all`)."""

from __future__ import annotations

import os

from longhaul.orchestrator.spec.kernel_versions import ORDINARY_KERNELS

# Each test of several kernels runs on all of them, every other test on the first.
TESTED_KERNELS = tuple(os.environ.get("TEST_KERNELS", "").split()) or ORDINARY_KERNELS

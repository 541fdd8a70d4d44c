"""The kernels that an experiment may name: versions of Linux that the sandbox has patches for, and names of the user's own."""

from __future__ import annotations

from longhaul.orchestrator.spec.fields import matching

ORDINARY_KERNELS = ("6.12", "6.1")
# Kernels of more releases of Linux; `make kernels-all` builds them.
FURTHER_KERNELS = ("5.10", "7.3")
# Debug kernels find faults, and are far too slow for anything else.
DEBUG_KERNELS = ("6.12-debug",)
KERNELS = (*ORDINARY_KERNELS, *FURTHER_KERNELS, *DEBUG_KERNELS)
# Releases before 6.17 have no dualpi2, and before 6.19 no accurate ECN. A kernel with a name is not judged by it.
KERNELS_WITHOUT_L4S = ("5.10", "6.1", "6.12", *DEBUG_KERNELS)
# From 6.17 on, TCP with SACK finds losses by time only, whatever net.ipv4.tcp_recovery says (docs/kernels.md).
KERNELS_WITHOUT_DUPTHRESH = ("7.3",)
# Kernels in which a host does the same whichever other hosts share its guest: the sandbox's own.
KERNELS_IN_PARTS = KERNELS
# The same with room for larger private areas of congestion controls (kmod/sandbox/wide); `longhaul kernel build` makes one by this name.
WIDE_KERNELS = {f"wide-{version}": version for version in (*ORDINARY_KERNELS, *FURTHER_KERNELS)}
WIDE_NAMES = {version: name for name, version in WIDE_KERNELS.items()}
# A kernel of the user's (kernels/named_kernels.py).
KERNEL_NAME = "[a-z][a-z0-9._-]{0,39}"
KERNEL_NAME_RULE = (
    "a name has up to 40 lower-case letters, digits, dots, dashes and underscores, and begins with a letter"
)
# Also a pattern of browsers, which know no escaped hyphen.
KERNEL_PATTERN = f"^({'|'.join(version.replace('.', '[.]') for version in KERNELS)}|{KERNEL_NAME})$"
KernelName = matching(KERNEL_PATTERN, KERNELS, f"one of {', '.join(KERNELS)}, or a name of `longhaul kernel add`")

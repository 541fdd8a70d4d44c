"""`make module-matrix`: docs/module-matrix.md, which congestion control runs on which kernel: the kernel's, the project's and the shapes of foreign sources."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from longhaul.orchestrator.execution.module_check import Checked, check_known, check_source
from longhaul.orchestrator.kernels.build import kernels_for_modules
from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS
from longhaul.orchestrator.system.errors import LonghaulError
from longhaul.orchestrator.system.installation import KMOD
from longhaul.orchestrator.system.settings import load_settings

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "module-matrix.md"
_SHAPES = ("tests/data/foreign", "tests/data/bpf")
_INTRO = """\
# Controls and kernels

Which congestion control builds, loads and moves data on which kernel; written by `make module-matrix`, which tries each as `longhaul modules check` does. A kernel in a cell is the one with room
for a large private area. Why a control does not run stands below its table, once for each reason.

"""


def main() -> int:
    """Try everything on every kernel that is built here, and write the page; 4 if a source cannot be tried."""
    settings = load_settings()
    kernels = kernels_for_modules(settings)
    known = [*check_known(kernels, settings)]
    ours = {name for name, control in CONGESTION_CONTROLS.items() if (KMOD / f"{control.module}.c").is_file()}
    foreign: list[Checked] = []
    for folder in sorted(path for place in _SHAPES for path in (ROOT / place).iterdir() if path.is_dir()):
        try:
            foreign += check_source(str(folder), kernels, settings)
        except LonghaulError as error:
            foreign += [Checked(str(folder), "-", "-", kernel, False, False, False, error.what) for kernel in kernels]
        print(folder.name, file=sys.stderr)
    parts = (
        ("Linux's own", [row for row in known if row.cc not in ours]),
        ("The project's", [row for row in known if row.cc in ours]),
        ("Foreign sources, by shape", foreign),
    )
    PAGE.write_text(_INTRO + "\n".join(line for title, rows in parts for line in _part(title, rows, kernels)))
    print(PAGE)
    return 0


def _part(title: str, rows: Sequence[Checked], kernels: Sequence[str]) -> Iterator[str]:
    shapes = any(row.source for row in rows)
    yield f"## {title}\n"
    heads = [*(["shape"] if shapes else []), "control", *kernels]
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    reasons: dict[str, None] = {}
    for control in dict.fromkeys(row.control for row in rows):
        own = {row.kernel: row for row in rows if row.control == control}
        first = next(iter(own.values()))
        cells = [_cell(own.get(kernel)) for kernel in kernels]
        yield f"| {' | '.join([*([Path(first.source).name] if shapes else []), f'`{first.cc}`', *cells])} |"
        name = Path(first.source).name if shapes else first.cc
        for row in own.values():
            if not row.ok:
                fault = row.fault.replace(f"Linux {row.kernel}", "that kernel").replace(
                    f"wide-{row.kernel}", "wide-..."
                )
                reasons[f"{name}: {fault}"] = None
    yield ""
    yield from (f"- {reason}" for reason in reasons)
    yield ""


def _cell(row: Checked | None) -> str:
    if row is None:
        return "-"
    if row.ok:
        return row.with_kernel or "yes"
    return "no data" if row.loads else "does not load" if row.builds else "does not build"


if __name__ == "__main__":
    sys.exit(main())

"""Builds the wheel of one more guest kernel, as longhaul_kernel_6_1-VERSION-py3-none-manylinux_2_17_x86_64.whl.

    python -m kmod.release.kernel_wheel PARTS FOLDER TIME       PARTS: what parts.py collected for one kernel

It contains the kernel, its modules and the licence, and no Python. `pip install` puts them next to those of the wheel of longhaul, which
installs them into the cache when a run needs them; `longhaul kernel install` does the same without pip. Its bytes depend on the parts,
the version in pyproject.toml and the time alone, which is in seconds since 1970.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import time
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

from hatch_build import prebuilt_files, wheel_tag

_ROOT = Path(__file__).resolve().parents[2]
_METADATA = """\
Metadata-Version: 2.4
Name: {name}
Version: {version}
Summary: Longhaul's guest kernel {kernel} and the modules for it, prebuilt
License-Expression: GPL-2.0-only
License-File: COPYING
Requires-Python: {python}
Requires-Dist: longhaul=={version}
Description-Content-Type: text/plain

The guest kernel {kernel} of Longhaul {version}, which is User-Mode Linux {release}, with the modules that come with
Linux and those of Longhaul. They are built from Debian's source package with the patches, the configuration and the scripts in the
folder kmod/ of Longhaul's source distribution; kmod/sandbox/release.lock there names the source package, its version and its hash.
"""


def build(parts: Path, folder: Path, time_s: int) -> Path:
    """The wheel of the one kernel among the parts."""
    (manifest,) = parts.glob("kernels/*/manifest.json")
    about = json.loads(manifest.read_text())
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    name, version = f"longhaul-kernel-{about['version']}", project["version"]
    files = {Path(file): path for file, path in prebuilt_files(parts).items() if "/agent/" not in path}
    tag = wheel_tag(files)
    stem = f"{re.sub('[-.]', '_', name)}-{version}"
    metadata = _METADATA.format(
        name=name,
        version=version,
        kernel=about["version"],
        python=project["requires-python"],
        release=about["kernelrelease"].removesuffix("-longhaul"),
    )
    wheel = f"Wheel-Version: 1.0\nGenerator: longhaul\nRoot-Is-Purelib: false\nTag: {tag}\n"
    contents = [
        (f"{stem}.data/data/{path}", file.read_bytes(), file.stat().st_mode & 0o100) for file, path in files.items()
    ]
    contents += [
        (f"{stem}.dist-info/METADATA", metadata.encode(), 0),
        (f"{stem}.dist-info/WHEEL", wheel.encode(), 0),
        (f"{stem}.dist-info/licenses/COPYING", (_ROOT / "kmod/COPYING").read_bytes(), 0),
    ]
    record = f"{stem}.dist-info/RECORD"
    listed = "".join(f"{line}\n" for line in _record(contents)) + f"{record},,\n"
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{stem}-{tag}.whl"
    moment = time.gmtime(time_s)[:6]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content, executable in [*contents, (record, listed.encode(), 0)]:
            entry = zipfile.ZipInfo(path, moment)
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return target


def _record(contents: list[tuple[str, bytes, int]]) -> Iterator[str]:
    for path, content, _ in contents:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        yield f"{path},sha256={digest},{len(content)}"


if __name__ == "__main__":
    print(build(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))

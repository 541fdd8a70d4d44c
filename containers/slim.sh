#!/bin/bash
# Takes out of a Python environment what no program of it imports: its installer, the tests and headers of libraries.
#
#	slim.sh FOLDER
set -euo pipefail

packages=$(echo "$1"/lib/python3*/site-packages)
rm -rf "$packages"/pip "$packages"/pip-* "$packages"/setuptools "$packages"/setuptools-* "$packages"/_distutils_hack \
	"$packages"/distutils-precedence.pth "$packages"/pkg_resources "$1"/bin/pip*
find "$packages" -type d \( -name tests -o -name test \) -prune -exec rm -rf {} +
rm -rf "$packages"/pyarrow/{include,src} "$packages"/numpy/*/include
find "$packages" \( -name '*.pyx' -o -name '*.pxd' -o -name '*.pyi' \) -delete
# The root file system is read-only: what is not compiled now is compiled at every start.
"$1"/bin/python -m compileall -q "$packages" "$1"/../{api,orchestrator,topologies} >/dev/null

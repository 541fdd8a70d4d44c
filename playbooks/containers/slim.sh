#!/bin/bash
# Removes unused parts of a Python environment: its installer, and tests, headers and unused parts of libraries.
#
#	slim.sh FOLDER
set -euo pipefail

packages=$(echo "$1"/lib/python3*/site-packages)
rm -rf "$packages"/pip "$packages"/pip-* "$packages"/setuptools "$packages"/setuptools-* "$packages"/_distutils_hack \
	"$packages"/distutils-precedence.pth "$packages"/pkg_resources "$1"/bin/pip*
find "$packages" -type d \( -name tests -o -name test \) -prune -exec rm -rf {} +
rm -rf "$packages"/numpy/*/include
find "$packages" \( -name '*.pyx' -o -name '*.pxd' -o -name '*.pyi' \) -delete
# Too much would be noticed here.
"$1"/bin/python -c 'import longhaul.api.app, matplotlib.pyplot, optuna, longhaul.cli.main, longhaul.orchestrator.execution.cluster.executor, psycopg'
# The root file system is read-only: modules not compiled now would be compiled at every start.
"$1"/bin/python -m compileall -q "$packages" "$1"/../{longhaul,api,orchestrator,topologies} >/dev/null

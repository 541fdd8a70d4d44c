#!/bin/bash
# Which lines of source places in modules are: each is MODULE FUNCTION OFFSET, and has its lines up to an empty one.
#
#	find-lines.sh FOLDER MODULE FUNCTION OFFSET [MODULE FUNCTION OFFSET]...
#
# FOLDER has the modules' objects with debugging information. Of what was compiled into one another, the innermost comes first:
# a line with the function, a line with file:line.
set -euo pipefail

folder=${1:?usage: find-lines.sh FOLDER MODULE FUNCTION OFFSET...}
shift
while [ $# -ge 3 ]; do
	object=$folder/$1.ko
	read -r start section < <(objdump --syms "$object" |
		awk -v name="$2" '$NF == name { for (i = 2; i < NF; i++) if ($i == "F") { print $1, $(i + 1); exit } }') || true
	if [ -n "${start:-}" ]; then
		addr2line --exe="$object" --section="$section" --functions --inlines --basenames \
			"$(printf '0x%x' $((0x$start + $3)))" || true
	fi
	echo
	start=
	shift 3
done

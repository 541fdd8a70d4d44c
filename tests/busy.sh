#!/bin/bash
# Runs stages of `make test` one after the other while two busy loops are running: no test may depend on the machine's speed.
#
#	tests/busy.sh STAGE...      prints each stage's result and the end of the output of those that failed
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

loops=()
for _ in 1 2; do
	while :; do :; done &
	loops+=($!)
done
output=$(mktemp)
trap 'kill "${loops[@]}" 2>/dev/null; rm -f "$output"' EXIT
failed=()
for stage in "$@"; do
	began=$SECONDS
	if make --no-print-directory "$stage" >"$output" 2>&1; then
		echo "$stage: passed in $((SECONDS - began)) s"
	else
		failed+=("$stage")
		echo "$stage: FAILED in $((SECONDS - began)) s; its output ends:"
		tail -n 40 "$output"
	fi
done
[ ${#failed[@]} = 0 ] || { echo "failed with two busy loops: ${failed[*]}" >&2; exit 1; }

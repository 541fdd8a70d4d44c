#!/bin/bash
# Uses the release's guest kernel and agent where `longhaul kernel install` put them; `make kernel agent` builds them only where it did not.
#
#	use.sh VERSION		exit code 0: runs use it, with its modules; 1: there is none, build it; 3: it is there, but a build needs its headers
#	use.sh --agent		the same for the agent, which is the release's if no source is newer
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=${1:?usage: use.sh VERSION, or use.sh --agent}
lock=$here/../sandbox/release.lock
if [ "$version" = --agent ]; then
	sources=$here/../../orchestrator/agent
	agent=$sources/build/longhaul-agent
	[ -f "$agent" ] && [ -z "$(find "$sources" "$here/.."/lh_*.h -path "$sources/build" -prune -o -type f -newer "$agent" -print -quit)" ] &&
		grep -q "^file $(sha256sum <"$agent" | cut -d' ' -f1) agent/" "$lock"
	exit
fi
kernel=${LONGHAUL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/longhaul}/kernels/current-$version
pinned=$(awk -v version="$version" '$1 == "kernel" && $2 == version { print $3 }' "$lock")

# One that was built here has headers, and changed sources are noticed by its hash.
[ -n "$pinned" ] && [ "$(readlink "$kernel")" = "$pinned" ] && [ ! -d "$kernel/tree" ] || exit 1
"$here/../sandbox/build-modules.sh" "$version" >/dev/null 2>&1 || {
	echo "make kernel: the kernel $version is the release's, without headers, and the sources of the modules have changed; run \`longhaul kernel build $version --from source\`" >&2
	exit 3
}

#!/bin/bash
# Counts where runs go in a guest's kernel, for the compiler: what is gone through often is laid out for that.
#
#	profile.sh VERSION	writes profile-VERSION.tar.xz beside this script, by which build.sh builds from then on
#
# The counts are gcc's own, a file for each object, and only for the version of gcc that made them.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=${1:?usage: profile.sh VERSION}
longhaul=$here/../../.venv/bin/longhaul

built=$("$here/build.sh" --count "$version" | tail -n 1)
# A counting kernel writes to where it was compiled.
counts=$(dirname "$built")/.build-$(basename "$built")
rm -rf "$counts"
work=$(mktemp -d)
trap 'rm -rf "$work" "$counts"' EXIT
export LONGHAUL_CACHE=$work/cache LONGHAUL_HOME=$work/home
mkdir -p "$LONGHAUL_CACHE/kernels"
ln -s "$built" "$LONGHAUL_CACHE/kernels/$(basename "$built")"
ln -s "$(basename "$built")" "$LONGHAUL_CACHE/kernels/current-$version"
"$here/build-modules.sh" "$version" >"$work/log"

run() {
	"$longhaul" run "$@" --no-cache --set "kernel='$version'" >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; exit 4; }
}
# What people run: short and long, few flows and many, queues that manage themselves, a wireless link.
cat >"$work/one.yaml" <<-'YAML'
	experiment: one
	path: {bandwidth: 1 Gbit/s, rtt: 40 ms, buffer: 1 BDP}
	flows: [{name: app, cc: htcp}]
	duration: 10 s
YAML
run "$work/one.yaml"
run "$work/one.yaml" --set flows.app.count=100 --set duration=2s
for shipped in quick aqm wifi/down demo; do run "$shipped"; done

cd "$counts/tree"
find . -name '*.gcda' -printf '%P\n' | LC_ALL=C sort |
	tar --owner=0 --group=0 --mode=a=r --mtime=@0 -cf - -T - | xz -9e >"$here/.profile-$version.tar.xz"
mv "$here/.profile-$version.tar.xz" "$here/profile-$version.tar.xz"
ls "$here/profile-$version.tar.xz"

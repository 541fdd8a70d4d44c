#!/bin/bash
# Builds kmod/*.c for a guest kernel that build.sh made, into the cache, or finds them there.
#
#	build-modules.sh VERSION    the last line on standard output is the folder
#
#	$LONGHAUL_CACHE/modules/<hash>/*.ko
#	$LONGHAUL_CACHE/modules/current-<version> -> <hash>
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sources=$here/..
cache=${LONGHAUL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/longhaul}
version=${1:?usage: build-modules.sh VERSION}
kernel=$(readlink -f "$cache/kernels/current-$version" || true)

if [ ! -f "$kernel/manifest.json" ]; then
	echo "building the kernel modules for $version: that kernel is not built; run \`longhaul kernel build $version\`" | tee /dev/stderr
	exit 1
fi
hash=$({
	cat "$kernel/manifest.json" "$here/build-modules.sh"
	cd "$sources" && cat Kbuild ./*.h ./*.c
} | sha256sum | cut -c1-32)
target=$cache/modules/$hash
mkdir -p "$cache/modules"
if [ ! -d "$target" ]; then
	work=$cache/modules/.build-$hash-$$
	trap 'rm -rf "$work"' EXIT
	mkdir -p "$work/src" "$work/out"
	cp "$sources"/Kbuild "$sources"/*.c "$sources"/*.h "$work/src"
	if ! make -s -C "$kernel/tree" ARCH=um W=1 KCFLAGS="-ffile-prefix-map=$work/src=." M="$work/src" modules >"$work/log" 2>&1; then
		cat "$work/log" >&2
		echo "building the kernel modules for $version: the compiler's words are above"
		exit 1
	fi
	strip --strip-debug "$work"/src/*.ko
	cp "$work"/src/*.ko "$work/out"
	mv -T "$work/out" "$target" 2>/dev/null || [ -d "$target" ]
fi
ln -sfn "$hash" "$cache/modules/current-$version.$$" && mv -T "$cache/modules/current-$version.$$" "$cache/modules/current-$version"
echo "$target"

#!/bin/bash
# Builds the project's kernel modules for a guest kernel that build.sh made, into the cache, or finds them there.
#
#	build-modules.sh VERSION    the last line on standard output is the folder of the *.ko
#
# With LONGHAUL_DEBUG_INFO=yes they have debugging information, and the same code.
#
#	$LONGHAUL_CACHE/modules/<hash>/*.ko
#	$LONGHAUL_CACHE/modules/current-<version> -> <hash>
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sources=$(dirname "$here")
cache=${LONGHAUL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/longhaul}
version=${1:?usage: build-modules.sh VERSION}
debug=
[ "${LONGHAUL_DEBUG_INFO:-}" != yes ] || debug=-g
kernel=$(readlink -f "$cache/kernels/current-$version" || true)

if [ ! -f "$kernel/manifest.json" ]; then
	echo "building the kernel modules for $version: that kernel is not built; run \`longhaul kernel build $version\`" | tee /dev/stderr
	exit 1
fi
hash=$({
	# A kernel of an earlier version of Longhaul has no hash of its headers.
	grep -o '"headers": "[0-9a-f]*"' "$kernel/manifest.json" || cat "$kernel/manifest.json"
	cat "$here/build-modules.sh"
	cd "$sources" && cat Kbuild ./*.h ./*.c
	printf %s "$debug"
} | sha256sum | cut -c1-32)
target=$cache/modules/$hash
mkdir -p "$cache/modules"
if [ ! -d "$target" ]; then
	work=$cache/modules/.build-$hash-$$
	trap 'rm -rf "$work"' EXIT
	mkdir -p "$work/src" "$work/out"
	cp "$sources"/Kbuild "$sources"/*.[ch] "$work/src"
	if ! make -s -C "$kernel/tree" ARCH=um W=1 \
		KCFLAGS="-ffile-prefix-map=$work/src=. $debug" M="$work/src" modules >"$work/log" 2>&1; then
		grep -v '^make' "$work/log" | sed "s#$work/src/##g" >&2
		echo "building the kernel modules for $version: the compiler's messages are above"
		exit 1
	fi
	[ -n "$debug" ] || strip --strip-debug "$work"/src/*.ko
	cp "$work"/src/*.ko "$work/out"
	mv -T "$work/out" "$target" 2>/dev/null || [ -d "$target" ]
fi
ln -sfn "$hash" "$cache/modules/current-$version.$$" && mv -T "$cache/modules/current-$version.$$" "$cache/modules/current-$version"
echo "$target"

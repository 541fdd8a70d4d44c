#!/bin/bash
# Guest kernels and the project's modules for an image, without what only compilers need of them.
#
#	kernels.sh FOUND OUT VERSION...		FOUND/<hash>/ are kernels that somebody has built already; LONGHAUL_CACHE is where the rest is built
#
# Which kernel is wanted, whether it is there and how it is made is build.sh's to say, as everywhere else.
set -euo pipefail

found=$1 out=$2
shift 2
for version in "$@"; do
	hash=$(kmod/sandbox/build.sh --hash "$version")
	kept=$LONGHAUL_CACHE/kernels/$hash
	if [ -f "$found/$hash/manifest.json" ] && [ ! -e "$kept" ]; then
		cp -a "$found/$hash" "$kept.$$"
		mv -T "$kept.$$" "$kept"
	fi
	kernel=$(kmod/sandbox/build.sh "$version" | tail -n 1)
	modules=$(kmod/sandbox/build-modules.sh "$version" | tail -n 1)

	mkdir -p "$out/kernels/$hash" "$out/modules"
	cp -a "$kernel"/{linux,config,manifest.json,modules} "$out/kernels/$hash"
	cp -a "$modules" "$out/modules"
	ln -s "$hash" "$out/kernels/current-$version"
	ln -s "$(basename "$modules")" "$out/modules/current-$version"
done

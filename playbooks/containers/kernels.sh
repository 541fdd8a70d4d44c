#!/bin/bash
# Guest kernels and the project's modules for an image, without the files that only compilers need.
#
#	kernels.sh FOUND OUT VERSION...		FOUND/<hash>/ are built kernels; the others are built in LONGHAUL_CACHE
#
# build.sh selects, finds and builds kernels, as everywhere else.
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

#!/bin/bash
# Guest kernels and the project's modules for an image, without the files that only compilers need.
#
#	kernels.sh FOUND OUT VERSION...		FOUND/<hash>/ are built kernels; the others are built in LONGHAUL_CACHE
#	kernels.sh PARTS OUT VERSION...		PARTS is what `make parts` collects: a kernel of the release is not built
#
# build.sh selects, finds and builds kernels, as everywhere else.
set -euo pipefail

found=$1 out=$2
lock=kmod/sandbox/release.lock
shift 2

pinned() { awk -v kind="$1" -v version="$2" '$1 == kind && $2 == version { print $3 }' "$lock"; }

# Copy a folder of the release, and compare each file with its pinned hash.
take() {
	mkdir -p "$out/${1%/*}"
	cp -a "$found/$1" "$out/$1"
	awk -v folder="$1/" '$1 == "file" && index($3, folder) == 1 { print $2 "  " $3 }' "$lock" | (cd "$out" && sha256sum --check --quiet) ||
		{ echo "making an image: $1 in the release's parts is not what release.lock pins; run \`make parts\` again" >&2; exit 1; }
	ln -s "${1#*/}" "$out/${1%/*}/current-$version"
}

for version in "$@"; do
	kernel=$(pinned kernel "$version")
	if [ -n "$kernel" ] && [ -d "$found/kernels/$kernel" ]; then
		take "kernels/$kernel"
		take "modules/$(pinned modules "$version")"
		continue
	fi
	hash=$(kmod/sandbox/build.sh --hash "$version")
	kept=$LONGHAUL_CACHE/kernels/$hash
	if [ -f "$found/$hash/manifest.json" ] && [ ! -e "$kept" ]; then
		mkdir -p "${kept%/*}"
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

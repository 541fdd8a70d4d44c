#!/bin/bash
# Builds a guest kernel from Debian's kernel source package into the cache, or finds it there.
#
#	build.sh VERSION            the last line on standard output is the folder
#	build.sh --hash VERSION     only the content hash
#	build.sh --patches VERSION  only the files that are chosen for its release: fragments, then each patch with its purpose
#	build.sh --count VERSION    one that counts where it goes (profile.sh)
#
#	$LONGHAUL_CACHE/kernels/<hash>/   linux  modules/*.ko  config  manifest.json  tree/ (headers for modules)
#	$LONGHAUL_CACHE/kernels/current-<version> -> <hash>
#
# The folder's name is the hash of everything that determines the kernel: row of kernel.lock, source archive, fragments,
# patches, profile, compiler and C library, this script and compile.sh. It appears by rename when it is complete; two builders at once
# wait for one another.
#
# A file of patches/ or fragments/ has a line `Kernels: 5.10 to 6.12` or `Kernels: from 5.10`, the releases of Linux that it is for, and a patch a
# line `Purpose: truth`, `Purpose: speed` or `Purpose: parts`. One about truth must apply. One about speed may be missing; so may one about
# parts: then a run of this kernel is not cut by itself. manifest.json lists those that are missing.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${LONGHAUL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/longhaul}
only= counting=
case ${1:-} in
--hash | --patches) only=$1; shift ;;
--count) counting=-counting; shift ;;
esac
version=${1:?usage: build.sh [--hash | --patches | --count] VERSION}

die() {
	echo "building the sandbox kernel $version: $*" | tee /dev/stderr
	exit 1
}

read -r _ package upstream fragment < <(grep -E "^${version//./\\.}[[:space:]]" "$here/kernel.lock") || die "no such row in kernel.lock"

# The files that are for this release, in order.
for_release() {
	local file
	for file in "$@"; do
		awk -v release="$upstream" '
			function number(line, part) { split(line, part, "."); return part[1] * 1000 + part[2] }
			{ sub(/^# /, "") }
			/^Kernels: from / { first = $3; exit }
			/^Kernels: / { first = $2; last = $4; exit }
			END { exit !(first && number(first) <= number(release) && (!last || number(release) <= number(last))) }
		' "$file" && printf '%s\n' "$file"
	done
	return 0
}
purpose() {
	sed -n 's/^Purpose: //p;/^$/q' "$1"
}
mapfile -t fragments < <(for_release "$here/fragments/"*.config)
mapfile -t patches < <(for_release "$here/patches/"*.patch)
if [ "$only" = --patches ]; then
	for file in "${fragments[@]}"; do basename "$file"; done
	for file in "${patches[@]}"; do echo "$(basename "$file") $(purpose "$file")"; done
	exit
fi
fragments+=(${fragment:+"$here/$fragment"})
profile=
[ -n "$counting" ] || [ ! -f "$here/profile-$version.tar.xz" ] || profile=$here/profile-$version.tar.xz
missing=()
for tool in gcc make flex bison bc xz patch; do
	command -v "$tool" >/dev/null || missing+=("$tool")
done
[ ${#missing[@]} = 0 ] || die "missing ${missing[*]}; run \`make setup\`, or apt-get install gcc make flex bison bc xz-utils patch"

# Sets `hash`, the kernel's name.
name_it() {
	local source
	source=$("$here/fetch.sh" --sha256 "$package") || die "$source"
	hash=$({
		grep -E "^${version//./\\.}[[:space:]]" "$here/kernel.lock"
		echo "$source"
		gcc --version | head -n1
		# The kernel is linked with it.
		sha256sum <"$(gcc -print-file-name=libc.a)"
		"$here/compile.sh" --config "${fragments[@]}"
		cat "$here/build.sh" "$here/compile.sh" "${patches[@]}" ${profile:+"$profile"} ${counting:+"$here/counting.patch"}
	} | sha256sum | cut -c1-32)
}
name_it
[ "$only" != --hash ] || { echo "$hash"; exit; }

publish() {
	ln -sfn "$hash" "$cache/kernels/current-$version.$$" && mv -T "$cache/kernels/current-$version.$$" "$cache/kernels/current-$version$counting"
	echo "$cache/kernels/$hash"
	exit 0
}
mkdir -p "$cache/kernels"
[ ! -f "$cache/kernels/$hash/manifest.json" ] || publish
archive=$("$here/fetch.sh" "$package") || die "${archive##*$'\n'}"
# A source of its own has a name of its own.
name_it
exec 9>"$cache/kernels/.lock-$hash"
flock 9
[ ! -f "$cache/kernels/$hash/manifest.json" ] || publish

# A fixed place for each hash, so that no random path enters the build; a half build of an earlier try is removed.
work=$cache/kernels/.build-$hash
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tree"
echo "sandbox kernel $version: unpacking $package" >&2
tar xf "$archive" -C "$work/tree" --strip-components=1
cd "$work/tree"
without=()
for patch in "${patches[@]}" ${counting:+"$here/counting.patch"}; do
	if [ "$(purpose "$patch")" != truth ] && ! patch -p1 --dry-run --force --quiet <"$patch" >/dev/null 2>&1; then
		without+=("$(basename "$patch")")
		echo "sandbox kernel $version: without ${without[-1]}, which does not apply and is about $(purpose "$patch") alone" >&2
		continue
	fi
	patch -p1 --quiet <"$patch" || die "$(basename "$patch") does not apply to $package"
done

COUNTING=$counting PROFILE=$profile "$here/compile.sh" "$work/tree" "$work/out" "$version" "$hash" "${fragments[@]}"
[ ${#without[@]} = 0 ] || sed -i "s/}}\$/}, \"without\": [$(printf '"%s", ' "${without[@]}" | sed 's/, $//')]}/" "$work/out/manifest.json"
mv -T "$work/out" "$cache/kernels/$hash"
publish

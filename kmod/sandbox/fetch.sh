#!/bin/bash
# Finds the archive of a guest kernel's source on this machine, or fetches the one that sources.lock pins into the cache.
#
#	fetch.sh PACKAGE             the last line on standard output is the archive, or why there is none
#	fetch.sh --sha256 PACKAGE    only the SHA-256 of the archive that would be used; fetches nothing
#
# In order: $LONGHAUL_KERNEL_SOURCES/PACKAGE.tar.xz, $LONGHAUL_CACHE/sources/PACKAGE.tar.xz, /usr/src/PACKAGE.tar.xz, an archive
# that was fetched before; then, for a package of sources.lock, Debian's mirror (apt-state.sh), its snapshot archive, and upstream's. What
# is not the pinned archive is passed over. The mirror of the snapshot archive and upstream's may be others: LONGHAUL_SNAPSHOT_URL,
# LONGHAUL_UPSTREAM_URL, both may be file://.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${LONGHAUL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/longhaul}
snapshot=${LONGHAUL_SNAPSHOT_URL:-https://snapshot.debian.org}
upstream_at=${LONGHAUL_UPSTREAM_URL:-https://cdn.kernel.org/pub/linux/kernel}
only_hash=
[ "${1:-}" != --sha256 ] || { only_hash=yes; shift; }
package=${1:?usage: fetch.sh [--sha256] PACKAGE}
read -r _ upstream version pinned sha1 suites < <(grep -E "^${package//./\\.}[[:space:]]" "$here/sources.lock") || true

die() {
	echo "$package is missing: $*"
	exit 3
}

# The archive's own hash takes a third of a second; its path, size and time stand for it once it is known.
mkdir -p "$cache/sources"
sha256() {
	local stamp memo
	stamp="$1 $(stat -c '%s %Y' "$1")"
	memo=$cache/sources/$package-$(sha256sum <<<"$stamp" | cut -c1-16).sha256
	[ -s "$memo" ] || { sha256sum <"$1" | cut -d' ' -f1 >"$memo.$$" && mv "$memo.$$" "$memo"; }
	cat "$memo"
}

fetched=$cache/sources/$package-$version.tar.xz
ours=$cache/sources/$package-upstream-$upstream.tar.xz
# Sets `archive`, and `other` to one that is not the pinned one.
look() {
	other=
	for archive in ${LONGHAUL_KERNEL_SOURCES:+"$LONGHAUL_KERNEL_SOURCES/$package.tar.xz"} "$cache/sources/$package.tar.xz" "/usr/src/$package.tar.xz" "$fetched"; do
		[ -r "$archive" ] || continue
		[ -n "$pinned" ] && [ "$(sha256 "$archive")" != "$pinned" ] || return 0
		other=$archive
	done
	archive=$ours
	[ -n "$pinned" ] && [ -r "$archive" ]
}
found() {
	if [ -n "$only_hash" ]; then sha256 "$archive"; else echo "$archive"; fi
	exit 0
}
! look || found
[ -n "$pinned" ] || die "run \`make setup\`, or \`apt-get install $package\`"
[ -z "$only_hash" ] || { echo "$pinned"; exit 0; }

exec 9>"$cache/sources/.lock-$package"
flock 9
! look || found
work=$cache/sources/.fetch-$package
rm -rf "$work"
mkdir "$work"
trap 'rm -rf "$work"' EXIT

say() {
	echo "$package $version: $*" >&2
}
# apt's helper follows apt's settings, proxies too, and checks the hash.
download() {
	/usr/lib/apt/apt-helper -o APT::Sandbox::User= download-file "$1" "$2" ${3:+"$3"} >"$work/log" 2>&1
}
# Keeps the archive of a package, if it is the pinned one.
keep() {
	dpkg-deb --fsys-tarfile "$1" | tar xO "./usr/src/$package.tar.xz" >"$work/archive" &&
		[ "$(sha256sum <"$work/archive" | cut -d' ' -f1)" = "$pinned" ] && mv "$work/archive" "$fetched"
}
from_mirror() {
	command -v apt-get >/dev/null || return 1
	say "asking Debian's mirror"
	# shellcheck disable=SC2086
	"$here/apt-state.sh" "$work/apt" $suites >/dev/null 2>"$work/log" || return 1
	(cd "$work" && APT_CONFIG=$work/apt/apt.conf apt-get download -q "$package=$version" >log 2>&1) || return 1
	keep "$work"/*.deb
}
from_snapshot() {
	say "asking Debian's snapshot archive"
	download "$snapshot/file/$sha1" "$work/snapshot.deb" "SHA1:$sha1" && keep "$work/snapshot.deb"
}
# The hash in upstream's list of hashes guards against damage; the kernel is named by the archive that it is built from.
from_upstream() {
	local place=$upstream_at/v${upstream%%.*}.x name=linux-$upstream.tar.xz hash
	say "asking upstream's archive"
	download "$place/sha256sums.asc" "$work/sums" || return 1
	hash=$(awk -v name="$name" '$2 == name { print $1 }' "$work/sums")
	[ -n "$hash" ] && download "$place/$name" "$work/upstream" "SHA256:$hash" && mv "$work/upstream" "$ours" &&
		say "this is upstream's, without Debian's patches: the kernel has another hash than Debian's, and its runs have other ids"
}
from_mirror || from_snapshot || from_upstream ||
	die "${other:+$other is not $version, and }neither Debian's mirror nor its snapshot archive nor upstream's gave it; put $package.tar.xz of $version into $cache/sources, or into a folder and name it by LONGHAUL_KERNEL_SOURCES"
look || die "the fetched archive is not in $cache/sources"
found

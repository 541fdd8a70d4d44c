#!/bin/bash
# Fetches a stock Debian kernel and its headers into the cache, or finds them there. Nothing is installed on the machine:
# no bootloader and no initramfs hears of it.
#
#	fetch.sh VERSION        the last line on standard output is the folder
#
#	$LONGHAUL_CACHE/stock/<hash>/   release  vmlinuz  modules/*.ko  load-order  headers/ (for modules)
#	$LONGHAUL_CACHE/stock/current-<version> -> <hash>
#
# It is the newest of VERSION that apt knows with image and headers; the folder's name is the hash of this script and of the
# packages' names, versions and checksums. It appears by rename when it is complete; two who fetch at once wait for one
# another. Where apt knows none (no lists, no network), the cache's current one stands.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${LONGHAUL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/longhaul}/stock
version=${1:?usage: fetch.sh VERSION}
# What the guest's path and `ss -i` are made of; modprobe adds what these need.
modules=(veth sch_netem sch_tbf tcp_diag)
PATH=$PATH:/usr/sbin:/sbin

die() {
	echo "fetching the stock kernel $version: $*" | tee /dev/stderr
	exit 1
}

for tool in apt-get apt-cache dpkg-deb depmod modprobe xz; do
	command -v $tool >/dev/null || die "$tool is missing: run \`make test-stock-kernel\`, or ./setup.sh stock"
done

# Names no kernel of another flavour (cloud, rt): 6.1.0-13-amd64, 6.12.9+deb12-amd64.
releases() {
	apt-cache pkgnames "linux-image-$version." | sed -nE 's/^linux-image-([0-9.]+(-[0-9]+)?(\+deb[0-9]+)?-amd64)$/\1/p' | sort -rV
}

# Sets release, packages, and wanted: a line for each package, its file's name, size and checksum.
resolve() {
	for release in $(releases); do
		packages=("linux-image-$release" "linux-headers-$release")
		# From 7 on the image has its parts in packages of their own.
		mapfile -t -O 2 packages < <(apt-cache depends "linux-headers-$release" "linux-image-$release" 2>/dev/null |
			sed -nE 's/^ +Depends: (linux-(headers|kbuild|base|binary|modules)-[0-9][^ ]*)$/\1/p' | sort -u)
		wanted=$(apt-get download --print-uris "${packages[@]}" 2>/dev/null | cut -d' ' -f2- | sort) || continue
		[ ${#packages[@]} -ge 4 ] && [ "$(wc -l <<<"$wanted")" = ${#packages[@]} ] && return
	done
	return 1
}

refresh() {
	[ "$(id -u)" = 0 ] || return
	apt-get update >/dev/null 2>&1
}

# A release of Debian has kernels of its own alone. Those whose source is pinned are in its suites.
ask_suites() {
	local sandbox=$here/../../kmod/sandbox suites
	read -r _ _ _ _ _ suites < <(grep -E "^linux-source-${version//./\\.}[[:space:]]" "$sandbox/sources.lock") || return 1
	# shellcheck disable=SC2086
	"$sandbox/apt-state.sh" "$cache/apt-$version" $suites && export APT_CONFIG=$cache/apt-$version/apt.conf
}
ask_debian_12() {
	"$here/../../kmod/sandbox/debian-12.sh" --apt "$cache/debian-12" && export APT_CONFIG=$cache/debian-12/apt.conf
}

mkdir -p "$cache"
if ! { ask_suites && resolve; } && ! resolve && ! { refresh && resolve; } && ! { ask_debian_12 && resolve; }; then
	[ -e "$cache/current-$version/load-order" ] || die "apt knows no linux-image-$version.*-amd64 with its headers: run apt-get update as root; Debian 12 has them, and its mirror is asked too"
	echo "fetching the stock kernel $version: apt knows none; the one in the cache stands" >&2
	readlink -f "$cache/current-$version"
	exit
fi

hash=$({ cat "$here/fetch.sh"; echo "$wanted"; } | sha256sum | cut -c1-32)
target=$cache/$hash
publish() {
	ln -sfn "$hash" "$cache/current-$version.$$" && mv -T "$cache/current-$version.$$" "$cache/current-$version"
	echo "$target"
	exit 0
}
[ -e "$target/load-order" ] && publish
exec 9>"$cache/.lock-$hash"
flock 9
[ -e "$target/load-order" ] && publish

work=$cache/.fetch-$hash
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{packages,image} "$work"/out/{headers,modules}
echo "stock kernel $release: downloading $(awk '{ bytes += $2 } END { printf "%d", bytes / 1e6 }' <<<"$wanted") MB of packages" >&2
download() { (cd "$work/packages" && apt-get download -q -o APT::Sandbox::User=root "${packages[@]}" >"$work/log" 2>&1); }
download || { refresh && download; } || { tail -n 3 "$work/log" >&2; die "apt-get could not download ${packages[*]}; its last words are above"; }

for package in "$work"/packages/linux-{headers,kbuild}-*.deb; do
	dpkg-deb -x "$package" "$work/out/headers"
done
# The headers are two folders, and one names the other, and itself, by where it would be installed.
sed -i -e "s#^include /usr/src/#include ../#" -e 's#^KBUILD_OUTPUT=/.*#KBUILD_OUTPUT := $(abspath $(dir $(lastword $(MAKEFILE_LIST))))#' \
	"$work/out/headers/usr/src/linux-headers-$release/Makefile"
ln -s "headers/usr/src/linux-headers-$release" "$work/out/build"

# Tools of another Debian need its libraries, which the machine may lack: they get their own. Their names differ from one to another.
lacks_library() { ! ldd "$1" >"$work/needs" 2>&1 || grep -q 'not found' "$work/needs"; }
libraries=$work/out/headers/libraries
find "$work/out/headers" -type f -perm -u+x -print0 | while IFS= read -r -d '' tool; do
	[ "$(head -c 4 "$tool" | tail -c 3)" = ELF ] && lacks_library "$tool" || continue
	if [ ! -e "$libraries" ]; then
		mkdir -p "$work/libraries" "$libraries"
		# Those of this machine count as not installed: apt would prefer them.
		elsewhere=(-o APT::Sandbox::User=root -o Dir::State::status=/dev/null)
		mapfile -t offered < <(apt-cache "${elsewhere[@]}" pkgnames | grep -xE 'libc6|libelf1(t64)?|zlib1g|libzstd1|libssl(1\.1|3|3t64)')
		(cd "$work/libraries" && apt-get download -q "${elsewhere[@]}" "${offered[@]}" >"$work/log" 2>&1) ||
			{ tail -n 3 "$work/log" >&2; die "apt-get could not download the libraries of its tools; its last lines are above"; }
		for package in "$work"/libraries/*.deb; do dpkg-deb -x "$package" "$work/libraries"; done
		find "$work/libraries" ! -type d -name '*.so*' -exec cp -Pn -t "$libraries" {} +
	fi
	mv "$tool" "$tool.bin"
	{
		echo '#!/bin/sh'
		echo "top=\$(dirname \"\$(readlink -f \"\$0\")\")/$(realpath --relative-to "$(dirname "$tool")" "$libraries")"
		echo "exec \"\$top/ld-linux-x86-64.so.2\" --library-path \"\$top\" \"\$(readlink -f \"\$0\").bin\" \"\$@\""
	} >"$tool"
	chmod 755 "$tool"
done

mkdir -p "$work/image/usr/lib"
ln -s usr/lib "$work/image/lib"
for package in "$work"/packages/linux-{image,base,binary,modules}-*.deb; do
	[ -e "$package" ] || continue
	# Which part is in which package differs, so a pattern may match nothing.
	dpkg-deb --fsys-tarfile "$package" | tar x -C "$work/image" --keep-directory-symlink --wildcards './boot/vmlinuz-*' '*/modules/*/vmlinuz' \
		'*/modules/*/modules.*' '*/modules/*/kernel/net/*' '*/modules/*/kernel/lib/*' '*/modules/*/kernel/crypto/*' \
		'*/modules/*/kernel/drivers/net/veth.ko*' 2>/dev/null || true
done
for file in "$work/image/boot/vmlinuz-$release" "$work/image/lib/modules/$release/vmlinuz"; do
	[ ! -e "$file" ] || mv "$file" "$work/out/vmlinuz"
done
[ -e "$work/out/vmlinuz" ] || die "the packages of $release have no vmlinuz"
depmod -b "$work/image" "$release" 2>/dev/null
for module in "${modules[@]}"; do
	needed=$(modprobe -d "$work/image" -S "$release" --show-depends "$module") || die "linux-image-$release has no module $module"
	sed -n 's/^insmod \([^ ]*\).*/\1/p' <<<"$needed"
done | awk '!seen[$0]++' | while read -r file; do
	name=$(basename "${file%.xz}")
	case $file in *.xz) xz -dc "$file" ;; *) cat "$file" ;; esac >"$work/out/modules/$name"
	echo "$name"
done >"$work/load-order"
echo "$release" >"$work/out/release"
mv "$work/load-order" "$work/out/load-order"
rm -rf "$target"
mv -T "$work/out" "$target"
publish

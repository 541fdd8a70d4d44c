#!/bin/bash
# Hands the modules to DKMS, which builds them for this kernel and again for every later one.
#
#	dkms.sh install      sources to $DESTDIR/usr/src/longhaul-<version>/; then, without DESTDIR, dkms add, build, install
#	dkms.sh uninstall    takes back whatever versions of it are there
#
# KERNELVER is the kernel to build for, else the running one. The package is computed from the tree: its version is
# pyproject.toml's, its modules are whatever tcp_*.c and sch_*.c is here. Installing twice is the same as once.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
action=${1:-}
root=${DESTDIR:-}
kernel=${KERNELVER:-$(uname -r)}
version=$(sed -nE '/^\[project\]/,/^\[tool/s/^version = "(.*)"$/\1/p' "$here/../pyproject.toml")

die() {
	echo "dkms-$action longhaul $version: $*" >&2
	exit 3
}

[ -n "$version" ] || die "pyproject.toml has no version: write it under [project]"

# The kernels are those that compat.h allows: DKMS passes over others, where a failing build would fail the kernel's upgrade.
conf() {
	cat <<-END
		PACKAGE_NAME="longhaul"
		PACKAGE_VERSION="$version"
		AUTOINSTALL="yes"
		BUILD_EXCLUSIVE_KERNEL="^(5\.1[0-9]|6\.([0-9]|1[0-9])|7\.[0-3])\."
		MAKE[0]="make KDIR=\${kernel_source_dir}"
	END
	local i=0 source
	for source in "$here"/tcp_*.c "$here"/sch_*.c; do
		case $source in *.mod.c) continue ;; esac
		echo "BUILT_MODULE_NAME[$i]=\"$(basename "$source" .c)\""
		echo "DEST_MODULE_LOCATION[$i]=\"/updates/dkms\""
		i=$((i + 1))
	done
}

stage() {
	local target=$root/usr/src/longhaul-$version file
	rm -rf "$target"
	mkdir -p "$target"
	for file in "$here"/{COPYING,Kbuild,Makefile} "$here"/*.h "$here"/tcp_*.c "$here"/sch_*.c; do
		case $file in */lh_trace.h | *.mod.c) ;; *) cp "$file" "$target" ;; esac
	done
	conf >"$target/dkms.conf"
	echo "$target"
}

# What DKMS knows of it: "longhaul/0.1.0: added", "longhaul/0.1.0, 6.1.0-13-amd64, x86_64: installed"; older ones say "longhaul, ".
known_versions() {
	dkms status longhaul | sed -nE 's#^longhaul(/|, )([^,: ]+).*#\2#p' | sort -u
}

known_kernels() {
	dkms status longhaul | sed -nE 's#^longhaul(/|, )[^,: ]+, ([^,: ]+).*#\2#p' | sort -u
}

forget() {
	local known
	for known in $(known_versions); do
		dkms remove "longhaul/$known" --all
		rm -rf "/usr/src/longhaul-$known"
	done
}

case $action in
install)
	if [ -n "$root" ]; then
		echo "staged in $(stage)"
		exit
	fi
	command -v dkms >/dev/null || die "dkms is missing: apt-get install dkms"
	[ -e "/lib/modules/$kernel/build/Makefile" ] ||
		die "no headers of kernel $kernel in /lib/modules/$kernel/build: apt-get install linux-headers-$kernel, or name another kernel with KERNELVER="
	[ "$(id -u)" = 0 ] || die "only root can install modules: sudo make dkms-install"
	# The other kernels that had it have it again.
	kernels=$(known_kernels)
	forget
	stage >/dev/null
	dkms add "longhaul/$version"
	for each in $kernel $(grep -vFx "$kernel" <<<"$kernels"); do
		[ -e "/lib/modules/$each/build/Makefile" ] || continue
		for step in build install; do
			dkms $step "longhaul/$version" -k "$each" || die "\`dkms $step\` failed for kernel $each; its words are above"
		done
	done
	;;
uninstall)
	if [ -n "$root" ]; then
		rm -rf "$root/usr/src/longhaul-$version"
		exit
	fi
	command -v dkms >/dev/null || die "dkms is missing, so nothing is registered: apt-get install dkms"
	[ "$(id -u)" = 0 ] || die "only root can remove modules: sudo make dkms-uninstall"
	forget
	;;
*)
	echo "usage: dkms.sh install|uninstall" >&2
	exit 2
	;;
esac

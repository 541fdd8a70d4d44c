#!/bin/bash
# Makes the files of a stand-in, or finds them in the cache: a small Debian with sshd, systemd, Python, a compiler and DKMS.
#
#	tree.sh		the last line on standard output is the folder: it holds root/, which all stand-ins share and none writes
#
#	$LONGHAUL_CACHE/standins/<hash>/root
#
# The folder's name is the hash of all that determines it: this script and what is put into the tree (guest/).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${LONGHAUL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/longhaul}/standins

die() {
	echo "making the files of stand-ins: $*" | tee /dev/stderr
	exit 1
}

command -v mmdebstrap >/dev/null || die "mmdebstrap is missing; run \`./setup.sh hosts\`"
[ "$(id -u)" = 0 ] || die "their owners are those of a machine, which takes root; run \`sudo make test-hosts\`"
hash=$(cat "$here/tree.sh" "$here"/guest/* | sha256sum | cut -c1-32)
target=$cache/$hash
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
if [ ! -d "$target" ]; then
	work=$cache/.build-$hash
	rm -rf "$work"
	mkdir "$work"
	trap 'rm -rf "$work"' EXIT
	for sources in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list ''; do
		[ ! -f "$sources" ] || break
	done
	[ -n "$sources" ] || die "this machine has no sources of Debian's packages in /etc/apt"
	packages=(
		systemd systemd-sysv openssh-server sudo python3 python3-apt iproute2 ethtool iputils-ping kmod procps iperf3 chrony
		dkms gcc make libc6-dev
	)
	left_out=()
	for folder in man doc info locale groff lintian; do left_out+=("--dpkgopt=path-exclude=/usr/share/$folder/*"); done
	echo "files of stand-ins: fetching Debian's packages (two minutes)" >&2
	mmdebstrap --quiet --variant=minbase --include="$(tr ' ' , <<<"${packages[*]}")" "${left_out[@]}" \
		--aptopt='APT::Install-Recommends "false"' bookworm "$work/root" "$sources" >"$work/log" 2>&1 ||
		{ tail -n 5 "$work/log" >&2; die "mmdebstrap could not; its last words are above"; }
	root=$work/root
	rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin
	install -D -m 755 -t "$root/opt/standin" "$here"/guest/*
	mkdir -p "$root/opt/standin/below"
	# A machine of its own each: what identifies one is written when it starts.
	: >"$root/etc/machine-id"
	: >"$root/etc/fstab"
	rm -f "$root/etc/hostname"
	# Nobody sits at a terminal; there is no hardware to look for; nothing happens by the calendar.
	for unit in getty.target console-getty.service serial-getty@.service systemd-udevd.service systemd-udev-trigger.service \
		systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-timesyncd.service systemd-networkd.service systemd-resolved.service \
		apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer \
		systemd-tmpfiles-clean.timer chrony.service systemd-logind.service; do
		ln -sf /dev/null "$root/etc/systemd/system/$unit"
	done
	chroot "$root" useradd --create-home --shell /bin/bash engineer
	echo 'engineer ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/engineer"
	chmod 440 "$root/etc/sudoers.d/engineer"
	printf 'UseDNS no\nPermitRootLogin prohibit-password\nPasswordAuthentication no\nMaxStartups 100\n' >"$root/etc/ssh/sshd_config.d/standin.conf"
	rm "$work/log"
	mv -T "$work" "$target"
fi
echo "$target"

#!/bin/bash
# Finds which system packages are missing and installs them through apt-get; without the right to, prints the command.
#
#	setup.sh [GROUP]...    what running experiments needs, and what each group needs besides:
#		check (static checks), stock (the test on stock kernels), bench (benchmarks), service, live (the way to
#		Prometheus), containers, hosts (their tests), web (the web page), browser (its tests)
set -euo pipefail

# What provides what: a command or a file, and Debian's package for it.
needs=(
	python3:python3 gcc:gcc make:make flex:flex bison:bison bc:bc xz:xz-utils patch:patch git:git cpio:cpio
	ip:iproute2 mn:mininet iperf3:iperf3 brctl:bridge-utils ping:iputils-ping clang-format:clang-format setpriv:util-linux bwrap:bubblewrap
	/usr/include/linux/tcp.h:linux-libc-dev /usr/lib/x86_64-linux-gnu/libc.a:libc6-dev
	/usr/src/linux-source-6.12.tar.xz:linux-source-6.12 /usr/src/linux-source-6.1.tar.xz:linux-source-6.1
)
for group in "$@"; do
	case $group in
	check) needs+=(sparse:sparse perl:perl man:man-db) ;;
	stock) needs+=(qemu-system-x86_64:qemu-system-x86 busybox:busybox-static depmod:kmod dkms:dkms) ;;
	bench) needs+=(wrk:wrk) ;;
	service) needs+=('/usr/lib/postgresql/*/bin/initdb:postgresql') ;;
	containers) needs+=(podman:podman crun:crun mmdebstrap:mmdebstrap fuse-overlayfs:fuse-overlayfs iptables:iptables /usr/lib/podman/netavark:netavark /usr/lib/podman/aardvark-dns:aardvark-dns) ;;
	hosts) needs+=(mmdebstrap:mmdebstrap mke2fs:e2fsprogs ssh:openssh-client depmod:kmod) ;;
	web) needs+=(node:nodejs npm:npm) ;;
	browser) needs+=(node:nodejs npm:npm chromium:chromium /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf:fonts-dejavu-core) ;;
	live) needs+=(prometheus:prometheus promtool:prometheus) ;;
	*) echo "setup: no group is called $group: check, stock, bench, service, live, containers, hosts, web, browser" >&2 && exit 2 ;;
	esac
done
PATH=$PATH:/usr/sbin:/sbin
missing=()
for need in "${needs[@]}"; do
	what=${need%:*} package=${need##*:}
	case $what in
	/*) compgen -G "$what" >/dev/null || missing+=("$package") ;;
	*) command -v "$what" >/dev/null || missing+=("$package") ;;
	esac
done
python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
! command -v python3 >/dev/null || python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
	echo "setup: Longhaul needs Python 3.11 or later; this is $(python3 --version 2>&1)" >&2
	exit 3
}
[ ${#missing[@]} = 0 ] && exit 0

echo "setup: missing ${missing[*]}" >&2
if [ "$(id -u)" != 0 ]; then
	echo "setup: run this, then make again: sudo apt-get install --no-install-recommends ${missing[*]}" >&2
	exit 3
fi
export DEBIAN_FRONTEND=noninteractive
echo "setup: installing them through apt-get" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
	tail -n 5 "$log" >&2
	echo "setup: apt-get could not install them; its last words are above" >&2
	exit 3
fi

#!/bin/bash
# Finds which system packages are missing and installs them with apt-get; a user who is not root gets the command instead.
#
#	setup.sh [GROUP]...    the packages for running experiments, and those of each group:
#		kernels (every guest kernel), tests, check (static checks), stock (the test on stock kernels), bpf (its BPF object), bench (benchmarks), ns3 (the comparison with ns-3),
#		service, live (the export to Prometheus), containers, hosts (their tests), web (the web page), browser (its tests)
#
#	setup.sh --room FOLDER MB WHAT [OR]	only checks that the disk of FOLDER has that much space for WHAT; OR is another remedy
#
# The exit code is 0 only if nothing is missing, which is checked again after installing.
set -euo pipefail

if [ "${1:-}" = --room ]; then
	folder=$2
	until [ -d "$folder" ]; do folder=$(dirname "$folder"); done
	free=$(df --output=avail --block-size=1M "$folder" | tail -n 1)
	((free < $3)) || exit 0
	echo "setup: $4 takes up to $3 MB in $2, and its disk has $((free)) MB free; free some space${5:+, or $5}, then run the same make again" >&2
	exit 3
fi

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# A command or a file, and Debian's package for it.
needs=(
	python3:python3 gcc:gcc make:make flex:flex bison:bison bc:bc xz:xz-utils patch:patch
	ip:iproute2 mn:mininet iperf3:iperf3 brctl:bridge-utils ping:iputils-ping setpriv:util-linux bwrap:bubblewrap
	/usr/include/linux/tcp.h:linux-libc-dev /usr/lib/x86_64-linux-gnu/libc.a:libc6-dev
	/usr/src/linux-source-6.12.tar.xz:linux-source-6.12
)
for group in "$@"; do
	case $group in
	kernels) needs+=(/usr/src/linux-source-6.1.tar.xz:linux-source-6.1) ;;
	tests) needs+=(git:git cpio:cpio clang-format:clang-format zsh:zsh fish:fish gdb:gdb tshark:tshark tcptrace:tcptrace iperf:iperf curl:curl socat:socat rsync:rsync ssh:openssh-client sshd:openssh-server) ;;
	check) needs+=(sparse:sparse perl:perl man:man-db) ;;
	stock) needs+=(qemu-system-x86_64:qemu-system-x86 busybox:busybox-static depmod:kmod dkms:dkms) ;;
	bpf) needs+=(clang:clang bpftool:bpftool /usr/include/bpf/bpf_helpers.h:libbpf-dev zstd:zstd xz:xz-utils) ;;
	bench) needs+=(wrk:wrk) ;;
	ns3) needs+=(g++:g++ /usr/include/ns3/internet-module.h:libns3-dev) ;;
	service) needs+=('/usr/lib/postgresql/*/bin/initdb:postgresql') ;;
	containers) needs+=(podman:podman crun:crun mmdebstrap:mmdebstrap fuse-overlayfs:fuse-overlayfs iptables:iptables /usr/lib/podman/netavark:netavark /usr/lib/podman/aardvark-dns:aardvark-dns) ;;
	hosts) needs+=(mmdebstrap:mmdebstrap mke2fs:e2fsprogs ssh:openssh-client depmod:kmod) ;;
	web) needs+=(node:nodejs npm:npm) ;;
	browser) needs+=(node:nodejs npm:npm chromium:chromium firefox-esr:firefox-esr /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf:fonts-dejavu-core) ;;
	live) needs+=(prometheus:prometheus promtool:prometheus) ;;
	*) echo "setup: there is no group $group; known: kernels, tests, check, stock, bpf, bench, ns3, service, live, containers, hosts, web, browser" >&2 && exit 2 ;;
	esac
done
PATH=$PATH:/usr/sbin:/sbin

# Sets `missing`, and `earlier`: missing packages that only an earlier Debian has.
look() {
	local need what package
	missing=() earlier=()
	for need in "${needs[@]}"; do
		what=${need%:*} package=${need##*:}
		case $what in
		/*) compgen -G "$what" >/dev/null && continue ;;
		*) command -v "$what" >/dev/null && continue ;;
		esac
		if [ "$package" = linux-source-6.1 ] && ! grep -q '^VERSION_CODENAME=bookworm' /etc/os-release; then
			earlier+=("$package")
		else
			missing+=("$package")
		fi
	done
	python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
	[ ${#missing[@]} = 0 ] || mapfile -t missing < <(printf '%s\n' "${missing[@]}" | awk '!seen[$0]++')
}
check_python() {
	! command -v python3 >/dev/null || python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
		echo "setup: Longhaul needs Python 3.11 or later; this is $(python3 --version 2>&1)" >&2
		exit 3
	}
}
# Without Pattern-Only, apt-get would take an unknown name with a dot for a pattern, install the matches and report success.
install=(apt-get install -y --no-install-recommends -o APT::Cmd::Pattern-Only=true)

look
check_python
[ ${#missing[@]} = 0 ] && [ ${#earlier[@]} = 0 ] && exit 0

echo "setup: missing ${missing[*]} ${earlier[*]}" >&2
if [ "$(id -u)" != 0 ]; then
	echo "setup: run this as a user with sudo, then run the same make again:" >&2
	# Then neither apt-get nor packages ask questions.
	[ ${#missing[@]} = 0 ] || echo "    sudo apt-get update && sudo DEBIAN_FRONTEND=noninteractive ${install[*]} ${missing[*]}" >&2
	[ ${#earlier[@]} = 0 ] || printf '    sudo %q %s\n' "$here/kmod/sandbox/debian-12.sh" "${earlier[*]}" >&2
	exit 3
fi
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ ${#missing[@]} != 0 ]; then
	echo "setup: installing the packages with apt-get" >&2
	if ! { apt-get update && "${install[@]}" "${missing[@]}"; } >"$log" 2>&1; then
		tail -n 5 "$log" >&2
		echo "setup: apt-get could not install the packages; its last lines are above" >&2
		exit 3
	fi
fi
[ ${#earlier[@]} = 0 ] || "$here/kmod/sandbox/debian-12.sh" "${earlier[@]}" || exit 3
look
check_python
if [ ${#missing[@]} != 0 ] || [ ${#earlier[@]} != 0 ]; then
	echo "setup: still missing after installing: ${missing[*]} ${earlier[*]}; Longhaul supports Debian 12 and 13" >&2
	exit 3
fi

#!/bin/bash
# A newcomer's first hour: a clean Debian 12, an empty cache, a clone, and one command up to the first chart. Prints what each step took.
#
#	newcomer.sh		of the commit that is checked out; about ten minutes, as root
#
# Nobody is there to answer: standard input is empty. Of this machine the newcomer has the network, and what apt and pip are told of
# it; a step's end is the time of what it leaves behind, so what is timed is `make demo` as everybody has it.
set -euo pipefail

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() {
	echo "being a newcomer: $*" >&2
	exit 3
}

[ "$(id -u)" = 0 ] || die "a machine within this one takes root; run \`sudo make newcomer\`"
command -v mmdebstrap >/dev/null || die "mmdebstrap is missing; run \`./setup.sh hosts\`"
for sources in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list ''; do
	[ ! -f "$sources" ] || break
done
[ -n "$sources" ] || die "this machine has no sources of Debian's packages in /etc/apt"
git -C "$repository" diff --quiet HEAD || echo "being a newcomer: what is not committed is not cloned" >&2

place=$(mktemp -d -p "${TMPDIR:-/var/tmp}" longhaul-newcomer-XXXXXX)
root=$place/root
# The mounts are of a namespace that ends with its processes.
trap 'rm -rf --one-file-system "$place"' EXIT
home=$root/newcomer

now() { date +%s.%N; }
step() { awk -v from="$2" -v to="$3" -v what="$1" 'BEGIN { printf "%8.1f s  %s\n", to - from, what }'; }
left() { stat -L -c %.Y "$1"; }

begun=$(now)
mmdebstrap --quiet --variant=minbase --include=ca-certificates,git,make bookworm "$root" "$sources" >"$place/log" 2>&1 ||
	{ tail -n 5 "$place/log" >&2; die "mmdebstrap could not make a Debian; its last words are above"; }
mkdir "$home"
git -C "$repository" bundle create --quiet "$home/longhaul.bundle" HEAD
made=$(now)

# What this machine's apt and pip are told, and whom they trust: not what they already have.
cp -rL /etc/apt/apt.conf.d /etc/apt/auth.conf.d /etc/apt/trusted.gpg.d "$root/etc/apt/" 2>/dev/null || true
rm -f "$root"/etc/apt/apt.conf.d/docker-*
[ ! -f /etc/pip.conf ] || grep -v find-links /etc/pip.conf >"$root/etc/pip.conf" || true
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
told=()
while IFS='=' read -r name value; do
	case $name in
	PIP_FIND_LINKS) ;;
	PIP_* | SSL_CERT_* | REQUESTS_CA_BUNDLE | [hH][tT][tT][pP]*_[pP][rR][oO][xX][yY] | [nN][oO]_[pP][rR][oO][xX][yY]) told+=("$name=$value") ;;
	esac
done < <(env)

set +e
unshare --mount --pid --fork --kill-child --propagation private bash -c '
	root=$1
	shift
	mount -t proc proc "$root/proc"
	mount -t tmpfs -o mode=755 tmpfs "$root/dev"
	for device in null zero full random urandom tty; do
		touch "$root/dev/$device"
		mount --bind "/dev/$device" "$root/dev/$device"
	done
	mkdir "$root/dev/shm" "$root/dev/pts"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
	ln -s pts/ptmx "$root/dev/ptmx"
	ln -s /proc/self/fd "$root/dev/fd"
	exec chroot "$root" env -i HOME=/newcomer PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@" bash -euc "
		cd
		git -c advice.detachedHead=false clone --quiet longhaul.bundle longhaul
		touch cloned
		cd longhaul
		make demo
		touch ../done
	"' newcomer "$root" "${told[@]}" </dev/null
code=$?
set -e
[ $code = 0 ] || die "it ended with $code after $(step '' "$made" "$(now)")"

cache=$home/.cache/longhaul
clone=$home/longhaul
kernel=$(echo "$cache"/kernels/current-*)
modules=$(echo "$cache"/modules/current-*)
[ -s "$clone/build/demo.html" ] || die "there is no report in build/demo.html"

echo
step "a clean Debian, before the newcomer comes" "$begun" "$made"
step "clone" "$made" "$(left "$home/cloned")"
step "make demo: Debian's packages" "$(left "$home/cloned")" "$(left "$clone/.venv/pyvenv.cfg")"
step "make demo: Python's packages" "$(left "$clone/.venv/pyvenv.cfg")" "$(left "$clone/.venv/.stamp")"
step "make demo: the agent" "$(left "$clone/.venv/.stamp")" "$(left "$clone/orchestrator/agent/build/longhaul-agent")"
step "make demo: the guest's kernel" "$(left "$clone/orchestrator/agent/build/longhaul-agent")" "$(left "$kernel/manifest.json")"
step "make demo: its modules" "$(left "$kernel/manifest.json")" "$(left "$modules")"
step "make demo: the run, its chart and its report" "$(left "$modules")" "$(left "$home/done")"
step "from nothing to the first chart" "$made" "$(left "$home/done")"

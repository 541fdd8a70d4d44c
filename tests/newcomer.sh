#!/bin/bash
# A newcomer's first hour: a bare Debian, an empty cache, a clone in a folder with a space, and README's commands up to the first
# chart and the first experiment changed by hand. Prints what each step took, in seconds and in megabytes of disk.
#
#	newcomer.sh [RELEASE [WHO]]	of the commit that is checked out; about ten minutes, as root
#
#	RELEASE		bookworm (Debian 12, the default) or trixie (Debian 13)
#	WHO		sudo: runs what `make demo` prints for the missing packages, then `make demo` again (the default)
#			user: may not use sudo; an administrator has run ./setup.sh before
#
# $NEWCOMER_CACHE is a folder of guest kernels for a repeated run: they are copied into the newcomer's cache, and back after it.
# Without it every kernel is built. Nothing is typed: standard input is empty. The newcomer has this machine's network and what its
# apt and pip are configured with. A step ends when the file that it makes was written, so what is timed is `make demo` itself.
set -euo pipefail

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
release=${1:-bookworm} who=${2:-sudo}

die() {
	echo "being a newcomer on $release: $*" >&2
	exit 3
}

case $release in bookworm | trixie) ;; *) die "no such release: bookworm, trixie" ;; esac
case $who in sudo | user) ;; *) die "$who is no kind of newcomer: sudo, user" ;; esac
[ "$(id -u)" = 0 ] || die "a machine within this one takes root; run \`sudo make newcomer\`"
command -v mmdebstrap >/dev/null || die "mmdebstrap is missing; run \`./setup.sh hosts\`"
for sources in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list ''; do
	[ ! -f "$sources" ] || break
done
[ -n "$sources" ] || die "this machine has no sources of Debian's packages in /etc/apt"
git -C "$repository" diff --quiet HEAD || echo "being a newcomer: what is not committed is not cloned" >&2

place=$(mktemp -d -p "${TMPDIR:-/var/tmp}" longhaul-newcomer-XXXXXX)
root=$place/root watcher=
# The mounts belong to a namespace that ends with its processes.
trap 'kill $watcher 2>/dev/null || true; rm -rf --one-file-system "$place"' EXIT
home=$root/home/newcomer
clone="$home/my labs/longhaul"

now() { date +%s.%N; }
step() { awk -v from="$2" -v to="$3" -v what="$1" 'BEGIN { printf "%8.1f s  %s\n", to - from, what }'; }
left() { stat -L -c %.Y "$1"; }
space() { printf '%8d MB %s\n' "$2" "$1"; }
# Files come and go while du looks.
used() { { du -smx "$@" 2>/dev/null || true; } | awk '{ total += $1 } END { print total + 0 }'; }

here=$(. /etc/os-release && echo "$VERSION_CODENAME")
sed "s/\b$here\b/$release/g" "$sources" >"$place/${sources##*/}"
packages=ca-certificates,git,make
[ $who = user ] || packages+=,sudo
begun=$(now)
mmdebstrap --quiet --variant=minbase --include="$packages" "$release" "$root" "$place/${sources##*/}" >"$place/log" 2>&1 ||
	{ tail -n 5 "$place/log" >&2; die "mmdebstrap could not make a Debian; its last lines are above"; }
chroot "$root" useradd --create-home --shell /bin/bash newcomer
[ $who = user ] || echo 'newcomer ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/newcomer"
git -C "$repository" bundle create --quiet "$home/longhaul.bundle" HEAD
if [ -n "${NEWCOMER_CACHE:-}" ]; then
	mkdir -p "$NEWCOMER_CACHE" "$home/.cache/longhaul"
	cp -a "$NEWCOMER_CACHE/." "$home/.cache/longhaul/"
	echo "being a newcomer: guest kernels of $NEWCOMER_CACHE are not built again" >&2
fi
chroot "$root" chown -R newcomer: "${home#"$root"}"

# The configuration and the trusted certificates of this machine's apt and pip, but not their packages.
cp -rL /etc/apt/apt.conf.d /etc/apt/auth.conf.d /etc/apt/trusted.gpg.d "$root/etc/apt/" 2>/dev/null || true
rm -f "$root"/etc/apt/apt.conf.d/docker-*
[ ! -f /etc/pip.conf ] || grep -v find-links /etc/pip.conf >"$root/etc/pip.conf" || true
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
settings=()
while IFS='=' read -r name value; do
	case $name in
	PIP_FIND_LINKS) ;;
	PIP_* | SSL_CERT_* | REQUESTS_CA_BUNDLE | [hH][tT][tT][pP]*_[pP][rR][oO][xX][yY] | [nN][oO]_[pP][rR][oO][xX][yY]) settings+=("$name=$value") ;;
	esac
done < <(env)

cat >"$root/usr/local/bin/first-hour" <<'END'
#!/bin/bash
set -euo pipefail
cd
mkdir "my labs"
git -c init.defaultBranch=main -c advice.detachedHead=false clone --quiet longhaul.bundle "my labs/longhaul"
touch cloned
cd "my labs/longhaul"
if [ "$1" = sudo ]; then
	code=0
	make demo 2>&1 | tee ~/output || code=$?
	[ $code != 0 ] || { echo "make demo needed no packages on a bare Debian" >&2; exit 1; }
	# Run the printed command unchanged.
	sed -n 's/^    \(sudo .*\)/\1/p' ~/output >~/printed
	[ -s ~/printed ] || { echo "make demo printed no command for the missing packages" >&2; exit 1; }
	bash -euxc "$(cat ~/printed)" >~/installed 2>&1 || { tail -n 5 ~/installed >&2; exit 1; }
	! grep -i "automatically?" ~/installed || { echo "a package asked a question" >&2; exit 1; }
fi
make demo 2>&1 | tee ~/output
touch ~/done
{ du -smx --exclude=/home / 2>/dev/null || true; } >~/system
# The last line of its output makes `longhaul` a command.
eval "$(grep -o 'export PATH=.*' ~/output)"
longhaul --version
# README's first experiment, and the same changed by hand.
sed -n '/^# my-first.yaml$/,/^```$/p' README.md | grep -v '^```' >my-first.yaml
grep -oE '^    longhaul (plan|run) my-first\.yaml.*' README.md | sed -E 's/^ +//; s/ {2,}.*//' >~/commands
[ "$(wc -l <~/commands)" = 3 ] || { echo "README has other commands for my-first.yaml than plan, run and run --set" >&2; exit 1; }
bash -eux ~/commands >~/first 2>&1 || { tail -n 20 ~/first >&2; exit 1; }
grep -E '^(fidelity|met)' ~/first
touch ~/first-done
if [ "$1" = sudo ]; then
	echo 'the packages for every guest kernel:'
	./setup.sh kernels >~/kernels 2>&1 || bash -euc "$(sed -n 's/^    \(sudo .*\)/\1/p' ~/kernels)" >>~/kernels 2>&1 || { cat ~/kernels >&2; exit 1; }
	./setup.sh kernels
	ls /usr/src/linux-source-6.1.tar.xz
fi
touch ~/kernels-done
END
chmod 755 "$root/usr/local/bin/first-hour"
bare=$(used --exclude=home "$root")
before=$(used "$root")
(
	most=0
	while sleep 5 && [ ! -e "$home/done" ]; do
		all=$(used "$root")
		[ "$all" -le "$most" ] || { most=$all && echo "$most" >"$place/most"; }
	done
) &
watcher=$!
made=$(now)

set +e
unshare --mount --pid --fork --kill-child --propagation private bash -c '
	root=$1 who=$2
	shift 2
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
	user_home=/home/newcomer
	enter=(chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@")
	if [ "$who" = user ]; then
		"${enter[@]}" HOME=/root bash -euc "
			cd
			git -c safe.directory=* -c init.defaultBranch=main -c advice.detachedHead=false clone --quiet $user_home/longhaul.bundle longhaul
			longhaul/setup.sh
			rm -rf longhaul
		" || exit
	fi
	touch "$root$user_home/.begins"
	exec "${enter[@]}" HOME=$user_home PATH=/usr/local/bin:/usr/bin:/bin setpriv --reuid newcomer --regid newcomer --init-groups --inh-caps=-all \
		/usr/local/bin/first-hour "$who"
' newcomer "$root" "$who" "${settings[@]}" </dev/null
code=$?
set -e
[ $code = 0 ] || die "it ended with $code after $(step '' "$made" "$(now)")"

cache=$home/.cache/longhaul
kernel=$(echo "$cache"/kernels/current-*)
modules=$(echo "$cache"/modules/current-*)
[ -s "$clone/build/demo.html" ] || die "there is no report in build/demo.html"
if [ -n "${NEWCOMER_CACHE:-}" ]; then cp -a "$cache/." "$NEWCOMER_CACHE/"; fi

echo
echo "Debian $(cat "$root/etc/debian_version") ($release), $who; load $(cut -d' ' -f1-3 /proc/loadavg)"
step "a bare Debian, before the newcomer comes" "$begun" "$made"
if [ $who = user ]; then step "the administrator: ./setup.sh" "$made" "$(left "$home/.begins")"; fi
step "clone" "$(left "$home/.begins")" "$(left "$home/cloned")"
step "make demo: Debian's packages" "$(left "$home/cloned")" "$(left "$clone/.venv/pyvenv.cfg")"
step "make demo: Python's packages" "$(left "$clone/.venv/pyvenv.cfg")" "$(left "$clone/.venv/.stamp-run")"
step "make demo: the agent" "$(left "$clone/.venv/.stamp-run")" "$(left "$clone/orchestrator/agent/build/longhaul-agent")"
if [ "$kernel/manifest.json" -nt "$clone/orchestrator/agent/build/longhaul-agent" ]; then
	step "make demo: the guest's kernel" "$(left "$clone/orchestrator/agent/build/longhaul-agent")" "$(left "$kernel/manifest.json")"
	step "make demo: its modules" "$(left "$kernel/manifest.json")" "$(left "$modules")"
	step "make demo: the run, its chart and its report" "$(left "$modules")" "$(left "$home/done")"
else
	step "make demo: modules, run; a kernel of $NEWCOMER_CACHE" "$(left "$clone/orchestrator/agent/build/longhaul-agent")" "$(left "$home/done")"
fi
step "from nothing to the first chart" "$made" "$(left "$home/done")"
step "README's first experiment: its plan, its run, and the run changed by hand" "$(left "$home/done")" "$(left "$home/first-done")"
if [ $who = sudo ]; then step "the source of the other guest kernel" "$(left "$home/first-done")" "$(left "$home/kernels-done")"; fi
space "Debian's packages" $(($(cut -f1 "$home/system") - bare))
space "the clone, of it .venv $(used "$clone/.venv") MB" "$(used "$clone")"
space "the cache: the kernel and its modules" "$(used "$cache")"
space "what pip keeps of its downloads" "$(used "$home/.cache" --exclude=longhaul)"
space "in all, at the most" $(($(cat "$place/most") - before))

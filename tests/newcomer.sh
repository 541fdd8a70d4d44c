#!/bin/bash
# A newcomer's first hour: a bare Debian, an empty cache, a clone in a folder with a space, and README's commands up to the first
# chart and the first experiment changed by hand. Prints what each step took, in seconds and in megabytes of disk.
#
#	newcomer.sh			of the commit that is checked out, as root: from the source on bookworm and trixie, from a wheel on
#					bookworm, trixie and forky; then the steps of all in one table
#	newcomer.sh RELEASE [WHO]	one of them; about ten minutes from the source, two from a wheel
#
#	RELEASE		bookworm (Debian 12), trixie (Debian 13) or, only with wheel, forky (Debian 14)
#	WHO		sudo: runs what `make demo` prints for the missing packages, then `make demo` again (the default)
#			user: may not use sudo; an administrator has run ./setup.sh before
#			wheel: has neither sudo nor a compiler nor a network, but a folder of wheels (newcomer-wheel.sh)
#
# $NEWCOMER_CACHE is a folder of guest kernels for a repeated run: they are copied into the newcomer's cache, and back after it.
# Without it every kernel is built. Nothing is typed: standard input is empty. The newcomer has this machine's network and what its
# apt and pip are configured with. A step ends when the file that it makes was written, so what is timed is `make demo` itself.
set -euo pipefail

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
release=${1:-} who=${2:-sudo}

if [ -z "$release" ]; then
	table=$(mktemp)
	trap 'rm -f "$table"' EXIT
	failed=0
	for one in 'bookworm sudo' 'trixie sudo' 'bookworm wheel' 'trixie wheel' 'forky wheel'; do
		NEWCOMER_TABLE=$table "$0" $one || { failed=$? && echo "$one: failed with $failed" >>"$table"; }
	done
	echo
	cat "$table"
	exit $failed
fi
. "$repository/tests/bare-debian.sh"
case $who in
sudo | user) ;;
wheel) exec "$repository/tests/newcomer-wheel.sh" "$release" ;;
*) die "$who is no kind of newcomer: sudo, user, wheel" ;;
esac
case $release in bookworm | trixie) ;; *) die "no such release for the source: bookworm, trixie" ;; esac
start_newcomer "$release" "$who"
clone="$home/my labs/longhaul"

packages=ca-certificates,git,make
[ $who = user ] || packages+=,sudo
make_debian "$packages"
[ $who = user ] || echo 'newcomer ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/newcomer"
git -C "$repository" bundle create --quiet "$home/longhaul.bundle" HEAD
if [ -n "${NEWCOMER_CACHE:-}" ]; then
	mkdir -p "$NEWCOMER_CACHE" "$home/.cache/longhaul"
	cp -a "$NEWCOMER_CACHE/." "$home/.cache/longhaul/"
	echo "being a newcomer: guest kernels of $NEWCOMER_CACHE are not built again" >&2
fi
chroot "$root" chown -R newcomer: "${home#"$root"}"

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
enter_debian -- '
	if [ "$who" = user ]; then
		as_root bash -euc "
			cd
			git -c safe.directory=* -c init.defaultBranch=main -c advice.detachedHead=false clone --quiet $user_home/longhaul.bundle longhaul
			longhaul/setup.sh
			rm -rf longhaul
		" || exit
	fi
	touch "$root$user_home/.begins"
	as_newcomer /usr/local/bin/first-hour "$who"
'
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

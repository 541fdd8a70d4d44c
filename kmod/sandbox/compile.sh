#!/bin/bash
# Configures and compiles a guest kernel from a tree of sources that has the sandbox's patches, for build.sh and for kernels with a
# name (orchestrator/kernels/named.py).
#
#	compile.sh TREE OUT NAME HASH [FRAGMENT]...     OUT has linux  modules/*.ko  config  manifest.json  tree/ (headers for modules)
#	compile.sh --config [FRAGMENT]...               only print the configuration: kernel.config and the fragments, a later line wins
#
# The tree is used up: its headers become OUT/tree. With LONGHAUL_KEEP_TREE=yes they are copied, and the next call for this tree compiles
# only what has changed since. PROFILE is an archive of counts, COUNTING=yes makes a kernel that counts (profile.sh).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
keep=${LONGHAUL_KEEP_TREE:-}

config() {
	cat "$here/kernel.config" "$@" |
		awk '/^(# )?CONFIG_/ { name = $1 == "#" ? $2 : $1; sub(/=.*/, "", name); said[name] = $0 }
		     END { for (name in said) print said[name] }' | LC_ALL=C sort
}
if [ "${1:-}" = --config ]; then
	shift
	config "$@"
	exit
fi
tree=$(realpath -- "${1:?usage: compile.sh TREE OUT NAME HASH [FRAGMENT]...}") out=$2 name=$3 hash=$4
shift 4

die() {
	echo "building the sandbox kernel $name: $*" | tee /dev/stderr
	exit 1
}

cd "$tree"
# The banner is part of the seed of the guest's random numbers, so it has a fixed time, person and machine.
export ARCH=um KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 1970' KBUILD_BUILD_USER=longhaul KBUILD_BUILD_HOST=longhaul KBUILD_BUILD_VERSION=1
# -O3: a twelfth faster than -O2 at 1 Gbit/s; with a profile a seventh faster again; and the same traces.
builtin=
if [ -n "${COUNTING:-}" ]; then
	builtin='-fprofile-generate -fprofile-update=single'
	# The kernel has another function of this name.
	objcopy --redefine-sym mangle_path=gcov_mangle_path "$(gcc -print-file-name=libgcov.a)" "$tree/../libgcov.a"
	export LIBGCOV=$tree/../libgcov.a
elif [ -n "${PROFILE:-}" ]; then
	tar xf "$PROFILE"
	# A function that another compiler or configuration changes has no counts then, and is compiled as without a profile.
	builtin='-fprofile-use -fprofile-partial-training -Wno-missing-profile -Wno-coverage-mismatch'
fi
log=$tree/../log
build() {
	# Every path in it is relative to the tree, so that a copy of the tree elsewhere needs no new compilation.
	make -s -j"$(nproc)" KCFLAGS=-O3 CFLAGS_KERNEL="$builtin" "$@"
}
config "$@" >"$tree/../wanted.new"
# Kconfig gives every option a new time, so an unchanged configuration is left as it is.
if ! cmp -s "$tree/../wanted.new" "$tree/../wanted" || [ ! -f .config ]; then
	mv "$tree/../wanted.new" "$tree/../wanted"
	make -s KCONFIG_ALLCONFIG="$tree/../wanted" allnoconfig >"$log" 2>&1 || die "$(tail -n1 "$log")"
	refused=$(grep -Fxv -f .config "$tree/../wanted" || true)
	[ -z "$refused" ] || { rm -f "$tree/../wanted"; die "Kconfig did not grant: ${refused//$'\n'/, }"; }
fi

touch "$tree/../begun"
echo "sandbox kernel $name: compiling${keep:+ what has changed}${keep:- (a few minutes)}" | sed 's/yes$//' >&2
# How many objects are done: each look at the tree takes a while itself. It sleeps without a program, which would outlive it.
count() {
	local nothing
	exec {nothing}<> <(:)
	while :; do
		read -rt "$1" -u "$nothing" || true
		# The build removes folders of its own while find looks into them.
		printf "$2" "$name" "$({ find . -name '*.o' -newer ../begun 2>/dev/null || true; } | wc -l)"
	done
}
if [ -t 2 ]; then
	count 2 '\rsandbox kernel %s: %4d of about 900 objects ' >&2 &
else
	count 30 'sandbox kernel %s: %d of about 900 objects\n' >&2 &
fi
counter=$!
trap 'kill $counter 2>/dev/null || true' EXIT
build linux modules >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "the compiler's words are above"; }
kill $counter
if [ -t 2 ]; then echo >&2; fi

mkdir -p "$out/modules" "$out/tree"
strip --strip-debug -o "$out/linux" linux
chmod 755 "$out/linux"
# Before 6.3 it lists the modules themselves.
sed 's/\.o$/.ko/' modules.order | xargs cp -t "$out/modules"
cp .config "$out/config"
# What modules need from here on: headers, Kbuild, its tools and the symbol table; not the objects or the sources.
find . \( -path ./Documentation -o -path ./drivers -o -path ./sound -o -path ./fs -o -path ./samples -o -path ./tools/testing -o -path ./tools/perf \
	-o -path './arch/*' ! -path './arch/um*' ! -path './arch/x86*' ! -path ./arch/Kconfig \) -prune -o \
	\( -path './scripts/*' -o -path './tools/*' -o -path './kernel/*bounds.c' -o -path './arch/x86/um/*offsets.c' \
	-o ! -name '*.[coa]' ! -name '*.cmd' ! -name '*.ko' ! -name '*.gcda' ! -path ./linux ! -path ./vmlinux ! -path ./System.map ! -name '.tmp_*' \) -print0 |
	tar -c --null --no-recursion -T - | tar -x -C "$out/tree"
release=$(cat include/config/kernel.release)
cd "$out"
# Kernels with the same headers have the same modules.
headers=$(cd tree && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1)
{
	printf '{"version": "%s", "kernelrelease": "%s", "hash": "%s", "headers": "%s", "files": {' "$name" "$release" "$hash" "$headers"
	separator=
	for file in linux config modules/*.ko; do
		printf '%s"%s": "%s"' "$separator" "$file" "$(sha256sum <"$file" | cut -d' ' -f1)"
		separator=', '
	done
	printf '}}\n'
} >manifest.json

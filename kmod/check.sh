#!/bin/bash
# Checks the modules' sources: sparse while they compile for the default guest kernel, then the kernel's own checkpatch.pl.
#
#	check.sh        silent if there is nothing to say; any warning fails
#
# Needs what `make kernel` built. checkpatch.pl is that of Debian's kernel source package, unpacked once into
# $LONGHAUL_CACHE/checkpatch/<hash of the archive>; both work on a copy, since both write beside what they read.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${LONGHAUL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/longhaul}
read -r version package _ < <(grep -E '^[0-9]' "$here/sandbox/kernel.lock")
archive=/usr/src/$package.tar.xz
tree=$cache/kernels/current-$version/tree

# What checkpatch.pl asks of patches to the kernel and is not asked here: a file, a type of message, and why.
excepted=(
	'* LONG_LINE_COMMENT      prose is as wide as in docs/'
	'* COMPLEX_MACRO          macros that declare a table of parameters or fields cannot be expressions'
	'* MACRO_ARG_REUSE        for the same macros, whose arguments are names and constants'
	'lh_param.h MACRO_ARG_UNUSED  LH_SOCKET_PARAM is for its reader, the compiler needs only the range'
	'* FILE_PATH_CHANGES      there is no MAINTAINERS file to update'
	'lh_connections.c CAMELCASE it writes a field of the trace, whose name is as in lh_trace.h'
	'lh_shell.c YIELD         its keeper gives way until all others sleep, and there is nothing to wait for'
	'compat.h LINUX_VERSION_CODE  it is the one place that asks for the version, to refuse kernels'
	'compat.h CONSTANT_COMPARISON LINUX_VERSION_CODE is not the constant of its comparison'
)
# lh_trace belongs to User-Mode Linux alone, and its record layout is shared with a program in userland: fixed-width types of
# <stdint.h> and lists of fields, which checkpatch.pl has no word for. sparse sees it like the others.
unchecked='lh_trace.c lh_trace.h'

die() {
	echo "checking the modules: $*" >&2
	exit 3
}

command -v sparse >/dev/null || die "sparse is missing: apt-get install sparse"
command -v perl >/dev/null || die "perl is missing: apt-get install perl"
[ -r "$archive" ] || die "$archive is missing: apt-get install $package"
[ -d "$tree" ] || die "the guest kernel $version is not built: make kernel"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
cp "$here"/Kbuild "$here"/*.h "$here"/*.c "$work/src"
rm -f "$work"/src/*.mod.c

make -s -j"$(nproc)" -C "$tree" ARCH=um W=1 C=2 CHECK="sparse -Wsparse-error" M="$work/src" modules >"$work/log" 2>&1 &&
	! grep -qE 'warning:|error:' "$work/log" || {
	sed "s#$work/src#kmod#g" "$work/log" >&2
	die "the compiler's or sparse's words are above: repair what they name"
}

# The archive's own hash takes a third of a second; its size and time stand for it once it is known.
stamp=$(stat -c '%s %Y' "$archive")
memo=$cache/sources/$package.sha256
mkdir -p "$cache/sources" "$cache/checkpatch"
if [ "$(head -n1 "$memo" 2>/dev/null)" != "$stamp" ]; then
	printf '%s\n%s\n' "$stamp" "$(sha256sum <"$archive")" >"$memo.$$" && mv "$memo.$$" "$memo"
fi
scripts=$cache/checkpatch/$(tail -n1 "$memo" | cut -c1-32)
if [ ! -d "$scripts" ]; then
	echo "checking the modules: unpacking checkpatch.pl from $package" >&2
	mkdir "$work/scripts"
	tar xf "$archive" -C "$work/scripts" --strip-components=2 --wildcards '*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
		'*/scripts/const_structs.checkpatch' || die "$archive has no checkpatch.pl: reinstall $package"
	cp -r "$work/scripts" "$scripts.$$"
	mv -T "$scripts.$$" "$scripts" 2>/dev/null || { rm -rf "$scripts.$$" && [ -d "$scripts" ]; }
fi

cd "$work/src"
failed=
for file in *.h *.c; do
	[[ " $unchecked " == *" $file "* || $file == *.mod.c ]] && continue
	types=$(printf '%s\n' "${excepted[@]}" | while read -r where type _; do
		if [ "$where" = '*' ] || [ "$where" = "$file" ]; then echo "$type"; fi
	done | paste -sd,)
	# The tree's headers tell it which names in mixed case are the kernel's own.
	perl "$scripts/checkpatch.pl" --strict --no-tree --root="$tree" --file --terse --no-summary --show-types \
		--max-line-length=120 --ignore "$types" "$file" >"$work/messages" 2>&1 || failed=yes
	if [ -s "$work/messages" ]; then
		sed 's#^#kmod/#' "$work/messages" >&2
		failed=yes
	fi
done
[ -z "$failed" ] || die "checkpatch.pl's words are above: repair what they name, or except the type in kmod/check.sh and say why"

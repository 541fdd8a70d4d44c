#!/bin/bash
# Builds a guest kernel from Debian's kernel source package into the cache, or finds it there.
#
#	build.sh VERSION            the last line on standard output is the folder
#	build.sh --hash VERSION     only the content hash
#	build.sh --count VERSION    one that counts where it goes (profile.sh)
#
#	$LONGHAUL_CACHE/kernels/<hash>/   linux  modules/*.ko  config  manifest.json  tree/ (headers for modules)
#	$LONGHAUL_CACHE/kernels/current-<version> -> <hash>
#
# The folder's name is the hash of everything that determines the kernel: row of kernel.lock, source archive, fragments,
# patches (for all versions, then those of its upstream release), profile, compiler, this script. It appears by rename when it is
# complete; two builders at once wait for one another.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${LONGHAUL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/longhaul}
only_hash= counting=
case ${1:-} in
--hash) only_hash=yes; shift ;;
--count) counting=-counting; shift ;;
esac
version=${1:?usage: build.sh [--hash | --count] VERSION}

die() {
	echo "building the sandbox kernel $version: $*" | tee /dev/stderr
	exit 1
}

read -r _ package upstream fragment < <(grep -E "^${version//./\\.}[[:space:]]" "$here/kernel.lock") || die "no such row in kernel.lock"
archive=/usr/src/$package.tar.xz
shopt -s nullglob
patches=("$here/patches/"*.patch "$here/patches/$upstream/"*.patch)
shopt -u nullglob
profile=
[ -n "$counting" ] || [ ! -f "$here/profile-$version.tar.xz" ] || profile=$here/profile-$version.tar.xz
# Where two fragments speak of the same option, the later one is meant.
config() {
	cat "$here/kernel.config" ${fragment:+"$here/$fragment"} |
		awk '/^(# )?CONFIG_/ { name = $1 == "#" ? $2 : $1; sub(/=.*/, "", name); said[name] = $0 }
		     END { for (name in said) print said[name] }' | LC_ALL=C sort
}
missing=()
for tool in gcc make flex bison bc xz patch; do
	command -v "$tool" >/dev/null || missing+=("$tool")
done
[ -r "$archive" ] || missing+=("$package")
[ ${#missing[@]} = 0 ] || die "missing ${missing[*]}; run \`make setup\`, or apt-get install gcc make flex bison bc xz-utils patch $package"

# The archive's own hash takes a third of a second; its name, size and time stand for it once it is known.
stamp=$(stat -c '%s %Y' "$archive")
memo=$cache/sources/$package.sha256
mkdir -p "$cache/sources" "$cache/kernels"
if [ "$(head -n1 "$memo" 2>/dev/null)" != "$stamp" ]; then
	printf '%s\n%s\n' "$stamp" "$(sha256sum <"$archive")" >"$memo.$$" && mv "$memo.$$" "$memo"
fi
hash=$({
	grep -E "^${version//./\\.}[[:space:]]" "$here/kernel.lock"
	tail -n1 "$memo"
	gcc --version | head -n1
	config
	cat "$here/build.sh" "${patches[@]}" ${profile:+"$profile"} ${counting:+"$here/counting.patch"}
} | sha256sum | cut -c1-32)
[ -n "$only_hash" ] && { echo "$hash"; exit; }

target=$cache/kernels/$hash
publish() {
	ln -sfn "$hash" "$cache/kernels/current-$version.$$" && mv -T "$cache/kernels/current-$version.$$" "$cache/kernels/current-$version$counting"
	echo "$target"
	exit 0
}
[ -f "$target/manifest.json" ] && publish
exec 9>"$cache/kernels/.lock-$hash"
flock 9
[ -f "$target/manifest.json" ] && publish

# A fixed place for each hash, so that no random path enters the build; a half build of an earlier try is removed.
work=$cache/kernels/.build-$hash
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tree"
echo "sandbox kernel $version: unpacking $package" >&2
tar xf "$archive" -C "$work/tree" --strip-components=1
cd "$work/tree"
for patch in "${patches[@]}" ${counting:+"$here/counting.patch"}; do
	patch -p1 --quiet <"$patch" || die "$(basename "$patch") does not apply to $package"
done

# The banner is part of what seeds the guest's random numbers: it names no time, person or machine.
export ARCH=um KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 1970' KBUILD_BUILD_USER=longhaul KBUILD_BUILD_HOST=longhaul KBUILD_BUILD_VERSION=1
# -O3: a twelfth faster than -O2 at 1 Gbit/s; with a profile a seventh faster again; and the same traces.
builtin=
if [ -n "$counting" ]; then
	builtin='-fprofile-generate -fprofile-update=single'
	# The kernel has a function of this name, and means something else by it.
	objcopy --redefine-sym mangle_path=gcov_mangle_path "$(gcc -print-file-name=libgcov.a)" "$work/libgcov.a"
	export LIBGCOV=$work/libgcov.a
elif [ -n "$profile" ]; then
	tar xf "$profile"
	# What another compiler or configuration makes of the same source has no counts then, and is compiled as without.
	builtin='-fprofile-use -fprofile-partial-training -Wno-missing-profile -Wno-coverage-mismatch'
fi
build() {
	make -s -j"$(nproc)" KCFLAGS="-O3 -ffile-prefix-map=$work/tree=." CFLAGS_KERNEL="$builtin" "$@"
}
config >"$work/wanted"
make -s KCONFIG_ALLCONFIG="$work/wanted" allnoconfig >"$work/log" 2>&1 || die "$(tail -n1 "$work/log")"
refused=$(grep -Fxv -f .config "$work/wanted" || true)
[ -z "$refused" ] || die "Kconfig did not grant: ${refused//$'\n'/, }"

echo "sandbox kernel $version: compiling (a few minutes)" >&2
build linux modules >"$work/log" 2>&1 &
builder=$!
while kill -0 $builder 2>/dev/null; do
	sleep 2
	# The build removes folders of its own while find looks into them.
	objects=$({ find . -name '*.o' -newer .config 2>/dev/null || true; } | wc -l)
	if [ -t 2 ]; then
		printf '\rsandbox kernel %s: %4d of about 900 objects ' "$version" "$objects" >&2
	elif ((SECONDS % 30 < 2)); then
		printf 'sandbox kernel %s: %d of about 900 objects\n' "$version" "$objects" >&2
	fi
done
[ -t 2 ] && echo >&2
wait $builder || { tail -n 20 "$work/log" >&2; die "the compiler's words are above"; }

mkdir -p "$work/out/modules"
strip --strip-debug -o "$work/out/linux" linux
chmod 755 "$work/out/linux"
find . -name '*.ko' -exec cp -t "$work/out/modules" {} +
cp .config "$work/out/config"
release=$(cat include/config/kernel.release)
# What modules need from here on: headers, Kbuild, its tools and the symbol table; not the objects or the sources.
find . \( -name '*.o' -o -name '*.cmd' -o -name '*.a' -o -name '*.ko' -o -name '*.mod.c' -o -name '*.gcda' \) ! -path './scripts/*' ! -path './tools/*' -delete
rm -f linux vmlinux
find . -name '*.c' ! -path './scripts/*' ! -path './tools/*' ! -path './kernel/*bounds.c' ! -path './arch/x86/um/*offsets.c' -delete
rm -rf Documentation drivers sound fs samples tools/testing tools/perf
find arch -mindepth 1 -maxdepth 1 ! -name um ! -name x86 ! -name Kconfig -exec rm -rf {} +
mv "$work/tree" "$work/out/tree"
cd "$work/out"
{
	printf '{"version": "%s", "kernelrelease": "%s", "hash": "%s", "files": {' "$version" "$release" "$hash"
	separator=
	for file in linux config modules/*.ko; do
		printf '%s"%s": "%s"' "$separator" "$file" "$(sha256sum <"$file" | cut -d' ' -f1)"
		separator=', '
	done
	printf '}}\n'
} >manifest.json
mv -T "$work/out" "$target"
publish

#!/bin/bash
# Prints which interfaces the headers of a kernel have, as a header of macros, and the compiler's answers to Kbuild's questions.
#
#	probe-features.sh TREE KMOD WORK
#
# TREE has the kernel's headers, KMOD the project's sources, WORK is an empty folder. A feature is there if its line of foreign/features.c
# compiles without an error. Kbuild asks the compiler 40 to 60 times which options it knows, which takes as long as a module: a line
#
#	// cc CODE ARGUMENTS
#
# has one answer, with the arguments behind the last one that names the tree.
set -euo pipefail

tree=${1:?usage: probe-features.sh TREE KMOD WORK} kmod=$2 work=$3

mkdir -p "$work"
cp "$kmod/foreign/features.c" "$work"
echo 'obj-m := features.o' >"$work/Kbuild"
# It ends with an error, because no kernel has all of them.
cat >"$work/cc" <<END
#!/bin/sh
${CC:-gcc} "\$@"
code=\$?
words="\$*"
words=\${words##*"$tree"}
case \$words in
*" -c -x c /dev/null -o "*) echo "\$code \${words%% -o *}" >>"$work/answers" ;;
esac
exit \$code
END
chmod +x "$work/cc"
make -s -C "$tree" ARCH=um "CC=$work/cc" M="$work" \
	KCFLAGS="-fsyntax-only -fmax-errors=0 -Werror=implicit-function-declaration -Werror=incompatible-pointer-types" modules >"$work/log" 2>&1 || true
# Without one the compiler has not begun; another one is of a header.
if ! grep -q 'features\.c:[0-9]*:[0-9]*: error' "$work/log" || grep -q 'fatal error' "$work/log"; then
	cat "$work/log" >&2
	exit 1
fi
awk -v messages="$work/log" '
	BEGIN {
		while ((getline line < messages) > 0)
			if (match(line, /features\.c:[0-9]+:[0-9]+: error/)) {
				split(substr(line, RSTART), part, ":")
				missing[part[2]] = 1
			}
	}
	/^PROBE/ && !(FNR in missing) { sub(/^PROBE\(/, ""); sub(/,.*/, ""); print "#define " $0 " 1" }
' "$kmod/foreign/features.c"
# The same question has one answer, and no character that a shell would read.
sort -u "$work/answers" | grep -E '^[01] [[:alnum:] ./=,:+_-]+$' | sed 's#^#// cc #'

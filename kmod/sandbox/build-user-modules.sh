#!/bin/bash
# Builds the modules of a user's source for a guest kernel, each by itself: one that fails takes no other with it.
#
#	build-user-modules.sh TREE KMOD FEATURES SOURCE WORK <RECIPE
#
# TREE has the kernel's headers, KMOD the project's, and the file FEATURES is what probe-features.sh printed for them. RECIPE is what
# orchestrator/modules/recipe.py made of the source: the lines that it describes, after `adapt FILE COUNT` with COUNT lines for the
# beginning of a file. WORK, an empty folder, gets
#
#	objects/*.ko    what was built
#	logs/<name>     the compiler's messages of each module; of a folder's own rules, logs/make
#	parts/<name>    the sources of each module, as folder/stem
#
# With LONGHAUL_DEBUG_INFO=yes the objects have debugging information, and the same code.
#
# The source is untrusted: its Makefiles may print anything, and leave processes behind. Names that they print are checked, and
# messages are cut. The confinement of this script does the rest.
set -uo pipefail

tree=${1:?usage: build-user-modules.sh TREE KMOD FEATURES SOURCE WORK} kmod=$2 features=$3 source=$4 work=$5
longest_s=150 module_s=60 most_modules=64 most_log=262144 most_file_kib=65536
name='[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}'

src=$work/src
mkdir -p "$work"/{src,objects,logs,parts,bin,include}
cp -r "$source/." "$src" && chmod -R u+w "$src" && grep -v '^// cc' "$features" >"$work/include/features.h" || exit 1
release=$(cat "$tree/include/config/kernel.release")
seen=' '

# The compiler of modules: a user's warning is no error, but a call of nothing or a pointer of another type would be one when it runs. Files that
# Kbuild makes itself are compiled as everywhere, and so are a folder's own programs. Known answers need no compiler.
cat >"$work/bin/cc" <<END
#!/bin/sh
words="\$*"
case " \$words " in
*\ /dev/null\ *)
	words=\${words##*"$tree"}
	case \${words%% -o *} in
$(sed -nE 's#^// cc ([01]) (.*)#\t"\2") exit \1 ;;#p' "$features")
	esac ;;
*.mod.c\ * | *module-common.c\ * | *__ASSEMBLY__*) ;;
*\ -DMODULE\ *) exec ${CC:-gcc} "\$@" -std=gnu11 -ffile-prefix-map=$src/= \${LH_FOLDER:+"-I\$LH_FOLDER"} -I$src -I$work/include -I$kmod -I$kmod/foreign \\
	-include $kmod/foreign/foreign.h ${LONGHAUL_DEBUG_INFO:+-g} -Wno-error -Wno-missing-prototypes -Wno-missing-declarations -Wno-unused -Wno-declaration-after-statement \\
	-Werror=implicit-function-declaration -Werror=incompatible-pointer-types -Werror=int-conversion -fmax-errors=20 \${LH_FLAGS:-} ;;
esac
exec ${CC:-gcc} "\$@"
END
# The running kernel is the guest's.
printf '#!/bin/sh\n[ "$*" != -r ] || { echo %q; exit; }\nexec /bin/uname "$@"\n' "$release" >"$work/bin/uname"
chmod +x "$work"/bin/*
export PATH="$work/bin:$PATH"
common=(ARCH=um "CC=$work/bin/cc" KBUILD_BUILD_USER=longhaul KBUILD_BUILD_HOST=longhaul)
headers=()
for one in KDIR KERNELDIR KERNEL_DIR KERNEL_SRC KERNEL_TREE KERNEL_PATH KSRC KBUILDDIR KERN_DIR LINUX_SRC; do headers+=("$one=$tree"); done

# Wherever an author looks for the headers of the running kernel, the guest's are meant. Until 5.3 M= was called SUBDIRS= too; a kernel that
# does not know it would build itself.
find "$src" \( -iname '*makefile*' -o -name 'Kbuild*' -o -name '*.mk' -o -name '*.sh' \) -type f -exec \
	sed -i -E "s#/(usr/)?lib/modules/[^/]*/(build|source)#$tree#g; s#/usr/src/(linux|kernels?)[-/][^[:space:]/]*(\([^)]*\)|\\$\{[^}]*\})?#$tree#g; s#(^|[[:space:]])SUBDIRS=#\1M=#g" {} +
# Since 6.15 Kbuild has no name but ccflags-y for them.
if ! grep -qs EXTRA_CFLAGS "$tree"/scripts/Makefile.*; then
	find "$src" \( -iname 'makefile' -o -name Kbuild \) -type f -exec grep -q EXTRA_CFLAGS {} \; \
		-exec sh -c 'printf "\nccflags-y += \$(EXTRA_CFLAGS)\n" >>"$1"' _ {} \;
fi

# The structure that a time was until Linux 4.12.
find "$src" -name '*.[ch]' -type f -exec grep -qE 'struct[[:space:]]+skb_mstamp\>' {} \; -exec sed -i -E \
	's/\<struct[[:space:]]+skb_mstamp\>/u64/g; s/(\w)\.v64\>/\1/g' {} \;
find "$src" -name '*.[ch]' -type f -exec sed -i -z -E -f "$kmod/foreign/measure.sed" {} +

# A command with its messages in a log, until its time is over.
run() {
	local log=$1 limit_s=$2
	shift 2
	[ "$limit_s" -lt $((longest_s - SECONDS)) ] || limit_s=$((longest_s - SECONDS))
	[ "$limit_s" -gt 0 ] || { echo 'ERROR: there was no time left to build it' >>"$log"; return 1; }
	(ulimit -f "$most_file_kib"; exec timeout -k 2 "$limit_s" "$@") >>"$log" 2>&1 </dev/null &
	local code group=$!
	wait "$group"
	code=$?
	# It has a group of processes of its own; those that it leaves behind would keep others from starting.
	kill -KILL -- "-$group" 2>/dev/null
	[ "$(wc -c <"$log")" -le "$most_log" ] || truncate -s "$most_log" "$log"
	case $code in 124 | 137) printf '\nERROR: it was not done after %s s\n' "$limit_s" >>"$log" ;; esac
	return "$code"
}

# One module of a folder: FOLDER OBJECT LINES [NAME=VALUE]..., with more lines for its Kbuild. A Kbuild is read before a Makefile.
build() {
	local folder=$1 object=$2 lines=$3 place=$1 list log
	shift 3
	log=$(basename "$object")
	log=$work/logs/${log//-/_}
	if [ $((built += 1)) -gt "$most_modules" ]; then
		[ "$built" -gt $((most_modules + 1)) ] || echo "ERROR: a source has at most $most_modules modules" >"$log"
		return 1
	fi
	[ ! -f "$folder/Kbuild" ] || [ -f "$folder/Kbuild.author" ] || mv "$folder/Kbuild" "$folder/Kbuild.author"
	list=$folder/Kbuild.author
	[ -f "$list" ] || list=$folder/Makefile
	! grep -qsE '^[[:space:]]*(obj-|ccflags-|EXTRA_CFLAGS)' "$list" || lines="include $list"$'\nobj-y :=\n'$lines
	while [ "$place" != "$src" ]; do
		place=${place%/*}
		lines+=$'\nccflags-y += '${below[$place]:-}
	done
	printf '%s\nobj-m := %s.o\n' "$lines" "$object" >"$folder/Kbuild"
	: >"$log"
	(cd "$folder" && LH_FOLDER=$folder PWD=$folder run "$log" "$module_s" make -s -C "$tree" "${common[@]}" M="$folder" "$@" modules)
	[ -f "$folder/$object.ko" ]
}

# A BPF program as a module: between program.h, which takes the place of the headers of BPF, and the lines behind it. A program defines
# functions and types that the kernel's headers have too: the compiler names them, and the program's own get other names.
build_bpf() {
	local folder=$1 stem=$2 name=${2%.bpf} own again log found fresh word
	name=${name//-/_} own=$folder/lh_own_$2.h log=$work/logs/${name}
	shift 2
	find "$src" \( -name '*.c' -o -name '*.h' \) -type f -exec sed -i -E -f "$kmod/foreign/bpf/headers.sed" {} +
	for file in "$folder/$stem.c" "$folder"/*.h; do
		[ ! -f "$file" ] || { awk -f "$kmod/foreign/bpf/layouts.awk" "$file" >"$work/adapted" && cp "$work/adapted" "$file"; }
	done
	: >"$own"
	{
		printf '#include "%s"\n' program.h "$stem.c"
		printf '%s\n' "$@"
	} >"$folder/${name}_lh_bpf.c"
	for again in 1 2 3 4 5 6; do
		LH_FLAGS="-I$kmod/foreign/bpf -Wno-attributes -Wno-unknown-pragmas" build "$folder" "$name" "$name-y := ${name}_lh_bpf.o" && break
		found=$(LC_ALL=C sed -n -E "s/\xe2\x80[\x98\x99]/'/g; /^(kmod|.*\/include)\//d
			s/.*error: (static declaration of|redefinition of|nested redefinition of|redeclaration of|redeclaration of enumerator|conflicting types for|conflicting type qualifiers for) '(struct |union |enum )?([A-Za-z_][A-Za-z0-9_]*)'.*/\3/p
			s/.*error: '([A-Za-z_][A-Za-z0-9_]*)' redeclared as different kind of symbol.*/\1/p" "$log" | sort -u)
		fresh=
		for word in $found; do
			! grep -q " lh_own_$word\$" "$own" || continue
			fresh=yes
			echo "#define $word lh_own_$word" >>"$own"
			# It declares a function of the kernel with other types than the kernel's.
			! grep -qE "^[[:space:]]*extern\b.*\b$word[[:space:]]*\(" "$folder/$stem.c" || echo "asm(\".set lh_own_$word, $word\");" >>"$own"
		done
		[ -n "$fresh" ] || break
		rm -f "$folder/$name.ko" "$folder/$name".{o,mod,mod.c,mod.o} "$folder/${name}_lh_bpf.o"
	done
}

# The sources of a module, which no other line builds again: NAME FOLDER STEM...
note_parts() {
	local module=$1 folder=${2#"$src"} stem
	shift 2
	folder=${folder#/}
	for stem; do
		seen+="${folder:+$folder/}$stem "
		echo "${folder:+$folder/}$stem"
	done >"$work/parts/${module//-/_}"
}

# What a list of objects has: `object NAME [PART]...` of each, and `below FLAGS` for the folders below.
cat >"$work/lister" <<'END'
include $(list)
lh_parts = $(patsubst %.o,%,$($(1:.o=-y)) $($(1:.o=-objs)) $($(1:.o=-m)))
$(foreach one,$(filter %.o,$(obj-m)),$(info object $(one:.o=) $(call lh_parts,$(one))))
$(foreach one,$(filter %.o,$(obj-y)),$(info maybe $(one:.o=) $(call lh_parts,$(one))))
$(info below $(subdir-ccflags-y))
.DEFAULT_GOAL := lh-nothing
lh-nothing:;@:
END

declare -A below=()
built=0
while read -r verb first rest; do
	read -ra more <<<"$rest"
	folder=$src
	[ "$first" = . ] || folder=$src/$first
	case $verb in
	adapt)
		file=$src/$first
		mapfile -t -n "$rest" lines
		{
			printf '%s\n' "${lines[@]}"
			printf '#line 1 "%s"\n' "$first"
			cat "$file"
		} >"$work/adapted" && cp "$work/adapted" "$file"
		;;
	make)
		(cd "$folder" && LH_FOLDER=$folder run "$work/logs/make" 100 make -k "${common[@]}" "${headers[@]}")
		;;
	kbuild)
		list=Makefile
		[ ! -f "$folder/Kbuild" ] || list=Kbuild
		[ ! -f "$folder/Kbuild.author" ] || list=Kbuild.author
		settings=() registering=' '
		for word in "${more[@]}"; do
			case $word in *=*) settings+=("$word") ;; *) registering+="$word " ;; esac
		done
		run "$work/list" 10 make -s -C "$folder" --no-print-directory -f "$work/lister" "list=$list" "${common[@]}" srctree="$tree" src="$folder" obj="$folder" M="$folder" \
			KERNELRELEASE="$release" "${settings[@]}" lh-nothing
		while read -r word object parts; do
			case $word in
			below) below[$folder]="$object $parts"; continue ;;
			object | maybe) ;;
			*) echo "$word $object $parts" >>"$work/logs/make"; continue ;;
			esac
			[[ $object =~ ^($name/){0,4}$name$ ]] || continue
			read -ra stems <<<"${parts:-$object}"
			valid=() registers=
			# A list may name objects that this folder has no source of, as a part of the kernel's does.
			[ "$parts" ] || [ -f "$folder/$object.c" ] || [ -f "$folder/$object.S" ] || [ -f "$folder/$object.o" ] || continue
			for stem in "${stems[@]:0:200}"; do
				[[ ! $stem =~ ^($name/){0,4}$name$ ]] || valid+=("$stem")
				[[ $registering != *" $stem "* ]] || registers=yes
			done
			# Objects of the kernel itself are no modules, unless they register a control.
			[ "$word" = object ] || [ "$registers" ] || continue
			note_parts "$(basename "$object")" "$folder" "${valid[@]}"
			[ -f "$folder/$object.ko" ] || build "$folder" "$object" '' "${settings[@]}"
		done <"$work/list"
		rm -f "$work/list"
		;;
	bpf)
		mapfile -t -n "${more[1]}" lines
		build_bpf "$folder" "${more[0]}" "${lines[@]}"
		;;
	plain)
		stem=${more[0]} place=${first#.}
		[[ $seen != *" ${place:+$place/}$stem "* ]] || continue
		note_parts "$stem" "$folder" "${more[@]}"
		lines=
		if [ ${#more[@]} -gt 1 ]; then
			# Its name is the module's, so its first object has another.
			{ printf '#line 1 "%s.c"\n' "${place:+$place/}$stem"; cat "$folder/$stem.c"; } >"$folder/${stem}_lh_main.c"
			others=("${more[@]:1}")
			lines="$stem-y := ${stem}_lh_main.o ${others[*]/%/.o}"
		fi
		build "$folder" "$stem" "$lines"
		;;
	esac
done

# The kernel knows a module by a name without hyphens.
while IFS= read -r -d '' object; do
	name=$(basename "$object" .ko)
	cp "$object" "$work/objects/${name//-/_}.ko"
	mod=${object%.ko}.mod
	[ -s "$work/parts/${name//-/_}" ] || [ ! -f "$mod" ] || note_parts "$name" "$(dirname "$object")" $(tr ' ' '\n' <"$mod" | grep -oE "$name\.o$" | sed 's/\.o$//')
done < <(find "$src" -name '*.ko' -type f -size -32768k -print0 | head -z -n "$most_modules")
# The messages name files as the source's folder has them, and say which are the kernel's and the project's. Until 6.12 the compiler works in the tree.
relative='s#(^|[ (])(\./)*(include|arch)/#\1linux-headers/\3/#'
[ ! -e "$src/include" ] && [ ! -e "$src/arch" ] || relative=
sed -i -E -e "$relative" -e "s#$src/##g; s#$tree/#linux-headers/#g; s#$kmod/#longhaul-headers/#g" "$work"/logs/* 2>/dev/null
[ -n "${LONGHAUL_DEBUG_INFO:-}" ] || strip --strip-debug "$work"/objects/*.ko 2>/dev/null
exit 0

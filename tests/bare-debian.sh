# The bare Debian of newcomer.sh and newcomer-wheel.sh, which source this file: made by mmdebstrap, entered as a user.
#
#	start_newcomer RELEASE WHO		sets release, who, place, root, home, begun, settings; removes all at the end
#	make_debian PACKAGE,...			makes the Debian in $root, with the user newcomer
#	enter_debian [UNSHARE...] -- SCRIPT...	runs SCRIPT in bash with $root, as root, in namespaces; it may call as_root, as_newcomer
#	step WHAT FROM TO, space WHAT MB	a line of the table; also into the file $NEWCOMER_TABLE
#
# The newcomer has this machine's network and what its apt and pip are configured with.

die() {
	echo "being a newcomer on $release: $*" >&2
	exit 3
}

now() { date +%s.%N; }
step() { awk -v from="$2" -v to="$3" -v what="$1" 'BEGIN { printf "%8.1f s  %s\n", to - from, what }' | note; }
space() { printf '%8d MB %s\n' "$2" "$1" | note; }
note() { sed "s/^/$(printf '%-9s%-6s' "$release" "$who")/" | tee -a "${NEWCOMER_TABLE:-/dev/null}"; }
left() { stat -L -c %.Y "$1"; }
# Files come and go while du looks.
used() { { du -smx "$@" 2>/dev/null || true; } | awk '{ total += $1 } END { print total + 0 }'; }

start_newcomer() {
	release=$1 who=$2 begun=$(now)
	[ "$(id -u)" = 0 ] || die "a machine within this one takes root; run \`sudo make newcomer\`"
	command -v mmdebstrap >/dev/null || die "mmdebstrap is missing; run \`./setup.sh hosts\`"
	git -C "$repository" diff --quiet HEAD || echo "being a newcomer: what is not committed is not cloned" >&2
	place=$(mktemp -d -p "${TMPDIR:-/var/tmp}" longhaul-newcomer-XXXXXX)
	root=$place/root watcher=
	home=$root/home/newcomer
	# The mounts belong to a namespace that ends with its processes.
	trap 'kill $watcher 2>/dev/null || true; rm -rf --one-file-system "$place"' EXIT
	settings=()
	while IFS='=' read -r name value; do
		case $name in
		PIP_FIND_LINKS) ;;
		PIP_* | SSL_CERT_* | REQUESTS_CA_BUNDLE | [hH][tT][tT][pP]*_[pP][rR][oO][xX][yY] | [nN][oO]_[pP][rR][oO][xX][yY]) settings+=("$name=$value") ;;
		esac
	done < <(env)
}

make_debian() {
	local sources here options=() uri
	here=$(. /etc/os-release && echo "$VERSION_CODENAME")
	if [ "$release" = forky ]; then
		# A testing release has no archive of security updates, and its mirrors may lag behind.
		uri=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | awk -v here="$here" '$2 == here { print $1; exit }')
		sources=$place/forky.list
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${uri:?no archive of $here in apt} forky main" >"$sources"
		options=('--aptopt=Acquire::Check-Valid-Until "false"')
	else
		for sources in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list ''; do
			[ ! -f "$sources" ] || break
		done
		[ -n "$sources" ] || die "this machine has no sources of Debian's packages in /etc/apt"
		sed "s/\b$here\b/$release/g" "$sources" >"$place/${sources##*/}"
		sources=$place/${sources##*/}
	fi
	mmdebstrap --quiet --variant=minbase "${options[@]}" --include="$1" "$release" "$root" "$sources" >"$place/log" 2>&1 ||
		{ tail -n 5 "$place/log" >&2; die "mmdebstrap could not make a Debian; its last lines are above"; }
	chroot "$root" useradd --create-home --shell /bin/bash newcomer
	# The configuration and the trusted certificates of this machine's apt and pip, but not their packages.
	cp -rL /etc/apt/apt.conf.d /etc/apt/auth.conf.d /etc/apt/trusted.gpg.d "$root/etc/apt/" 2>/dev/null || true
	rm -f "$root"/etc/apt/apt.conf.d/docker-*
	[ ! -f /etc/pip.conf ] || grep -v find-links /etc/pip.conf >"$root/etc/pip.conf" || true
	cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
	cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
}

enter_debian() {
	local namespaces=()
	while [ "$1" != -- ]; do namespaces+=("$1"); shift; done
	shift
	unshare --mount --pid --fork --kill-child --propagation private "${namespaces[@]}" bash -c '
		root=$1 who=$2 script=$3
		shift 3
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
		as_root() { "${enter[@]}" HOME=/root "$@"; }
		as_newcomer() {
			"${enter[@]}" HOME=$user_home PATH=/usr/local/bin:/usr/bin:/bin setpriv --reuid newcomer --regid newcomer --init-groups --inh-caps=-all "$@"
		}
		eval "$script"
	' newcomer "$root" "$who" "$1" "${settings[@]}" </dev/null
}

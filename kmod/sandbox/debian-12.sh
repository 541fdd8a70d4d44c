#!/bin/bash
# Gets packages of Debian 12 on a Debian that no longer has them, such as the source of the guest kernel 6.1 on Debian 13.
#
#	debian-12.sh PACKAGE...      install them, as root
#	debian-12.sh --apt FOLDER    prepare FOLDER: with APT_CONFIG=FOLDER/apt.conf, apt-cache and `apt-get download` know Debian 12's
#	                             packages and no others (apt-state.sh)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() {
	echo "getting packages of Debian 12: $*" >&2
	exit 3
}

prepare() {
	"$here/apt-state.sh" "$1" bookworm bookworm-security || exit
}

case ${1:-} in
'') die "name packages: debian-12.sh linux-source-6.1" ;;
--apt)
	prepare "${2:?usage: debian-12.sh --apt FOLDER}"
	exit
	;;
esac
[ "$(id -u)" = 0 ] || die "installing packages takes root: run \`sudo $0 $*\`"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# apt's own user reads the packages.
chmod 755 "$work"
prepare "$work"
cd "$work"
echo "setup: getting $* from Debian 12" >&2
APT_CONFIG=$work/apt.conf apt-get download -q "$@" >log 2>&1 || {
	tail -n 5 log >&2
	die "apt-get could not download $*; its last lines are above"
}
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ./*.deb >log 2>&1 || {
	tail -n 5 log >&2
	die "apt-get could not install $*; its last lines are above"
}

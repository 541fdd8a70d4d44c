#!/bin/bash
# Gets packages of Debian 12 on a Debian that no longer has them, such as the source of the guest kernel 6.1 on Debian 13.
#
#	debian-12.sh PACKAGE...      install them, as root
#	debian-12.sh --apt FOLDER    prepare FOLDER: with APT_CONFIG=FOLDER/apt.conf, apt-cache and `apt-get download` know Debian 12's
#	                             packages and no others
#
# The mirrors are those that apt uses here, the signatures are checked as always, and apt's own sources stay as they are: no
# other package of Debian 12 can get onto the machine.
set -euo pipefail

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

die() {
	echo "getting packages of Debian 12: $*" >&2
	exit 3
}

# A line for each archive of Debian that apt uses here. What of it is not for another release (updates, backports) is left out.
sources() {
	local codename
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | sort -u | while read -r uri release; do
		case $release in
		"$codename" | stable) suite=bookworm ;;
		"$codename-security" | stable-security) suite=bookworm-security ;;
		*) continue ;;
		esac
		echo "deb [signed-by=$keyring] $uri $suite main"
	done
}

prepare() {
	local folder=$1
	mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
	sources >"$folder/sources.list"
	[ -s "$folder/sources.list" ] || die "apt uses no archive of Debian on this machine; Longhaul is made for Debian 12 and 13"
	cat >"$folder/apt.conf" <<-END
		Dir::Etc::SourceList "$folder/sources.list";
		Dir::Etc::SourceParts "/dev/null";
		Dir::State::Lists "$folder/lists";
		Dir::Cache "$folder/cache";
		APT::Sandbox::User "";
		Acquire::Languages "none";
	END
	APT_CONFIG=$folder/apt.conf apt-get update >"$folder/log" 2>&1 && ! grep -E '^(E|W: Failed)' "$folder/log" >&2 || {
		tail -n 5 "$folder/log" >&2
		die "apt-get update failed; its last lines are above"
	}
}

case ${1:-} in
'') die "name packages: debian-12.sh linux-source-6.1" ;;
--apt)
	folder=${2:?usage: debian-12.sh --apt FOLDER}
	[ -r "$keyring" ] || die "$keyring is missing: run \`apt-get install debian-archive-keyring\`"
	prepare "$(mkdir -p "$folder" && cd "$folder" && pwd)"
	exit
	;;
esac
[ "$(id -u)" = 0 ] || die "installing packages takes root: run \`sudo $0 $*\`"
[ -r "$keyring" ] || die "$keyring is missing: run \`apt-get install debian-archive-keyring\`"
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

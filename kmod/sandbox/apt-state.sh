#!/bin/bash
# Prepares a state of apt of its own, with packages of other releases of Debian than the machine's.
#
#	apt-state.sh FOLDER SUITE...    with APT_CONFIG=FOLDER/apt.conf, apt-cache and `apt-get download` know the packages of these
#	                                suites and no others
#
# The mirrors are those that apt uses here, and signatures are checked with Debian's keys. Lists, sources and cache are in FOLDER: apt's own
# stay as they are, and no other package of these suites can get onto the machine.
set -euo pipefail

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
folder=${1:?usage: apt-state.sh FOLDER SUITE...}
shift

die() {
	echo "reading the packages of Debian's $suites: $*" >&2
	exit 3
}
suites=$*
[ -r "$keyring" ] || die "$keyring is missing: run \`apt-get install debian-archive-keyring\`"
folder=$(mkdir -p "$folder" && cd "$folder" && pwd)

# A line for each suite, at the mirror where apt has this machine's own release, or its security updates.
sources() {
	local codename uri release suite
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | sort -u | while read -r uri release; do
		for suite in $suites; do
			case $release:$suite in
			"$codename"-security:*-security | stable-security:*-security) ;;
			*:*-security) continue ;;
			"$codename":* | stable:*) ;;
			*) continue ;;
			esac
			echo "deb [signed-by=$keyring] $uri $suite main"
		done
	done
}

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

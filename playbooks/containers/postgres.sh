#!/bin/bash
# PostgreSQL for one lab, as the only process of a container; at the first start it makes its database.
#
# It listens on a socket in a folder that the service's container shares, and on no port: the kernel identifies the client
# (peer), so there is no password.
set -euo pipefail

binaries=$(echo /usr/lib/postgresql/*/bin)
version=$(basename "$(dirname "$binaries")")
data=/var/lib/postgresql/$version

if [ ! -d "$data" ]; then
	for other in /var/lib/postgresql/*/PG_VERSION; do
		[ -e "$other" ] || continue
		echo "starting PostgreSQL $version: the volume holds a database of PostgreSQL $(cat "$other")," \
			"which it cannot read; make a backup with the old images and restore it with these (docs/containers.md)" >&2
		exit 1
	done
	new=/var/lib/postgresql/.new
	rm -rf "$new"
	"$binaries/initdb" --pgdata="$new" --username=postgres --auth=peer --encoding=UTF8 --locale=C.UTF-8 >/dev/null
	printf '%s\n' 'CREATE ROLE longhaul LOGIN;' 'CREATE DATABASE longhaul OWNER longhaul;' |
		"$binaries/postgres" --single -D "$new" postgres >/dev/null
	printf '%s\n' 'local postgres postgres peer' 'local longhaul longhaul peer' >"$new/pg_hba.conf"
	mv -T "$new" "$data"
fi
exec "$binaries/postgres" -D "$data" -c listen_addresses= -c unix_socket_directories=/run/postgresql

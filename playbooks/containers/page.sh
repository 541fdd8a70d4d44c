#!/bin/bash
# The web page for an image: from a folder with a built one, or built here with Debian's Node and npm's packages.
#
#	page.sh FOUND MADE
set -euo pipefail
found=$1 made=$2
if [ -f "$found/index.html" ]; then
	cp -r "$found" "$made"
	exit
fi
apt-get update
apt-get install -y --no-install-recommends ca-certificates nodejs npm
npm ci --silent
npm run --silent build -- --logLevel warn
mv dist "$made"

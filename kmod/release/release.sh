#!/bin/bash
# Builds all artefacts of a release from a tag into dist/: source distribution, wheel, wheels of the other kernels, bill of materials, and
# SHA256SUMS. The same tag gives the same bytes in every folder and on every Debian 12 with the pinned compiler and kernel source.
#
#	release.sh [TAG]	by default the tag of the commit that is checked out; `make release`
#
# $LONGHAUL_SIGNING_KEY: a file with an SSH key, which signs SHA256SUMS into SHA256SUMS.sig (`ssh-keygen -Y verify -n longhaul-release`),
# or the name of a GnuPG key, which signs it into SHA256SUMS.asc.
set -euo pipefail

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=$repository/.venv/bin/python

die() {
	echo "release: $*" >&2
	exit 2
}

cd "$repository"
tag=${1:-$(git describe --exact-match --tags 2>/dev/null || true)}
[ -n "$tag" ] || die "the commit that is checked out has no tag; name one, as in \`make release TAG=v0.1.0\`"
git rev-parse --quiet --verify "refs/tags/$tag" >/dev/null || die "there is no tag $tag; \`git tag\` lists the tags"
[ -x "$python" ] || die "there is no .venv; run \`make release\`"

mkdir -p build
work=$(mktemp -d -p build release-XXXXXX)
trap 'rm -rf "$repository/$work"' EXIT
git -c advice.detachedHead=false clone --quiet --shared --branch "$tag" . "$work/source"
out=$repository/$work/out
mkdir "$out"
cd "$work/source"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
[ "$tag" = "v$version" ] || die "the tag is $tag, and pyproject.toml has the version $version; tag the commit v$version"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

# The page, with the packages of the lock file.
if cmp -s dashboards/web/package-lock.json "$repository/dashboards/web/package-lock.json" && [ -d "$repository/dashboards/web/node_modules" ]; then
	ln -s "$repository/dashboards/web/node_modules" dashboards/web/node_modules
else
	(cd dashboards/web && npm ci --silent)
fi
(cd dashboards/web && npm run --silent build -- --logLevel warn)

# Programs below import this folder's longhaul, not the one that .venv is installed with.
mkdir -p build/import
ln -s ../../longhaul build/import/longhaul
export PYTHONPATH=$PWD/build/import
make -s -j"$(nproc)" -C orchestrator/agent
mapfile -t kernels < <(sed -n 's/^kernel \([^ ]*\) .*/\1/p' kmod/sandbox/release.lock)
for kernel in "${kernels[@]}"; do
	kmod/sandbox/build.sh "$kernel" >/dev/null
	kmod/sandbox/build-modules.sh "$kernel" >/dev/null
done
"$python" -m kmod.release.parts build/parts "${kernels[0]}"
"$python" -m hatchling build --target sdist --directory "$out" >/dev/null
"$python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir "$out" .
for kernel in "${kernels[@]:1}"; do
	"$python" -m kmod.release.parts "build/parts-$kernel" "$kernel"
	"$python" -m kmod.release.kernel_wheel "build/parts-$kernel" "$out" "$SOURCE_DATE_EPOCH" >/dev/null
done
"$python" -m docs.sbom "$(git log -1 --format=%cI)" >"$out/longhaul-$version.cdx.json"

cd "$out"
sha256sum -- * >SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS
key=${LONGHAUL_SIGNING_KEY:-}
if [ -z "$key" ]; then
	echo "release: SHA256SUMS is not signed; set LONGHAUL_SIGNING_KEY to a file with an SSH key or to the name of a GnuPG key" >&2
elif [ -f "$key" ]; then
	ssh-keygen -q -Y sign -f "$key" -n longhaul-release SHA256SUMS
else
	gpg --batch --quiet --local-user "$key" --armor --detach-sign SHA256SUMS
fi
cd "$repository"
rm -rf dist
mv "$out" dist
ls -1 dist

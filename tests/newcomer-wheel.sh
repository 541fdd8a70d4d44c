#!/bin/bash
# A newcomer with a wheel: a bare Debian with nothing but Python, a user without sudo, compiler and network, a home with a space in its
# name, and a folder of wheels. Prints what each step took; fails if a run has another id or another trace than in the checkout.
#
#	newcomer-wheel.sh RELEASE	of dist/*.whl, which `make wheel` builds; as root
#
# The wheels of the dependencies are downloaded beforehand, by the Python of that Debian. Debian's python3-venv is not there, so pip is
# a wheel too.
set -euo pipefail

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
release=${1:?usage: newcomer-wheel.sh RELEASE} who=wheel
. "$repository/tests/bare-debian.sh"
case $release in bookworm | trixie | forky) ;; *) die "no such release: bookworm, trixie, forky" ;; esac
wheel=$(echo "$repository"/dist/longhaul-*-manylinux_*.whl)
[ -f "$wheel" ] || die "there is no wheel in dist/; run \`make wheel\`"
[ -x "$repository/.venv/bin/longhaul" ] || die "the checkout is not set up; run \`make setup\`"
start_newcomer "$release" wheel
make_debian python3,ca-certificates
made=$(now)

mkdir "$home/wheels"
cp "$wheel" "$home/wheels"
"$repository/.venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --dest "$home/wheels" pip
enter_debian -- '
	as_root bash -euc "cd $user_home/wheels && python3 \$(echo pip-*.whl)/pip download --quiet --dest . --only-binary :all: ./longhaul-*.whl"
' || die "pip could not download the dependencies; its messages are above"
chroot "$root" chown -R newcomer: /home/newcomer
downloaded=$(now)

cat >"$root/usr/local/bin/first-minute" <<'END_OF_SCRIPT'
#!/bin/bash
set -euo pipefail
for program in gcc cc make sudo; do ! command -v $program || { echo "$program is there" >&2; exit 1; }; done
! grep -q '^ *e' /proc/net/dev || { echo "there is a network" >&2; exit 1; }
mkdir "$HOME/my home"
wheels=$HOME/wheels HOME="$HOME/my home"
cd
touch ~/begins
python3 -m venv --without-pip lab
python3 "$(echo "$wheels"/pip-*.whl)/pip" --python lab/bin/python install --quiet --no-index --find-links "$wheels" longhaul
touch ~/installed
lab/bin/longhaul run demo | tee ~/output
touch ~/done
lab/bin/longhaul run demo --json >~/runs.json
lab/bin/longhaul kernel list
END_OF_SCRIPT
chmod 755 "$root/usr/local/bin/first-minute"
code=0
enter_debian --net -- 'as_newcomer /usr/local/bin/first-minute' || code=$?
[ $code = 0 ] || die "it ended with $code after $(step '' "$downloaded" "$(now)")"

own="$home/my home"
LONGHAUL_HOME=$place/checkout "$repository/.venv/bin/longhaul" run demo --json >"$place/runs.json"
runs() { python3 -c 'import json, sys; print(*((run["run"], run["trace_sha256"]) for run in json.load(open(sys.argv[1]))["runs"]))' "$1"; }
[ "$(runs "$own/runs.json")" = "$(runs "$place/runs.json")" ] ||
	die "its runs are $(runs "$own/runs.json"), the checkout's are $(runs "$place/runs.json")"

echo
echo "Debian $(cat "$root/etc/debian_version") ($release), $(chroot "$root" python3 --version), wheel; load $(cut -d' ' -f1-3 /proc/loadavg)"
echo "run id and trace hash are the checkout's: $(runs "$own/runs.json")"
step "a bare Debian, before the newcomer comes" "$begun" "$made"
step "downloading the wheels" "$made" "$downloaded"
step "pip install, from the folder of wheels" "$(left "$own/begins")" "$(left "$own/installed")"
step "longhaul run demo, the first time" "$(left "$own/installed")" "$(left "$own/done")"
step "from pip install to the first chart" "$(left "$own/begins")" "$(left "$own/done")"
space "the wheel of longhaul" "$(used "$home"/wheels/longhaul-*.whl)"
space "all wheels" "$(used "$home/wheels")"
space "the environment" "$(used "$own/lab")"
space "the cache: kernel, modules, agent" "$(used "$own/.cache/longhaul")"

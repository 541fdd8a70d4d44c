#!/bin/bash
# Runs a command in an environment for container tests that leaves nothing on this machine: its own mounts and network, images in a folder of the cache.
#
#	enter.sh COMMAND...
#
# It prepares machines that are containers or small virtual machines themselves for podman: cgroups of one version, and no limits
# above this shell's. Limits on cgroups are therefore not tested. $CONTAINERS_OUTSIDE is the network that builds use.
set -euo pipefail

[ "$(id -u)" = 0 ] || { echo "trying containers: it takes root, for mounts and a network of their own; run \`sudo make test-containers\`" >&2 && exit 3; }
cache=${LONGHAUL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/longhaul}
export CONTAINERS_STATE=$cache/containers
mkdir -p "$CONTAINERS_STATE/tmp"

files=$(ulimit -n) processes=$(ulimit -u)
[ "$files" != unlimited ] || files=1048576
[ "$processes" != unlimited ] && ((processes < 32768)) || processes=32768
export CONTAINERS_LIMITS="nofile=$files:$files nproc=$processes:$processes"
cat >"$CONTAINERS_STATE/containers.conf" <<EOF
[containers]
default_ulimits = ["${CONTAINERS_LIMITS/ /\", \"}"]
cgroups = "disabled"
[network]
network_backend = "netavark"
network_config_dir = "$CONTAINERS_STATE/networks"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
EOF
cat >"$CONTAINERS_STATE/storage.conf" <<EOF
[storage]
driver = "overlay"
graphroot = "$CONTAINERS_STATE/storage"
runroot = "$CONTAINERS_STATE/run"
EOF
export CONTAINERS_CONF=$CONTAINERS_STATE/containers.conf CONTAINERS_STORAGE_CONF=$CONTAINERS_STATE/storage.conf
export TMPDIR=$CONTAINERS_STATE/tmp CONTAINERS_OUTSIDE=/proc/$$/ns/net

# The kernel's overlay cannot be mounted on another overlay, as in the container of a CI job.
if [ "$(stat -f -c %T "$CONTAINERS_STATE")" = overlayfs ]; then
	printf '[storage.options.overlay]\nmount_program = "/usr/bin/fuse-overlayfs"\n' >>"$CONTAINERS_STATE/storage.conf"
fi

# One at a time: images and names of containers are shared.
exec 9>"$CONTAINERS_STATE/lock"
flock 9
unshare --mount --net --propagation private bash -c '
	if [ "$(stat -f -c %T /sys/fs/cgroup)" != cgroup2fs ]; then
		umount -R /sys/fs/cgroup
		mount -t cgroup2 cgroup2 /sys/fs/cgroup
	fi
	# The state that podman keeps of running containers is removed with them, as at a start of the machine.
	for folder in /run/libpod /run/containers /run/netns "$CONTAINERS_STATE/run"; do
		mkdir -p "$folder"
		mount -t tmpfs tmpfs "$folder"
	done
	ip link set lo up
	exec "$@"' enter "$@" 9>&-

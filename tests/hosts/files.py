"""The files a stand-in is started with: its disk, its setup script and its ssh configuration."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

KERNEL = "6.12-standin"
_DISK_BYTES = 2 * 10**9
_SYSTEMD = "systemd"
_ROUTER = "router"


def write_disk(file: Path) -> None:
    """An empty disk, sparse."""
    with file.open("wb") as disk:
        disk.truncate(_DISK_BYTES)
    subprocess.run(["/sbin/mke2fs", "-q", "-t", "ext4", "-F", file], check=True, capture_output=True)


def host_keys(tree: Path) -> str:
    """The host key that the sshd of every stand-in uses, in the format of known_hosts."""
    kind, key, *_ = (tree / "root/etc/ssh/ssh_host_ed25519_key.pub").read_text().split()
    return f"{kind} {key}"


def ssh_config(machines: Sequence[tuple[str, str]], key: Path, known_hosts: Path) -> str:
    lines = []
    for name, address in machines:
        lines += [f"Host {name}", f"  HostName {address}"]
    lines += [
        "Host *",
        "  User root",
        f"  IdentityFile {key}",
        "  IdentitiesOnly yes",
        f"  UserKnownHostsFile {known_hosts}",
        "  StrictHostKeyChecking yes",
        "  BatchMode yes",
        "  ConnectTimeout 20",
        "  ServerAliveInterval 10",
        "  ServerAliveCountMax 6",
        "  ControlMaster auto",
        f"  ControlPath {key.parent}/ssh-%C",
        "  ControlPersist 60",
    ]
    return "\n".join(lines) + "\n"


def setup_script(
    name: str, addresses: Sequence[str], *, gateway: str, key: str, release: str, headers: Path | None
) -> str:
    """The commands that init runs before the first program: name, keys, cards, modules; stand-ins that compile get `headers`."""
    router = name == _ROUTER
    lines = [
        f"first={'sshd' if router else _SYSTEMD}",
        f"hostname {name}; echo {name} >/etc/hostname; echo '127.0.0.1 localhost {name}' >/etc/hosts",
        f"echo {hashlib.sha256(name.encode()).hexdigest()[:32]} >/etc/machine-id",
        "for home in /root /home/engineer; do",
        "\tmkdir -p $home/.ssh; chmod 700 $home/.ssh",
        f"\techo '{key}' >$home/.ssh/authorized_keys; chown -R --reference=$home $home/.ssh",
        "done",
        "ip link set lo up",
    ]
    for i, address in enumerate(addresses):
        # With offloads on, the path's queues would count several packets as one.
        lines += [
            f"ip link set vec{i} up; ip address add {address} dev vec{i}",
            f"ethtool -K vec{i} tso off gso off gro off",
        ]
    if gateway:
        lines.append(f"ip route add 10.0.0.0/8 via {gateway}")
    if router:
        lines.append("echo 1 >/proc/sys/net/ipv4/ip_forward")
    modules = f"/lib/modules/{release}"
    lines += [
        f"mkdir -p {modules}/kernel; cp /mnt/launcher/modules/*.ko {modules}/kernel",
        f"touch {modules}/modules.order {modules}/modules.builtin {modules}/modules.builtin.modinfo",
        f"[ -e {modules}/modules.dep ] || depmod {release}",
    ]
    if headers is None:
        lines.append("rm -f /usr/sbin/dkms /usr/bin/gcc /usr/bin/gcc-1? /usr/bin/x86_64-linux-gnu-gcc*")
    else:
        lines += _headers(headers, release)
    return "\n".join(lines) + "\n"


def _headers(tree: Path, release: str) -> list[str]:
    """Commands that make a folder in /usr/src like that of a headers package, for this architecture."""
    source, below = f"/usr/src/linux-headers-{release}", "/usr/src/linux-standin"
    return [
        f"mkdir -p {source} {below}; mount -t hostfs -o ro,{tree} none {below}",
        f"for part in include scripts arch .config Module.symvers; do ln -sfn {below}/$part {source}/$part; done",
        f"printf 'modules clean:\\n\\t@$(MAKE) -C {below} ARCH=um $@\\n' >{source}/Makefile",
        f"ln -sfn {source} /lib/modules/{release}/build",
    ]

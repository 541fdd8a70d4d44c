"""Sources of congestion controls in the shape of the kernel's, under any name: for tests of user-supplied modules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_RENO = """\
// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>
#include <net/tcp.h>

static int keep __read_mostly = KEEP;
module_param(keep, int, 0644);
MODULE_PARM_DESC(keep, "window kept at a loss, in 1/1024");

static u32 own_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) * keep / 1024, 2U);
}

static struct tcp_congestion_ops own_ops __read_mostly = {
	.ssthresh = own_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.owner = THIS_MODULE,
	.name = "NAME",
};

static int __init own_register(void)
{
	return tcp_register_congestion_control(&own_ops);
}

static void __exit own_unregister(void)
{
	tcp_unregister_congestion_control(&own_ops);
}

module_init(own_register);
module_exit(own_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Reno of a test");
MORE"""


def reno_source(name: str = "reno", keep: int = 512, more: str = "") -> str:
    """Reno as the kernel has it, for a window of `keep` / 1024 after a loss; `more` are lines at its end."""
    return _RENO.replace("NAME", name).replace("KEEP", str(keep)).replace("MORE", more)


def experiment_with(modules: list[Any], *flows: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An experiment with user-supplied modules, and with no other module than those of its controls."""
    return {
        "experiment": "own",
        "emulation": "chain",
        "path": {"bandwidth": "1 Mbit/s", "rtt": "10 ms"},
        "modules": modules,
        "flows": list(flows),
        "duration": "1 s",
        **more,
    }


def reno_folder(folder: Path, name: str = "reno", keep: int = 512) -> Path:
    """A new folder with that source as tcp_<name>.c."""
    folder.mkdir()
    (folder / f"tcp_{name}.c").write_text(reno_source(name, keep))
    return folder

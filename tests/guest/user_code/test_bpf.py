"""BPF congestion controls in guests: an unedited program and a module with the same law have the same trace, to the byte.

The tests on stock kernels (tests/stock/) compile the same files for the kernel's BPF.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.modules.build import build_source
from longhaul.orchestrator.modules.content import adopt
from longhaul.orchestrator.system.settings import Settings
from tests.guest.windows import acks_of
from tests.support.folders import REPOSITORY
from tests.support.guests import Finished, Runner
from tests.support.tested_kernels import TESTED_KERNELS

KMOD = REPOSITORY / "kmod"
PROGRAMS = REPOSITORY / "tests" / "data" / "bpf"
SEEDS = 20

Several = Callable[..., list[Finished]]


@pytest.fixture(scope="module")
def apptcp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source of AppTCP's BPF object, as a user's module."""
    folder = tmp_path_factory.mktemp("apptcp")
    (folder / "bpf").mkdir()
    for name in ("apptcp.bpf.c", "kernel_words.h"):
        shutil.copy(KMOD / "bpf" / name, folder / "bpf")
    shutil.copy(KMOD / "tcp_apptcp.c", folder)
    return folder


def lossy(finish_all: Several, module: Path | None, control: str, **more: Any) -> list[Finished]:
    """A flow over a path with loss, with as many seeds as repeats."""
    flow = {"name": "one", "cc": control, **more.pop("flow", {})}
    path = {"bandwidth": "20 Mbit/s", "rtt": "40 ms", "loss": "0.5 %"}
    modules = [] if module is None else [str(module)]
    return finish_all(
        **{"modules": modules, "flows": [flow], "path": path, "duration": "3 s", "repeats": SEEDS, **more}
    )


@pytest.mark.parametrize("program", ["window", "pacing", "rounds"])
def test_a_program_and_its_module_have_the_same_trace(finish_all: Several, program: str) -> None:
    bpf = lossy(finish_all, PROGRAMS / program, f"bpf_{program}")
    module = lossy(finish_all, PROGRAMS / program, program)
    traces = [done.document["trace_sha256"] for done in bpf]
    assert traces == [done.document["trace_sha256"] for done in module]
    # It is the loss that makes them differ.
    assert len(set(traces)) == SEEDS
    assert all(acks_of(done.trace)["retrans"].max() > 0 for done in bpf[:3])
    variants = {done.document["flows"][0]["variant"] for done in bpf}
    assert variants == {f"bpf_{program} (native build of a BPF program)"}


def test_the_bpf_object_of_apptcp_is_the_module_of_apptcp(finish_all: Several, apptcp: Path) -> None:
    required = {"flow": {"params": {"rate": "12 Mbit/s"}}}
    bpf = lossy(finish_all, apptcp, "bpf_apptcp", **required)
    module = lossy(finish_all, None, "apptcp", **required)
    acks = [acks_of(done.trace).tobytes() for done in bpf]
    assert acks == [acks_of(done.trace).tobytes() for done in module]
    assert len(set(acks)) == SEEDS


@pytest.mark.parametrize("kernel", TESTED_KERNELS)
def test_they_build_for_every_kernel(settings: Settings, apptcp: Path, kernel: str) -> None:
    expected = {
        PROGRAMS / "window": {"bpf_window", "window"},
        PROGRAMS / "pacing": {"bpf_pacing", "bpf_fallback", "pacing"},
        PROGRAMS / "rounds": {"bpf_rounds", "rounds"},
        apptcp: {"bpf_apptcp"},
    }
    for folder, controls in expected.items():
        (source,) = adopt([folder], settings.cache)
        build = build_source(settings, kernel, source)
        assert not [module.problem for module in build.modules if module.error]
        assert {name for module in build.modules for name in module.controls} == controls


def test_a_constant_is_a_parameter(finish: Runner) -> None:
    changes: dict[str, Any] = {"modules": [str(PROGRAMS / "window")], "path": {"loss": "1 %"}, "duration": "3 s"}
    usual = finish(**changes, flows=[{"name": "one", "cc": "bpf_window"}])
    gentle = finish(**changes, flows=[{"name": "one", "cc": "bpf_window", "params": {"beta": 1000}}])
    assert acks_of(gentle.trace)["cwnd"].mean() > 1.1 * acks_of(usual.trace)["cwnd"].mean()


def test_a_program_may_choose_another_control(finish_all: Several) -> None:
    """As bpf_dctcp does where a connection has no ECN; a run is kept only with the control that it names."""
    with pytest.raises(AssertionError, match="congestion control bpf_fallback was asked for, reno is in use"):
        finish_all(modules=[str(PROGRAMS / "pacing")], flows=[{"name": "one", "cc": "bpf_fallback"}], duration="1 s")


REFUSED = {
    "bpf_timer_start(0, 0, 0);": r"it calls the BPF helper bpf_timer_start\(\), which a native build does not have: timers",
    "bpf_no_such_helper();": r"it calls bpf_no_such_helper\(\), which a native build of a BPF program does not have",
    "bpf_setsockopt(sk, SOL_TCP, TCP_MAXSEG, &one, 4);": "it sets or reads a socket option that a native build",
    "((struct tcp_sock *)sk)->no_such = 1;": r"it uses the field no_such of struct tcp_sock, which Linux 6\.12 does not have",
    "cubictcp_init(sk);": r"it calls cubictcp_init\(\), which none of its files has, and Linux 6\.12 does not offer to modules",
    "struct big *big = inet_csk_ca(sk); big->bytes[0] = 1;": "private area is larger than the 104 bytes",
}


@pytest.mark.default_kernel
@pytest.mark.parametrize("code", REFUSED)
def test_the_error_names_what_a_native_build_lacks(settings: Settings, tmp_path: Path, code: str) -> None:
    text = (PROGRAMS / "window" / "window.bpf.c").read_text()
    more = 'extern void cubictcp_init(struct sock *sk) __ksym;\nstruct big { __u8 bytes[200]; };\n\nSEC("struct_ops")'
    text = text.replace('SEC("struct_ops")', more, 1).replace(
        "\tflows++;", f"\tint one = 1;\n\n\t(void)one;\n\t{code}\n\tflows++;"
    )
    folder = tmp_path / "window"
    folder.mkdir()
    (folder / "window.bpf.c").write_text(text)
    (source,) = adopt([folder], settings.cache)
    (module,) = build_source(settings, "6.12", source).modules
    assert re.search(REFUSED[code], module.problem)
    assert module.needs_room == ("struct big" in code)


def test_declarations_and_words_of_the_program_win(finish: Runner, tmp_path: Path) -> None:
    """Functions of the kernel with other types, macros and functions with the kernel's names, and a layout that libbpf would relocate."""
    folder = tmp_path / "window"
    folder.mkdir()
    text = (PROGRAMS / "window" / "window.bpf.c").read_text()
    more = """
extern __u64 tcp_reno_ssthresh(const struct sock *sk) __ksym;
struct tcp_sock {
	__u32 snd_cwnd;
	__u32 mss_cache;
} __attribute__((preserve_access_index));
enum { TCP_ECN_OK = 9, TCPF_CLOSE = 3 };
struct minmax_sample { int mine; };
static int container_of(int x) { return x + TCP_ECN_OK; }
static int tcp_left_out(struct tcp_sock *tp) { return tp->snd_cwnd + TCPF_CLOSE; }

static struct window *window_of"""
    text = text.replace("\nstatic struct window *window_of", more, 1)
    use = "\tstruct minmax_sample m = { .mine = container_of(1) + tcp_left_out((struct tcp_sock *)sk) };\n"
    text = text.replace("\tflows++;", f"{use}\n\tflows += m.mine + tcp_reno_ssthresh(sk);")
    (folder / "window.bpf.c").write_text(text)
    flows = [{"name": "one", "cc": "bpf_window"}]
    changed = finish(modules=[str(folder)], flows=flows, path={"loss": "1 %"}, duration="2 s")
    plain = finish(modules=[str(PROGRAMS / "window")], flows=flows, path={"loss": "1 %"}, duration="2 s")
    assert acks_of(changed.trace).tobytes() == acks_of(plain.trace).tobytes()

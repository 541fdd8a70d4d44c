"""Congestion controls that replace the kernel's or the project's, or compete with them under another name."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longhaul.orchestrator.kernels.build import build_folder
from longhaul.orchestrator.system.errors import SpecError
from longhaul.orchestrator.system.settings import Settings
from tests.support.command import longhaul
from tests.support.folders import REPOSITORY
from tests.support.guests import Finished, Runner, experiment
from tests.support.own_controls import reno_folder, reno_source

KMOD = REPOSITORY / "kmod"
# Debian's package linux-source-6.12, which the guest kernel is built from.
KERNEL_SOURCE = Path("/usr/src/linux-source-6.12.tar.xz")
LOSSY: dict[str, Any] = {"path": {"bandwidth": "20 Mbit/s", "loss": 0.002}, "duration": "3 s"}
# Drawn at the start of each kernel, and in other order if another module is loaded.
DRAWN = ("seq", "source_port")


def flows(*controls: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": f"flow-{place}", "cc": cc, **more} for place, cc in enumerate(controls)]


def numbers(done: Finished) -> dict[str, Any]:
    """All measures, without what names the source."""
    document = {name: done.document[name] for name in ("flows", "path", "links", "jain", "goodput_total")}
    return document | {"flows": [{**flow, "variant": flow["cc"]} for flow in document["flows"]]}


def same_trace(one: Finished, other: Finished) -> bool:
    """Whether each record is the same, besides what each kernel draws for itself."""
    for kind, records in one.trace.kinds().items():
        others = other.trace.kinds()[kind]
        fields = [name for name in records.dtype.names if name not in DRAWN]
        if len(records) != len(others) or any(not np.array_equal(records[name], others[name]) for name in fields):
            return False
    return True


def test_an_unmodified_copy_gives_every_byte_of_the_trace(finish: Runner, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    shutil.copy(KMOD / "tcp_compound.c", folder)
    for header in KMOD.glob("*.h"):
        shutil.copy(header, folder)
    original = finish(**LOSSY, flows=flows("compound", "compound"))
    replaced = finish(**LOSSY, flows=flows("compound", "compound"), modules=[str(folder)])
    assert original.document["trace_sha256"] == replaced.document["trace_sha256"]
    assert numbers(original) == numbers(replaced)
    assert original.document["run"] != replaced.document["run"]


def test_one_that_replaces_a_control_inside_the_kernel_gives_the_same_numbers(finish: Runner, tmp_path: Path) -> None:
    original = finish(**LOSSY, flows=flows("reno", "newreno"))
    replaced = finish(**LOSSY, flows=flows("reno", "newreno"), modules=[str(reno_folder(tmp_path / "mine"))])
    assert numbers(original) == numbers(replaced)
    assert same_trace(original, replaced)
    assert [fact["cc"] for fact in original.facts["flows"]] == ["reno", "reno"]
    assert [fact["cc"] for fact in replaced.facts["flows"]] == ["own-reno", "own-reno"]
    module, _ = replaced.run.modules
    assert [flow["variant"] for flow in replaced.document["flows"]] == [f"reno (user-supplied {module.source[:8]})"] * 2


def test_the_kernels_own_sources_are_replaced_by_themselves(finish: Runner, tmp_path: Path) -> None:
    """cubic is inside the guest's kernel, yeah needs vegas, which exports functions."""
    wanted = {f"{KERNEL_SOURCE.name.removesuffix('.tar.xz')}/net/ipv4/tcp_{name}" for name in ("cubic.c", "vegas.c", "vegas.h", "yeah.c")}  # fmt: skip
    with tarfile.open(KERNEL_SOURCE) as archive:
        for member in archive:
            if member.name in wanted and (content := archive.extractfile(member)):
                wanted.remove(member.name)
                (tmp_path / Path(member.name).name).write_bytes(content.read())
            if not wanted:
                break
    used = flows("cubic", "vegas", "yeah")
    original, replaced = finish(**LOSSY, flows=used), finish(**LOSSY, flows=used, modules=[str(tmp_path)])
    assert {module.name for module in replaced.run.modules} == {"own_cubic", "own_vegas", "own_yeah", "sch_lh_link"}
    assert numbers(original) == numbers(replaced)
    assert same_trace(original, replaced)

    source = tmp_path / "tcp_cubic.c"
    changed = source.read_text().replace("beta __read_mostly = 717;", "beta __read_mostly = 900;")
    assert changed != source.read_text()
    source.write_text(changed)
    assert numbers(finish(**LOSSY, flows=used, modules=[str(tmp_path)])) != numbers(original)


def test_a_changed_constant_changes_the_result(finish: Runner, tmp_path: Path) -> None:
    used = flows("reno")
    same = finish(**LOSSY, flows=used, modules=[str(reno_folder(tmp_path / "same"))])
    less = finish(**LOSSY, flows=used, modules=[str(reno_folder(tmp_path / "less", keep=900))])
    assert less.document["flows"][0]["goodput_bps"] > same.document["flows"][0]["goodput_bps"]
    by_parameter = finish(
        **LOSSY, flows=flows("reno", params={"keep": 900}), modules=[str(reno_folder(tmp_path / "set"))]
    )
    assert numbers(by_parameter) == numbers(less)


def test_both_compete_under_two_names(finish: Runner, tmp_path: Path) -> None:
    folder = reno_folder(tmp_path / "mine", keep=900)
    names = ("reno", "fifteen_letters")
    done = finish(**LOSSY, flows=flows(*names), modules=[{"from": str(folder), "as": names[1]}])
    assert tuple(fact["cc"] for fact in done.facts["flows"]) == names
    alone = finish(**LOSSY, flows=flows("reno", "reno"), modules=[str(folder)])
    assert done.document["flows"][0]["goodput_bps"] < done.document["flows"][1]["goodput_bps"]
    assert numbers(alone) != numbers(done)


def test_every_place_of_an_experiment_uses_the_replacement(finish: Runner, tmp_path: Path, settings: Settings) -> None:
    """Aliases, presets, web flows, switches and parameters in a schedule; and a rerun without the folder."""
    reno, cubic = reno_folder(tmp_path / "reno"), reno_folder(tmp_path / "cubic", "cubic")
    done = finish(
        **LOSSY,
        modules=[str(reno), str(cubic)],
        cc_era="2.6",
        flows=[
            {"name": "alias", "cc": "newreno"},
            {"name": "preset", "preset": "unpa/cubic", "window": None},
            {"name": "web", "web": {"mean": "20 KB", "shape": 1.5, "think": "100 ms"}},
            {"name": "switched", "cc": "htcp"},
        ],
        schedule=[
            {"at": "1 s", "flows": {"switched": {"cc": "cubic"}}},
            {"at": "2 s", "flows": {"alias": {"params": {"keep": 700}}}},
        ],
    )
    assert done.document["status"] == "done"
    assert [fact["cc"] for fact in done.facts["flows"]] == ["own-reno", "own-cubic", "own-cubic", "own-cubic"]
    shutil.rmtree(reno)
    shutil.rmtree(cubic)
    for option in ([], ["--original"]):
        again = longhaul("rerun", done.document["run"], *option, home=settings.home)
        assert "identical" in again.stdout, again.stderr


def test_dctcp_without_ecn_is_the_reno_in_its_source(finish: Runner, tmp_path: Path) -> None:
    """A connection whose first SYN is lost has no ECN: the kernel's dctcp then runs a second structure, and so may a user's."""
    source = reno_source("dctcp").replace(
        "static int __init",
        'static struct tcp_congestion_ops own_reno __read_mostly = {\n\t.ssthresh = tcp_reno_ssthresh,\n\t.cong_avoid = tcp_reno_cong_avoid,\n'
        '\t.undo_cwnd = tcp_reno_undo_cwnd,\n\t.owner = THIS_MODULE,\n\t.name = "dctcp-reno",\n};\n\n'
        "static void own_init(struct sock *sk)\n{\n\tif (!(tcp_sk(sk)->ecn_flags & TCP_ECN_OK))\n\t\tinet_csk(sk)->icsk_ca_ops = &own_reno;\n}\n\n"
        "static int __init",
        1,
    )  # fmt: skip
    source = source.replace("\t.owner", "\t.flags = TCP_CONG_NEEDS_ECN,\n\t.init = own_init,\n\t.owner", 1)
    source = source.replace("static struct", "static void own_init(struct sock *sk);\nstatic struct", 1)
    (tmp_path / "tcp_dctcp.c").write_text(source)
    done = finish(
        path={"bandwidth": "20 Mbit/s", "ecn": "on", "queue": "codel", "loss": "100 %"},
        schedule=[{"at": "500 ms", "path": {"loss": 0}}],
        flows=flows("dctcp"),
        duration="4 s",
        modules=[str(tmp_path)],
    )
    assert done.document["status"] == "done"
    assert done.facts["flows"][0]["cc"] == "dctcp-reno"


def test_iperf3_and_both_ends_use_it(finish: Runner, tmp_path: Path) -> None:
    folder = reno_folder(tmp_path / "mine", "cubic")
    done = finish(**LOSSY, flows=flows("cubic", tool="iperf3"), modules=[str(folder)])
    assert done.document["status"] == "done"
    assert done.facts["flows"][0]["iperf3"]["sender_cc"] == "own-cubic"


def test_a_built_object_replaces_too(finish: Runner, tmp_path: Path) -> None:
    folder = reno_folder(tmp_path / "mine", keep=900)
    built = Path(build_folder("6.12", str(folder)))
    from_source = finish(**LOSSY, flows=flows("reno"), modules=[str(folder)])
    from_object = finish(**LOSSY, flows=flows("reno"), modules=[str(built / "tcp_reno.ko")])
    assert numbers(from_source) == numbers(from_object)
    both = [{"from": str(built / "tcp_reno.ko"), "as": "mine"}]
    done = finish(**LOSSY, flows=flows("mine"), modules=both)
    assert done.facts["flows"][0]["cc"] == "mine"


def test_a_source_whose_control_has_no_name_is_refused_before_its_run(tmp_path: Path) -> None:
    folder = reno_folder(tmp_path / "mine")
    source = folder / "tcp_reno.c"
    source.write_text(source.read_text().replace('.name = "reno",', ""))
    with pytest.raises(SpecError, match=r"a control with a name; the objects of this source \(tcp_reno\) have none"):
        experiment(modules=[str(folder)], flows=flows("reno"))
    done = longhaul("modules", "build", str(folder), home=tmp_path)
    assert done.returncode == 2
    assert "a control with a name" in " ".join(done.stderr.split())


def test_a_source_that_registers_another_name_is_another_control(finish: Runner, tmp_path: Path) -> None:
    folder = reno_folder(tmp_path / "mine")
    source = folder / "tcp_reno.c"
    source.write_text(source.read_text().replace('.name = "reno"', '.name = "other"'))
    done = finish(**LOSSY, flows=[*flows("other"), {"name": "kernels", "cc": "reno"}], modules=[str(folder)])
    assert [flow["cc"] for flow in done.facts["flows"]] == ["other", "reno"]


def test_a_crash_names_the_file_of_a_replacement(tmp_path: Path) -> None:
    folder = reno_folder(tmp_path / "mine")
    source = folder / "tcp_reno.c"
    source.write_text(source.read_text().replace("\treturn max(", "\t*(volatile int *)0 = 1;\n\treturn max("))
    line = source.read_text().split("*(volatile")[0].count("\n") + 1
    file = tmp_path / "experiment.yaml"
    file.write_text(
        "experiment: mine\npath: {bandwidth: 10 Mbit/s, rtt: 40 ms, loss: 5 %}\nmodules: [./mine]\n"
        "flows: [{name: one, cc: reno}]\nduration: 2 s\n"
    )
    done = longhaul("run", str(file), home=tmp_path)
    assert done.returncode == 4
    assert f"in own_ssthresh of tcp_reno.c:{line}; " in " ".join((done.stdout + done.stderr).split())


def test_it_runs_in_mininets_guest(tmp_path: Path) -> None:
    reno_folder(tmp_path / "mine")
    file = tmp_path / "experiment.yaml"
    file.write_text(
        "experiment: mine\npath: {bandwidth: 10 Mbit/s, rtt: 40 ms}\nmodules: [./mine]\n"
        "flows: [{name: one, cc: reno}]\nduration: 2 s\n"
    )
    done = longhaul("run", str(file), "--backend", "mininet", "--in", "guest", "--json", home=tmp_path)
    assert done.returncode == 0, done.stderr
    (document,) = json.loads(done.stdout)["runs"]
    checks = {check["text"] for check in document["fidelity"]["checks"]}
    assert "one: asked own-reno (the user-supplied reno), found own-reno" in checks

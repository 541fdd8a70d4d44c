"""Facts that are stated in two parts of the project agree."""

from __future__ import annotations

import ast
import re
import struct
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from longhaul.cli.machine.system_packages import ALWAYS, NEEDS
from longhaul.orchestrator.analysis.aggregate import AGGREGATES
from longhaul.orchestrator.backends import backend_class, shared_wires
from longhaul.orchestrator.database.connection import Database
from longhaul.orchestrator.database.statuses import HEAD
from longhaul.orchestrator.database.tables import METADATA
from longhaul.orchestrator.execution.catalogues import CATALOGUES
from longhaul.orchestrator.execution.formulas import FORMULAS
from longhaul.orchestrator.kernels.build import known_kernels
from longhaul.orchestrator.kernels.release_lock import fragments_for, patches_for
from longhaul.orchestrator.plan import wifi_airtime, wifi_airtime_ht
from longhaul.orchestrator.plan.captures import _LEAST_EPOCH_S, _MOST_DEVICES, _WIRES_A_SECOND, CAPTURE_FILES
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.qdiscs import marks
from longhaul.orchestrator.plan.queues import followed, policers
from longhaul.orchestrator.plan.target import BACKENDS
from longhaul.orchestrator.spec import rules
from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS
from longhaul.orchestrator.spec.kernel_versions import DEBUG_KERNELS, FURTHER_KERNELS, KERNELS, ORDINARY_KERNELS
from longhaul.orchestrator.spec.load import load_experiment, shipped_experiments
from longhaul.orchestrator.spec.model import AGGREGATES as WRITTEN_AGGREGATES
from longhaul.orchestrator.spec.sections.path_model import QUEUES
from longhaul.orchestrator.system.installation import AGENT
from longhaul.orchestrator.system.settings import load_settings
from longhaul.orchestrator.trace import captures
from longhaul.orchestrator.trace.records import HEADER_BYTES, TRACE_KINDS, trace_header
from tests.support.programs import run_program

REPOSITORY = Path(__file__).resolve().parents[2]
KMOD = REPOSITORY / "kmod"

# The structures of kmod/lh_trace.h.
STRUCTS = {
    "ack": "lh_ack",
    "flow": "lh_flow",
    "link": "lh_link",
    "drop": "lh_drop_record",
    "event": "lh_event",
    "state": "lh_state",
    "departure": "lh_departure",
}

PT_INTERP = 3


def test_the_probes_records_are_the_readers(tmp_path: Path) -> None:
    """The reader's table must have the compiler's offset of each field of kmod/lh_trace.h."""
    source = tmp_path / "layout.c"
    source.write_text(
        '#include <stdio.h>\n#include <stddef.h>\n#include "lh_trace.h"\n'
        '#define PRINT_FIELD(type, numpy, name) printf("%s " numpy " %zu\\n", #name, offsetof(struct KIND, name));\n'
        "int main(void)\n{\n"
        + "".join(
            f'#define KIND {struct}\nputs("== {kind}");\nLH_COMMON(PRINT_FIELD)\nLH_{kind.upper()}_FIELDS(PRINT_FIELD)\n#undef KIND\n'
            for kind, struct in STRUCTS.items()
        )
        + "return 0;\n}\n"
    )
    subprocess.run(["gcc", "-I", str(KMOD), "-o", str(tmp_path / "layout"), str(source)], check=True)
    output = run_program([tmp_path / "layout"], check=True).stdout
    for part in output.split("== ")[1:]:
        kind, *lines = part.splitlines()
        dtype = TRACE_KINDS[kind]
        assert dtype.fields is not None
        known = [f"{name} {dtype[name].str[1:]} {dtype.fields[name][1]}" for name in dtype.names or ()]
        # One byte has no byte order, so numpy writes its type differently.
        assert lines == [line.replace("|u1", "u1") for line in known], kind


def test_the_memory_between_guests_is_the_modules(tmp_path: Path) -> None:
    found = (
        (shared_wires._HEADER_BYTES, "LH_WIRE_HEADER_BYTES"),
        (shared_wires._CURSORS_BYTES, "LH_WIRE_CURSORS_BYTES"),
        (shared_wires._CHUNK_BYTES, "LH_WIRE_CHUNK_BYTES"),
        (shared_wires._LANE_BYTES, "sizeof(struct lh_wire_lane)"),
        (shared_wires._CURSOR_BYTES, "sizeof(struct lh_wire_cursor)"),
        (shared_wires._EPOCH_AT, "offsetof(struct lh_wire_lane, hello.epoch_ns)"),
        (shared_wires._PUBLISHED_AT, "offsetof(struct lh_wire_lane, published_ns)"),
        (shared_wires._TAIL_AT, "offsetof(struct lh_wire_cursor, tail)"),
        (shared_wires._PLACE_AT, "offsetof(struct lh_wire_cursor, tail_at)"),
    )
    checks = "".join(f'_Static_assert({text} == {value}, "{text}");\n' for value, text in found)
    source = tmp_path / "layout.c"
    source.write_text(f'#include <stddef.h>\n#include "lh_wire.h"\n{checks}')
    subprocess.run(["gcc", "-I", str(KMOD), "-c", "-o", str(tmp_path / "layout.o"), str(source)], check=True)


def test_the_capture_is_read_as_it_is_written(tmp_path: Path) -> None:
    assert captures.EVENT.fields is not None
    found = [
        (captures.EVENT.itemsize, "sizeof(struct lh_capture_event)"),
        *((its[1], f"offsetof(struct lh_capture_event, {name})") for name, its in captures.EVENT.fields.items()),
        (captures._HEADER.size, "sizeof(struct lh_packet_block)"),
        (captures._PACKET, "LH_PACKET_BLOCK"),
        (captures.DROPPED, "LH_CAPTURE_DROP"),
        (captures.MARKED, "LH_CAPTURE_MARK"),
        (f"{captures.NO_BLOCK}ull", "LH_NO_BLOCK"),
        (_MOST_DEVICES, "LH_CAPTURE_DEVICES"),
    ]
    checks = "".join(f'_Static_assert({text} == {value}, "{text}");\n' for value, text in found)
    source = tmp_path / "layout.c"
    source.write_text(f'#include <stddef.h>\n#include "lh_capture.h"\n{checks}')
    subprocess.run(["gcc", "-I", str(KMOD), "-c", "-o", str(tmp_path / "layout.o"), str(source)], check=True)
    epoch = (REPOSITORY / "orchestrator" / "agent" / "run" / "run.c").read_text()
    assert f"#define WIRES_A_SECOND {_WIRES_A_SECOND}\n" in epoch
    assert f"({_LEAST_EPOCH_S} + plan->wire_count / WIRES_A_SECOND) * NS_PER_S" in epoch
    files = re.findall(r'\.path = "guest/(.*?)"', (KMOD / "lh_capture.c").read_text())
    assert files == [*CAPTURE_FILES]


def test_a_recorded_header_is_the_readers() -> None:
    recording = REPOSITORY / "tests" / "data" / "runs" / "lossy_pair" / "trace.bin"
    assert recording.read_bytes()[:HEADER_BYTES] == trace_header()


def test_the_run_directory_is_documented_field_by_field() -> None:
    text = (REPOSITORY / "docs" / "run-directory.md").read_text()
    for kind, dtype in TRACE_KINDS.items():
        missing = [name for name in dtype.names or () if name not in text]
        assert not missing, kind


@pytest.mark.parametrize(("phy", "arithmetic"), [("dsss", wifi_airtime), ("ofdm", wifi_airtime_ht)])
def test_the_channels_constants_are_the_modules(phy: str, arithmetic: ModuleType) -> None:
    text = (KMOD / "dcf_air.h").read_text() + (KMOD / "dcf_medium.h").read_text()
    written = {
        re.sub("_NS$", "_US", name): int(number)
        for name, number in re.findall(r"^#define (\w+) (?:\(\(u64\))?(\d+)", text, re.MULTILINE)
    }
    of_phy = re.search(rf"struct phy {phy} = \{{(.*?)\}};", text, re.DOTALL)
    assert of_phy is not None
    for name, number in re.findall(r"\.(\w+) = (\d+)", of_phy[1]):
        written[name.upper().replace("_NS", "_US")] = int(number)
    known = {
        name: value
        for name, value in vars(arithmetic).items()
        if name.isupper() and name[0] != "_" and isinstance(value, int)
    }
    shared = {name: value for name, value in known.items() if name in written}
    assert shared == {name: written[name] for name in shared}
    # What the module does not know is the plan's choice.
    chosen = {"OVERHEAD_BYTES", "HT_OVERHEAD_BYTES", "LARGEST_PACKET_BYTES", "CONTROL_RATE_BPS", "SYMBOL_US"}
    assert known.keys() - written.keys() <= chosen


def test_the_modules_default_overhead_is_the_plans() -> None:
    default = re.search(r"#define OVERHEAD_BYTES (\d+)", (KMOD / "sch_lh_dcf.c").read_text())
    assert default is not None
    assert int(default[1]) == wifi_airtime.OVERHEAD_BYTES


@pytest.mark.parametrize("kind", ["dcf", "link"])
def test_the_statistics_of_a_queue_are_documented(kind: str) -> None:
    counts = re.search(rf"struct lh_{kind}_xstats \{{(.*?)\n}};", (KMOD / f"lh_{kind}.h").read_text(), re.DOTALL)
    assert counts is not None
    counted = re.findall(r"^\t__u64 (\w+);", counts[1], re.MULTILINE)
    text = (REPOSITORY / "docs" / "run-directory.md").read_text()
    (listed,) = re.findall(rf'`"{kind}": \{{(.*?)\}}`', text, re.DOTALL)
    assert re.findall(r'"(\w+)"', listed) == counted


def test_formulas_are_all_that_judging_calls() -> None:
    """A change in an unlisted module could change the numbers of kept runs without measuring them again."""
    analysis = "longhaul.orchestrator.analysis"
    called, found = [f"{analysis}.expect", f"{analysis}.fidelity.checks", f"{analysis}.measures"], set()
    while called:
        found.add(name := called.pop())
        tree = ast.parse((REPOSITORY / name.replace(".", "/")).with_suffix(".py").read_text())
        imported = [
            one
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module
            for one in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        ]
        called += [
            one
            for one in imported
            if one.startswith((analysis, "longhaul.orchestrator.plan.wifi_airtime"))
            and (REPOSITORY / one.replace(".", "/")).with_suffix(".py").is_file()
            and one not in found
        ]
    assert {f"longhaul.orchestrator.{name}" for name in FORMULAS} == found


def test_the_probe_follows_all_flows_and_links_of_a_plan() -> None:
    most = dict(re.findall(r"^#define LH_MAX_(\w+) (\d+)", (KMOD / "lh_trace.c").read_text(), re.MULTILINE))
    assert int(most["FLOWS"]) == rules.MOST_FLOWS
    assert int(most["LINKS"]) == followed.MOST_FOLLOWED == policers.MOST_POLICERS


def test_aggregates_are_the_same_everywhere() -> None:
    assert set(WRITTEN_AGGREGATES) == set(AGGREGATES)


def test_kernels_are_the_same_everywhere() -> None:
    assert list(KERNELS) == known_kernels()
    rows = [row.split() for row in (KMOD / "sandbox" / "kernel.lock").read_text().splitlines() if row[:1].isdigit()]
    assert {row[0] for row in rows if len(row) == 4} == set(DEBUG_KERNELS), "the fourth column is the debug fragment"


def test_make_kernels_makes_every_kernel_that_is_for_numbers() -> None:
    made = re.search(r"^KERNELS := (.*)$", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    assert made is not None
    assert tuple(made[1].split()) == ORDINARY_KERNELS
    further = re.search(r"^FURTHER_KERNELS := (.*)$", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    assert further is not None
    assert tuple(further[1].split()) == FURTHER_KERNELS


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernels_patches_and_fragments_are_chosen_alike_in_both_languages(kernel: str) -> None:
    script = KMOD / "sandbox" / "build.sh"
    chosen = run_program([script, "--patches", kernel], check=True).stdout
    release = kernel.partition("-")[0]
    patches = [f"{file.name} {purpose}" for file, purpose in patches_for(release)]
    assert chosen.splitlines() == [*(file.name for file in fragments_for(release)), *patches]
    assert patches_for(f"{release}.57-rc1") == patches_for(release)


def test_a_patch_names_its_purpose_and_releases_first_and_then_its_reason() -> None:
    for file in (KMOD / "sandbox" / "patches").iterdir():
        purpose, releases, empty, reason, *_ = file.read_text().splitlines()
        assert re.fullmatch(r"Purpose: (truth|speed|parts)", purpose), file.name
        assert re.fullmatch(r"Kernels: (from [\d.]+|[\d.]+ to [\d.]+)", releases), file.name
        assert (empty, bool(reason)) == ("", True), file.name


def test_no_release_gets_two_patches_of_the_same_number() -> None:
    for release in ("5.10", "5.15", "6.1", "6.6", "6.12", "6.18", "7.2", "7.3"):
        numbers = [file.name[:4] for file, _ in patches_for(release)]
        assert len(set(numbers)) == len(numbers), release


def test_the_sources_that_are_not_debian_12s_are_pinned() -> None:
    rows = [row.split() for row in (KMOD / "sandbox" / "kernel.lock").read_text().splitlines() if row[:1].isdigit()]
    pins = [row.split() for row in (KMOD / "sandbox" / "sources.lock").read_text().splitlines() if row[:1] == "l"]
    assert {pin[0] for pin in pins} == {row[1] for row in rows if row[0] in FURTHER_KERNELS}
    for _, upstream, version, sha256, sha1, *suites in pins:
        assert version.startswith(f"{upstream}-")
        assert re.fullmatch(r"[0-9a-f]{64} [0-9a-f]{40}", f"{sha256} {sha1}")
        assert suites


@pytest.mark.parametrize("kernel", ORDINARY_KERNELS)
def test_every_congestion_control_has_a_module_in_every_kernel(kernel: str) -> None:
    cache = load_settings().cache
    built = {file.stem for file in (cache / "kernels" / f"current-{kernel}" / "modules").glob("*.ko")}
    built |= {file.stem for file in (cache / "modules" / f"current-{kernel}").glob("*.ko")}
    assert built, f"no kernel {kernel}: run `make kernels`"
    wanted = {control.module for control in CONGESTION_CONTROLS.values() if not control.builtin}
    assert wanted - built == set()


@pytest.mark.parametrize("name", shipped_experiments())
def test_every_shipped_experiment_compiles(name: str) -> None:
    plan = compile_plan(load_experiment(name))
    assert plan.runs
    assert plan.experiment.about, "it describes what it shows"


def test_the_newest_migration_is_the_catalogues() -> None:
    versions = REPOSITORY / "orchestrator" / "database" / "migrations" / "versions"
    assert max(file.stem.partition("_")[0] for file in versions.glob("[0-9]*.py")) == HEAD


def test_the_migrations_make_the_tables_that_the_queries_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlalchemy

    with Database(f"sqlite:///{tmp_path / 'catalogue.sqlite'}").read():
        pass
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'catalogue.sqlite'}")
    found = sqlalchemy.inspect(engine)
    for table in METADATA.tables.values():
        assert {column["name"] for column in found.get_columns(table.name)} == set(table.columns.keys())
        assert {index["name"] for index in found.get_indexes(table.name)} >= {index.name for index in table.indexes}
    engine.dispose()


def test_every_queue_that_an_experiment_may_name_can_be_made() -> None:
    assert {name for name in QUEUES if marks(name)} == {*QUEUES} - {"droptail"}


def test_every_catalogue_has_rows_of_one_shape() -> None:
    for noun, rows in CATALOGUES.items():
        shapes = {tuple(row) for row in rows()}
        assert len(shapes) == 1, noun


def test_every_backend_is_named_by_its_class() -> None:
    assert all(backend_class(name).name == name for name in BACKENDS)


def test_the_agent_is_static_and_bears_the_projects_version() -> None:
    assert PT_INTERP not in _segments(AGENT.read_bytes()), "the guest has no dynamic linker"
    version = re.search(r'AGENT_VERSION "([^"]+)"', (AGENT.parent.parent / "system/version.h").read_text())
    declared = re.search(r'^version = "([^"]+)"', (REPOSITORY / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    assert declared is not None
    assert version[1] == declared[1]


def test_setup_and_doctor_have_the_same_table() -> None:
    text = (REPOSITORY / "setup.sh").read_text()
    head, _, rest = text.partition("needs=(")[2].partition("\n)\n")
    pairs = {tuple(need.strip("'").rsplit(":", 1)) for need in head.split()}
    # A user who can run the doctor has Python.
    assert pairs == {("python3", "python3")} | {need for group in ALWAYS for need in NEEDS[group]}
    for group in set(NEEDS) - set(ALWAYS):
        line = next(line for line in rest.splitlines() if line.strip().startswith(f"{group})"))
        listed = line.partition("needs+=(")[2].partition(")")[0]
        assert {tuple(need.strip("'").rsplit(":", 1)) for need in listed.split()} == set(NEEDS[group]), group


def _segments(elf: bytes) -> list[int]:
    """The types of the program headers of a 64-bit ELF file."""
    (begin,) = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    return [int(struct.unpack_from("<I", elf, begin + index * size)[0]) for index in range(count)]

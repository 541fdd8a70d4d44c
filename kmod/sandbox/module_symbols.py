"""For gdb on a guest: the symbols and source lines of the modules that the guest has loaded.

    gdb -p PID -x module_symbols.py        beside the objects that `longhaul modules build --symbols` made

An object is not linked: its sections are where the kernel laid them out, type of memory by type of memory and in the order of the file.
"""

import atexit
import shutil
import struct
import tempfile
from pathlib import Path

import gdb

# User-Mode Linux uses them for its own work.
SIGNALS = "SIGSEGV SIGUSR1 SIGALRM SIGIO SIGWINCH SIGCHLD"
WRITE, ALLOCATED, EXECUTABLE, AFTER_INIT = 1, 2, 4, 0x200000
# In this order the kernel lays out sections: the flags that they have, and those that they do not have.
MEMORY = {
    "MOD_TEXT": (EXECUTABLE | ALLOCATED, 0),
    "MOD_RODATA": (ALLOCATED, WRITE | EXECUTABLE),
    "MOD_RO_AFTER_INIT": (AFTER_INIT | ALLOCATED, EXECUTABLE),
    "MOD_DATA": (WRITE | ALLOCATED, EXECUTABLE | AFTER_INIT),
}
# As enum mod_mem_type numbers them.
TYPES = ("MOD_TEXT", "MOD_DATA", "MOD_RODATA", "MOD_RO_AFTER_INIT")
# They do not stay in memory, or are elsewhere.
LEFT_OUT = (".init", ".modinfo", "__versions", ".data..percpu")
# Where nothing is, so that gdb does not take their code for other code.
ELSEWHERE = 0x10000000
ITSELF = ".gnu.linkonce.this_module"


def headers(content):
    """Where the headers of an object's sections are, and the number of that with the names."""
    (at,) = struct.unpack_from("<Q", content, 40)
    size, count, names = struct.unpack_from("<HHH", content, 58)
    return [at + place * size for place in range(count)], names


def sections(file):
    """(name, flags, size, alignment) of each section of an object that the kernel loads, in order."""
    content = file.read_bytes()
    found, names = headers(content)
    rows = [struct.unpack_from("<IIQQQQIIQQ", content, at) for at in found]
    for name, _, flags, _, _, length, _, _, alignment, _ in rows:
        begin = rows[names][4] + name
        text = content[begin : content.index(b"\0", begin)].decode()
        if flags & ALLOCATED:
            after = AFTER_INIT if text in (".data..ro_after_init", "__jump_table") else 0
            yield text, flags | after, length, max(alignment, 1)


def layout(file, bases):
    """The address of each section, from the addresses of the types of memory; without those, they share one area."""
    end = bases.get("", 0)
    for kind, (has, lacks) in MEMORY.items():
        end = bases.get(kind, end)
        for name, flags, size, alignment in sections(file):
            if flags & has == has and not flags & lacks and not name.startswith(LEFT_OUT):
                end += -end % alignment
                yield name, end
                end += size


def loaded(module_type):
    """The modules in the kernel's list, by name."""
    link = next(field for field in module_type.fields() if field.name == "list")
    head = int(gdb.parse_and_eval("(unsigned long)&modules"))
    pointer = gdb.lookup_type("unsigned long").pointer()
    found, at = {}, int(gdb.Value(head).cast(pointer).dereference())
    while at != head:
        module = gdb.Value(at - link.bitpos // 8).cast(module_type.pointer()).dereference()
        found[module["name"].string()] = module
        at = int(gdb.Value(at).cast(pointer).dereference())
    return found


def places(module, file):
    """The address of each section; of the code alone, if the kernel has laid out the others differently."""
    if "mem" in {field.name for field in module.type.fields()}:
        bases = {kind: int(module["mem"][place]["base"]) for place, kind in enumerate(TYPES)}
    else:
        # Before Linux 6.4.
        bases = {"": int(module["core_layout"]["base"])}
    found = dict(layout(file, bases))
    found = found if found.get(ITSELF) == int(module.address) else {".text": found[".text"]}
    left = [name for name, *_ in sections(file) if name not in found]
    return found | {name: ELSEWHERE * (place + 1) for place, name in enumerate(left)}


def without_addresses(file, folder):
    """A copy whose sections have no addresses: the linker leaves some, and gdb then takes all symbols for those of the code."""
    content = bytearray(file.read_bytes())
    for at in headers(content)[0]:
        content[at + 16 : at + 24] = bytes(8)
    copy = folder / file.name
    copy.write_bytes(content)
    return copy


def load(folder):
    """Load the symbols of every object in a folder that the guest has loaded."""
    gdb.execute("set confirm off")
    gdb.execute(f"handle {SIGNALS} nostop noprint pass", to_string=True)
    copies = Path(tempfile.mkdtemp(prefix="longhaul-"))
    atexit.register(shutil.rmtree, copies)
    files = [without_addresses(file, copies) for file in sorted(folder.glob("*.ko"))]
    gdb.execute(f"add-symbol-file {files[0]} 0", to_string=True)
    modules = loaded(gdb.lookup_type("struct module"))
    where = {file: dict(places(modules[file.stem], file)) for file in files if file.stem in modules}
    gdb.execute("remove-symbol-file -a 0", to_string=True)
    for file, found in where.items():
        more = " ".join(f"-s {name} {place:#x}" for name, place in found.items() if name != ".text")
        gdb.execute(f"add-symbol-file {file} {found['.text']:#x} {more}", to_string=True)
        print(f"{file.stem}: its code is at {found['.text']:#x}")
    if not where:
        print(
            f"the guest has loaded none of {', '.join(file.stem for file in files)}; it has {', '.join(modules) or 'none'}"
        )


load(Path(__file__).resolve().parent)

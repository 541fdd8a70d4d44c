"""Builds a Mininet Topo and prints its graph as JSON, for a program without Mininet.

    python3 -I as_json.py FILE CLASS < parameters.json

The system's Python, which may have the package mininet, runs it in a separate process, since a Topo is code. Mininet is not started;
where it is missing, topo.py next to this file stands for the part of it that describes networks.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

Data = dict[str, Any]

_STAND_IN = Path(__file__).with_name("topo.py")
_ENDS = ("node1", "node2", "port1", "port2", "params1", "params2")


def graph_of(topo: Any) -> Data:
    """Nodes and links in the order of their addition, with their options."""
    links = [
        {
            "ends": [link["node1"], link["node2"]],
            "options": {name: _plain(value) for name, value in link.items() if name not in _ENDS},
            "end_options": [_plain(link.get(side) or {}) for side in ("params1", "params2")],
        }
        for _, _, link in topo.iterLinks(withInfo=True)
    ]
    return {
        "nodes": [
            {
                "name": name,
                "switch": bool(topo.isSwitch(name)),
                "options": {key: _plain(value) for key, value in topo.nodeInfo(name).items() if key != "isSwitch"},
            }
            for name in topo.nodes(sort=False)
        ],
        "links": links,
        "pairs": _plain(getattr(topo, "pairs", [])),
        "bottlenecks": _plain(getattr(topo, "bottlenecks", [])),
    }


def _plain(value: Any) -> Any:
    """The value for JSON; a class as its name."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return getattr(value, "__name__", str(value))


def load_class(file: Path, name: str) -> Any:
    """The class of that name in a file, which may import its neighbours."""
    if importlib.util.find_spec("mininet") is None:
        stand_in = _load("mininet.topo", _STAND_IN)
        sys.modules.update({"mininet": ModuleType("mininet"), "mininet.topo": stand_in, "mininet.node": stand_in})
    sys.path.insert(0, str(file.parent))
    return getattr(_load("topology", file), name)


def _load(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Print the graph to standard output; the file's own output goes to standard error."""
    sys.dont_write_bytecode = True
    answer, sys.stdout = sys.stdout, sys.stderr
    topo = load_class(Path(sys.argv[1]), sys.argv[2])(**json.load(sys.stdin))
    json.dump(graph_of(topo), answer)


if __name__ == "__main__":
    PROBLEM = None
    try:
        main()
    except MemoryError:
        # A traceback holds what has filled the memory, so that none is left to print it.
        PROBLEM = "MemoryError: it needs more memory than it may have"
    sys.exit(PROBLEM)

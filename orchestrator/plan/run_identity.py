"""The id of a run: a hash over all that determines its trace, the plan and the programs that run it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from longhaul.orchestrator.plan.run import Run

# Programs by their hash, each with the earlier one that makes the same traces to the byte, for every plan that the earlier one can run.
# Their runs have the same ids, so none is made a second time. `make same-traces` proves a row before it is added; a row stays for ever.
SAME_PROGRAMS: dict[str, str] = {
    # The agent that sets socket options and knobs, and counts a socket once in real time too.
    "5311b619344be80c65c29b8bc7fdfb87c684c161ad4370f3995cd969ed6ba8bc": "70beeabf872649fc4edd125efae48b9adfca3a47cfbd3d4078714d962e87920d",
    # The agent that opens shells and starts programs as the ends of flows.
    "32706321cc311dd1fbcd6e8e75318b2a30b3814c4b1f2afdaf15c48896839ea2": "70beeabf872649fc4edd125efae48b9adfca3a47cfbd3d4078714d962e87920d",
    # The agent and the lh_link of 6.12 and 6.1 that replay recorded links.
    "976f81ac680944619f0cfa3a78444ead37945c703da1ea5002e5ef7ed3de74b6": "70beeabf872649fc4edd125efae48b9adfca3a47cfbd3d4078714d962e87920d",
    "cb2cd4ec8fb4ab1bd47acfe864a87a8dbe3ef659f0f1974ac19f028a5f1b523d": "055506051f645e79de7a0c88e4190757ac8e79849eec17f103dd0d4447f74008",
    "9579f72245e3aa78051c1d5ec62f49b4bbd834cefc0952e1d67972af75c6e120": "b7f92cfc403129951bed49ecb725eb7c874c95e036ab087e0a49527cb1845edb",
    # The agent with streams, requests and classes of packets, its probe and its lh_link with policers and shapers, of 6.12 and 6.1.
    "f9594565096d8139b6216b34807d40012ff5bf3f1f98c64a2822f5c9f446111b": "70beeabf872649fc4edd125efae48b9adfca3a47cfbd3d4078714d962e87920d",
    "0f0b865d4498fcc3ad658e914e2a90d1663d65085a914df33123a0b77291e641": "b40f78cb6ab32290effe185558ce3ddbd6e8619f215bbf8e8cc4ace1f124cece",
    "ced7cc53cc96c69cd0ea414b7654145073244d25514a14d3b79a69da7c8650be": "055506051f645e79de7a0c88e4190757ac8e79849eec17f103dd0d4447f74008",
    "426808a1376cc4ccbe04e9b52a61115905f4ba1e8cb431372f9206cf43ad3223": "44cfdbed6fd3d232b204b6af6d391228636b38f05a395426d6642e01f2aec8c8",
    "5d0020de1f68af06761ba60a88723d59d3cc9893c5a7d46c731c33e8510bd22d": "b7f92cfc403129951bed49ecb725eb7c874c95e036ab087e0a49527cb1845edb",
    # The agent with barriers, and the sch_lh_dcf of 6.12 and 6.1 that aggregates frames.
    "e16afec6d438d8b533f0f0a9ec019352ae8ce57cf5c3f4aebe383d5940ce8e7a": "70beeabf872649fc4edd125efae48b9adfca3a47cfbd3d4078714d962e87920d",
    "e88fb4ce6c6e1cfabf254012f958f45c2faf13692ae42deb1197190d351f008b": "d09a9428a3e0c62b36472aef44c027343a763983c9345e4672f0a256d685e689",
    "dc0c076a8eff303615a994b681cfad67da7bd548ae9318cdbaaf19a21cd7f5e0": "0d6c6173d524160bd4d2d0cc63cd2b7cc9b87a98337331f5ebdfe5437d12eed3",
    # The agent whose guard removes a folder also when its guest ends beside its caller.
    "2436e044e2bb7a6bda6424110a8b1cf5261630c1927a1a9681bde94192141002": "70beeabf872649fc4edd125efae48b9adfca3a47cfbd3d4078714d962e87920d",
    # The kernel 6.12 whose programs enter it faster. A program that polls the clock or fills its guest's memory may see other moments.
    "0d9d5927b9ee908f7182f162c7ab607a": "f60778cbf6386684843d52e6209daac2",
    # The agent and the probes of 6.12 and 6.1 that know L4S.
    "fa875e80107676ec48661b820650461b5eacbab35bb4dae9cc40125ad19366b0": "9170a1af1b5c832ed54329593735d8a0e1dba1664c77bfbf19f80931da170183",
    "45de5c6e40d6421a14e3855c7e98fdbb6dd61621833f53e2eb9bbd09b88eb4f2": "506a309d8f3f2a5e681c5a74a7fa6953b0f30361d1f77b9daeafc3eb4f163b01",
    "600859bf1430dc58ad1e6f5ff0ee13290a9dcb23d79206773978aac1d2d509b7": "267b88179a2d1ff6521f0b1102e346ecf7cbfda8e83e14a03a47da9497797b4a",
    # The agent with fewer calls, and the lh_link of 6.12 and 6.1 that fetches headers.
    "737ee15448bbbe02ffae4d85033a5c5ed8b498414d30fea086b6902bec923517": "70beeabf872649fc4edd125efae48b9adfca3a47cfbd3d4078714d962e87920d",
    "1cb6480edbe9c7907c43e271800c7628bc9457bab4608f808eb50459fbc6d936": "055506051f645e79de7a0c88e4190757ac8e79849eec17f103dd0d4447f74008",
    "dac0346a46f05550e6f9e4ae98a1229285bf4ea66eae53fd2a65e323ebcedc35": "b7f92cfc403129951bed49ecb725eb7c874c95e036ab087e0a49527cb1845edb",
    # The agent that reads a node's settings, addresses and queues together, and the kernel 6.12 whose memory is private to its process.
    "626bd3f62dd1a8c5653eeaf0242ec82973d9b70b486eb3ba8c7d095e38d59614": "70beeabf872649fc4edd125efae48b9adfca3a47cfbd3d4078714d962e87920d",
    "192961c73e16e41c09062248b007063a": "f60778cbf6386684843d52e6209daac2",
    # The agent and the kernel 6.12 of guests that are copied.
    "47a632c6e70df41048600400e6d9032c2d0f5a02137611d753247bdb94815e61": "70beeabf872649fc4edd125efae48b9adfca3a47cfbd3d4078714d962e87920d",
    "0dbdeea2fff6fd019b0545fdd8ae2795": "f60778cbf6386684843d52e6209daac2",
    # The kernel 6.12 whose time passes to the next packet at once.
    "fd213d87c49d8f1a7273b543d271ca97": "f60778cbf6386684843d52e6209daac2",
}


def canonical(identity: Mapping[str, str]) -> dict[str, str]:
    """An identity with each program replaced by the earliest one that makes the same traces."""
    return {name: SAME_PROGRAMS.get(value, value) for name, value in identity.items()}


def run_id(run: Run, identity: Mapping[str, str]) -> str:
    """The name of a result."""
    plan = replace(run, capture=None).as_json() if run.script is None else _request_of_script(run)
    if run.parts is not None and not run.parts.alters:
        del plan["parts"]
    text = json.dumps([plan, canonical(identity)], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _request_of_script(run: Run) -> dict[str, Any]:
    """What determines the run of a script: the rest was observed. The same script in another folder is the same one."""
    assert run.script is not None
    script = {"name": PurePath(run.script.file).name, "text": run.script.text, "arguments": list(run.script.arguments)}
    return {"script": script, "kernel": run.kernel, "seed": run.seed, "clock": run.clock, "asked_at": run.asked_at}

"""Programs of this machine as the two ends of a flow: their measures are those of the path, and their bad ends have a sentence each."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.analysis.formats.tables import write_formats
from longhaul.orchestrator.analysis.series import of_flow
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.system.errors import BackendUnavailable, ResultsError
from tests.guest.physics.test_determinism import traces, traces_of_another_user
from tests.guest.physics.test_determinism import unprivileged_place as unprivileged_place
from tests.support.guests import Runner, experiment

# A path of 10 Mbit/s whose queue holds all that a file has.
PATH = {"bandwidth": "10 Mbit/s", "rtt": "40 ms", "buffer": "5 MB"}
RTT_S, RATE_BPS, FRAME_BYTES, MSS_BYTES = 0.04, 10e6, 1514, 1448
FILE_BYTES = 5_000_000
# A request or an answer of HTTP has at most so many bytes.
HEADERS_BYTES = 400

WEB = ["python3", "-m", "http.server", "8000"]
GET = ["curl", "-sS", "-o", "/tmp/got", "http://server:8000/file"]
PUT_SERVER = """
import http.server
class Putting(http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        left = int(self.headers["Content-Length"])
        while left:
            left -= len(self.rfile.read(min(left, 65536)))
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()
http.server.HTTPServer(("", 8000), Putting).serve_forever()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file to transfer, and keys for ssh."""
    made = tmp_path_factory.mktemp("site")
    (made / "file").write_bytes(bytes(range(250)) * (FILE_BYTES // 250))
    (made / "put.py").write_text(PUT_SERVER)
    for name in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(made / name)], check=True)
    return made


def flow(server: list[str], client: list[str], **more: Any) -> dict[str, Any]:
    """A flow of two programs; fields of the command and of the flow in one."""
    fields = {name: more.pop(name) for name in ("sends", "connections", "folder", "memory") if name in more}
    return {"name": "w", "command": {"server": server, "client": client} | fields} | more


def least_s(data_bytes: int) -> float:
    """The time of this much data on the line, in full frames."""
    return data_bytes / MSS_BYTES * FRAME_BYTES * 8 / RATE_BPS


def check_transfer(document: Any, fact: Any, round_trips: float) -> None:
    """A file took its time on the line, the round trips before its first byte, and less than three of slow start."""
    (measured,) = document["flows"]
    assert FILE_BYTES <= fact["bytes_received"] <= FILE_BYTES + HEADERS_BYTES
    assert fact["bytes_sent"] == fact["bytes_received"] == measured["bytes"]
    took_s = least_s(measured["bytes"]) + round_trips * RTT_S
    assert took_s <= measured["completion_s"] <= took_s + 3 * RTT_S
    assert measured["goodput_bps"] == pytest.approx(measured["bytes"] * 8 / measured["completion_s"], rel=0.01)
    assert measured["rtt_ms"]["min"] == pytest.approx(RTT_S * 1000, rel=0.01)
    assert measured["loss_ratio"] == 0
    assert measured["retransmits"] == 0
    assert document["path"]["queue_packets"]["max"] > 0


def test_a_download_takes_the_time_of_its_line(finish: Runner, folder: Path) -> None:
    done = finish(path=PATH, flows=[flow(WEB, GET, folder=str(folder))], duration="10 s")
    # The handshake, and the request with its answer.
    check_transfer(done.document, done.facts["flows"][0], 2)
    (check,) = [one["text"] for one in done.document["fidelity"]["checks"] if one["name"] == "bytes of programs"]
    assert "computing took no virtual time" in check
    assert done.facts["flows"][0]["cc"] == "cubic"
    assert done.facts["flows"][0]["connections"] == 1


def test_an_upload_takes_the_time_of_its_line(finish: Runner, folder: Path) -> None:
    client = ["curl", "-sS", "-H", "Expect:", "-T", "file", "http://server:8000/file"]
    done = finish(
        path=PATH,
        flows=[flow(["python3", "put.py"], client, sends="client", folder=str(folder), cc="reno")],
        duration="10 s",
    )
    # The handshake, and the answer after the last byte.
    check_transfer(done.document, done.facts["flows"][0], 2)
    assert done.facts["flows"][0]["cc"] == "reno"


def test_rsync_over_ssh(finish: Runner, folder: Path) -> None:
    options = "-o StrictModes=no -o UsePAM=no -o PidFile=none -o AuthorizedKeysFile=$PWD/user_key.pub"
    serve = f"mkdir -p /run/sshd && install -m 600 host_key /tmp/host_key && exec /usr/sbin/sshd -D -e -p 2222 -h /tmp/host_key {options}"
    ssh = "ssh -p 2222 -i /tmp/user_key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
    copy = f"install -m 600 user_key /tmp/user_key && rsync -a --rsh '{ssh}' file root@server:/tmp/received"
    done = finish(
        path=PATH,
        flows=[flow(["sh", "-c", serve], ["sh", "-c", copy], sends="client", folder=str(folder))],
        duration="20 s",
    )
    (measured,), (fact,) = done.document["flows"], done.facts["flows"]
    # What ssh adds to each packet of its protocol, and the handshake: less than 1 %.
    assert FILE_BYTES < measured["bytes"] < 1.01 * FILE_BYTES
    assert fact["connections"] == 1
    # Keys, the login and the list of files take a dozen round trips.
    assert measured["completion_s"] < least_s(measured["bytes"]) + 25 * RTT_S


def test_iperf_reports_the_goodput_that_is_measured(finish: Runner, pipeline: Pipeline) -> None:
    client = ["iperf", "-c", "server", "-t", "10", "-P", "3", "-y", "C", "--sum-only"]
    flows = [flow(["iperf", "-s"], client, sends="client", connections=3)]
    done = finish(path=PATH, flows=flows, duration="20 s")
    printed = (pipeline.store.directory(done.document["run"]) / "programs" / "w-1.client.out").read_text()
    sent_bytes = sum(int(line.split(",")[7]) for line in printed.splitlines() if line.count(",") >= 8)
    assert [one["name"] for one in done.document["flows"]] == ["w-1", "w-2", "w-3"]
    assert sum(one["bytes"] for one in done.document["flows"]) == pytest.approx(sent_bytes, rel=0.001)
    assert done.document["goodput_total"] * 20 / 8 == pytest.approx(sent_bytes, rel=0.001)
    assert done.document["flows"][0]["goodput_bps"] > 0


def test_connections_that_follow_one_another_count_once_each(finish: Runner, folder: Path) -> None:
    client = ["curl", "-sS", *("http://server:8000/file", "-o", "/tmp/got") * 3]
    done = finish(path=PATH, flows=[flow(WEB, client, folder=str(folder))], duration="20 s")
    (fact,) = done.facts["flows"]
    assert fact["connections"] == 3
    assert 3 * FILE_BYTES <= fact["bytes_received"] <= 3 * (FILE_BYTES + HEADERS_BYTES)
    assert of_flow(done.trace.flows, 0)["app_bytes"].max() == fact["bytes_received"]


def test_two_flows_of_programs_have_their_own_controls(finish: Runner, folder: Path) -> None:
    flows = [
        flow(WEB, GET, folder=str(folder), name="one", cc="bbr"),
        flow(WEB, GET, folder=str(folder), name="two", cc="vegas"),
        {"name": "three", "cc": "reno"},
    ]
    done = finish(path=PATH | {"buffer": "1 BDP"}, flows=flows, duration="40 s")
    assert [fact["cc"] for fact in done.facts["flows"]] == ["bbr", "vegas", "reno"]


def test_a_run_is_exported_as_far_as_a_format_can_show_it(
    finish: Runner, pipeline: Pipeline, folder: Path, tmp_path: Path
) -> None:
    run = finish(path=PATH, flows=[flow(WEB, GET, folder=str(folder))], duration="10 s").document["run"]
    assert len(write_formats(pipeline.store, run, "flent", tmp_path / "flent")) == 1
    for to in ("qlog", "iperf3"):
        with pytest.raises(ResultsError, match=f"no flow that {to} can show"):
            write_formats(pipeline.store, run, to, tmp_path / to)


def test_losses_are_those_of_the_flow(finish: Runner, folder: Path) -> None:
    done = finish(path=PATH | {"loss": 0.01}, flows=[flow(WEB, GET, folder=str(folder))], duration="60 s")
    (measured,) = done.document["flows"]
    assert measured["loss_ratio"] == pytest.approx(0.01, rel=0.4)
    assert measured["retransmits"] >= done.document["path"]["losses"]


def test_a_stop_ends_the_client_and_what_it_has_under_way(finish: Runner) -> None:
    flows = [flow(["iperf", "-s"], ["iperf", "-c", "server", "-t", "100"], sends="client", stop="3 s")]
    done = finish(path=PATH | {"buffer": "1 BDP"}, flows=flows, duration="6 s")
    received = of_flow(done.trace.flows, 0)
    # What was on its way: two round trips.
    assert received["t_ns"].max() < (3 + 2 * RTT_S) * 1e9
    assert done.document["flows"][0]["completion_s"] is None


def test_the_same_run_gives_the_same_bytes(pipeline: Pipeline, folder: Path) -> None:
    flows = [flow(WEB, GET, folder=str(folder)), flow(["iperf", "-s"], ["iperf", "-c", "server", "-t", "3"], sends="client") | {"name": "up"}]  # fmt: skip
    plan = compile_plan(experiment(path=PATH | {"loss": 1e-3}, flows=flows, duration="15 s"))
    assert len(traces(pipeline, plan, 3)) == 1


SEND = ["sh", "-c", "head -c 20000000 /dev/zero | socat -u - TCP:server:9000"]
BAD = {
    "exit code": (flow(WEB, ["curl", "-sSf", "http://server:8000/no-such-file"]), "client of flow w.*code 22: curl: .22.*404"),
    "no port": (flow(WEB, ["curl", "-sS", "http://server:81/"]), "client of flow w.*code 7: curl: .7."),
    "death": (flow(WEB, ["sh", "-c", "kill -SEGV $$"]), "client of flow w.*signal 11"),
    "no connection": (flow(WEB, ["true"]), "without a TCP connection"),
    "no listener": (flow(["sleep", "1000"], GET), "listened on no TCP port of its host within 30 s"),
    "server's code": (flow(["sh", "-c", "echo no config >&2; exit 3"], GET), "server of flow w.*code 3 before it listened: no config"),
    "server's death": (
        flow(["sh", "-c", "socat TCP-LISTEN:9000 OPEN:/dev/null & sleep 1; kill $!; exit 5"], SEND, sends="client"),
        "server of flow w.*code 5 before its client had ended",
    ),
    "hang": (
        flow(["socat", "TCP-LISTEN:9000", "EXEC:'sleep 1000'"], SEND, sends="client"),
        "had not ended at the end of the run; it had sent [0-9]+ bytes over 1 connection",
    ),
    "too many": (
        flow(["iperf", "-s"], ["iperf", "-c", "server", "-t", "1", "-P", "4"], sends="client", connections=3),
        "4 connections at once, and command.connections is 3",
    ),
    "fork": (
        flow(["iperf", "-s"], ["sh", "-c", "(setsid iperf -c server -t 2 &); iperf -c server -t 3"], sends="client"),
        "2 connections at once, and command.connections is 1",
    ),
    "half closed": (
        flow(["socat", "TCP-LISTEN:9000", "SYSTEM:'cat; head -c 1000000 /dev/zero'"], ["sh", "-c", "true | socat -t 9 - TCP:server:9000 >/tmp/got"]),
        "after the other end had closed its half",
    ),
    "own control": (flow(["iperf", "-s"], ["iperf", "-c", "server", "-t", "1", "-Z", "reno"], sends="client"), "asked cubic, found reno"),
    "no such program": (flow(WEB, ["no-such-program"]), "missing no-such-program"),
    "no such folder": (flow(WEB, GET, folder="/no/such/folder"), "missing the folder /no/such/folder"),
    "unseen": (flow(["/tmp/sh", "-c", "true"], GET), "missing /tmp/sh"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_end_has_a_sentence(execute: Callable[[Plan], list[Any]], name: str) -> None:
    written, sentence = BAD[name]
    plan = compile_plan(experiment(path=PATH, flows=[written], duration="5 s"))
    try:
        (document,) = execute(plan)
    except BackendUnavailable as error:
        assert re.search(sentence, str(error))
        return
    assert document["status"] == "failed"
    parts = document["error"]
    assert re.search(sentence, f"{parts['attempting']} {parts['subject']}: {parts['what']}"), parts


def test_the_log_of_a_failed_run_has_what_programs_printed(pipeline: Pipeline) -> None:
    written = flow(WEB, ["sh", "-c", "echo first; echo second >&2; exit 1"])
    (document,) = pipeline.execute(compile_plan(experiment(path=PATH, flows=[written])), jobs=1)
    assert "`longhaul log" in document["error"]["hint"]
    log = (pipeline.store.home / "logs" / f"{document['run']}.txt").read_text()
    assert "first" in log
    assert "second" in log


def test_another_user_gets_the_same_trace(pipeline: Pipeline, unprivileged_place: Path) -> None:
    serve = ["sh", "-c", "head -c 300000 /dev/zero > file && exec python3 -m http.server 8000"]
    plan = compile_plan(experiment(path=PATH, flows=[flow(serve, GET)], duration="3 s"))
    mine = traces(pipeline, plan, 1)
    assert traces_of_another_user(plan, unprivileged_place) == mine

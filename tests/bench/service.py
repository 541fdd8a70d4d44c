"""`make bench-api`: the service with 100,000 runs in its database, loaded by wrk on loopback; prints a table, with --json a document.

    list      GET /runs, a page of 50                                20 requests at once
    series    GET /runs/{random}/series, 2,000 of some 100,000 points  20 requests at once
    cached    POST /experiments with only kept runs                  one at a time
    lists     every question of lists.py                             20 requests at once; processor time of the API's process
    large     every large answer of lists.py                         one at a time
    follow    500 followers of one run's events                      from the time of an event to its arrival
    memory    resident memory of the API's process after all of it

The database is that of many_runs.py, in SQLite, or with --postgresql in a PostgreSQL that is started for it; BENCH="--runs 10000"
gives the numbers to compare with.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import load_settings
from tests.bench.lists import LARGE, QUESTIONS
from tests.bench.many_runs import fill
from tests.support.parts import Postgres
from tests.support.programs import run_program
from tests.support.service import LONGHAUL, Service, served

# A hundred thousand ACKs, as in the trace of a long run.
MODEL = ["quick", "--set", "path.bandwidth=100 Mbit/s", "--set", "duration=25 s"]
_TICKS = os.sysconf("SC_CLK_TCK")

_Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_SCRIPT = """
local ids = {}
for line in io.lines("%(ids)s") do ids[#ids + 1] = line end
math.randomseed(7)
request = function()
  local path = string.gsub("%(path)s", "{id}", ids[math.random(#ids)])
  return wrk.format("GET", path, {["Authorization"] = "Bearer %(token)s"})
end
done = function(summary, latency)
  io.write(string.format("RESULT %%d %%d %%f %%f %%f\\n", summary.requests, summary.errors.status + summary.errors.read
    + summary.errors.timeout, latency:percentile(50) / 1000, latency:percentile(95) / 1000, latency:percentile(99) / 1000))
end
"""


def wrk(address: str, token: str, path: str, ids: list[str], seconds: int, folder: Path) -> dict[str, float]:
    """Twenty requests at once for some seconds: their latencies in milliseconds."""
    (folder / "ids").write_text("\n".join(ids))
    script = folder / "script.lua"
    script.write_text(_SCRIPT % {"ids": folder / "ids", "path": path, "token": token})
    command = ["wrk", "-t1", "-c20", f"-d{seconds}s", "--timeout", "60s", "-s", str(script), address]
    output = run_program(command, check=True).stdout
    match = re.search(r"RESULT (\d+) (\d+) (\S+) (\S+) (\S+)", output)
    assert match is not None, output
    requests, errors, p50, p95, p99 = map(float, match.groups())
    assert errors == 0, output
    return {"requests_per_s": requests / seconds, "p50_ms": p50, "p95_ms": p95, "p99_ms": p99}


def cached(address: str, token: str, times: int) -> dict[str, float]:
    """Submissions with only kept runs."""
    with httpx.Client(base_url=f"{address}/api/v1", headers={"Authorization": f"Bearer {token}"}) as client:
        body = {"shipped": "quick", "repeats": 3}
        first = client.post("/experiments", json=body).json()
        while client.get(f"/experiments/{first['id']}").json()["status"] in ("queued", "running"):
            time.sleep(0.05)
        took = []
        for _ in range(times):
            begun = time.perf_counter()
            answer = client.post("/experiments", json=body).json()
            took.append((time.perf_counter() - begun) * 1000)
            assert answer["status"] == "done", answer
    return {"p50_ms": statistics.median(took), "p95_ms": statistics.quantiles(took, n=20)[-1], "max_ms": max(took)}


async def follow(address: str, token: str, followers: int) -> dict[str, float]:
    """Many followers of one running run: the time until all are connected, and from the time of an event to its arrival at each."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=f"{address}/api/v1", headers=headers, timeout=60) as client:
        # Occupy every slot, so that all followers are connected before the run begins.
        blocking = {"shipped": "quick", "seed": 2000, "repeats": 4 * (os.cpu_count() or 1), "set": ["duration=3600 s"]}
        blocker = (await client.post("/experiments", json=blocking)).json()
        body = {"shipped": "quick", "seed": 1000, "set": ["path.bandwidth=100 Mbit/s", "duration=600 s"]}
        run = (await client.post("/experiments", json=body)).json()["runs"][0]
        begun = time.perf_counter()
        streams = await asyncio.gather(*(_listen(address, token, f"{run}/events") for _ in range(followers)))
        joined_s = time.perf_counter() - begun
        await client.post(f"/experiments/{blocker['id']}/cancel")
        lags = sorted(lag for some in await asyncio.gather(*map(_lags, streams)) for lag in some)
    assert len(lags) >= followers
    return {
        "events": len(lags),
        "joined_s": joined_s,
        "p50_s": lags[len(lags) // 2],
        "p95_s": lags[int(len(lags) * 0.95)],
        "max_s": lags[-1],
    }


async def _listen(address: str, token: str, path: str) -> _Stream:
    """Open a stream and wait for its first event; without httpx, which would take longer than the service."""
    host, _, port = address.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    while not (line := await reader.readline()).startswith(b"data: "):
        assert line, "the stream ended before its first event"
    return reader, writer


async def _lags(stream: _Stream) -> list[float]:
    """The delay of every event until the run is over."""
    found, last = [], False
    # Keep the writer, or the connection would be closed.
    reader, _ = stream
    while not last:
        line = await reader.readline()
        assert line, "the stream ended before the run"
        if line.startswith(b"data: "):
            event = json.loads(line[6:])
            found.append(time.time() - datetime.fromisoformat(event["at"]).timestamp())
            last = event["kind"] == "run.finished"
    return found


def memory_mb(pid: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


def ask_lists(
    service: Service, ids: list[str], rows: list[dict[str, Any]], seconds: int, folder: Path
) -> dict[str, Any]:
    """Each question by twenty readers at once, with the processor time that the API's process spends on one."""
    middle = rows[len(rows) // 2]
    cursor = f"{middle['created_at'].removesuffix('+00:00')}Z_{middle['id']}"
    found = {}
    for name, path in QUESTIONS.items():
        path = path.replace("{middle}", cursor).replace("{part}", middle["id"][3:12])
        before_s = cpu_s(service.pid)
        measured = wrk(service.url, service.tokens["admin"], f"/api/v1{path}", ids, seconds, folder)
        cpu_ms = (cpu_s(service.pid) - before_s) * 1000 / (measured["requests_per_s"] * seconds)
        found[f"list: {name}"] = measured | {"cpu_ms": cpu_ms}
    return found


def ask_large(service: Service) -> dict[str, Any]:
    """Each large answer by one reader, a few times."""
    found = {}
    headers = {"Authorization": f"Bearer {service.tokens['admin']}"}
    with httpx.Client(base_url=f"{service.url}/api/v1", headers=headers, timeout=300) as client:
        for name, path in LARGE.items():
            took, before_s = [], cpu_s(service.pid)
            for _ in range(3):
                begun = time.perf_counter()
                answer = client.get(path).raise_for_status()
                took.append((time.perf_counter() - begun) * 1000)
            cpu_ms = (cpu_s(service.pid) - before_s) * 1000 / len(took)
            megabytes, rss_mb = len(answer.content) / 1e6, memory_mb(service.pid)
            found[f"large: {name}"] = {
                "p50_ms": statistics.median(took),
                "cpu_ms": cpu_ms,
                "mb": megabytes,
                "rss_mb": rss_mb,
            }
    return found


def cpu_s(pid: int) -> float:
    """Processor time of a process."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13])) / _TICKS


def measure(runs: int, seconds: int, followers: int, *, postgresql: bool) -> dict[str, Any]:
    """Measure everything, with a temporary home."""
    with tempfile.TemporaryDirectory(prefix="longhaul-bench-") as folder, ExitStack() as until_end:
        home = Path(folder) / "home"
        home.mkdir()
        os.environ["LONGHAUL_HOME"] = str(home)
        os.environ.pop("LONGHAUL_DATABASE", None)
        if postgresql:
            server = Postgres(Path(folder))
            server.start()
            until_end.callback(server.stop)
            os.environ["LONGHAUL_DATABASE"] = server.create("lab")
        subprocess.run([*LONGHAUL, "run", *MODEL, "--json"], check=True, stdout=subprocess.DEVNULL)
        store = Store(load_settings())
        ids = fill(store, runs)
        rows = store.list_runs(runs)
        store.database.close()
        with served(home) as service:
            address, token = service.url, service.tokens["admin"]
            found: dict[str, Any] = {"runs": runs, "memory_at_start_mb": memory_mb(service.pid)}
            found["list"] = wrk(address, token, "/api/v1/runs", ids, seconds, Path(folder))
            series = "/api/v1/runs/{id}/series?measure=cwnd&flow=app&points=2000"
            found["series"] = wrk(address, token, series, ids, seconds, Path(folder))
            found["cached"] = cached(address, token, 20)
            found |= ask_lists(service, ids, rows, max(1, seconds // 3), Path(folder))
            found["memory_after_lists_mb"] = memory_mb(service.pid)
            found |= ask_large(service)
            found["follow"] = asyncio.run(follow(address, token, followers))
            found["memory_mb"] = memory_mb(service.pid)
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=15, help="duration of each wrk")
    parser.add_argument("--followers", type=int, default=500)
    parser.add_argument("--postgresql", action="store_true", help="the database in PostgreSQL, in place of SQLite")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        print("bench-api: wrk is missing: apt-get install wrk", file=sys.stderr)
        return 3
    found = measure(options.runs, options.seconds, options.followers, postgresql=options.postgresql)
    if options.json:
        print(json.dumps(found))
        return 0
    for name, numbers in found.items():
        shown = numbers if isinstance(numbers, dict) else {"": numbers}
        print(f"{name:36} " + "  ".join(f"{key} {value:.4g}" for key, value in shown.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

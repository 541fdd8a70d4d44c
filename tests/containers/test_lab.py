"""The profile `lab`: the API hands a run to a worker without rights; its series go to Prometheus, its rows to PostgreSQL."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest

from tests.containers.conftest import Started
from tests.containers.lab import API, PROMETHEUS, ROOT, Lab, query, wait_for
from tests.containers.podman import PAGE, inspect, podman, start
from tests.support.command import longhaul

SERVICES = ("api", "worker", "scheduler", "postgres", "prometheus")
# The only places of its file system where each service may write.
_OWN = {
    "api": "/var/longhaul/home",
    "worker": "/var/longhaul/home",
    "scheduler": "/tmp",
    "postgres": "/var/lib/postgresql",
    "prometheus": "/var/lib/prometheus/data",
}


def test_a_run_has_the_bytes_that_it_has_on_this_machine(started: Started, tmp_path: Path) -> None:
    here = longhaul("run", "quick", "--json", home=tmp_path)
    assert here.returncode == 0, here.stderr
    (run,) = json.loads(here.stdout)["runs"]
    assert started.document["trace_sha256"] == run["trace_sha256"]


def test_the_page_is_served_as_it_was_built(started: Started) -> None:
    assert started.lab.token
    page = httpx.get(f"{API}/")
    assert page.text == (PAGE / "index.html").read_text()
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    for file in sorted((PAGE / "assets").iterdir()):
        if file.suffix in (".br", ".gz"):
            # Sent in place of the asset.
            continue
        sent = httpx.get(f"{API}/assets/{file.name}", headers={"Accept-Encoding": "br"})
        assert sent.content == file.read_bytes(), file.name
        has_compressed = file.with_name(f"{file.name}.br").is_file()
        assert has_compressed == (sent.headers.get("content-encoding") == "br"), file.name


def test_its_series_are_in_prometheus(started: Started) -> None:
    run = started.document["run"]

    def placed() -> dict[str, int] | None:
        found: dict[str, int] | None = started.lab.run(run).get("prometheus")
        return found if found and found["samples"] and not found["waiting"] else None

    place = wait_for(placed, "the end of its samples", started.lab.log)
    assert place["refused"] == 0
    at_s, span_ms = place["end_ms"] / 1000 + 1, place["end_ms"] - place["begin_ms"] + 2000
    (flow,) = started.document["flows"]
    (highest,) = query(f'max_over_time(longhaul_flow_cwnd_packets{{run="{run}"}}[{span_ms}ms])', at_s)
    assert highest["metric"]["flow"] == flow["name"]
    # This is the maximum of the whole run; the document's is that of its window.
    assert float(highest["value"][1]) >= flow["cwnd_packets"]["max"]
    stored = query(f'{{__name__=~"longhaul_.+",run="{run}"}}[{span_ms}ms]', at_s)
    # One more sample marks the end of each series; Prometheus does not show it.
    assert sum(len(series["values"]) + 1 for series in stored) == place["samples"]


def test_prometheus_scrapes_the_service(started: Started) -> None:
    up = wait_for(lambda: query('up{job="longhaul"} == 1') or None, "a scrape", started.lab.log)
    assert [one["metric"]["instance"] for one in up] == ["api:8080"]
    assert wait_for(lambda: query("longhaul_runs") or None, "a number of the service's")


@pytest.mark.parametrize("service", SERVICES)
def test_a_container_has_no_rights(started: Started, service: str) -> None:
    status = dict(
        line.split(":\t", 1)
        for line in started.lab.inside(service, "cat", "/proc/1/status").splitlines()
        if ":\t" in line
    )
    assert "0" not in status["Uid"].split()
    assert "0" not in status["Gid"].split()
    assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert (status["NoNewPrivs"].strip(), status["Seccomp"].strip()) == ("1", "2")


@pytest.mark.parametrize("service", SERVICES)
def test_a_container_writes_where_it_keeps_things_and_nowhere_else(started: Started, service: str) -> None:
    started.lab.inside(service, "bash", "-c", f'touch "{_OWN[service]}/written" && rm "{_OWN[service]}/written"')
    for place in ("/", "/etc", "/usr/bin", "/opt", "/var/lib", "/home"):
        assert "Read-only file system" in podman_error(started.lab, service, "touch", f"{place}/written")


@pytest.mark.parametrize("service", SERVICES)
def test_a_container_reports_that_it_is_healthy(started: Started, service: str) -> None:
    started.lab.wait_healthy(service)
    assert inspect("container", started.lab.container(service))["State"]["Health"]["Status"] == "healthy"


def test_ports_are_open_on_this_machine_alone(started: Started) -> None:
    opened: dict[str, list[str]] = {}
    for service in SERVICES:
        ports = inspect("container", started.lab.container(service))["NetworkSettings"]["Ports"] or {}
        opened |= {port: [one["HostIp"] for one in hosts] for port, hosts in ports.items() if hosts}
    assert opened == {"8080/tcp": ["127.0.0.1"], "9090/tcp": ["127.0.0.1"]}


def test_postgres_listens_on_no_network(started: Started) -> None:
    tables = [started.lab.inside("postgres", "cat", f"/proc/net/{name}") for name in ("tcp", "tcp6", "udp", "udp6")]
    assert [line for table in tables for line in table.splitlines()[1:]] == []
    assert started.lab.inside("postgres", "ls", "/sys/class/net").split() == ["lo"]


def test_the_first_start_prints_the_address_and_shows_a_token_once(started: Started) -> None:
    lab = started.lab
    assert f"Longhaul at {API}, " in lab.log()
    podman("restart", lab.container("api"))
    lab.ready()
    assert len(re.findall(r"Longhaul at ", lab.log())) >= 2
    assert lab.log().count("shown only once") == 1
    assert lab.run(started.document["run"])["trace_sha256"] == started.document["trace_sha256"]


def test_a_restarted_worker_runs_experiments_again_after_a_kill(started: Started) -> None:
    lab = started.lab
    podman("kill", lab.container("worker"))
    podman("start", lab.container("worker"))
    document = lab.run_experiment(shipped="quick", set=["seed=7"])
    assert document["run"] != started.document["run"]


def test_programs_of_the_image_run_in_guests(started: Started) -> None:
    """Worker and dispatcher have the same iperf3 and Mininet packages, since they use the same image."""
    lab = started.lab
    assert lab.run_experiment(shipped="quick", set=["flows.app.tool=iperf3", "duration=4 s"])["status"] == "done"


def test_no_dead_process_is_left(started: Started) -> None:
    """The first process of each container reaps its children, so that none needs an init."""
    for service in ("api", "worker"):
        script = "for one in /proc/[0-9]*/stat; do cat $one 2>/dev/null; done"
        rows = started.lab.inside(service, "bash", "-c", script).splitlines()
        assert [row for row in rows if row.rpartition(")")[2].split()[0] == "Z"] == []


def test_workers_are_scaled(started: Started) -> None:
    lab = started.lab
    lab.up("worker", more=("--scale", "worker=2", "--no-recreate"))
    count = "from distributed import Client; print(len(Client('tcp://scheduler:8786').scheduler_info(n_workers=-1)['workers']))"

    def both() -> bool | None:
        return lab.inside("scheduler", "python", "-W", "ignore", "-c", count).strip() == "2" or None

    assert wait_for(both, "the second worker", lambda: lab.log("worker"))


def test_user_supplied_code_is_refused_where_it_cannot_be_confined(started: Started) -> None:
    """A worker may not make namespaces, so nothing confines the code; docs/containers.md describes how to allow it."""
    script = (
        "mkdir -p /tmp/own && cd /tmp/own && printf 'from mininet.topo import Topo\\nclass Lab(Topo):\\n    pass\\n' >lab.py"
        " && printf 'experiment: own\\ntopology: ./lab.py:Lab\\nduration: 3 s\\nflows: [{name: one, cc: cubic}]\\n' >own.yaml && longhaul plan own.yaml"
    )
    error = podman_error(started.lab, "worker", "bash", "-c", script)
    assert "the kernel's permission to run user code confined" in error
    assert "Creating new namespace failed" in error


def test_a_request_without_a_token_is_refused(started: Started) -> None:
    assert started.lab.token
    assert httpx.get(f"{ROOT}/runs").status_code == 401
    assert httpx.get(f"{PROMETHEUS}/-/ready").status_code == 200


def podman_error(lab: Lab, service: str, *words: str) -> str:
    """Standard error of a command that has to fail."""
    done = start("podman", "exec", lab.container(service), *words, check=False)
    assert done.returncode != 0
    return done.stderr

"""The sampler of real time: the number of records it reports is the number in its file."""

from __future__ import annotations

import subprocess
from pathlib import Path

from longhaul.orchestrator.system.installation import AGENT_SOURCES, KMOD
from longhaul.orchestrator.trace.records import read_trace
from tests.support.programs import run_program

# A thread of traffic can note an event or count a datagram when the trace has already ended.
HARNESS = r"""
#include <stdio.h>
#include <stdlib.h>
#include "trace/sampler.c"

uint64_t clock_now_ns(void) { return 1000; }
void clock_wait_surely(uint64_t at_ns) { (void)at_ns; }
void sample_tcp_open(const struct plan *plan) { (void)plan; }
void sample_tcp(const struct plan *plan, uint64_t now_ns, bool senders) { (void)plan, (void)now_ns, (void)senders; }
void sample_tcp_end(const struct plan *plan, uint64_t now_ns) { (void)plan, (void)now_ns; }
void sample_queues_open(const struct plan *plan) { (void)plan; }
void sample_queues(const struct plan *plan, uint64_t now_ns) { (void)plan, (void)now_ns; }
void sample_devices_open(const struct plan *plan) { (void)plan; }
void sample_devices(const struct plan *plan, uint64_t now_ns) { (void)plan, (void)now_ns; }
void thread_start(void *(*run)(void *), void *argument) { (void)run, (void)argument; }
void die(const char *attempting, const char *subject, const char *hint, const char *what, ...)
{
	(void)attempting, (void)subject, (void)hint, (void)what;
	abort();
}

int main(void)
{
	struct plan plan = {.trace_ack_us = 1, .trace_tick_us = 1};
	struct probe_report report;

	sampling_prober.start(&plan, 0);
	sampling_prober.mark(EVENT_CONNECTED, 1, 0);
	sampling_prober.count_udp(2, 1500, 1);
	sampling_prober.mark(EVENT_END, NO_FLOW, 0);
	sampling_prober.flush();
	sampling_prober.mark(EVENT_STOPPED, 1, 0);
	sampling_prober.count_udp(2, 3000, 2);
	sampling_prober.report(&plan, &report);
	printf("%llu %llu\n", (unsigned long long)report.records, (unsigned long long)report.bytes);
	return 0;
}
"""


def test_events_after_the_end_are_neither_written_nor_counted(tmp_path: Path) -> None:
    (tmp_path / "harness.c").write_text(HARNESS)
    include = [f"-I{AGENT_SOURCES}", f"-I{KMOD}"]
    sources = [str(tmp_path / "harness.c"), str(AGENT_SOURCES / "trace" / "trace_file.c")]
    compiler = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-pthread", *include, "-o", str(tmp_path / "harness")]
    subprocess.run([*compiler, *sources], check=True)

    output = run_program([tmp_path / "harness"], cwd=tmp_path, check=True).stdout

    records, bytes_written = map(int, output.split())
    trace = read_trace(tmp_path / "trace.bin")
    assert records == sum(map(len, trace.kinds().values())) == 3
    assert bytes_written == (tmp_path / "trace.bin").stat().st_size

"""The governor of a host's flows: at whatever instant it reads them, the shares are those of one instant."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from longhaul.orchestrator.system.installation import AGENT_SOURCES, KMOD
from tests.support.programs import run_program

# Time advances by a microsecond at each reading, and the second flow gets its share at one of them.
HARNESS = r"""
#include "traffic/governor.c"

static uint64_t now_us;
pthread_mutex_t traffic_lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t clock_now_ns(void) { return now_us++ * NS_PER_US; }
void clock_wait_surely(uint64_t at_ns) { (void)at_ns; }
uint64_t flow_end_us(const struct flow *flow) { return flow->stop_us; }
uint32_t nic_frame(const char *device) { (void)device; return 1; }
uint32_t nic_payload(const char *device) { (void)device; return 1; }
void *need_memory(size_t count, size_t size) { return calloc(count, size); }
void thread_start(void *(*run)(void *), void *argument) { (void)run, (void)argument; }
bool write_whole_file(const char *path, const char *text, size_t length) { (void)path, (void)text; return length; }
void writer_object(struct writer *writer, const char *key) { (void)writer, (void)key; }
void writer_unsigned(struct writer *writer, const char *key, uint64_t value) { (void)writer, (void)key, (void)value; }
void writer_end(struct writer *writer) { (void)writer; }
void die(const char *attempting, const char *subject, const char *hint, const char *what, ...)
{
	(void)attempting, (void)subject, (void)hint, (void)what;
	abort();
}

int main(int count, char **words)
{
	struct traffic traffic[2] = {{.sender_fd = -1}, {.sender_fd = -1}};
	struct flow_counters counters[2] = {0};
	struct node node = {.device = "eth0"};
	struct flow flows[2] = {
		{.from = &node, .stop_us = 1000000000, .counters = &counters[0], .traffic = &traffic[0]},
		{.from = &node, .stop_us = 1000000000, .counters = &counters[1], .traffic = &traffic[1]},
	};
	struct plan plan = {.flows = flows, .flow_count = 2};

	flows[0].start_us = strtoull(words[1], NULL, 10);
	flows[1].start_us = strtoull(words[2], NULL, 10);
	governor_prepare(&plan, &node, 1000000, 1);
	now_us = 1000000;
	deal(EVERY_NS);
	printf("%llu %llu\n", (unsigned long long)governed[0].share_bps, (unsigned long long)governed[1].share_bps);
	return count != 3;
}
"""
LOOK_US = 1_000_000
# A flow has its share for this long before its start.
AHEAD_US = 200_000


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("governor")
    (folder / "harness.c").write_text(HARNESS)
    command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-pthread", f"-I{AGENT_SOURCES}", f"-I{KMOD}"]
    subprocess.run([*command, "-o", str(folder / "harness"), str(folder / "harness.c")], check=True)
    return folder / "harness"


@pytest.mark.parametrize("first_us", [0, LOOK_US + AHEAD_US + 10**6], ids=["with another", "alone"])
def test_shares_are_those_of_one_instant(first_us: int, harness: Path) -> None:
    def shares(second_us: int) -> str:
        command = [str(harness), str(first_us), str(second_us)]
        return run_program(command, check=True).stdout

    known = {shares(0), shares(LOOK_US + AHEAD_US + 10**6)}
    assert len(known) == 2
    for later_us in range(12):
        assert shares(LOOK_US + AHEAD_US + later_us) in known

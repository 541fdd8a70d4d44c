/* The module gets its peers as lists of parameters, and then commands through /proc. */
#include "run/part.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "net/modules.h"
#include "system/fatal.h"

#define WIRES "/proc/lh_wire"
/* The guard puts the memory and the doorbell of each peer here, two descriptors a peer. */
#define FIRST_FD 8

static int wires_fd = -1;

void part_prepare(const struct plan *plan)
{
	const struct part *part = &plan->part;
	char numbers[128] = "", memory[128] = "", bells[128] = "", delays[512] = "",
	     counts[128] = "", parameters[1280];
	size_t used[5] = {0};

	if (!part->peer_count)
		return;
	for (size_t i = 0; i < part->peer_count; i++) {
		const char *comma = i ? "," : "";

		used[0] += (size_t)snprintf(numbers + used[0], sizeof(numbers) - used[0],
					    "%s%" PRIu32, comma, part->peers[i].number);
		used[1] += (size_t)snprintf(memory + used[1], sizeof(memory) - used[1], "%s%zu",
					    comma, FIRST_FD + 2 * i);
		used[2] += (size_t)snprintf(bells + used[2], sizeof(bells) - used[2], "%s%zu",
					    comma, FIRST_FD + 2 * i + 1);
		used[3] += (size_t)snprintf(delays + used[3], sizeof(delays) - used[3],
					    "%s%" PRIu64, comma, part->peers[i].least_delay_ns);
		used[4] += (size_t)snprintf(counts + used[4], sizeof(counts) - used[4],
					    "%s%" PRIu32, comma, part->peers[i].wires);
	}
	snprintf(parameters, sizeof(parameters),
		 "part=%" PRIu32
		 " peers=%s memory_fd=%s bell_fd=%s least_delay_ns=%s wires=%s window_ns=%" PRIu64
		 " arena_bytes=%" PRIu64 " seed=%" PRIu64 " spins=%" PRIu32,
		 part->number, numbers, memory, bells, delays, counts, part->window_ns,
		 part->arena_bytes, part->seed, part->spins);
	module_load("lh_wire", parameters);
	wires_fd = open(WIRES, O_RDWR | O_CLOEXEC);
	if (wires_fd < 0)
		die("opening the wires to other parts", WIRES, "lh_wire.ko makes it", "%s",
		    strerror(errno));
}

static void command(const char *line)
{
	if (write(wires_fd, line, strlen(line)) != (ssize_t)strlen(line))
		die("agreeing with the other parts of the run", line,
		    errno == EPROTO ? "the console log has the difference" : "", "%s",
		    strerror(errno));
}

uint64_t part_agree_epoch(const struct plan *plan, uint64_t proposed_ns)
{
	char text[256] = "";
	uint64_t agreed_ns;

	if (!plan->part.peer_count)
		return proposed_ns;
	snprintf(text, sizeof(text), "hello %" PRIu64, proposed_ns);
	command(text);
	if (pread(wires_fd, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "epoch_ns %" SCNu64, &agreed_ns) != 1)
		die("reading the instant of the start", WIRES, "", "%s", strerror(errno));
	return agreed_ns;
}

void part_end(const struct plan *plan)
{
	if (plan->part.peer_count)
		command("over");
}

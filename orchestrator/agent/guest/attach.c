/*
 * A net that Mininet has built has namespaces, wires and addresses. The agent completes it to what the
 * plan asks (qdiscs, offloads, bridges, neighbours, routes, settings), reads everything back, and runs
 * like every run. MARK becomes the alias of each device, which names its owner.
 */
#include "guest/attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/links.h"
#include "plan/run_json.h"
#include "run/run.h"
#include "system/fatal.h"

#define PLAN  "run.json"
#define USAGE "longhaul-agent attach|settle DIR MARK NODE=PID ..."

static void lend(struct plan *plan, const char *argument)
{
	const char *equals = strchr(argument, '=');
	size_t length = equals ? (size_t)(equals - argument) : 0;
	char *end;

	for (size_t i = 0; i < plan->node_count; i++) {
		struct node *node = &plan->nodes[i];

		if (strlen(node->name) != length || strncmp(node->name, argument, length))
			continue;
		node->process = (pid_t)strtol(equals + 1, &end, 10);
		if (node->process > 0 && !*end)
			return;
	}
	die("attaching to the net", argument, USAGE, "it is not a node of the plan and a process");
}

static void begin(struct plan *plan, int count, char **arguments)
{
	if (count < 2)
		die("attaching to the net", "", USAGE, "arguments are missing");
	if (chdir(arguments[0]))
		die("entering the run directory", arguments[0], "", "%s", strerror(errno));
	die_in_run();
	run_prepare();
	plan_read(PLAN, plan);
	links_mark(arguments[1]);
	for (int i = 2; i < count; i++)
		lend(plan, arguments[i]);
	for (size_t i = 0; i < plan->node_count; i++)
		if (!plan->nodes[i].process)
			die("attaching to the net", plan->nodes[i].name, USAGE,
			    "this node of the plan has no process");
}

_Noreturn void attach_run(int count, char **arguments)
{
	static struct plan plan;

	begin(&plan, count, arguments);
	run_execute(&plan);
	finish();
}

_Noreturn void attach_settle(int count, char **arguments)
{
	static struct plan plan;

	begin(&plan, count, arguments);
	run_set_up(&plan);
	leave(0);
}

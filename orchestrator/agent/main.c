/*
 * longhaul-agent: the program next to the packets. As the first process of a guest it executes one run;
 * in a net of Mininet it does the same from there; on a host it launches guests; and on a real host at the
 * end of a real path it runs the flows of that end.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guest/attach.h"
#include "guest/guard.h"
#include "guest/guest.h"
#include "guest/shell.h"
#include "host/endpoint.h"
#include "host/kernel_probe.h"
#include "host/runs.h"
#include "system/version.h"

int main(int count, char **arguments)
{
	if (getpid() == 1)
		guest_run();
	if (count >= 2 && !strcmp(arguments[1], "guard"))
		return guard_run(count - 2, arguments + 2);
	if (count >= 2 && !strcmp(arguments[1], "attach"))
		attach_run(count - 2, arguments + 2);
	if (count >= 2 && !strcmp(arguments[1], "settle"))
		attach_settle(count - 2, arguments + 2);
	if (count == 2 && !strcmp(arguments[1], "shell"))
		shell_run();
	if (count == 2 && !strcmp(arguments[1], "endpoint"))
		endpoint_run();
	if (count == 2 && !strcmp(arguments[1], "halt"))
		return halt_run();
	if (count >= 2 && !strcmp(arguments[1], "able"))
		return able_run(count - 2, arguments + 2);
	if (count == 2 && !strcmp(arguments[1], "version")) {
		puts("longhaul-agent " AGENT_VERSION);
		return 0;
	}
	fputs("usage: longhaul-agent guard ... | attach ... | settle ... | able ... | shell | endpoint | halt | version; as process 1 "
	      "of a guest it takes no arguments\n",
	      stderr);
	return 2;
}

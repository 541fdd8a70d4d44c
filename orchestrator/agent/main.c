/*
 * longhaul-agent: the program next to the packets. As the first process of a guest it carries out
 * one run; on a net of Mininet's it does the same from there; on a host it launches guests, and on a
 * real host at the end of a real path it carries out that end's share.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/kernel_probe.h"
#include "guest/attach.h"
#include "host/endpoint.h"
#include "guest/guard.h"
#include "guest/guest.h"
#include "host/runs.h"
#include "version.h"

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
	fputs("usage: longhaul-agent guard ... | attach ... | settle ... | able ... | endpoint | halt | version; as process 1 "
	      "of a guest it needs no words\n",
	      stderr);
	return 2;
}

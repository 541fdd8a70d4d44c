/* Modules are loaded in the plan's order; their parameters are read back. */
#include "net/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/module.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system/fatal.h"

void module_load(const char *name, const char *parameters)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "modules/%s.ko", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die("loading module", name, "`longhaul modules build` makes the modules", "%s: %s",
		    path, strerror(errno));
	if (syscall(SYS_finit_module, fd, parameters, 0))
		die("loading module", name,
		    errno == ENOEXEC ? "the module was built for another kernel"
				     : "the console log has the kernel's reason",
		    "%s%s%s%s", *parameters ? "parameters '" : "", parameters,
		    *parameters ? "': " : "", strerror(errno));
	close(fd);
}

/* A switch that was set to 1 or 0 reads Y or N. */
static bool same_value(const char *asked, const char *read_back)
{
	return !strcmp(asked, read_back) || (!strcmp(asked, "1") && !strcmp(read_back, "Y")) ||
	       (!strcmp(asked, "0") && !strcmp(read_back, "N"));
}

static void set_and_read_back(const char *attempting, const char *subject, const char *path,
			      const char *value, const char *hint)
{
	char read_back[128];
	ssize_t got = -1;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd >= 0 && write(fd, value, strlen(value)) > 0)
		got = pread(fd, read_back, sizeof(read_back) - 1, 0);
	if (got < 0)
		die(attempting, subject, hint, "%s=%s: %s", strrchr(path, '/') + 1, value,
		    strerror(errno));
	close(fd);
	read_back[got] = 0;
	read_back[strcspn(read_back, "\n")] = 0;
	if (!same_value(value, read_back))
		die(attempting, subject, "", "%s was asked to be %s and reads %s",
		    strrchr(path, '/') + 1, value, read_back);
}

void module_set_parameters(const struct module *module)
{
	char path[256];

	for (size_t i = 0; i < module->param_count; i++) {
		const struct pair *param = &module->params[i];

		snprintf(path, sizeof(path), "/sys/module/%s/parameters/%s", module->name,
			 param->name);
		set_and_read_back(
			"setting a parameter of module", module->name, path, param->value,
			"the guest kernel may not have it, or fix it once the module is loaded");
	}
}

/*
 * Writes the files that users' modules have made. One that is there before the modules are is the kernel's, and would change
 * what the plan says.
 */
static void refuse_knobs_of_kernel(const struct plan *plan)
{
	for (size_t i = 0; i < plan->knob_count; i++)
		if (!access(plan->knobs[i].name, F_OK))
			die("setting", plan->knobs[i].name,
			    "name a file that a module of the experiment makes",
			    "it is a file of the kernel");
}

static void set_knobs(const struct plan *plan)
{
	for (size_t i = 0; i < plan->knob_count; i++) {
		const struct pair *knob = &plan->knobs[i];

		set_and_read_back(
			"setting", knob->name, knob->name, knob->value,
			"no module of the experiment makes this file, or it takes no such value");
	}
}

void modules_load(const struct plan *plan)
{
	char parameters[1024];

	/* The owner of a host's kernel loads its modules. */
	if (plan->on_host)
		return;
	refuse_knobs_of_kernel(plan);
	if (!plan->real_clock) {
		snprintf(parameters, sizeof(parameters), "fd=5 tick_us=%u ack_us=%u%s%s",
			 plan->trace_tick_us, plan->trace_ack_us,
			 plan->trace_departures ? " departures=1" : "",
			 plan->trace_decisions ? " decisions=1" : "");
		module_load("lh_trace", parameters);
	}
	for (size_t i = 0; i < plan->module_count; i++) {
		const struct module *module = &plan->modules[i];
		size_t used = 0;

		if (module->builtin) {
			module_set_parameters(module);
			continue;
		}
		*parameters = 0;
		for (size_t j = 0; j < module->param_count && used < sizeof(parameters); j++)
			used += (size_t)snprintf(parameters + used, sizeof(parameters) - used,
						 "%s%s=%s", j ? " " : "", module->params[j].name,
						 module->params[j].value);
		if (used >= sizeof(parameters))
			die("loading module", module->name, "", "its parameters are too long");
		module_load(module->name, parameters);
	}
	set_knobs(plan);
}

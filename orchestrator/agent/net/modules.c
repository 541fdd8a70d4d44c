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
		    "parameters '%s': %s", parameters, strerror(errno));
	close(fd);
}

/* A switch that was set to 1 or 0 reads Y or N. */
static bool same_value(const char *asked, const char *read_back)
{
	return !strcmp(asked, read_back) || (!strcmp(asked, "1") && !strcmp(read_back, "Y")) ||
	       (!strcmp(asked, "0") && !strcmp(read_back, "N"));
}

void module_set_parameters(const struct module *module)
{
	char path[256], read_back[128];

	for (size_t i = 0; i < module->param_count; i++) {
		const struct pair *param = &module->params[i];
		ssize_t got = -1;
		int fd;

		snprintf(path, sizeof(path), "/sys/module/%s/parameters/%s", module->name,
			 param->name);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && write(fd, param->value, strlen(param->value)) > 0)
			got = pread(fd, read_back, sizeof(read_back) - 1, 0);
		if (got < 0)
			die("setting a parameter of module", module->name,
			    "the guest kernel may not have it, or fix it once the module is loaded",
			    "%s=%s: %s", param->name, param->value, strerror(errno));
		close(fd);
		read_back[got] = 0;
		read_back[strcspn(read_back, "\n")] = 0;
		if (!same_value(param->value, read_back))
			die("reading back a parameter of module", module->name, "",
			    "%s was asked to be %s and reads %s", param->name, param->value,
			    read_back);
	}
}

void modules_load(const struct plan *plan)
{
	char parameters[1024];

	/* The owner of a host's kernel loads its modules. */
	if (plan->on_host)
		return;
	if (!plan->real_clock) {
		snprintf(parameters, sizeof(parameters), "fd=5 tick_us=%u ack_us=%u%s",
			 plan->trace_tick_us, plan->trace_ack_us,
			 plan->trace_departures ? " departures=1" : "");
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
}

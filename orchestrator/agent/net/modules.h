/* Kernel modules and their parameters. */
#ifndef LONGHAUL_MODULES_H
#define LONGHAUL_MODULES_H

#include "plan/plan.h"

/* Loads lh_trace where it traces, and then the plan's modules, in order. */
void modules_load(const struct plan *plan);
/* Loads modules/<name>.ko with these parameters. */
void module_load(const char *name, const char *parameters);
/* Sets parameters of a module that is there, and reads them back. */
void module_set_parameters(const struct module *module);

#endif

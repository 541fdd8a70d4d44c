/* A guest that has started and loaded its modules, and that the kernel copies for run after run. */
#ifndef LONGHAUL_TEMPLATE_H
#define LONGHAUL_TEMPLATE_H

#include <stdbool.h>

#include "plan/plan.h"

#define PLAN "run.json"
/* Has another name than the plan of a copy, so that neither is taken for the other. */
#define TEMPLATE_PLAN "template.json"

/* Whether this guest is a template; in its copies too. */
bool template_is_asked(void);

/* In a template this returns in each copy, with the plan of the copy's run. */
void template_serve(struct plan *plan);

#endif

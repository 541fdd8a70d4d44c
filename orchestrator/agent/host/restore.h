/*
 * What a run changes on a machine that is not its own is written down before it is changed, in a file of its
 * run directory; whoever is left puts it back: the run itself, its supervisor, or the next one to come.
 */
#ifndef LONGHAUL_UNDO_H
#define LONGHAUL_UNDO_H

#include <stdbool.h>

#include "plan/plan.h"

/* Notes the modules that the run's congestion controls bring, which are not there yet; then has the kernel load them. */
void undo_load_controls(const struct plan *plan, const struct node *node);
/* Sets a module's parameters, as modules.h does, having noted what they were. */
void undo_set_parameters(const struct module *module);
/* Notes the modules that the queues of a device bring, and that the device gets queues. */
void undo_note_queues(const struct end *end);
/* Puts back what the run of this directory has changed; how many things could not be. Again and again is the same as once. */
int undo_all(const char *directory);

#endif

/*
 * What a run changes on a machine that others use too is written down before it is changed, in a file of its
 * run directory, and put back by what is left: the run itself, its supervisor, or the next run.
 */
#ifndef LONGHAUL_RESTORE_H
#define LONGHAUL_RESTORE_H

#include "plan/plan.h"

/* Notes the modules of the run's congestion controls that are not loaded yet; then has the kernel load them. */
void undo_load_controls(const struct plan *plan, const struct node *node);
/* Sets a module's parameters, as modules.h does, having noted what they were. */
void undo_set_parameters(const struct module *module);
/* Notes the modules of a device's queues that are not loaded yet, and that the device gets queues. */
void undo_note_queues(const struct end *end);
/* Puts back what the run of this directory has changed; how many things could not be. Again and again is the same as once. */
int undo_all(const char *directory);

#endif

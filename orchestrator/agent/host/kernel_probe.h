/* Whether a kernel can do what a plan needs, by asking it. */
#ifndef LONGHAUL_KERNEL_PROBE_H
#define LONGHAUL_KERNEL_PROBE_H

/* able qdisc:KIND link:KIND cc:NAME ...: prints those that this kernel does not know, in one line. */
int able_run(int count, char **arguments);

#endif

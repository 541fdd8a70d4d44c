/* SPDX-License-Identifier: GPL-2.0 */
/* For kernels that have it elsewhere: Linux 6.12 moved it. The kernel's own headers are found first. */
#include <linux/unaligned.h>

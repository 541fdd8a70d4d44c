/* SPDX-License-Identifier: GPL-2.0 */
/* For kernels before 6.12, which have it elsewhere. The kernel's own headers are found first. */
#include <asm/unaligned.h>

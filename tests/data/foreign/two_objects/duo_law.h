/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/types.h>

u32 duo_law(u32 window);

// SPDX-License-Identifier: GPL-2.0
#include <linux/types.h>

u32 alone_share(u32 window);
u32 alone_law(u32 window);

u32 alone_law(u32 window)
{
	return window - alone_share(window);
}

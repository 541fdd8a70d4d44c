// SPDX-License-Identifier: GPL-2.0
#include "duo_law.h"

u32 duo_law(u32 window)
{
	return window * 7 / 8;
}

// SPDX-License-Identifier: GPL-2.0
static u32 law_of(u32 window)
{
	return window * 9 / 10;
}

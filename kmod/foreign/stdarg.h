/* SPDX-License-Identifier: GPL-2.0 */
/* Moved by Linux 5.15. */
#if __has_include(<linux/stdarg.h>)
#include <linux/stdarg.h>
#else
#include_next <stdarg.h>
#endif

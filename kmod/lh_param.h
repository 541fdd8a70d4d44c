/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A parameter is declared once, by one line of a module's source:
 *
 *	LH_PARAM(name, unit, default, low, high, "meaning");
 *
 * From it come the module parameter (writing a value outside its range is refused, at load and later), the text of
 * modinfo, and, because orchestrator/spec/parameters.py reads the same line, everything Longhaul says and checks about it.
 * Units: number, switch, packets, us, ms, s, kbit_s, thousandths (1500 is 1.5).
 *
 * LH_SOCKET_PARAM declares one that belongs to a socket instead, and the socket option that carries it.
 */
#ifndef LH_PARAM_H
#define LH_PARAM_H

#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>

struct lh_range {
	unsigned int *value;
	unsigned int low;
	unsigned int high;
};

static int lh_param_set(const char *text, const struct kernel_param *param)
{
	const struct lh_range *range = param->arg;
	unsigned int value;
	int err = kstrtouint(text, 0, &value);

	if (err)
		return err;
	if (value < range->low || value > range->high)
		return -ERANGE;
	WRITE_ONCE(*range->value, value);
	return 0;
}

static int lh_param_get(char *text, const struct kernel_param *param)
{
	const struct lh_range *range = param->arg;

	return sprintf(text, "%u\n", READ_ONCE(*range->value));
}

static const struct kernel_param_ops lh_param_ops = {
	.set = lh_param_set,
	.get = lh_param_get,
};

#define LH_PARAM(name, unit, initial, least, most, about)                                                              \
	static unsigned int name __read_mostly = (initial);                                                            \
	static_assert((least) <= (initial) && (initial) <= (most));                                                    \
	static const struct lh_range lh_range_##name = { &(name), (least), (most) };                                   \
	module_param_cb(name, &lh_param_ops, (void *)&lh_range_##name, 0644);                                          \
	__MODULE_PARM_TYPE(name, "uint");                                                                              \
	MODULE_PARM_DESC(name, about " [" #unit " " #least ".." #most ", default " #initial "]")

#define LH_SOCKET_PARAM(name, option, unit, least, most, about) static_assert((least) <= (most))

#endif

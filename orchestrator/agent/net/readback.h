/* Whatever is set on a device is read back and compared; a difference is fatal. */
#ifndef LONGHAUL_READBACK_H
#define LONGHAUL_READBACK_H

#include "plan/plan.h"

/* Refuses a value read back: names node, device, option, what was asked and what was read. */
_Noreturn void refuse_reading(const struct end *end, const char *option, const char *asked,
			      const char *read);
/* The same for numbers, only if they differ. */
void compare_number(const struct end *end, const char *option, uint64_t asked, uint64_t read);

#endif

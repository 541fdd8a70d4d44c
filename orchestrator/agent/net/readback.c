/* Names the device, the option, the value asked for and the value read: enough to find the fault. */
#include "net/readback.h"

#include <stdio.h>

#include "system/fatal.h"

_Noreturn void refuse_reading(const struct end *end, const char *option, const char *asked,
			      const char *read)
{
	char subject[128];

	snprintf(subject, sizeof(subject), "%s of node %s", end->dev, end->node->name);
	die("reading back", subject, "the guest kernel does not do what the plan needs",
	    "%s was asked to be %s and reads %s", option, asked, read);
}

void compare_number(const struct end *end, const char *option, uint64_t asked, uint64_t read)
{
	char asked_text[24], read_text[24];

	if (asked == read)
		return;
	snprintf(asked_text, sizeof(asked_text), "%llu", (unsigned long long)asked);
	snprintf(read_text, sizeof(read_text), "%llu", (unsigned long long)read);
	refuse_reading(end, option, asked_text, read_text);
}

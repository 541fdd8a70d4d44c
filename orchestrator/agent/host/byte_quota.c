/* One line: "DAY BYTES", the day counted from 1970. */
#include "host/byte_quota.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "system/fatal.h"
#include "system/files.h"

#define FOLDER	  "/var/lib/longhaul"
#define FILE_NAME FOLDER "/volume"
#define DAY_S	  86400

static uint64_t today(void)
{
	return (uint64_t)time(NULL) / DAY_S;
}

uint64_t volume_today(void)
{
	FILE *file = fopen(FILE_NAME, "re");
	uint64_t day = 0, bytes = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%" SCNu64 " %" SCNu64, &day, &bytes) != 2 || day != today())
		bytes = 0;
	fclose(file);
	return bytes;
}

void volume_add(uint64_t bytes)
{
	char line[64];
	int length;

	if (!bytes)
		return;
	length = snprintf(line, sizeof(line), "%" PRIu64 " %" PRIu64 "\n", today(),
			  volume_today() + bytes);
	mkdir(FOLDER, 0755);
	if (!write_whole_file(FILE_NAME, line, (size_t)length))
		say("writing %s: %s", FILE_NAME, strerror(errno));
}

/* See actor.h. */
#include "bench/load/fleet/actor.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/buf.h"

bool actor_find(const char *id, const char *kind, int64_t count, uint32_t *out)
{
	size_t len = strlen(kind);
	unsigned long number;
	char *end;

	if (!str_has_prefix(id, kind) || id[len] != '(' || !isdigit((unsigned char)id[len + 1]))
		return false;
	number = strtoul(id + len + 1, &end, 10);
	if (strcmp(end, ")") != 0 || number < 1 || number > (unsigned long)count)
		return false;
	*out = (uint32_t)number - 1;
	return true;
}

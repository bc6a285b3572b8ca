/* Lists of what a client accepts: "text/html, gzip;q=0.5". The most specific name that the
 * list has decides; a q of 0 refuses it, a q that is no number does, too. */
#include "net/http/http_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ITEM_MAX 128 /* no name of interest is longer */

/* Copies up to the separator without blanks. Returns where the next one starts. */
static const char *next_item(const char *list, char separator, char out[ITEM_MAX])
{
	size_t len = 0;

	for (; *list && *list != separator; list++)
		if (*list != ' ' && *list != '\t' && len < ITEM_MAX - 1)
			out[len++] = *list;
	out[len] = '\0';
	return *list ? list + 1 : NULL;
}

static bool is_allowed(const char *parameters)
{
	char parameter[ITEM_MAX];

	while (parameters) {
		parameters = next_item(parameters, ';', parameter);
		if (strncmp(parameter, "q=", 2) == 0) {
			char *end;
			double q = strtod(parameter + 2, &end);
			return *end == '\0' && end != parameter + 2 && q > 0;
		}
	}
	return true;
}

/* 1 allowed, 0 refused, -1 not in the list. */
static int look_up(const char *list, const char *name)
{
	char item[ITEM_MAX], key[ITEM_MAX];

	while (list) {
		list = next_item(list, ',', item);
		const char *parameters = next_item(item, ';', key);
		if (strcasecmp(key, name) == 0)
			return is_allowed(parameters);
	}
	return -1;
}

bool http_accepts(const char *list, const char *name, const char *class, const char *any)
{
	int found = look_up(list, name);

	if (found < 0 && class)
		found = look_up(list, class);
	if (found < 0)
		found = look_up(list, any);
	return found > 0;
}

#include "lab/world/numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"

static bool numbers_parse_one(const char **text, uint64_t *out)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*out = strtoull(*text, &end, 10);
	*text = end;
	return !errno;
}

static void numbers_add(struct numbers *n, uint64_t number)
{
	if ((n->count & (n->count - 1)) == 0)
		n->items = xrealloc(n->items, (n->count ? 2 * n->count : 1) * sizeof(*n->items));
	n->items[n->count++] = number;
}

bool numbers_parse(const char *text, struct numbers *out)
{
	uint64_t first, last;

	*out = (struct numbers){0};
	if (!strcmp(text, "none"))
		return true;
	do {
		if (!numbers_parse_one(&text, &first))
			break;
		last = first;
		if (*text == '-') {
			text++;
			if (!numbers_parse_one(&text, &last))
				break;
		}
		if (last < first || last - first >= NUMBERS_MAX - out->count ||
		    (out->count && first <= out->items[out->count - 1]))
			break;
		for (uint64_t i = 0; i <= last - first; i++)
			numbers_add(out, first + i);
		if (!*text)
			return true;
	} while (*text++ == ',');
	numbers_free(out);
	return false;
}

void numbers_print(const struct numbers *n, struct buf *out)
{
	if (!n->count)
		buf_puts(out, "none");
	for (size_t i = 0; i < n->count; i++) {
		size_t from = i;

		while (i + 1 < n->count && n->items[i + 1] == n->items[i] + 1)
			i++;
		buf_printf(out, "%s%llu", from ? "," : "", (unsigned long long)n->items[from]);
		if (i > from)
			buf_printf(out, "-%llu", (unsigned long long)n->items[i]);
	}
}

bool numbers_have(const struct numbers *n, uint64_t number)
{
	size_t low = 0, high = n->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (n->items[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n->count && n->items[low] == number;
}

void numbers_fill(struct numbers *n, uint64_t first, uint64_t last)
{
	*n = (struct numbers){0};
	for (uint64_t i = first; i <= last; i++)
		numbers_add(n, i);
}

void numbers_without(const struct numbers *n, size_t from, size_t to, struct numbers *out)
{
	*out = (struct numbers){0};
	for (size_t i = 0; i < n->count; i++) {
		if (i < from || i >= to)
			numbers_add(out, n->items[i]);
	}
}

void numbers_free(struct numbers *n)
{
	free(n->items);
	*n = (struct numbers){0};
}

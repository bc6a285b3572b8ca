/* Lookup by bisection. */
#include "base/texts.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"

struct text_place {
	const char *text;
	size_t at;
};

static int texts_compare(const void *left, const void *right)
{
	const struct text_place *a = left, *b = right;
	int order = strcmp(a->text, b->text);

	return order ? order : (a->at > b->at) - (a->at < b->at);
}

void texts_index(struct texts *texts, const char *const *list, size_t count)
{
	texts->sorted = xcalloc(count + 1, sizeof(*texts->sorted));
	texts->count = count;
	for (size_t i = 0; i < count; i++)
		texts->sorted[i] = (struct text_place){list[i], i};
	if (count > 1)
		qsort(texts->sorted, count, sizeof(*texts->sorted), texts_compare);
}

void texts_free(struct texts *texts)
{
	free(texts->sorted);
	*texts = (struct texts){0};
}

size_t texts_find(const struct texts *texts, const char *text)
{
	size_t low = 0, high = texts->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(texts->sorted[middle].text, text) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == texts->count || strcmp(texts->sorted[low].text, text))
		return TEXTS_NONE;
	return texts->sorted[low].at;
}

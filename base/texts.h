/* A list of texts, to look many up in it: names that come from outside may be thousands, and
 * each compared with each of another list would take seconds. */
#ifndef BASE_TEXTS_H
#define BASE_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

struct text_place;

struct texts {
	struct text_place *sorted;
	size_t count;
};

#define TEXTS_NONE ((size_t)-1)

/* The list and what is in it stay the caller's, and as they are as long as this is used. */
void texts_index(struct texts *texts, const char *const *list, size_t count);
void texts_free(struct texts *texts);
/* Where the text stands in the list for the first time; TEXTS_NONE if it does not. */
size_t texts_find(const struct texts *texts, const char *text);
static inline bool texts_have(const struct texts *texts, const char *text)
{
	return texts_find(texts, text) != TEXTS_NONE;
}

#endif

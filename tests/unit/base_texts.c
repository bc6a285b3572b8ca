/* Looking texts up in a list. */
#include <criterion/criterion.h>

#include "base/texts.h"

Test(texts, say_where_a_text_stands_first)
{
	const char *const list[] = {"b", "a", "c", "a", "", "b"};
	struct texts texts;

	texts_index(&texts, list, 6);
	cr_expect_eq(texts_find(&texts, "a"), 1);
	cr_expect_eq(texts_find(&texts, "b"), 0);
	cr_expect_eq(texts_find(&texts, "c"), 2);
	cr_expect_eq(texts_find(&texts, ""), 4);
	cr_expect_eq(texts_find(&texts, "aa"), TEXTS_NONE);
	cr_expect_eq(texts_find(&texts, "d"), TEXTS_NONE);
	cr_expect(texts_have(&texts, "c") && !texts_have(&texts, "C"));
	texts_free(&texts);
}

Test(texts, of_nothing_have_nothing)
{
	struct texts texts;

	texts_index(&texts, NULL, 0);
	cr_expect_not(texts_have(&texts, ""));
	texts_free(&texts);
}

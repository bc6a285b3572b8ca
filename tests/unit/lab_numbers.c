/* Sets of numbers, and their text. */
#include <criterion/criterion.h>

#include "lab/world/numbers.h"

static void expect_text(const struct numbers *n, const char *text)
{
	struct buf out = BUF_INIT;

	numbers_print(n, &out);
	cr_expect_str_eq(out.data, text);
	buf_free(&out);
}

static void expect_same(const char *text, const char *printed)
{
	struct numbers n;

	cr_assert(numbers_parse(text, &n), "%s", text);
	expect_text(&n, printed);
	numbers_free(&n);
}

Test(lab_numbers, texts)
{
	expect_same("none", "none");
	expect_same("0", "0");
	expect_same("3,17,40-42", "3,17,40-42");
	expect_same("1-1", "1");
	expect_same("1,2,3", "1-3");
	expect_same("1-3,4-5,7", "1-5,7");
	expect_same("18446744073709551615", "18446744073709551615");
}

Test(lab_numbers, what_is_none)
{
	static const char *const bad[] = {
		"",	      "x",	    "1,",  ",1", "1,,2", "-1",
		"1-",	      "2-1",	    "1 ",  " 1", "1,1",	 "3,2",
		"1-3,3",      "none,1",	    "1;2", "+1", "0x10", "18446744073709551616",
		"1-99999999", "1-10000001",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct numbers n;

		cr_expect_not(numbers_parse(bad[i], &n), "%s", bad[i]);
		cr_expect_eq(n.count, 0);
		numbers_free(&n);
	}
}

Test(lab_numbers, members)
{
	struct numbers n;

	cr_assert(numbers_parse("2,5-7,100", &n));
	for (uint64_t i = 0; i < 102; i++)
		cr_expect_eq(numbers_have(&n, i), i == 2 || (i >= 5 && i <= 7) || i == 100);
	numbers_free(&n);
	cr_assert(numbers_parse("none", &n));
	cr_expect_not(numbers_have(&n, 0));
	numbers_free(&n);
}

Test(lab_numbers, parts_of_sets)
{
	struct numbers n = {0}, less;

	numbers_fill(&n, 3, 9);
	expect_text(&n, "3-9");
	numbers_without(&n, 0, 0, &less);
	expect_text(&less, "3-9");
	numbers_free(&less);
	numbers_without(&n, 1, 3, &less);
	expect_text(&less, "3,6-9");
	numbers_free(&less);
	numbers_without(&n, 5, 100, &less);
	expect_text(&less, "3-7");
	numbers_free(&less);
	numbers_without(&n, 0, n.count, &less);
	expect_text(&less, "none");
	numbers_free(&less);
	numbers_free(&n);
	numbers_fill(&n, 1, 0);
	expect_text(&n, "none");
	numbers_free(&n);
}

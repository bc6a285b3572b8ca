/* CRAM-MD5 against the example of RFC 2195, and answers that are none. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "auth/cram_md5.h"

#define CHALLENGE "<1896.697170952@postoffice.reston.mci.net>"
#define DIGEST "b913a602c7eda7a495b4e6e7334d3890"

static struct credentials *known;
static struct arena arena;

static void set_up(void)
{
	char path[] = "/tmp/mesita-credentials-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	struct err err = {""};

	fputs("{\"credentials\":[{\"principal\":\"tim\",\"secret\":\"tanstaaftanstaaf\"},"
	      "{\"principal\":\"a "
	      "b\",\"secret\":\"x\"},{\"principal\":\"\xc3\xa9\",\"secret\":\"\"}]}",
	      file);
	fclose(file);
	cr_assert_eq(credentials_load(path, "credentials", &known, &err), 0, "%s", err.text);
	remove(path);
	arena_init(&arena);
}

static void tear_down(void)
{
	credentials_free(known);
	arena_free(&arena);
}

TestSuite(auth_cram_md5, .init = set_up, .fini = tear_down);

static struct slice of(const char *text)
{
	return (struct slice){text, strlen(text)};
}

static const char *check(const char *answer)
{
	return cram_md5_check(&arena, known, CHALLENGE, of(answer));
}

Test(auth_cram_md5, example_of_the_standard)
{
	char digest[CRAM_MD5_DIGEST];

	cram_md5_digest("tanstaaftanstaaf", of(CHALLENGE), digest);
	cr_expect_str_eq(digest, DIGEST);
	cr_expect_str_eq(cram_md5_answer(&arena, "tim", "tanstaaftanstaaf", of(CHALLENGE)),
			 "tim " DIGEST);
	cr_expect_str_eq(check("tim " DIGEST), "tim");
}

Test(auth_cram_md5, answers_that_are_none)
{
	static const char *const wrong[] = {
		"",
		" ",
		"tim",
		"tim ",
		"tim b913a602c7eda7a495b4e6e7334d389",
		"tim " DIGEST "0",
		"tim b913a602c7eda7a495b4e6e7334d3891",
		"tim B913A602C7EDA7A495B4E6E7334D3890",
		"tom " DIGEST,
		" " DIGEST,
		DIGEST,
		"tim" DIGEST,
		"tim " DIGEST " ",
		"tim  " DIGEST,
		" tim " DIGEST,
	};
	char longest[CRAM_MD5_ANSWER_MAX + 100];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		cr_expect_null(check(wrong[i]), "'%s'", wrong[i]);
	cr_expect_null(cram_md5_check(&arena, known, CHALLENGE,
				      (struct slice){"tim\0 " DIGEST, 4 + 1 + 32}));
	memset(longest, ' ', sizeof(longest));
	cr_expect_null(
		cram_md5_check(&arena, known, CHALLENGE, (struct slice){longest, sizeof(longest)}));
	cr_expect_null(cram_md5_check(&arena, known, "<other>", of("tim " DIGEST)));
}

Test(auth_cram_md5, principals_of_any_letters)
{
	cr_expect_str_eq(check(cram_md5_answer(&arena, "a b", "x", of(CHALLENGE))), "a b");
	cr_expect_str_eq(check(cram_md5_answer(&arena, "\xc3\xa9", "", of(CHALLENGE))), "\xc3\xa9");
	cr_expect_null(check(cram_md5_answer(&arena, "nobody", "", of(CHALLENGE))));
}

Test(auth_cram_md5, challenges_differ)
{
	const char *one, *other;
	struct rng rng;

	rng_seed(&rng, 1);
	one = cram_md5_challenge(&arena, &rng, 1700000000000000000, "h");
	other = cram_md5_challenge(&arena, &rng, 1700000000000000000, "h");
	cr_expect_str_neq(one, other);
	cr_expect_eq(one[0], '<');
	cr_expect(strstr(one, ".1700000000@h>"), "%s", one);
}

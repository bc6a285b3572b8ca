/* Tokens: the example of RFC 7515 (A.1), and tokens that are none. */
#include <criterion/criterion.h>

#include "auth/hmac.h"
#include "auth/jwt.h"
#include "base/base64.h"
#include "base/time/clock.h"

#define NOW ((int64_t)1300819000 * SECOND)

static const char *const EXAMPLE = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
				   "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leG"
				   "FtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
				   "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
static const char *const EXAMPLE_KEY =
	"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
static const struct slice SECRET = {"open sesame", 11};

static struct arena arena;
static const struct json *claims;
static struct err err;

static void set_up(void)
{
	arena_init(&arena);
}

static void tear_down(void)
{
	arena_free(&arena);
}

TestSuite(auth_jwt, .init = set_up, .fini = tear_down);

/* A token of any parts, well signed. */
static const char *signed_token(const char *header, const char *body)
{
	struct buf token = BUF_INIT;
	unsigned char digest[HMAC_SHA256_BYTES];
	const char *text;

	base64url_encode(&token, header, strlen(header));
	buf_putc(&token, '.');
	base64url_encode(&token, body, strlen(body));
	hmac_sha256(SECRET.data, SECRET.len, token.data, token.len, digest);
	buf_putc(&token, '.');
	base64url_encode(&token, digest, sizeof(digest));
	text = arena_strdup(&arena, token.data);
	buf_free(&token);
	return text;
}

static void expect(const char *token, const char *wrong)
{
	int rv = jwt_read(&arena, SECRET, token, NOW, &claims, &err);

	cr_assert_eq(rv, ERR_INVALID, "%s", token);
	cr_assert_str_eq(err.text, wrong);
}

Test(auth_jwt, reads_what_others_made)
{
	char key[128];
	struct slice secret = {key, 0};
	int64_t expires = 0;

	secret.len = (size_t)base64url_decode(EXAMPLE_KEY, strlen(EXAMPLE_KEY), key);
	cr_assert_eq(secret.len, 64);
	cr_assert_eq(jwt_read(&arena, secret, EXAMPLE, NOW, &claims, &err), 0, "%s", err.text);
	cr_assert_str_eq(json_get_string(claims, "iss"), "joe");
	cr_assert(json_integer(json_get(claims, "exp"), &expires));
	cr_assert_eq(jwt_read(&arena, secret, EXAMPLE, expires * SECOND, &claims, &err),
		     ERR_INVALID);
	cr_assert_str_eq(err.text, "it has expired");
	cr_assert_eq(jwt_read(&arena, secret, EXAMPLE, expires * SECOND - 1000, &claims, &err), 0);
	cr_assert_eq(jwt_read(&arena, SECRET, EXAMPLE, NOW, &claims, &err), ERR_INVALID);
	cr_assert_str_eq(err.text, "its signature does not match");
}

Test(auth_jwt, reads_what_it_made)
{
	const char *token = jwt_make(
		&arena, SECRET, (const char *const[]){"fid", "f \"1\"", "eid", "\xc3\xa9", NULL});

	cr_assert_eq(jwt_read(&arena, SECRET, token, NOW, &claims, &err), 0, "%s", err.text);
	cr_assert_str_eq(json_get_string(claims, "fid"), "f \"1\"");
	cr_assert_str_eq(json_get_string(claims, "eid"), "\xc3\xa9");
	cr_assert_eq(claims->count, 2);
	cr_assert_null(strpbrk(token, "=+/"));
}

Test(auth_jwt, each_changed_character_counts)
{
	const char *token = jwt_make(&arena, SECRET, (const char *const[]){"fid", "f", NULL});

	for (size_t i = 0; token[i]; i++) {
		char *other = arena_strdup(&arena, token);

		other[i] = other[i] == 'A' ? 'B' : 'A';
		cr_expect_eq(jwt_read(&arena, SECRET, other, NOW, &claims, &err), ERR_INVALID,
			     "%zu", i);
		other[i] = '\0';
		cr_expect_eq(jwt_read(&arena, SECRET, other, NOW, &claims, &err), ERR_INVALID,
			     "cut at %zu", i);
	}
}

Test(auth_jwt, says_what_is_wrong)
{
	static const char *const good = "{\"alg\":\"HS256\",\"typ\":\"JWT\"}";
	char *endless = arena_alloc(&arena, JWT_MAX + 2);

	expect("", "it does not have three parts");
	expect("a.b", "it does not have three parts");
	expect("a.b.c.d", "it does not have three parts");
	expect("a+==.b.c", "its header is not base64url");
	expect("e30=.e30.x", "its header is not base64url");
	expect("W10.e30.x", "its header is no JSON object");
	expect(signed_token("{}", "{}"), "it is not signed by HS256");
	expect(signed_token("{\"alg\":\"none\"}", "{}"), "it is not signed by HS256");
	expect(signed_token("{\"alg\":\"HS512\"}", "{}"), "it is not signed by HS256");
	expect(signed_token("{\"alg\":\"HS256\",\"typ\":\"X\"}", "{}"), "its type is not JWT");
	expect(signed_token("{\"alg\":\"HS256\",\"crit\":[]}", "{}"), "it has critical extensions");
	expect(signed_token(good, "[]"), "its body is no JSON object");
	expect(signed_token(good, "{\"exp\":\"x\"}"), "its 'exp' is no number");
	expect(signed_token(good, "{\"exp\":1}"), "it has expired");
	cr_assert_eq(jwt_read(&arena, SECRET, signed_token("{\"alg\":\"HS256\"}", "{}"), NOW,
			      &claims, &err),
		     0);
	memset(endless, '.', JWT_MAX + 1);
	endless[JWT_MAX + 1] = '\0';
	endless[0] = 'a';
	expect(endless, "it does not have three parts");
}

Test(auth_jwt, base64url)
{
	struct buf text = BUF_INIT;
	unsigned char bytes[256], back[BASE64_DECODED(400)];

	for (int i = 0; i < 256; i++)
		bytes[i] = (unsigned char)(i * 7);
	for (size_t len = 0; len < 256; len++) {
		buf_clear(&text);
		base64url_encode(&text, bytes, len);
		cr_assert_eq(base64url_decode(text.data, text.len, back), (long)len);
		cr_assert_eq(memcmp(bytes, back, len), 0);
	}
	buf_free(&text);
	cr_assert_eq(base64url_decode("A", 1, back), -1);
	cr_assert_eq(base64url_decode("AA=", 3, back), -1);
	cr_assert_eq(base64url_decode("A A", 3, back), -1);
	cr_assert_eq(base64url_decode("A/AA", 4, back), -1);
}

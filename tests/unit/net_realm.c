/* Files of credentials, and realms that ask for them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "auth/credentials.h"
#include "auth/jwt.h"
#include "base/base64.h"
#include "net/daemon/realm.h"
#include "net_server.h"

static int load_text(const char *text, size_t len, struct credentials **out, struct err *err)
{
	char path[] = "/tmp/mesita-credentials-XXXXXX";
	int fd = mkstemp(path), rv;

	cr_assert_eq(write(fd, text, len), (ssize_t)len);
	close(fd);
	rv = credentials_load(path, "credentials", out, err);
	unlink(path);
	return rv;
}

static struct credentials *load(const char *text)
{
	struct credentials *c = NULL;
	struct err err = {{0}};

	cr_assert_eq(load_text(text, strlen(text), &c, &err), 0, "%s: %s", text, err.text);
	return c;
}

Test(credentials, both_forms)
{
	static const char *const texts[] = {
		"p secret\nq other\n",
		"\n\np \t secret   \r\n\nq other",
		"{\"credentials\":[{\"principal\":\"p\",\"secret\":\"secret\"},"
		"{\"principal\":\"q\",\"secret\":\"other\"}]}",
		"p secret\nq other\np second\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct credentials *c = load(texts[i]);

		cr_expect(credentials_match(c, "p", "secret"), "%zu", i);
		cr_expect(credentials_match(c, "q", "other"), "%zu", i);
		cr_expect_not(credentials_match(c, "p", "other"));
		cr_expect_not(credentials_match(c, "p", "second"), "the first one counts");
		cr_expect_not(credentials_match(c, "p", "secre"));
		cr_expect_not(credentials_match(c, "p", "secrets"));
		cr_expect_not(credentials_match(c, "p", "secretsecret"));
		cr_expect_not(credentials_match(c, "p", ""));
		cr_expect_not(credentials_match(c, "r", "secret"));
		cr_expect_not(credentials_match(c, "", ""));
		credentials_free(c);
	}
}

Test(credentials, a_secret_may_be_empty)
{
	struct credentials *c = load("{\"credentials\":[{\"principal\":\"p\"}]}");

	cr_expect(credentials_match(c, "p", ""));
	cr_expect_not(credentials_match(c, "p", "x"));
	cr_expect_not(credentials_match(c, "q", ""), "of nobody nothing matches");
	credentials_free(c);
}

Test(credentials, what_is_no_list_of_them)
{
	static const char *const texts[] = {
		"",
		"\n",
		"alone\n",
		"alone \t\n",
		"p secret\nalone\n",
		"{}",
		"[]",
		"{\"credentials\":[]}",
		"{\"credentials\":{}}",
		"{\"credentials\":[{\"secret\":\"s\"}]}",
		"{\"credentials\":[1]}",
		"{\"credentials\":[{\"principal\":\"\",\"secret\":\"s\"}]}",
	};
	struct credentials *c = NULL;
	struct err err;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		cr_expect_lt(load_text(texts[i], strlen(texts[i]), &c, &err), 0, "%s", texts[i]);
		cr_expect(strstr(err.text, "see --credentials flag"), "%s", err.text);
	}
	cr_expect_lt(load_text("p s\0x\n", 6, &c, &err), 0, "a NUL");
	cr_expect_lt(credentials_load("/nonexistent", "credentials", &c, &err), 0);
	cr_expect(strstr(err.text, "Failed to read credentials file"), "%s", err.text);
	cr_expect_null(c);
	credentials_free(NULL);
}

/* ---- realms ------------------------------------------------------------------------- */

static struct realm_guard guard;

static void handle(void *context, struct http_request *request)
{
	if (realm_admits(&guard, request))
		http_reply_text(request, 200, request->principal ? request->principal : "nobody");
}

SERVER_SUITE(realm);

static void expect_answer(const char *authorization, const char *answer)
{
	struct buf text = BUF_INIT;

	buf_clear(&raw.in);
	buf_puts(&text, "GET /x HTTP/1.1\r\nHost: x\r\n");
	if (authorization)
		buf_printf(&text, "authorization: %s\r\n", authorization);
	buf_puts(&text, "\r\n");
	raw_send(&raw, text.data);
	until(&fixture, raw_has(&raw, "\r\n\r\n"));
	until(&fixture, raw_has(&raw, answer));
	buf_free(&text);
}

static void expect_pair(const char *pair, const char *answer)
{
	struct buf text = BUF_INIT;

	buf_puts(&text, "Basic ");
	base64_encode(&text, pair, strlen(pair));
	expect_answer(text.data, answer);
	buf_free(&text);
}

Test(realm, lets_in_who_it_knows)
{
	struct credentials *c = load("p secret\nq a:b\nr :x\n");

	fixture.handler = handle;
	guard = (struct realm_guard){.name = "the-realm", .credentials = c};
	expect_pair("p:secret", "\r\n\r\np");
	expect_pair("p:wrong", "401 Unauthorized.");
	expect_pair("p", "401 Unauthorized.");
	expect_pair("", "401 Unauthorized.");
	expect_pair(":", "401 Unauthorized.");
	expect_pair("p:secret:", "401 Unauthorized.");
	/* As in Mesos: what is split at each colon is no pair. */
	expect_pair("q:a:b", "401 Unauthorized.");
	expect_pair("r::x", "401 Unauthorized.");
	expect_answer(NULL, "WWW-Authenticate: Basic realm=\"the-realm\"\r\n");
	expect_answer("", "401 Unauthorized.");
	expect_answer("Basic", "401 Unauthorized.");
	expect_answer("Basic !!!!", "401 Unauthorized.");
	expect_answer("basic cDpzZWNyZXQ=", "401 Unauthorized.");
	expect_answer("Basic cDpzZWNyZXQ=", "\r\n\r\np");
	expect_answer("Basic cDpzZWNyZXQ= x", "401 Unauthorized.");
	expect_answer("Basic cDpzZWNyZXQAeA==", "401 Unauthorized."); /* a NUL behind it */
	credentials_free(c);
}

static void expect_token(const char *token, const char *answer)
{
	struct buf text = BUF_INIT;

	buf_printf(&text, "Bearer %s", token);
	expect_answer(text.data, answer);
	buf_free(&text);
}

static void handle_claim(void *context, struct http_request *request)
{
	if (realm_admits(&guard, request))
		http_reply_text(request, 200, json_get_string(request->claims, "fid"));
}

Test(realm, lets_in_who_shows_a_token)
{
	static const struct slice secret = {"open sesame", 11}, other = {"sesame", 6};
	static const char *const claims[] = {"fid", "the-framework", NULL};
	struct arena arena;

	arena_init(&arena);
	fixture.handler = handle_claim;
	guard = (struct realm_guard){.name = "the-realm", .secret = secret};
	expect_token(jwt_make(&arena, secret, claims), "\r\n\r\nthe-framework");
	expect_token(jwt_make(&arena, other, claims),
		     "WWW-Authenticate: Bearer realm=\"the-realm\", error=\"invalid_token\", "
		     "error_description=\"Invalid JWT: its signature does not match\"\r\n");
	expect_token("x", "Invalid JWT: it does not have three parts");
	expect_answer(NULL, "WWW-Authenticate: Bearer realm=\"the-realm\"\r\n");
	expect_pair("p:secret", "WWW-Authenticate: Bearer realm=\"the-realm\"\r\n");
	arena_free(&arena);
}

Test(realm, without_credentials_asks_nobody)
{
	fixture.handler = handle;
	guard = (struct realm_guard){.name = "the-realm", .credentials = NULL};
	expect_answer(NULL, "nobody");
	expect_pair("p:secret", "nobody");
}

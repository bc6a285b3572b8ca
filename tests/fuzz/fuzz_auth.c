/* Texts of operators and answers of strangers: access control lists, and what is said in CRAM-MD5.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "auth/acls.h"
#include "auth/cram_md5.h"
#include "auth/jwt.h"

static void ask_all(const struct acls *acls, const char *text)
{
	for (int action = 0; action < ACL_ACTIONS; action++) {
		bool first = acls_allow(acls, (enum acl_action)action, text, text);

		if (acls_allow(acls, (enum acl_action)action, text, text) != first)
			abort();
		acls_allow(acls, (enum acl_action)action, NULL, NULL);
	}
}

/* As it is; and as a claim of our own, which must come back. */
static void read_tokens(struct arena *arena, const char *text)
{
	static const struct slice secret = {"secret", 6};
	const struct json *claims;
	const char *token;
	struct err err;

	if (!jwt_read(arena, secret, text, 0, &claims, &err))
		abort();
	token = jwt_make(arena, secret, (const char *const[]){"claim", text, NULL});
	if (strlen(token) <= JWT_MAX && jwt_read(arena, secret, token, 0, &claims, &err))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice bytes = {(const char *)data, size};
	char digest[CRAM_MD5_DIGEST], *text;
	struct acls *acls;
	struct arena arena;
	struct err err;

	arena_init(&arena);
	text = arena_strndup(&arena, bytes.data, size);
	if (!acls_parse(bytes.data, size, &acls, &err)) {
		ask_all(acls, text);
		acls_free(acls);
	}
	cram_md5_digest(text, bytes, digest);
	if (strlen(digest) != CRAM_MD5_DIGEST - 1)
		abort();
	/* Nobody is known: nothing is right. */
	if (cram_md5_check(&arena, NULL, "<challenge>", bytes))
		abort();
	read_tokens(&arena, text);
	arena_free(&arena);
	return 0;
}

/* Texts of operators and answers of strangers: access control lists, and what is said in CRAM-MD5.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "auth/acls.h"
#include "auth/cram_md5.h"

static void ask_all(const struct acls *acls, const char *text)
{
	for (int action = 0; action < ACL_ACTIONS; action++) {
		bool first = acls_allow(acls, (enum acl_action)action, text, text);

		if (acls_allow(acls, (enum acl_action)action, text, text) != first)
			abort();
		acls_allow(acls, (enum acl_action)action, NULL, NULL);
	}
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
	arena_free(&arena);
	return 0;
}

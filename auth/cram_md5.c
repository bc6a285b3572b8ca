#include "auth/cram_md5.h"

#include <string.h>

#include "auth/hmac.h"
#include "base/time/clock.h"

void cram_md5_digest(const char *secret, struct slice challenge, char out[CRAM_MD5_DIGEST])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char digest[HMAC_MD5_BYTES];

	hmac_md5(secret, strlen(secret), challenge.data, challenge.len, digest);
	for (size_t i = 0; i < sizeof(digest); i++) {
		out[2 * i] = digits[digest[i] >> 4];
		out[2 * i + 1] = digits[digest[i] & 15];
	}
	out[CRAM_MD5_DIGEST - 1] = '\0';
}

char *cram_md5_challenge(struct arena *arena, struct rng *rng, int64_t now, const char *host)
{
	return arena_printf(arena, "<%llu.%lld@%s>", (unsigned long long)rng_next(rng),
			    (long long)(now / SECOND), host);
}

char *cram_md5_answer(struct arena *arena, const char *principal, const char *secret,
		      struct slice challenge)
{
	char digest[CRAM_MD5_DIGEST];

	cram_md5_digest(secret, challenge, digest);
	return arena_printf(arena, "%s %s", principal, digest);
}

char *cram_md5_check(struct arena *arena, const struct credentials *credentials,
		     const char *challenge, struct slice answer)
{
	char right[CRAM_MD5_DIGEST], *principal;
	const char *secret, *space;

	if (answer.len > CRAM_MD5_ANSWER_MAX || memchr(answer.data, '\0', answer.len))
		return NULL;
	/* A principal may hold spaces, a digest does not. */
	space = memrchr(answer.data, ' ', answer.len);
	if (!space)
		return NULL;
	principal = arena_strndup(arena, answer.data, (size_t)(space - answer.data));
	secret = credentials_secret(credentials, principal);
	cram_md5_digest(secret ? secret : "", (struct slice){challenge, strlen(challenge)}, right);
	return credentials_same(right,
				arena_strndup(arena, space + 1,
					      (size_t)(answer.data + answer.len - space - 1))) &&
			       secret
		       ? principal
		       : NULL;
}

/* CRAM-MD5 (RFC 2195), by which drivers and agents prove that they know a secret without sending
 * it: the server sends a challenge, the client answers with its principal and the HMAC-MD5 of the
 * challenge under the secret. Who sends what when is the business of the callers. */
#ifndef AUTH_CRAM_MD5_H
#define AUTH_CRAM_MD5_H

#include "auth/credentials.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/random.h"

#define CRAM_MD5 "CRAM-MD5" /* as SASL names it */
#define CRAM_MD5_DIGEST 33  /* 32 hexadecimal digits and a NUL */
/* Of an answer; principals are shorter. */
#define CRAM_MD5_ANSWER_MAX 4096

void cram_md5_digest(const char *secret, struct slice challenge, char out[CRAM_MD5_DIGEST]);

/* "<number.seconds@host>", never the same twice; in the arena. */
char *cram_md5_challenge(struct arena *arena, struct rng *rng, int64_t now, const char *host);
/* "principal digest"; in the arena. */
char *cram_md5_answer(struct arena *arena, const char *principal, const char *secret,
		      struct slice challenge);
/* Who gave the answer, in the arena; NULL if the credentials do not know them or the digest is
 * wrong. */
char *cram_md5_check(struct arena *arena, const struct credentials *credentials,
		     const char *challenge, struct slice answer);

#endif

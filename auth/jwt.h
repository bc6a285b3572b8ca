/* JSON Web Tokens (RFC 7519) signed by HMAC-SHA256: what executors prove with who they are. */
#ifndef AUTH_JWT_H
#define AUTH_JWT_H

#include <stdint.h>

#include "base/err.h"
#include "base/json/json.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"

#define JWT_MAX 8192 /* bytes of a token; those of executors have some 500 */

/* The token that claims `pairs`: names and texts, ended by NULL. In the arena. */
const char *jwt_make(struct arena *arena, struct slice secret, const char *const *pairs);

/* *claims is what a token of this secret claims, an object in the arena. ERR_INVALID says what is
 * wrong with it: it is none, is signed otherwise, or its "exp" (seconds since 1970) is before
 * `now` (ns). */
int jwt_read(struct arena *arena, struct slice secret, const char *token, int64_t now,
	     const struct json **claims, struct err *err);

#endif

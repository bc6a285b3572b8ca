/* Principals and their secrets, as a file lists them. */
#ifndef AUTH_CREDENTIALS_H
#define AUTH_CREDENTIALS_H

#include <stdbool.h>

#include "base/err.h"

struct credentials;

#define CREDENTIALS_FILE_MAX (1024 * 1024) /* bytes; ten thousand people have less */

/* Reads a file of one of Mesos' forms: {"credentials": [{"principal": "..", "secret": ".."}]},
 * or lines of a principal and a secret. It must hold one at least. Of a principal that is listed
 * twice the first one counts, as in Mesos. ERR_INVALID says what is wrong; `flag` is the name of
 * the flag that gave the path. */
int credentials_load(const char *path, const char *flag, struct credentials **out, struct err *err);
/* Reads the file of an agent's --credential: {"principal": "..", "secret": ".."}, or the two in a
 * line. Both are heap copies. */
int credential_load(const char *path, char **principal, char **secret, struct err *err);
void credentials_free(struct credentials *credentials); /* NULL is fine */
/* Takes the same time wherever the secrets differ. */
bool credentials_match(const struct credentials *credentials, const char *principal,
		       const char *secret);
/* NULL: nobody of that name is known; of no credentials (NULL), nobody is. */
const char *credentials_secret(const struct credentials *credentials, const char *principal);
/* Compares in the same time wherever the two differ; it tells their lengths at most. */
bool credentials_same(const char *right, const char *given);

#endif

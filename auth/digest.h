/* SHA-256 of what comes in pieces, by OpenSSL. */
#ifndef AUTH_DIGEST_H
#define AUTH_DIGEST_H

#include <stddef.h>

#define DIGEST_TEXT 65 /* room for it in lower-case hexadecimals */

struct digest;

struct digest *digest_begin(void);
void digest_add(struct digest *digest, const void *data, size_t len);
/* Frees it. */
void digest_end(struct digest *digest, char text[DIGEST_TEXT]);
/* All at once. */
void digest_text(const void *data, size_t len, char text[DIGEST_TEXT]);

#endif

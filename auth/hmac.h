/* Keyed digests, by OpenSSL. Its headers and base/err.h have names in common: nothing else here
 * sees them. */
#ifndef AUTH_HMAC_H
#define AUTH_HMAC_H

#include <stddef.h>

#define HMAC_MD5_BYTES 16

void hmac_md5(const void *key, size_t key_len, const void *data, size_t len,
	      unsigned char out[HMAC_MD5_BYTES]);

#endif

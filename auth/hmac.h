/* Keyed digests, by OpenSSL. Its headers and base/err.h have names in common: nothing else here
 * sees them. */
#ifndef AUTH_HMAC_H
#define AUTH_HMAC_H

#include <stddef.h>

#define HMAC_MD5_BYTES 16
#define HMAC_SHA256_BYTES 32

void hmac_md5(const void *key, size_t key_len, const void *data, size_t len,
	      unsigned char out[HMAC_MD5_BYTES]);
void hmac_sha256(const void *key, size_t key_len, const void *data, size_t len,
		 unsigned char out[HMAC_SHA256_BYTES]);

#endif

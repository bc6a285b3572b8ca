#include "auth/hmac.h"

#include <openssl/hmac.h>
#include <stdlib.h>

void hmac_md5(const void *key, size_t key_len, const void *data, size_t len,
	      unsigned char out[HMAC_MD5_BYTES])
{
	/* It fails where libcrypto was built without MD5, and nowhere else. */
	if (!HMAC(EVP_md5(), key, (int)key_len, data, len, out, NULL))
		abort();
}

void hmac_sha256(const void *key, size_t key_len, const void *data, size_t len,
		 unsigned char out[HMAC_SHA256_BYTES])
{
	if (!HMAC(EVP_sha256(), key, (int)key_len, data, len, out, NULL))
		abort();
}

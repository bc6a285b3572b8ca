#include "auth/digest.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

/* SHA-256 is part of every libcrypto: what fails is memory. */
struct digest *digest_begin(void)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();

	if (!context || !EVP_DigestInit_ex(context, EVP_sha256(), NULL))
		abort();
	return (struct digest *)context;
}

void digest_add(struct digest *digest, const void *data, size_t len)
{
	if (!EVP_DigestUpdate((EVP_MD_CTX *)digest, data, len))
		abort();
}

void digest_end(struct digest *digest, char text[DIGEST_TEXT])
{
	unsigned char bytes[EVP_MAX_MD_SIZE];
	unsigned len = 0;

	if (!EVP_DigestFinal_ex((EVP_MD_CTX *)digest, bytes, &len))
		abort();
	EVP_MD_CTX_free((EVP_MD_CTX *)digest);
	for (unsigned i = 0; i < len && i < (DIGEST_TEXT - 1) / 2; i++)
		snprintf(text + (size_t)i * 2, 3, "%02x", bytes[i]);
}

void digest_text(const void *data, size_t len, char text[DIGEST_TEXT])
{
	struct digest *digest = digest_begin();

	digest_add(digest, data, len);
	digest_end(digest, text);
}

/* A throwaway authority and the certificates that it signs: for trying things out on one machine.
 * Its key never leaves the process. */
#ifndef NET_TLS_AUTHORITY_H
#define NET_TLS_AUTHORITY_H

#include <stddef.h>

#include "base/err.h"

struct tls_authority;

/* Makes one, and writes its certificate (PEM) to `path`. ERR_IO. */
int tls_authority_create(const char *path, struct tls_authority **out, struct err *err);
/* Writes a certificate for "localhost" and the addresses, and its key (readable by the owner
 * alone). Both are replaced whole. ERR_IO, ERR_INVALID: no address. */
int tls_authority_issue(struct tls_authority *authority, const char *const *addresses, size_t count,
			const char *cert_path, const char *key_path, struct err *err);
void tls_authority_free(struct tls_authority *authority); /* NULL is fine */

#endif

/* OpenSSL's headers, for the files of this folder alone: one of their types has the name of one of
 * our error codes. */
#ifndef NET_TLS_OPENSSL_H
#define NET_TLS_OPENSSL_H

#define ERR_STATE openssl_error_state
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#undef ERR_STATE

#include "net/tls/tls.h"

struct tls {
	struct tls_settings settings;
	SSL_CTX *server, *client;
	struct buf plain; /* what one read decrypts to */
};

/* The first of OpenSSL's complaints, as a sentence's end; they are forgotten. */
const char *tls_complaint(char *text, size_t size);
/* Whether the certificate is for a host's name, or address. */
bool tls_names_host(X509 *certificate, const char *name);
bool tls_names_address(X509 *certificate, const char *address);

#endif

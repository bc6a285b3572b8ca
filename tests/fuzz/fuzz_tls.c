/* Certificates of strangers, held against the names that they should be for; and strangers' bytes
 * in place of a handshake. */
#include <stdint.h>
#include <stdlib.h>

#include "net/tls/openssl.h"

static struct tls *make(void)
{
	struct tls_settings settings;
	struct tls *tls;
	struct err err;

	if (tls_settings_read(&settings, &err) || tls_create(&settings, false, &tls, &err))
		abort();
	tls->server = SSL_CTX_new(TLS_server_method());
	return tls;
}

static void take(struct tls *tls, const char *host, const uint8_t *data, size_t size)
{
	struct tls_session *session = tls_session_create(tls, host);
	struct buf sealed = BUF_INIT;
	struct slice plain;

	if (host)
		tls_session_take(session, NULL, 0, &sealed, &plain);
	for (size_t i = 0; i < size; i += 1000)
		tls_session_take(session, data + i, size - i < 1000 ? size - i : 1000, &sealed,
				 &plain);
	tls_session_free(session);
	buf_free(&sealed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tls *tls;
	const unsigned char *der = data;
	X509 *certificate;

	if (!tls)
		tls = make();
	take(tls, NULL, data, size);
	take(tls, "localhost", data, size);
	certificate = d2i_X509(NULL, &der, (long)size);
	if (certificate) {
		tls_names_host(certificate, "localhost");
		tls_names_host(certificate, "a.b.example");
		tls_names_address(certificate, "127.0.0.1");
		tls_names_address(certificate, "::1");
		X509_free(certificate);
	}
	ERR_clear_error();
	return 0;
}

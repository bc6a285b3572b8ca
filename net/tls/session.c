/* One end of one connection: OpenSSL reads from the bytes that came and writes to a buffer. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <arpa/inet.h>

#include "base/memory/arena.h"
#include "net/tls/openssl.h"

#define PLAIN_STEP 16384 /* bytes: the longest record */

struct tls_session {
	struct tls *tls;
	SSL *ssl;
	char *host; /* NULL: we are the server */
	struct slice input;
	struct buf *sealed;
	char error[256];
	bool failed;
};

/* ---- OpenSSL's side of the wire ----------------------------------------------------- */

static int wire_read(BIO *bio, char *to, int size)
{
	struct tls_session *session = BIO_get_data(bio);
	size_t len = session->input.len < (size_t)size ? session->input.len : (size_t)size;

	BIO_clear_retry_flags(bio);
	if (len == 0) {
		BIO_set_retry_read(bio);
		return -1;
	}
	memcpy(to, session->input.data, len);
	session->input.data += len;
	session->input.len -= len;
	return (int)len;
}

static int wire_write(BIO *bio, const char *data, int len)
{
	struct tls_session *session = BIO_get_data(bio);

	BIO_clear_retry_flags(bio);
	if (session->sealed)
		buf_append(session->sealed, data, (size_t)len);
	return len;
}

static long wire_control(BIO *bio, int command, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *wire_method(void)
{
	static BIO_METHOD *method;

	if (!method) {
		method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "buffers");
		BIO_meth_set_read(method, wire_read);
		BIO_meth_set_write(method, wire_write);
		BIO_meth_set_ctrl(method, wire_control);
	}
	return method;
}

/* ---- the beginning and the end --------------------------------------------------------- */

static bool is_address(const char *host)
{
	unsigned char address[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

struct tls_session *tls_session_create(struct tls *tls, const char *host)
{
	struct tls_session *session = xcalloc(1, sizeof(*session));
	BIO *wire = BIO_new(wire_method());

	session->tls = tls;
	session->ssl = SSL_new(host ? tls->client : tls->server);
	if (!session->ssl || !wire)
		abort(); /* no memory */
	BIO_set_data(wire, session);
	BIO_set_init(wire, 1);
	SSL_set_bio(session->ssl, wire, wire);
	if (!host) {
		SSL_set_accept_state(session->ssl);
		return session;
	}
	session->host = xstrdup(host);
	SSL_set_connect_state(session->ssl);
	if (!is_address(host))
		SSL_set_tlsext_host_name(session->ssl, host);
	return session;
}

void tls_session_free(struct tls_session *session)
{
	if (!session)
		return;
	SSL_free(session->ssl);
	free(session->host);
	free(session);
}

const char *tls_session_error(const struct tls_session *session)
{
	return session->error;
}

bool tls_session_distrusts(const struct tls_session *session)
{
	return session->failed && SSL_get_verify_result(session->ssl) != X509_V_OK;
}

/* ---- bytes ------------------------------------------------------------------------------- */

static enum tls_state session_fail(struct tls_session *session)
{
	long verdict = SSL_get_verify_result(session->ssl);
	char why[160];

	session->failed = true;
	tls_complaint(why, sizeof(why));
	if (verdict != X509_V_OK)
		snprintf(session->error, sizeof(session->error), "%s (%s)", why,
			 X509_verify_cert_error_string(verdict));
	else
		snprintf(session->error, sizeof(session->error), "%s", why);
	return TLS_FAILED;
}

static enum tls_state session_read(struct tls_session *session, struct buf *plain)
{
	for (;;) {
		int got, error;

		buf_reserve(plain, PLAIN_STEP);
		got = SSL_read(session->ssl, plain->data + plain->len, PLAIN_STEP);
		if (got > 0) {
			plain->len += (size_t)got;
			continue;
		}
		error = SSL_get_error(session->ssl, got);
		if (error == SSL_ERROR_WANT_READ)
			return TLS_OPEN;
		return error == SSL_ERROR_ZERO_RETURN ? TLS_ENDED : session_fail(session);
	}
}

static enum tls_state session_step(struct tls_session *session, struct buf *plain)
{
	if (!SSL_is_init_finished(session->ssl)) {
		int rv = SSL_do_handshake(session->ssl);

		if (rv != 1 && SSL_get_error(session->ssl, rv) == SSL_ERROR_WANT_READ)
			return TLS_SHAKING;
		if (rv != 1)
			return session_fail(session);
	}
	return session_read(session, plain);
}

enum tls_state tls_session_take(struct tls_session *session, const void *data, size_t len,
				struct buf *sealed, struct slice *plain)
{
	struct buf *out = &session->tls->plain;
	enum tls_state state;

	*plain = (struct slice){"", 0};
	if (session->failed)
		return TLS_FAILED;
	buf_clear(out);
	ERR_clear_error();
	session->input = (struct slice){data, len};
	session->sealed = sealed;
	state = session_step(session, out);
	session->sealed = NULL;
	session->input = (struct slice){NULL, 0};
	if (out->len)
		*plain = (struct slice){out->data, out->len};
	return state;
}

void tls_session_seal(struct tls_session *session, const void *data, size_t len, struct buf *sealed)
{
	const char *from = data;

	ERR_clear_error();
	session->sealed = sealed;
	while (len > 0 && !session->failed) {
		int part = len > INT_MAX ? INT_MAX : (int)len;
		int done = SSL_write(session->ssl, from, part);

		/* The buffer takes all; what fails is the session. */
		if (done <= 0) {
			session_fail(session);
			break;
		}
		from += done;
		len -= (size_t)done;
	}
	session->sealed = NULL;
}

void tls_session_finish(struct tls_session *session, struct buf *sealed)
{
	if (session->failed || !SSL_is_init_finished(session->ssl))
		return;
	session->sealed = sealed;
	SSL_shutdown(session->ssl);
	session->sealed = NULL;
	ERR_clear_error();
}

/* ---- who is there --------------------------------------------------------------------------- */

bool tls_names_host(X509 *certificate, const char *name)
{
	return *name && X509_check_host(certificate, name, 0, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS,
					NULL) == 1;
}

bool tls_names_address(X509 *certificate, const char *address)
{
	return X509_check_ip_asc(certificate, address, 0) == 1;
}

static enum tls_trust stranger(struct tls_session *session, const char *name)
{
	snprintf(session->error, sizeof(session->error), "the certificate is not for %s", name);
	return TLS_STRANGER;
}

static enum tls_trust trust_host(struct tls_session *session, const char *name)
{
	X509 *certificate = SSL_get0_peer_certificate(session->ssl);

	if (certificate && tls_names_host(certificate, name))
		return TLS_TRUSTED;
	return stranger(session, name);
}

static enum tls_trust trust_address(struct tls_session *session)
{
	X509 *certificate = SSL_get0_peer_certificate(session->ssl);

	if (certificate && tls_names_address(certificate, session->host))
		return TLS_TRUSTED;
	return stranger(session, session->host);
}

enum tls_trust tls_session_trust(struct tls_session *session)
{
	const struct tls_settings *settings = &session->tls->settings;

	if (!session->host || !settings->verify_server)
		return TLS_TRUSTED;
	if (!is_address(session->host))
		return trust_host(session, session->host);
	return settings->verify_ip || settings->openssl_names ? trust_address(session)
							      : TLS_NAMELESS;
}

/* Without a name there is nothing to hold against the certificate. Its chain was verified; more is
   insisted on where clients must prove themselves, as in libprocess. */
enum tls_trust tls_session_trust_name(struct tls_session *session, const char *name)
{
	if (name)
		return trust_host(session, name);
	if (!session->tls->settings.require_client)
		return TLS_TRUSTED;
	snprintf(session->error, sizeof(session->error),
		 "DNS has no name for %s that its certificate could be for; set "
		 "LIBPROCESS_SSL_VERIFY_IPADD=true for certificates with addresses",
		 session->host);
	return TLS_STRANGER;
}

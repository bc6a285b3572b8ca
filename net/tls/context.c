/* Settings and files become OpenSSL's contexts, one for each end. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory/arena.h"
#include "net/tls/openssl.h"

const char *tls_complaint(char *text, size_t size)
{
	unsigned long code = ERR_peek_error();
	const char *reason = ERR_reason_error_string(code);

	if (reason)
		snprintf(text, size, "%s", reason);
	else if (code)
		ERR_error_string_n(code, text, size);
	else
		snprintf(text, size, "no reason was given");
	ERR_clear_error();
	return text;
}

static int refuse(struct err *err, int code, const char *what, const char *value)
{
	char why[256];

	return err_set(err, code, "%s '%s' cannot be used: %s", what, value,
		       tls_complaint(why, sizeof(why)));
}

/* ---- what both ends have in common ----------------------------------------------- */

static uint64_t forbidden(const bool versions[TLS_VERSIONS])
{
	static const uint64_t bits[TLS_VERSIONS] = {
		[TLS_1_0] = SSL_OP_NO_TLSv1,
		[TLS_1_1] = SSL_OP_NO_TLSv1_1,
		[TLS_1_2] = SSL_OP_NO_TLSv1_2,
		[TLS_1_3] = SSL_OP_NO_TLSv1_3,
	};
	uint64_t options = 0;

	for (int i = 0; i < TLS_VERSIONS; i++)
		options |= versions[i] ? 0 : bits[i];
	return options;
}

static int load_authorities(SSL_CTX *context, const struct tls_settings *settings, struct err *err)
{
	if (!settings->ca_file && !settings->ca_dir) {
		SSL_CTX_set_default_verify_paths(context);
		return 0;
	}
	if (!SSL_CTX_load_verify_locations(context, settings->ca_file, settings->ca_dir))
		return refuse(err, ERR_INVALID, "LIBPROCESS_SSL_CA_FILE or _CA_DIR",
			      settings->ca_file ? settings->ca_file : settings->ca_dir);
	return 0;
}

/* A key that needs a password is an error: nobody is there to be asked. */
static int no_password(char *to, int size, int writing, void *context)
{
	(void)to;
	(void)size;
	(void)writing;
	(void)context;
	return 0;
}

static int load_certificate(SSL_CTX *context, const struct tls_settings *settings, struct err *err)
{
	if (!settings->cert_file || !settings->key_file)
		return 0;
	SSL_CTX_set_default_passwd_cb(context, no_password);
	if (SSL_CTX_use_certificate_chain_file(context, settings->cert_file) != 1)
		return refuse(err, ERR_INVALID, "LIBPROCESS_SSL_CERT_FILE", settings->cert_file);
	if (SSL_CTX_use_PrivateKey_file(context, settings->key_file, SSL_FILETYPE_PEM) != 1 ||
	    SSL_CTX_check_private_key(context) != 1)
		return refuse(err, ERR_INVALID, "LIBPROCESS_SSL_KEY_FILE", settings->key_file);
	return 0;
}

static int choose_algorithms(SSL_CTX *context, const struct tls_settings *settings, struct err *err)
{
	if (settings->versions[TLS_1_0] || settings->versions[TLS_1_1])
		/* Their signatures are below the lowest level that OpenSSL 3 has by default. */
		SSL_CTX_set_security_level(context, 0);
	SSL_CTX_set_options(context, forbidden(settings->versions));
	if (settings->ciphers && !SSL_CTX_set_cipher_list(context, settings->ciphers))
		return refuse(err, ERR_INVALID, "LIBPROCESS_SSL_CIPHERS", settings->ciphers);
	if (settings->curves && !SSL_CTX_set1_curves_list(context, settings->curves))
		return refuse(err, ERR_INVALID, "LIBPROCESS_SSL_ECDH_CURVES", settings->curves);
	return 0;
}

static int make_context(const struct tls_settings *settings, const SSL_METHOD *method,
			SSL_CTX **out, struct err *err)
{
	SSL_CTX *context = SSL_CTX_new(method);
	int rv;

	if (!context)
		return refuse(err, ERR_IO, "OpenSSL", OPENSSL_VERSION_TEXT);
	/* Connections last; who comes back does the whole handshake. */
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(context, 0);
	SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
					     SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF |
					     SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_verify_depth(context, settings->verify_depth);
	rv = choose_algorithms(context, settings, err);
	if (rv == 0)
		rv = load_authorities(context, settings, err);
	if (rv == 0)
		rv = load_certificate(context, settings, err);
	if (rv != 0)
		SSL_CTX_free(context);
	else
		*out = context;
	return rv;
}

/* ---- the two ends ------------------------------------------------------------------ */

static int make_both(const struct tls_settings *settings, bool server, SSL_CTX **server_out,
		     SSL_CTX **client_out, struct err *err)
{
	SSL_CTX *client, *serving = NULL;
	int rv = make_context(settings, TLS_client_method(), &client, err);

	if (rv != 0)
		return rv;
	SSL_CTX_set_verify(client, settings->verify_server ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
			   NULL);
	if (server)
		rv = make_context(settings, TLS_server_method(), &serving, err);
	if (rv != 0) {
		SSL_CTX_free(client);
		return rv;
	}
	if (server && settings->require_client)
		SSL_CTX_set_verify(serving, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
				   NULL);
	*server_out = serving;
	*client_out = client;
	return 0;
}

int tls_create(const struct tls_settings *settings, bool server, struct tls **out, struct err *err)
{
	struct tls *tls;
	SSL_CTX *serving, *client;
	int rv;

	if (server && (!settings->cert_file || !settings->key_file))
		return err_set(err, ERR_INVALID,
			       "TLS needs a certificate and its key: set LIBPROCESS_SSL_%s to a "
			       "PEM file",
			       settings->cert_file ? "KEY_FILE" : "CERT_FILE");
	rv = make_both(settings, server, &serving, &client, err);
	if (rv != 0)
		return rv;
	tls = xcalloc(1, sizeof(*tls));
	tls->settings = *settings;
	tls->server = serving;
	tls->client = client;
	*out = tls;
	return 0;
}

int tls_from_environment(bool server, struct tls **out, struct err *err)
{
	struct tls_settings settings;
	int rv = tls_settings_read(&settings, err);

	*out = NULL;
	if (rv == 0 && settings.enabled)
		rv = tls_create(&settings, server, out, err);
	return rv;
}

int tls_for_url(struct tls **out, struct err *err)
{
	struct tls_settings settings;
	int rv = tls_settings_read(&settings, err);

	if (rv != 0)
		return rv;
	if (!getenv("LIBPROCESS_SSL_VERIFY_SERVER_CERT") && !getenv("LIBPROCESS_SSL_VERIFY_CERT"))
		settings.verify_server = settings.openssl_names = true;
	settings.support_downgrade = false;
	return tls_create(&settings, false, out, err);
}

int tls_reload(struct tls *tls, struct err *err)
{
	SSL_CTX *serving, *client;
	int rv = make_both(&tls->settings, tls->server != NULL, &serving, &client, err);

	if (rv != 0)
		return rv;
	/* Sessions keep what they began with. */
	SSL_CTX_free(tls->server);
	SSL_CTX_free(tls->client);
	tls->server = serving;
	tls->client = client;
	return 0;
}

void tls_free(struct tls *tls)
{
	if (!tls)
		return;
	SSL_CTX_free(tls->server);
	SSL_CTX_free(tls->client);
	buf_free(&tls->plain);
	free(tls);
}

const struct tls_settings *tls_settings(const struct tls *tls)
{
	return &tls->settings;
}

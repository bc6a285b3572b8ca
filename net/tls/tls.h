/* TLS by OpenSSL: what is asked of it (Mesos' environment), the certificates, and one end of one
 * connection as a machine that turns bytes into bytes: no sockets here (net/transport.h has them).
 *
 * For the loop's thread.
 */
#ifndef NET_TLS_TLS_H
#define NET_TLS_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/memory/buf.h"

struct tls;
struct tls_session;

/* -- what is asked -- */

enum tls_version { TLS_1_0, TLS_1_1, TLS_1_2, TLS_1_3, TLS_VERSIONS };

/* Texts are the environment's, which must not change. */
struct tls_settings {
	bool enabled;
	bool support_downgrade; /* plain connections are fine, too */
	const char *cert_file, *key_file;
	const char *ca_file, *ca_dir; /* both NULL: the system's authorities */
	bool verify_server;
	bool require_client; /* servers ask for a certificate; implies verify_server */
	int verify_depth;
	bool verify_ip;	    /* a server dialed by its address must have it in its certificate */
	bool openssl_names; /* not by the name that DNS has for an address ("legacy") */
	const char *ciphers, *curves; /* NULL: OpenSSL's choice */
	bool versions[TLS_VERSIONS];
};

/* Reads LIBPROCESS_SSL_*. ERR_INVALID: a value is none. */
int tls_settings_read(struct tls_settings *out, struct err *err);

/* -- certificates -- */

/* Reads the files. `server`: a certificate is needed, and clients can be served. ERR_INVALID or
 * ERR_IO, with what to do about it. */
int tls_create(const struct tls_settings *settings, bool server, struct tls **out, struct err *err);
/* As the environment asks: *out is NULL if that is without TLS. */
int tls_from_environment(bool server, struct tls **out, struct err *err);
/* For a client that was given an https:// URL: the environment's certificates and authorities; the
 * server is verified unless the environment says otherwise. */
int tls_for_url(struct tls **out, struct err *err);
/* Reads the files again, for connections to come. After a failure the old ones stay. */
int tls_reload(struct tls *tls, struct err *err);
/* Sessions must be gone. NULL is fine. */
void tls_free(struct tls *tls);
const struct tls_settings *tls_settings(const struct tls *tls);

/* -- a session -- */

/* The client's end of a connection to `host` (an address or a name), or the server's (NULL). */
struct tls_session *tls_session_create(struct tls *tls, const char *host);
void tls_session_free(struct tls_session *session); /* NULL is fine */

enum tls_state {
	TLS_SHAKING, /* hands; nothing can be sealed yet */
	TLS_OPEN,
	TLS_ENDED,  /* the other end said so */
	TLS_FAILED, /* tls_session_error() says why */
};

/* Takes what came from the network, appends what must be sent there to `sealed`. *plain is what
 * the bytes say, until the next call for any session. `len` 0 begins the client's handshake. */
enum tls_state tls_session_take(struct tls_session *session, const void *data, size_t len,
				struct buf *sealed, struct slice *plain);
/* Appends `data`, sealed. Only while OPEN. */
void tls_session_seal(struct tls_session *session, const void *data, size_t len,
		      struct buf *sealed);
/* Appends the word that nothing more comes. */
void tls_session_finish(struct tls_session *session, struct buf *sealed);
/* It failed because of the other end's certificate. */
bool tls_session_distrusts(const struct tls_session *session);
const char *tls_session_error(const struct tls_session *session);

enum tls_trust {
	TLS_TRUSTED,
	TLS_NAMELESS, /* it is for tls_session_trust_name() to say */
	TLS_STRANGER, /* tls_session_error() says why */
};
/* Whether the server that was reached (the session is OPEN) is the one that was dialed. */
enum tls_trust tls_session_trust(struct tls_session *session);
/* The same by the name that DNS has for its address (NULL: none). */
enum tls_trust tls_session_trust_name(struct tls_session *session, const char *name);

#endif

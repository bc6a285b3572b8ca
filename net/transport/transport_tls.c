/* TLS on a transport: sessions (net/tls) between the socket and those above. */
#include <stdlib.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "net/transport/transport_internal.h"

#define FIRST_BYTE_OF_TLS 0x16 /* a record of the handshake; no method of HTTP begins so */

static struct transport *owner_of(const void *name_request)
{
	return ((const uv_req_t *)name_request)->data;
}

/* ---- what does not work out --------------------------------------------------------- */

static void secure_closed_to_redial(uv_handle_t *handle)
{
	struct transport *t = handle->data;
	char *host = t->secure->host;
	int port = t->secure->port, rv;

	t->secure->redialing = false;
	if (t->closing) {
		t->handle_closed = true;
		transport_free_if_closed(t);
		return;
	}
	t->secure->host = NULL;
	secure_free(t);
	uv_tcp_init(handle->loop, &t->tcp);
	t->tcp.data = t;
	t->reading = t->exclusive = false;
	rv = transport_dial_socket(t, host, port);
	free(host);
	if (rv != 0)
		t->handlers->dialed(t->context, rv);
}

/* The other end may know no TLS. */
static void redial_plain(struct transport *t)
{
	log_debug("%s:%d does not answer in TLS: dialing it without", t->secure->host,
		  t->secure->port);
	t->secure->redialing = true;
	uv_close((uv_handle_t *)&t->tcp, secure_closed_to_redial);
}

static void secure_fail(struct transport *t, int status, const char *why)
{
	struct secure *s = t->secure;
	char peer[TRANSPORT_ADDRESS_MAX];

	transport_address(t, true, peer);
	s->ended = true;
	uv_read_stop((uv_stream_t *)&t->tcp);
	t->reading = false;
	if (s->host && why)
		log_warning("TLS with %s failed: %s", peer, why);
	else if (why)
		log_info_limited("TLS with %s failed: %s", peer, why);
	if (s->host && !s->open)
		t->handlers->dialed(t->context, status);
	else
		t->handlers->ended(t->context, status);
}

/* ---- the handshake ---------------------------------------------------------------------- */

static void secure_opened(struct transport *t)
{
	t->secure->open = true;
	if (t->secure->host)
		t->handlers->dialed(t->context, 0);
}

static void secure_named(uv_getnameinfo_t *request, int status, const char *name,
			 const char *service)
{
	struct transport *t = owner_of(request);

	(void)service;
	t->secure->name = NULL;
	if (t->closing)
		transport_free_if_closed(t);
	else if (tls_session_trust_name(t->secure->session, status == 0 ? name : NULL) ==
		 TLS_TRUSTED)
		secure_opened(t);
	else
		secure_fail(t, UV_EPROTO, tls_session_error(t->secure->session));
	free(request);
}

static void ask_for_name(struct transport *t)
{
	struct sockaddr_storage address;
	int size = sizeof(address);
	int rv = uv_tcp_getpeername(&t->tcp, (struct sockaddr *)&address, &size);

	t->secure->name = xcalloc(1, sizeof(*t->secure->name));
	t->secure->name->data = t;
	if (rv == 0)
		rv = uv_getnameinfo(t->tcp.loop, t->secure->name, secure_named,
				    (struct sockaddr *)&address, NI_NAMEREQD);
	if (rv != 0) {
		free(t->secure->name);
		t->secure->name = NULL;
		secure_fail(t, rv, uv_strerror(rv));
		return;
	}
	uv_read_stop((uv_stream_t *)&t->tcp);
	t->reading = false;
}

static void secure_shaken(struct transport *t)
{
	switch (tls_session_trust(t->secure->session)) {
	case TLS_TRUSTED:
		secure_opened(t);
		break;
	case TLS_NAMELESS:
		ask_for_name(t);
		break;
	case TLS_STRANGER:
		secure_fail(t, UV_EPROTO, tls_session_error(t->secure->session));
		break;
	}
}

void secure_connected(struct transport *t)
{
	struct secure *s = t->secure;
	struct slice plain;
	int rv;

	s->session = tls_session_create(s->tls, s->host);
	tls_session_take(s->session, NULL, 0, &s->sealed, &plain);
	rv = transport_send(t, &s->sealed);
	if (rv == 0)
		rv = transport_read_socket(t);
	if (rv != 0)
		secure_fail(t, rv, NULL);
}

/* ---- bytes --------------------------------------------------------------------------------- */

static bool downgraded(struct transport *t, const char *data, ssize_t len)
{
	struct secure *s = t->secure;

	if (s->host || s->session || data[0] == FIRST_BYTE_OF_TLS ||
	    !tls_settings(s->tls)->support_downgrade)
		return false;
	secure_free(t);
	t->exclusive = false;
	t->handlers->received(t->context, data, (size_t)len);
	return true;
}

static bool may_redial(const struct transport *t, bool verified)
{
	return t->secure->host && !t->secure->open && !verified &&
	       tls_settings(t->secure->tls)->support_downgrade;
}

static void secure_over(struct transport *t, int status)
{
	if (t->secure->ended)
		return;
	if (may_redial(t, false))
		redial_plain(t);
	else
		secure_fail(t, status,
			    t->secure->host && !t->secure->open
				    ? "it closed the connection; does it speak TLS?"
				    : NULL);
}

static void secure_deliver(struct transport *t, struct slice plain, enum tls_state state)
{
	struct secure *s = t->secure;

	if (s->open && plain.len)
		t->handlers->received(t->context, plain.data, plain.len);
	if (t->closing || s->ended)
		return;
	if (state == TLS_ENDED)
		secure_fail(t, UV_EOF, NULL);
	else if (s->open && !s->wanted)
		transport_pause(t);
}

void secure_received(struct transport *t, const char *data, ssize_t len)
{
	struct secure *s = t->secure;
	enum tls_state state;
	struct slice plain;

	if (len < 0) {
		secure_over(t, (int)len);
		return;
	}
	if (downgraded(t, data, len))
		return;
	if (!s->session)
		s->session = tls_session_create(s->tls, NULL);
	state = tls_session_take(s->session, data, (size_t)len, &s->sealed, &plain);
	transport_send(t, &s->sealed);
	if (state == TLS_FAILED) {
		if (may_redial(t, tls_session_distrusts(s->session)))
			redial_plain(t);
		else
			secure_fail(t, UV_EPROTO, tls_session_error(s->session));
		return;
	}
	if (state != TLS_SHAKING && !s->open && !s->name)
		secure_shaken(t);
	if (!t->closing && !s->ended)
		secure_deliver(t, plain, state);
}

int secure_flush(struct transport *t)
{
	struct secure *s = t->secure;

	if (t->active)
		return 0;
	if (s->open && t->out.len) {
		tls_session_seal(s->session, t->out.data, t->out.len, &s->sealed);
		buf_recycle(&t->out);
	}
	return transport_send(t, &s->sealed);
}

/* ---- the end --------------------------------------------------------------------------------- */

void secure_finish(struct transport *t)
{
	struct secure *s = t->secure;

	if (!s->session)
		return;
	tls_session_finish(s->session, &s->sealed);
	transport_send(t, &s->sealed);
}

bool secure_busy(const struct transport *t)
{
	return t->secure && (t->secure->name || t->secure->redialing);
}

void secure_cancel(struct transport *t)
{
	if (t->secure->name)
		uv_cancel((uv_req_t *)t->secure->name);
}

void secure_free(struct transport *t)
{
	if (!t->secure)
		return;
	tls_session_free(t->secure->session);
	buf_free(&t->secure->sealed);
	free(t->secure->host);
	free(t->secure);
	t->secure = NULL;
}

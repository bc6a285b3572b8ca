#include "net/transport/transport.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>

#include "base/list.h"
#include "base/memory/arena.h"
#include "net/limits.h"
#include "net/transport/transport_internal.h"

static struct transport *transport_of(void *handle)
{
	return ((uv_handle_t *)handle)->data;
}

/* ---- the beginning ----------------------------------------------------------- */

void transport_init(struct transport *t, uv_loop_t *loop, const struct transport_handlers *handlers,
		    void *context, char *buffer, size_t buffer_size)
{
	*t = (struct transport){
		.handlers = handlers,
		.context = context,
		.buffer = buffer,
		.buffer_size = buffer_size,
	};
	uv_tcp_init(loop, &t->tcp);
	t->tcp.data = t;
}

void transport_secure(struct transport *t, struct tls *tls)
{
	if (!tls)
		return;
	t->secure = xcalloc(1, sizeof(*t->secure));
	t->secure->tls = tls;
	/* Bytes of another process would not be sealed. */
	t->exclusive = true;
}

void transport_free_if_closed(struct transport *t)
{
	if (!t->handle_closed || t->dialing || secure_busy(t))
		return;
	secure_free(t);
	buf_free(&t->out);
	buf_free(&t->writing);
	t->handlers->closed(t->context);
}

static void transport_dialed(struct dial *dial, int status)
{
	struct transport *t = container_of(dial, struct transport, dial);

	t->dialing = false;
	if (t->closing) {
		transport_free_if_closed(t);
		return;
	}
	if (status == 0) {
		uv_tcp_nodelay(&t->tcp, 1);
		uv_tcp_keepalive(&t->tcp, 1, TCP_KEEPALIVE_SECONDS);
	}
	if (status == 0 && t->secure)
		secure_connected(t);
	else
		t->handlers->dialed(t->context, status);
}

int transport_dial_socket(struct transport *t, const char *host, int port)
{
	int rv = dial_start(&t->dial, &t->tcp, host, port, transport_dialed);

	t->dialing = rv == 0;
	return rv;
}

int transport_dial(struct transport *t, const char *host, int port)
{
	if (t->secure) {
		t->secure->host = xstrdup(host);
		t->secure->port = port;
	}
	return transport_dial_socket(t, host, port);
}

int transport_accept(struct transport *t, uv_stream_t *listener)
{
	/* Options are inherited from the listening socket. */
	return uv_accept(listener, (uv_stream_t *)&t->tcp);
}

/* ---- reading ------------------------------------------------------------------- */

static void transport_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
	struct transport *t = transport_of(handle);

	*out = uv_buf_init(t->buffer, (unsigned)t->buffer_size);
}

static void transport_on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *bytes)
{
	struct transport *t = transport_of(stream);

	if (t->secure && count != 0)
		secure_received(t, bytes->base, count);
	else if (count > 0)
		t->handlers->received(t->context, bytes->base, (size_t)count);
	else if (count < 0)
		t->handlers->ended(t->context, (int)count);
}

int transport_read_socket(struct transport *t)
{
	int rv = t->reading ? 0
			    : uv_read_start((uv_stream_t *)&t->tcp, transport_alloc,
					    transport_on_read);

	t->reading |= rv == 0;
	return rv;
}

int transport_read(struct transport *t)
{
	if (t->secure) {
		t->secure->wanted = true;
		if (t->secure->ended)
			return 0;
	}
	return transport_read_socket(t);
}

void transport_pause(struct transport *t)
{
	uv_read_stop((uv_stream_t *)&t->tcp);
	t->reading = false;
	if (t->secure)
		t->secure->wanted = false;
}

/* ---- writing -------------------------------------------------------------------- */

static void transport_on_write(uv_write_t *request, int status)
{
	struct transport *t = request->data;

	t->active = false;
	buf_recycle(&t->writing);
	if (t->closing)
		return;
	if (status == 0 && t->secure && t->secure->sealed.len)
		status = transport_send(t, &t->secure->sealed);
	t->handlers->written(t->context, status);
}

int transport_send(struct transport *t, struct buf *out)
{
	uv_buf_t bytes = {.base = out->data, .len = out->len};
	struct buf empty;
	int sent, rv;

	if (t->active || out->len == 0)
		return 0;
	sent = uv_try_write((uv_stream_t *)&t->tcp, &bytes, 1);
	if (sent == UV_EAGAIN)
		sent = 0;
	if (sent < 0)
		return sent;
	if ((size_t)sent == out->len) {
		buf_recycle(out);
		return 0;
	}
	empty = t->writing;
	t->writing = *out;
	*out = empty;
	bytes.base += sent;
	bytes.len -= (size_t)sent;
	t->request.data = t;
	rv = uv_write(&t->request, (uv_stream_t *)&t->tcp, &bytes, 1, transport_on_write);
	t->active = rv == 0;
	return rv;
}

int transport_flush(struct transport *t)
{
	return t->secure ? secure_flush(t) : transport_send(t, &t->out);
}

size_t transport_underway(const struct transport *t)
{
	return t->active ? uv_stream_get_write_queue_size((const uv_stream_t *)&t->tcp) : 0;
}

size_t transport_waiting(const struct transport *t)
{
	return t->out.len + (t->secure ? t->secure->sealed.len : 0) + transport_underway(t);
}

bool transport_idle(const struct transport *t)
{
	return !t->active && t->out.len == 0 && !(t->secure && t->secure->sealed.len);
}

/* ---- the end --------------------------------------------------------------------- */

static void transport_on_shutdown(uv_shutdown_t *request, int status)
{
	(void)request;
	(void)status;
}

int transport_finish(struct transport *t)
{
	if (t->secure)
		secure_finish(t);
	return uv_shutdown(&t->shutdown, (uv_stream_t *)&t->tcp, transport_on_shutdown);
}

static void transport_on_closed(uv_handle_t *handle)
{
	struct transport *t = transport_of(handle);

	t->handle_closed = true;
	transport_free_if_closed(t);
}

void transport_close(struct transport *t)
{
	if (t->closing)
		return;
	t->closing = true;
	if (t->dialing)
		dial_cancel(&t->dial);
	if (t->secure)
		secure_cancel(t);
	if (!uv_is_closing((uv_handle_t *)&t->tcp))
		uv_close((uv_handle_t *)&t->tcp, transport_on_closed);
}

void transport_abort(struct transport *t)
{
	const struct linger none = {.l_onoff = 1};
	uv_os_fd_t fd;

	if (!t->closing && uv_fileno((uv_handle_t *)&t->tcp, &fd) == 0)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	transport_close(t);
}

/* ---- ends of it -------------------------------------------------------------------- */

void transport_address(const struct transport *t, bool peer, char out[TRANSPORT_ADDRESS_MAX])
{
	struct sockaddr_storage address;
	struct sockaddr *any = (struct sockaddr *)&address;
	int size = sizeof(address), rv;
	char ip[INET6_ADDRSTRLEN];

	snprintf(out, TRANSPORT_ADDRESS_MAX, "0.0.0.0:0");
	rv = peer ? uv_tcp_getpeername(&t->tcp, any, &size)
		  : uv_tcp_getsockname(&t->tcp, any, &size);
	if (rv != 0)
		return;
	if (any->sa_family == AF_INET &&
	    uv_ip4_name((struct sockaddr_in *)any, ip, sizeof(ip)) == 0)
		snprintf(out, TRANSPORT_ADDRESS_MAX, "%s:%d", ip,
			 ntohs(((struct sockaddr_in *)any)->sin_port));
	else if (any->sa_family == AF_INET6 &&
		 uv_ip6_name((struct sockaddr_in6 *)any, ip, sizeof(ip)) == 0)
		snprintf(out, TRANSPORT_ADDRESS_MAX, "[%s]:%d", ip,
			 ntohs(((struct sockaddr_in6 *)any)->sin6_port));
}

bool transport_is_reset(const struct transport *t)
{
	struct pollfd polled = {.events = 0};

	return uv_fileno((const uv_handle_t *)&t->tcp, &polled.fd) != 0 ||
	       (poll(&polled, 1, 0) > 0 && polled.revents & (POLLERR | POLLHUP));
}

int transport_socket(const struct transport *t)
{
	uv_os_fd_t fd;

	return !t->exclusive && uv_fileno((const uv_handle_t *)&t->tcp, &fd) == 0 ? fd : -1;
}

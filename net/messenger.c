/* Outbound libprocess messages: one connection a peer address, see libprocess.h.
 *
 * A peer lives from the first send or link until its connection breaks or, without a
 * link, has been idle for a while. When it breaks it leaves the table at once, so that
 * later sends start afresh; its links are reported from the close callback. What was
 * queued is lost, as with libprocess: senders repeat what matters. */
#include "net/libprocess.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log/log.h"
#include "base/table.h"
#include "net/limits.h"
#include "net/transport/transport.h"

struct linked {
	struct list link;
	UT_hash_handle hh; /* in the table until the peer breaks */
	struct peer *peer;
	char pid[];
};

struct peer {
	UT_hash_handle hh;
	struct messenger *messenger;
	struct list all;
	struct list dirty;
	struct list links;
	struct transport transport;
	bool open;
	bool broken;	       /* not in the table, closing */
	uint64_t used;	       /* loop time of the last message, or of the start of dialing */
	char address[PID_MAX]; /* "host:port", the key */
};

struct messenger {
	uv_loop_t *loop;
	struct tls *tls;
	void (*exited)(void *context, const char *pid);
	void *context;
	struct peer *table;
	size_t count;	      /* of `all` and `broken` */
	struct linked *links; /* of peers that are not broken, by pid */
	struct list all;
	struct list broken; /* their handles are closing, their links to be reported */
	struct list dirty;  /* with bytes to flush */
	uv_idle_t flusher;
	uv_timer_t ticker;
	int handles;
	bool closing;
	char *read_buffer;
	uint64_t tick_ms, connect_ms, idle_ms;
};

static void free_messenger(struct messenger *messenger)
{
	if (!messenger->closing || messenger->handles > 0 || messenger->count > 0)
		return;
	free(messenger->read_buffer);
	free(messenger);
}

/* -- the end of a peer -- */

static void on_peer_closed(void *context)
{
	struct peer *peer = context;
	struct messenger *messenger = peer->messenger;
	struct linked *linked;

	while ((linked = list_first(&peer->links, struct linked, link))) {
		/* Out of the list first: the owner may link and unlink in the callback. */
		list_remove(&linked->link);
		if (!messenger->closing)
			messenger->exited(messenger->context, linked->pid);
		free(linked);
	}
	list_remove(&peer->all);
	messenger->count--;
	free(peer);
	free_messenger(messenger);
}

static void break_peer(struct peer *peer, const char *why)
{
	struct messenger *messenger = peer->messenger;
	struct linked *linked, *next;

	if (peer->broken)
		return;
	if (!messenger->closing && (!list_empty(&peer->links) || !peer->open))
		log_info_limited("Connection to %s broke: %s", peer->address, why);
	peer->broken = true;
	HASH_DEL(messenger->table, peer);
	list_for_each (linked, next, &peer->links, link)
		HASH_DEL(messenger->links, linked);
	list_remove(&peer->all);
	list_append(&messenger->broken, &peer->all);
	list_remove(&peer->dirty);
	transport_close(&peer->transport);
}

/* -- writing -- */

static void flush_peer(struct peer *peer)
{
	int rv = transport_flush(&peer->transport);

	if (rv != 0)
		break_peer(peer, uv_strerror(rv));
}

static void on_turn(uv_idle_t *flusher)
{
	struct messenger *messenger = flusher->data;
	uint64_t begin = uv_hrtime();
	struct peer *peer;

	/* No callback of the owner runs in here, so the list only shrinks. */
	while ((peer = list_first(&messenger->dirty, struct peer, dirty)) &&
	       uv_hrtime() - begin < FLUSH_TURN_NS) {
		list_remove(&peer->dirty);
		flush_peer(peer);
	}
	if (list_empty(&messenger->dirty))
		uv_idle_stop(flusher);
}

static void touch(struct peer *peer)
{
	struct messenger *messenger = peer->messenger;

	if (!peer->open || peer->broken || !list_empty(&peer->dirty))
		return;
	list_append(&messenger->dirty, &peer->dirty);
	if (!uv_is_active((uv_handle_t *)&messenger->flusher))
		uv_idle_start(&messenger->flusher, on_turn);
}

static void messenger_on_written(void *context, int status)
{
	struct peer *peer = context;

	if (status != 0)
		break_peer(peer, uv_strerror(status));
	else
		touch(peer);
}

/* -- time -- */

static void messenger_on_tick(uv_timer_t *ticker)
{
	struct messenger *messenger = ticker->data;
	uint64_t now = uv_now(messenger->loop);
	struct peer *peer, *next;
	bool timed = false;

	list_for_each (peer, next, &messenger->all, all) {
		uint64_t idle = now - peer->used;
		if (!peer->open && idle >= messenger->connect_ms)
			break_peer(peer, uv_strerror(UV_ETIMEDOUT));
		else if (peer->open && list_empty(&peer->links) &&
			 transport_idle(&peer->transport) && idle >= messenger->idle_ms)
			break_peer(peer, "idle");
		else if (!peer->open || list_empty(&peer->links))
			timed = true;
	}
	if (!timed)
		uv_timer_stop(ticker);
}

static void start_ticker(struct messenger *messenger)
{
	if (!uv_is_active((uv_handle_t *)&messenger->ticker))
		uv_timer_start(&messenger->ticker, messenger_on_tick, messenger->tick_ms,
			       messenger->tick_ms);
}

/* -- the beginning of a peer -- */

/* Answers say nothing; only the end matters. */
static void messenger_on_received(void *context, const char *data, size_t len)
{
	(void)context;
	(void)data;
	(void)len;
}

static void messenger_on_ended(void *context, int status)
{
	break_peer(context, status == UV_EOF ? "closed by peer" : uv_strerror(status));
}

static void messenger_on_dialed(void *context, int status)
{
	struct peer *peer = context;

	if (status == 0)
		status = transport_read(&peer->transport);
	if (status != 0) {
		break_peer(peer, uv_strerror(status));
		return;
	}
	peer->open = true;
	peer->used = uv_now(peer->messenger->loop);
	touch(peer);
}

static const struct transport_handlers handlers = {
	.dialed = messenger_on_dialed,
	.received = messenger_on_received,
	.ended = messenger_on_ended,
	.written = messenger_on_written,
	.closed = on_peer_closed,
};

static struct peer *find_peer(struct messenger *messenger, const char *address)
{
	struct peer *peer;

	HASH_FIND_STR(messenger->table, address, peer);
	return peer;
}

/* Finds or makes the peer of an address. The new one may be broken already. */
static struct peer *get_peer(struct messenger *messenger, const char *address, const char *host,
			     int port)
{
	struct peer *peer = find_peer(messenger, address);

	if (peer)
		return peer;
	peer = xcalloc(1, sizeof(*peer));
	peer->messenger = messenger;
	snprintf(peer->address, sizeof(peer->address), "%s", address);
	transport_init(&peer->transport, messenger->loop, &handlers, peer, messenger->read_buffer,
		       HTTP_READ_SIZE);
	transport_secure(&peer->transport, messenger->tls);
	list_init(&peer->dirty);
	list_init(&peer->links);
	list_append(&messenger->all, &peer->all);
	messenger->count++;
	HASH_ADD_STR(messenger->table, address, peer);
	peer->used = uv_now(messenger->loop);

	int rv = port == 0 ? UV_EINVAL : 0;
	if (messenger->count > MESSENGER_PEERS_MAX)
		rv = UV_ENOBUFS;
	if (rv == 0)
		rv = transport_dial(&peer->transport, host, port);
	if (rv != 0)
		break_peer(peer, uv_strerror(rv));
	else
		start_ticker(messenger);
	return peer;
}

/* -- the interface -- */

struct messenger *messenger_create(uv_loop_t *loop, struct tls *tls,
				   void (*exited)(void *context, const char *pid), void *context)
{
	struct messenger *messenger = xcalloc(1, sizeof(*messenger));

	messenger->loop = loop;
	messenger->tls = tls;
	messenger->exited = exited;
	messenger->context = context;
	messenger->read_buffer = xmalloc(HTTP_READ_SIZE);
	messenger_limit_times(messenger, MESSENGER_TICK_MS, MESSENGER_CONNECT_TIMEOUT_MS,
			      MESSENGER_IDLE_MS);
	list_init(&messenger->all);
	list_init(&messenger->broken);
	list_init(&messenger->dirty);
	uv_idle_init(loop, &messenger->flusher);
	uv_timer_init(loop, &messenger->ticker);
	messenger->flusher.data = messenger->ticker.data = messenger;
	messenger->handles = 2;
	return messenger;
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct messenger *messenger = handle->data;

	messenger->handles--;
	free_messenger(messenger);
}

void messenger_close(struct messenger *messenger)
{
	struct peer *peer, *next;

	if (messenger->closing)
		return;
	messenger->closing = true;
	list_for_each (peer, next, &messenger->all, all) {
		/* Last words may still reach the kernel. */
		if (peer->open)
			flush_peer(peer);
		break_peer(peer, "closing");
	}
	uv_close((uv_handle_t *)&messenger->flusher, on_handle_closed);
	uv_close((uv_handle_t *)&messenger->ticker, on_handle_closed);
}

static void messenger_encode(struct buf *out, const char *from, const char *id, const char *address,
			     const char *name, const void *body, size_t len)
{
	buf_reserve(out, len + 4 * PID_MAX);
	buf_puts(out, "POST ");
	if (*id) {
		buf_putc(out, '/');
		buf_puts(out, id);
	}
	buf_putc(out, '/');
	buf_puts(out, name);
	buf_puts(out, " HTTP/1.1\r\nUser-Agent: libprocess/");
	buf_puts(out, from);
	buf_puts(out, "\r\nLibprocess-From: ");
	buf_puts(out, from);
	buf_puts(out, "\r\nConnection: Keep-Alive\r\nHost: ");
	buf_puts(out, address);
	if (len == 0) {
		buf_puts(out, "\r\n\r\n");
		return;
	}
	buf_puts(out, "\r\nTransfer-Encoding: chunked\r\n\r\n");
	buf_number(out, len, 16);
	buf_puts(out, "\r\n");
	buf_append(out, body, len);
	buf_puts(out, "\r\n0\r\n\r\n");
}

void messenger_send(struct messenger *messenger, const char *from, const char *to, const char *name,
		    const void *body, size_t len)
{
	char id[PID_MAX], host[PID_MAX];
	int port;

	if (messenger->closing)
		return;
	if (!pid_parse(to, id, host, &port) || port == 0) {
		log_debug("Dropped %s to '%s': no address", name, to);
		return;
	}
	const char *address = to + strlen(id) + 1;
	struct peer *peer = get_peer(messenger, address, host, port);
	if (peer->broken)
		return;
	messenger_encode(&peer->transport.out, from, id, address, name, body, len);
	peer->used = uv_now(messenger->loop);
	if (transport_waiting(&peer->transport) > MESSENGER_QUEUE_MAX)
		break_peer(peer, "it does not take its messages");
	else
		touch(peer);
}

/* Many actors may share an address, so a link is found by its pid, not by its peer. */
static struct linked *find_link(struct messenger *messenger, const char *pid)
{
	struct linked *linked;

	HASH_FIND_STR(messenger->links, pid, linked);
	return linked;
}

void messenger_link(struct messenger *messenger, const char *pid)
{
	char host[PID_MAX];
	int port = 0;

	if (messenger->closing || !pid || find_link(messenger, pid))
		return;
	/* What is no pid gets a peer that is broken from the start: the owner learns
	 * that nobody is there the same way as for an address where nobody is. */
	bool valid = pid_parse(pid, NULL, host, &port);
	struct peer *peer = valid ? get_peer(messenger, strchr(pid, '@') + 1, host, port)
				  : get_peer(messenger, "", "", 0);
	size_t len = strlen(pid);
	struct linked *linked = xmalloc(sizeof(*linked) + len + 1);
	memcpy(linked->pid, pid, len + 1);
	linked->peer = peer;
	list_append(&peer->links, &linked->link);
	if (!peer->broken)
		HASH_ADD_KEYPTR(hh, messenger->links, linked->pid, len, linked);
}

/* The report is due but did not come yet. */
static void forget_reports(struct messenger *messenger, const char *pid)
{
	struct peer *peer, *next_peer;
	struct linked *linked, *next;

	list_for_each (peer, next_peer, &messenger->broken, all) {
		list_for_each (linked, next, &peer->links, link) {
			if (strcmp(linked->pid, pid) != 0)
				continue;
			list_remove(&linked->link);
			free(linked);
		}
	}
}

void messenger_unlink(struct messenger *messenger, const char *pid)
{
	struct linked *linked = find_link(messenger, pid);
	struct peer *peer = linked ? linked->peer : NULL;

	forget_reports(messenger, pid);
	if (!linked)
		return;
	HASH_DEL(messenger->links, linked);
	list_remove(&linked->link);
	free(linked);
	if (list_empty(&peer->links)) {
		peer->used = uv_now(messenger->loop);
		start_ticker(messenger);
	}
}

void messenger_limit_times(struct messenger *messenger, uint64_t tick_ms, uint64_t connect_ms,
			   uint64_t idle_ms)
{
	messenger->tick_ms = tick_ms;
	messenger->connect_ms = connect_ms;
	messenger->idle_ms = idle_ms;
}

/* The listening side of the HTTP server: sockets, the list of connections, the end of
 * a loop turn, time limits. A client too many, or one for which no descriptor is
 * left, is dropped; everybody else goes on. */
#include "net/http/http_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log/log.h"

#define TICK_MAX_MS 1000
#define TICK_MIN_MS 5
#define LOG_SPAN_MS 10000 /* one line about refused clients in such a time */

static void log_refused(struct http_server *server, const char *why)
{
	uint64_t now = uv_now(server->options.loop);

	if (server->refused_logged && now - server->refused_logged < LOG_SPAN_MS)
		return;
	server->refused_logged = now ? now : 1;
	log_warning("Dropped a connection to port %d: %s", server->port, why);
}

static void on_client(uv_stream_t *listener, int status)
{
	struct http_server *server = listener->data;

	/* Out of descriptors, libuv has dropped the clients that waited. */
	if (status < 0) {
		log_refused(server, uv_strerror(status));
		return;
	}
	if (server->closing)
		return;
	if (server->connection_count >= server->options.connections_max)
		log_refused(server, "too many connections");
	http_connection_accept(server);
}

static void on_turn(uv_idle_t *flusher)
{
	struct http_server *server = flusher->data;
	uint64_t begin = uv_hrtime();
	struct list now;

	/* What is touched from here on belongs to the next turn, as do those for which there is no
	 * time: what came meanwhile is read before them. */
	list_init(&now);
	list_move(&now, &server->dirty);
	while (!list_empty(&now) && uv_hrtime() - begin < FLUSH_TURN_NS) {
		struct list *node = now.next;
		list_remove(node);
		http_connection_turn(list_entry(node, struct http_connection, dirty));
	}
	list_move(&now, &server->dirty);
	list_move(&server->dirty, &now);
	if (list_empty(&server->dirty))
		uv_idle_stop(flusher);
}

/* Who is watched includes everybody that output waits for. */
static void bound_output(struct http_server *server)
{
	struct http_connection *connection, *next;
	size_t total = 0, count = 0, share;

	list_for_each (connection, next, &server->timed, timed) {
		total += http_connection_waiting(connection);
		count++;
	}
	if (total <= server->options.output_total_max)
		return;
	share = server->options.output_total_max / count;
	list_for_each (connection, next, &server->timed, timed) {
		if (http_connection_waiting(connection) <= share)
			continue;
		log_info_limited(
			"Closing the connection of %s: it does not read, and %zu bytes wait for "
			"%zu such clients",
			connection->peer, total, count);
		http_connection_close(connection);
	}
}

static void http_server_on_tick(uv_timer_t *ticker)
{
	struct http_server *server = ticker->data;
	struct http_connection *connection, *next;
	uint64_t now = uv_now(server->options.loop);

	list_for_each (connection, next, &server->timed, timed)
		http_connection_tick(connection, now);
	bound_output(server);
	if (list_empty(&server->timed))
		uv_timer_stop(ticker);
}

void http_server_touch(struct http_connection *connection)
{
	struct http_server *server = connection->server;

	if (connection->closing || connection->detached || !list_empty(&connection->dirty))
		return;
	list_append(&server->dirty, &connection->dirty);
	if (!uv_is_active((uv_handle_t *)&server->flusher))
		uv_idle_start(&server->flusher, on_turn);
}

void http_server_watch(struct http_connection *connection)
{
	struct http_server *server = connection->server;

	if (connection->closing || connection->detached || !list_empty(&connection->timed))
		return;
	list_append(&server->timed, &connection->timed);
	if (!uv_is_active((uv_handle_t *)&server->ticker))
		uv_timer_start(&server->ticker, http_server_on_tick, (uint64_t)server->tick_ms,
			       (uint64_t)server->tick_ms);
}

const char *http_server_date(struct http_server *server)
{
	time_t now = time(NULL);

	if (now != server->date_second && !server->date_kept) {
		struct tm utc;
		gmtime_r(&now, &utc);
		strftime(server->date, sizeof(server->date), "%a, %d %b %Y %H:%M:%S GMT", &utc);
		server->date_second = now;
		server->answer_status = 0;
	}
	return server->date;
}

/* A bound socket, before any handle exists that would need the loop to go away. */
static int bind_socket(const struct http_server_options *options, int *port, struct err *err)
{
	union {
		struct sockaddr any;
		struct sockaddr_in ip4;
		struct sockaddr_in6 ip6;
	} address = {0};
	socklen_t size = sizeof(address);
	int on = 1;

	if (options->port < 0 || options->port > UINT16_MAX)
		return err_set(err, ERR_INVALID, "port %d is not between 0 and 65535",
			       options->port);
	if (uv_ip4_addr(options->ip, options->port, &address.ip4) != 0 &&
	    uv_ip6_addr(options->ip, options->port, &address.ip6) != 0)
		return err_set(err, ERR_INVALID, "'%s' is not an IP address", options->ip);

	int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(err, ERR_IO, "cannot make a socket: %s", strerror(errno));
	socklen_t length =
		address.any.sa_family == AF_INET ? sizeof(address.ip4) : sizeof(address.ip6);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    bind(fd, &address.any, length) != 0 || listen(fd, HTTP_BACKLOG) != 0 ||
	    getsockname(fd, &address.any, &size) != 0) {
		err_set(err, ERR_IO, "cannot listen on %s:%d: %s", options->ip, options->port,
			strerror(errno));
		close(fd);
		return ERR_IO;
	}
	*port = ntohs(address.any.sa_family == AF_INET ? address.ip4.sin_port
						       : address.ip6.sin6_port);
	return fd;
}

static int or_default(int value, int fallback)
{
	return value > 0 ? value : fallback;
}

static void fill_in_limits(struct http_server *server)
{
	struct http_server_options *options = &server->options;

	options->head_timeout_ms = or_default(options->head_timeout_ms, HTTP_HEAD_TIMEOUT_MS);
	options->body_timeout_ms = or_default(options->body_timeout_ms, HTTP_BODY_TIMEOUT_MS);
	options->write_timeout_ms = or_default(options->write_timeout_ms, HTTP_WRITE_TIMEOUT_MS);
	options->linger_ms = or_default(options->linger_ms, HTTP_LINGER_MS);
	if (options->connections_max == 0)
		options->connections_max = HTTP_CONNECTIONS_MAX;
	if (options->output_total_max == 0)
		options->output_total_max = HTTP_OUTPUT_TOTAL_MAX;

	int least = options->head_timeout_ms;
	if (options->body_timeout_ms < least)
		least = options->body_timeout_ms;
	if (options->write_timeout_ms < least)
		least = options->write_timeout_ms;
	if (options->linger_ms < least)
		least = options->linger_ms;
	server->tick_ms = least / 4;
	if (server->tick_ms > TICK_MAX_MS)
		server->tick_ms = TICK_MAX_MS;
	if (server->tick_ms < TICK_MIN_MS)
		server->tick_ms = TICK_MIN_MS;
}

static struct http_server *make_server(const struct http_server_options *options, int port)
{
	struct http_server *server = xcalloc(1, sizeof(*server));

	server->options = *options;
	server->options.ip = NULL; /* the caller's memory */
	server->port = port;
	fill_in_limits(server);
	list_init(&server->connections);
	list_init(&server->dirty);
	list_init(&server->timed);
	server->read_buffer = xmalloc(HTTP_READ_SIZE);
	uv_tcp_init(options->loop, &server->listener);
	uv_idle_init(options->loop, &server->flusher);
	uv_timer_init(options->loop, &server->ticker);
	server->listener.data = server->flusher.data = server->ticker.data = server;
	server->handles = 3;
	return server;
}

int http_server_accept(struct http_server *server, struct err *err)
{
	int rv = uv_listen((uv_stream_t *)&server->listener, HTTP_BACKLOG, on_client);

	return rv == 0 ? 0 : err_set(err, ERR_IO, "cannot listen: %s", uv_strerror(rv));
}

int http_server_create(const struct http_server_options *options, struct http_server **out,
		       struct err *err)
{
	int port = 0;
	int fd = bind_socket(options, &port, err);

	if (fd < 0)
		return fd;
	struct http_server *server = make_server(options, port);
	int rv = uv_tcp_open(&server->listener, fd);
	if (rv != 0)
		rv = err_set(err, ERR_IO, "cannot listen: %s", uv_strerror(rv));
	if (rv == 0) {
		/* Connections inherit these, which spares each a handful of system calls. */
		uv_tcp_nodelay(&server->listener, 1);
		uv_tcp_keepalive(&server->listener, 1, TCP_KEEPALIVE_SECONDS);
		rv = options->later ? 0 : http_server_accept(server, err);
	}
	if (rv != 0) {
		http_server_close(server, NULL, NULL);
		return err_wrap(err, ERR_IO, "%s:%d", options->ip, options->port);
	}
	*out = server;
	return 0;
}

int http_server_port(const struct http_server *server)
{
	return server->port;
}

static void finish_close(struct http_server *server)
{
	if (!server->closing || server->handles > 0 || server->connection_count > 0)
		return;
	void (*closed)(void *) = server->closed;
	void *context = server->closed_context;
	if (server->spare) {
		arena_free(&server->spare->request.arena);
		free(server->spare);
	}
	buf_free(&server->answer);
	free(server->read_buffer);
	free(server);
	if (closed)
		closed(context);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct http_server *server = handle->data;

	server->handles--;
	finish_close(server);
}

void http_server_forget(struct http_connection *connection)
{
	struct http_server *server = connection->server;

	list_remove(&connection->link);
	server->connection_count--;
	finish_close(server);
}

void http_note_sender(struct http_request *request, const char *sender)
{
	struct http_connection *connection = request->connection;

	if (!connection || (connection->sender && !strcmp(connection->sender, sender)))
		return;
	free(connection->sender);
	connection->sender = xstrdup(sender);
}

void http_sole_sender(struct http_request *request, const char *sender)
{
	struct http_connection *of_request = request->connection, *connection, *next;

	http_note_sender(request, sender);
	if (!of_request)
		return;
	list_for_each (connection, next, &of_request->server->connections, link) {
		if (connection != of_request && connection->sender &&
		    !strcmp(connection->sender, sender))
			http_connection_close(connection);
	}
}

void http_server_close(struct http_server *server, void (*closed)(void *), void *context)
{
	struct http_connection *connection, *next;

	if (server->closing)
		return;
	server->closing = true;
	server->closed = closed;
	server->closed_context = context;
	list_for_each (connection, next, &server->connections, link) {
		/* Last words may still reach the kernel. */
		if (!connection->closing && !connection->detached)
			http_connection_flush(connection);
		http_connection_close(connection);
	}
	uv_close((uv_handle_t *)&server->listener, on_handle_closed);
	uv_close((uv_handle_t *)&server->flusher, on_handle_closed);
	uv_close((uv_handle_t *)&server->ticker, on_handle_closed);
}

/* See echo.h. The server is a forked child with a loop of its own; it ends when the last connection
 * closes, and dies with its parent. The time begins when all connections are there. */
#include "bench/load/measure/echo.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/memory/arena.h"
#include "base/time/clock.h"
#include "net/transport/transport.h"

#define CONNECTIONS_MAX 20000
#define BACKLOG 4096
#define UNDER_WAY                                                                                  \
	(64 * 1024) /* bytes on a connection at most, so that nothing waits for memory             \
		     */
#define SIZE_MAX_HERE 65536
#define READ_SIZE (64 * 1024)
#define TIMEOUT_MS 120000

struct side {
	uv_loop_t loop;
	uv_tcp_t listener;
	struct end *ends;
	size_t size;  /* of a message */
	uint32_t cap; /* of `ends` */
	uint32_t count;
	uint32_t open;
	uint32_t connected; /* of the client's */
	int64_t began;	    /* when all were */
	uint64_t left;	    /* to be sent by the client */
	uint64_t awaited;
	bool server;
	bool failed;
	char *message;
	char read_buffer[READ_SIZE];
};

/* One connection of a side. */
struct end {
	struct side *side;
	struct transport transport;
	bool closing;
	size_t part; /* bytes of a message that is not whole yet */
};

static void on_closed(void *context)
{
	struct end *end = context;
	struct side *side = end->side;

	if (--side->open == 0 && side->server)
		uv_stop(&side->loop);
}

static void close_end(struct end *end, bool failed)
{
	if (end->closing)
		return;
	end->closing = true;
	end->side->failed |= failed;
	transport_close(&end->transport);
}

static void send_on(struct end *end)
{
	if (!end->closing && transport_flush(&end->transport) != 0)
		close_end(end, !end->side->server);
}

static void on_written(void *context, int status)
{
	struct end *end = context;

	if (status != 0)
		close_end(end, !end->side->server);
	else
		send_on(end);
}

static void finish_client(struct side *side)
{
	for (uint32_t i = 0; i < side->count; i++)
		close_end(&side->ends[i], false);
}

static void add_one(struct end *end)
{
	buf_append(&end->transport.out, end->side->message, end->side->size);
}

static void take_one(struct end *end)
{
	struct side *side = end->side;

	if (side->server) {
		add_one(end);
		return;
	}
	if (side->left > 0) {
		side->left--;
		add_one(end);
	}
	if (--side->awaited == 0)
		finish_client(side);
}

static void on_received(void *context, const char *data, size_t len)
{
	struct end *end = context;

	(void)data;
	end->part += len;
	for (; end->part >= end->side->size; end->part -= end->side->size)
		take_one(end);
	send_on(end);
}

static void on_ended(void *context, int status)
{
	struct end *end = context;

	(void)status;
	close_end(end, !end->side->server);
}

static void on_connected(void *context, int status);

static void open_end(struct side *side, struct end *end)
{
	static const struct transport_handlers handlers = {
		.dialed = on_connected,
		.received = on_received,
		.ended = on_ended,
		.written = on_written,
		.closed = on_closed,
	};

	end->side = side;
	transport_init(&end->transport, &side->loop, &handlers, end, side->read_buffer, READ_SIZE);
	side->open++;
}

/* ---- the server -------------------------------------------------------------- */

static void on_connection(uv_stream_t *listener, int status)
{
	struct side *side = listener->data;

	if (status != 0 || side->count == side->cap)
		return;
	struct end *end = &side->ends[side->count++];
	open_end(side, end);
	if (transport_accept(&end->transport, listener) != 0)
		close_end(end, true);
	else
		transport_read(&end->transport);
}

static void move_beside(int pid)
{
	cpu_set_t set;

	if (pid > 0 && sched_getaffinity(pid, sizeof(set), &set) == 0)
		sched_setaffinity(0, sizeof(set), &set);
}

static void serve(struct side *side, int fd, int master_pid)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	move_beside(master_pid);
	side->server = true;
	uv_tcp_init(&side->loop, &side->listener);
	side->listener.data = side;
	uv_tcp_open(&side->listener, fd);
	uv_tcp_nodelay(&side->listener, 1);
	if (uv_listen((uv_stream_t *)&side->listener, BACKLOG, on_connection) == 0)
		uv_run(&side->loop, UV_RUN_DEFAULT);
	_exit(0);
}

/* ---- the client -------------------------------------------------------------- */

/* Each connection gets its part, and no more than may be under way on it. */
static void begin(struct side *side)
{
	size_t window = UNDER_WAY / side->size, part = side->left / side->count + 1;

	if (window < 1)
		window = 1;
	if (window > part)
		window = part;
	side->began = clock_now();
	for (uint32_t i = 0; i < side->count; i++) {
		struct end *end = &side->ends[i];

		for (size_t sent = 0; sent < window && side->left > 0; sent++) {
			side->left--;
			add_one(end);
		}
		send_on(end);
	}
}

static void on_connected(void *context, int status)
{
	struct end *end = context;
	struct side *side = end->side;

	if (status == 0)
		status = transport_read(&end->transport);
	if (status != 0)
		close_end(end, true);
	else if (++side->connected == side->count)
		begin(side);
}

static void on_timeout(uv_timer_t *timer)
{
	struct side *side = timer->data;

	side->failed = true;
	finish_client(side);
	uv_close((uv_handle_t *)timer, NULL);
}

static void play_client(struct side *side, int port, uint32_t connections)
{
	uv_timer_t timer;

	uv_timer_init(&side->loop, &timer);
	timer.data = side;
	uv_timer_start(&timer, on_timeout, TIMEOUT_MS, 0);
	uv_unref((uv_handle_t *)&timer);
	side->count = connections;
	for (uint32_t i = 0; i < connections; i++) {
		struct end *end = &side->ends[i];

		open_end(side, end);
		if (transport_dial(&end->transport, "127.0.0.1", port) != 0)
			close_end(end, true);
	}
	uv_run(&side->loop, UV_RUN_DEFAULT);
	if (!uv_is_closing((uv_handle_t *)&timer))
		uv_close((uv_handle_t *)&timer, NULL);
	uv_run(&side->loop, UV_RUN_DEFAULT);
}

static int listen_here(struct sockaddr_in *address, struct err *err)
{
	socklen_t len = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memset(address, 0, sizeof(*address));
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd >= 0 && bind(fd, (struct sockaddr *)address, len) == 0 && listen(fd, BACKLOG) == 0 &&
	    getsockname(fd, (struct sockaddr *)address, &len) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return err_set(err, ERR_IO, "cannot listen on loopback: %s", strerror(errno));
}

static struct side *make_side(const struct echo *echo, uint32_t connections)
{
	struct side *side = xcalloc(1, sizeof(*side));

	uv_loop_init(&side->loop);
	side->cap = connections;
	side->ends = xcalloc(connections, sizeof(*side->ends));
	side->size = echo->messages ? echo->bytes / echo->messages : 1;
	if (side->size < 1)
		side->size = 1;
	if (side->size > SIZE_MAX_HERE)
		side->size = SIZE_MAX_HERE;
	side->message = xcalloc(1, side->size);
	side->left = side->awaited = echo->messages / 2;
	return side;
}

/* The processor time that it took in all. */
static double wait_for_server(pid_t child)
{
	struct rusage usage = {0};

	while (wait4(child, NULL, 0, &usage) < 0 && errno == EINTR)
		;
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int echo_measure(struct echo *echo, struct err *err)
{
	uint32_t connections = echo->connections;
	struct sockaddr_in address;
	int fd = listen_here(&address, err);
	struct side *side;
	pid_t child;

	if (fd < 0 || echo->messages < 2)
		return fd < 0 ? fd : err_set(err, ERR_STATE, "no messages to measure with");
	connections = connections < 1 ? 1 : connections;
	connections = connections > CONNECTIONS_MAX ? CONNECTIONS_MAX : connections;
	child = fork();
	if (child == 0)
		serve(make_side(echo, connections), fd, echo->master_pid);
	close(fd);
	if (child < 0)
		return err_set(err, ERR_IO, "fork: %s", strerror(errno));
	side = make_side(echo, connections);
	play_client(side, ntohs(address.sin_port), connections);
	echo->seconds = (double)(clock_now() - side->began) / SECOND;
	if (side->failed)
		kill(child, SIGKILL);
	echo->server_cpu = wait_for_server(child);
	bool failed = side->failed;
	uv_loop_close(&side->loop);
	free(side->message);
	free(side->ends);
	free(side);
	return failed ? err_set(err, ERR_IO, "the loopback measurement broke off") : 0;
}

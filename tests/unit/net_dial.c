/* Opening connections: by name and number, and giving up. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "net/transport/dial.h"
#include "net/transport/transport.h"
#include "net_harness.h"

#define POOL_THREADS 4 /* libuv's, unless UV_THREADPOOL_SIZE says otherwise */

static struct fixture fixture;
static uv_tcp_t tcp;
static struct dial dial;
static struct transport transport;
static char received[64];
static int dialed, status_then;

static void on_dialed(struct dial *d, int status)
{
	cr_assert_eq(d, &dial);
	dialed++;
	status_then = status;
}

static void set_up(void)
{
	setenv("UV_THREADPOOL_SIZE", "4", 1);
	dialed = 0;
	fixture_init(&fixture);
	fixture_start(&fixture);
	uv_tcp_init(&fixture.loop, &tcp);
}

static void tear_down(void)
{
	uv_close((uv_handle_t *)&tcp, NULL);
	fixture_finish(&fixture);
}

TestSuite(dial, .init = set_up, .fini = tear_down, .timeout = 60);

static void expect_connection(const char *host)
{
	cr_assert_eq(dial_start(&dial, &tcp, host, http_server_port(fixture.server), on_dialed), 0);
	cr_expect_eq(dialed, 0, "not inside of the call");
	until(&fixture, dialed == 1);
	cr_expect_eq(status_then, 0, "%s", uv_strerror(status_then));
	cr_expect(uv_is_writable((uv_stream_t *)&tcp));
}

Test(dial, by_number)
{
	expect_connection("127.0.0.1");
}

Test(dial, by_name)
{
	expect_connection("localhost");
}

static int option(int level, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);
	uv_os_fd_t fd;

	cr_assert_eq(uv_fileno((uv_handle_t *)&transport.tcp, &fd), 0);
	cr_assert_eq(getsockopt(fd, level, name, &value, &size), 0);
	return value;
}

static void on_transport_dialed(void *context, int status)
{
	*(int *)context = status;
}

static void on_transport_closed(void *context)
{
	*(int *)context = 2;
}

static const struct transport_handlers handlers = {.dialed = on_transport_dialed,
						   .closed = on_transport_closed};

static void close_transport(int *status)
{
	transport_close(&transport);
	until(&fixture, *status == 2);
}

/* What goes out goes at once, and who is gone is noticed. */
Test(dial, connections_are_set_up)
{
	char address[TRANSPORT_ADDRESS_MAX], expected[TRANSPORT_ADDRESS_MAX];
	int port = http_server_port(fixture.server), status = 1;

	transport_init(&transport, &fixture.loop, &handlers, &status, received, sizeof(received));
	cr_assert_eq(transport_dial(&transport, "127.0.0.1", port), 0);
	until(&fixture, status == 0);
	cr_expect_eq(option(IPPROTO_TCP, TCP_NODELAY), 1);
	cr_expect_eq(option(SOL_SOCKET, SO_KEEPALIVE), 1);
	transport_address(&transport, true, address);
	snprintf(expected, sizeof(expected), "127.0.0.1:%d", port);
	cr_expect_str_eq(address, expected);
	transport_address(&transport, false, address);
	cr_expect(str_has_prefix(address, "127.0.0.1:"));
	close_transport(&status);
}

/* Where the machine has such addresses. */
Test(dial, addresses_of_ipv6)
{
	struct sockaddr_in6 local = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	socklen_t size = sizeof(local);
	char address[TRANSPORT_ADDRESS_MAX], expected[TRANSPORT_ADDRESS_MAX];
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), status = 1;

	if (fd < 0 || bind(fd, (struct sockaddr *)&local, size) != 0) {
		close(fd);
		return;
	}
	cr_assert_eq(listen(fd, 1), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&local, &size), 0);
	transport_init(&transport, &fixture.loop, &handlers, &status, received, sizeof(received));
	cr_assert_eq(transport_dial(&transport, "::1", ntohs(local.sin6_port)), 0);
	until(&fixture, status == 0);
	transport_address(&transport, true, address);
	snprintf(expected, sizeof(expected), "[::1]:%d", ntohs(local.sin6_port));
	cr_expect_str_eq(address, expected);
	close_transport(&status);
	close(fd);
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int freed;

static void wait_at_gate(uv_work_t *work)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
}

static void on_free(uv_work_t *work, int status)
{
	freed++;
}

/* While no thread is left that could look the name up. */
Test(dial, giving_up_does_not_wait_for_the_resolver)
{
	uv_work_t busy[POOL_THREADS];

	pthread_mutex_lock(&gate);
	for (int i = 0; i < POOL_THREADS; i++)
		uv_queue_work(&fixture.loop, &busy[i], wait_at_gate, on_free);
	cr_assert_eq(dial_start(&dial, &tcp, "localhost", 1, on_dialed), 0);
	dial_cancel(&dial);
	until(&fixture, dialed == 1);
	cr_expect_eq(status_then, UV_ECANCELED);
	pthread_mutex_unlock(&gate);
	until(&fixture, freed == POOL_THREADS);
}

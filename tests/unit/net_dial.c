/* Opening connections: by name and number, and giving up. */
#include <pthread.h>
#include <stdlib.h>

#include "net/transport/dial.h"
#include "net_harness.h"

#define POOL_THREADS 4 /* libuv's, unless UV_THREADPOOL_SIZE says otherwise */

static struct fixture fixture;
static uv_tcp_t tcp;
static struct dial dial;
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

Test(dial, a_name_that_is_none)
{
	cr_assert_eq(dial_start(&dial, &tcp, "no such name", 1, on_dialed), 0);
	until(&fixture, dialed == 1);
	cr_expect_lt(status_then, 0);
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

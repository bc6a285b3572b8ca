/* The processes that poll: what they may ask for, and that they end. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/wait.h>
#include <uv.h>

#include "base/time/clock.h"
#include "bench/load/measure/pollers.h"
#include "net/http.h"

Test(pollers, know_what_can_be_asked)
{
	cr_expect(pollers_target_valid("/state"));
	cr_expect(pollers_target_valid("/tasks?limit=10"));
	cr_expect(pollers_target_valid("GET_STATE"));
	cr_expect_not(pollers_target_valid(""));
	cr_expect_not(pollers_target_valid("state"));
	cr_expect_not(pollers_target_valid("GET_STATE\"}"));
	cr_expect_not(pollers_target_valid("/a b"));
	cr_expect_not(pollers_target_valid("/a\r\nX: y"));
}

/* ---- against a server ------------------------------------------------------------- */

#define ANSWERS 20

struct served {
	uv_loop_t loop;
	uv_timer_t guard;
	struct http_server *server;
	int status;
	int reads;
	int probes;
	bool late;
};

static void serve(void *context, struct http_request *request)
{
	struct served *served = context;

	served->reads += request->path[1] == 's';
	served->probes += request->path[1] == 'h';
	http_reply_text(request, served->status, "0123456789");
}

static void too_late(uv_timer_t *guard)
{
	((struct served *)guard->data)->late = true;
}

static void open_server(struct served *served)
{
	struct err err;
	struct http_server_options options = {
		.loop = &served->loop,
		.ip = "127.0.0.1",
		.body_max = 1024,
		.handler = serve,
		.context = served,
	};

	uv_loop_init(&served->loop);
	uv_timer_init(&served->loop, &served->guard);
	served->guard.data = served;
	uv_timer_start(&served->guard, too_late, 20000, 0);
	cr_assert_eq(http_server_create(&options, &served->server, &err), 0);
}

static void close_server(struct served *served)
{
	http_server_close(served->server, NULL, NULL);
	uv_close((uv_handle_t *)&served->guard, NULL);
	uv_run(&served->loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&served->loop), 0);
}

Test(pollers, poll_without_pause_and_probe, .timeout = 60)
{
	struct served served = {.status = 200};
	struct pollers *pollers;
	struct err err;

	open_server(&served);
	struct plan plan = {
		.host = (char *)"127.0.0.1",
		.port = http_server_port(served.server),
		.pollers = 3,
		.poll = "/state",
		.poll_as_json = true,
		.stall_probe = 2 * MILLISECOND,
	};
	cr_assert_eq(pollers_start(&plan, &pollers, &err), 0);
	pollers_go(pollers);
	while (!served.late && (served.reads < ANSWERS || served.probes < ANSWERS))
		uv_run(&served.loop, UV_RUN_ONCE);
	cr_assert(!served.late);
	cr_assert(pollers_stop(pollers));
	cr_assert(pollers_stop(pollers));
	const struct poll_figures *polls = pollers_polls(pollers);
	cr_assert_geq(polls->count, ANSWERS - 3);
	cr_assert_eq(polls->bytes, 10 * polls->count);
	cr_assert_eq(polls->failed, 0);
	cr_assert_gt(polls->span, 0);
	cr_assert_eq(polls->times.count, polls->count);
	/* Who is late stands for those not sent. */
	const struct poll_figures *stalls = pollers_stalls(pollers);
	cr_assert_geq(stalls->count, ANSWERS - 1);
	cr_assert_geq(stalls->times.count, stalls->count);
	pollers_close(pollers);
	cr_assert(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "a process is left");
	close_server(&served);
}

Test(pollers, count_what_fails, .timeout = 60)
{
	struct served served = {.status = 503};
	struct pollers *pollers;
	struct err err;

	open_server(&served);
	struct plan plan = {.host = (char *)"127.0.0.1",
			    .port = http_server_port(served.server),
			    .pollers = 1,
			    .poll = "/state"};
	cr_assert_eq(pollers_start(&plan, &pollers, &err), 0);
	pollers_go(pollers);
	/* The second is asked for when the first was counted. */
	while (!served.late && served.reads < 2)
		uv_run(&served.loop, UV_RUN_ONCE);
	cr_assert(!served.late);
	cr_assert(pollers_stop(pollers));
	cr_assert_geq(pollers_polls(pollers)->failed, 1);
	cr_assert_eq(pollers_polls(pollers)->count, 0);
	cr_assert_null(pollers_stalls(pollers));
	pollers_close(pollers);
	close_server(&served);
}

Test(pollers, end_in_the_midst_of_it, .timeout = 60)
{
	struct plan plan = {.host = (char *)"127.0.0.1",
			    .port = 1,
			    .pollers = 1,
			    .poll = "/state",
			    .stall_probe = MILLISECOND};
	struct pollers *pollers;
	struct err err;

	cr_assert_eq(pollers_start(&plan, &pollers, &err), 0);
	pollers_go(pollers);
	pollers_close(pollers);
	cr_assert(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "a process is left");
}

Test(pollers, are_none_where_none_are_planned)
{
	struct plan plan = {.poll = "/state"};
	struct pollers *pollers;
	struct err err;

	cr_assert_eq(pollers_start(&plan, &pollers, &err), 0);
	cr_assert_null(pollers);
	pollers_go(pollers);
	cr_assert(pollers_stop(pollers));
	cr_assert_null(pollers_polls(pollers));
	pollers_close(pollers);
}

/* Answers rendered in child processes: who gets what, from how many children, and how each
 * of them ends. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "net/gzip.h"
#include "net/http/http_internal.h"
#include "net/offload.h"
#include "net/offload/offload_internal.h"
#include "net_harness.h"

#define BIG (16u << 20) /* more than sockets hold */

static struct fixture fixture;
static struct raw raw;
static struct offload *offload;
static int submitted;
static int rendered_here; /* stays 0 in this process when children render */

/* /text answers its query, /big many bytes, /die dies, /pid the process. */
static void render(const struct offload_read *read, struct buf *body, const char **content_type)
{
	const char *path = read->request->path;

	rendered_here++;
	if (!strcmp(path, "/die"))
		_exit(3);
	if (!strcmp(path, "/big")) {
		buf_reserve(body, BIG);
		memset(body->data, 'x', BIG);
		body->len = BIG;
		return;
	}
	if (!strcmp(path, "/signals")) {
		struct sigaction action;

		sigaction(SIGUSR1, NULL, &action);
		buf_printf(body, "SIGUSR1 %s, ",
			   action.sa_handler == SIG_DFL ? "ends it" : "is handled");
		sigaction(SIGUSR2, NULL, &action);
		buf_printf(body, "SIGUSR2 %s",
			   action.sa_handler == SIG_IGN ? "is ignored" : "is not ignored");
		return;
	}
	if (!strcmp(path, "/json"))
		*content_type = "application/json";
	if (!strcmp(path, "/long"))
		for (int i = 0; i < 1000; i++)
			buf_puts(body, "long ");
	buf_printf(body, "<%s by %d, %d>", read->request->query, (int)getpid(), rendered_here);
}

static void handle(void *context, struct http_request *request)
{
	struct offload_read read = {
		.request = request,
		.render = render,
		.context = &fixture,
		.what = request->path[1] == 'l' ? "long" : "text",
		.content_type = "text/plain",
	};

	request->principal = http_header(request, "As");
	if (!strcmp(request->path, "/hello"))
		http_reply_text(request, 200, "hello");
	else if (!strcmp(request->path, "/stream"))
		fixture.streams[fixture.stream_count++] =
			http_stream_open(request, NULL, NULL, 1 << 20, NULL, NULL);
	else if (!strcmp(request->path, "/inline"))
		offload_inline(&read);
	else if (++submitted)
		offload_submit(offload, &read);
}

static void set_up(void)
{
	rendered_here = submitted = 0;
	fixture_init(&fixture);
	fixture.handler = handle;
	fixture_start(&fixture);
	offload = offload_create(&fixture.loop);
	offload_limit_credit(offload, 0);
	raw_open(&raw, &fixture);
}

static void tear_down(void)
{
	if (offload)
		offload_close(offload);
	raw_close(&raw);
	fixture_finish(&fixture);
	cr_assert(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "a child is left");
}

TestSuite(offload, .init = set_up, .fini = tear_down, .timeout = 60);

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

Test(offload, a_child_answers)
{
	char mine[32];

	raw_expect(&raw, GET("/text?a=1"), "<a=1 by ");
	until(&fixture, raw_has(&raw, ", 1>"));
	snprintf(mine, sizeof(mine), "by %d,", (int)getpid());
	cr_assert_not(raw_has(&raw, mine), "%s", raw.in.data);
	cr_assert(str_has_prefix(raw.in.data, "HTTP/1.1 200 OK\r\nDate: "));
	cr_assert(raw_has(&raw, "\r\nContent-Type: text/plain\r\nContent-Length: "));
	cr_assert_eq(rendered_here, 0);
	cr_assert_eq(offload_counts(offload).children, 1);
	cr_assert_eq(offload_counts(offload).reads, 1);
	/* The connection is ours again. */
	raw_expect(&raw, GET("/hello"), "\r\n\r\nhello");
	raw_expect(&raw, GET("/json?b=2"), "application/json");
	until(&fixture, raw_has(&raw, "<b=2 by "));
}

static void handle_signal(int number)
{
	(void)number;
}

/* A handler writes to pipes that are the parent's. */
Test(offload, a_child_handles_no_signals)
{
	signal(SIGUSR1, handle_signal);
	signal(SIGUSR2, SIG_IGN);
	raw_expect(&raw, GET("/signals"), "SIGUSR1 ends it, SIGUSR2 is ignored");
	signal(SIGUSR1, SIG_DFL);
	signal(SIGUSR2, SIG_DFL);
}

Test(offload, one_child_answers_all_who_wait)
{
	struct raw others[5];

	/* The first takes a child of its own; the rest come while it lives, and wait. */
	raw_expect(&raw, GET("/text?first"), ", 1>");
	for (int i = 0; i < 5; i++) {
		raw_open(&others[i], &fixture);
		raw_send(&others[i], i < 3 ? GET("/text?same") : GET("/text?other"));
	}
	for (int i = 0; i < 5; i++)
		until(&fixture, raw_has(&others[i], "2>") || raw_has(&others[i], "1>"));
	cr_assert_eq(offload_counts(offload).reads, 6);
	cr_assert_lt(offload_counts(offload).children, 6);
	for (int i = 0; i < 5; i++) {
		cr_assert(raw_has(&others[i], i < 3 ? "<same by" : "<other by"));
		raw_close(&others[i]);
	}
}

Test(offload, requests_of_one_turn_share_a_body)
{
	struct raw other;

	raw_open(&other, &fixture);
	raw_expect(&other, GET("/hello"), "hello");
	raw_expect(&raw, GET("/text?first"), ", 1>");
	/* Both wait for the pause after the first child. */
	raw_send(&raw, GET("/text?twice"));
	raw_send(&other, GET("/text?twice"));
	until(&fixture, raw_has(&raw, "<twice by") && raw_has(&other, "<twice by"));
	until(&fixture, raw_count(&raw, ", 1>") == 2 && raw_has(&other, ", 1>"));
	raw_close(&other);
}

#define GET_AS(principal) "GET /text?same HTTP/1.1\r\nHost: x\r\nAs: " principal "\r\n\r\n"

/* The shortest time of ten that three reads, one after the other, take. */
static int64_t time_three(void)
{
	int64_t best = INT64_MAX;

	for (int round = 0; round < 10; round++) {
		int64_t begin = (int64_t)uv_hrtime(), took;
		struct raw client;

		for (int i = 0; i < 3; i++) {
			raw_open(&client, &fixture);
			raw_expect(&client, GET("/text?next"), "<next by");
			raw_close(&client);
		}
		took = (int64_t)uv_hrtime() - begin;
		best = took < best ? took : best;
	}
	return best;
}

/* Each without credit waits OFFLOAD_PAUSE forks. */
Test(offload, a_few_that_follow_one_another_do_not_wait)
{
	int64_t waiting = time_three(), at_once;

	offload_limit_credit(offload, 3600 * 1000);
	at_once = time_three();
	cr_assert_lt(2 * at_once, waiting, "%ld ns, %ld ns with pauses", (long)at_once,
		     (long)waiting);
	cr_assert_eq(offload_counts(offload).children, 60);
}

/* What one may see is not for another. */
Test(offload, principals_share_no_body)
{
	const char *asks[] = {GET_AS("good"), GET_AS("bad"), GET("/text?same"), GET_AS("good")};
	const char *counts[] = {", 1>", ", 2>", ", 3>", ", 1>"};
	struct raw others[4];

	for (int i = 0; i < 4; i++) {
		raw_open(&others[i], &fixture);
		raw_expect(&others[i], GET("/hello"), "hello");
	}
	raw_expect(&raw, GET("/text?first"), ", 1>");
	/* All wait for the pause after the first child. */
	for (int i = 0; i < 4; i++) {
		raw_send(&others[i], asks[i]);
		until(&fixture, submitted == i + 2);
	}
	for (int i = 0; i < 4; i++) {
		until(&fixture, raw_has(&others[i], "<same by"));
		until(&fixture, raw_has(&others[i], counts[i]));
		raw_close(&others[i]);
	}
	cr_assert_eq(offload_counts(offload).children, 2);
}

Test(offload, compresses_what_it_writes)
{
	struct buf plain = BUF_INIT;
	const char *body;

	raw_send(&raw, "GET /long HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n");
	until(&fixture, raw_has(&raw, "\r\n\r\n"));
	cr_assert(raw_has(&raw, "Content-Encoding: gzip\r\n"));
	raw_expect(&raw, GET("/hello"), "HTTP/1.1 200 OK\r\nDate");
	until(&fixture, raw_has(&raw, "hello") || raw.in.len > 400);
	body = strstr(raw.in.data, "\r\n\r\n") + 4;
	size_t len = strtoul(strstr(raw.in.data, "Content-Length: ") + 16, NULL, 10);
	until(&fixture, raw.in.len >= (size_t)(body - raw.in.data) + len);
	body = strstr(raw.in.data, "\r\n\r\n") + 4;
	cr_assert_eq(gzip_inflate(&plain, body, len, 1 << 20), 0);
	cr_assert(str_has_prefix(plain.data, "long long "));
	buf_free(&plain);
}

Test(offload, keeps_the_order_of_pipelined_requests)
{
	raw_send(&raw, GET("/hello") GET("/text?x") GET("/hello") GET("/text?y") GET("/hello"));
	until(&fixture, raw_count(&raw, "hello") == 3);
	const char *x = strstr(raw.in.data, "<x by"), *y = strstr(raw.in.data, "<y by");
	cr_assert(x && y && x < y);
	cr_assert(strstr(raw.in.data, "hello") < x);
	cr_assert(strstr(x, "hello") < y);
	cr_assert(strstr(y, "hello"));
}

Test(offload, ends_the_connection_as_asked)
{
	raw_send(&raw, "GET /text?z HTTP/1.0\r\n\r\n");
	until(&fixture, raw.eof);
	cr_assert(raw_has(&raw, "<z by"));
}

Test(offload, answers_who_sends_no_more)
{
	raw_send(&raw, GET("/text?half"));
	raw_shutdown(&raw);
	until(&fixture, raw.eof);
	cr_assert(raw_has(&raw, "<half by"));
}

Test(offload, head_has_no_body)
{
	raw_send(&raw, "HEAD /text?z HTTP/1.1\r\nHost: x\r\n\r\n");
	raw_expect(&raw, GET("/hello"), "\r\n\r\nHTTP/1.1 200 OK");
	until(&fixture, raw_has(&raw, "hello"));
	cr_assert_not(raw_has(&raw, "<z by"));
}

Test(offload, a_child_that_dies_ends_its_connections)
{
	struct raw other;

	raw_open(&other, &fixture);
	raw_send(&raw, GET("/die"));
	until(&fixture, raw.eof);
	cr_assert_eq(raw.in.len, 0);
	cr_assert_eq(offload_counts(offload).failed, 1);
	raw_expect(&other, GET("/text?after"), "<after by");
	raw_close(&other);
}

Test(offload, a_client_that_does_not_read_holds_up_nobody)
{
	struct raw other;

	raw_open(&other, &fixture);
	raw_deafen(&raw);
	raw_send(&raw, GET("/big"));
	until(&fixture, offload_counts(offload).children == 1);
	raw_expect(&other, GET("/hello"), "hello");
	raw_expect(&other, GET("/text?mine"), "<mine by");
	cr_assert_eq(offload_counts(offload).children, 2);
	until(&fixture, offload_counts(offload).now == 1);
	cr_assert_eq(offload_counts(offload).bytes, BIG, "what the deaf one is to get");
	/* When it reads at last, it gets all. */
	raw_hear(&raw);
	until(&fixture, raw.in.len > BIG);
	until(&fixture, offload_counts(offload).now == 0);
	cr_assert_eq(offload_counts(offload).bytes, 0);
	raw_expect(&raw, GET("/hello"), "hello");
	raw_close(&other);
}

/* It waits until a client has taken what there is, or went away. */
Test(offload, no_child_is_made_while_others_hold_too_much)
{
	struct raw other;

	offload_bound(offload, BIG);
	raw_open(&other, &fixture);
	raw_deafen(&raw);
	raw_send(&raw, GET("/big"));
	until(&fixture, offload_counts(offload).bytes == BIG);
	raw_send(&other, GET("/text?mine"));
	for (int i = 0; i < 100; i++)
		uv_run(&fixture.loop, UV_RUN_NOWAIT);
	cr_assert_eq(offload_counts(offload).children, 1);
	raw_hear(&raw);
	until(&fixture, raw_has(&other, "<mine by"));
	cr_assert_eq(offload_counts(offload).children, 2);
	raw_close(&other);
}

/* A full house of slow clients, and somebody else who waits. */
Test(offload, the_slowest_client_is_given_up_when_others_wait)
{
	struct raw slow[OFFLOAD_CHILDREN];

	for (int i = 0; i < OFFLOAD_CHILDREN; i++) {
		raw_open(&slow[i], &fixture);
		raw_deafen(&slow[i]);
		raw_send(&slow[i], GET("/big"));
		until(&fixture, offload_counts(offload).now == (uint64_t)i + 1);
	}
	raw_send(&raw, GET("/text?mine"));
	until(&fixture, submitted == OFFLOAD_CHILDREN + 1);
	until(&fixture, offload_counts(offload).bytes == OFFLOAD_CHILDREN * (uint64_t)BIG);
	cr_assert_eq(offload_counts(offload).children, OFFLOAD_CHILDREN, "there is patience");
	offload_limit_patience(offload, 0);
	until(&fixture, raw_has(&raw, "<mine by"));
	cr_assert_geq(offload_counts(offload).failed, 1);
	offload_limit_patience(offload, OFFLOAD_PATIENCE_MS);
	raw_hear(&slow[0]);
	until(&fixture, slow[0].eof);
	cr_assert_lt(slow[0].in.len, BIG, "the oldest was ended");
	for (int i = 0; i < OFFLOAD_CHILDREN; i++)
		raw_close(&slow[i]);
}

/* The only child that this process has. */
static pid_t child_of_mine(void)
{
	FILE *file = fopen("/proc/thread-self/children", "re");
	int pid = 0;

	cr_assert_not_null(file);
	cr_assert_eq(fscanf(file, "%d", &pid), 1);
	fclose(file);
	return pid;
}

Test(offload, knows_its_children)
{
	pid_t child;

	raw_deafen(&raw);
	raw_send(&raw, GET("/big"));
	until(&fixture, offload_counts(offload).now == 1);
	child = child_of_mine();
	cr_assert(offload_owns(offload, child));
	cr_assert_not(offload_owns(offload, getpid()));
	raw_hear(&raw);
	until(&fixture, offload_counts(offload).now == 0);
	cr_assert_not(offload_owns(offload, child));
}

static void render_otherwise(const struct offload_read *read, struct buf *body,
			     const char **content_type)
{
}

/* Those that differ in one thing share no body. */
Test(offload, tells_equal_reads_from_others)
{
	struct http_request one = {.query = (char *)"a=1", .principal = "p", .body = SLICE("body")};
	struct http_request other[] = {one, one, one, one, one, one};
	struct offload_read read = {&one, render, &one, "what", "text/plain"};
	struct offload_read same = {&other[0], render, &one, read.what, "text/plain"};
	struct offload_read bodiless = same;

	cr_assert(offload_same(&read, &same));
	other[1].query = (char *)"a=2";
	other[2].principal = "q";
	other[3].principal = NULL;
	other[4].body = SLICE("boda");
	other[5].body = SLICE("bod");
	for (int i = 1; i <= 5; i++) {
		same.request = &other[i];
		cr_expect_not(offload_same(&read, &same), "request %d", i);
		cr_expect_not(offload_same(&same, &read), "request %d", i);
	}
	same.request = &other[0];
	same.render = render_otherwise;
	cr_expect_not(offload_same(&read, &same));
	same.render = render;
	same.context = NULL;
	cr_expect_not(offload_same(&read, &same));
	same.context = &one;
	same.what = NULL;
	cr_expect_not(offload_same(&read, &same));
	same.what = read.what;
	same.content_type = "text/html";
	cr_expect_not(offload_same(&read, &same));
	other[0].body = other[5].body = (struct slice){0};
	other[5].query = one.query;
	bodiless.request = &other[5];
	same.content_type = read.content_type;
	cr_expect(offload_same(&bodiless, &same));
}

Test(offload, a_client_that_goes_away_ends_its_child)
{
	struct raw other;

	raw_open(&other, &fixture);
	raw_deafen(&other);
	raw_send(&other, GET("/big"));
	until(&fixture, offload_counts(offload).children == 1);
	raw_reset(&other);
	until(&fixture, offload_counts(offload).failed == 1);
}

/* Whether the loop knows that a client has gone. */
static bool one_is_gone(void)
{
	struct http_connection *connection, *next;

	if (fixture.server->connection_count == 1)
		return true;
	list_for_each (connection, next, &fixture.server->connections, link)
		if (connection->broken)
			return true;
	return false;
}

Test(offload, a_client_that_went_away_is_not_answered)
{
	struct raw other;

	/* The pause after the first child makes the next wait. */
	raw_open(&other, &fixture);
	raw_expect(&other, GET("/hello"), "hello");
	raw_expect(&raw, GET("/text?first"), ", 1>");
	raw_send(&other, GET("/text?gone"));
	raw_reset(&other);
	until(&fixture, one_is_gone());
	raw_expect(&raw, GET("/text?second"), "<second by");
}

/* The child has no other connection than its clients'. */
Test(offload, connections_end_though_a_child_lives)
{
	struct raw other;

	raw_open(&other, &fixture);
	raw_expect(&other, GET("/hello"), "hello");
	raw_deafen(&raw);
	raw_send(&raw, GET("/big"));
	until(&fixture, offload_counts(offload).children == 1);
	raw_send(&other, "GET /hello HTTP/1.0\r\n\r\n");
	until(&fixture, other.eof);
	raw_close(&other);
}

Test(offload, closing_ends_children_and_answers_who_waits)
{
	struct raw other;

	raw_open(&other, &fixture);
	raw_expect(&other, GET("/hello"), "hello");
	raw_deafen(&raw);
	raw_send(&raw, GET("/big"));
	until(&fixture, offload_counts(offload).children == 1);
	raw_send(&other, GET("/text?late"));
	until(&fixture, submitted == 2);
	offload_close(offload);
	offload = NULL;
	/* It waited, or its child was at work. */
	until(&fixture, raw_has(&other, "503") || other.eof);
	raw_close(&other);
}

Test(offload, behind_a_stream_the_loop_answers)
{
	raw_send(&raw, GET("/stream") GET("/text?behind"));
	until(&fixture, offload_counts(offload).inlined == 1);
	http_stream_end(fixture.streams[0]);
	until(&fixture, raw_has(&raw, "<behind by"));
	cr_assert_eq(rendered_here, 1);
}

Test(offload, inline_answers_are_the_loops)
{
	raw_expect(&raw, GET("/inline?q"), "<q by");
	cr_assert_eq(rendered_here, 1);
	cr_assert_eq(offload_counts(offload).children, 0);
}

/* As many files as are open. */
static rlim_t open_files(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return (rlim_t)fd;
}

Test(offload, without_a_process_the_loop_answers)
{
	struct rlimit limit, low;

	raw_expect(&raw, GET("/hello"), "hello");
	getrlimit(RLIMIT_NOFILE, &limit);
	low = (struct rlimit){open_files(), limit.rlim_max};
	setrlimit(RLIMIT_NOFILE, &low);
	raw_expect(&raw, GET("/text?q"), "<q by");
	setrlimit(RLIMIT_NOFILE, &limit);
	cr_assert_eq(rendered_here, 1);
	cr_assert_eq(offload_counts(offload).inlined, 1);
	cr_assert_eq(offload_counts(offload).children, 0);
	raw_expect(&raw, GET("/text?r"), "<r by");
	cr_assert_eq(offload_counts(offload).children, 1);
}

/* As if what is sent had to be encrypted here. */
static void make_exclusive(struct raw *client)
{
	struct http_connection *connection;

	raw_expect(client, GET("/hello"), "hello");
	connection = list_entry(fixture.server->connections.prev, struct http_connection, link);
	connection->transport.exclusive = true;
}

Test(offload, a_child_that_cannot_write_to_the_socket_is_relayed)
{
	make_exclusive(&raw);
	raw_expect(&raw, GET("/text?a=1"), "<a=1 by ");
	cr_assert_eq(rendered_here, 0);
	cr_assert_eq(offload_counts(offload).children, 1);
	/* In its turn, and the connection goes on. */
	raw_send(&raw, GET("/json?b=2") GET("/hello"));
	until(&fixture, raw_count(&raw, "hello") == 2);
	cr_assert(raw_has(&raw, "<b=2 by "));
	cr_assert_lt(strstr(raw.in.data, "<b=2 by ") - raw.in.data, (long)raw.in.len - 100);
	cr_assert(str_has_suffix(raw.in.data, "hello"));
	cr_assert_eq(rendered_here, 0);
	cr_assert_eq(offload_counts(offload).failed, 0);
}

Test(offload, a_big_relayed_answer_waits_for_its_client)
{
	make_exclusive(&raw);
	raw_deafen(&raw);
	raw_send(&raw, GET("/big"));
	until(&fixture, offload_counts(offload).bytes == BIG);
	for (int i = 0; i < 2000; i++)
		uv_run(&fixture.loop, UV_RUN_NOWAIT);
	cr_assert_eq(offload_counts(offload).now, 1, "the child holds it");
	raw_hear(&raw);
	until(&fixture, raw.in.len > BIG);
	until(&fixture, offload_counts(offload).now == 0);
	raw_expect(&raw, GET("/hello"), "hello");
	cr_assert_eq(offload_counts(offload).failed, 0);
}

Test(offload, a_child_that_dies_ends_relayed_connections)
{
	make_exclusive(&raw);
	raw_send(&raw, GET("/die"));
	until(&fixture, raw.eof);
	cr_assert_eq(offload_counts(offload).failed, 1);
}

Test(offload, a_relayed_client_that_goes_away_ends_its_child)
{
	struct raw other;

	raw_open(&other, &fixture);
	make_exclusive(&other);
	raw_deafen(&other);
	raw_send(&other, GET("/big"));
	until(&fixture, offload_counts(offload).bytes == BIG);
	raw_reset(&other);
	until(&fixture, offload_counts(offload).now == 0);
	cr_assert_eq(offload_counts(offload).failed, 1);
}

Test(offload, closing_ends_relays)
{
	make_exclusive(&raw);
	raw_deafen(&raw);
	raw_send(&raw, GET("/big"));
	until(&fixture, offload_counts(offload).bytes == BIG);
	offload_close(offload);
	offload = NULL;
	raw_hear(&raw);
	until(&fixture, raw.eof);
}

/* Texts that a child makes for the loop: of which moment they tell, and every way they end. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/list.h"
#include "net/offload.h"
#include "net_harness.h"

#define BIG (16u << 20)

enum how { HOW_SHORT, HOW_BIG, HOW_DIES };

struct told {
	struct offload_text text;
	enum how how;
	int begun, done;
	int moment;	 /* `now` when it was begun */
	struct buf made; /* taken */
	bool failed;
};

static struct fixture fixture;
static struct raw raw;
static struct offload *offload;
static int now; /* what texts tell of */

static void render(const struct offload_text *text, struct buf *out)
{
	const struct told *t = container_of(text, struct told, text);

	if (t->how == HOW_DIES)
		_exit(3);
	buf_printf(out, "%d by %d", now, (int)getpid());
	if (t->how == HOW_BIG) {
		buf_reserve(out, BIG);
		memset(out->data + out->len, 'x', BIG - out->len);
		out->len = BIG;
	}
}

static void begun(struct offload_text *text)
{
	struct told *t = container_of(text, struct told, text);

	cr_assert_eq(t->done, 0);
	t->begun++;
	t->moment = now;
}

static void done(struct offload_text *text, struct buf *made)
{
	struct told *t = container_of(text, struct told, text);

	t->done++;
	t->failed = !made;
	if (made) {
		t->made = *made;
		*made = BUF_INIT;
		/* What reads it may look for its end. */
		buf_putc(&t->made, '\0');
	}
}

static void make(struct told *t, enum how how)
{
	*t = (struct told){.text = {render, begun, done}, .how = how};
	offload_make(offload, &t->text);
	cr_assert_eq(t->begun + t->done, 0, "not inside of the call");
}

static void handle(void *context, struct http_request *request)
{
	http_reply_text(request, 200, "hello");
}

static void set_up(void)
{
	now = 1;
	fixture_init(&fixture);
	fixture.handler = handle;
	fixture_start(&fixture);
	offload = offload_create(&fixture.loop);
	offload_limit_credit(offload, 0);
	raw_open(&raw, &fixture);
	raw_expect(&raw, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "hello");
}

static void tear_down(void)
{
	if (offload)
		offload_close(offload);
	raw_close(&raw);
	fixture_finish(&fixture);
	cr_assert(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "a child is left");
}

TestSuite(offload_text, .init = set_up, .fini = tear_down, .timeout = 60);

static int number_in(const struct told *t)
{
	return t->made.len ? atoi(t->made.data) : -1;
}

static bool is_ours(const struct told *t)
{
	const char *by = strstr(t->made.data, " by ");

	return by && atoi(by + 4) == (int)getpid();
}

Test(offload_text, tells_of_the_moment_when_it_was_begun)
{
	struct told t;

	make(&t, HOW_SHORT);
	now = 2;
	until(&fixture, t.begun == 1);
	now = 3;
	until(&fixture, t.done == 1);
	cr_expect_eq(t.moment, 2);
	cr_expect_eq(number_in(&t), 2);
	cr_expect_not(is_ours(&t));
	cr_expect_eq(offload_counts(offload).children, 1);
	cr_expect_eq(offload_counts(offload).failed, 0);
	buf_free(&t.made);
}

Test(offload_text, each_has_its_own)
{
	struct told t[3];

	for (int i = 0; i < 3; i++)
		make(&t[i], i == 1 ? HOW_BIG : HOW_SHORT);
	for (int i = 0; i < 3; i++)
		until(&fixture, t[i].done == 1);
	cr_expect_eq(offload_counts(offload).children, 1);
	for (int i = 0; i < 3; i++) {
		cr_expect_eq(number_in(&t[i]), 1);
		cr_expect_eq(t[i].begun, 1);
		cr_expect_eq(t[i].made.len == BIG + 1, i == 1);
		buf_free(&t[i].made);
	}
}

Test(offload_text, a_child_that_dies_is_told)
{
	struct told dies, beside, after;

	make(&beside, HOW_BIG);
	make(&dies, HOW_DIES);
	until(&fixture, dies.done == 1 && beside.done == 1);
	cr_expect(dies.failed);
	cr_expect(beside.failed, "what a child makes is there when all of it is");
	cr_expect_eq(offload_counts(offload).failed, 2);
	make(&after, HOW_SHORT);
	until(&fixture, after.done == 1);
	cr_expect_not(after.failed);
	buf_free(&after.made);
}

Test(offload_text, closing_gives_up_what_waits_and_what_is_made)
{
	struct told first, second;

	make(&first, HOW_BIG);
	until(&fixture, first.begun == 1);
	make(&second, HOW_SHORT);
	offload_close(offload);
	offload = NULL;
	cr_expect_eq(first.done, 1);
	cr_expect(first.failed);
	cr_expect_eq(second.begun, 0);
	cr_expect_eq(second.done, 1);
	cr_expect(second.failed);
}

static rlim_t open_files(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return (rlim_t)fd;
}

/* First not even a pair of sockets is to be had, then no pipe of the child. */
Test(offload_text, without_descriptors_the_loop_makes_it)
{
	struct rlimit limit, low;
	struct told t;

	getrlimit(RLIMIT_NOFILE, &limit);
	for (rlim_t more = 0; more <= 2; more += 2) {
		low = (struct rlimit){open_files() + more, limit.rlim_max};
		setrlimit(RLIMIT_NOFILE, &low);
		make(&t, HOW_SHORT);
		until(&fixture, t.done == 1);
		setrlimit(RLIMIT_NOFILE, &limit);
		cr_expect_eq(t.begun, 1);
		cr_expect(is_ours(&t), "%s", t.made.data);
		cr_expect_eq(offload_counts(offload).inlined, more / 2 + 1);
		cr_expect_eq(offload_counts(offload).children, 0);
		buf_free(&t.made);
	}
	make(&t, HOW_SHORT);
	until(&fixture, t.done == 1);
	cr_expect_not(is_ours(&t));
	buf_free(&t.made);
}

/* One call holds up everyone else while the master carries it out: however many operations,
 * tasks, offers or roles are in it, each takes about as much as the one before.
 *
 * A case is carried out with n and with 4n. What counts is instructions of the step alone, or
 * the thread's time where the kernel does not count them: fourfold is proportional, sixteenfold
 * would be each with each.
 */
#include <criterion/criterion.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "master/core/tasks/tasks.h"
#include "proto/task_record.h"
#include "tests/unit/master_operations.h"

#define GROWS_MAX 8 /* of 4 to 16 */

#define WIDE                                                                                       \
	"[" SCALAR("cpus", 100000, "") "," SCALAR("mem", 4000000, "") "," SCALAR(                  \
		"disk", 1000000, "") ",{\"name\":\"ports\",\"type\":\"RANGES\",\"ranges\":{"       \
				     "\"range\":[{\"begin\":0,\"end\":1000000}]}}]"

/* ---- what a step costs -------------------------------------------------------------- */

static int open_counter(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_HW_INSTRUCTIONS,
				       .disabled = 1,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static double thread_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double cost_of(struct driver *d, const struct master_event *event)
{
	int counter = open_counter();
	double before = thread_time();
	uint64_t instructions = 0;

	master_actions_clear(&d->out);
	if (counter >= 0)
		ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
	master_step(d->m, d->now, event, &d->out);
	if (counter >= 0) {
		ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
		if (read(counter, &instructions, sizeof(instructions)) < 0)
			instructions = 0;
		close(counter);
	}
	return instructions ? (double)instructions : thread_time() - before;
}

static void *decode(struct arena *arena, const ProtobufCMessageDescriptor *type,
		    const struct buf *text)
{
	struct err err = {{0}};
	struct json *json;
	void *message;

	cr_assert_eq(json_parse(arena, text->data, text->len, &json, &err), 0, "%s", err.text);
	message = json_to_proto(type, json, SPELL_V1, arena, &err);
	cr_assert(message, "%s", err.text);
	return message;
}

/* ---- cases ------------------------------------------------------------------------------ */

struct limit_case {
	const char *name;
	int small;
	const char *resources; /* of the agent, NULL: none */
	const char *before, *after;
	/* The i-th of n; a comma comes between two. */
	void (*item)(struct buf *text, int i, int n);
	const char *roles; /* what they are called, NULL: "r" alone */
	const char *setup; /* a call before */
	size_t actions;	   /* that each leads to, if it does anything */
};

#define ACCEPT_OPERATIONS                                                                          \
	"{\"type\":\"ACCEPT\",\"framework_id\":{\"value\":\"M-0000\"},\"accept\":{\"offer_ids\":[" \
	"{\"value\":\"M-O0\"}],\"operations\":["
#define LAUNCH_BEGIN "{\"type\":\"LAUNCH\",\"launch\":{\"task_infos\":["

static void reserve(struct buf *text, int i, int n)
{
	buf_printf(text,
		   RESERVE("", "{\"name\":\"mem\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1},"
			       "\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"r\",\"labels\":{"
			       "\"labels\":[{\"key\":\"k%d\"}]}}]}"),
		   i);
}

/* The first is the disk for all of them. */
static void create(struct buf *text, int i, int n)
{
	if (!i)
		buf_printf(text, RESERVE("", SCALAR("disk", 10000, DYNAMIC("r"))));
	else
		buf_printf(text, CREATE("", SCALAR("disk", 1, DYNAMIC("r") VOLUME("v%d"))), i);
}

static void create_destroy(struct buf *text, int i, int n)
{
	if (i < n / 2)
		create(text, i, n);
	else
		buf_printf(text, DESTROY("", SCALAR("disk", 1, DYNAMIC("r") VOLUME("v%d"))),
			   i - n / 2 + (i == n / 2));
}

static void task(struct buf *text, int i, int n)
{
	buf_printf(text, LAUNCH_TASK("t%d", SCALAR("cpus", 1, "") "," SCALAR("mem", 32, "")), i);
}

static void launch(struct buf *text, int i, int n)
{
	buf_printf(text,
		   LAUNCH(LAUNCH_TASK("t%d", SCALAR("cpus", 1, "") "," SCALAR("mem", 32, ""))), i);
}

static void offer(struct buf *text, int i, int n)
{
	buf_printf(text, "{\"value\":\"M-O1%d\"}", i);
}

static void task_asked(struct buf *text, int i, int n)
{
	buf_printf(text, "{\"task_id\":{\"value\":\"t%d\"},\"agent_id\":{\"value\":\"M-S0\"}}", i);
}

/* All of them, in another order. */
static void role(struct buf *text, int i, int n)
{
	buf_printf(text, "\"r%d\"", (int)((long)i * 7919 % n));
}

#define ROLES(type, member)                                                                        \
	"{\"type\":\"" type "\",\"framework_id\":{\"value\":\"M-0000\"},\"" member "\":{"          \
	"\"roles\":["

static const struct limit_case cases[] = {
	{"RESERVE", 200, WIDE, ACCEPT_OPERATIONS, "]}}", reserve, NULL, NULL, 1},
	{"CREATE", 100, WIDE, ACCEPT_OPERATIONS, "]}}", create, NULL, NULL, 1},
	{"CREATE and DESTROY", 100, WIDE, ACCEPT_OPERATIONS, "]}}", create_destroy, NULL, NULL, 1},
	{"tasks of a LAUNCH", 1000, WIDE, ACCEPT_OPERATIONS LAUNCH_BEGIN, "]}}]}}", task, NULL,
	 NULL, 1},
	{"LAUNCH", 1000, WIDE, ACCEPT_OPERATIONS, "]}}", launch, NULL, NULL, 1},
	{"offers of a DECLINE", 2000, WIDE,
	 "{\"type\":\"DECLINE\",\"framework_id\":{\"value\":\"M-0000\"},\"decline\":{"
	 "\"offer_ids\":[",
	 "]}}", offer, NULL, NULL, 0},
	{"offers of an ACCEPT", 2000, WIDE,
	 "{\"type\":\"ACCEPT\",\"framework_id\":{\"value\":\"M-0000\"},\"accept\":{\"offer_ids\":[",
	 "]}}", offer, NULL, NULL, 0},
	{"RECONCILE", 2000, WIDE,
	 "{\"type\":\"RECONCILE\",\"framework_id\":{\"value\":\"M-0000\"},\"reconcile\":{\"tasks\":"
	 "[",
	 "]}}", task_asked, NULL, NULL, 1},
	{"SUPPRESS", 1000, NULL, ROLES("SUPPRESS", "suppress"), "]}}", role, "r%d", NULL, 0},
	{"REVIVE", 1000, NULL, ROLES("REVIVE", "revive"), "]}}", role, "r%d",
	 "{\"type\":\"SUPPRESS\",\"framework_id\":{\"value\":\"M-0000\"}}", 0},
};

static struct driver *begin(const struct limit_case *c, int n, uint64_t *stream)
{
	struct driver *d = driver_create();
	struct buf members = BUF_INIT;

	if (c->roles)
		buf_printf(&members, "\"capabilities\":[{\"type\":\"MULTI_ROLE\"}],\"roles\":[");
	for (int i = 0; c->roles && i < n; i++)
		buf_printf(&members, "%s\"r%d\"", i ? "," : "", i);
	buf_printf(&members, "%s", c->roles ? "]" : ROLE_R);
	*stream = driver_subscribe(d, NULL, members.data);
	buf_free(&members);
	if (c->resources)
		driver_agent_like(d, AGENT1, c->resources, NULL);
	driver_pass(d, 2 * SECOND);
	if (c->setup)
		cr_assert_eq(driver_call(d, *stream, "%s", c->setup), 202);
	return d;
}

static double measure(const struct limit_case *c, int n)
{
	struct master_event event = {.type = MASTER_CALL};
	struct buf text = BUF_INIT;
	struct arena arena;
	struct driver *d;
	struct err why;
	uint64_t stream;
	double cost;

	d = begin(c, n, &stream);
	buf_printf(&text, "%s", c->before);
	for (int i = 0; i < n; i++) {
		if (i)
			buf_putc(&text, ',');
		c->item(&text, i, n);
	}
	buf_printf(&text, "%s", c->after);
	arena_init(&arena);
	event.call.call = decode(&arena, &mesos__scheduler__call__descriptor, &text);
	event.call.acceptable = true;
	event.call.stream = ++d->next_stream;
	event.call.stream_id = d->stream_ids[stream];
	cost = cost_of(d, &event);
	cr_expect_eq(d->out.reply.status, 202, "%s: %d", c->name, d->out.reply.status);
	cr_expect_geq(d->out.count, c->actions * (size_t)n, "%s: %zu actions", c->name,
		      d->out.count);
	cr_expect(master_check(d->m, &why), "%s: %s", c->name, why.text);
	arena_free(&arena);
	buf_free(&text);
	driver_destroy(d);
	return cost;
}

/* A machine that is busy with something else makes steps longer, never shorter: the shortest of
 * each size are compared. */
static double growth(const struct limit_case *c)
{
	double small = measure(c, c->small), large = measure(c, 4 * c->small);

	for (int i = 1; i < 8 && large / small > GROWS_MAX; i++) {
		small = fmin(small, measure(c, c->small));
		large = fmin(large, measure(c, 4 * c->small));
	}
	return large / small;
}

Test(limits, four_times_as_many_take_four_times_as_long)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double grows = growth(&cases[i]);

		cr_expect_leq(grows, GROWS_MAX, "%s: %d take %.1f times as much as %d",
			      cases[i].name, 4 * cases[i].small, grows, cases[i].small);
	}
}

/* ---- reports of agents ---------------------------------------------------------------- */

static void complete_tasks(struct driver *d, int n)
{
	Mesos__Task task = MESOS__TASK__INIT;
	Mesos__TaskID id = MESOS__TASK_ID__INIT;
	Mesos__AgentID agent = MESOS__AGENT_ID__INIT;
	Mesos__FrameworkID framework = MESOS__FRAMEWORK_ID__INIT;
	struct task_record record;
	char name[16];

	task.name = (char *)"t";
	task.task_id = &id;
	task.agent_id = &agent;
	task.framework_id = &framework;
	task.state = MESOS__TASK_STATE__TASK_FINISHED;
	id.value = name;
	agent.value = (char *)"M-S0";
	framework.value = (char *)"M-0000";
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		task_record_pack(&record, &d->out.arena, &task);
		master_add_completed_task(d->m, d->m->frameworks, &record, (uint64_t)i);
	}
	cr_assert_eq(d->m->frameworks->completed_task_count, (size_t)n);
}

#define UNKNOWN_TASKS 500
#define REPORT_BEGIN                                                                               \
	"{\"agent\":{\"hostname\":\"host\",\"checkpoint\":true,\"id\":{\"value\":\"M-S0\"},"       \
	"\"resources\":%s},\"version\":\"1.12.0\",\"frameworks\":[{\"user\":\"u\",\"name\":\"n\"," \
	"\"id\":{\"value\":\"M-0000\"}}],\"tasks\":["
#define REPORTED_TASK                                                                              \
	"%s{\"name\":\"t\",\"task_id\":{\"value\":\"u%d\"},\"framework_id\":{\"value\":"           \
	"\"M-0000\"},\"agent_id\":{\"value\":\"M-S0\"},\"state\":\"TASK_RUNNING\"}"

static double cost_of_report(int completed)
{
	struct master_event event = {.type = MASTER_MESSAGE};
	struct driver *d = driver_create();
	struct buf text = BUF_INIT;
	struct arena arena;
	double cost;

	driver_subscribe(d, NULL, "\"checkpoint\":true");
	driver_agent(d, AGENT1);
	complete_tasks(d, completed);
	buf_printf(&text, REPORT_BEGIN, RESOURCES(4, 4096));
	for (int i = 0; i < UNKNOWN_TASKS; i++)
		buf_printf(&text, REPORTED_TASK, i ? "," : "", i);
	buf_printf(&text, "]}");
	arena_init(&arena);
	event.message.message =
		decode(&arena, &mesos__internal__reregister_slave_message__descriptor, &text);
	event.message.from = AGENT1;
	/* The first is stored, the second finds all as it was stored, and is carried out at once.
	 */
	cost = cost_of(d, &event);
	cr_expect_eq(HASH_COUNT(d->m->frameworks->tasks), UNKNOWN_TASKS);
	arena_free(&arena);
	buf_free(&text);
	driver_destroy(d);
	return cost;
}

/* What it knows nothing of is not searched for in all that was completed. */
Test(limits, a_report_does_not_cost_more_after_many_tasks)
{
	double few = cost_of_report(10), many = cost_of_report(1000);

	cr_expect_leq(many, 3 * few, "%.1f times as much", many / few);
}

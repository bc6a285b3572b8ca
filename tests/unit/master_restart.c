/* Random histories of a master, in which it is killed and started again: what it remembers then
 * is what it knew, and once all are back still. MASTER_HISTORIES is how many. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "master/core/frameworks/frameworks.h"
#include "tests/unit/master_driver.h"

#define LIVES 4
#define EVENTS 40 /* of a life */
#define AGENTS 3
#define FRAMEWORKS 4

static struct driver *d;
static struct rng rng;
static int next_task;
static uint64_t streams[FRAMEWORKS]; /* 0: not connected */
static char *ids[FRAMEWORKS];	     /* NULL: none yet */

static int below(int n)
{
	return (int)(rng_unit(&rng) * n);
}

/* ---- what it knows -------------------------------------------------------------------- */

struct lines {
	char *items[4096];
	size_t count;
};

static void say(struct lines *lines, struct buf *line)
{
	cr_assert_lt(lines->count, sizeof(lines->items) / sizeof(*lines->items));
	lines->items[lines->count++] = xstrdup(line->data ? line->data : "");
	buf_clear(line);
}

static void put(struct buf *line, const void *message)
{
	buf_putc(line, ' ');
	if (message)
		proto_to_json(message, SPELL_V1, line);
}

static void put_record(struct buf *line, const struct task_record *record)
{
	struct arena arena;

	arena_init(&arena);
	put(line, task_record_unpack(record, &arena));
	arena_free(&arena);
}

/* A line a piece: their order says nothing. */
static void say_resources(struct lines *lines, const char *whose, const struct resources *r)
{
	struct buf line = BUF_INIT;

	for (uint32_t i = 0; i < r->count; i++) {
		struct resources one = {.pieces = &r->pieces[i], .count = 1};

		buf_printf(&line, "%s ", whose);
		resources_print(&one, &line);
		say(lines, &line);
	}
	buf_free(&line);
}

static void say_agent(struct lines *lines, const struct agent *a)
{
	struct buf line = BUF_INIT;

	buf_printf(&line, "agent %s at %s version %s deactivated %d registered %" PRId64, a->id,
		   a->pid, a->version, a->deactivated, a->registered_time);
	put(&line, a->info);
	put(&line, a->drain_info);
	say(lines, &line);
	buf_printf(&line, "agent %s has", a->id);
	say_resources(lines, line.data, &a->total);
	buf_clear(&line);
	buf_printf(&line, "agent %s is used for", a->id);
	say_resources(lines, line.data, &a->used);
	buf_clear(&line);
	for (size_t i = 0; i < a->capability_count; i++) {
		buf_printf(&line, "agent %s can", a->id);
		put(&line, a->capabilities[i]);
		say(lines, &line);
	}
	for (const struct executor *e = a->executors; e; e = e->hh.next) {
		buf_printf(&line, "executor %s/%s", a->id, e->key);
		put(&line, e->info);
		say(lines, &line);
	}
	buf_free(&line);
}

static void say_departed(struct lines *lines, const char *how, const struct departed *table)
{
	struct buf line = BUF_INIT;

	for (; table; table = table->hh.next) {
		buf_printf(&line, "%s %s at %" PRId64 " deactivated %d", how, table->id,
			   table->time, table->deactivated);
		put(&line, table->drain_info);
		say(lines, &line);
	}
	buf_free(&line);
}

static void say_tasks(struct lines *lines, const char *how, const struct task *t)
{
	struct buf line = BUF_INIT;

	for (; t; t = t->hh.next) {
		buf_printf(&line, "%s task %s/%s holds %d kill wanted %d", how, t->framework->id,
			   t->id, t->holds, t->kill_wanted);
		put_record(&line, &t->record);
		say(lines, &line);
	}
	buf_free(&line);
}

static void say_framework(struct lines *lines, const struct framework *f, bool over)
{
	struct buf line = BUF_INIT;
	struct resources used, offered;
	int order = 0;

	buf_printf(&line, "%s framework %s registered %" PRId64 " unregistered %" PRId64,
		   over ? "completed" : "live", f->id, f->registered_time, f->unregistered_time);
	put(&line, f->info);
	say(lines, &line);
	for (size_t i = 0; i < f->suppressed_count && !over; i++) {
		buf_printf(&line, "framework %s suppresses %s", f->id, f->suppressed[i]);
		say(lines, &line);
	}
	framework_held(f, &used, &offered);
	buf_printf(&line, "framework %s uses", f->id);
	say_resources(lines, line.data, &used);
	buf_clear(&line);
	resources_free(&used);
	resources_free(&offered);
	say_tasks(lines, "live", f->tasks);
	say_tasks(lines, "unreachable", f->unreachable);
	for (const struct list *at = f->completed_tasks.next; at != &f->completed_tasks;
	     at = at->next) {
		buf_printf(&line, "completed %s/%04d", f->id, order++);
		put_record(&line, &list_entry(at, struct completed_task, link)->record);
		say(lines, &line);
	}
	buf_free(&line);
}

static void say_orders(struct lines *lines)
{
	struct buf line = BUF_INIT;

	for (const struct quota *q = d->m->quotas; q; q = q->hh.next) {
		buf_puts(&line, "quota");
		put(&line, q->config);
		say(lines, &line);
	}
	for (const struct weight *w = d->m->weights; w; w = w->hh.next) {
		buf_printf(&line, "weight %s %g", w->role, w->value);
		say(lines, &line);
	}
	buf_puts(&line, "schedule");
	put(&line, d->m->schedule);
	say(lines, &line);
	for (const struct machine *machine = d->m->machines; machine; machine = machine->hh.next) {
		buf_puts(&line, "machine");
		put(&line, machine->info);
		say(lines, &line);
	}
	buf_free(&line);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *known(void)
{
	static struct lines lines;
	struct buf all = BUF_INIT;

	lines.count = 0;
	for (const struct agent *a = d->m->agents; a; a = a->hh.next)
		say_agent(&lines, a);
	say_departed(&lines, "unreachable", d->m->unreachable);
	say_departed(&lines, "gone", d->m->gone);
	for (const struct framework *f = d->m->frameworks; f; f = f->hh.next)
		say_framework(&lines, f, false);
	for (const struct framework *f = d->m->completed; f; f = f->hh.next)
		say_framework(&lines, f, true);
	say_orders(&lines);
	qsort(lines.items, lines.count, sizeof(*lines.items), by_text);
	for (size_t i = 0; i < lines.count; i++) {
		buf_printf(&all, "%s\n", lines.items[i]);
		free(lines.items[i]);
	}
	return all.data;
}

static void compare(const char *before, const char *after, int seed, const char *when)
{
	size_t at = 0, begin;

	while (before[at] && before[at] == after[at])
		at++;
	if (before[at] == after[at])
		return;
	for (begin = at; begin > 0 && before[begin - 1] != '\n';)
		begin--;
	cr_assert_fail("history %d, %s: of '%.70s...' it knew\n%.200s\nand knows\n%.200s", seed,
		       when, before + begin, before + at, after + at);
}

/* ---- what befalls it -------------------------------------------------------------------- */

static const char *const pids[AGENTS] = {"slave(1)@127.0.0.1:5001", "slave(1)@127.0.0.1:5002",
					 "slave(1)@127.0.0.1:5003"};

static struct agent *agent_at(const char *pid)
{
	struct agent *a;

	HASH_FIND(hh_pid, d->m->agents_by_pid, pid, strlen(pid), a);
	return a;
}

static struct framework *framework_at(int i)
{
	return ids[i] ? master_find_framework(d->m, ids[i]) : NULL;
}

/* One whose name begins another's, and roles of three levels. */
static const char *members(void)
{
	static const char *const some[] = {
		"\"failover_timeout\":100000,\"checkpoint\":true",
		"\"failover_timeout\":100000,\"checkpoint\":true,\"capabilities\":"
		"[{\"type\":\"PARTITION_AWARE\"}]",
		"\"failover_timeout\":100000,\"checkpoint\":true,\"roles\":[\"a\",\"ab\",\"a/b/"
		"c\"],"
		"\"capabilities\":[{\"type\":\"MULTI_ROLE\"},{\"type\":\"PARTITION_AWARE\"}]",
		"\"failover_timeout\":100000,\"roles\":[\"a/b\"],\"capabilities\":"
		"[{\"type\":\"MULTI_ROLE\"}]",
	};

	return some[below(4)];
}

static void subscribe(int i)
{
	char *info = NULL;
	struct framework *f = framework_at(i);

	if (ids[i] && !f)
		return; /* torn down */
	if (!f) {
		uint64_t stream = driver_subscribe(d, NULL, members());

		for (f = d->m->frameworks; f->stream != stream || !f->http; f = f->hh.next)
			;
		ids[i] = xstrdup(f->id);
		streams[i] = stream;
		return;
	}
	/* As it was: what it says of itself is what was known. */
	{
		struct buf text = BUF_INIT;
		char *begin;

		proto_to_json(f->info, SPELL_V1, &text);
		begin = strstr(text.data, "\"failover_timeout\"");
		info = begin ? xstrndup(begin, strlen(begin) - 1) : NULL;
		buf_free(&text);
	}
	/* The id that is in there is given by driver_subscribe(). */
	if (info && strstr(info, ",\"id\"")) {
		free(info);
		info = NULL;
	}
	streams[i] = driver_subscribe(d, ids[i], info);
	free(info);
}

static void register_agent(const char *pid)
{
	if (!agent_at(pid))
		driver_agent_like(d, pid, RESOURCES(16, 4096), NULL);
}

/* With all that the master knows of it. */
static void agent_returns(const struct agent *a, const char *pid)
{
	struct buf text = BUF_INIT;
	bool first = true;

	buf_puts(&text, "{\"agent\":");
	proto_to_json(a->info, SPELL_V1, &text);
	buf_printf(&text,
		   ",\"version\":\"%s\",\"resource_version_uuid\":{\"value\":"
		   "\"AAECAwQFRgeICQoLDA0ODw==\"},\"agent_capabilities\":[",
		   a->version);
	for (size_t i = 0; i < a->capability_count; i++) {
		buf_puts(&text, i ? "," : "");
		proto_to_json(a->capabilities[i], SPELL_V1, &text);
	}
	buf_puts(&text, "],\"frameworks\":[");
	for (const struct framework *f = d->m->frameworks; f; f = f->hh.next) {
		buf_puts(&text, first ? "" : ",");
		proto_to_json(f->info, SPELL_V1, &text);
		first = false;
	}
	buf_puts(&text, "],\"tasks\":[");
	first = true;
	for (const struct list *at = a->tasks.next; at != &a->tasks; at = at->next) {
		const struct task *t = list_entry(at, struct task, by_agent);

		buf_puts(&text, first ? "" : ",");
		put_record(&text, &t->record);
		first = false;
	}
	buf_puts(&text, "],\"executor_infos\":[");
	first = true;
	for (const struct executor *e = a->executors; e; e = e->hh.next) {
		buf_puts(&text, first ? "" : ",");
		proto_to_json(e->info, SPELL_V1, &text);
		first = false;
	}
	buf_puts(&text, "]}");
	driver_message(d, pid, &mesos__internal__reregister_slave_message__descriptor, "%s",
		       text.data);
	buf_free(&text);
}

static struct task *some_task(void)
{
	struct task *found = NULL;
	int seen = 0;

	for (struct framework *f = d->m->frameworks; f; f = f->hh.next) {
		for (struct task *t = f->tasks; t; t = t->hh.next) {
			if (below(++seen) == 0)
				found = t;
		}
	}
	return found;
}

static int number_of(const struct framework *f)
{
	for (int i = 0; i < FRAMEWORKS; i++) {
		if (ids[i] && !strcmp(ids[i], f->id))
			return i;
	}
	return -1;
}

static void launch(void)
{
	static const char with_executor[] =
		"!\"executor\":{\"executor_id\":{\"value\":\"e\"},\"command\":{\"value\":\"x\"},"
		"\"resources\":" RESOURCES(0.5, 32) "}";
	struct offer *o = d->m->offers;
	char id[32];
	int at;

	for (int skip = o ? below((int)HASH_COUNT(d->m->offers)) : 0; skip > 0; skip--)
		o = o->hh.next;
	if (!o || (at = number_of(o->framework)) < 0 || !streams[at])
		return;
	snprintf(id, sizeof(id), "t%d", next_task++);
	driver_launch(d, streams[at], ids[at], o->id, o->agent->id, id,
		      below(3) ? NULL : with_executor);
}

static void update(void)
{
	static const char *const states[] = {"TASK_STARTING", "TASK_RUNNING",  "TASK_RUNNING",
					     "TASK_KILLING",  "TASK_FINISHED", "TASK_FAILED"};
	struct task *t = some_task();
	char id[32];
	int at, byte = 1 + below(200);
	uint64_t stream;
	char *agent, *framework;

	if (!t || !agent_connected(t->agent) || task_state_terminal(t->record.state))
		return;
	snprintf(id, sizeof(id), "%s", t->id);
	agent = xstrdup(t->agent_id);
	framework = xstrdup(t->framework->id);
	at = number_of(t->framework);
	stream = at < 0 ? 0 : streams[at];
	driver_update(d, t->agent->pid, agent, framework, id, states[below(6)], byte);
	if (stream && below(2))
		driver_acknowledge(d, stream, framework, agent, id, byte);
	free(agent);
	free(framework);
}

static void call(const char *what)
{
	int at = below(FRAMEWORKS);

	if (framework_at(at) && streams[at])
		driver_call(d, streams[at], "{\"type\":\"%s\",\"framework_id\":{\"value\":\"%s\"}}",
			    what, ids[at]);
}

static void kill_something(void)
{
	struct task *t = some_task();
	int at = t ? number_of(t->framework) : -1;
	char id[32];

	if (at < 0 || !streams[at])
		return;
	snprintf(id, sizeof(id), "%s", t->id);
	driver_call(d, streams[at],
		    "{\"type\":\"KILL\",\"framework_id\":{\"value\":\"%s\"},"
		    "\"kill\":{\"task_id\":{\"value\":\"%s\"}}}",
		    ids[at], id);
}

static void order(void)
{
	static const char *const roles[] = {"a", "ab", "b", "*"};
	struct agent *a = agent_at(pids[below(AGENTS)]);

	switch (below(9)) {
	case 0:
		driver_operate(d,
			       "{\"type\":\"UPDATE_WEIGHTS\",\"update_weights\":{\"weight_infos\":"
			       "[{\"role\":\"%s\",\"weight\":%d}]}}",
			       roles[below(4)], 1 + below(5));
		break;
	case 1:
		driver_operate(d,
			       "{\"type\":\"UPDATE_QUOTA\",\"update_quota\":{\"force\":true,"
			       "\"quota_configs\":[{\"role\":\"%s\",\"guarantees\":{\"cpus\":"
			       "{\"value\":%d}},\"limits\":{\"cpus\":{\"value\":%d}}}]}}",
			       roles[below(3)], below(2), 1 + below(9));
		break;
	case 2:
		driver_operate(d,
			       "{\"type\":\"UPDATE_MAINTENANCE_SCHEDULE\","
			       "\"update_maintenance_schedule\":{\"schedule\":{\"windows\":[{"
			       "\"machine_ids\":[{\"hostname\":\"elsewhere%d\"}],"
			       "\"unavailability\":{\"start\":{\"nanoseconds\":%d}}}]}}}",
			       below(3), below(1000));
		break;
	case 3:
	case 4:
	case 5:
		if (a)
			driver_operate(d,
				       "{\"type\":\"DRAIN_AGENT\",\"drain_agent\":{\"agent_id\":"
				       "{\"value\":\"%s\"},\"max_grace_period\":{\"seconds\":%d}}}",
				       a->id, below(100));
		break;
	case 6:
		if (a)
			driver_operate(d,
				       "{\"type\":\"REACTIVATE_AGENT\",\"reactivate_agent\":"
				       "{\"agent_id\":{\"value\":\"%s\"}}}",
				       a->id);
		break;
	case 7:
		if (a)
			driver_operate(d,
				       "{\"type\":\"DEACTIVATE_AGENT\",\"deactivate_agent\":"
				       "{\"agent_id\":{\"value\":\"%s\"}}}",
				       a->id);
		break;
	default:
		if (a && below(4) == 0)
			driver_operate(d,
				       "{\"type\":\"MARK_AGENT_GONE\",\"mark_agent_gone\":"
				       "{\"agent_id\":{\"value\":\"%s\"}}}",
				       a->id);
	}
}

static void something(void)
{
	int at = below(FRAMEWORKS);
	const char *pid = pids[below(AGENTS)];
	const struct agent *a = agent_at(pid);

	switch (below(20)) {
	case 0:
		register_agent(pid);
		break;
	case 1:
		if (a && agent_connected(a))
			driver_exited(d, pid);
		break;
	case 2:
		if (a)
			agent_returns(a, pid);
		break;
	case 3:
		subscribe(at);
		break;
	case 4:
		if (streams[at] && framework_at(at))
			driver_close(d, streams[at]);
		streams[at] = 0;
		break;
	case 5:
		call("SUPPRESS");
		break;
	case 6:
		call("REVIVE");
		break;
	case 7:
		if (below(5) == 0)
			call("TEARDOWN");
		break;
	case 8:
		kill_something();
		break;
	case 9:
	case 10:
		order();
		break;
	case 11:
		d->agent_silent = below(3) == 0;
		driver_pass(d, below(90) * SECOND);
		d->agent_silent = false;
		break;
	case 12:
	case 13:
	case 14:
		driver_pass(d, SECOND);
		launch();
		break;
	default:
		update();
	}
	driver_forget(d);
}

/* ---- a restart ------------------------------------------------------------------------------ */

static void restart(int seed, int life)
{
	static const char *const masters[] = {"M2", "M3", "M4", "M5", "M6"};
	char *at[AGENTS] = {NULL}, *before = known(), *after;
	bool connected[FRAMEWORKS];

	for (int i = 0; i < AGENTS; i++)
		at[i] = agent_at(pids[i]) ? xstrdup(agent_at(pids[i])->id) : NULL;
	for (int i = 0; i < FRAMEWORKS; i++) {
		connected[i] = streams[i] && framework_at(i);
		streams[i] = 0;
	}
	d->next_stream = 0;
	driver_restart(d, masters[life]);
	after = known();
	compare(before, after, seed, "as it starts");
	free(after);
	for (int i = 0; i < AGENTS; i++) {
		if (at[i])
			agent_returns(master_find_agent(d->m, at[i]), pids[i]);
		free(at[i]);
	}
	after = known();
	compare(before, after, seed, "when agents are back");
	free(after);
	free(before);
	for (int i = 0; i < FRAMEWORKS; i++) {
		if (connected[i])
			subscribe(i);
	}
}

static void history(int seed)
{
	rng_seed(&rng, (uint64_t)seed);
	next_task = 0;
	memset(streams, 0, sizeof(streams));
	d = driver_create();
	for (int life = 0; life < LIVES; life++) {
		for (int i = 0; i < EVENTS && d->next_stream < 50; i++)
			something();
		restart(seed, life);
	}
	driver_destroy(d);
	for (int i = 0; i < FRAMEWORKS; i++) {
		free(ids[i]);
		ids[i] = NULL;
	}
}

Test(master_restart, forgets_nothing)
{
	const char *text = getenv("MASTER_HISTORIES");
	int histories = text ? atoi(text) : 200;

	for (int seed = 1; seed <= histories; seed++)
		history(seed);
}

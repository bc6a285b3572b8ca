/* Random histories of an agent, in which it is killed and started again: what it tells of itself
 * is what it told before. AGENT_HISTORIES is how many. */
#include "agent_harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/objects.h"

#define EVENTS 120
#define PATHS 256

/* ---- what it tells ------------------------------------------------------------------ */

/* The shell's part of garbage collection. */
struct collection {
	char *path;
	int64_t when;
};

static struct rig rig;
static struct rng rng;
static struct collection collections[PATHS];
static size_t collection_count;
static uint64_t next_stream;
static int next_uuid, next_task;

static void forget_path(const char *path)
{
	for (size_t i = 0; i < collection_count; i++) {
		if (strcmp(collections[i].path, path))
			continue;
		free(collections[i].path);
		collections[i] = collections[--collection_count];
		return;
	}
}

static void watch(struct rig *r, const struct agent_action *action)
{
	(void)r;
	if (action->type != AGENT_COLLECT && action->type != AGENT_KEEP)
		return;
	forget_path(action->collect.path);
	if (action->type == AGENT_KEEP)
		return;
	cr_assert_lt(collection_count, PATHS);
	collections[collection_count++] =
		(struct collection){xstrdup(action->collect.path), action->collect.when};
}

/* Lines, that are sorted in the end: the order of tables may be another one. */
struct lines {
	char *items[2048];
	size_t count;
};

static void say(struct lines *lines, struct buf *line)
{
	cr_assert_lt(lines->count, sizeof(lines->items) / sizeof(*lines->items));
	lines->items[lines->count++] = xstrdup(line->data ? line->data : "");
	buf_clear(line);
}

static void say_resources(struct lines *lines, const char *what, const struct resources *r)
{
	struct buf line = BUF_INIT;

	buf_printf(&line, "%s ", what);
	resources_print(r, &line);
	say(lines, &line);
	buf_free(&line);
}

static void say_task(struct lines *lines, const struct task *task)
{
	struct buf line = BUF_INIT;

	buf_printf(&line, "task %s/%s %s ", task->executor->framework->id, task->executor->id,
		   task->place == TASK_TERMINATED ? "over" : "live");
	proto_to_json(task->record, SPELL_V1, &line);
	say(lines, &line);
	buf_free(&line);
}

static void say_executor(struct lines *lines, const struct executor *e)
{
	struct buf line = BUF_INIT;

	buf_printf(&line, "executor %s/%s container %s in %s%s%s ", e->framework->id, e->id,
		   e->container, e->sandbox, e->generated ? " generated" : "",
		   e->state == EXECUTOR_TERMINATED ? " terminated" : "");
	proto_to_json(e->info, SPELL_V1, &line);
	say(lines, &line);
	if (e->state != EXECUTOR_TERMINATED) {
		buf_printf(&line, "allocated %s/%s", e->framework->id, e->id);
		say_resources(lines, line.data, &e->allocated);
	}
	for (int place = 0; place < TASK_PLACES; place++) {
		const struct list *list = &e->tasks[place];

		for (const struct list *at = list->next; at != list; at = at->next)
			say_task(lines, list_entry(at, struct task, link));
	}
	buf_free(&line);
}

static void say_stream(struct lines *lines, const struct stream *s)
{
	struct buf line = BUF_INIT;

	buf_printf(&line, "stream %s/%s next %" PRIu64 " acknowledged", s->framework->id,
		   s->task_id, s->next_seq);
	for (uint32_t i = 0; i < s->acked_count; i++) {
		uint64_t seq = s->next_seq - s->backlog.count - 1 - i;
		ProtobufCBinaryData uuid = {UUID_BYTES, s->acked[seq % UPDATE_REMEMBERED]};

		buf_printf(&line, " %d", rig_uuid_number(uuid));
	}
	for (const struct list *at = s->pending.next; at != &s->pending; at = at->next) {
		buf_puts(&line, " pending ");
		proto_to_json(list_entry(at, struct update, link)->message, SPELL_V1, &line);
	}
	say(lines, &line);
	buf_free(&line);
}

static void say_framework(struct lines *lines, const struct framework *f)
{
	struct buf line = BUF_INIT;

	buf_printf(&line, "framework %s at %s ", f->id, f->pid);
	proto_to_json(f->info, SPELL_V1, &line);
	say(lines, &line);
	buf_free(&line);
	for (const struct executor *e = f->executors; e; e = e->hh.next)
		say_executor(lines, e);
	for (const struct stream *s = f->streams; s; s = s->hh.next)
		say_stream(lines, s);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What it is and has, as one text on the heap. */
static char *told(void)
{
	static struct lines lines;
	struct buf line = BUF_INIT, all = BUF_INIT;

	lines.count = 0;
	proto_to_json(rig.agent->info, SPELL_V1, &line);
	say(&lines, &line);
	if (rig.agent->drain) {
		buf_puts(&line, "drains ");
		proto_to_json(rig.agent->drain, SPELL_V1, &line);
		say(&lines, &line);
	}
	say_resources(&lines, "total", &rig.agent->total);
	say_resources(&lines, "checkpointed", &rig.agent->checkpointed);
	for (const struct framework *f = rig.agent->frameworks; f; f = f->hh.next)
		say_framework(&lines, f);
	for (size_t i = 0; i < collection_count; i++) {
		buf_printf(&line, "collect %s at %" PRId64, collections[i].path,
			   collections[i].when);
		say(&lines, &line);
	}
	qsort(lines.items, lines.count, sizeof(*lines.items), by_text);
	for (size_t i = 0; i < lines.count; i++) {
		buf_printf(&all, "%s\n", lines.items[i]);
		free(lines.items[i]);
	}
	buf_free(&line);
	return all.data;
}

/* ---- what befalls it ------------------------------------------------------------------ */

static int below(int n)
{
	return (int)(rng_unit(&rng) * n);
}

static void choose_framework(void)
{
	rig.framework = below(2) ? "F" : "F2";
}

static void run_something(void)
{
	static const char *const executors[] = {"e", "e2", "f"};
	char *id = arena_printf(&rig.arena, "t%d", next_task++);

	choose_framework();
	rig_run(&rig, id, below(2) ? executors[below(3)] : NULL, -1);
}

/* One of the executors, or NULL. */
static struct executor *some_executor(void)
{
	struct executor *found = NULL;
	int seen = 0;

	for (struct framework *f = rig.agent->frameworks; f; f = f->hh.next) {
		for (struct executor *e = f->executors; e; e = e->hh.next) {
			if (e->state != EXECUTOR_TERMINATED && below(++seen) == 0)
				found = e;
		}
	}
	if (found)
		rig.framework = !strcmp(found->framework->id, "F") ? "F" : "F2";
	return found;
}

static void container_started(struct executor *e)
{
	struct agent_event event = {.type = AGENT_CONTAINER_STARTED,
				    .container_started = {e->container, 42 + below(1000), 77}};

	if (e->process == CONTAINER_ASKED)
		rig_step(&rig, &event);
}

static void container_exited(struct executor *e, int status)
{
	char *container = arena_strdup(&rig.arena, e->container);
	struct agent_event event = {.type = AGENT_CONTAINER_EXITED,
				    .container_exited = {container, status >= 0, status}};

	rig_step(&rig, &event);
}

/* It tells of the tasks of which it told nothing yet. */
static void comes(struct executor *e)
{
	char *id = arena_strdup(&rig.arena, e->id);
	Mesos__Executor__Call *call = rig_call(&rig, id, MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE);
	struct list *launched = &e->tasks[TASK_LAUNCHED];

	for (struct list *at = launched->next; at != launched; at = at->next) {
		const Mesos__Task *record = list_entry(at, struct task, link)->record;

		if (record->state != STATE(STAGING))
			continue;
		proto_push(&rig.arena, call->subscribe->n_unacknowledged_tasks,
			   call->subscribe->unacknowledged_tasks,
			   rig_task(&rig, arena_strdup(&rig.arena, record->task_id->value), NULL));
	}
	container_started(e);
	if (!e->stream && e->process == CONTAINER_UP)
		rig_executor_call(&rig, call, ++next_stream);
}

static void says(struct executor *e)
{
	static const Mesos__TaskState states[] = {STATE(STARTING), STATE(RUNNING),  STATE(RUNNING),
						  STATE(KILLING),  STATE(FINISHED), STATE(FAILED)};
	struct task *t = list_first(&e->tasks[TASK_LAUNCHED], struct task, link);

	comes(e);
	if (t && t->executor->stream && e->state == EXECUTOR_RUNNING)
		rig_update(&rig, arena_strdup(&rig.arena, e->id),
			   arena_strdup(&rig.arena, t->record->task_id->value), states[below(6)],
			   ++next_uuid);
}

static void acknowledge_something(void)
{
	struct update *head;

	for (struct framework *f = rig.agent->frameworks; f; f = f->hh.next) {
		for (struct stream *s = f->streams; s; s = s->hh.next) {
			head = list_first(&s->pending, struct update, link);
			if (!head || below(3))
				continue;
			rig.framework = !strcmp(f->id, "F") ? "F" : "F2";
			rig_ack_bytes(&rig, arena_strdup(&rig.arena, s->task_id),
				      (ProtobufCBinaryData){UUID_BYTES,
							    arena_memdup(&rig.arena,
									 head->message->uuid.data,
									 UUID_BYTES)});
			return;
		}
	}
}

static void drain(void)
{
	Mesos__Internal__DrainSlaveMessage *message =
		rig_new(&rig, Mesos__Internal__DrainSlaveMessage,
			mesos__internal__drain_slave_message__descriptor);

	message->config = rig_new(&rig, Mesos__DrainConfig, mesos__drain_config__descriptor);
	message->config->has_mark_gone = true;
	message->config->mark_gone = below(2);
	message->config->max_grace_period =
		rig_new(&rig, Mesos__DurationInfo, mesos__duration_info__descriptor);
	message->config->max_grace_period->nanoseconds = below(100) * SECOND;
	rig_message(&rig, RIG_MASTER, message);
}

/* The master is heard of often enough to stay. */
static void pass(int64_t span)
{
	Mesos__Internal__PingSlaveMessage *ping =
		rig_new(&rig, Mesos__Internal__PingSlaveMessage,
			mesos__internal__ping_slave_message__descriptor);

	ping->connected = 1;
	for (int64_t part; span > 0; span -= part) {
		part = span < MINUTE ? span : MINUTE;
		rig_tick(&rig, part);
		rig_message(&rig, "o@10.0.0.1:5050", ping);
	}
}

static void kill_something(struct executor *e)
{
	struct task *t = list_first(&e->tasks[TASK_LAUNCHED], struct task, link);

	if (t)
		rig_kill(&rig, arena_strdup(&rig.arena, t->record->task_id->value));
}

static void something(void)
{
	struct executor *e = some_executor();

	switch (below(16)) {
	case 0:
	case 1:
	case 2:
		run_something();
		break;
	case 3:
		if (e)
			container_exited(e, below(3));
		break;
	case 4:
		if (e)
			kill_something(e);
		break;
	case 5:
		pass(below(200) * SECOND);
		break;
	case 6:
		if (below(10) == 0)
			drain();
		break;
	case 7:
	case 8:
	case 9:
		acknowledge_something();
		break;
	default:
		if (e)
			says(e);
	}
	cr_assert_not(strstr(rig_take(&rig), "reply 5"));
}

/* ---- a restart ------------------------------------------------------------------------- */

/* Executors that run are connected, so that nothing of them is on its way. */
static void calm(void)
{
	bool all;

	do {
		all = true;
		for (struct framework *f = rig.agent->frameworks; f && all; f = f->hh.next) {
			for (struct executor *e = f->executors; e && all; e = e->hh.next) {
				rig.framework = !strcmp(f->id, "F") ? "F" : "F2";
				if (e->state == EXECUTOR_TERMINATING) {
					container_exited(e, 0);
					all = false;
				} else if (e->state == EXECUTOR_REGISTERING) {
					comes(e);
					all = e->state == EXECUTOR_REGISTERING;
				}
			}
		}
	} while (!all);
	pass(SECOND);
}

/* Those that ran reconnect, and the others are found to be gone. */
static void bring_back(char *const *alive, size_t count)
{
	for (bool again = true; again;) {
		again = false;
		for (struct framework *f = rig.agent->frameworks; f && !again; f = f->hh.next) {
			for (struct executor *e = f->executors; e && !again; e = e->hh.next) {
				bool lives = false;

				if (e->state != EXECUTOR_REGISTERING)
					continue;
				for (size_t i = 0; i < count; i++)
					lives = lives || !strcmp(alive[i], e->container);
				rig.framework = !strcmp(f->id, "F") ? "F" : "F2";
				if (lives)
					comes(e);
				else
					container_exited(e, -1);
				again = true;
			}
		}
	}
	rig_reregister(&rig);
}

static void compare(const char *before, const char *after, int seed)
{
	size_t at = 0, begin;

	while (before[at] && before[at] == after[at])
		at++;
	if (before[at] == after[at])
		return;
	for (begin = at; begin > 0 && before[begin - 1] != '\n';)
		begin--;
	cr_assert_fail("history %d: of '%.60s...' it told\n%.150s\nand tells\n%.150s", seed,
		       before + begin, before + at, after + at);
}

static void restart(int seed)
{
	char *alive[64], *before, *after;
	size_t count = 0;

	calm();
	for (struct executor *e = rig.agent->containers; e; e = e->hh_container.next) {
		if (e->state == EXECUTOR_RUNNING)
			alive[count++] = xstrdup(e->container);
	}
	before = told();
	rig_kill_agent(&rig);
	for (size_t i = 0; i < collection_count; i++)
		free(collections[i].path);
	collection_count = 0;
	rig_start(&rig);
	bring_back(alive, count);
	after = told();
	compare(before, after, seed);
	for (size_t i = 0; i < count; i++)
		free(alive[i]);
	free(before);
	free(after);
	rig_take(&rig);
}

static void history(int seed)
{
	rng_seed(&rng, (uint64_t)seed);
	collection_count = 0;
	next_stream = 0;
	next_uuid = next_task = 0;
	rig_init(&rig);
	rig.checkpoint = true;
	rig.aware = below(2);
	rig.framework_pid = below(2) ? "scheduler@10.0.0.3:7000" : NULL;
	rig.watch = watch;
	rig_start(&rig);
	rig_register(&rig);
	for (int i = 0; i < EVENTS; i++) {
		something();
		if (below(20) == 0)
			restart(seed);
	}
	restart(seed);
	for (size_t i = 0; i < collection_count; i++)
		free(collections[i].path);
	rig_free(&rig);
}

Test(agent_restart, changes_nothing_that_an_agent_tells)
{
	const char *text = getenv("AGENT_HISTORIES");
	int histories = text ? atoi(text) : 200;

	for (int seed = 1; seed <= histories; seed++)
		history(seed);
}

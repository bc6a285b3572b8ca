/* An executor and its tasks, on the v1 executor API. Tasks do what their names say (parts.h).
 * A command executor (as mesita's own) ends with its task. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "lab/parts/parts.h"

#define RETRY_HIGH (2 * SECOND)
/* Until an agent is given up: its recovery timeout, or without checkpoints a minute. */
#define GIVE_UP_CHECKPOINT (15 * MINUTE)
#define GIVE_UP MINUTE
#define EXITED_WITH(code) ((code) << 8)
#define SHY_HIGH (2 * MINUTE)	 /* until anything is said of a shy task */
#define LAZY_HIGH (2 * MINUTE)	 /* until a lazy one runs */
#define GENTLE_HIGH (2 * MINUTE) /* until a gentle one is killed */

struct pending_update {
	struct list link;
	Mesos__Executor__Call__Update *update; /* heap */
	bool told;			       /* it went out, by itself or in a SUBSCRIBE */
};

struct lab_task {
	struct happening end, run, kill;
	struct list link;
	struct executor_part *part;
	Mesos__TaskInfo *info; /* heap */
	bool over;	       /* its end was reported */
	bool acknowledged;     /* its first update: the agent has it */
};

struct executor_part {
	struct world *world;
	struct agent_part *agent;
	struct process process;
	char *container, *framework_id, *executor_id;
	bool checkpoint, command;
	struct conn *stream, *calls;
	bool subscribed;
	int64_t lost_since;
	struct happening connect, exit;
	int status;
	struct list tasks;   /* struct lab_task.link */
	struct list updates; /* struct pending_update.link */
	struct rng rng;
};

/* ---- calls --------------------------------------------------------------------------- */

static void call(struct executor_part *part, struct conn *conn, Mesos__Executor__Call *message)
{
	struct letter letter = {.kind = LETTER_CALL};
	Mesos__ExecutorID executor_id = MESOS__EXECUTOR_ID__INIT;
	Mesos__FrameworkID framework_id = MESOS__FRAMEWORK_ID__INIT;

	executor_id.value = part->executor_id;
	framework_id.value = part->framework_id;
	message->executor_id = &executor_id;
	message->framework_id = &framework_id;
	message->has_type = true;
	proto_pack(message, &letter.bytes);
	letter.message = message;
	conn_send(conn, &part->process, &letter);
}

static void subscribe(struct executor_part *part)
{
	Mesos__Executor__Call message = MESOS__EXECUTOR__CALL__INIT;
	Mesos__Executor__Call__Subscribe subscribe = MESOS__EXECUTOR__CALL__SUBSCRIBE__INIT;
	struct arena arena;
	struct lab_task *task, *next_task;
	struct pending_update *update, *next;

	arena_init(&arena);
	list_for_each (task, next_task, &part->tasks, link) {
		if (!task->acknowledged)
			proto_push(&arena, subscribe.n_unacknowledged_tasks,
				   subscribe.unacknowledged_tasks, task->info);
	}
	list_for_each (update, next, &part->updates, link) {
		update->told = true;
		proto_push(&arena, subscribe.n_unacknowledged_updates,
			   subscribe.unacknowledged_updates, update->update);
	}
	message.type = MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE;
	message.subscribe = &subscribe;
	call(part, part->stream, &message);
	arena_free(&arena);
}

static void on_exit_due(struct happening *h)
{
	struct executor_part *part = container_of(h, struct executor_part, exit);

	agent_part_exited(part->agent, part, part->status);
}

static void exit_after(struct executor_part *part, int status, int64_t span)
{
	if (timer_running(&part->exit.timer))
		return;
	part->status = status;
	world_log(part->world, "%s exits with %d", part->process.name, status);
	world_after(part->world, &part->exit, span);
}

static void executor_part_on_connect(struct happening *h)
{
	struct executor_part *part = container_of(h, struct executor_part, connect);

	if (part->stream)
		return;
	part->stream = conn_open(&part->process, agent_part_address(part->agent));
	if (part->stream) {
		subscribe(part);
	} else if (part->world->now - part->lost_since >
		   (part->checkpoint ? GIVE_UP_CHECKPOINT : GIVE_UP)) {
		exit_after(part, EXITED_WITH(1), 0);
	} else {
		world_after(part->world, &part->connect,
			    world_between(part->world, 10 * MILLISECOND, RETRY_HIGH));
	}
}

/* ---- updates ----------------------------------------------------------------------------- */

static void executor_part_lose_agent(struct executor_part *part)
{
	world_log(part->world, "%s lost its agent", part->process.name);
	part->stream = NULL;
	part->subscribed = false;
	part->lost_since = part->world->now;
	if (!part->checkpoint)
		exit_after(part, EXITED_WITH(1), world_between(part->world, 0, SECOND));
	else
		world_after(part->world, &part->connect,
			    world_between(part->world, MILLISECOND, RETRY_HIGH));
}

static void send_update(struct executor_part *part, struct pending_update *update)
{
	Mesos__Executor__Call message = MESOS__EXECUTOR__CALL__INIT;

	if (!part->subscribed)
		return;
	if (!part->calls)
		part->calls = conn_open(&part->process, agent_part_address(part->agent));
	if (!part->calls) {
		conn_close(part->stream, &part->process);
		executor_part_lose_agent(part);
		return;
	}
	update->told = true;
	message.type = MESOS__EXECUTOR__CALL__TYPE__UPDATE;
	message.update = update->update;
	call(part, part->calls, &message);
}

/* Those that were made since the subscription was sent, as client/executor.c does. */
static void send_new_updates(struct executor_part *part)
{
	struct pending_update *update, *next;

	list_for_each (update, next, &part->updates, link) {
		if (!update->told)
			send_update(part, update);
	}
}

static void executor_part_report(struct lab_task *task, Mesos__TaskState state)
{
	struct executor_part *part = task->part;
	Mesos__Executor__Call__Update message = MESOS__EXECUTOR__CALL__UPDATE__INIT;
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	struct pending_update *update = xcalloc(1, sizeof(*update));
	uint8_t uuid[UUID_BYTES];

	uuid_make(&part->rng, uuid);
	status.task_id = task->info->task_id;
	status.state = state;
	status.has_source = true;
	status.source = MESOS__TASK_STATUS__SOURCE__SOURCE_EXECUTOR;
	status.has_uuid = true;
	status.uuid = (ProtobufCBinaryData){UUID_BYTES, uuid};
	status.has_timestamp = true;
	status.timestamp = clock_seconds(part->world->now);
	message.status = &status;
	update->update = proto_copy(&message);
	list_append(&part->updates, &update->link);
	send_update(part, update);
}

static void cancel(struct lab_task *task)
{
	world_cancel(task->part->world, &task->end);
	world_cancel(task->part->world, &task->run);
	world_cancel(task->part->world, &task->kill);
}

static void end_task(struct lab_task *task, Mesos__TaskState state)
{
	if (task->over)
		return;
	task->over = true;
	world_log(task->part->world, "task %s ends as %s", task->info->task_id->value,
		  proto_enum_name(&mesos__task_state__descriptor, (int)state, SPELL_V1));
	cancel(task);
	executor_part_report(task, state);
}

/* Whether the word is in its name, which are a number and words. */
static bool executor_part_is(const struct lab_task *task, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = strchr(task->info->name, ' '); at; at = strchr(at + 1, ' ')) {
		if (!strncmp(at + 1, word, len) && (!at[1 + len] || at[1 + len] == ' '))
			return true;
	}
	return false;
}

/* What executors say at the end, and what becomes of those that say nothing. */
static const struct {
	const char *word;
	Mesos__TaskState state;
} said[] = {
	{"fail", MESOS__TASK_STATE__TASK_FAILED},     {"killed", MESOS__TASK_STATE__TASK_KILLED},
	{"lost", MESOS__TASK_STATE__TASK_LOST},	      {"gone", MESOS__TASK_STATE__TASK_GONE},
	{"dropped", MESOS__TASK_STATE__TASK_DROPPED}, {"error", MESOS__TASK_STATE__TASK_ERROR},
};
static const struct {
	const char *word;
	int status;
} silent[] = {{"crash", 11}, {"signal", 9}, {"exit", EXITED_WITH(3)}};

static void on_task_end(struct happening *h)
{
	struct lab_task *task = container_of(h, struct lab_task, end);

	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
		if (!executor_part_is(task, said[i].word))
			continue;
		end_task(task, said[i].state);
		return;
	}
	for (size_t i = 0; i < sizeof(silent) / sizeof(*silent); i++) {
		if (!executor_part_is(task, silent[i].word))
			continue;
		exit_after(task->part, silent[i].status, 0);
		return;
	}
	end_task(task, MESOS__TASK_STATE__TASK_FINISHED);
}

static void on_task_runs(struct happening *h)
{
	executor_part_report(container_of(h, struct lab_task, run),
			     MESOS__TASK_STATE__TASK_RUNNING);
}

static void start_task(struct lab_task *task)
{
	struct world *w = task->part->world;

	if (!executor_part_is(task, "sudden"))
		executor_part_report(task, MESOS__TASK_STATE__TASK_STARTING);
	task->run.run = on_task_runs;
	if (executor_part_is(task, "lazy"))
		world_after(w, &task->run, world_between(w, 0, LAZY_HIGH));
	else
		executor_part_report(task, MESOS__TASK_STATE__TASK_RUNNING);
}

static void on_task_starts(struct happening *h)
{
	start_task(container_of(h, struct lab_task, run));
}

static void on_task_killed(struct happening *h)
{
	end_task(container_of(h, struct lab_task, kill), MESOS__TASK_STATE__TASK_KILLED);
}

static void executor_part_kill_task(struct lab_task *task)
{
	struct world *w = task->part->world;

	if (executor_part_is(task, "deaf") || task->over)
		return;
	if (!executor_part_is(task, "gentle")) {
		end_task(task, MESOS__TASK_STATE__TASK_KILLED);
	} else if (!timer_running(&task->kill.timer)) {
		world_cancel(w, &task->run);
		executor_part_report(task, MESOS__TASK_STATE__TASK_KILLING);
		world_after(w, &task->kill, world_between(w, 0, GENTLE_HIGH));
	}
}

/* It does not end when told to: its container must be destroyed. */
static bool has_deaf(const struct executor_part *part)
{
	struct lab_task *task, *next;

	list_for_each (task, next, &part->tasks, link) {
		if (executor_part_is(task, "deaf") && !task->over)
			return true;
	}
	return false;
}

void executor_part_end_deaf(struct executor_part *part)
{
	if (has_deaf(part))
		exit_after(part, 9, 0);
}

static void executor_part_launch(struct executor_part *part, const Mesos__TaskInfo *info)
{
	struct lab_task *task = xcalloc(1, sizeof(*task));
	struct world *w = part->world;

	task->part = part;
	task->info = proto_copy(info);
	task->end.run = on_task_end;
	task->run.run = on_task_starts;
	task->kill.run = on_task_killed;
	list_append(&part->tasks, &task->link);
	part->command = !info->executor;
	if (executor_part_is(task, "shy"))
		world_after(w, &task->run, world_between(w, 0, SHY_HIGH));
	else
		start_task(task);
	if (!executor_part_is(task, "hang") && !executor_part_is(task, "deaf"))
		world_after(w, &task->end, (int64_t)(strtod(info->name, NULL) * (double)SECOND));
}

static struct lab_task *executor_part_find_task(struct executor_part *part, const char *id)
{
	struct lab_task *task, *next;

	list_for_each (task, next, &part->tasks, link) {
		if (!strcmp(task->info->task_id->value, id))
			return task;
	}
	return NULL;
}

static void update_free(struct pending_update *update)
{
	list_remove(&update->link);
	proto_free(update->update);
	free(update);
}

static void acknowledged(struct executor_part *part, const Mesos__Executor__Event__Acknowledged *a)
{
	struct pending_update *update, *next;
	struct lab_task *task = executor_part_find_task(part, a->task_id->value);
	bool waiting = false;

	if (task)
		task->acknowledged = true;
	list_for_each (update, next, &part->updates, link) {
		const ProtobufCBinaryData *uuid = &update->update->status->uuid;

		if (uuid->len == a->uuid.len && !memcmp(uuid->data, a->uuid.data, uuid->len))
			update_free(update);
		else if (task && !strcmp(update->update->status->task_id->value, a->task_id->value))
			waiting = true;
	}
	if (task && task->over && !waiting && part->command)
		exit_after(part, 0, world_between(part->world, 0, 500 * MILLISECOND));
}

/* ---- events -------------------------------------------------------------------------------- */

static void executor_part_handle(struct executor_part *part, const Mesos__Executor__Event *event)
{
	struct lab_task *task;

	switch (event->type) {
	case MESOS__EXECUTOR__EVENT__TYPE__SUBSCRIBED:
		world_log(part->world, "%s is subscribed", part->process.name);
		part->subscribed = true;
		send_new_updates(part);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__LAUNCH:
		executor_part_launch(part, event->launch->task);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__KILL:
		task = executor_part_find_task(part, event->kill->task_id->value);
		if (task)
			executor_part_kill_task(task);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__ACKNOWLEDGED:
		acknowledged(part, event->acknowledged);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__SHUTDOWN:
		if (!has_deaf(part))
			exit_after(part, 0, world_between(part->world, 0, SECOND));
		break;
	default:
		break;
	}
}

/* As client/executor.c has it: one that is not ready is tried again, one that refuses is not. */
static bool executor_part_refuses(int status)
{
	return status >= 400 && status < 500 && status != 404;
}

/* An agent that is not ready has forgotten nothing it answered 202. */
static void take_reply(struct executor_part *part, struct conn *conn, const struct letter *letter)
{
	if (letter->status < 300)
		return;
	world_log(part->world, "%s is answered %d: %s", part->process.name, letter->status,
		  letter->name);
	if (conn == part->stream) {
		conn_close(conn, &part->process);
		part->stream = NULL;
		if (executor_part_refuses(letter->status) ||
		    part->world->now - part->lost_since > GIVE_UP_CHECKPOINT)
			exit_after(part, EXITED_WITH(1), 0);
		else
			world_after(part->world, &part->connect,
				    world_between(part->world, 10 * MILLISECOND, RETRY_HIGH));
	} else if (letter->status >= 500 && part->stream) {
		conn_close(part->stream, &part->process);
		executor_part_lose_agent(part);
	}
}

static void executor_part_receive(struct process *p, struct conn *conn, const struct letter *letter)
{
	struct executor_part *part = container_of(p, struct executor_part, process);
	Mesos__Executor__Event *event;

	if (letter->kind == LETTER_REPLY) {
		take_reply(part, conn, letter);
		return;
	}
	event = letter_open(letter, &mesos__executor__event__descriptor);
	if (event)
		executor_part_handle(part, event);
}

static void executor_part_closed(struct process *p, struct conn *conn)
{
	struct executor_part *part = container_of(p, struct executor_part, process);

	if (conn == part->calls) {
		part->calls = NULL;
		/* Nobody knows which calls arrived: all that is unacknowledged goes again. */
		if (!part->stream)
			return;
		conn_close(part->stream, p);
	} else if (conn != part->stream) {
		return;
	}
	executor_part_lose_agent(part);
}

static const struct process_ops ops = {executor_part_receive, executor_part_closed, NULL};

/* ---- life ------------------------------------------------------------------------------------ */

static const char *variable(char *const *environment, const char *name)
{
	size_t len = strlen(name);

	for (; *environment; environment++) {
		if (!strncmp(*environment, name, len) && (*environment)[len] == '=')
			return *environment + len + 1;
	}
	return "";
}

static void tell_observer(const struct executor_part *part, bool up)
{
	struct observer *o = part->world->observer;
	struct executor_life life = {
		.process = &part->process,
		.agent = agent_part_address(part->agent),
		.framework_id = part->framework_id,
		.executor_id = part->executor_id,
		.checkpoint = part->checkpoint,
	};

	if (o)
		o->executor(o, &life, up);
}

struct executor_part *executor_part_create(struct world *w, struct agent_part *agent,
					   const char *container, char *const *environment)
{
	struct executor_part *part = xcalloc(1, sizeof(*part));
	char *name;

	part->world = w;
	part->agent = agent;
	part->container = xstrdup(container);
	part->framework_id = xstrdup(variable(environment, "MESOS_FRAMEWORK_ID"));
	part->executor_id = xstrdup(variable(environment, "MESOS_EXECUTOR_ID"));
	part->checkpoint = !strcmp(variable(environment, "MESOS_CHECKPOINT"), "1");
	part->connect.run = executor_part_on_connect;
	part->exit.run = on_exit_due;
	part->lost_since = w->now;
	list_init(&part->tasks);
	list_init(&part->updates);
	rng_seed(&part->rng, rng_next(&w->rng));
	name = xprintf("executor %s", part->executor_id);
	process_start(&part->process, w, &ops, name, NULL);
	free(name);
	tell_observer(part, true);
	world_after(w, &part->connect, world_between(w, MILLISECOND, 200 * MILLISECOND));
	return part;
}

void executor_part_destroy(struct executor_part *part)
{
	struct lab_task *task;

	tell_observer(part, false);
	process_end(&part->process);
	world_cancel(part->world, &part->connect);
	world_cancel(part->world, &part->exit);
	while ((task = list_first(&part->tasks, struct lab_task, link))) {
		cancel(task);
		list_remove(&task->link);
		proto_free(task->info);
		free(task);
	}
	while (!list_empty(&part->updates))
		update_free(list_first(&part->updates, struct pending_update, link));
	free(part->container);
	free(part->framework_id);
	free(part->executor_id);
	free(part);
}

const char *executor_part_container(const struct executor_part *part)
{
	return part->container;
}

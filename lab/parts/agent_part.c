/* An agent: the production core and its shell simulated, through its lives.
 * agent_containers.c has what runs there, agent_volumes.c what it keeps. */
#include "lab/parts/agent_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "lab/coverage/coverage.h"
#include "proto/names.h"

#define RESTART_LOW (100 * MILLISECOND)
#define RESTART_HIGH (90 * SECOND)
#define REDETECT_DELAY SECOND

/* An event that answers an action, before anything else comes in. */
struct answer {
	struct list link;
	enum agent_event_type type;
	uint64_t number;
	char *name; /* path or container */
};

static void take_actions(struct agent_part *part);

static void agent_part_arm(struct agent_part *part)
{
	int64_t when;

	if (!part->alive)
		return;
	when = agent_next_timeout(part->core);
	if (when == TIME_NEVER)
		world_cancel(part->world, &part->tick);
	else
		world_at(part->world, &part->tick, when - part->skew);
}

static void agent_part_step(struct agent_part *part, const struct agent_event *event)
{
	agent_actions_clear(&part->out);
	agent_step(part->core, part->world->now + part->skew, event, &part->out);
	if (part->world->coverage)
		coverage_see_agent(part->world->coverage, part->name, part->core);
}

static void give_answers(struct agent_part *part)
{
	struct answer *answer;

	while ((answer = list_first(&part->answers, struct answer, link))) {
		struct agent_event event = {.type = answer->type};

		if (answer->type == AGENT_VOLUMES_MADE) {
			event.volumes_made.number = answer->number;
		} else if (answer->type == AGENT_VOLUME_REMOVED) {
			event.volume_removed.path = answer->name;
		} else {
			event.volumes_linked.container = answer->name;
		}
		list_remove(&answer->link);
		if (part->alive) {
			agent_part_step(part, &event);
			take_actions(part);
		}
		free(answer->name);
		free(answer);
	}
}

static void add_answer(struct agent_part *part, enum agent_event_type type, uint64_t number,
		       const char *name)
{
	struct answer *answer = xcalloc(1, sizeof(*answer));

	answer->type = type;
	answer->number = number;
	answer->name = name ? xstrdup(name) : NULL;
	list_append(&part->answers, &answer->link);
}

static void finish_step(struct agent_part *part)
{
	take_actions(part);
	give_answers(part);
	agent_part_arm(part);
}

void agent_part_feed(struct agent_part *part, const struct agent_event *event)
{
	if (!part->alive)
		return;
	agent_part_step(part, event);
	finish_step(part);
}

static void agent_part_on_tick(struct happening *h)
{
	struct agent_part *part = container_of(h, struct agent_part, tick);
	struct agent_event event = {.type = AGENT_TICK};

	if (!process_holds(&part->process, h))
		agent_part_feed(part, &event);
}

static void on_detect(struct happening *h)
{
	struct agent_part *part = container_of(h, struct agent_part, detect);
	struct agent_event event = {.type = AGENT_DETECTED, .detected = {.master = MASTER_PID}};

	if (!process_holds(&part->process, h))
		agent_part_feed(part, &event);
}

static void on_stored(void *context, int line, uint64_t ticket)
{
	struct agent_part *part = context;
	struct agent_event event = {.type = AGENT_STORED, .stored = {.ticket = ticket}};

	(void)line;
	part->late_ticket = ticket;
	if (!process_holds(&part->process, &part->late))
		agent_part_feed(part, &event);
}

static void on_late(struct happening *h)
{
	struct agent_part *part = container_of(h, struct agent_part, late);

	on_stored(part, AGENT_LINE, part->late_ticket);
}

/* ---- what comes in ------------------------------------------------------------------ */

static void note_id(struct agent_part *part, const ProtobufCMessage *message)
{
	const Mesos__AgentID *id = NULL;

	if (message &&
	    message->descriptor == &mesos__internal__slave_registered_message__descriptor)
		id = ((const Mesos__Internal__SlaveRegisteredMessage *)message)->agent_id;
	if (!id || (part->id && !strcmp(part->id, id->value)))
		return;
	if (part->id) {
		size_t count = (size_t)part->former_count + 1;

		part->former = xrealloc(part->former, count * sizeof(*part->former));
		part->former[part->former_count++] = part->id;
	}
	part->id = xstrdup(id->value);
}

/* As agent/server.c does. */
static void receive_message(struct agent_part *part, struct conn *conn, const struct letter *letter)
{
	struct agent_event event = {.type = AGENT_MESSAGE};
	bool registered = agent_registered(part->core);

	event.message.message = letter_open(letter, letter->type);
	event.message.from = letter->from;
	if (!event.message.message)
		return;
	note_id(part, event.message.message);
	pid_note_sender(conn, letter->from);
	agent_part_feed(part, &event);
	if (part->core && !registered && agent_registered(part->core))
		pid_sole_sender(&part->process, conn, letter->from);
}

static void receive_call(struct agent_part *part, struct conn *conn, const struct letter *letter)
{
	struct agent_event event = {.type = AGENT_EXECUTOR_CALL};
	struct letter reply = {.kind = LETTER_REPLY, .number = letter->number};

	event.executor_call.call = letter_open(letter, &mesos__executor__call__descriptor);
	if (!event.executor_call.call)
		return;
	event.executor_call.acceptable = true;
	if (event.executor_call.call->type == MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE)
		event.executor_call.stream = ++part->last_stream;
	agent_part_step(part, &event);
	reply.status = part->out.reply.status;
	reply.name = xstrdup(part->out.reply.text);
	if (event.executor_call.stream && reply.status == 200)
		conn->tag = event.executor_call.stream;
	conn_send(conn, &part->process, &reply);
	finish_step(part);
}

static void agent_part_receive(struct process *p, struct conn *conn, const struct letter *letter)
{
	struct agent_part *part = container_of(p, struct agent_part, process);

	if (letter->kind == LETTER_MESSAGE) {
		receive_message(part, conn, letter);
	} else {
		receive_call(part, conn, letter);
	}
}

static void agent_part_closed(struct process *p, struct conn *conn)
{
	struct agent_part *part = container_of(p, struct agent_part, process);
	struct agent_event event = {.type = AGENT_EXITED};

	if (conn->linked && conn->of[CONN_CLIENT].process == p) {
		event.exited.pid = conn->linked;
		agent_part_feed(part, &event);
	} else if (conn->tag) {
		event.type = AGENT_STREAM_CLOSED;
		event.stream_closed.stream = conn->tag;
		agent_part_feed(part, &event);
	}
}

static void kill_it(struct process *p)
{
	agent_part_kill(container_of(p, struct agent_part, process), false);
}

static const struct process_ops ops = {agent_part_receive, agent_part_closed, kill_it};

/* ---- what goes out ---------------------------------------------------------------------- */

static void agent_part_stop(struct agent_part *part, bool crash);

static void take_action(struct agent_part *part, const struct agent_action *action)
{
	switch (action->type) {
	case AGENT_SEND_MESSAGE:
		pid_send(&part->process, "slave(1)", action->send_message.to,
			 action->send_message.message);
		break;
	case AGENT_LINK:
		pid_link(&part->process, action->link.pid);
		break;
	case AGENT_UNLINK:
		pid_unlink(&part->process, action->link.pid);
		break;
	case AGENT_SEND_EVENT:
		stream_send(&part->process, action->send_event.stream, action->send_event.event);
		break;
	case AGENT_END_STREAM:
		stream_end(&part->process, action->end_stream.stream);
		break;
	case AGENT_LAUNCH:
		agent_part_use_volumes(part, &action->launch.volumes);
		agent_part_launch(part, &action->launch);
		break;
	case AGENT_REATTACH:
		agent_part_reattach(part, action);
		break;
	case AGENT_DESTROY:
		agent_part_end_container(part, action->destroy.container);
		break;
	case AGENT_STORE:
		disk_write(&part->disk, AGENT_LINE, action->store.class, action->store.ops,
			   action->store.count, action->store.ticket);
		break;
	case AGENT_REDETECT:
		world_after(part->world, &part->detect, REDETECT_DELAY);
		break;
	case AGENT_EXIT:
		world_log(part->world, "%s exits with %d: %s", part->name, action->exit.status,
			  action->exit.text ? action->exit.text : "");
		part->leaving = true;
		break;
	case AGENT_MAKE_VOLUMES:
		if (agent_part_make_volumes(part, action))
			add_answer(part, AGENT_VOLUMES_MADE, action->make_volumes.number, NULL);
		break;
	case AGENT_REMOVE_VOLUME:
		if (agent_part_remove_volume(part, action->remove_volume.path))
			add_answer(part, AGENT_VOLUME_REMOVED, 0, action->remove_volume.path);
		break;
	case AGENT_LINK_VOLUMES:
		if (agent_part_link_volumes(part, action))
			add_answer(part, AGENT_VOLUMES_LINKED, 0, action->link_volumes.container);
		break;
	case AGENT_COLLECT: /* no files here */
	case AGENT_KEEP:
		break;
	}
}

static void restart_later(struct agent_part *part)
{
	world_after(part->world, &part->start,
		    world_between(part->world, RESTART_LOW, RESTART_HIGH));
}

static void take_actions(struct agent_part *part)
{
	for (size_t i = 0; i < part->out.count; i++)
		take_action(part, &part->out.items[i]);
	if (part->leaving) {
		/* A supervisor starts it again. */
		part->leaving = false;
		agent_part_stop(part, false);
		restart_later(part);
	}
}

/* ---- lives ---------------------------------------------------------------------------------- */

static int agent_part_load(void *context, struct slice key, struct slice value)
{
	struct agent_part *part = context;
	struct err err;

	if (agent_load(part->core, key, value, &err))
		world_fail(part->world, "%s cannot read %.*s: %s", part->name, (int)key.len,
			   key.data, err.text);
	return 0;
}

static void agent_part_on_start(struct happening *h)
{
	struct agent_part *part = container_of(h, struct agent_part, start);
	struct world *w = part->world;
	int64_t now = w->now + part->next_skew;
	struct agent_options options = {
		.ip = AGENT_IP,
		.port = 6000 + part->number,
		.hostname = part->name,
		.version = "1.12.0",
		.work_dir = AGENT_WORK_DIR,
		.launcher_program = "/bin/mesita",
		.shapes = part->shapes,
		.resources = &part->total,
		.rng = &part->rng,
		.start_time = now,
		.reconfiguration_policy = "equal",
		.registration_backoff_factor = SECOND,
		.executor_registration_timeout = MINUTE,
		.executor_reregistration_timeout = 2 * SECOND,
		.executor_shutdown_grace_period = 5 * SECOND,
		.recovery_timeout = 15 * MINUTE,
		.gc_delay = WEEK,
		.max_completed_executors_per_framework = 150,
	};
	struct err err;

	if (!disk_open(&part->disk, on_stored)) {
		world_log(w, "%s cannot open its disk", part->name);
		restart_later(part);
		return;
	}
	part->skew = part->next_skew;
	world_log(w, "%s starts", part->name);
	process_start(&part->process, w, &ops, part->name, part->address);
	part->alive = true;
	if (agent_create(&options, &part->core, &err)) {
		world_fail(w, "no agent: %s", err.text);
		return;
	}
	disk_load(&part->disk, agent_part_load, part);
	agent_actions_clear(&part->out);
	if (part->world->coverage)
		coverage_begin(part->world->coverage, part->name);
	if (agent_start(part->core, now, part->crashed, &part->out, &err)) {
		world_fail(w, "%s does not start: %s", part->name, err.text);
		return;
	}
	part->crashed = false;
	finish_step(part);
	world_after(w, &part->detect, 0);
}

static void on_disk_failed(void *context, bool crash)
{
	agent_part_kill(context, crash);
}

struct agent_part *agent_part_create(struct world *w, int number, const char *resources)
{
	struct agent_part *part = xcalloc(1, sizeof(*part));
	struct err err;

	part->world = w;
	part->number = number;
	part->name = xprintf("agent%d", number);
	part->address = xprintf(AGENT_IP ":%d", 6000 + number);
	part->tick.run = agent_part_on_tick;
	part->start.run = agent_part_on_start;
	part->detect.run = on_detect;
	part->late.run = on_late;
	part->shapes = resource_shapes_create();
	if (resources_parse(part->shapes, resources, "*", &part->total, &err))
		world_fail(w, "%s", err.text);
	list_init(&part->containers);
	list_init(&part->answers);
	list_init(&part->works);
	rng_seed(&part->rng, w->seed ^ (uint64_t)(0xa900 + number));
	agent_actions_init(&part->out);
	disk_init(&part->disk, w, part->name, on_disk_failed, part);
	world_after(w, &part->start, world_between(w, 0, 2 * SECOND));
	return part;
}

static void agent_part_stop(struct agent_part *part, bool crash)
{
	if (!part->alive)
		return;
	part->alive = false;
	agent_part_orphan(part);
	agent_part_end_works(part);
	world_cancel(part->world, &part->tick);
	world_cancel(part->world, &part->detect);
	world_cancel(part->world, &part->late);
	part->process.vanishes = crash;
	process_end(&part->process);
	disk_drop(&part->disk, crash);
	agent_destroy(part->core);
	part->core = NULL;
}

void agent_part_kill(struct agent_part *part, bool crash)
{
	if (!part->alive)
		return;
	world_log(part->world, "%s is %s", part->name, crash ? "crashed" : "killed");
	agent_part_stop(part, crash);
	if (crash)
		agent_part_drop_containers(part);
	part->crashed = crash;
	restart_later(part);
}

void agent_part_destroy(struct agent_part *part)
{
	agent_part_stop(part, false);
	world_cancel(part->world, &part->start);
	agent_part_drop_containers(part);
	disk_free(&part->disk);
	resources_free(&part->total);
	resource_shapes_destroy(part->shapes);
	agent_actions_free(&part->out);
	free(part->name);
	free(part->address);
	for (int i = 0; i < part->former_count; i++)
		free(part->former[i]);
	free(part->former);
	free(part->id);
	free(part);
}

bool agent_part_alive(const struct agent_part *part)
{
	return part->alive;
}

struct process *agent_part_process(struct agent_part *part)
{
	return part->alive ? &part->process : NULL;
}

const char *agent_part_address(const struct agent_part *part)
{
	return part->address;
}

struct disk *agent_part_disk(struct agent_part *part)
{
	return &part->disk;
}

void agent_part_set_clock(struct agent_part *part, int64_t skew)
{
	world_log(part->world, "the clock of %s is set to %+.3f s", part->name,
		  (double)skew / SECOND);
	part->next_skew = skew;
	agent_part_kill(part, false);
}

const char *agent_part_name(const struct agent_part *part)
{
	return part->name;
}

const char *agent_part_former_id(const struct agent_part *part, int at)
{
	return at < part->former_count ? part->former[at] : NULL;
}

const char *agent_part_id(const struct agent_part *part)
{
	return part->id;
}

/* The first one is enough. */
static int name_record(void *context, struct slice key, struct slice value)
{
	static const char *const kinds[] = {"framework/", "executor/",	"task/",
					    "update/",	  "operation/", "removal/"};
	struct buf *out = context;

	(void)value;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (key.len < strlen(kinds[i]) || memcmp(key.data, kinds[i], strlen(kinds[i])))
			continue;
		buf_printf(out, " %.*s", (int)key.len, key.data);
		return 1;
	}
	return 0;
}

void agent_part_left(struct agent_part *part, struct buf *out)
{
	if (!part->alive)
		return;
	coverage_left_in_agent(part->core, out);
	disk_load(&part->disk, name_record, out);
}

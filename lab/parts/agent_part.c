/* An agent: the production core and its shell simulated, through its lives.
 * agent_containers.c has what runs there, agent_volumes.c what it keeps. */
#include "lab/parts/agent_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "lab/coverage/coverage.h"
#include "lab/ensemble/ensemble.h"
#include "net/masters/detector.h"
#include "net/masters/election.h"
#include "proto/names.h"

#define RESTART_LOW (100 * MILLISECOND)
#define RESTART_HIGH (90 * SECOND)
#define REDETECT_DELAY SECOND

static void leave_if_over(struct agent_part *part);

void agent_part_feed(struct agent_part *part, const struct agent_event *event)
{
	if (part->alive)
		agent_steps_feed(&part->steps, event);
	leave_if_over(part);
}

static void agent_part_on_tick(struct happening *h)
{
	struct agent_part *part = container_of(h, struct agent_part, tick);
	struct agent_event event = {.type = AGENT_TICK};

	if (!process_holds(&part->process, h))
		agent_part_feed(part, &event);
}

static void agent_part_detected(void *context, const char *pid)
{
	struct agent_event event = {.type = AGENT_DETECTED, .detected = {.master = (char *)pid}};

	agent_part_feed(context, &event);
}

static void detection_failed(void *context, const char *why)
{
	struct agent_part *part = context;

	world_fail(part->world, "%s cannot find the master: %s", part->name, why);
}

static void on_detect(struct happening *h)
{
	struct agent_part *part = container_of(h, struct agent_part, detect);

	if (process_holds(&part->process, h))
		return;
	sim_be(&part->process, NULL);
	if (part->detector)
		detector_look(part->detector);
	else
		agent_part_detected(part, MASTER_PID);
}

static void on_stored(void *context, int line)
{
	struct agent_part *part = context;
	const struct disk_line *on_disk = &part->disk.lines[line];

	if (!process_holds(&part->process, &part->late))
		agent_steps_stored(&part->steps, on_disk->applied, on_disk->durable);
	leave_if_over(part);
}

static void on_late(struct happening *h)
{
	on_stored(container_of(h, struct agent_part, late), AGENT_LINE);
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
	bool registered = agent_registered(part->steps.core);

	event.message.message = letter_open(letter, letter->type);
	event.message.from = letter->from;
	if (!event.message.message)
		return;
	note_id(part, event.message.message);
	pid_note_sender(conn, letter->from);
	agent_part_feed(part, &event);
	if (part->alive && !registered && agent_registered(part->steps.core))
		pid_sole_sender(&part->process, conn, letter->from);
}

struct replying {
	struct agent_part *part;
	struct conn *conn;
	const struct letter *letter;
	uint64_t stream; /* 0: the call opens none */
};

/* The answer leaves before what is said on the stream that it opens. */
static void reply_to_call(void *context)
{
	const struct replying *r = context;
	const struct agent_reply *said = &r->part->steps.actions.reply;
	struct letter reply = {
		.kind = LETTER_REPLY, .number = r->letter->number, .status = said->status};

	reply.name = xstrdup(said->text);
	if (r->stream && reply.status == 200)
		r->conn->tag = r->stream;
	conn_send(r->conn, &r->part->process, &reply);
}

static void receive_call(struct agent_part *part, struct conn *conn, const struct letter *letter)
{
	struct agent_event event = {.type = AGENT_EXECUTOR_CALL};
	struct replying replying = {part, conn, letter, 0};

	event.executor_call.call = letter_open(letter, &mesos__executor__call__descriptor);
	if (!event.executor_call.call)
		return;
	event.executor_call.acceptable = true;
	if (event.executor_call.call->type == MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE)
		event.executor_call.stream = replying.stream = ++part->last_stream;
	agent_steps_call(&part->steps, &event, reply_to_call, &replying);
	leave_if_over(part);
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

static void see(const struct agent_part *part)
{
	if (part->world->coverage)
		coverage_see_agent(part->world->coverage, part->name, part->steps.core);
}

/* Before each step: what the one before it left is seen. */
static int64_t part_now(void *context)
{
	const struct agent_part *part = context;

	see(part);
	return part->world->now + part->skew;
}

static void part_wake_at(void *context, int64_t when)
{
	struct agent_part *part = context;

	see(part);
	if (when == TIME_NEVER)
		world_cancel(part->world, &part->tick);
	else
		world_at(part->world, &part->tick, when - part->skew);
}

static void part_send_message(void *context, const char *actor, const char *to,
			      const ProtobufCMessage *message)
{
	struct agent_part *part = context;

	pid_send(&part->process, actor ? actor : "slave(1)", to, message);
}

static void part_link(void *context, const char *pid)
{
	struct agent_part *part = context;

	pid_link(&part->process, pid);
}

static void part_unlink(void *context, const char *pid)
{
	struct agent_part *part = context;

	pid_unlink(&part->process, pid);
}

static void part_send_event(void *context, uint64_t stream, const Mesos__Executor__Event *event)
{
	struct agent_part *part = context;

	stream_send(&part->process, stream, event);
}

static void part_end_stream(void *context, uint64_t stream)
{
	struct agent_part *part = context;

	stream_end(&part->process, stream);
}

static void part_launch(void *context, const struct agent_launch *launch)
{
	struct agent_part *part = context;

	containers_launch(part->containers, launch);
}

static void part_reattach(void *context, const char *id, int64_t pid, uint64_t start_ticks)
{
	struct agent_part *part = context;

	containers_reattach(part->containers, id, pid, start_ticks);
}

static void part_destroy(void *context, const char *id)
{
	struct agent_part *part = context;

	containers_destroy(part->containers, id);
}

static void part_signal(void *context, const char *container, int number)
{
	containers_signal(((struct agent_part *)context)->containers, container, number);
}

static void part_limit(void *context, const char *container, const struct agent_limits *limits)
{
	struct agent_part *part = context;

	containers_limit(part->containers, container, limits);
}

static void part_clear(void *context, const char *container)
{
	containers_clear(((struct agent_part *)context)->containers, container);
}

/* Nobody calls the operator API here. */
static void part_answer(void *context, const struct agent_action *action)
{
	(void)action;
	world_fail(((struct agent_part *)context)->world, "an agent answered what nobody asked");
}

static uint64_t part_store(void *context, enum store_class class, const struct store_op *ops,
			   size_t count)
{
	struct agent_part *part = context;

	return disk_write(&part->disk, AGENT_LINE, class, ops, count);
}

/* No files here. */
static void part_identified(void *context)
{
	(void)context;
}

static void part_collect(void *context, const char *path, int64_t when)
{
	(void)context;
	(void)path;
	(void)when;
}

static void part_keep(void *context, const char *path)
{
	(void)context;
	(void)path;
}

static void part_make_volumes(void *context, const struct agent_action *action)
{
	if (action->type == AGENT_MAKE_VOLUMES)
		agent_part_make_volumes(context, action);
	else
		agent_part_link_volumes(context, action);
}

static void part_remove_volume(void *context, const char *path, bool mount)
{
	(void)mount;
	agent_part_remove_volume(context, path);
}

static void part_redetect(void *context)
{
	struct agent_part *part = context;

	/* Asked again before it came, it does not come later. */
	if (!timer_running(&part->detect.timer))
		world_after(part->world, &part->detect, REDETECT_DELAY);
}

static void part_exit(void *context, int status, const char *text)
{
	struct agent_part *part = context;

	world_log(part->world, "%s exits with %d: %s", part->name, status, text ? text : "");
	part->steps.over = true;
}

static const struct agent_outlet outlet = {
	.now = part_now,
	.wake_at = part_wake_at,
	.send_message = part_send_message,
	.link = part_link,
	.unlink = part_unlink,
	.send_event = part_send_event,
	.end_stream = part_end_stream,
	.launch = part_launch,
	.reattach = part_reattach,
	.destroy = part_destroy,
	.signal = part_signal,
	.limit = part_limit,
	.clear = part_clear,
	.answer = part_answer,
	.store = part_store,
	.identified = part_identified,
	.collect = part_collect,
	.keep = part_keep,
	.make_volumes = part_make_volumes,
	.remove_volume = part_remove_volume,
	.redetect = part_redetect,
	.exit = part_exit,
};

static void restart_later(struct agent_part *part)
{
	world_after(part->world, &part->start,
		    world_between(part->world, RESTART_LOW, RESTART_HIGH));
}

/* A supervisor starts it again. */
static void leave_if_over(struct agent_part *part)
{
	if (!part->alive || !part->steps.over || part->steps.stepping)
		return;
	agent_part_stop(part, false);
	restart_later(part);
}

/* ---- lives ---------------------------------------------------------------------------------- */

static int agent_part_load(void *context, struct slice key, struct slice value)
{
	struct agent_part *part = context;
	struct err err;

	if (agent_load(part->steps.core, key, value, &err))
		world_fail(part->world, "%s cannot read %.*s: %s", part->name, (int)key.len,
			   key.data, err.text);
	return 0;
}

static void report(void *context, const struct agent_event *event)
{
	agent_part_feed(context, event);
}

static void begin_to_look(struct agent_part *part)
{
	static const struct detector_handlers handlers = {.detected = agent_part_detected,
							  .failed = detection_failed};

	sim_loop_init(&part->loop, &part->process, &part->next_call);
	part->detector = detector_create(&part->loop, ENSEMBLE_URL, ELECTION_SESSION_TIMEOUT_MS,
					 &handlers, part);
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
	agent_steps_init(&part->steps, &outlet, part);
	part->containers = containers_create(&agent_part_host, part, report, part);
	if (agent_create(&options, &part->steps.core, &err)) {
		world_fail(w, "no agent: %s", err.text);
		return;
	}
	disk_load(&part->disk, agent_part_load, part);
	if (part->world->coverage)
		coverage_begin(part->world->coverage, part->name);
	if (agent_start(part->steps.core, now, part->crashed, &part->steps.actions, &err)) {
		world_fail(w, "%s does not start: %s", part->name, err.text);
		return;
	}
	part->crashed = false;
	agent_steps_begin(&part->steps);
	if (w->keeper)
		begin_to_look(part);
	leave_if_over(part);
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
	list_init(&part->hosted);
	list_init(&part->works);
	rng_seed(&part->rng, w->seed ^ (uint64_t)(0xa900 + number));
	disk_init(&part->disk, w, part->name, on_disk_failed, part);
	world_after(w, &part->start, world_between(w, 0, 2 * SECOND));
	return part;
}

static void agent_part_stop(struct agent_part *part, bool crash)
{
	if (!part->alive)
		return;
	part->alive = false;
	containers_destroy_all(part->containers);
	agent_part_end_works(part);
	world_cancel(part->world, &part->tick);
	world_cancel(part->world, &part->detect);
	world_cancel(part->world, &part->late);
	part->process.vanishes = crash;
	part->process.killed = true;
	if (part->detector) {
		detector_close(part->detector);
		sim_loop_free(&part->loop);
	}
	part->detector = NULL;
	process_end(&part->process);
	disk_drop(&part->disk, crash);
	agent_destroy(part->steps.core);
	agent_steps_free(&part->steps);
	part->steps.core = NULL;
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
	coverage_left_in_agent(part->steps.core, out);
	disk_load(&part->disk, name_record, out);
}

/* A master: the production core, its shell simulated. Alone it has a disk; one of several has its
 * place among them (master_place.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "lab/coverage/coverage.h"
#include "lab/ensemble/master_place.h"
#include "lab/parts/parts.h"
#include "lab/world/disk.h"
#include "master/steps/steps.h"
#include "proto/names.h"

#define RESTART_LOW (50 * MILLISECOND)
#define RESTART_HIGH (20 * SECOND)
#define FORGETFUL 0.3 /* chance */
#define SOON (2 * MINUTE)
#define RUSHING 0.3 /* chance */
/* Allocations over all come in parts of so many agents at most, in some clusters. */
#define PARTS 0.4 /* chance */
#define PART_MAX 4

_Static_assert(STORE_LINES <= DISK_LINES, "each line of the core is one of the disk");

struct master_part {
	struct world *world;
	int number;		    /* of several, from 1; 0: it is alone */
	char *name, *ip, *address;  /* heap */
	struct ensemble *ensemble;  /* NULL: it is alone */
	struct sim_loop loop;	    /* of one of several, while it is alive, */
	struct master_place *place; /* and this */
	uint64_t next_call;
	struct process process;
	bool alive;
	struct master_steps steps; /* with the core, while it is alive */
	bool started;		   /* the core has begun its life */
	struct rng rng;
	struct disk disk;
	struct happening tick, start;
	struct happening late;	 /* it continues, and hears of what was stored meanwhile */
	bool forgetful;		 /* forgets agents that departed soon */
	int agents_a_part;	 /* of an allocation and the like; 0: the default */
	bool rushing;		 /* takes two changes for a rush, in which tasks are stored late */
	int64_t skew, next_skew; /* of the host's clock: in this life, and in the next one */
	uint64_t lives;
	uint64_t last_stream;
	char id[UUID_TEXT];
	void (*answer)(void *context, uint64_t number, int status, const char *text);
	void *answer_context;
	struct list asked; /* struct asked.link */
	uint64_t last_asked;
};

/* A call of the operator API that is not answered. */
struct asked {
	struct list link;
	uint64_t request, number;
	Mesos__Master__Call *call; /* heap */
};

static void see(const struct master_part *part)
{
	struct err why;

	if (!part->world->unchecked && !master_check(part->steps.core, &why))
		world_fail(part->world, "%s: %s", part->name, why.text);
	if (part->world->coverage)
		coverage_see_master(part->world->coverage, part->steps.core);
}

static void master_part_on_tick(struct happening *h)
{
	struct master_part *part = container_of(h, struct master_part, tick);
	struct master_event event = {.type = MASTER_TICK};

	sim_be(&part->process, NULL);
	if (!process_holds(&part->process, h))
		master_steps_feed(&part->steps, &event);
}

static void on_stored(void *context, int line)
{
	struct master_part *part = context;
	const struct disk_line *on_disk = &part->disk.lines[line];

	if (!process_holds(&part->process, &part->late))
		while (master_steps_stored(&part->steps, line, on_disk->applied, on_disk->durable))
			;
}

static void on_late(struct happening *h)
{
	struct master_part *part = container_of(h, struct master_part, late);

	for (int i = 0; i < STORE_LINES; i++)
		on_stored(part, i);
}

/* ---- what comes in ------------------------------------------------------------ */

static void receive_message(struct master_part *part, const struct letter *letter)
{
	struct master_event event = {.type = MASTER_MESSAGE};

	event.message.message = letter_open(letter, letter->type);
	event.message.from = letter->from;
	event.message.local = part->address;
	event.message.force = letter->force;
	if (event.message.message)
		master_steps_feed(&part->steps, &event);
}

struct replying {
	struct master_part *part;
	struct conn *conn;
	const struct letter *letter;
	uint64_t stream; /* 0: the call opens none */
};

/* The answer leaves before what is said on the stream that it opens. */
static void reply_to_call(void *context)
{
	const struct replying *r = context;
	const struct master_reply *said = &r->part->steps.actions.reply;
	struct letter reply = {
		.kind = LETTER_REPLY, .number = r->letter->number, .status = said->status};

	reply.name = xstrdup(said->stream_id ? said->stream_id : said->text);
	if (r->stream && reply.status == 200)
		r->conn->tag = r->stream;
	conn_send(r->conn, &r->part->process, &reply);
}

static void receive_call(struct master_part *part, struct conn *conn, const struct letter *letter)
{
	struct master_event event = {.type = MASTER_CALL};
	struct replying replying = {part, conn, letter, 0};

	event.call.call = letter_open(letter, &mesos__scheduler__call__descriptor);
	if (!event.call.call)
		return;
	event.call.acceptable = true;
	event.call.stream_id = letter->name;
	if (event.call.call->type == MESOS__SCHEDULER__CALL__TYPE__SUBSCRIBE)
		event.call.stream = replying.stream = ++part->last_stream;
	master_steps_feed_opening(&part->steps, &event, reply_to_call, &replying);
}

static void master_part_receive(struct process *p, struct conn *conn, const struct letter *letter)
{
	struct master_part *part = container_of(p, struct master_part, process);

	sim_be(p, NULL);
	if (part->place && place_receive(part->place, conn, letter))
		return;
	if (letter->kind == LETTER_MESSAGE)
		receive_message(part, letter);
	else
		receive_call(part, conn, letter);
}

static void master_part_closed(struct process *p, struct conn *conn)
{
	struct master_part *part = container_of(p, struct master_part, process);
	struct master_event event = {.type = MASTER_EXITED};

	sim_be(p, NULL);
	if (part->place && (sim_loop_conn_closed(&part->loop, conn) ||
			    sim_serve_conn_closed(&part->loop, conn) || !part->started))
		return;
	if (conn->linked && conn->of[CONN_CLIENT].process == p) {
		event.exited.pid = conn->linked;
		world_log(part->world, "%s hears that %s is gone", part->name, conn->linked);
		master_steps_feed(&part->steps, &event);
	} else if (conn->tag) {
		event.type = MASTER_STREAM_CLOSED;
		event.stream_closed.stream = conn->tag;
		master_steps_feed(&part->steps, &event);
	}
}

static void kill_it(struct process *p)
{
	master_part_kill(container_of(p, struct master_part, process), false);
}

static const struct process_ops ops = {master_part_receive, master_part_closed, kill_it};

/* ---- what goes out ---------------------------------------------------------------- */

/* ---- operators -------------------------------------------------------------------- */

static uint64_t master_part_ask(struct master_part *part, const Mesos__Master__Call *call,
				uint64_t number)
{
	struct asked *asked = xcalloc(1, sizeof(*asked));

	asked->request = ++part->last_asked;
	asked->number = number;
	asked->call = proto_copy(call);
	list_append(&part->asked, &asked->link);
	return asked->request;
}

static void asked_free(struct asked *asked)
{
	list_remove(&asked->link);
	proto_free(asked->call);
	free(asked);
}

/* Another call of the kind came later, and is being carried out, too. */
static bool is_overtaken(const struct master_part *part, const struct asked *asked)
{
	for (const struct list *at = asked->link.next; at != &part->asked; at = at->next) {
		if (list_entry(at, struct asked, link)->call->type == asked->call->type)
			return true;
	}
	return false;
}

static void give_answer(struct master_part *part, uint64_t request, int status, const char *text)
{
	struct observer *o = part->world->observer;
	struct asked *asked, *next;

	list_for_each (asked, next, &part->asked, link) {
		if (asked->request != request)
			continue;
		if (o && status == 200)
			o->operated(o, asked->call, is_overtaken(part, asked));
		part->answer(part->answer_context, asked->number, status, text);
		asked_free(asked);
		return;
	}
}

/* ---- what comes out ----------------------------------------------------------------- */

/* Before each step: what the one before it left is seen. */
static int64_t part_now(void *context)
{
	const struct master_part *part = context;

	if (part->started)
		see(part);
	return part->world->now + part->skew;
}

static void part_wake_at(void *context, int64_t when)
{
	struct master_part *part = context;

	see(part);
	if (when == TIME_NEVER)
		world_cancel(part->world, &part->tick);
	else
		world_at(part->world, &part->tick, when - part->skew);
}

static void part_send_event(void *context, uint64_t stream, const Mesos__Scheduler__Event *event)
{
	struct master_part *part = context;

	stream_send(&part->process, stream, event);
}

static void part_end_stream(void *context, uint64_t stream)
{
	struct master_part *part = context;

	stream_end(&part->process, stream);
}

static void part_send_message(void *context, const char *from, const char *to,
			      const ProtobufCMessage *message)
{
	struct master_part *part = context;

	pid_send(&part->process, from, to, message);
}

static void part_link(void *context, const char *pid)
{
	struct master_part *part = context;

	pid_link(&part->process, pid);
}

static void part_unlink(void *context, const char *pid)
{
	struct master_part *part = context;

	pid_unlink(&part->process, pid);
}

static uint64_t part_store(void *context, enum store_line line, enum store_class class,
			   const struct store_op *ops, size_t count)
{
	struct master_part *part = context;

	if (part->place)
		return place_store(part->place, line, class, ops, count);
	return disk_write(&part->disk, line, class, ops, count);
}

/* Nobody watches. */
static void part_tell_watchers(void *context, const Mesos__Master__Event *event,
			       const char *framework_user, const char *task_user)
{
}

static void part_answer(void *context, uint64_t request, int status, const char *text)
{
	give_answer(context, request, status, text);
}

static void part_exit(void *context, const char *text)
{
	struct master_part *part = context;

	world_fail(part->world, "%s gave up: %s", part->name, text);
}

static const struct master_outlet outlet = {
	.now = part_now,
	.wake_at = part_wake_at,
	.send_event = part_send_event,
	.end_stream = part_end_stream,
	.send_message = part_send_message,
	.link = part_link,
	.unlink = part_unlink,
	.store = part_store,
	.tell_watchers = part_tell_watchers,
	.answer = part_answer,
	.exit = part_exit,
};

/* ---- lives -------------------------------------------------------------------------- */

static int master_part_load(void *context, struct slice key, struct slice value)
{
	struct master_part *part = context;
	struct err err;

	if (master_load(part->steps.core, key, value, &err))
		world_fail(part->world, "the master cannot read %.*s: %s", (int)key.len, key.data,
			   err.text);
	return 0;
}

static void master_part_stop(struct master_part *part, bool crash);

static void restart_later(struct master_part *part)
{
	world_after(part->world, &part->start,
		    world_between(part->world, RESTART_LOW, RESTART_HIGH));
}

static void begin_to_act(void *context)
{
	struct master_part *part = context;

	if (part->world->coverage)
		coverage_begin(part->world->coverage, part->name);
	master_steps_begin(&part->steps);
	part->started = true;
}

static void line_stored(void *context, int line, uint64_t durable)
{
	struct master_part *part = context;

	while (master_steps_stored(&part->steps, line, durable, durable))
		;
}

static void lose_place(void *context, const char *why)
{
	struct master_part *part = context;

	world_log(part->world, "%s ends: %s", part->name, why);
	part->process.killed = false;
	master_part_stop(part, false);
	restart_later(part);
}

static const struct place_handlers place_handlers = {
	.pair = master_part_load,
	.leads = begin_to_act,
	.stored = line_stored,
	.over = lose_place,
};

static unsigned long long next_life(struct master_part *part)
{
	return part->ensemble ? ++part->ensemble->lives : ++part->lives;
}

static void master_part_on_start(struct happening *h)
{
	struct master_part *part = container_of(h, struct master_part, start);
	struct master_options options = {
		.id = part->id,
		.ip = part->ip,
		.port = 5050,
		.hostname = part->ensemble ? part->ip : "master",
		.version = "1.12.0",
		.rng = &part->rng,
		.agent_ping_timeout = 15 * SECOND,
		.max_agent_ping_timeouts = 5,
		.agent_reregister_timeout = 10 * MINUTE,
		.recovery_removal_limit = 100,
		.allocation_interval = SECOND,
		.part = part->agents_a_part,
		.filter_gpu_resources = true,
		.root_submissions = true,
		.registry_gc_interval = part->forgetful ? SOON / 4 : 0,
		.registry_max_agent_age = part->forgetful ? SOON : 0,
		.max_completed_frameworks = 50,
		.max_completed_tasks_per_framework = 1000,
		.max_unreachable_tasks_per_framework = 1000,
		.warm_delay = (part->rushing ? 100 : 5) * MILLISECOND,
		.warm_task_delay = 250 * MILLISECOND,
		.warm_cost = part->rushing ? 50 * MILLISECOND : 5 * MICROSECOND,
	};
	struct err err;

	if (!part->ensemble && !disk_open(&part->disk, on_stored)) {
		world_log(part->world, "%s cannot open its disk", part->name);
		restart_later(part);
		return;
	}
	snprintf(part->id, sizeof(part->id), "M%llu", next_life(part));
	world_log(part->world, "%s starts as %s", part->name, part->id);
	process_start(&part->process, part->world, &ops, part->name, part->address);
	part->alive = true;
	part->skew = part->next_skew;
	master_steps_init(&part->steps, &outlet, part);
	if (master_create(&options, &part->steps.core, &err)) {
		world_fail(part->world, "no master: %s", err.text);
		return;
	}
	if (part->ensemble) {
		sim_loop_init(&part->loop, &part->process, &part->next_call);
		part->place = place_begin(part->ensemble, &part->loop, &part->rng,
					  master_info(part->steps.core), &place_handlers, part);
		return;
	}
	disk_load(&part->disk, master_part_load, part);
	begin_to_act(part);
}

static void on_disk_failed(void *context, bool crash)
{
	master_part_kill(context, crash);
}

struct master_part *master_part_create(struct world *w, struct ensemble *ensemble, int number)
{
	struct master_part *part = xcalloc(1, sizeof(*part));
	struct rng character;

	part->world = w;
	part->ensemble = ensemble;
	part->number = number;
	part->name = number ? xprintf("master%d", number) : xstrdup("master");
	part->ip = xprintf("10.0.0.%d", number ? number : 1);
	part->address = xprintf("%s:5050", part->ip);
	part->tick.run = master_part_on_tick;
	part->start.run = master_part_on_start;
	part->late.run = on_late;
	rng_seed(&part->rng, w->seed ^ (uint64_t)(0x6d + 256 * number));
	part->forgetful = rng_unit(&part->rng) < FORGETFUL;
	rng_seed(&character, w->seed ^ 0x75);
	part->rushing = rng_unit(&character) < RUSHING;
	if (rng_unit(&character) < PARTS)
		part->agents_a_part = 1 + (int)(rng_unit(&character) * PART_MAX);
	list_init(&part->asked);
	disk_init(&part->disk, w, part->name, on_disk_failed, part);
	world_at(w, &part->start, w->now);
	return part;
}

static void master_part_stop(struct master_part *part, bool crash)
{
	if (!part->alive)
		return;
	part->alive = false;
	world_cancel(part->world, &part->tick);
	world_cancel(part->world, &part->late);
	part->process.vanishes = crash;
	if (part->place) {
		sim_be(&part->process, NULL);
		part->loop.dead = true;
		place_end(part->place);
		sim_loop_free(&part->loop);
	}
	part->place = NULL;
	process_end(&part->process);
	if (!part->ensemble)
		disk_drop(&part->disk, crash);
	master_destroy(part->steps.core);
	master_steps_free(&part->steps);
	part->started = false;
	while (!list_empty(&part->asked))
		asked_free(list_first(&part->asked, struct asked, link));
}

void master_part_kill(struct master_part *part, bool crash)
{
	if (!part->alive)
		return;
	world_log(part->world, "%s is %s", part->name, crash ? "crashed" : "killed");
	part->process.killed = true;
	master_part_stop(part, crash);
	restart_later(part);
}

void master_part_destroy(struct master_part *part)
{
	master_part_stop(part, false);
	world_cancel(part->world, &part->start);
	disk_free(&part->disk);
	free(part->name);
	free(part->ip);
	free(part->address);
	free(part);
}

bool master_part_alive(const struct master_part *part)
{
	return part->alive;
}

struct process *master_part_process(struct master_part *part)
{
	return part->alive ? &part->process : NULL;
}

bool master_part_acts(const struct master_part *part)
{
	return part->alive && (part->place ? place_leads(part->place) : part->started);
}

const char *master_part_address(const struct master_part *part)
{
	return part->address;
}

struct disk *master_part_disk(struct master_part *part)
{
	return part->ensemble ? NULL : &part->disk;
}

void master_part_set_clock(struct master_part *part, int64_t skew)
{
	world_log(part->world, "the clock of %s is set to %+.3f s", part->name,
		  (double)skew / SECOND);
	part->next_skew = skew;
	master_part_kill(part, false);
}

int master_part_operate(struct master_part *part, Mesos__Master__Call *call, uint64_t number,
			void (*answer)(void *context, uint64_t number, int status,
				       const char *text),
			void *context)
{
	struct master_event event = {.type = MASTER_OPERATOR, .operator_ = {.call = call}};
	const struct master_reply *reply;

	if (!master_part_acts(part) || process_paused(&part->process))
		return 503;
	sim_be(&part->process, NULL);
	part->answer = answer;
	part->answer_context = context;
	event.operator_.request = master_part_ask(part, call, number);
	master_steps_feed(&part->steps, &event);
	reply = &part->steps.actions.reply;
	if (reply->status)
		give_answer(part, event.operator_.request, reply->status, reply->text);
	return reply->status;
}

void master_part_left(const struct master_part *part, struct buf *out)
{
	if (master_part_acts(part))
		coverage_left_in_master(part->steps.core, out);
}

bool master_part_waits(const struct master_part *part)
{
	return master_part_acts(part) && coverage_waits_in_master(part->steps.core);
}

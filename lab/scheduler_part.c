/* A framework's scheduler on the v1 API, and its own books of what it launched: each task
 * must come to an end, in its eyes, once.
 *
 * It resubscribes when its stream ends, reconciles what it does not know the end of when it
 * comes back and every minute, and never forgets a task: what it writes down survives its
 * own death, as that of a careful scheduler does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/table.h"
#include "lab/parts.h"
#include "proto/resources.h"

#define RESTART_LOW (100 * MILLISECOND)
#define RESTART_HIGH (40 * SECOND)
#define RETRY_HIGH (3 * SECOND)
#define RECONCILE_EVERY MINUTE
#define FAILOVER_TIMEOUT 100000.0 /* s: frameworks are not to be given up */
#define TASK_CPUS 0.5
#define TASK_MEM 64
#define VOLUME_SIZE 100

#define STATE(name) MESOS__TASK_STATE__TASK_##name
#define CALL(name) MESOS__SCHEDULER__CALL__TYPE__##name

struct book {
	UT_hash_handle hh;
	char *task_id;
	char *agent_id;
	bool over;
	bool by_executor;	/* the end came from the executor: it is final */
	Mesos__TaskState final; /* by_executor: which */
	Mesos__TaskState last;	/* heard of */
	int64_t launched;
	bool kill_sent;
	bool hangs;
};

struct held_offer {
	struct happening use; /* when it looks at it */
	struct list link;
	struct scheduler_part *part;
	Mesos__Offer *offer; /* heap */
	bool rescinded;
};

struct scheduler_part {
	struct world *world;
	struct scheduler_options options;
	char *name;
	struct process process;
	bool alive, subscribed, finishing;
	bool leaving, gone; /* wants its framework torn down; heard that it is */
	char *framework_id, *stream_id;
	struct conn *stream, *calls;
	uint64_t next_call, subscribe_call;
	struct happening start, connect, reconcile;
	struct list offers; /* struct held_offer.link */
	struct book *books;
	int next_task, next_volume;
	struct scheduler_counts counts;
	struct rng rng;
};

/* ---- calls ---------------------------------------------------------------------------- */

static void call(struct scheduler_part *part, struct conn *conn, Mesos__Scheduler__Call *message)
{
	struct letter letter = {.kind = LETTER_CALL, .number = ++part->next_call};
	Mesos__FrameworkID id = MESOS__FRAMEWORK_ID__INIT;

	id.value = part->framework_id;
	message->has_type = true;
	message->framework_id = part->framework_id ? &id : NULL;
	proto_pack(message, &letter.bytes);
	letter.name = message->type == CALL(SUBSCRIBE) || !part->stream_id
			      ? NULL
			      : xstrdup(part->stream_id);
	conn_send(conn, &part->process, &letter);
}

static void lose_stream(struct scheduler_part *part)
{
	part->stream = NULL;
	part->subscribed = false;
	world_after(part->world, &part->connect,
		    world_between(part->world, MILLISECOND, RETRY_HIGH));
}

static bool tell(struct scheduler_part *part, Mesos__Scheduler__Call *message)
{
	if (!part->subscribed)
		return false;
	if (!part->calls)
		part->calls = conn_open(&part->process, MASTER_ADDRESS);
	if (!part->calls) {
		conn_close(part->stream, &part->process);
		lose_stream(part);
		return false;
	}
	call(part, part->calls, message);
	return true;
}

static void subscribe(struct scheduler_part *part)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Subscribe subscribe = MESOS__SCHEDULER__CALL__SUBSCRIBE__INIT;
	Mesos__FrameworkInfo info = MESOS__FRAMEWORK_INFO__INIT;
	Mesos__FrameworkInfo__Capability capabilities[3], *list[3];
	Mesos__FrameworkID id = MESOS__FRAMEWORK_ID__INIT;

	for (int i = 0; i < 3; i++) {
		mesos__framework_info__capability__init(&capabilities[i]);
		capabilities[i].has_type = true;
		list[i] = &capabilities[i];
	}
	capabilities[0].type = MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__MULTI_ROLE;
	capabilities[1].type = MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__RESERVATION_REFINEMENT;
	capabilities[2].type = MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__PARTITION_AWARE;
	info.capabilities = list;
	info.n_capabilities = part->options.partition_aware ? 3 : 2;
	info.user = "user";
	info.name = part->name;
	info.n_roles = 1;
	info.roles = (char **)&part->options.role;
	info.has_failover_timeout = true;
	info.failover_timeout = FAILOVER_TIMEOUT;
	info.has_checkpoint = true;
	info.checkpoint = part->options.checkpoint;
	id.value = part->framework_id;
	info.id = part->framework_id ? &id : NULL;
	subscribe.framework_info = &info;
	message.type = CALL(SUBSCRIBE);
	message.subscribe = &subscribe;
	call(part, part->stream, &message);
	part->subscribe_call = part->next_call;
}

static void on_connect(struct happening *h)
{
	struct scheduler_part *part = container_of(h, struct scheduler_part, connect);

	if (part->stream || part->gone)
		return;
	part->stream = conn_open(&part->process, MASTER_ADDRESS);
	if (part->stream)
		subscribe(part);
	else
		world_after(part->world, &part->connect,
			    world_between(part->world, 10 * MILLISECOND, RETRY_HIGH));
}

static void acknowledge(struct scheduler_part *part, const Mesos__TaskStatus *status)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Acknowledge acknowledge = MESOS__SCHEDULER__CALL__ACKNOWLEDGE__INIT;

	acknowledge.agent_id = status->agent_id;
	acknowledge.task_id = status->task_id;
	acknowledge.uuid = status->uuid;
	message.type = CALL(ACKNOWLEDGE);
	message.acknowledge = &acknowledge;
	tell(part, &message);
}

static void send_kill(struct scheduler_part *part, struct book *book)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Kill kill = MESOS__SCHEDULER__CALL__KILL__INIT;
	Mesos__TaskID id = MESOS__TASK_ID__INIT;

	id.value = book->task_id;
	kill.task_id = &id;
	message.type = CALL(KILL);
	message.kill = &kill;
	if (tell(part, &message))
		book->kill_sent = true;
}

static void send_reconcile(struct scheduler_part *part)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Reconcile reconcile = MESOS__SCHEDULER__CALL__RECONCILE__INIT;
	struct arena arena;
	struct book *book, *next;

	arena_init(&arena);
	HASH_ITER (hh, part->books, book, next) {
		Mesos__Scheduler__Call__Reconcile__Task *task;

		if (book->over)
			continue;
		task = PROTO_NEW(&arena, Mesos__Scheduler__Call__Reconcile__Task,
				 mesos__scheduler__call__reconcile__task__descriptor);
		task->task_id = PROTO_NEW(&arena, Mesos__TaskID, mesos__task_id__descriptor);
		task->task_id->value = book->task_id;
		task->agent_id = PROTO_NEW(&arena, Mesos__AgentID, mesos__agent_id__descriptor);
		task->agent_id->value = book->agent_id;
		proto_push(&arena, reconcile.n_tasks, reconcile.tasks, task);
	}
	message.type = CALL(RECONCILE);
	message.reconcile = &reconcile;
	if (reconcile.n_tasks)
		tell(part, &message);
	arena_free(&arena);
}

/* It is known to be heard when a subscription is refused. */
static void send_teardown(struct scheduler_part *part)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;

	message.type = CALL(TEARDOWN);
	if (part->leaving && !part->gone)
		tell(part, &message);
}

static void on_reconcile(struct happening *h)
{
	struct scheduler_part *part = container_of(h, struct scheduler_part, reconcile);
	struct book *book, *next;

	send_reconcile(part);
	send_teardown(part);
	HASH_ITER (hh, part->books, book, next) {
		if (!book->over && (book->hangs || part->finishing) &&
		    part->world->now - book->launched > 2 * MINUTE)
			send_kill(part, book);
	}
	world_after(part->world, &part->reconcile, RECONCILE_EVERY);
}

/* ---- offers ---------------------------------------------------------------------------- */

/* One ACCEPT under construction. */
struct answer {
	struct arena arena;
	Mesos__Scheduler__Call__Accept accept;
	bool launches;
};

static void offer_free(struct held_offer *held)
{
	world_cancel(held->part->world, &held->use);
	list_remove(&held->link);
	proto_free(held->offer);
	free(held);
}

static double scalar_of(const Mesos__Offer *offer, const char *name)
{
	double sum = 0;

	for (size_t i = 0; i < offer->n_resources; i++) {
		if (!strcmp(offer->resources[i]->name, name) && offer->resources[i]->scalar)
			sum += offer->resources[i]->scalar->value;
	}
	return sum;
}

static Mesos__Resource *make_scalar(struct arena *arena, const char *name, double value)
{
	Mesos__Resource *r = PROTO_NEW(arena, Mesos__Resource, mesos__resource__descriptor);

	r->name = arena_strdup(arena, name);
	r->type = MESOS__VALUE__TYPE__SCALAR;
	r->scalar = PROTO_NEW(arena, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
	r->scalar->value = value;
	return r;
}

static const char *pick_end(struct scheduler_part *part)
{
	double u = rng_unit(&part->rng);

	return u < 0.8 ? "finish" : u < 0.88 ? "fail" : u < 0.95 ? "crash" : "hang";
}

static Mesos__TaskInfo *make_task(struct scheduler_part *part, struct arena *arena,
				  const Mesos__Offer *offer)
{
	Mesos__TaskInfo *task = PROTO_NEW(arena, Mesos__TaskInfo, mesos__task_info__descriptor);
	const char *end = pick_end(part);
	struct book *book = xcalloc(1, sizeof(*book));

	book->task_id = xprintf("s%d-t%d", part->options.number, part->next_task++);
	book->agent_id = xstrdup(offer->agent_id->value);
	book->launched = part->world->now;
	book->hangs = !strcmp(end, "hang");
	book->last = STATE(STAGING);
	HASH_ADD_KEYPTR(hh, part->books, book->task_id, strlen(book->task_id), book);
	part->counts.launched++;
	task->name = arena_printf(arena, "%.1f %s", 60 * rng_unit(&part->rng), end);
	task->task_id = PROTO_NEW(arena, Mesos__TaskID, mesos__task_id__descriptor);
	task->task_id->value = arena_strdup(arena, book->task_id);
	task->agent_id = offer->agent_id;
	proto_push(arena, task->n_resources, task->resources,
		   make_scalar(arena, "cpus", TASK_CPUS));
	proto_push(arena, task->n_resources, task->resources, make_scalar(arena, "mem", TASK_MEM));
	if (part->options.own_executor) {
		Mesos__ExecutorInfo *executor =
			PROTO_NEW(arena, Mesos__ExecutorInfo, mesos__executor_info__descriptor);

		executor->executor_id =
			PROTO_NEW(arena, Mesos__ExecutorID, mesos__executor_id__descriptor);
		executor->executor_id->value = arena_printf(arena, "e%d", part->options.number);
		executor->command =
			PROTO_NEW(arena, Mesos__CommandInfo, mesos__command_info__descriptor);
		executor->command->value = "executor";
		proto_push(arena, executor->n_resources, executor->resources,
			   make_scalar(arena, "cpus", 0.1));
		proto_push(arena, executor->n_resources, executor->resources,
			   make_scalar(arena, "mem", 32));
		task->executor = executor;
	} else {
		task->command =
			PROTO_NEW(arena, Mesos__CommandInfo, mesos__command_info__descriptor);
		task->command->value = "task";
	}
	return task;
}

static Mesos__Filters *make_filters(struct arena *arena, double seconds)
{
	Mesos__Filters *filters = PROTO_NEW(arena, Mesos__Filters, mesos__filters__descriptor);

	filters->has_refuse_seconds = true;
	filters->refuse_seconds = seconds;
	return filters;
}

static Mesos__Offer__Operation *add_operation(struct answer *answer,
					      Mesos__Offer__Operation__Type type)
{
	Mesos__Offer__Operation *operation = PROTO_NEW(&answer->arena, Mesos__Offer__Operation,
						       mesos__offer__operation__descriptor);

	operation->has_type = true;
	operation->type = type;
	proto_push(&answer->arena, answer->accept.n_operations, answer->accept.operations,
		   operation);
	return operation;
}

/* Tasks for what is free in the offer, the first on the volume if there is one. */
static void add_launch(struct scheduler_part *part, struct answer *answer,
		       const Mesos__Offer *offer, Mesos__Resource *volume)
{
	Mesos__Offer__Operation__Launch *launch;
	/* Room for the executor, too. */
	double cpus = scalar_of(offer, "cpus") - 0.1, mem = scalar_of(offer, "mem") - 32;
	int wanted = 1 + (int)(4 * rng_unit(&part->rng));

	if (cpus < TASK_CPUS || mem < TASK_MEM || part->finishing ||
	    part->next_task >= part->options.tasks)
		return;
	launch = PROTO_NEW(&answer->arena, Mesos__Offer__Operation__Launch,
			   mesos__offer__operation__launch__descriptor);
	add_operation(answer, MESOS__OFFER__OPERATION__TYPE__LAUNCH)->launch = launch;
	for (; wanted > 0 && cpus >= TASK_CPUS && mem >= TASK_MEM &&
	       part->next_task < part->options.tasks;
	     wanted--, cpus -= TASK_CPUS, mem -= TASK_MEM) {
		Mesos__TaskInfo *task = make_task(part, &answer->arena, offer);

		if (volume && !launch->n_task_infos)
			proto_push(&answer->arena, task->n_resources, task->resources, volume);
		proto_push(&answer->arena, launch->n_task_infos, launch->task_infos, task);
	}
	answer->launches = true;
}

/* ---- reservations and volumes --------------------------------------------------------- */

static Mesos__Resource *make_reserved_disk(struct scheduler_part *part, struct arena *arena)
{
	Mesos__Resource *r = make_scalar(arena, "disk", VOLUME_SIZE);
	Mesos__Resource__ReservationInfo *reservation =
		PROTO_NEW(arena, Mesos__Resource__ReservationInfo,
			  mesos__resource__reservation_info__descriptor);

	reservation->has_type = true;
	reservation->type = MESOS__RESOURCE__RESERVATION_INFO__TYPE__DYNAMIC;
	reservation->role = (char *)part->options.role;
	proto_push(arena, r->n_reservations, r->reservations, reservation);
	return r;
}

static Mesos__Resource *make_volume(struct scheduler_part *part, struct arena *arena)
{
	Mesos__Resource *r = make_reserved_disk(part, arena);

	r->disk =
		PROTO_NEW(arena, Mesos__Resource__DiskInfo, mesos__resource__disk_info__descriptor);
	r->disk->persistence = PROTO_NEW(arena, Mesos__Resource__DiskInfo__Persistence,
					 mesos__resource__disk_info__persistence__descriptor);
	r->disk->persistence->id =
		arena_printf(arena, "s%d-v%d", part->options.number, part->next_volume++);
	r->disk->volume = PROTO_NEW(arena, Mesos__Volume, mesos__volume__descriptor);
	r->disk->volume->mode = MESOS__VOLUME__MODE__RW;
	r->disk->volume->container_path = arena_strdup(arena, "data");
	return r;
}

static void add_resources(struct answer *answer, Mesos__Offer__Operation__Type type,
			  Mesos__Resource *resource)
{
	struct arena *arena = &answer->arena;
	Mesos__Offer__Operation *o = add_operation(answer, type);

	switch (type) {
	case MESOS__OFFER__OPERATION__TYPE__RESERVE:
		o->reserve = PROTO_NEW(arena, Mesos__Offer__Operation__Reserve,
				       mesos__offer__operation__reserve__descriptor);
		proto_push(arena, o->reserve->n_resources, o->reserve->resources, resource);
		break;
	case MESOS__OFFER__OPERATION__TYPE__UNRESERVE:
		o->unreserve = PROTO_NEW(arena, Mesos__Offer__Operation__Unreserve,
					 mesos__offer__operation__unreserve__descriptor);
		proto_push(arena, o->unreserve->n_resources, o->unreserve->resources, resource);
		break;
	case MESOS__OFFER__OPERATION__TYPE__CREATE:
		o->create = PROTO_NEW(arena, Mesos__Offer__Operation__Create,
				      mesos__offer__operation__create__descriptor);
		proto_push(arena, o->create->n_volumes, o->create->volumes, resource);
		break;
	default:
		o->destroy = PROTO_NEW(arena, Mesos__Offer__Operation__Destroy,
				       mesos__offer__operation__destroy__descriptor);
		proto_push(arena, o->destroy->n_volumes, o->destroy->volumes, resource);
		break;
	}
}

static bool is_reserved(const Mesos__Resource *r)
{
	return r->n_reservations > 0;
}

/* Reserves disk and makes a volume of it in one go, runs tasks on it, and now and then or in
 * the end takes it down again. */
static void keep_volumes(struct scheduler_part *part, struct answer *answer,
			 const Mesos__Offer *offer)
{
	Mesos__Resource *volume = NULL, *plain = NULL;
	bool tidy = part->finishing || rng_unit(&part->rng) < 0.2;

	for (size_t i = 0; i < offer->n_resources; i++) {
		Mesos__Resource *r = offer->resources[i];

		if (is_reserved(r) && r->disk && r->disk->persistence)
			volume = r;
		else if (is_reserved(r))
			plain = r;
	}
	if (plain)
		add_resources(answer, MESOS__OFFER__OPERATION__TYPE__UNRESERVE, plain);
	if (volume && tidy) {
		add_resources(answer, MESOS__OFFER__OPERATION__TYPE__DESTROY, volume);
		add_resources(answer, MESOS__OFFER__OPERATION__TYPE__UNRESERVE,
			      make_reserved_disk(part, &answer->arena));
	} else if (!volume && !part->finishing && scalar_of(offer, "disk") >= VOLUME_SIZE) {
		add_resources(answer, MESOS__OFFER__OPERATION__TYPE__RESERVE,
			      make_reserved_disk(part, &answer->arena));
		volume = make_volume(part, &answer->arena);
		add_resources(answer, MESOS__OFFER__OPERATION__TYPE__CREATE, volume);
	}
	add_launch(part, answer, offer, tidy ? NULL : volume);
}

static void use_offer(struct scheduler_part *part, const Mesos__Offer *offer)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;
	struct answer answer = {.accept = MESOS__SCHEDULER__CALL__ACCEPT__INIT};
	Mesos__OfferID *id = offer->id;

	arena_init(&answer.arena);
	answer.accept.n_offer_ids = 1;
	answer.accept.offer_ids = &id;
	if (part->options.keeper)
		keep_volumes(part, &answer, offer);
	else
		add_launch(part, &answer, offer, NULL);
	/* In the end those with nothing to tidy up let the others have the offers. */
	if (part->finishing)
		answer.accept.filters =
			make_filters(&answer.arena, part->options.keeper ? 5 : 3600);
	else
		answer.accept.filters = make_filters(&answer.arena, answer.launches ? 1 : 20);
	message.type = CALL(ACCEPT);
	message.accept = &answer.accept;
	world_log(part->world, "%s answers %s with %zu operations", part->name, id->value,
		  answer.accept.n_operations);
	tell(part, &message);
	arena_free(&answer.arena);
}

static void on_use(struct happening *h)
{
	struct held_offer *held = container_of(h, struct held_offer, use);
	struct scheduler_part *part = held->part;

	if (part->subscribed)
		use_offer(part, held->offer);
	offer_free(held);
}

static void take_offer(struct scheduler_part *part, const Mesos__Offer *offer)
{
	const struct scheduler_options *o = &part->options;
	struct held_offer *held = xcalloc(1, sizeof(*held));
	double delay = o->slowness * rng_unit(&part->rng);

	if (rng_unit(&part->rng) < o->greed)
		delay += 120;
	if (part->finishing)
		delay = 0;
	world_log(part->world, "%s is offered %s: cpus %g, mem %g, disk %g of %s", part->name,
		  offer->id->value, scalar_of(offer, "cpus"), scalar_of(offer, "mem"),
		  scalar_of(offer, "disk"), offer->agent_id->value);
	held->part = part;
	held->offer = proto_copy(offer);
	held->use.run = on_use;
	list_append(&part->offers, &held->link);
	if (part->leaving)
		return;
	world_after(part->world, &held->use, (int64_t)(delay * SECOND));
}

static void rescind(struct scheduler_part *part, const char *id)
{
	struct held_offer *held, *next;

	list_for_each (held, next, &part->offers, link) {
		if (strcmp(held->offer->id->value, id))
			continue;
		if (rng_unit(&part->rng) < part->options.lateness)
			held->rescinded = true; /* and uses it all the same */
		else
			offer_free(held);
	}
}

/* ---- updates ------------------------------------------------------------------------------ */

static bool is_end(Mesos__TaskState state)
{
	switch (state) {
	case STATE(FINISHED):
	case STATE(FAILED):
	case STATE(KILLED):
	case STATE(LOST):
	case STATE(ERROR):
	case STATE(DROPPED):
	case STATE(GONE):
	case STATE(GONE_BY_OPERATOR):
	case STATE(UNKNOWN):
		return true;
	default:
		return false;
	}
}

static void note_end(struct scheduler_part *part, struct book *book,
		     const Mesos__TaskStatus *status)
{
	bool executor = status->source == MESOS__TASK_STATUS__SOURCE__SOURCE_EXECUTOR &&
			status->reason != MESOS__TASK_STATUS__REASON__REASON_RECONCILIATION;

	if (book->by_executor && executor && book->final != status->state)
		world_fail(part->world, "task %s ended as %d and then as %d", book->task_id,
			   book->final, status->state);
	if (executor)
		book->final = status->state;
	if (!book->over) {
		part->counts.finished += status->state == STATE(FINISHED);
		part->counts.failed += status->state == STATE(FAILED);
		part->counts.killed += status->state == STATE(KILLED);
		part->counts.lost += status->state != STATE(FINISHED) &&
				     status->state != STATE(FAILED) &&
				     status->state != STATE(KILLED);
		part->counts.reconciled +=
			status->reason == MESOS__TASK_STATUS__REASON__REASON_RECONCILIATION;
	}
	book->over = true;
	book->by_executor = book->by_executor || executor;
	book->last = status->state;
}

static void take_update(struct scheduler_part *part, const Mesos__TaskStatus *status)
{
	struct book *book;

	HASH_FIND_STR(part->books, status->task_id->value, book);
	if (!book) {
		world_fail(part->world, "%s hears of task %s, which is not its own", part->name,
			   status->task_id->value);
		return;
	}
	if (is_end(status->state))
		note_end(part, book, status);
	else if (!book->by_executor) {
		/* Lost ones may come back with their agent. */
		book->over = false;
		book->last = status->state;
	}
	if (status->has_uuid && rng_unit(&part->rng) >= part->options.forgetting)
		acknowledge(part, status);
}

/* ---- events --------------------------------------------------------------------------------- */

static void subscribed(struct scheduler_part *part, const char *id)
{
	if (part->framework_id && strcmp(part->framework_id, id))
		world_fail(part->world, "%s became %s", part->framework_id, id);
	if (!part->framework_id)
		part->framework_id = xstrdup(id);
	part->subscribed = true;
	while (!list_empty(&part->offers))
		offer_free(list_first(&part->offers, struct held_offer, link));
	world_log(part->world, "%s is subscribed as %s", part->name, id);
	send_reconcile(part);
	send_teardown(part);
}

static void handle(struct scheduler_part *part, const Mesos__Scheduler__Event *event)
{
	switch (event->type) {
	case MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED:
		subscribed(part, event->subscribed->framework_id->value);
		break;
	case MESOS__SCHEDULER__EVENT__TYPE__OFFERS:
		for (size_t i = 0; i < event->offers->n_offers; i++)
			take_offer(part, event->offers->offers[i]);
		break;
	case MESOS__SCHEDULER__EVENT__TYPE__RESCIND:
		rescind(part, event->rescind->offer_id->value);
		break;
	case MESOS__SCHEDULER__EVENT__TYPE__UPDATE:
		take_update(part, event->update->status);
		break;
	case MESOS__SCHEDULER__EVENT__TYPE__ERROR:
		if (part->leaving)
			part->gone = true;
		else
			world_fail(part->world, "%s is refused: %s", part->name,
				   event->error->message);
		break;
	default:
		break;
	}
}

static void receive(struct process *p, struct conn *conn, const struct letter *letter)
{
	struct scheduler_part *part = container_of(p, struct scheduler_part, process);
	Mesos__Scheduler__Event *event;
	struct arena arena;
	struct err err;

	if (letter->kind == LETTER_REPLY) {
		if (conn != part->stream || letter->number != part->subscribe_call)
			return;
		if (letter->status == 200) {
			free(part->stream_id);
			part->stream_id = xstrdup(letter->name);
		} else {
			conn_close(conn, p);
			lose_stream(part);
		}
		return;
	}
	arena_init(&arena);
	event = proto_unpack(&mesos__scheduler__event__descriptor, &arena, letter->bytes.data,
			     letter->bytes.len, &err);
	handle(part, event);
	arena_free(&arena);
}

static void closed(struct process *p, struct conn *conn)
{
	struct scheduler_part *part = container_of(p, struct scheduler_part, process);

	if (conn == part->calls) {
		part->calls = NULL;
		/* Nobody knows which calls arrived: all begins anew. */
		if (!part->stream)
			return;
		conn_close(part->stream, p);
		lose_stream(part);
	} else if (conn == part->stream) {
		lose_stream(part);
	}
}

static void kill_it(struct process *p)
{
	scheduler_part_kill(container_of(p, struct scheduler_part, process));
}

static const struct process_ops ops = {receive, closed, kill_it};

/* ---- lives ------------------------------------------------------------------------------------
 */

static void on_start(struct happening *h)
{
	struct scheduler_part *part = container_of(h, struct scheduler_part, start);

	process_start(&part->process, part->world, &ops, part->name, NULL);
	part->alive = true;
	world_log(part->world, "%s starts", part->name);
	world_after(part->world, &part->connect, 0);
	world_after(part->world, &part->reconcile, RECONCILE_EVERY);
}

struct scheduler_part *scheduler_part_create(struct world *w,
					     const struct scheduler_options *options)
{
	struct scheduler_part *part = xcalloc(1, sizeof(*part));

	part->world = w;
	part->options = *options;
	part->name = xprintf("scheduler%d", options->number);
	part->start.run = on_start;
	part->connect.run = on_connect;
	part->reconcile.run = on_reconcile;
	list_init(&part->offers);
	rng_seed(&part->rng, w->seed ^ (uint64_t)(0x5c00 + options->number));
	world_after(w, &part->start, world_between(w, 0, 5 * SECOND));
	return part;
}

static void stop(struct scheduler_part *part)
{
	if (!part->alive)
		return;
	part->alive = part->subscribed = false;
	part->stream = part->calls = NULL;
	world_cancel(part->world, &part->connect);
	world_cancel(part->world, &part->reconcile);
	while (!list_empty(&part->offers))
		offer_free(list_first(&part->offers, struct held_offer, link));
	process_end(&part->process);
}

void scheduler_part_kill(struct scheduler_part *part)
{
	if (!part->alive)
		return;
	world_log(part->world, "%s is killed", part->name);
	stop(part);
	world_after(part->world, &part->start,
		    world_between(part->world, RESTART_LOW, RESTART_HIGH));
}

void scheduler_part_destroy(struct scheduler_part *part)
{
	struct book *book, *next;

	stop(part);
	world_cancel(part->world, &part->start);
	HASH_ITER (hh, part->books, book, next) {
		HASH_DEL(part->books, book);
		free(book->task_id);
		free(book->agent_id);
		free(book);
	}
	free(part->name);
	free(part->framework_id);
	free(part->stream_id);
	free(part);
}

bool scheduler_part_alive(const struct scheduler_part *part)
{
	return part->alive;
}

bool scheduler_part_subscribed(const struct scheduler_part *part)
{
	return part->subscribed;
}

struct process *scheduler_part_process(struct scheduler_part *part)
{
	return part->alive ? &part->process : NULL;
}

void scheduler_part_finish(struct scheduler_part *part)
{
	part->finishing = true;
}

bool scheduler_part_done(const struct scheduler_part *part)
{
	struct book *book, *next;

	HASH_ITER (hh, part->books, book, next) {
		if (!book->over)
			return false;
	}
	return true;
}

void scheduler_part_teardown(struct scheduler_part *part)
{
	part->leaving = true;
	send_teardown(part);
}

bool scheduler_part_gone(const struct scheduler_part *part)
{
	return part->gone;
}

double scheduler_part_offered(const struct scheduler_part *part, const char *name)
{
	struct held_offer *held, *next;
	double sum = 0;

	list_for_each (held, next, &part->offers, link)
		sum += scalar_of(held->offer, name);
	return sum;
}

struct scheduler_counts scheduler_part_counts(const struct scheduler_part *part)
{
	return part->counts;
}

void scheduler_part_describe(const struct scheduler_part *part, struct buf *out)
{
	struct book *book, *next;

	HASH_ITER (hh, part->books, book, next) {
		if (!book->over)
			buf_printf(out, "%s on %s, last heard of as %s, launched at %.3f\n",
				   book->task_id, book->agent_id,
				   proto_enum_name(&mesos__task_state__descriptor, book->last,
						   SPELL_V1),
				   (double)(book->launched - part->world->begin) / SECOND);
	}
}

/* The observer: every letter, write and end goes to the part of the books that it concerns. */
#include "lab/books/records.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lab/books/books_agents.h"
#include "lab/books/books_debts.h"
#include "lab/books/books_disks.h"
#include "lab/books/books_drivers.h"
#include "lab/books/books_hosts.h"
#include "lab/books/books_internal.h"
#include "lab/books/books_kills.h"
#include "lab/books/books_offers.h"
#include "lab/books/books_operations.h"
#include "lab/books/books_registry.h"
#include "lab/books/books_roles.h"
#include "lab/books/books_streams.h"
#include "lab/books/books_tally.h"
#include "lab/books/books_tasks.h"
#include "lab/books/books_volumes.h"

#define MASTER "master"

const void *books_unpack(struct books *b, const ProtobufCMessageDescriptor *type,
			 const struct letter *letter)
{
	(void)b;
	return letter->message ? letter->message : letter_open(letter, type);
}

/* ---- frameworks ------------------------------------------------------------------- */

struct fw *books_fw(struct books *b, const char *id)
{
	struct fw *fw;

	HASH_FIND_STR(b->fws, id, fw);
	if (fw)
		return fw;
	fw = xcalloc(1, sizeof(*fw));
	fw->id = xstrdup(id);
	list_init(&fw->offers);
	list_init(&fw->claims);
	list_init(&fw->seats);
	HASH_ADD_KEYPTR(hh, b->fws, fw->id, strlen(fw->id), fw);
	return fw;
}

struct fw *books_fw_by_stream(struct books *b, const struct conn *conn)
{
	struct fw *fw;

	HASH_FIND(hh_stream, b->streams, &conn->number, sizeof(conn->number), fw);
	return fw;
}

void books_set_stream(struct books *b, struct fw *fw, uint64_t number)
{
	if (fw->stream)
		HASH_DELETE(hh_stream, b->streams, fw);
	fw->stream = number;
	if (number)
		HASH_ADD(hh_stream, b->streams, stream, sizeof(fw->stream), fw);
}

void books_learn_fw(struct books *b, struct fw *fw, const Mesos__FrameworkInfo *info)
{
	fw->checkpoint = info->has_checkpoint && info->checkpoint;
	books_seat_roles(b, fw, info);
}

static void fws_free(struct books *b)
{
	struct fw *fw, *next;

	HASH_ITER (hh, b->fws, fw, next) {
		HASH_DEL(b->fws, fw);
		books_free_seats(fw);
		free(fw->id);
		free(fw->pid);
		free(fw);
	}
}

static void books_subscribed(struct books *b, const struct conn *conn, const char *id)
{
	const Mesos__Scheduler__Call *call = b->call.call;
	struct fw *fw = books_fw(b, id);

	if (!call || !call->subscribe) {
		world_fail(b->world, "routes: %s is told that it is subscribed and did not ask",
			   id);
		return;
	}
	books_learn_fw(b, fw, call->subscribe->framework_info);
	books_end_offers_of(b, fw);
	books_set_stream(b, fw, conn->number);
	fw->subscribed = b->world->now;
	fw->suppressed = call->subscribe->n_suppressed_roles > 0;
}

static void failure_event(struct books *b, const Mesos__Scheduler__Event__Failure *failure)
{
	struct view *v;

	if (!failure->agent_id || failure->executor_id)
		return;
	books_said_lost(b, failure->agent_id->value);
	v = books_view(b, failure->agent_id->value);
	if (v && !list_empty(&v->offers))
		world_fail(b->world,
			   "offers: %s is outstanding, and its agent %s is said to be lost",
			   list_first(&v->offers, struct offered, by_view)->id, v->id);
}

/* ---- letters ---------------------------------------------------------------------------- */

/* Type is the first field of events. */
static int event_type(const struct letter *letter)
{
	return letter->bytes.len > 1 && letter->bytes.data[0] == 0x08 ? letter->bytes.data[1] : -1;
}

static void scheduler_event(struct books *b, const struct conn *conn, const struct letter *letter)
{
	const Mesos__Scheduler__Event *event;

	if (event_type(letter) == MESOS__SCHEDULER__EVENT__TYPE__HEARTBEAT)
		return;
	event = books_unpack(b, &mesos__scheduler__event__descriptor, letter);
	if (event->type == MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED)
		books_subscribed(b, conn, event->subscribed->framework_id->value);
	else
		books_event(b, books_fw_by_stream(b, conn), event);
}

void books_event(struct books *b, struct fw *fw, const Mesos__Scheduler__Event *event)
{
	switch (event->type) {
	case MESOS__SCHEDULER__EVENT__TYPE__OFFERS:
		books_offers_made(b, fw, event->offers);
		break;
	case MESOS__SCHEDULER__EVENT__TYPE__RESCIND:
		books_rescinded(b, fw, event->rescind->offer_id->value);
		break;
	case MESOS__SCHEDULER__EVENT__TYPE__UPDATE:
		books_update_event(b, fw, event->update->status);
		break;
	case MESOS__SCHEDULER__EVENT__TYPE__FAILURE:
		failure_event(b, event->failure);
		break;
	default:
		break;
	}
}

static bool is_launch(const struct letter *letter)
{
	return event_type(letter) == MESOS__EXECUTOR__EVENT__TYPE__LAUNCH ||
	       event_type(letter) == MESOS__EXECUTOR__EVENT__TYPE__LAUNCH_GROUP;
}

static void agent_event(struct books *b, const struct process *from, const struct conn *conn,
			const struct letter *letter)
{
	const Mesos__Executor__Event *event;

	if (event_type(letter) != MESOS__EXECUTOR__EVENT__TYPE__ACKNOWLEDGED && !is_launch(letter))
		return;
	event = books_unpack(b, &mesos__executor__event__descriptor, letter);
	if (event->acknowledged)
		books_executor_acknowledged(b, from, event->acknowledged);
	if (event->launch)
		books_launch_sent(b, from, conn, event->launch->task);
	for (size_t i = 0; event->launch_group && i < event->launch_group->task_group->n_tasks; i++)
		books_launch_sent(b, from, conn, event->launch_group->task_group->tasks[i]);
}

static bool books_is(const struct letter *letter, const char *name)
{
	return !strcmp(letter->type->short_name, name);
}

static void master_message(struct books *b, const char *to, const struct letter *letter)
{
	if (books_is(letter, "PingSlaveMessage"))
		return;
	if (books_is(letter, "RunTaskMessage")) {
		books_run_task(b, letter);
	} else if (books_is(letter, "RunTaskGroupMessage")) {
		books_run_group(b, letter);
	} else if (books_is(letter, "KillTaskMessage")) {
		books_kill_ordered(b, to, letter);
	} else if (books_is(letter, "StatusUpdateAcknowledgementMessage")) {
		books_forwarded_acknowledgement(b, letter);
	} else if (books_is(letter, "ApplyOperationMessage")) {
		books_operation_ordered(b, to, letter);
	} else if (books_is(letter, "SlaveRegisteredMessage")) {
		const Mesos__Internal__SlaveRegisteredMessage *m = books_unpack(
			b, &mesos__internal__slave_registered_message__descriptor, letter);

		books_registered(b, m->agent_id->value, to);
	} else if (books_is(letter, "SlaveReregisteredMessage")) {
		const Mesos__Internal__SlaveReregisteredMessage *m = books_unpack(
			b, &mesos__internal__slave_reregistered_message__descriptor, letter);

		books_reregistered(b, m->agent_id->value, to);
	} else if (books_is(letter, "ShutdownMessage")) {
		books_agent_sent_away(b, to);
	} else if (books_is(letter, "ShutdownFrameworkMessage")) {
		const Mesos__Internal__ShutdownFrameworkMessage *m = books_unpack(
			b, &mesos__internal__shutdown_framework_message__descriptor, letter);

		books_tear_down(b, books_fw(b, m->framework_id->value));
	} else if (books_is(letter, "DrainSlaveMessage")) {
		const Mesos__Internal__DrainSlaveMessage *m =
			books_unpack(b, &mesos__internal__drain_slave_message__descriptor, letter);

		if (m->config->mark_gone)
			books_host(b, to)->drained_gone = true;
	}
}

static void agent_message(struct books *b, const struct process *from, const struct letter *letter)
{
	if (books_is(letter, "StatusUpdateMessage"))
		books_agent_update_sent(b, from, letter);
	else if (books_is(letter, "ExitedExecutorMessage"))
		books_exit_told(b, from, letter);
	else if (books_is(letter, "ReregisterSlaveMessage"))
		books_agent_reregisters(b, from, letter);
	else if (books_is(letter, "RegisterSlaveMessage"))
		books_agent_registers(b, from, letter);
	else
		return;
	if (books_is(letter, "ReregisterSlaveMessage") || books_is(letter, "RegisterSlaveMessage"))
		books_agent_asks(b, from);
}

static void count_letter(struct books *b)
{
	if (b->world->now >= b->minute_end) {
		b->minute_end = b->world->now + MINUTE;
		b->letters = 0;
	}
	b->letters++;
	if (b->quiet && b->letters > b->quiet)
		world_fail(b->world,
			   "quiet: more than %" PRIu64 " letters are sent in a minute of peace",
			   b->quiet);
}

static bool is_master(const struct books *b, const struct process *p)
{
	return p == b->master;
}

static bool is_agent(const struct process *p)
{
	return p->name[0] == 'a';
}

static void on_sent(struct observer *o, const struct process *from, const struct conn *conn,
		    const char *to, const struct letter *letter)
{
	struct books *b = container_of(o, struct books, observer);
	bool master = is_master(b, from);

	count_letter(b);
	switch (letter->kind) {
	case LETTER_MESSAGE:
		if (master && letter->name)
			books_driver_told(b, letter);
		else if (master)
			master_message(b, to, letter);
		else if (is_agent(from))
			agent_message(b, from, letter);
		break;
	case LETTER_EVENT:
		if (master)
			scheduler_event(b, conn, letter);
		else
			agent_event(b, from, conn, letter);
		break;
	case LETTER_REPLY:
		if (master)
			books_call_answered(b, letter->status);
		break;
	case LETTER_CALL:
		if (str_has_prefix(from->name, "executor"))
			books_executor_call(b, from, letter);
		break;
	}
}

static const char *address_of(const char *pid)
{
	const char *at = strrchr(pid, '@');

	return at ? at + 1 : pid;
}

static void master_gets(struct books *b, const struct letter *letter)
{
	const char *from = address_of(letter->from);

	if (books_is(letter, "PongSlaveMessage"))
		return;
	if (books_is(letter, "StatusUpdateMessage"))
		books_agent_update_delivered(b, from, letter);
	else if (books_is(letter, "RegisterSlaveMessage") ||
		 books_is(letter, "ReregisterSlaveMessage"))
		books_want_registration(b, from, letter);
	else if (books_is(letter, "ExitedExecutorMessage"))
		books_executor_exited(b, from, letter);
	else if (books_is(letter, "UpdateOperationStatusMessage"))
		books_operation_status(b, from, letter);
	else if (books_is(letter, "UpdateSlaveMessage"))
		books_agent_updated(b, from, letter);
	else
		books_driver_says(b, letter);
}

static void agent_gets(struct books *b, const struct process *to, const struct letter *letter)
{
	if (books_is(letter, "PingSlaveMessage"))
		return;
	if (books_is(letter, "StatusUpdateAcknowledgementMessage"))
		books_stream_acknowledged(b, to, letter);
	else if (books_is(letter, "RunTaskMessage"))
		books_task_ordered(b, letter);
	else if (books_is(letter, "RunTaskGroupMessage"))
		books_group_ordered(b, letter);
	else if (books_is(letter, "ApplyOperationMessage"))
		books_agent_operates(b, to);
	else if (books_is(letter, "SlaveRegisteredMessage") ||
		 books_is(letter, "SlaveReregisteredMessage"))
		books_agent_hears_registered(b, to);
}

static void on_delivered(struct observer *o, const struct process *to, const struct conn *conn,
			 const struct letter *letter)
{
	struct books *b = container_of(o, struct books, observer);
	const Mesos__Executor__Event *event;

	(void)conn;
	if (is_master(b, to)) {
		if (letter->kind == LETTER_MESSAGE)
			master_gets(b, letter);
		else if (letter->kind == LETTER_CALL)
			books_call_delivered(b, letter);
	} else if (letter->kind == LETTER_MESSAGE) {
		if (is_agent(to))
			agent_gets(b, to, letter);
	} else if (letter->kind == LETTER_CALL) {
		books_executor_call_delivered(b, letter);
	} else if (letter->kind == LETTER_EVENT && str_has_prefix(to->name, "executor") &&
		   is_launch(letter)) {
		event = books_unpack(b, &mesos__executor__event__descriptor, letter);
		if (event->launch)
			books_launch_delivered(b, to, event->launch->task);
		else
			books_group_delivered(b, to, event->launch_group->task_group);
	}
}

/* ---- ends and beginnings ------------------------------------------------------------------ */

static void books_on_closed(struct observer *o, const struct process *p, const struct conn *conn)
{
	struct books *b = container_of(o, struct books, observer);
	struct fw *fw;

	if (!is_master(b, p)) {
		if (is_agent(p) && conn->linked)
			books_agent_loses_master(b, p);
		return;
	}
	if (conn->linked && conn->of[CONN_CLIENT].process == p) {
		if (!books_driver_link_closed(b, conn->linked))
			books_agent_link_closed(b, address_of(conn->linked));
		return;
	}
	fw = books_fw_by_stream(b, conn);
	if (!fw)
		return;
	books_end_offers_of(b, fw);
	books_set_stream(b, fw, 0);
}

static void on_started(struct observer *o, const struct process *p)
{
	struct books *b = container_of(o, struct books, observer);

	if (!strcmp(p->name, MASTER)) {
		b->master = p;
		books_master_began(b);
	}
	if (!is_agent(p))
		return;
	books_agent_began(b, p);
	books_agent_life_began(b, p);
}

static void on_ended(struct observer *o, const struct process *p)
{
	struct books *b = container_of(o, struct books, observer);

	if (is_master(b, p)) {
		books_master_ended(b);
		b->master = NULL;
	} else if (is_agent(p)) {
		books_agent_life_ended(b, p);
	}
}

static void books_on_written(struct observer *o, struct disk *disk, int line, struct slice key,
			     struct slice value)
{
	books_written(container_of(o, struct books, observer), disk, line, key, value);
}

static void on_synced(struct observer *o, struct disk *disk, int line)
{
	books_synced(container_of(o, struct books, observer), disk, line);
}

static void on_crashed(struct observer *o, struct disk *disk)
{
	books_crashed(container_of(o, struct books, observer), disk);
}

static void on_executor(struct observer *o, const struct executor_life *life, bool up)
{
	books_executor_life(container_of(o, struct books, observer), life, up);
}

static void on_directory(struct observer *o, const struct process *agent, const char *path,
			 enum directory_deed deed)
{
	books_directory(container_of(o, struct books, observer), agent, path, deed);
}

static void on_operated(struct observer *o, const void *call, bool overtaken)
{
	books_operated(container_of(o, struct books, observer), call, overtaken);
}

static void on_stepped(struct observer *o)
{
	struct books *b = container_of(o, struct books, observer);

	if (b->must_hear_count)
		books_check_heard(b);
	if (b->must_kill_count)
		books_check_killed(b);
	if (b->resumed)
		books_check_resumed(b);
	if (!list_empty(&b->changed))
		books_check_registry(b);
	if (b->world->now >= b->audit_at)
		books_audit_agents(b);
	if (!list_empty(&b->debts))
		books_collect_debts(b);
	if (b->operations)
		books_undo_operations(b);
	if (!list_empty(&b->touched))
		books_check_views(b);
	if (!list_empty(&b->granted))
		books_check_shares(b);
	b->call.call = NULL;
	b->call.accepts = false;
	b->steps++;
}

/* ---- life --------------------------------------------------------------------------------------
 */

struct books *books_open(struct world *w)
{
	struct books *b = xcalloc(1, sizeof(*b));

	b->world = w;
	b->observer = (struct observer){
		.sent = on_sent,
		.delivered = on_delivered,
		.closed = books_on_closed,
		.started = on_started,
		.ended = on_ended,
		.written = books_on_written,
		.synced = on_synced,
		.crashed = on_crashed,
		.executor = on_executor,
		.directory = on_directory,
		.operated = on_operated,
		.stepped = on_stepped,
	};
	arena_init(&b->arena);
	arena_init(&b->call.arena);
	list_init(&b->touched);
	list_init(&b->granted);
	list_init(&b->debts);
	list_init(&b->changed);
	arena_init(&b->maintenance_arena);
	b->steps = 1;
	w->observer = &b->observer;
	return b;
}

void books_check_left(struct books *b)
{
	books_check_directories(b);
}

void books_expect_quiet(struct books *b, uint64_t letters)
{
	b->quiet = letters;
	b->letters = 0;
	b->minute_end = b->world->now + MINUTE;
}

void books_close(struct books *b)
{
	b->world->observer = NULL;
	books_master_ended(b);
	books_free_operations(b);
	books_free_debts(b);
	books_free_registry(b);
	books_free_tasks(b);
	books_free_hosts(b);
	books_free_disks(b);
	books_free_rooms(b);
	fws_free(b);
	books_free_roles(b);
	kinds_free(b);
	arena_free(&b->arena);
	arena_free(&b->call.arena);
	tally_free(&b->call.pool);
	tally_free(&b->cluster);
	free(b);
}

/* Drivers of v0. What they say is a call, if it comes from the pid that their framework is
 * registered at, and nothing otherwise; what they are told is an event. Nobody answers calls:
 * that the master takes one is assumed, and the opposite would be seen. */
#include "lab/books/books_drivers.h"

#include <stdlib.h>
#include <string.h>

#include "lab/books/books_internal.h"
#include "lab/books/books_offers.h"
#include "lab/books/records.h"
#include "lab/parts/driver.h"

/* Of conns they are small. */
#define DRIVER_STREAM (UINT64_C(1) << 63)

/* The framework that is registered at the pid, and connected; or NULL. */
static struct fw *fw_at(const struct books *b, const char *pid)
{
	struct fw *fw, *next;

	HASH_ITER (hh_stream, b->streams, fw, next) {
		if (fw->stream & DRIVER_STREAM && !strcmp(fw->pid, pid))
			return fw;
	}
	return NULL;
}

/* ---- what they say ------------------------------------------------------------------- */

/* Calls without their contents are dropped. */
static bool books_drivers_is_whole(const Mesos__Scheduler__Call *call)
{
	switch (call->type) {
	case CALL(ACCEPT):
		return call->accept;
	case CALL(DECLINE):
		return call->decline;
	case CALL(KILL):
		return call->kill;
	case CALL(ACKNOWLEDGE):
		return call->acknowledge;
	case CALL(RECONCILE):
		return call->reconcile;
	case CALL(SUBSCRIBE):
		return call->subscribe;
	default:
		return true;
	}
}

/* The framework speaks by this message. Those of old are heard from a driver that is not
 * connected any more. */
static bool speaks_for(const struct fw *fw, const struct letter *letter)
{
	return fw->pid && !strcmp(fw->pid, letter->from) && !fw->torn &&
	       (fw->stream || letter->type != &mesos__scheduler__call__descriptor);
}

static void deactivated(struct books *b, const Mesos__Internal__DeactivateFrameworkMessage *m,
			const struct letter *letter)
{
	struct fw *fw = books_fw(b, m->framework_id->value);

	if (speaks_for(fw, letter) && fw->stream)
		fw->inactive = true;
}

void books_driver_says(struct books *b, const struct letter *letter)
{
	struct current_call *current = &b->call;
	const Mesos__Scheduler__Call *call;
	const void *message;
	struct err err;

	if (!driver_says(letter->type))
		return;
	arena_reset(&current->arena);
	current->accepts = false;
	current->call = NULL;
	current->fw = NULL;
	message = proto_unpack(letter->type, &current->arena, letter->bytes.data, letter->bytes.len,
			       &err);
	if (!message)
		return;
	if (letter->type == &mesos__internal__deactivate_framework_message__descriptor)
		deactivated(b, message, letter);
	call = driver_unwrap_call(&current->arena, message);
	if (!call || !books_drivers_is_whole(call))
		return;
	if (call->subscribe) {
		current->call = call;
		current->pid = arena_strdup(&current->arena, letter->from);
		return;
	}
	current->fw = books_fw(b, call->framework_id->value);
	if (!speaks_for(current->fw, letter))
		return;
	current->call = call;
	books_call_taken(b);
}

/* ---- what they are told ---------------------------------------------------------------- */

static void take_over(struct books *b, struct fw *fw, const char *pid)
{
	struct fw *other = fw_at(b, pid);

	if (other && other != fw && !other->torn)
		world_fail(b->world, "routes: %s speaks for framework %s and for %s", pid,
			   other->id, fw->id);
	if (other && other != fw)
		books_set_stream(b, other, 0);
	free(fw->pid);
	fw->pid = xstrdup(pid);
	books_set_stream(b, fw, DRIVER_STREAM | ++b->driver_streams);
}

/* The master will hear of its end. */
static bool is_linked(struct books *b, const char *pid)
{
	const struct process *master = b->master;
	struct conn_end *end, *next;

	list_for_each (end, next, &master->conns, link) {
		if (end->conn->linked && !strcmp(end->conn->linked, pid))
			return true;
	}
	return false;
}

/* Again: it comes from the pid that it came from before, and has no offers. */
static void books_drivers_registered(struct books *b, const char *pid, const char *id, bool again)
{
	const Mesos__Scheduler__Call *call = b->call.call;
	struct fw *fw = books_fw(b, id);
	const Mesos__FrameworkInfo *info;

	if (!call || !call->subscribe || strcmp(b->call.pid, pid)) {
		world_fail(b->world, "routes: %s is told that it is registered and did not ask",
			   pid);
		return;
	}
	info = call->subscribe->framework_info;
	if (info->id && strcmp(info->id->value, id))
		world_fail(b->world, "routes: %s asks for framework %s and is registered as %s",
			   pid, info->id->value, id);
	if (!is_linked(b, pid))
		world_fail(b->world,
			   "routes: %s is registered, and the master would not notice its end",
			   pid);
	if (!info->id && fw_at(b, pid) == fw)
		return; /* it asked twice */
	if (again && !list_empty(&fw->offers))
		world_fail(b->world, "offers: framework %s is registered again, and keeps %s",
			   fw->id, list_first(&fw->offers, struct offered, by_fw)->id);
	books_learn_fw(b, fw, info);
	books_end_offers_of(b, fw);
	take_over(b, fw, pid);
	fw->subscribed = b->world->now;
	fw->suppressed = fw->inactive = false;
}

void books_driver_told(struct books *b, const struct letter *letter)
{
	const void *message = books_unpack(b, letter->type, letter);
	bool again = letter->type == &mesos__internal__framework_reregistered_message__descriptor;
	Mesos__Scheduler__Event event;
	struct arena arena;

	arena_init(&arena);
	if (!driver_unwrap_event(&arena, message, &event))
		; /* nothing that matters */
	else if (event.subscribed)
		books_drivers_registered(b, letter->name, event.subscribed->framework_id->value,
					 again);
	else
		books_event(b, fw_at(b, letter->name), &event);
	arena_free(&arena);
}

bool books_driver_link_closed(struct books *b, const char *pid)
{
	struct fw *fw = fw_at(b, pid);

	if (fw) {
		books_end_offers_of(b, fw);
		books_set_stream(b, fw, 0);
	}
	return fw || str_has_prefix(pid, PID_DRIVER);
}

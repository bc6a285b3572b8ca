/* Scheduler drivers of v0 (libmesos, mesos-go): frameworks that speak by libprocess
 * messages and are spoken to at their pid.
 *
 * They say mesos.scheduler.Call, or each with a message of its own, as drivers before 0.24
 * do. Either becomes a call that is carried out as those of HTTP frameworks are (calls.c).
 * Only the pid that registered speaks for a framework; from anybody else everything is
 * logged and changes nothing. There is no answer to a message: what is wrong with a
 * registration is a FrameworkErrorMessage, what is wrong with another call is logged.
 *
 * A driver is there as long as our link to its pid is whole.
 */
#include "master/core/frameworks/driver.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/random.h"
#include "master/core/agents/pid.h"
#include "master/core/authenticate.h"
#include "master/core/emit.h"
#include "master/core/frameworks/frameworks.h"
#include "master/core/frameworks/subscribe.h"
#include "master/core/objects.h"
#include "master/core/offers/inverse_offers.h"
#include "master/core/offers/offers.h"

#define CALL(name) MESOS__SCHEDULER__CALL__TYPE__##name

/* Who sent the message. */
struct sender {
	const char *pid;
	const char *local; /* where it reached us, or NULL */
};

static struct framework *find_driver(const struct master *m, const char *pid)
{
	struct framework *f;

	HASH_FIND(hh_driver, m->drivers, pid, strlen(pid), f);
	return f;
}

bool master_is_driver(const struct master *m, const char *pid, const char **principal)
{
	const struct framework *f = find_driver(m, pid);

	if (f)
		*principal = f->info->principal && *f->info->principal ? f->info->principal : NULL;
	return f != NULL;
}

/* ---- registration ---------------------------------------------------------------------- */

static char *driver_copy_text(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

/* The driver speaks for the framework from now on. */
static void adopt_driver(struct master *m, struct framework *f, const struct sender *from)
{
	if (framework_connected(f) && f->pid && !strcmp(f->pid, from->pid))
		master_detach_framework(m, f);
	else
		master_supplant(m, f);
	free(f->stream_id);
	f->stream_id = NULL;
	free(f->pid);
	free(f->reached);
	f->pid = xstrdup(from->pid);
	f->reached = driver_copy_text(from->local);
	HASH_ADD_KEYPTR(hh_driver, m->drivers, f->pid, strlen(f->pid), f);
	master_emit(m, MASTER_LINK)->link.pid = master_text(m, f->pid);
	master_connect_framework(m, f);
}

static void rescind_offers(struct master *m, struct framework *f)
{
	struct inverse_offer *inverse, *next_inverse;
	struct offer *o, *next;

	list_for_each (o, next, &f->offers, by_framework)
		master_rescind_offer(m, o);
	list_for_each (inverse, next_inverse, &f->inverse_offers, by_framework)
		master_rescind_inverse(m, inverse);
}

static void driver_refuse(struct master *m, const struct sender *from,
			  const Mesos__FrameworkInfo *info, const char *why)
{
	log_info_limited("refused the subscription of framework '%s' at %s: %s", info->name,
			 from->pid, why);
	driver_tell_error(m, from->pid, from->local, why);
}

/* The framework has an id and may subscribe from here. */
static void subscribe_again(struct master *m, struct subscription *s, const struct sender *from,
			    bool force)
{
	bool known = s->f && s->f->state != FRAMEWORK_RECOVERED, again = known && !force;
	struct framework *f;

	/* Its answers to the offers may be lost; after a failover nobody has them. */
	if (again)
		rescind_offers(m, s->f);
	else if (known)
		master_discard_offers(m, s->f);
	f = master_admit_framework(m, s);
	adopt_driver(m, f, from);
	driver_tell_registered(m, f, again);
	master_broadcast(m, master_update_framework_message(m, f));
}

static void subscribe(struct master *m, const struct sender *from,
		      const Mesos__Scheduler__Call__Subscribe *call, bool force)
{
	struct framework *other = find_driver(m, from->pid), *f;
	struct err err = {{0}};
	struct subscription s;

	if (master_check_subscription(m, call, authenticated_principal(m, from->pid), from->pid, &s,
				      &err)) {
		driver_refuse(m, from, s.info, err.text);
		return;
	}
	if (!s.info->id && other) {
		log_info_limited("framework %s at %s is subscribed already", other->id, from->pid);
		driver_tell_registered(m, other, false);
		return;
	}
	if (other && s.f != other) {
		log_warning("dropped the subscription of framework %s: framework %s is connected "
			    "at %s",
			    s.info->id->value, other->id, from->pid);
		m->counters.dropped_messages++;
		return;
	}
	f = s.f;
	if (f && f->state != FRAMEWORK_RECOVERED && !force &&
	    (!f->pid || strcmp(f->pid, from->pid))) {
		driver_refuse(m, from, s.info, "Framework failed over");
		return;
	}
	if (s.info->id) {
		subscribe_again(m, &s, from, force);
		return;
	}
	f = master_admit_framework(m, &s);
	adopt_driver(m, f, from);
	driver_tell_registered(m, f, false);
}

/* The messages that came before the call. */
static void subscribe_of_old(struct master *m, const struct sender *from,
			     Mesos__FrameworkInfo *info, bool known, bool force)
{
	bool has_id = info->id && info->id->value[0];
	Mesos__Scheduler__Call__Subscribe *call;

	if (has_id != known) {
		driver_refuse(m, from, info,
			      known ? "Re-registering without an 'id'"
				    : "Registering with 'id' already set");
		return;
	}
	call = STEP_NEW(m, Mesos__Scheduler__Call__Subscribe,
			mesos__scheduler__call__subscribe__descriptor);
	call->framework_info = info;
	subscribe(m, from, call, force);
}

/* ---- calls --------------------------------------------------------------------------------- */

/* The framework of that id if it is the sender's. */
static struct framework *own_framework(struct master *m, const struct sender *from,
				       const Mesos__FrameworkID *id, const char *what)
{
	struct framework *f = master_find_framework(m, id->value);

	if (f && f->pid && !strcmp(f->pid, from->pid))
		return f;
	log_warning("ignored %s from %s: it is not framework '%s'", what, from->pid, id->value);
	m->counters.dropped_messages++;
	return NULL;
}

/* What HTTP schedulers are answered with a status. */
static void tell_refusal(struct master *m, const struct framework *f)
{
	const struct master_reply *reply = &m->out->reply;

	if (reply->status >= 400)
		driver_tell_error(m, f->pid, f->reached, reply->text);
}

static void take_call(struct master *m, const struct sender *from,
		      const Mesos__Scheduler__Call *call, bool force)
{
	struct err err = {{0}};
	struct framework *f;

	if (master_validate_call(call, NULL, &err)) {
		log_warning("dropped a call from %s: %s", from->pid, err.text);
		m->counters.dropped_messages++;
		return;
	}
	if (call->type == CALL(SUBSCRIBE)) {
		subscribe(m, from, call->subscribe, force);
		return;
	}
	f = own_framework(m, from, call->framework_id, "a call");
	if (!f)
		return;
	if (call->type < MASTER_CALL_TYPES)
		f->counters.calls[call->type]++;
	if (!framework_connected(f)) {
		log_info_limited("refused a call of framework %s: it is disconnected", f->id);
		driver_tell_error(m, from->pid, from->local, "Framework disconnected");
		return;
	}
	if (call->type == CALL(ACKNOWLEDGE_OPERATION_STATUS) ||
	    call->type == CALL(RECONCILE_OPERATIONS)) {
		log_warning("dropped a call of framework %s: drivers cannot ask about operations",
			    f->id);
		return;
	}
	master_carry_out_call(m, f, call);
	tell_refusal(m, f);
}

/* ---- messages of old ------------------------------------------------------------------------- */

/* Drivers of old send them from a pid that may be disconnected; so be it. */

static Mesos__Scheduler__Call *new_call(struct master *m, Mesos__Scheduler__Call__Type type)
{
	Mesos__Scheduler__Call *call =
		STEP_NEW(m, Mesos__Scheduler__Call, mesos__scheduler__call__descriptor);

	call->has_type = true;
	call->type = type;
	return call;
}

#define NEW_PART(m, Type, name)                                                                    \
	STEP_NEW(m, Mesos__Scheduler__Call__##Type, mesos__scheduler__call__##name##__descriptor)

static void unregister(struct master *m, const struct sender *from, const void *message)
{
	const Mesos__Internal__UnregisterFrameworkMessage *in = message;
	struct framework *f = own_framework(m, from, in->framework_id, "an unregistration");

	if (f)
		master_carry_out_call(m, f, new_call(m, CALL(TEARDOWN)));
}

static void deactivate(struct master *m, const struct sender *from, const void *message)
{
	const Mesos__Internal__DeactivateFrameworkMessage *in = message;
	struct framework *f = own_framework(m, from, in->framework_id, "a deactivation");

	m->counters.messages_deactivate_framework++;
	if (!f || !framework_connected(f) || !f->active)
		return;
	log_info("framework %s (%s) takes no more offers", f->id, f->info->name);
	master_activate_framework(m, f, false);
	rescind_offers(m, f);
}

static void request(struct master *m, const struct sender *from, const void *message)
{
	const Mesos__Internal__ResourceRequestMessage *in = message;
	struct framework *f = own_framework(m, from, in->framework_id, "a request");

	if (f)
		master_carry_out_call(m, f, new_call(m, CALL(REQUEST)));
}

static Mesos__Scheduler__Call *accept_call(struct master *m,
					   const Mesos__Internal__LaunchTasksMessage *in)
{
	Mesos__Scheduler__Call *call = new_call(m, CALL(ACCEPT));
	Mesos__Offer__Operation *operation =
		STEP_NEW(m, Mesos__Offer__Operation, mesos__offer__operation__descriptor);

	operation->has_type = true;
	operation->type = MESOS__OFFER__OPERATION__TYPE__LAUNCH;
	operation->launch = STEP_NEW(m, Mesos__Offer__Operation__Launch,
				     mesos__offer__operation__launch__descriptor);
	operation->launch->n_task_infos = in->n_tasks;
	operation->launch->task_infos = in->tasks;
	call->accept = NEW_PART(m, Accept, accept);
	call->accept->filters = in->filters;
	call->accept->n_offer_ids = in->n_offer_ids;
	call->accept->offer_ids = in->offer_ids;
	proto_push(&m->out->arena, call->accept->n_operations, call->accept->operations, operation);
	return call;
}

static void driver_launch(struct master *m, const struct sender *from, const void *message)
{
	const Mesos__Internal__LaunchTasksMessage *in = message;
	struct framework *f = own_framework(m, from, in->framework_id, "tasks to launch");
	Mesos__Scheduler__Call *call;

	if (!f)
		return;
	if (in->n_tasks) {
		call = accept_call(m, in);
	} else {
		call = new_call(m, CALL(DECLINE));
		call->decline = NEW_PART(m, Decline, decline);
		call->decline->filters = in->filters;
		call->decline->n_offer_ids = in->n_offer_ids;
		call->decline->offer_ids = in->offer_ids;
	}
	master_carry_out_call(m, f, call);
}

static void revive(struct master *m, const struct sender *from, const void *message)
{
	const Mesos__Internal__ReviveOffersMessage *in = message;
	struct framework *f = own_framework(m, from, in->framework_id, "a revival");
	Mesos__Scheduler__Call *call;

	if (!f)
		return;
	call = new_call(m, CALL(REVIVE));
	call->revive = NEW_PART(m, Revive, revive);
	call->revive->n_roles = in->n_roles;
	call->revive->roles = in->roles;
	master_carry_out_call(m, f, call);
}

static void driver_kill_task(struct master *m, const struct sender *from, const void *message)
{
	const Mesos__Internal__KillTaskMessage *in = message;
	struct framework *f = own_framework(m, from, in->framework_id, "a kill");
	Mesos__Scheduler__Call *call;

	if (!f)
		return;
	call = new_call(m, CALL(KILL));
	call->kill = NEW_PART(m, Kill, kill);
	call->kill->task_id = in->task_id;
	master_carry_out_call(m, f, call);
}

static void driver_acknowledge(struct master *m, const struct sender *from, const void *message)
{
	const Mesos__Internal__StatusUpdateAcknowledgementMessage *in = message;
	struct framework *f = NULL;
	Mesos__Scheduler__Call *call;

	if (in->uuid.len != UUID_BYTES || !uuid_valid(in->uuid.data, in->uuid.len))
		log_warning("ignored an acknowledgement from %s: not a valid UUID", from->pid);
	else
		f = own_framework(m, from, in->framework_id, "an acknowledgement");
	if (!f) {
		m->counters.invalid_status_update_acknowledgements++;
		return;
	}
	call = new_call(m, CALL(ACKNOWLEDGE));
	call->acknowledge = NEW_PART(m, Acknowledge, acknowledge);
	call->acknowledge->agent_id = in->agent_id;
	call->acknowledge->task_id = in->task_id;
	call->acknowledge->uuid = in->uuid;
	master_carry_out_call(m, f, call);
}

static void to_executor(struct master *m, const struct sender *from, const void *message)
{
	const Mesos__Internal__FrameworkToExecutorMessage *in = message;
	struct framework *f = own_framework(m, from, in->framework_id, "a message to an executor");
	Mesos__Scheduler__Call *call;

	if (!f) {
		m->counters.invalid_framework_to_executor_messages++;
		return;
	}
	call = new_call(m, CALL(MESSAGE));
	call->message = NEW_PART(m, Message, message);
	call->message->agent_id = in->agent_id;
	call->message->executor_id = in->executor_id;
	call->message->data = in->data;
	master_carry_out_call(m, f, call);
}

static void driver_reconcile(struct master *m, const struct sender *from, const void *message)
{
	const Mesos__Internal__ReconcileTasksMessage *in = message;
	struct framework *f = own_framework(m, from, in->framework_id, "a reconciliation");
	Mesos__Scheduler__Call *call;

	if (!f)
		return;
	call = new_call(m, CALL(RECONCILE));
	call->reconcile = NEW_PART(m, Reconcile, reconcile);
	for (size_t i = 0; i < in->n_statuses; i++) {
		Mesos__Scheduler__Call__Reconcile__Task *task =
			STEP_NEW(m, Mesos__Scheduler__Call__Reconcile__Task,
				 mesos__scheduler__call__reconcile__task__descriptor);

		task->task_id = in->statuses[i]->task_id;
		task->agent_id = in->statuses[i]->agent_id;
		proto_push(&m->out->arena, call->reconcile->n_tasks, call->reconcile->tasks, task);
	}
	master_carry_out_call(m, f, call);
}

static void register_framework(struct master *m, const struct sender *from, const void *message)
{
	const Mesos__Internal__RegisterFrameworkMessage *in = message;

	subscribe_of_old(m, from, in->framework, false, false);
}

static void reregister_framework(struct master *m, const struct sender *from, const void *message)
{
	const Mesos__Internal__ReregisterFrameworkMessage *in = message;

	subscribe_of_old(m, from, in->framework, true, in->failover);
}

/* ---- from outside ------------------------------------------------------------------------- */

static const struct handler {
	const ProtobufCMessageDescriptor *type;
	void (*handle)(struct master *m, const struct sender *from, const void *message);
} handlers[] = {
	{&mesos__internal__register_framework_message__descriptor, register_framework},
	{&mesos__internal__reregister_framework_message__descriptor, reregister_framework},
	{&mesos__internal__unregister_framework_message__descriptor, unregister},
	{&mesos__internal__deactivate_framework_message__descriptor, deactivate},
	{&mesos__internal__resource_request_message__descriptor, request},
	{&mesos__internal__launch_tasks_message__descriptor, driver_launch},
	{&mesos__internal__revive_offers_message__descriptor, revive},
	{&mesos__internal__kill_task_message__descriptor, driver_kill_task},
	{&mesos__internal__status_update_acknowledgement_message__descriptor, driver_acknowledge},
	{&mesos__internal__framework_to_executor_message__descriptor, to_executor},
	{&mesos__internal__reconcile_tasks_message__descriptor, driver_reconcile},
};

/* We must be able to speak to a driver, and know its framework by its pid. */
static bool may_speak(struct master *m, const struct sender *from, const char *name)
{
	if (pid_valid(from->pid))
		return true;
	log_warning("ignored a %s from '%s', which is no address", name, from->pid);
	m->counters.dropped_messages++;
	return false;
}

bool master_driver_message(struct master *m, const struct master_event *event)
{
	struct sender from = {event->message.from, event->message.local};
	const ProtobufCMessage *message = event->message.message;
	const ProtobufCMessageDescriptor *type = message->descriptor;

	if (type == &mesos__scheduler__call__descriptor) {
		if (may_speak(m, &from, type->name))
			take_call(m, &from, (const void *)message, event->message.force);
		return true;
	}
	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
		if (handlers[i].type != type)
			continue;
		if (may_speak(m, &from, type->name))
			handlers[i].handle(m, &from, message);
		return true;
	}
	return false;
}

void master_driver_exited(struct master *m, const char *pid)
{
	struct framework *f = find_driver(m, pid);

	if (!f)
		return;
	/* It may only be the connection: then it aborts, and whoever runs it learns so. */
	driver_tell_error(m, f->pid, f->reached, "Framework disconnected");
	master_disconnect_framework(m, f);
}

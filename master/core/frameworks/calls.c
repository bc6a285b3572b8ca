/* The scheduler calls: those of HTTP frameworks, and what becomes of any.
 *
 * Whatever is wrong with a call itself is a status; everything that only turns out
 * while it is carried out is an event or a log line, the call was 202.
 */
#include "master/core/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/texts.h"
#include "master/core/authorize.h"
#include "master/core/emit.h"
#include "master/core/frameworks/frameworks.h"
#include "master/core/frameworks/subscribe.h"
#include "master/core/journal.h"
#include "master/core/offers/inverse_offers.h"
#include "master/core/offers/offers.h"
#include "master/core/operations/operation_feedback.h"
#include "master/core/operator.h"
#include "master/core/tasks/updates.h"

#define CALL(name) MESOS__SCHEDULER__CALL__TYPE__##name

/* ---- calls that need but a few lines ------------------------------------------- */

void master_kill(struct master *m, struct framework *f, const char *task_id, const char *agent_id,
		 const Mesos__KillPolicy *policy)
{
	struct task *t = framework_find_task(f, task_id);
	Mesos__Internal__KillTaskMessage *message;

	if (!t) {
		m->counters.messages_reconcile_tasks++;
		master_reconcile_task(m, f, task_id, agent_id);
		return;
	}
	if (agent_id && strcmp(agent_id, t->agent_id)) {
		log_warning(
			"dropped the KILL of task %s of framework %s: it is on agent %s, not %s",
			task_id, f->id, t->agent_id, agent_id);
		return;
	}
	t->kill_wanted = true;
	journal_task(m, JOURNAL_TASK_KILL_WANTED, t);
	if (!agent_connected(t->agent))
		return;
	message = STEP_NEW(m, Mesos__Internal__KillTaskMessage,
			   mesos__internal__kill_task_message__descriptor);
	message->framework_id = master_framework_id(m, f->id);
	message->task_id = master_task_id(m, task_id);
	message->kill_policy = STEP_COPY(m, (Mesos__KillPolicy *)policy);
	master_send_agent(m, t->agent, message);
}

static void call_kill(struct master *m, struct framework *f,
		      const Mesos__Scheduler__Call__Kill *kill)
{
	master_kill(m, f, kill->task_id->value, kill->agent_id ? kill->agent_id->value : NULL,
		    kill->kill_policy);
}

static struct agent *registered_agent(struct master *m, const char *id)
{
	struct agent *a = master_find_agent(m, id);

	return a && agent_registered(a) ? a : NULL;
}

static void call_shutdown(struct master *m, struct framework *f,
			  const Mesos__Scheduler__Call__Shutdown *shutdown)
{
	struct agent *a = registered_agent(m, shutdown->agent_id->value);
	Mesos__Internal__ShutdownExecutorMessage *message;

	if (!a) {
		log_warning("dropped the SHUTDOWN of executor %s of framework %s: no agent %s",
			    shutdown->executor_id->value, f->id, shutdown->agent_id->value);
		return;
	}
	message = STEP_NEW(m, Mesos__Internal__ShutdownExecutorMessage,
			   mesos__internal__shutdown_executor_message__descriptor);
	message->executor_id = master_executor_id(m, shutdown->executor_id->value);
	message->framework_id = master_framework_id(m, f->id);
	master_send_agent(m, a, message);
}

static void call_message(struct master *m, struct framework *f,
			 const Mesos__Scheduler__Call__Message *call)
{
	struct agent *a = registered_agent(m, call->agent_id->value);
	Mesos__Internal__FrameworkToExecutorMessage *message;

	m->counters.messages_framework_to_executor++;
	if (!a || !agent_connected(a)) {
		log_warning("dropped a MESSAGE of framework %s: agent %s is not connected", f->id,
			    call->agent_id->value);
		m->counters.invalid_framework_to_executor_messages++;
		return;
	}
	m->counters.valid_framework_to_executor_messages++;
	message = STEP_NEW(m, Mesos__Internal__FrameworkToExecutorMessage,
			   mesos__internal__framework_to_executor_message__descriptor);
	message->agent_id = master_agent_id(m, a->id);
	message->framework_id = master_framework_id(m, f->id);
	message->executor_id = master_executor_id(m, call->executor_id->value);
	message->data.data = arena_memdup(&m->out->arena, call->data.data, call->data.len);
	message->data.len = call->data.len;
	master_send_agent(m, a, message);
}

/* The roles of a REVIVE or SUPPRESS; false drops the whole call. */
static bool roles_known(const struct framework *f, char *const *roles, size_t count,
			const char *call)
{
	struct texts known;
	struct err err;
	size_t i = 0;

	texts_index(&known, (const char *const *)f->roles, f->role_count);
	while (i < count && role_valid(roles[i], &err) && texts_have(&known, roles[i]))
		i++;
	texts_free(&known);
	if (i < count)
		log_warning("dropped the %s of framework %s: it has no role '%s'", call, f->id,
			    roles[i]);
	return i == count;
}

static void call_revive(struct master *m, struct framework *f,
			const Mesos__Scheduler__Call__Revive *call)
{
	char *const *roles = call ? call->roles : NULL;
	size_t count = call ? call->n_roles : 0, kept = 0;
	struct texts revived;

	m->counters.messages_revive_offers++;
	if (!roles_known(f, roles, count, "REVIVE"))
		return;
	allocator_revive(m->allocator, f->alloc, (const char *const *)roles, count);
	texts_index(&revived, (const char *const *)roles, count);
	for (size_t i = 0; i < f->suppressed_count; i++) {
		if (!count || texts_have(&revived, f->suppressed[i]))
			free(f->suppressed[i]);
		else
			f->suppressed[kept++] = f->suppressed[i];
	}
	texts_free(&revived);
	f->suppressed_count = kept;
	journal_framework(m, JOURNAL_FRAMEWORK_CHANGED, f);
}

/* Adds roles to the framework's suppressed ones. */
static void remember_suppressed(struct framework *f, char *const *roles, size_t count)
{
	char **all = xcalloc(f->suppressed_count + count + 1, sizeof(*all));
	size_t total = f->suppressed_count;
	struct texts known, named;

	memcpy(all, f->suppressed, f->suppressed_count * sizeof(*all));
	texts_index(&known, (const char *const *)f->suppressed, f->suppressed_count);
	texts_index(&named, (const char *const *)roles, count);
	for (size_t i = 0; i < count; i++) {
		if (!texts_have(&known, roles[i]) && texts_find(&named, roles[i]) == i)
			all[total++] = roles[i];
	}
	texts_free(&known);
	texts_free(&named);
	framework_set_suppressed(f, all, total);
	free(all);
}

static void call_suppress(struct master *m, struct framework *f,
			  const Mesos__Scheduler__Call__Suppress *call)
{
	char *const *roles = call ? call->roles : NULL;
	size_t count = call ? call->n_roles : 0;

	m->counters.messages_suppress_offers++;
	if (!roles_known(f, roles, count, "SUPPRESS"))
		return;
	allocator_suppress(m->allocator, f->alloc, (const char *const *)roles, count);
	remember_suppressed(f, count ? roles : f->roles, count ? count : f->role_count);
	journal_framework(m, JOURNAL_FRAMEWORK_CHANGED, f);
}

/* ---- UPDATE_FRAMEWORK ------------------------------------------------------------ */

static int check_fixed_fields(const struct framework *f, const Mesos__FrameworkInfo *info,
			      struct err *err)
{
	const char *old = f->info->principal, *new = info->principal;
	bool was = f->info->has_checkpoint && f->info->checkpoint;
	bool is = info->has_checkpoint && info->checkpoint;

	if (!old != !new || (old && strcmp(old, new)))
		return err_set(err, ERR_INVALID, "Changing framework's principal is not allowed.");
	if (strcmp(f->info->user, info->user))
		return err_set(err, ERR_INVALID,
			       "Updating 'FrameworkInfo.user' is unsupported; attempted to update "
			       "from '%s' to '%s'",
			       f->info->user, info->user);
	if (was != is)
		return err_set(err, ERR_INVALID,
			       "Updating 'FrameworkInfo.checkpoint' is unsupported; attempted to "
			       "update from '%s' to '%s'",
			       was ? "true" : "false", is ? "true" : "false");
	return 0;
}

static void call_update_framework(struct master *m, struct framework *f,
				  const Mesos__Scheduler__Call__UpdateFramework *call)
{
	Mesos__FrameworkInfo *info = STEP_COPY(m, call->framework_info);
	struct err err = {{0}};
	bool changed;
	int rv;

	rv = master_validate_framework_info(m, info, &err);
	if (rv) {
		master_reply(m, 400, "Supplied FrameworkInfo is not valid: %s", err.text);
		return;
	}
	rv = check_fixed_fields(f, info, &err);
	if (rv) {
		master_reply(m, 400, "FrameworkInfo update is not valid: %s", err.text);
		return;
	}
	rv = master_validate_suppressed(info, call->suppressed_roles, call->n_suppressed_roles,
					call->offer_constraints, &err);
	if (rv) {
		master_reply(m, 400, "'UpdateFramework' call is not valid: %s", err.text);
		return;
	}
	if (authorize_roles(m, info, &err)) {
		master_reply(m, 403, "%s", err.text);
		return;
	}
	changed = !proto_equal(info, f->info);
	master_update_framework(m, f, info, call->suppressed_roles, call->n_suppressed_roles,
				call->offer_constraints);
	journal_framework(m, JOURNAL_FRAMEWORK_SUBSCRIBED, f);
	if (changed)
		master_broadcast(m, master_update_framework_message(m, f));
	master_reply(m, 200, "%s", "");
}

/* ---- dispatch ---------------------------------------------------------------------- */

void master_carry_out_call(struct master *m, struct framework *f,
			   const Mesos__Scheduler__Call *call)
{
	switch (call->type) {
	case CALL(TEARDOWN):
		m->counters.messages_unregister_framework++;
		master_remove_framework(m, f);
		break;
	case CALL(ACCEPT):
		master_accept(m, f, call->accept);
		break;
	case CALL(DECLINE):
		m->counters.messages_decline_offers++;
		master_decline(m, f, call->decline);
		break;
	case CALL(REVIVE):
		call_revive(m, f, call->revive);
		break;
	case CALL(SUPPRESS):
		call_suppress(m, f, call->suppress);
		break;
	case CALL(KILL):
		m->counters.messages_kill_task++;
		call_kill(m, f, call->kill);
		break;
	case CALL(SHUTDOWN):
		call_shutdown(m, f, call->shutdown);
		break;
	case CALL(ACKNOWLEDGE):
		master_acknowledge(m, f, call->acknowledge);
		break;
	case CALL(RECONCILE):
		master_reconcile(m, f, call->reconcile);
		break;
	case CALL(RECONCILE_OPERATIONS):
		master_reconcile_operations(m, f, call->reconcile_operations);
		break;
	case CALL(MESSAGE):
		call_message(m, f, call->message);
		break;
	case CALL(REQUEST):
		/* A hint that the allocator has no use for. */
		m->counters.messages_resource_request++;
		break;
	case CALL(UPDATE_FRAMEWORK):
		call_update_framework(m, f, call->update_framework);
		break;
	case CALL(ACKNOWLEDGE_OPERATION_STATUS):
		master_acknowledge_operation(m, f, call->acknowledge_operation_status);
		break;
	case CALL(ACCEPT_INVERSE_OFFERS):
		master_accept_inverse(m, f, call->accept_inverse_offers);
		break;
	case CALL(DECLINE_INVERSE_OFFERS):
		master_decline_inverse(m, f, call->decline_inverse_offers);
		break;
	default:
		log_info("ignored a call of type %d of framework %s", call->type, f->id);
		break;
	}
}

/* Whether the call may come from here. False: it was answered. */
static bool check_caller(struct master *m, const struct master_event *event, struct framework *f)
{
	const char *principal = event->call.principal;
	const char *stream_id = event->call.stream_id;

	if (!f) {
		master_reply(m, 400, "Framework cannot be found");
		return false;
	}
	if (principal && f->info->principal && strcmp(principal, f->info->principal)) {
		master_reply(m, 400,
			     "Authenticated principal '%s' does not match principal '%s' set in "
			     "`FrameworkInfo`",
			     principal, f->info->principal);
		return false;
	}
	if (!framework_connected(f)) {
		master_reply(m, 403, "Framework is not subscribed");
		return false;
	}
	if (!f->http) {
		master_reply(m, 403, "Framework is not connected via HTTP");
		return false;
	}
	if (!stream_id) {
		master_reply(m, 400,
			     "All non-subscribe calls should include the 'Mesos-Stream-Id' header");
		return false;
	}
	if (strcmp(stream_id, f->stream_id)) {
		master_reply(
			m, 400,
			"The stream ID '%s' included in this request didn't match the stream ID "
			"currently associated with framework ID %s",
			stream_id, f->id);
		return false;
	}
	return true;
}

void master_handle_call(struct master *m, const struct master_event *event)
{
	const Mesos__Scheduler__Call *call = event->call.call;
	struct framework *f;
	struct err err = {{0}};

	if (!m->recovered) {
		master_reply(m, 503, "Master has not finished recovery");
		return;
	}
	if (master_validate_call(call, event->call.principal, &err)) {
		master_reply(m, 400, "Failed to validate scheduler::Call: %s", err.text);
		return;
	}
	if (!event->call.acceptable &&
	    (call->type == CALL(SUBSCRIBE) || call->type == CALL(RECONCILE_OPERATIONS))) {
		master_reply(m, 406,
			     "Expecting 'Accept' to allow 'application/x-protobuf' or "
			     "'application/json'");
		return;
	}
	if (call->type == CALL(SUBSCRIBE)) {
		if (event->call.stream_id)
			master_reply(m, 400,
				     "Subscribe calls should not include the 'Mesos-Stream-Id' "
				     "header");
		else
			master_subscribe(m, event);
		return;
	}
	f = master_find_framework(m, call->framework_id->value);
	if (f && call->type < MASTER_CALL_TYPES)
		f->counters.calls[call->type]++;
	if (!check_caller(m, event, f))
		return;
	if (call->type == CALL(UNKNOWN)) {
		master_reply(m, 501, "501 Not Implemented.");
		return;
	}
	master_reply(m, 202, "%s", "");
	master_carry_out_call(m, f, call);
}

/* What operators change, by the calls of the operator API. A call that changes the registry
 * is answered once that is durable. */
#include "master/core/operator.h"

#include <stdlib.h>

#include "base/log/log.h"
#include "master/core/agents/agent_life.h"
#include "master/core/agents/agent_remove.h"
#include "master/core/agents/drain.h"
#include "master/core/authorize.h"
#include "master/core/emit.h"
#include "master/core/frameworks/frameworks.h"
#include "master/core/frameworks/subscribe.h"
#include "master/core/maintenance/maintenance.h"
#include "master/core/objects.h"
#include "master/core/operations/operations.h"
#include "master/core/roles/roles.h"
#include "master/core/store/registry.h"

static void teardown(struct master *m, const struct operator_request *request)
{
	const char *id = request->call->teardown->framework_id->value;
	struct framework *f = master_find_framework(m, id);

	if (!f) {
		master_reply(m, 400, "No framework found with specified ID");
		return;
	}
	log_info("an operator tears framework %s down", f->id);
	master_remove_framework(m, f);
	master_reply(m, 200, "%s", "");
}

static void mark_gone(struct master *m, const struct operator_request *request)
{
	master_mark_gone(m, request->call->mark_agent_gone->agent_id->value, request->number);
}

#define TYPE(name) MESOS__MASTER__CALL__TYPE__##name

static const struct {
	Mesos__Master__Call__Type type;
	void (*handle)(struct master *m, const struct operator_request *request);
} changes[] = {
	{TYPE(TEARDOWN), teardown},
	{TYPE(MARK_AGENT_GONE), mark_gone},
	{TYPE(UPDATE_QUOTA), master_update_quota},
	{TYPE(SET_QUOTA), master_set_quota},
	{TYPE(REMOVE_QUOTA), master_remove_quota},
	{TYPE(UPDATE_WEIGHTS), master_update_weights},
	{TYPE(RESERVE_RESOURCES), master_change_resources},
	{TYPE(UNRESERVE_RESOURCES), master_change_resources},
	{TYPE(CREATE_VOLUMES), master_change_resources},
	{TYPE(DESTROY_VOLUMES), master_change_resources},
	{TYPE(GROW_VOLUME), master_change_resources},
	{TYPE(SHRINK_VOLUME), master_change_resources},
	{TYPE(UPDATE_MAINTENANCE_SCHEDULE), master_update_schedule},
	{TYPE(START_MAINTENANCE), master_start_maintenance},
	{TYPE(STOP_MAINTENANCE), master_stop_maintenance},
	{TYPE(DRAIN_AGENT), master_drain},
	{TYPE(DEACTIVATE_AGENT), master_deactivate},
	{TYPE(REACTIVATE_AGENT), master_reactivate},
};

void master_forbid(struct master *m, const char *what, const char *principal)
{
	log_warning("refused %s: --acls does not allow it to %s", what,
		    principal ? principal : "who does not say who they are");
	master_reply(m, 403, "403 Forbidden.");
}

static void operator_dispatch(struct master *m, const struct operator_request *request)
{
	if (!authorize_request(m, request)) {
		master_forbid(m,
			      proto_enum_name(&mesos__master__call__type__descriptor,
					      request->call->type, SPELL_V1),
			      request->principal);
		return;
	}
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		if (changes[i].type == request->call->type) {
			changes[i].handle(m, request);
			return;
		}
	}
	master_reply(m, 501, "%s", "");
}

void master_handle_operator(struct master *m, const struct master_event *event)
{
	struct operator_request request = {
		.call = event->operator_.call,
		.principal = event->operator_.principal,
		.number = event->operator_.request,
	};

	if (!m->recovered) {
		master_reply(m, 503, "Master has not finished recovery");
		return;
	}
	operator_dispatch(m, &request);
}

/* ---- requests that wait ------------------------------------------------------------ */

struct deferred {
	struct list link;
	Mesos__Master__Call *call;
	char *principal;
	uint64_t number;
};

/* Requests that wait for the same, in the order they came. */
struct deferred_line {
	UT_hash_handle hh; /* master.deferred, by key */
	enum deferral why;
	char *agent_id; /* of DEFER_AGENT */
	char *key;
	struct list requests;
	struct list ready; /* master.deferred_ready */
};

static char *line_key(struct master *m, enum deferral why, const char *agent_id)
{
	return arena_printf(&m->out->arena, "%d%s", (int)why, why == DEFER_AGENT ? agent_id : "");
}

static struct deferred_line *find_line(struct master *m, const char *key)
{
	struct deferred_line *line;

	HASH_FIND_STR(m->deferred, key, line);
	return line;
}

void master_defer(struct master *m, const struct operator_request *request, enum deferral why,
		  const char *agent_id)
{
	const char *key = line_key(m, why, agent_id);
	struct deferred_line *line = find_line(m, key);
	struct deferred *d = xcalloc(1, sizeof(*d));

	if (!line) {
		line = xcalloc(1, sizeof(*line));
		line->why = why;
		line->agent_id = why == DEFER_AGENT ? xstrdup(agent_id) : NULL;
		line->key = xstrdup(key);
		list_init(&line->requests);
		list_init(&line->ready);
		HASH_ADD_KEYPTR(hh, m->deferred, line->key, strlen(line->key), line);
	}
	d->call = proto_copy(request->call);
	d->principal = request->principal ? xstrdup(request->principal) : NULL;
	d->number = request->number;
	list_append(&line->requests, &d->link);
	master_reply(m, 0, "%s", "");
}

static void free_deferred(struct deferred *d)
{
	list_remove(&d->link);
	proto_free(d->call);
	free(d->principal);
	free(d);
}

static void free_line(struct master *m, struct deferred_line *line)
{
	struct deferred *d, *next;

	list_for_each (d, next, &line->requests, link)
		free_deferred(d);
	list_remove(&line->ready);
	HASH_DEL(m->deferred, line);
	free(line->agent_id);
	free(line->key);
	free(line);
}

static void retry(struct master *m, struct deferred *d)
{
	struct operator_request request = {
		.call = STEP_COPY(m, d->call),
		.principal = d->principal,
		.number = d->number,
	};

	operator_dispatch(m, &request);
	if (m->out->reply.status)
		master_answer(m, d->number, m->out->reply.status, "%s", m->out->reply.text);
	master_reply(m, 0, "%s", "");
}

/* Something is being written that the line waits for. */
static bool is_blocked(const struct master *m, const struct deferred_line *line)
{
	switch (line->why) {
	case DEFER_QUOTA:
		return m->quota_writing;
	case DEFER_MAINTENANCE:
		return m->maintenance_writing;
	default:
		return agent_ask(m, line->agent_id, CHANGE_ORDER) == CHANGE_WAITS;
	}
}

void master_deferral_ended(struct master *m, enum deferral why, const char *agent_id)
{
	struct deferred_line *line;

	if (!m->deferred)
		return;
	line = find_line(m, line_key(m, why, agent_id));
	if (line && list_empty(&line->ready))
		list_append(&m->deferred_ready, &line->ready);
}

/* A request that waits again is the first of its line that does: the others are not tried. */
void master_retry_deferred(struct master *m)
{
	struct deferred_line *line;

	while ((line = list_first(&m->deferred_ready, struct deferred_line, ready))) {
		list_remove(&line->ready);
		while (!list_empty(&line->requests) && !is_blocked(m, line)) {
			struct deferred *d = list_first(&line->requests, struct deferred, link);

			retry(m, d);
			free_deferred(d);
		}
		if (list_empty(&line->requests))
			free_line(m, line);
	}
}

void master_free_deferred(struct master *m)
{
	struct deferred_line *line, *next;

	HASH_ITER (hh, m->deferred, line, next)
		free_line(m, line);
}

void master_handle_kill_task(struct master *m, const struct master_event *event)
{
	const char *task_id = event->kill_task.task_id;
	struct framework *f = master_find_framework(m, event->kill_task.framework_id);
	struct task *t = f ? framework_find_task(f, task_id) : NULL;

	if (!m->recovered) {
		master_reply(m, 503, "Master has not finished recovery");
		return;
	}
	if (!f) {
		master_reply(m, 400, "No framework found with specified ID");
		return;
	}
	if (!authorize(m, ACL_TEARDOWN_FRAMEWORK, event->kill_task.principal, f->info->principal)) {
		master_forbid(m, "kill-task", event->kill_task.principal);
		return;
	}
	if (!t) {
		master_reply(m, 404, "Task '%s' of framework '%s' not found", task_id, f->id);
		return;
	}
	log_info("an operator kills task %s of framework %s", t->id, f->id);
	master_kill(m, f, t->id, NULL, NULL);
	master_reply(m, 202, "%s", "");
}

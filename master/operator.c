/* What operators change, by the calls of the operator API. A call that changes the registry
 * is answered once that is durable. */
#include "master/core.h"

#include "base/log.h"

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
};

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
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		if (changes[i].type == request.call->type) {
			changes[i].handle(m, &request);
			return;
		}
	}
	master_reply(m, 501, "%s", "");
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
	if (!t) {
		master_reply(m, 404, "Task '%s' of framework '%s' not found", task_id, f->id);
		return;
	}
	log_info("an operator kills task %s of framework %s", t->id, f->id);
	master_kill(m, f, t->id, NULL, NULL);
	master_reply(m, 202, "%s", "");
}

/* What operators change: teardown of frameworks, agents marked gone, tasks killed. */
#include "master/core.h"

#include "base/log.h"

static void teardown(struct master *m, const char *framework_id)
{
	struct framework *f = framework_id ? master_find_framework(m, framework_id) : NULL;

	if (!f) {
		master_reply(m, 400, "No framework found with specified ID");
		return;
	}
	log_info("an operator tears framework %s down", f->id);
	master_remove_framework(m, f);
	master_reply(m, 200, "%s", "");
}

static void kill_task(struct master *m, const char *framework_id, const char *task_id)
{
	struct framework *f = framework_id ? master_find_framework(m, framework_id) : NULL;
	struct task *t = f && task_id ? framework_find_task(f, task_id) : NULL;

	if (!f) {
		master_reply(m, 400, "No framework found with specified ID");
		return;
	}
	if (!t) {
		master_reply(m, 404, "Task '%s' of framework '%s' not found",
			     task_id ? task_id : "", f->id);
		return;
	}
	log_info("an operator kills task %s of framework %s", t->id, f->id);
	master_kill(m, f, t->id, NULL, NULL);
	master_reply(m, 202, "%s", "");
}

void master_handle_operator(struct master *m, const struct master_event *event)
{
	if (!m->recovered) {
		master_reply(m, 503, "Master has not finished recovery");
		return;
	}
	switch (event->operator_.action) {
	case MASTER_OPERATOR_TEARDOWN:
		teardown(m, event->operator_.framework_id);
		break;
	case MASTER_OPERATOR_KILL_TASK:
		kill_task(m, event->operator_.framework_id, event->operator_.task_id);
		break;
	case MASTER_OPERATOR_MARK_GONE:
		master_mark_gone(m, event->operator_.agent_id, event->operator_.request);
		break;
	}
}

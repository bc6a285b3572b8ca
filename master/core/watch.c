#include "master/core/watch.h"

#include "master/core/emit.h"
#include "master/core/show.h"

#define TYPE(name) MESOS__MASTER__EVENT__TYPE__##name
#define NEW(m, Type, name) STEP_NEW(m, Mesos__Master__##Type, mesos__master__##name##__descriptor)

/* The event; whoever sees frameworks of the user, and tasks of the other one, is told. */
static Mesos__Master__Event *tell(struct master *m, Mesos__Master__Event__Type type,
				  const char *framework_user, const char *task_user)
{
	struct master_action *action = master_emit(m, MASTER_TELL_WATCHERS);
	Mesos__Master__Event *event = NEW(m, Event, event);

	event->has_type = true;
	event->type = type;
	action->tell_watchers.event = event;
	action->tell_watchers.framework_user =
		framework_user ? master_text(m, framework_user) : NULL;
	action->tell_watchers.task_user = task_user ? master_text(m, task_user) : NULL;
	return event;
}

/* ---- tasks ------------------------------------------------------------------------- */

static const char *user_of(struct master *m, const struct task *t)
{
	struct slice user = task_record_user(&t->record);

	return user.data ? arena_strndup(&m->out->arena, user.data, user.len)
			 : t->framework->info->user;
}

static void task_added(struct master *m, const struct task *t)
{
	Mesos__Master__Event *event;

	/* One that is remembered as unreachable is no news. */
	if (!t->agent)
		return;
	event = tell(m, TYPE(TASK_ADDED), t->framework->info->user, user_of(m, t));
	event->task_added = NEW(m, Event__TaskAdded, event__task_added);
	event->task_added->task = task_record_unpack(&t->record, &m->out->arena);
}

/* Results of checks are told though the state is the same. */
static bool is_news(struct master *m, const struct task *t, const Mesos__TaskStatus *status)
{
	const Mesos__TaskStatus *last;

	if (status->has_reason &&
	    (status->reason == MESOS__TASK_STATUS__REASON__REASON_TASK_CHECK_STATUS_UPDATED ||
	     status->reason == MESOS__TASK_STATUS__REASON__REASON_TASK_HEALTH_CHECK_STATUS_UPDATED))
		return true;
	last = task_record_last_status(&t->record, &m->out->arena);
	return !last || last->state != status->state;
}

static void task_updated(struct master *m, const struct task *t, const Mesos__TaskStatus *status)
{
	Mesos__Master__Event__TaskUpdated *update;

	if (!is_news(m, t, status))
		return;
	update = NEW(m, Event__TaskUpdated, event__task_updated);
	update->framework_id = master_framework_id(m, t->framework->id);
	update->status = STEP_COPY(m, (Mesos__TaskStatus *)status);
	/* Not the state that the agent ran ahead to: that one is told with its own status. */
	update->state = status->state;
	tell(m, TYPE(TASK_UPDATED), t->framework->info->user, user_of(m, t))->task_updated = update;
}

/* ---- frameworks ---------------------------------------------------------------------- */

static Mesos__TimeInfo *time_always(struct master *m, int64_t time)
{
	Mesos__TimeInfo *message = STEP_NEW(m, Mesos__TimeInfo, mesos__time_info__descriptor);

	message->nanoseconds = time;
	return message;
}

/* Without what it has. */
static Mesos__Master__Response__GetFrameworks__Framework *show_bare(struct master *m,
								    const struct framework *f)
{
	Mesos__Master__Response__GetFrameworks__Framework *message =
		NEW(m, Response__GetFrameworks__Framework, response__get_frameworks__framework);

	message->framework_info = STEP_COPY(m, f->info);
	message->active = f->active;
	message->connected = framework_connected(f);
	message->recovered = f->state == FRAMEWORK_RECOVERED;
	message->registered_time = time_always(m, f->registered_time);
	message->reregistered_time = time_always(m, f->reregistered_time);
	message->unregistered_time = time_always(m, f->unregistered_time);
	return message;
}

static void framework_added(struct master *m, const struct framework *f)
{
	Mesos__Master__Event *event = tell(m, TYPE(FRAMEWORK_ADDED), f->info->user, NULL);

	event->framework_added = NEW(m, Event__FrameworkAdded, event__framework_added);
	event->framework_added->framework = show_bare(m, f);
}

static void framework_updated(struct master *m, const struct framework *f)
{
	Mesos__Master__Event *event = tell(m, TYPE(FRAMEWORK_UPDATED), f->info->user, NULL);

	event->framework_updated = NEW(m, Event__FrameworkUpdated, event__framework_updated);
	event->framework_updated->framework = show_bare(m, f);
}

static void framework_removed(struct master *m, const struct framework *f)
{
	Mesos__Master__Event *event = tell(m, TYPE(FRAMEWORK_REMOVED), f->info->user, NULL);

	event->framework_removed = NEW(m, Event__FrameworkRemoved, event__framework_removed);
	event->framework_removed->framework_info = STEP_COPY(m, f->info);
}

/* ---- agents ---------------------------------------------------------------------------- */

static void agent_added(struct master *m, const struct agent *a)
{
	const struct view all = {.m = m};
	Mesos__Master__Event *event = tell(m, TYPE(AGENT_ADDED), NULL, NULL);

	event->agent_added = NEW(m, Event__AgentAdded, event__agent_added);
	/* It borrows from the agent, which may be gone when the event is sent. */
	event->agent_added->agent = STEP_COPY(m, master_show_agent(&all, a, &m->out->arena));
}

static void agent_lost(struct master *m, const struct agent *a)
{
	Mesos__Master__Event *event = tell(m, TYPE(AGENT_REMOVED), NULL, NULL);

	event->agent_removed = NEW(m, Event__AgentRemoved, event__agent_removed);
	event->agent_removed->agent_id = master_agent_id(m, a->id);
}

/* ---- the journal ------------------------------------------------------------------------- */

void watch_note(struct master *m, const struct change *change)
{
	if (!m->watched)
		return;
	switch (change->kind) {
	case JOURNAL_TASK_ADDED:
		task_added(m, change->task);
		break;
	case JOURNAL_TASK_STATUS:
		task_updated(m, change->task, change->status);
		break;
	case JOURNAL_FRAMEWORK_ADDED:
		framework_added(m, change->framework);
		break;
	case JOURNAL_FRAMEWORK_SUBSCRIBED:
		framework_updated(m, change->framework);
		break;
	case JOURNAL_FRAMEWORK_ENDED:
		framework_removed(m, change->framework);
		break;
	case JOURNAL_AGENT_ADMITTED:
		agent_added(m, change->agent);
		break;
	case JOURNAL_AGENT_LOST:
		agent_lost(m, change->agent);
		break;
	default:
		break;
	}
}

#include "master/core/view.h"

#include <stdlib.h>
#include <string.h>

#include "master/core/frameworks/frameworks.h"
#include "master/core/objects.h"
#include "master/core/roles/quota.h"

bool view_allows(const struct view *v, enum acl_action action, const char *object)
{
	return acls_allow(v->acls, action, v->principal, object);
}

static bool sees_framework(const struct view *v, const struct framework *f)
{
	return view_allows(v, ACL_VIEW_FRAMEWORK, f->info->user);
}

bool view_sees_role(const struct view *v, const char *role)
{
	return view_allows(v, ACL_VIEW_ROLE, role);
}

/* By the user that it runs as. */
bool view_sees_task(const struct view *v, const struct framework *f,
		    const struct task_record *record)
{
	struct slice user;
	bool sees;
	char *text;

	if (!v->acls)
		return true;
	user = task_record_user(record);
	if (!user.data)
		return view_allows(v, ACL_VIEW_TASK, f->info->user);
	text = xstrndup(user.data, user.len);
	sees = view_allows(v, ACL_VIEW_TASK, text);
	free(text);
	return sees;
}

static const char *user_of_executor(const struct executor *e)
{
	const Mesos__CommandInfo *command = e->info->command;

	return command && command->user ? command->user : e->framework->info->user;
}

static bool sees_executor(const struct view *v, const struct executor *e)
{
	return view_allows(v, ACL_VIEW_EXECUTOR, user_of_executor(e));
}

/* ---- frameworks -------------------------------------------------------------- */

static const struct framework *first_seen(const struct view *v, const struct framework *f)
{
	while (f && !sees_framework(v, f))
		f = f->hh.next;
	return f;
}

const struct framework *view_next_framework(const struct view *v, const struct framework *after)
{
	return first_seen(v, after ? after->hh.next : v->m->frameworks);
}

const struct framework *view_next_completed(const struct view *v, const struct framework *after)
{
	return first_seen(v, after ? after->hh.next : v->m->completed);
}

const struct framework *view_find_framework(const struct view *v, const char *id)
{
	const struct framework *f = master_find_framework(v->m, id);

	if (!f)
		f = master_find_completed(v->m, id);
	return f && sees_framework(v, f) ? f : NULL;
}

/* ---- what frameworks have --------------------------------------------------------- */

/* The next of a list, or NULL at its end. */
#define NEXT_IN(head, after, type, member)                                                         \
	((after) ? ((after)->member.next == (head)                                                 \
			    ? NULL                                                                 \
			    : list_entry((after)->member.next, type, member))                      \
		 : list_first(head, type, member))

const struct executor *view_next_executor(const struct view *v, const struct framework *f,
					  const struct executor *after)
{
	do
		after = NEXT_IN(&f->executors, after, struct executor, by_framework);
	while (after && !sees_executor(v, after));
	return after;
}

const struct offer *view_next_offer(const struct view *v, const struct framework *f,
				    const struct offer *after)
{
	(void)v;
	return NEXT_IN(&f->offers, after, struct offer, by_framework);
}

const struct inverse_offer *view_next_inverse(const struct view *v, const struct framework *f,
					      const struct inverse_offer *after)
{
	(void)v;
	return NEXT_IN(&f->inverse_offers, after, struct inverse_offer, by_framework);
}

static void note_user(void *context, const struct task_record *record)
{
	struct slice *user = context;
	struct slice own = task_record_user(record);

	if (own.data)
		*user = own;
}

/* Who runs it, heap; NULL: nobody that is known. */
static char *sandbox_user(const struct master *m, const char *framework_id, const char *executor_id)
{
	const struct framework *f = master_find_framework(m, framework_id);
	struct slice user = {0};

	if (!f)
		f = master_find_completed(m, framework_id);
	if (!f)
		return NULL;
	for (const struct list *at = f->executors.next; at != &f->executors; at = at->next) {
		const struct executor *e = list_entry(at, struct executor, by_framework);

		if (strcmp(e->info->executor_id->value, executor_id) == 0)
			return xstrdup(user_of_executor(e));
	}
	view_each_task(&(struct view){.m = m}, f, VIEW_ALL_TASKS, executor_id, note_user, &user);
	return user.data ? xstrndup(user.data, user.len) : xstrdup(f->info->user);
}

bool view_opens_sandbox(const struct view *v, const char *framework_id, const char *executor_id)
{
	char *user;
	bool opens;

	if (!v->acls)
		return true;
	user = sandbox_user(v->m, framework_id, executor_id);
	opens = view_allows(v, ACL_ACCESS_SANDBOX, user);
	free(user);
	return opens;
}

/* ---- agents, roles, operations ------------------------------------------------------- */

const struct agent *view_next_agent(const struct view *v, const struct agent *after)
{
	return after ? after->hh.next : v->m->agents;
}

static bool sees_quota(const struct view *v, const char *role)
{
	return view_allows(v, ACL_GET_QUOTA, role);
}

const struct quota *view_next_quota(const struct view *v, const struct quota *after)
{
	do
		after = after ? after->hh.next : v->m->quotas;
	while (after && !sees_quota(v, after->config->role));
	return after;
}

static bool sees_piece(const struct view *v, const struct resource_piece *piece)
{
	const char *role = resource_shape_role(piece->shape);
	const char *allocated = resource_shape_allocation_role(piece->shape);

	/* "*" is what is reserved for nobody. */
	return (!strcmp(role, "*") || view_sees_role(v, role)) &&
	       (!allocated || view_sees_role(v, allocated));
}

const struct resources *view_resources(const struct view *v, const struct resources *all,
				       struct resources *scratch)
{
	if (!v->acls)
		return all;
	resources_clear(scratch);
	for (uint32_t i = 0; i < all->count; i++) {
		if (sees_piece(v, &all->pieces[i]))
			resources_add_piece(scratch, &all->pieces[i]);
	}
	return scratch;
}

/* The role that the operation is about; NULL: none. */
static const char *operation_role(const struct operation *o)
{
	const Mesos__Offer__Operation *info = o->info->info;
	const Mesos__Resource *first = NULL;

	if (info->reserve && info->reserve->n_resources)
		first = info->reserve->resources[0];
	else if (info->unreserve && info->unreserve->n_resources)
		first = info->unreserve->resources[0];
	else if (info->create && info->create->n_volumes)
		first = info->create->volumes[0];
	else if (info->destroy && info->destroy->n_volumes)
		first = info->destroy->volumes[0];
	else if (info->grow_volume)
		first = info->grow_volume->volume;
	else if (info->shrink_volume)
		first = info->shrink_volume->volume;
	return first && first->n_reservations ? first->reservations[first->n_reservations - 1]->role
					      : NULL;
}

const struct operation *view_next_operation(const struct view *v, const struct agent *a,
					    const struct operation *after)
{
	const char *role;

	do {
		after = after ? after->hh.next : a->operations;
		role = after ? operation_role(after) : NULL;
	} while (role && !view_sees_role(v, role));
	return after;
}

/* ---- what operators set ---------------------------------------------------------------- */

Mesos__Quota__QuotaStatus *view_quota_status(const struct view *v, struct arena *arena)
{
	Mesos__Quota__QuotaStatus *status = master_quota_status(v->m, arena);
	size_t kept = 0;

	/* Both lists are in the same order. */
	for (size_t i = 0; i < status->n_configs; i++) {
		if (!sees_quota(v, status->configs[i]->role))
			continue;
		status->configs[kept] = status->configs[i];
		status->infos[kept++] = status->infos[i];
	}
	status->n_configs = status->n_infos = kept;
	return status;
}

size_t view_weight_infos(const struct view *v, struct arena *arena, Mesos__WeightInfo ***list)
{
	size_t count = master_weight_infos(v->m, arena, list), kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (view_sees_role(v, (*list)[i]->role))
			(*list)[kept++] = (*list)[i];
	}
	return kept;
}

/* Machines cannot be told apart by the lists: it is all of them or none. */
Mesos__Maintenance__Schedule *view_maintenance_schedule(const struct view *v, struct arena *arena)
{
	if (view_allows(v, ACL_GET_MAINTENANCE_SCHEDULE, NULL))
		return master_maintenance_schedule(v->m, arena);
	return PROTO_NEW(arena, Mesos__Maintenance__Schedule,
			 mesos__maintenance__schedule__descriptor);
}

Mesos__Maintenance__ClusterStatus *view_maintenance_status(const struct view *v,
							   struct arena *arena)
{
	if (view_allows(v, ACL_GET_MAINTENANCE_STATUS, NULL))
		return master_maintenance_status(v->m, arena);
	return PROTO_NEW(arena, Mesos__Maintenance__ClusterStatus,
			 mesos__maintenance__cluster_status__descriptor);
}

/* ---- tasks ------------------------------------------------------------------------- */

struct seeing {
	const struct view *v;
	const struct framework *f;
	void (*each)(void *context, const struct task_record *record);
	void *context;
};

static void see_task(const struct seeing *s, const struct task_record *record)
{
	if (view_sees_task(s->v, s->f, record))
		s->each(s->context, record);
}

static void see_table(const struct seeing *s, const struct task *tasks, const char *id)
{
	const struct task *t = tasks;

	if (id) {
		HASH_FIND_STR(tasks, id, t);
		if (t)
			see_task(s, &t->record);
		return;
	}
	for (; t; t = t->hh.next)
		see_task(s, &t->record);
}

void view_each_task(const struct view *v, const struct framework *f, unsigned lists, const char *id,
		    void (*each)(void *context, const struct task_record *record), void *context)
{
	struct seeing s = {v, f, each, context};
	struct completed_task *done, *next;

	if (lists & VIEW_TASKS)
		see_table(&s, f->tasks, id);
	if (lists & VIEW_UNREACHABLE_TASKS)
		see_table(&s, f->unreachable, id);
	if (!(lists & VIEW_COMPLETED_TASKS))
		return;
	list_for_each (done, next, &f->completed_tasks, link) {
		if (!id || slice_eq(task_record_id(&done->record), id))
			see_task(&s, &done->record);
	}
}

/* ---- sizes ---------------------------------------------------------------------------- */

size_t view_count_framework_tasks(const struct framework *f)
{
	return HASH_COUNT(f->tasks) + f->unreachable_count + f->completed_task_count;
}

size_t view_count_tasks(const struct view *v)
{
	size_t count = 0;

	for (const struct framework *f = v->m->frameworks; f; f = f->hh.next)
		count += view_count_framework_tasks(f);
	for (const struct framework *f = v->m->completed; f; f = f->hh.next)
		count += view_count_framework_tasks(f);
	return count;
}

size_t view_count_settings(const struct view *v)
{
	return HASH_COUNT(v->m->quotas) + HASH_COUNT(v->m->weights) + HASH_COUNT(v->m->machines);
}

/* Which offers are rescinded for a quota that was changed. Nothing is taken for free by
 * itself, and what is reserved and offered counts twice: rather too many than too few. */
#include <string.h>

#include "master/core/frameworks/frameworks.h"
#include "master/core/offers/offers.h"
#include "master/core/roles/quota.h"

static bool in_subtree(const struct offer *o, const char *role)
{
	return !strcmp(o->role, role) || role_is_strict_subrole(o->role, role);
}

/* What the role has by all that is known now, of one name. */
static double held(const struct role_view *role, const char *name)
{
	return role ? amounts_get(role->allocated, name) + amounts_get(role->idle, name) +
			       amounts_get(role->offered, name)
		    : 0;
}

static bool quota_rescind_within(const struct role_view *role, const struct amount *limits)
{
	for (; limits; limits = limits->next)
		if (held(role, limits->name) > limits->milli)
			return false;
	return true;
}

static bool satisfied(const struct role_view *role, const struct amount *rescinded,
		      const struct amount *guarantees)
{
	for (; guarantees; guarantees = guarantees->next)
		if (held(role, guarantees->name) + amounts_get(rescinded, guarantees->name) <
		    guarantees->milli)
			return false;
	return true;
}

/* Takes the offer out of the view as well. */
static void rescind(struct master *m, struct roles_view *view, struct offer *o)
{
	struct role_view *top =
		roles_view_find(view, arena_strndup(view->arena, o->role, strcspn(o->role, "/")));

	if (top)
		amounts_add_resources(view->arena, &top->offered, &o->resources, -1);
	master_rescind_offer(m, o);
}

void quota_rescind(struct master *m, struct roles_view *view,
		   const Mesos__Quota__QuotaConfig *config)
{
	struct role_view *role = roles_view_find(view, config->role);
	struct amount *limits = quota_limits(config, view->arena), *rescinded = NULL;
	struct amount *guarantees = quota_guarantees(config, view->arena);
	struct offer *o, *next;

	for (o = m->offers; o && !quota_rescind_within(role, limits); o = next) {
		next = o->hh.next;
		if (in_subtree(o, config->role))
			rescind(m, view, o);
	}
	for (o = m->offers; o && !satisfied(role, rescinded, guarantees); o = next) {
		next = o->hh.next;
		if (in_subtree(o, config->role))
			continue;
		amounts_add_resources(view->arena, &rescinded, &o->resources, 1);
		rescind(m, view, o);
	}
}

static size_t frameworks_in(const struct master *m, const char *role)
{
	size_t count = 0;

	for (struct framework *f = m->frameworks; f; f = f->hh.next)
		count += framework_connected(f) && f->active && framework_has_role(f, role);
	return count;
}

static void rescind_of_agent(struct master *m, struct agent *a, struct resources *rescinded)
{
	struct offer *o, *next;

	list_for_each (o, next, &a->offers, by_agent) {
		struct resources plain;

		resources_allocate(m->shapes, &o->resources, NULL, &plain);
		resources_add(rescinded, &plain);
		resources_free(&plain);
		master_rescind_offer(m, o);
	}
}

void quota_rescind_agents(struct master *m, const Mesos__Quota__QuotaConfig *config)
{
	size_t visited = 0, frameworks = frameworks_in(m, config->role);
	struct resources wanted = RESOURCES_INIT, rescinded = RESOURCES_INIT;
	Mesos__Quota__QuotaInfo *info = quota_old_info(config, &m->out->arena);

	resources_add_messages(m->shapes, &wanted, info->guarantee, info->n_guarantee);
	for (struct agent *a = m->agents; a; a = a->hh.next) {
		if (visited >= frameworks && resources_contain(&rescinded, &wanted))
			break;
		if (!agent_registered(a) || !agent_active(a) || list_empty(&a->offers))
			continue;
		rescind_of_agent(m, a, &rescinded);
		visited++;
	}
	resources_free(&wanted);
	resources_free(&rescinded);
}

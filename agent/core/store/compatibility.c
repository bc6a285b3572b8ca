/* --reconfiguration_policy: whether the stored agent info allows a start with the present
 * flags. */
#include "agent/core/objects.h"

#include <string.h>

#include "agent/core/store/recovery.h"

static void compatibility_load(struct agent *agent, const Mesos__AgentInfo *info,
			       struct resources *out)
{
	resources_add_messages(agent->options.shapes, out, info->resources, info->n_resources);
}

static int same_place(const Mesos__AgentInfo *old, const Mesos__AgentInfo *new, struct err *err)
{
	if (strcmp(old->hostname, new->hostname) != 0)
		return err_set(err, ERR_STATE, "Hostname changed from %s to %s", old->hostname,
			       new->hostname);
	if (old->port != new->port)
		return err_set(err, ERR_STATE, "Port changed from %d to %d", old->port, new->port);
	return 0;
}

static int check_domain(const Mesos__AgentInfo *old, const Mesos__AgentInfo *new, bool additive,
			struct err *err)
{
	if (!old->domain && (!new->domain || additive))
		return 0;
	if (old->domain && new->domain && proto_equal(old->domain, new->domain))
		return 0;
	return err_set(err, ERR_STATE, "Domain changed");
}

/* Every old resource, at least as much of it. */
static int check_resources(struct agent *agent, const Mesos__AgentInfo *old, bool additive,
			   struct err *err)
{
	struct resources before = RESOURCES_INIT, after = RESOURCES_INIT;
	struct buf text = BUF_INIT;
	int rv = 0;

	compatibility_load(agent, old, &before);
	compatibility_load(agent, agent->info, &after);
	if (additive ? !resources_contain(&after, &before) : !resources_equal(&before, &after)) {
		resources_print(&before, &text);
		buf_puts(&text, " to ");
		resources_print(&after, &text);
		rv = err_set(err, ERR_STATE, "Resources changed from %s", text.data);
	}
	buf_free(&text);
	resources_free(&before);
	resources_free(&after);
	return rv;
}

static const Mesos__Attribute *find_attribute(const Mesos__AgentInfo *info, const char *name)
{
	for (size_t i = 0; i < info->n_attributes; i++) {
		if (strcmp(info->attributes[i]->name, name) == 0)
			return info->attributes[i];
	}
	return NULL;
}

static bool range_inside(const Mesos__Value__Range *range, const Mesos__Value__Ranges *all)
{
	for (size_t i = 0; all && i < all->n_range; i++) {
		if (all->range[i]->begin <= range->begin && range->end <= all->range[i]->end)
			return true;
	}
	return false;
}

static bool attribute_grew(const Mesos__Attribute *old, const Mesos__Attribute *new)
{
	if (proto_equal(old, new))
		return true;
	if (old->type != MESOS__VALUE__TYPE__RANGES || new->type != old->type || !old->ranges)
		return false;
	for (size_t i = 0; i < old->ranges->n_range; i++) {
		if (!range_inside(old->ranges->range[i], new->ranges))
			return false;
	}
	return true;
}

static int check_attributes(const Mesos__AgentInfo *old, const Mesos__AgentInfo *new, bool additive,
			    struct err *err)
{
	if (!additive && old->n_attributes != new->n_attributes)
		return err_set(err, ERR_STATE, "The number of attributes changed");
	for (size_t i = 0; i < old->n_attributes; i++) {
		const Mesos__Attribute *was = old->attributes[i];
		const Mesos__Attribute *is =
			additive ? find_attribute(new, was->name) : new->attributes[i];

		if (!is)
			return err_set(err, ERR_STATE, "Couldn't find attribute %s", was->name);
		if (additive ? !attribute_grew(was, is) : !proto_equal(was, is))
			return err_set(err, ERR_STATE, "Attribute %s changed", was->name);
	}
	return 0;
}

int agent_info_compatible(struct agent *agent, const Mesos__AgentInfo *old, struct err *err)
{
	const Mesos__AgentInfo *new = agent->info;
	bool additive = strcmp(agent->options.reconfiguration_policy, "additive") == 0;

	if (same_place(old, new, err) < 0 || check_domain(old, new, additive, err) < 0 ||
	    check_resources(agent, old, additive, err) < 0 ||
	    check_attributes(old, new, additive, err) < 0)
		return err_wrap(err, ERR_STATE,
				"%sConfiguration change not permitted under `%s` policy",
				additive ? "" : "Incompatible agent info detected. ",
				agent->options.reconfiguration_policy);
	return 0;
}

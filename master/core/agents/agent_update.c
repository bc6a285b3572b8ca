/* What agents report of themselves after they registered (UpdateSlaveMessage): the version of
 * their resources, what is oversubscribed, and the operations they know.
 */
#include "master/core/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/agents/agent_health.h"
#include "master/core/agents/agents.h"
#include "master/core/agents/drain.h"
#include "master/core/journal.h"
#include "master/core/offers/offers.h"
#include "master/core/operations/operation_feedback.h"
#include "master/core/tasks/task_validate.h"

static bool oversubscribed_valid(const Mesos__Internal__UpdateSlaveMessage *message,
				 struct err *err)
{
	if (resources_validate(message->oversubscribed_resources,
			       message->n_oversubscribed_resources, err))
		return false;
	for (size_t i = 0; i < message->n_oversubscribed_resources; i++) {
		if (!message->oversubscribed_resources[i]->revocable)
			return !err_set(err, ERR_INVALID, "resource %s is not revocable",
					message->oversubscribed_resources[i]->name);
	}
	return true;
}

static void update_oversubscribed(struct master *m, struct agent *a,
				  const Mesos__Internal__UpdateSlaveMessage *message)
{
	struct resources total = RESOURCES_INIT;
	struct offer *o, *next;

	for (uint32_t i = 0; i < a->total.count; i++) {
		if (!resource_shape_revocable(a->total.pieces[i].shape))
			resources_add_piece(&total, &a->total.pieces[i]);
	}
	for (size_t i = 0; i < message->n_oversubscribed_resources; i++)
		resource_upgrade(&m->out->arena, message->oversubscribed_resources[i]);
	master_resources(m, message->oversubscribed_resources, message->n_oversubscribed_resources,
			 &total);
	if (resources_equal(&total, &a->total)) {
		resources_free(&total);
		return;
	}
	resources_free(&a->total);
	a->total = total;
	list_for_each (o, next, &a->offers, by_agent) {
		if (resources_have_revocable(&o->resources))
			master_rescind_offer(m, o);
	}
	journal_agent(m, JOURNAL_AGENT_HELD, a);
	allocator_update_agent(m->allocator, a->alloc, &a->total);
}

/* Orders are for the version told last, as with Mesos. If the agent did not register with it,
 * what it registered with came late, from before a restart perhaps, and says nothing of what
 * it has now. */
static void hear_version(struct master *m, struct agent *a, const ProtobufCBinaryData *uuid)
{
	bool known = a->resource_version != NULL;

	if (known && uuid->len == a->resource_version_len &&
	    !memcmp(uuid->data, a->resource_version, uuid->len))
		return;
	free(a->resource_version);
	a->resource_version = xmemdup(uuid->data, uuid->len);
	a->resource_version_len = uuid->len;
	journal_agent(m, JOURNAL_AGENT_CHANGED, a);
	if (!known)
		return;
	log_warning("agent %s has changed since it registered: asking it to register again", a->id);
	master_ask_again(m, a);
}

void master_update_agent(struct master *m, struct agent *a,
			 const Mesos__Internal__UpdateSlaveMessage *message)
{
	struct err err = {{0}};

	a->drain_blind = false;
	master_touch_drain(m, a);
	if (message->resource_version_uuid)
		hear_version(m, a, &message->resource_version_uuid->value);
	if (a->resource_provider)
		master_compare_operations(m, a, message->operations);
	if (message->has_update_oversubscribed_resources &&
	    !message->update_oversubscribed_resources)
		return;
	if (oversubscribed_valid(message, &err))
		update_oversubscribed(m, a, message);
	else
		log_warning("ignored the oversubscribed resources of agent %s: %s", a->id,
			    err.text);
}

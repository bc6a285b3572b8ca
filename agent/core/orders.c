/* Orders of the master wait while directories of volumes are being made: they may take long,
 * and what was ordered after them must find our resources, our operations and our tasks as
 * if they had taken no time. Pings and acknowledgements go on, and all that executors say.
 *
 * Happy path: the directories are there, the change is taken, then the orders are carried
 * out in their turn, up to the next one that needs directories; then the agent registers,
 * if that was due.
 * Failures: too many orders are dropped, and the master is told all that we have by another
 * registration. Those of a master that is no longer ours are dropped by their handlers; answers
 * to a registration when another one is due, which they would be taken for an answer to. */
#include "agent/core/orders.h"

#include <string.h>

#include "agent/core/agent_core.h"
#include "agent/core/objects.h"
#include "agent/core/registration.h"

struct order {
	struct list link;
	ProtobufCMessage *message; /* heap */
	char from[];
};

static void order_free(struct agent *agent, struct order *order)
{
	list_remove(&order->link);
	agent->order_count--;
	proto_free(order->message);
	free(order);
}

void agent_orders_free(struct agent *agent)
{
	struct order *order, *next;

	list_for_each (order, next, &agent->orders, link)
		order_free(agent, order);
}

void agent_orders_drop_answers(struct agent *agent)
{
	struct order *order, *next;

	list_for_each (order, next, &agent->orders, link) {
		const ProtobufCMessageDescriptor *type = order->message->descriptor;

		if (type == &mesos__internal__slave_registered_message__descriptor ||
		    type == &mesos__internal__slave_reregistered_message__descriptor)
			order_free(agent, order);
	}
}

bool agent_order_keep(struct agent *agent, const char *from, const ProtobufCMessage *message)
{
	struct order *order;

	/* Its handler says what is wrong with another sender. */
	if (list_empty(&agent->changes) || !agent->master || strcmp(agent->master, from) != 0)
		return false;
	if (agent->order_count == AGENT_ORDERS_MAX) {
		log_error("Dropped %s: too much waits for directories of volumes",
			  message->descriptor->name);
		agent_redetect(agent, "orders of it were dropped");
		return true;
	}
	order = xcalloc(1, sizeof(*order) + strlen(from) + 1);
	order->message = proto_copy(message);
	strcpy(order->from, from);
	list_append(&agent->orders, &order->link);
	agent->order_count++;
	return true;
}

void agent_orders_resume(struct agent *agent)
{
	struct order *order;

	while (list_empty(&agent->changes) &&
	       (order = list_first(&agent->orders, struct order, link))) {
		/* Actions may point into the message. */
		void *message = proto_copy_to(&agent->out->arena, order->message);
		char *from = arena_strdup(&agent->out->arena, order->from);

		order_free(agent, order);
		agent_handle_message(agent, from, message);
	}
	if (list_empty(&agent->changes))
		agent_registration_resume(agent);
}

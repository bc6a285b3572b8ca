/* Orders of the master that wait while directories of volumes are made. */
#ifndef AGENT_CORE_ORDERS_H
#define AGENT_CORE_ORDERS_H

#include "agent/core/objects.h"

/* True: the order was kept (or dropped) because others come first. */
bool agent_order_keep(struct agent *agent, const char *from, const ProtobufCMessage *message);
void agent_orders_resume(struct agent *agent);	     /* nothing is being made any more */
void agent_orders_drop_answers(struct agent *agent); /* to the registration that was */
void agent_orders_free(struct agent *agent);

#endif

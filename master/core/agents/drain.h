/* What operators say of agents: draining, deactivation, reactivation. */
#ifndef MASTER_CORE_AGENTS_DRAIN_H
#define MASTER_CORE_AGENTS_DRAIN_H

#include "master/core/objects.h"

struct operator_request;

void master_drain(struct master *m, const struct operator_request *request);
void master_deactivate(struct master *m, const struct operator_request *request);
void master_reactivate(struct master *m, const struct operator_request *request);
/* What was said of an agent follows it into being unreachable, and back. */
void master_keep_orders(struct departed *d, struct agent *a);
void master_take_orders(struct agent *a, struct departed *d);
/* DrainSlaveMessage, if it drains. */
void master_repeat_drain(struct master *m, struct agent *a);
/* Something ended on the agent: it may be drained at the end of the step. */
void master_touch_drain(struct master *m, struct agent *a);
void master_check_drains(struct master *m);

#endif

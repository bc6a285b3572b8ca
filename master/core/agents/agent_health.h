/* Pings of agents, and their removal. */
#ifndef MASTER_CORE_AGENTS_AGENT_HEALTH_H
#define MASTER_CORE_AGENTS_AGENT_HEALTH_H

#include "master/core/objects.h"

void master_observe_agent(struct master *m, struct agent *a); /* first ping now */
void master_unobserve_agent(struct master *m, struct agent *a);
void master_ping_due(struct master *m, struct agent *a);
/* What we know of its total is not true (any more): it is to register again. */
void master_ask_again(struct master *m, struct agent *a);
void master_pong(struct master *m, const char *from);
/* The agent is to be marked unreachable as soon as the rate limit allows. The record
 * itself stays until that is durable. */
void master_schedule_removal(struct master *m, struct agent *a, const char *cause);
void master_cancel_removal(struct master *m, struct agent *a);
/* A change of the agent is stored: what waited for that goes on, be it that it is marked
 * unreachable or that it unregistered. */
void master_resume_leaving(struct master *m, const char *id);
void master_removal_due(struct master *m);
void master_recovery_expired(struct master *m);
void master_reregister_expired(struct master *m, struct agent *a);

#endif

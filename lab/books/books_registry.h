/* The registry: who is admitted, unreachable or gone, and what operators were told. Rules: books.h.
 */
#ifndef LAB_BOOKS_BOOKS_REGISTRY_H
#define LAB_BOOKS_BOOKS_REGISTRY_H

#include "lab/books/records.h"

struct known_agent *books_known(struct books *b, const char *id); /* made if missing */
/* A record "<kind>/<id>"; without data it is deleted. */
void books_registry_written(struct books *b, const char *kind, const char *id, struct slice value);
void books_maintenance_written(struct books *b, struct slice value);
void books_forget_registry(struct books *b);
void books_check_registry(struct books *b);
/* What the master says of an agent must be durable. */
void books_said_lost(struct books *b, const char *agent_id);
void books_said_admitted(struct books *b, const char *agent_id);
void books_said_back(struct books *b, const char *agent_id);
/* Somebody said that it is gone, or its machine down. */
bool books_wanted_away(const struct books *b, const char *agent_id);
bool books_master_paused(const struct books *b);
void books_registry_began(struct books *b);
void books_audit_agents(struct books *b);
/* An operator is told that the call is carried out. */
/* `overtaken`: another call of the kind came later and is not answered. */
void books_operated(struct books *b, const Mesos__Master__Call *call, bool overtaken);
void books_free_registry(struct books *b);

/* A write takes no longer, on a disk that was not slow for some time. */
#define STORE_HIGH (600 * MILLISECOND) /* masters in a rush let records wait for 500 */
#define SLOW_HIGH (5 * SECOND)

#endif

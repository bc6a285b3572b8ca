/* The registry of a master that is one of several: the production backend of ZooKeeper on a thread
 * of the process, with the grouping of the store. Belongs to one life of a process. */
#ifndef LAB_ENSEMBLE_SHARED_REGISTRY_H
#define LAB_ENSEMBLE_SHARED_REGISTRY_H

#include "lab/world/process.h"
#include "store/store.h"

struct shared_registry;

struct shared_registry_handlers {
	/* On its thread: it is opened; the note of before. */
	void (*opened)(void *context, const char *holder, const char *note, bool cached);
	/* On its thread: a pair of it. */
	int (*pair)(void *context, struct slice key, struct slice value);
	/* All of it is read. */
	void (*loaded)(void *context);
	/* Batches became durable, or a note. */
	void (*progress)(void *context);
	/* For good. */
	void (*failed)(void *context, const char *why);
};

/* `cache`: NULL, or copied. */
struct shared_registry *shared_registry_open(struct process *process,
					     const struct store_cache *cache,
					     const struct shared_registry_handlers *handlers,
					     void *context);
/* The process ends. */
void shared_registry_drop(struct shared_registry *registry);
/* Returns the batch's number, from 1. */
uint64_t shared_registry_write(struct shared_registry *registry, enum store_class class,
			       const struct store_op *ops, size_t count);
/* As store_note() and store_noted(). */
uint64_t shared_registry_note(struct shared_registry *registry, const char *text);
uint64_t shared_registry_noted(const struct shared_registry *registry);
/* As store_mark(). */
uint64_t shared_registry_mark(struct shared_registry *registry, char mark[STORE_MARK_MAX]);
uint64_t shared_registry_durable(const struct shared_registry *registry);

#endif

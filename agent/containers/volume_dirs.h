/* Persistent volumes on disk: their directories, their links in sandboxes, their removal. */
#ifndef AGENT_CONTAINERS_VOLUME_DIRS_H
#define AGENT_CONTAINERS_VOLUME_DIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "agent/containers/slow.h"
#include "agent/core/agent.h"

/* A copy of the list in the arena. */
struct agent_volumes volumes_copy(struct arena *arena, const struct agent_volumes *list);

/* Makes the directories (mode 0755) and what is above them; those that are there already
 * stay. On failure those made here are removed again. */
int volume_make(char *const *paths, size_t count, struct err *err);

/* Symlinks <sandbox>/<name> to each volume, and gives the volume to the sandbox's owner if
 * it may (not for root). Links that are there and right stay. Nothing is ever followed out
 * of the sandbox: its owner may have put anything there. */
int volume_link(const char *sandbox, const struct agent_volumes *volumes, struct err *err);
/* Removes links to exactly these volumes; whatever else has their names stays. */
int volume_unlink(const char *sandbox, const struct agent_volumes *volumes, struct err *err);

/* Removes the data of volumes, one after the other, in a lane of the pool. What fails is
 * tried again, at growing intervals, until it succeeds. */
struct volume_remover;

struct volume_remover *volume_remover_create(uv_loop_t *loop, struct slow_pool *pool,
					     void (*removed)(void *context, const char *path),
					     void *context);
/* `mount`: the directory itself stays. `removed` is never called inside of this. */
void volume_remover_add(struct volume_remover *remover, const char *path, bool mount);
void volume_remover_close(struct volume_remover *remover); /* frees itself from the loop */

#endif

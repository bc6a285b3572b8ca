/* Persistent volumes: their directories, and links to them in sandboxes. */
#ifndef AGENT_CORE_RESOURCES_VOLUMES_H
#define AGENT_CORE_RESOURCES_VOLUMES_H

#include "agent/core/objects.h"

struct volume {
	char *path; /* absolute; in the step's arena */
	const char *id;
	bool mount;
};
struct volumes {
	struct volume *items; /* by path */
	size_t count;
};
/* ERR_INVALID: one that cannot have a directory, or two with the same one. */
int agent_volumes_of(struct agent *agent, const struct resources *resources, struct volumes *out,
		     struct err *err);
/* Heap. `mount`: the path is a disk's root. */
int agent_volume_path(const struct agent *agent, const Mesos__Resource *volume, char **path,
		      bool *mount, struct err *err);
/* Until they are made the master's orders wait. */
struct change *agent_make_volumes(struct agent *agent, const struct volumes *list);
struct removal *agent_removal_find(struct agent *agent, const char *path);
/* Its data is to go once this step is stored. */
void agent_remove_volume(struct agent *agent, const struct volume *volume,
			 struct operation *operation);
void agent_removal_start(struct agent *agent, const char *path);
void agent_handle_volume_removed(struct agent *agent, const char *path);
int agent_load_removal(struct agent *agent, const char *path, const char *text, struct err *err);
void agent_free_removals(struct agent *agent);

/* What a new executor gets; false: not before old data is gone, when it is launched again. */
bool agent_links_launch(struct agent *agent, struct executor *executor, struct agent_volumes *out);
/* Whether the volumes of its tasks are in its sandbox; if not, delivery goes on when they are. */
bool agent_links_ready(struct agent *agent, struct executor *executor);
void agent_links_recover(struct agent *agent, struct executor *executor);
void agent_links_release(struct agent *agent); /* those that were held */
void agent_links_free(struct executor *executor);
void agent_handle_volumes_linked(struct agent *agent, const struct agent_event *event);

#endif

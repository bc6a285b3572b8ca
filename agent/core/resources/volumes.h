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
/* Makes the path of a volume, on the heap. `mount` says whether it is the root of a disk. */
int agent_volume_path(const struct agent *agent, const Mesos__Resource *volume, char **path,
		      bool *mount, struct err *err);
/* Asks for the directories. The master's orders wait until they are made. */
struct change *agent_make_volumes(struct agent *agent, const struct volumes *list);
struct removal *agent_removal_find(struct agent *agent, const char *path);
/* Removes the volume's data once this step is stored. */
void agent_remove_volume(struct agent *agent, const struct volume *volume,
			 struct operation *operation);
void agent_removal_start(struct agent *agent, const char *path);
void agent_handle_volume_removed(struct agent *agent, const char *path);
int agent_load_removal(struct agent *agent, const char *path, const char *text, struct err *err);
void agent_free_removals(struct agent *agent);

/* Lists the volumes of a new executor. Returns false if old data of one has to go first: the
 * executor is launched when it is gone. */
bool agent_links_launch(struct agent *agent, struct executor *executor, struct agent_volumes *out);
/* Whether the volumes of its tasks are in its sandbox. If not, delivery goes on when they are. */
bool agent_links_ready(struct agent *agent, struct executor *executor);
void agent_links_recover(struct agent *agent, struct executor *executor);
void agent_links_release(struct agent *agent); /* those that were held */
void agent_links_free(struct executor *executor);
void agent_handle_volumes_linked(struct agent *agent, const struct agent_event *event);

#endif

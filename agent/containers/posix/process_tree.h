/* Processes as /proc tells of them, and killing all of a container. */
#ifndef AGENT_CONTAINERS_POSIX_PROCESS_TREE_H
#define AGENT_CONTAINERS_POSIX_PROCESS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
	pid_t pid;
	pid_t parent;
	pid_t group;
	pid_t session;
	char state;	      /* 'Z' = a zombie */
	uint64_t start_ticks; /* since boot; with the pid names a process for good */
	uint64_t user_ticks;
	uint64_t system_ticks;
	uint64_t rss_pages;
	bool member; /* scratch of whoever walks the list */
};

struct process_list {
	struct process *items;
	size_t count;
};

/* False: no such process. */
bool process_read(pid_t pid, struct process *out);
/* All processes of the machine. */
void process_list_read(struct process_list *list);
void process_list_free(struct process_list *list);
/* Marks as members `root`, its descendants, and who is in a session or group that a
 * member leads. Returns how many members there are. */
size_t process_list_mark(struct process_list *list, pid_t root);

/* The pids of this process's own children, ended by 0. Heap. In proportion to their
 * number, not to that of the machine's processes. */
pid_t *process_children(void);

/* Sends the signal to the tree of `root`, which the caller knows to be the right process, and lets
 * it go on. `adopted`: orphans of it may be our children by now, as we are their subreaper; they
 * are known by its sessions and groups. All are stopped before the first is signalled, so none gets
 * away by forking. Returns how many were signalled. In proportion to the tree. */
size_t process_tree_signal(pid_t root, int signal, bool adopted);
/* Kills what a dead container whose first process was `root` left behind: members of
 * the sessions and groups it led, and (as its children may have made their own)
 * whose environment says MESOS_DIRECTORY=.../<container>. Returns how many live ones
 * it found. Walks all of /proc. */
size_t process_tree_kill_left(pid_t root, const char *container);
/* The oldest session leader whose environment says so; 0 if there is none. */
pid_t process_find_container(const char *container);

#endif

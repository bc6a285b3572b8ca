/* What a container has beside its processes, a file each: a control group, a Docker container, a
 * room with its image, networks, the streams of a session, what is kept of its end. Internal to
 * posix/.
 */
#ifndef AGENT_CONTAINERS_POSIX_POSIX_PARTS_H
#define AGENT_CONTAINERS_POSIX_POSIX_PARTS_H

#include "agent/containers/posix/posix_internal.h"

/* ---- posix_groups.c -------------------------------------------------------- */

void posix_limit(void *posix, const char *id, const struct agent_limits *limits);
/* On a thread. */
int posix_group_make(struct posix_container *container, const struct agent_launch *launch,
		     struct err *err);
void posix_group_made(struct posix_container *container);
/* Tells if it runs out of memory, or did. */
void posix_group_watch(struct posix_container *container);
void posix_group_unwatch(struct posix_container *container);
/* Kills what is left in its group and removes that; posix_clean_rest() follows. */
void posix_group_clean(struct posix_container *container);
/* Removes the group of one that is over. */
void posix_group_drop(struct posix_container *container);

/* ---- posix_docker.c -------------------------------------------------------- */

/* On a thread. */
int posix_docker_mark(struct posix_container *container, struct err *err);
bool posix_docker_marked(const struct posix *posix, const char *id);
/* False: there is nothing to wait for. Else its process, which ends soon, removes the Docker
 * container; posix_docker_removed() then. */
bool posix_docker_remove(struct posix_container *container);
void posix_docker_removed(struct posix_container *container);
/* There is none of it any more. */
void posix_docker_unmark(const struct posix_container *container);

/* ---- posix_room.c ------------------------------------------------------------ */

enum posix_room posix_room_kind(const struct posix_container *container,
				const struct agent_launch *launch);
/* Makes the message of it; after all else that is prepared. On a thread. */
int posix_room_make(struct posix_container *container, const struct agent_launch *launch,
		    struct err *err);
/* Has the image of its root pulled; posix_prepare_on() follows, unless that fails. */
void posix_room_await_image(struct posix_container *container);
/* Waits no more. False: it did not. */
bool posix_room_give_up(struct posix_container *container);
/* Removes what it has on disk, when it is over. */
void posix_room_drop(struct posix_container *container);
/* posix_sweep(), if it is under way, asks no more who is known. */
void posix_sweep_close(struct posix *posix);

/* ---- posix_network.c -------------------------------------------------------- */

bool posix_network_needed(const struct posix_container *container);
/* Has it join; posix_prepare_on() follows, unless that fails. */
void posix_network_await(struct posix_container *container);
/* Waits no more. False: it did not. */
bool posix_network_give_up(struct posix_container *container);
/* Leaves them, when it is over. */
void posix_network_drop(struct posix_container *container);

/* ---- posix_session.c -------------------------------------------------------- */

/* Makes both ends of the streams of a session that is about to start. */
int posix_session_open(struct posix_container *container, const Mesos__ContainerInfo *info,
		       struct err *err);
void posix_session_close(struct posix_container *container);

/* ---- posix_status.c -------------------------------------------------------- */

/* "--status=..." for init, in the start's arena, or NULL when there is no place for it. */
char *posix_status_make(const struct posix *posix, const char *id, struct posix_start *start);
bool posix_status_read(const struct posix *posix, const char *id, int *status);
void posix_status_remove(const struct posix *posix, const char *id);

#endif

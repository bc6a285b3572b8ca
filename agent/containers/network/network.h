/* Networks of containers by the Container Network Interface (github.com/containernetworking/cni,
 * SPEC.md): plugins, which are programs, put interfaces into a network namespace.
 *
 * A container that names networks gets a namespace that outlives its processes, mounted at
 * <runtime_dir>/networks/<id>/ns. `mesita network join` makes it and runs the plugins before the
 * container starts; `mesita network leave` runs them again when it is over, or after a restart that
 * finds nobody who knows it. What lies beside `ns`: the plan, which says what is joined; the
 * result; and the files by which the container looks up names. */
#ifndef AGENT_CONTAINERS_NETWORK_NETWORK_H
#define AGENT_CONTAINERS_NETWORK_NETWORK_H

#include <uv.h>

#include "agent/containers/slow.h"
#include "base/memory/arena.h"
#include "proto/proto.h"

struct networks;
struct network_want;

struct networks_options {
	uv_loop_t *loop;
	struct slow_pool *pool;
	const char *program;	    /* absolute path of the mesita binary */
	const char *runtime_dir;    /* absolute */
	const char *plugins;	    /* directories of plugins, ':' between them */
	const char *configurations; /* directory of what describes networks */
};

/* Whether a container (info may be NULL) names networks to join. */
bool network_wanted(const Mesos__ContainerInfo *info);

/* The options' strings must outlive it. */
struct networks *networks_create(const struct networks_options *options);
/* After all wants were canceled or answered. What is left is left; frees itself from the loop. */
void networks_close(struct networks *networks);
/* Whether the child of this process joins or leaves a network. */
bool networks_owns(const struct networks *networks, pid_t pid);

/* `ready` is called once, later: with NULL and what was joined, or with what went wrong. Then, or
 * when it is canceled, networks_leave() still has to follow. */
struct network_want *networks_join(struct networks *networks, const char *id,
				   const Mesos__ContainerInfo *info,
				   void (*ready)(void *context, const char *failure,
						 const Mesos__ContainerStatus *status),
				   void *context);
/* Without the call. */
void network_want_cancel(struct network_want *want);
/* The container is over; fine if it never joined anything. */
void networks_leave(struct networks *networks, const char *id);
/* Leaves for containers of an earlier life that are not known. */
void networks_sweep(struct networks *networks, bool (*known)(void *context, const char *id),
		    void *context);

/* Path of a file of a container's, in the arena: "ns", "hosts", "hostname", "resolv.conf". Those
 * inside of others have what the outermost has. */
char *network_file(struct arena *arena, const char *runtime_dir, const char *id, const char *name);

/* `mesita network join|leave DIRECTORY`: a container's own one, which has a plan. Exit status 1:
 * what failed is in its file `failure`. */
int network_main(int argc, char **argv);

#endif

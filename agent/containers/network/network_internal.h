/* What the files of networks share. Nobody else includes this.
 *
 *	networks.c		processes that join and leave
 *	network_plan.c		from names to configurations, and what came of them
 *	network_main.c		joining and leaving, in a process of its own
 *	network_plugin.c	running a plugin
 *	network_files.c		hosts, hostname, resolv.conf */
#ifndef AGENT_CONTAINERS_NETWORK_NETWORK_INTERNAL_H
#define AGENT_CONTAINERS_NETWORK_NETWORK_INTERNAL_H

#include "agent/containers/network/network.h"
#include "base/err.h"
#include "base/json/json.h"

#define NETWORK_FILE_MAX (1u << 20) /* bytes of a configuration, a result and the like */

/* ---- network_plan.c: may be slow ------------------------------------------------ */

/* Makes the directory of a container and writes down what it joins. */
int network_plan_write(const struct networks_options *options, const char *id,
		       const Mesos__ContainerInfo *info, struct err *err);
/* What came of it, on the heap; or NULL, with what went wrong. */
Mesos__ContainerStatus *network_result_read(const char *directory, struct err *err);
/* A document of NETWORK_FILE_MAX at most, in the arena. */
int network_json_read(const char *path, struct arena *arena, struct json **out, struct err *err);
/* Through a new file, so that there is all of it or nothing. */
int network_file_write(const char *path, struct slice text, struct err *err);

/* ---- network_plugin.c ------------------------------------------------------------- */

struct network_call {
	const char *command; /* "ADD", "DEL" */
	const char *container;
	const char *namespace; /* path */
	const char *interface;
	const char *plugins;	    /* directories */
	const struct json *network; /* of the plan */
	size_t plugin;		    /* which of its plugins */
	const struct json *before;  /* result of the ones before, or NULL */
};

/* Runs it and gives its result, in the arena (NULL: it says nothing). Takes a minute at most. */
int network_plugin_run(const struct network_call *call, struct arena *arena, struct json **result,
		       struct err *err);

/* ---- network_files.c ---------------------------------------------------------------- */

/* Writes those by which names are looked up. `results`: of all networks. */
int network_files_write(const char *directory, const char *hostname,
			const struct json *const *results, size_t count, struct err *err);
/* Each address of a result, "10.1.2.3/24", whichever version of the interface it is in. */
void network_each_address(const struct json *result,
			  void (*each)(void *context, const char *address, bool ipv6),
			  void *context);

#endif

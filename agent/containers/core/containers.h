/* The life of containers: what the agent asks of them, a backend does, and the agent hears of.
 * Pure; the backends are posix/ and, in the simulator, lab/parts/agent_containers.c.
 *
 * Life (the table is in containers.c): PREPARING -> FETCHING (only if there are URIs) ->
 * RUNNING -> ENDING -> CLEANING -> over. One of an earlier agent begins with FINDING. What cannot
 * be prepared, fetched or started is over at once.
 *
 * Containers are a tree: the id of one inside of another is that one's, a dot and its own. It
 * starts only while its parent runs, is destroyed with it, and is over before it.
 */
#ifndef AGENT_CONTAINERS_CORE_CONTAINERS_H
#define AGENT_CONTAINERS_CORE_CONTAINERS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/core/agent.h"

enum container_stage {
	CONTAINER_PREPARING, /* its directories are made */
	CONTAINER_FETCHING,
	CONTAINER_FINDING,  /* is there a process of it? */
	CONTAINER_RUNNING,  /* its first process lives */
	CONTAINER_ENDING,   /* that ended; the containers inside are being destroyed */
	CONTAINER_CLEANING, /* what that left behind is killed */
	CONTAINER_STAGES,
};

/* What carries containers out. Nothing may block; each deed is answered by the function named for
 * it, now or later, once. All of them get the backend's context. */
struct container_backend {
	/* containers_prepared() or containers_failed(). The launch is valid inside the call. */
	void (*prepare)(void *context, const struct agent_launch *launch);
	/* What it waits for while it is prepared (an image, a network) is wanted no more: that is
	 * answered the sooner. NULL: nothing takes long. */
	void (*give_up)(void *context, const char *id);
	/* containers_fetched() or containers_failed(). */
	void (*fetch)(void *context, const char *id);
	/* containers_started() or containers_failed(); containers_ended() follows in time. */
	void (*start)(void *context, const char *id);
	/* containers_started(), or containers_ended() if it is not there. `pid` 0: it is not known,
	 * the process is looked for. */
	void (*find)(void *context, const char *id, int64_t pid, uint64_t start_ticks);
	/* All of its processes, or its fetcher: that answers what is under way the sooner. */
	void (*kill)(void *context, const char *id);
	/* What one that has limits of its own may use from now on; containers_limited() if that
	 * fails. */
	void (*limit)(void *context, const char *id, const struct agent_limits *limits);
	/* To the first process alone, which runs. */
	void (*signal)(void *context, const char *id, int signal);
	/* containers_cleaned(). */
	void (*clean)(void *context, const char *id);
	/* No answer comes any more. `over`: nothing of it is kept; else the agent ends, and what
	 * runs goes on, but for a fetcher, which is killed at once. */
	void (*forget)(void *context, const char *id, bool over);
	/* Of a container inside of another that is over: how it ended is known for good. */
	void (*clear)(void *context, const char *id);
};

struct containers_counters {
	uint64_t fetches_succeeded;
	uint64_t fetches_failed;
	uint64_t destroy_errors;
};

struct containers;

/* `report` hears NETWORKED, STARTED, FAILED, LIMITED and EXITED, also from inside of the functions
 * below. Their strings are valid inside the call. */
struct containers *containers_create(const struct container_backend *backend, void *context,
				     void (*report)(void *context, const struct agent_event *event),
				     void *report_context);
/* Forgets all; processes live on, but for fetchers. */
void containers_destroy_all(struct containers *containers);

/* ---- what the agent asks ---------------------------------------------------- */

void containers_launch(struct containers *containers, const struct agent_launch *launch);
/* EXITED follows when the process ends or is not there. With pid 0 the container is
 * looked for by its id; if found, STARTED comes first. */
void containers_reattach(struct containers *containers, const char *id, int64_t pid,
			 uint64_t start_ticks);
/* EXITED follows in any case. */
void containers_destroy(struct containers *containers, const char *id);
/* What it may use from now on. Nothing for one that is over or about to be. */
void containers_limit(struct containers *containers, const char *id,
		      const struct agent_limits *limits);
/* Nobody will ask again how it ended, which is kept of those inside of others. */
void containers_clear(struct containers *containers, const char *id);
/* Sends a signal to its first process, if that runs. */
void containers_signal(struct containers *containers, const char *id, int signal);
/* The first process of a running container; 0 if there is none. */
int64_t containers_pid(const struct containers *containers, const char *id);
struct containers_counters *containers_counters(struct containers *containers);

/* ---- what the backend answers ------------------------------------------------ */

void containers_prepared(struct containers *containers, const char *id, bool fetches);
void containers_fetched(struct containers *containers, const char *id);
void containers_failed(struct containers *containers, const char *id, enum agent_start_stage stage,
		       const char *text);
void containers_started(struct containers *containers, const char *id, int64_t pid,
			uint64_t start_ticks);
/* It has joined networks; before it is started. */
void containers_networked(struct containers *containers, const char *id,
			  const Mesos__ContainerStatus *status);
/* It broke a limit, or one could not be set, at any time before it is over. */
void containers_limited(struct containers *containers, const struct agent_event *event);
/* Its first process is no more; `known`: with this wait status. */
void containers_ended(struct containers *containers, const char *id, bool known, int status);
/* Nothing of it lives; or, if not `clean`, what lives cannot be killed. */
void containers_cleaned(struct containers *containers, const char *id, bool clean);

#endif

/* The agent shell's one context, shared by its files. */
#ifndef AGENT_SHELL_H
#define AGENT_SHELL_H

#include <sys/resource.h>
#include <uv.h>

#include "agent/containers/core/containers.h"
#include "agent/containers/gc.h"
#include "agent/containers/linux/room.h"
#include "agent/containers/posix/posix.h"
#include "agent/core/agent_view.h"
#include "agent/flags.h"
#include "agent/http/api_containers.h"
#include "agent/http/statistics.h"
#include "agent/http/usage.h"
#include "agent/steps/steps.h"
#include "base/log/log.h"
#include "base/table.h"
#include "net/daemon/hangup.h"
#include "net/daemon/router.h"
#include "net/daemon/verbosity.h"
#include "net/event_streams.h"
#include "net/http.h"
#include "net/libprocess.h"
#include "net/masters/detector.h"
#include "net/offload.h"
#include "store/store.h"

/* An executor that never reads: when this much waits for it, it is dropped. */
#define AGENT_STREAM_BACKLOG_MAX (64u << 20)
/* Largest request body: a replay of an executor with very many tasks is some MB. */
#define AGENT_REQUEST_BODY_MAX (64u << 20)

/* Reads that look at more objects than so are rendered in a child process (net/offload.h). */
#define AGENT_READ_INLINE 1000
/* So many threads may look at files for clients, while others launch. */
#define AGENT_FILE_LANES 2

struct agent_shell;

struct agent_shell {
	struct agent_flags *flags;
	struct rng rng;
	struct arena arena; /* what was made of the flags */
	int64_t start_time;
	int64_t began;	     /* uv_hrtime then */
	const char *program; /* absolute path of this binary */
	char *ip;	     /* as advertised */
	int port;	     /* as advertised */
	char *address;	     /* ip:port */
	char *pid;	     /* slave(1)@ip:port */
	char *hostname;
	char *master; /* pid of the master last detected, or NULL */
	struct resource_shapes *shapes;
	struct resources resources;
	struct resources oversubscribed;
	struct agent_steps steps; /* with the core */
	struct store *store;
	struct http_server *http;
	struct messenger *messenger;
	struct slow_pool *slow;
	struct slow_lane files[AGENT_FILE_LANES]; /* requests for files take turns */
	unsigned next_file;
	struct cgroups *groups;	   /* NULL: containers have none */
	struct room_options rooms; /* of containers, if `has_rooms` */
	bool has_rooms;
	struct fetch_cache *cache;  /* of the fetcher */
	struct image_store *images; /* NULL: containers have none */
	struct networks *networks;  /* NULL: they join none */
	struct posix *posix;
	struct containers *containers;
	struct gc *gc;
	const char *log_file;	  /* served as /slave/log; NULL: nobody knows where it is */
	struct disk_watch *disks; /* NULL: without disk/du */
	struct volume_worker *volumes;
	struct volume_remover *remover;
	struct detector *detector;
	struct offload *offload; /* big reads */
	struct router router;
	struct event_streams streams;
	uv_loop_t loop;
	struct rlimit open_files; /* as they were when the agent was started */
	uv_timer_t tick;
	struct verbosity verbosity;
	uv_async_t stored;
	uv_signal_t signals[3];
	struct container_requests container_requests;
	struct session *sessions; /* by container */
	struct usage_turns usage; /* of containers */
	struct statistics_turns statistics;
	struct hangup hangup; /* with the process's TLS */
	int exit_status;
};

/* ---- shell.c: around the core -------------------------------------------- */

extern const struct agent_outlet agent_shell_outlet; /* its context is the shell */
void agent_shell_step(struct agent_shell *shell, const struct agent_event *event);
/* What the client of the request may see, and whether it may do something: answered 403 if not. */
struct agent_view agent_shell_view(const struct agent_shell *shell,
				   const struct http_request *request);
bool agent_shell_allows(const struct agent_shell *shell, struct http_request *request,
			enum acl_action action, const char *object);
/* Answers with a read that looks at all frameworks, executors and tasks that there are, and with
 * `past` at those that were. */
void agent_shell_read(struct agent_shell *shell, const struct offload_read *read, bool past);
/* Has a thread look at files for a client. */
void agent_shell_read_files(struct agent_shell *shell, struct slow_job *job);
/* Ends the process's loop. */
void agent_shell_stop(struct agent_shell *shell, int status);
/* An executor's subscription went away (struct event_streams). */
void agent_shell_stream_closed(void *shell, uint64_t number);
/* Tells the core how far the store is. */
void agent_shell_stored(struct agent_shell *shell);

Mesos__VersionInfo *agent_version_info(const struct agent_shell *shell, struct arena *arena);
/* Calls `each` for every metric of the agent, by name. */
void agent_metrics_each(const struct agent_shell *shell, struct arena *arena,
			void (*each)(void *context, const char *name, double value), void *context);

/* ---- incoming.c ------------------------------------------------------------ */

/* Sets up the routes and who is asked who it is. */
void agent_shell_route(struct agent_shell *shell);
/* The handler of the HTTP server. */
void agent_shell_take_request(void *shell, struct http_request *request);

/* Whether the body of the request is read as it comes (net/http_parts.h). */
bool agent_shell_streams(void *shell, struct http_request *request);

/* ---- handlers, one file a family ----------------------------------------- */

void agent_api_operator(void *shell, struct http_request *request);
void agent_api_executor(void *shell, struct http_request *request);
void agent_rest_state(void *shell, struct http_request *request);
void agent_rest_flags(void *shell, struct http_request *request);
void agent_rest_logging(void *shell, struct http_request *request);
void agent_rest_prometheus(void *shell, struct http_request *request);
void agent_rest_system(void *shell, struct http_request *request);
void agent_rest_help(void *shell, struct http_request *request);
void agent_rest_health(void *shell, struct http_request *request);
void agent_rest_version(void *shell, struct http_request *request);
void agent_rest_metrics(void *shell, struct http_request *request);
void agent_rest_containers(void *shell, struct http_request *request);
void agent_files_debug(void *shell, struct http_request *request);
void agent_files_browse(void *shell, struct http_request *request);
void agent_files_read(void *shell, struct http_request *request);
void agent_files_download(void *shell, struct http_request *request);

/* ---- shell_isolation.c: what --isolation asks for ------------------------- */

/* Control groups, if containers have some; before the core. ERR_INVALID, ERR_IO: not here. */
int agent_shell_open_groups(struct agent_shell *shell, struct err *err);
/* What containers may see of their own; before them. ERR_STATE: not here. */
int agent_shell_open_rooms(struct agent_shell *shell, struct err *err);
/* Images of them, if they have some; before them. ERR_INVALID: --image_gc_config or
 * --docker_config. */
int agent_shell_open_images(struct agent_shell *shell, struct err *err);
void agent_shell_open_networks(struct agent_shell *shell);
/* After the containers. */
void agent_shell_watch_disks(struct agent_shell *shell);

#endif

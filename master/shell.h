/* The shell's one context, shared by the files that serve HTTP. */
#ifndef MASTER_SHELL_H
#define MASTER_SHELL_H

#include <stdatomic.h>
#include <uv.h>

#include "base/list.h"
#include "base/log/log.h"
#include "base/table.h"
#include "master/core/master.h"
#include "master/core/view.h"
#include "master/flags.h"
#include "master/follow/candidacy.h"
#include "master/follow/followers.h"
#include "master/follow/registry_copy.h"
#include "master/rate_limits.h"
#include "master/steps/steps.h"
#include "master/timing.h"
#include "net/daemon/hangup.h"
#include "net/daemon/router.h"
#include "net/daemon/verbosity.h"
#include "net/event_streams.h"
#include "net/http.h"
#include "net/libprocess.h"
#include "net/offload.h"
#include "store/store.h"

/* A scheduler that never reads: when this much waits for it, it is dropped. Large
 * enough for the offers of a big cluster at once. */
#define STREAM_BACKLOG_MAX (64u << 20)
/* Largest request body; a LAUNCH of ten thousand tasks is some MB. */
#define REQUEST_BODY_MAX (64u << 20)

/* An operator request whose answer comes with a later step. */
struct shell_waiting {
	uint64_t number;
	struct http_request *request;
	const char *call, *object; /* for the log; in the request's arena */
	UT_hash_handle hh;
};

/* Batches on their way to the disk whose time is taken; there are seldom more. */
#define SHELL_WRITES_TIMED 64

struct whitelist; /* whitelist.c */

enum standing {
	STANDING_CANDIDATE, /* or no more than a listener, while ZooKeeper is out of reach */
	STANDING_LOADING,   /* leads, and reads the registry */
	STANDING_LEADER,
};

struct shell {
	struct master_flags *flags;
	struct rng rng;
	int64_t start_time;
	int64_t began;	     /* uv_hrtime then */
	struct arena arena;  /* what flags were parsed to */
	const char *pid;     /* "master@ip:port" as advertised */
	const char *address; /* the part after '@' */
	const char *hostname;
	char *public_address;	   /* "hostname:port", which other masters tell people; or NULL */
	const char *log_file;	   /* served as /master/log; NULL: nobody knows where it is */
	struct master_steps steps; /* with the core */
	struct buf packed;	   /* a message on its way out */
	/* NULL until opened. With the registry in ZooKeeper that of LINE_WARM stays so: `warm` is
	 * in its place. */
	struct store *stores[STORE_LINES];
	struct warm_table warm;		     /* of this leader, or copied from another one */
	uint64_t warm_last;		     /* batch that went there */
	struct followers *followers;	     /* who copy it; NULL: this one does not lead */
	struct registry_copy *registry_copy; /* of the table, if it is in use */
	char *warm_copy;		     /* what it is called if it is a copy, heap; or NULL */
	struct shell_loading *loading;	     /* until the stores are read; shell_store.c */
	struct shell_write {
		uint64_t ticket;
		int64_t since;	      /* uv_hrtime */
	} writes[SHELL_WRITES_TIMED]; /* of the registry, not written yet, oldest first */
	size_t write_count;
	double fetch_ms; /* what reading the stores took */
	struct timing store_timing;
	struct timing allocation_timing;
	struct timing latency_timing;	 /* from an event to the cycle that it causes */
	int64_t step_began, cycle_began; /* uv_hrtime */
	struct http_server *http;
	struct messenger *messenger;
	struct rate_limits *rate_limits; /* NULL until started */
	struct whitelist *whitelist;	 /* NULL without --whitelist */
	enum standing standing;
	struct candidacy *candidacy;				 /* NULL without --zk */
	void (*led)(struct shell *shell, const struct err *err); /* leadership_seek() */
	struct offload *offload;				 /* big reads */
	struct router router;
	struct event_streams streams;
	struct fanout *fanout; /* what they get */
	struct list audiences; /* of watchers */
	uv_timer_t watch_beat; /* while there are any */
	struct list watchers;  /* who watches by SUBSCRIBE of the operator API; api_subscribe.c */
	size_t watcher_count;
	struct list passings; /* files of agents on their way: http/page/page_agent.c */
	size_t passing_count;
	struct shell_waiting *waiting; /* by number */
	uint64_t next_waiting;
	uint64_t http_requests; /* served, for metrics */
	uv_loop_t loop;
	uv_timer_t tick;
	int64_t tick_time; /* when it is due, while it runs */
	bool ticking;	   /* in the timer's callback */
	uv_prepare_t turn;
	struct verbosity verbosity;
	uv_async_t stored;
	uv_signal_t terminate[2];
	struct hangup hangup; /* with the process's TLS */
	int exit_status;
	atomic_bool
		gives_up; /* on the stores' servers: it ends, and what it would write is nobody's */
};

/* -- shell.c -- */

extern const struct master_outlet shell_outlet; /* its context is the shell */
/* A scheduler's subscription went away (struct event_streams). */
void shell_stream_closed(void *shell, uint64_t number);
/* An allocation cycle begins or ends, for metrics. */
void shell_time_cycle(void *shell, bool begins);
/* Feeds the core and carries its actions out. The reply is in shell->steps.actions.reply
 * until the next step. */
void shell_step(struct shell *shell, const struct master_event *event);
/* An operator's change; answers the request now or when the core says so. */
void shell_change(struct shell *shell, struct http_request *request, Mesos__Master__Call *call);
/* The same for a change that is an event of its own; `object` says what of, for the log. */
void shell_ask(struct shell *shell, struct http_request *request, const struct master_event *event,
	       const char *object);
/* What the client of the request may see. */
struct view shell_view(const struct shell *shell, const struct http_request *request);
/* Whether the client may do it. False: it was answered 403. */
bool shell_allows(const struct shell *shell, struct http_request *request, enum acl_action action,
		  const char *object);
/* Ends the process's loop. */
void shell_stop(struct shell *shell, int status);

/* Milliseconds since that uv_hrtime. */
double shell_ms_since(int64_t then);

/* -- incoming.c: the handler of the HTTP server, and of messages that waited for their turn -- */
void shell_take_request(void *shell, struct http_request *request);
extern const struct rate_limits_handlers shell_rate_handlers; /* their context is the shell */

/* -- http/api/api_subscribe.c -- */

/* Tells those of the watchers who may see frameworks and tasks of the users; as in struct
 * master_action. */
void shell_tell_watchers(struct shell *shell, const Mesos__Master__Event *event,
			 const char *framework_user, const char *task_user);

/* -- shell_store.c -- */

/* Opens the stores and gives the core what is in them, on another thread, which alone may use the
 * core so long. Then calls back from the loop; `err` is NULL if all went well. */
void shell_store_open(struct shell *shell,
		      void (*done)(struct shell *shell, const struct err *err));
/* Gives up reading, or closes what is open after an orderly end, and waits for it. */
void shell_store_close(struct shell *shell);
/* Batches of the line that are on their way to the disk. */
/* Those that follow learn what is written of the registry. */
void shell_store_mark(struct shell *shell);
uint64_t shell_store_queued(const struct shell *shell, enum store_line line);
/* Of the outlet (master/steps/steps.h). */
uint64_t shell_store_write(void *shell, enum store_line line, enum store_class class,
			   const struct store_op *ops, size_t count);
/* The store has written something, or failed. */
void shell_store_told(uv_async_t *async);

/* -- http/api/api_follow.c: masters that follow this one; their routes are in routes.c -- */
void api_follow(void *shell, struct http_request *request);
void api_followed(void *shell, struct http_request *request);

/* -- http/page/ -- */

/* Whether the route is one of the web page's: they are served whoever leads. */
bool page_serves(const char *route);
/* Gives up the files of agents that are on their way. */
void page_stop(struct shell *shell);

/* -- leadership.c -- */

/* Leads when it may; then calls back from the loop as shell_store_open() does. */
void leadership_seek(struct shell *shell, void (*led)(struct shell *shell, const struct err *err));
/* Of the election; another master may lead at once. */
void leadership_leave(struct shell *shell);
/* Another one that leads, "host:port"; NULL: none is known. */
const char *leadership_leader(const struct shell *shell);
/* Of the router: false if the request was answered, as it is for the leader. */
bool leadership_admits(void *shell, struct http_request *request, const struct route *route);

/* Polls the file of --whitelist and hands what it says to the core. */
void whitelist_start(struct shell *shell);
void whitelist_stop(struct shell *shell);
void whitelist_free(struct shell *shell);

/* -- handlers, one file a family -- */
void api_scheduler(void *shell, struct http_request *request);
void api_operator(void *shell, struct http_request *request);
extern const struct route shell_routes[];
extern const char *const shell_processes[];

#endif

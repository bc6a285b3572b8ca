/* A master core without a shell: feeds events, writes down what comes out.
 *
 * The trace is one line an action, e.g.
 *   event 1 UPDATE {"type":"UPDATE",...}
 *   end 1
 *   master -> slave(1)@127.0.0.1:5001 RunTaskMessage {...}
 *   link slave(1)@127.0.0.1:5001
 *   answer 7 200
 * Store actions go to a table of keys and values; they are durable at once unless
 * `hold_store`. After each step the invariants of the core are checked.
 */
#ifndef TESTS_UNIT_MASTER_DRIVER_H
#define TESTS_UNIT_MASTER_DRIVER_H

#include "master/core/objects.h"

struct stored_pair {
	char *key;
	char *value;
	size_t len;
	UT_hash_handle hh;
};

struct driver {
	struct master *m;
	struct master_options options;
	struct rng rng;
	struct master_actions out;
	struct buf trace; /* since driver_forget */
	struct buf wire;  /* messages sent: "Name base64" a line */
	char *last_bytes;
	struct stored_pair *store;
	int64_t now;
	uint64_t next_stream;
	uint64_t next_request;		/* of operators */
	const char *principal;		/* of operators; NULL = not authenticated */
	uint64_t tickets[STORE_LINES];	/* of the last store action of each line */
	uint64_t told[STORE_LINES];	/* up to which the core knows that they are stored */
	bool hold_store;		/* registry writes wait for driver_store() */
	bool lose_store;		/* nothing is written any more: kill -9 is near */
	bool agent_silent;		/* agents do not answer pings */
	bool force;			/* of subscriptions by driver_message() */
	const char *caller;		/* who makes calls; NULL = not authenticated */
	bool unacceptable;		/* callers accept no type of answer that there is */
	const char *to;			/* the master's actor that gets messages; NULL: "master" */
	const char *local;		/* where messages reach the master; NULL: as usual */
	char stream_ids[64][UUID_TEXT]; /* of subscriptions, by stream number */
};

struct driver *driver_create(void);
/* With other options: set them in driver->options, then start. */
struct driver *driver_prepare(void);
void driver_start(struct driver *d);
void driver_destroy(struct driver *d);
/* kill -9 and a new process with what the store has; the new master's id is "M2". */
void driver_restart(struct driver *d, const char *id);

/* ---- events ------------------------------------------------------------------- */

void driver_step(struct driver *d, const struct master_event *event);
void driver_store(struct driver *d); /* everything so far is durable */
/* The same for a line; false if there was nothing to tell. */
bool driver_store_line(struct driver *d, enum store_line line);
/* Moves time on, ticking at each timeout on the way. */
void driver_pass(struct driver *d, int64_t duration);
/* A call given as JSON; returns the status. `stream` 0: no Mesos-Stream-Id. */
int driver_call(struct driver *d, uint64_t stream, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A changing call of the operator API given as JSON, by d->principal; returns the status, 0 if
 * it comes later: then "answer <d->next_request> <status> <text>" is in the trace. */
int driver_operate(struct driver *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* SUBSCRIBE with these members of FrameworkInfo (user and name are added); `id` too
 * in the call. Returns the stream's number. */
uint64_t driver_subscribe(struct driver *d, const char *id, const char *members);
void driver_message(struct driver *d, const char *from, const ProtobufCMessageDescriptor *type,
		    const char *format, ...) __attribute__((format(printf, 4, 5)));
/* A message by its bytes; and the bytes of the last message of that name that the
 * master sent, NULL if none. Both in base64. */
void driver_bytes(struct driver *d, const char *from, const ProtobufCMessageDescriptor *type,
		  const char *base64);
const char *driver_last_bytes(struct driver *d, const char *name);
void driver_close(struct driver *d, uint64_t stream);
void driver_exited(struct driver *d, const char *pid);

/* ---- usual things -------------------------------------------------------------- */

#define AGENT1 "slave(1)@127.0.0.1:5001"
#define AGENT2 "slave(1)@127.0.0.1:5002"
#define RESOURCES(cpus, mem)                                                                       \
	"[{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" #cpus "}},"               \
	"{\"name\":\"mem\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" #mem "}}]"
/* Registers an agent with cpus:4;mem:4096. */
void driver_agent(struct driver *d, const char *pid);
/* Registers an agent with these resources (a JSON list) and these capabilities, as
 * "MULTI_ROLE RESOURCE_PROVIDER"; NULL: those of Mesos' agent. */
void driver_agent_like(struct driver *d, const char *pid, const char *resources,
		       const char *capabilities);
/* The latest of the offers outstanding, to anybody; "" if there is none. */
const char *driver_offer(struct driver *d);
/* Its reregistration with the id, `more` further members of the message. */
void driver_reregister(struct driver *d, const char *pid, const char *id, const char *more);
/* Launches {name, task_id: id, command true} with 1 cpu and 32 MB plus `more`
 * members on the offer. */
void driver_launch(struct driver *d, uint64_t stream, const char *framework, const char *offer,
		   const char *agent, const char *task, const char *more);
/* A status update from the agent with a uuid of 16 times `uuid`. */
void driver_update(struct driver *d, const char *pid, const char *agent, const char *framework,
		   const char *task, const char *state, int uuid);
/* Likewise, of a task that has got further in the meantime. */
void driver_update_latest(struct driver *d, const char *pid, const char *agent,
			  const char *framework, const char *task, const char *state,
			  const char *latest, int uuid);
void driver_acknowledge(struct driver *d, uint64_t stream, const char *framework, const char *agent,
			const char *task, int uuid);

/* ---- looking ---------------------------------------------------------------------- */

void driver_forget(struct driver *d); /* empties the trace */
/* Whether a line of the trace holds all of the texts (NULL-ended). */
bool driver_saw(struct driver *d, ...) __attribute__((sentinel));
/* How many lines hold the text. */
int driver_count(struct driver *d, const char *text);
#define expect(d, ...)                                                                             \
	cr_expect(driver_saw((d), __VA_ARGS__, NULL), "not in the trace: %s\n%s", #__VA_ARGS__,    \
		  (d)->trace.data ? (d)->trace.data : "")
#define refute(d, ...)                                                                             \
	cr_expect(!driver_saw((d), __VA_ARGS__, NULL), "in the trace: %s\n%s", #__VA_ARGS__,       \
		  (d)->trace.data ? (d)->trace.data : "")

#endif

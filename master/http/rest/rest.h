/* Parts that the master's read endpoints share: how an agent, a framework, a role
 * of things is rendered. */
#ifndef MASTER_HTTP_REST_REST_H
#define MASTER_HTTP_REST_REST_H

#include "master/core/objects.h"
#include "master/shell.h"
#include "proto/endpoint.h"

/* The keys of a Slave, inside an open object; `full` adds the four *_full keys. */
void rest_write_agent_members(struct json_writer *w, const struct view *v,
			      const struct agent *agent, bool full);
/* Of an agent that drains or is drained, how; else nothing. */
void rest_write_drain(struct json_writer *w, const struct agent *agent);
void rest_write_recovered_agent(struct json_writer *w, const struct agent *agent);
/* `scratch` is for the unpacked record alone, and used again for the next one. */
void rest_write_task(struct json_writer *w, const struct view *v, const struct task_record *record,
		     struct arena *scratch);
void rest_write_framework(struct json_writer *w, const struct view *v, const struct framework *f);
/* The keys of a framework that /state-summary has too. */
void rest_write_framework_head(struct json_writer *w, const struct framework *f);

/* For endpoints that change something: they make a call of the operator API of what they
 * are told, in the request's arena, and hand it to shell_change. */
Mesos__Master__Call *rest_call(struct http_request *request, Mesos__Master__Call__Type type);
/* The form parameter, or NULL after the request was answered 400. */
const char *rest_need_form(struct http_request *request, const char *name);
/* False after the request was answered 405. */
bool rest_is_post(struct http_request *request);

/* -- reads.c: what grows with the cluster ---------------------------------------- */

/* Reads that look at no more objects than so are answered by the loop itself: some ms at most.
 * What looks at more is rendered in a child process (net/offload.h). */
#define READ_INLINE 1000

/* A read of an endpoint: writes the members of its object, or `whole`, all that is answered. */
struct rest_read {
	void (*write)(const struct shell *shell, const struct view *v, struct http_request *request,
		      struct json_writer *w);
	bool whole;
};
/* Answers with the read, which looks at about so many objects. */
void read_rest(struct shell *shell, struct http_request *request, const struct rest_read *what,
	       size_t objects);
/* The same for any body. */
void read_any(struct shell *shell, const struct offload_read *read, size_t objects);

/* Those of quota, of all roles. */
void metrics_quota(const struct master *m,
		   void (*each)(void *context, const char *name, double value), void *context);
/* About how many objects that looks at, to say where it is done. */
size_t metrics_objects(const struct shell *shell);
/* Calls `each` for every metric of the master, not sorted. */
void metrics_each(const struct shell *shell,
		  void (*each)(void *context, const char *name, double value), void *context);

#endif

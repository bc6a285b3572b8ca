/* What the calls of the operator API (POST /api/v1) share. A reading call is answered by a
 * handler of its own (api_read.c and others); a changing one goes to the core as it is. */
#ifndef MASTER_HTTP_API_API_OPERATOR_H
#define MASTER_HTTP_API_API_OPERATOR_H

#include "master/http/rest/rest.h"

struct operator_call {
	struct shell *shell;
	struct http_request *request;
	Mesos__Master__Call *call; /* with the field of its type, where one is needed */
	enum http_media media;	   /* of the answer */
};

/* A response of a type, in the request's arena. */
Mesos__Master__Response *api_response(const struct operator_call *c,
				      Mesos__Master__Response__Type type);
/* 200 with the response. */
void api_respond(const struct operator_call *c, const Mesos__Master__Response *response);
/* A response that looks at many objects. */
struct api_read {
	Mesos__Master__Response__Type type;
	/* Fills the response; what it allocates is in the arena. */
	void (*collect)(const struct view *v, struct arena *arena,
			Mesos__Master__Response *response);
	/* In place of it, for what the daemon around the core knows. */
	void (*collect_shell)(const struct shell *shell, struct arena *arena,
			      Mesos__Master__Response *response);
};
/* 200 with the response, which looks at about so many objects: made in a child process if they
 * are many. `what` stays. */
void api_respond_read(const struct operator_call *c, const struct api_read *what, size_t objects);

/* -- api_read.c -- */
void api_get_health(const struct operator_call *c);
void api_get_version(const struct operator_call *c);
void api_get_master(const struct operator_call *c);
void api_get_flags(const struct operator_call *c);
void api_get_metrics(const struct operator_call *c);

/* -- api_logging.c -- */
void api_get_logging_level(const struct operator_call *c);
void api_set_logging_level(const struct operator_call *c);

/* -- api_quota.c -- */
void api_get_quota(const struct operator_call *c);
void api_get_weights(const struct operator_call *c);
void api_get_roles(const struct operator_call *c);

/* -- api_state.c -- */
void api_get_agents(const struct operator_call *c);
void api_get_frameworks(const struct operator_call *c);
void api_get_executors(const struct operator_call *c);
void api_get_tasks(const struct operator_call *c);
void api_get_state(const struct operator_call *c);

/* Objects that GET_STATE looks at. */
size_t api_state_count(const struct view *v);
/* The SUBSCRIBED event of the operator API, which has the same as GET_STATE in it. */
void api_write_subscribed(const struct view *v, struct arena *arena, enum http_media media,
			  double heartbeat_seconds, struct buf *out);

/* -- api_subscribe.c -- */
#define API_HEARTBEAT_MS 15000 /* a constant in Mesos, too */
void api_subscribe(const struct operator_call *c);

/* -- api_maintenance.c -- */
void api_get_maintenance_status(const struct operator_call *c);
void api_get_maintenance_schedule(const struct operator_call *c);

/* -- api_operations.c -- */
void api_get_operations(const struct operator_call *c);
void api_change_resources(const struct operator_call *c);

#endif

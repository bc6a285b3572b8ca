/* POST /api/v1: the operator API. A table of calls; a type
 * without a row is answered 501, as Mesos answers a call that it does not serve. */
#include <string.h>

#include "master/rest.h"
#include "net/api_body.h"

struct operator_call {
	struct shell *shell;
	struct http_request *request;
	Mesos__Master__Call *call;
	enum http_media media; /* of the answer */
};

static void respond(const struct operator_call *c, const Mesos__Master__Response *response)
{
	struct buf body = BUF_INIT;

	if (c->media == HTTP_MEDIA_JSON)
		proto_to_json(response, SPELL_V1, &body);
	else
		proto_pack(response, &body);
	http_reply(c->request, 200, http_media_name(c->media), body.data, body.len, NULL);
	buf_free(&body);
}

/* A response of a type, in the request's arena. */
static Mesos__Master__Response *response_of(const struct operator_call *c,
					    Mesos__Master__Response__Type type)
{
	Mesos__Master__Response *response = PROTO_NEW(&c->request->arena, Mesos__Master__Response,
						      mesos__master__response__descriptor);

	response->has_type = 1;
	response->type = type;
	return response;
}

/* ---- calls --------------------------------------------------------------- */

static void get_health(const struct operator_call *c)
{
	Mesos__Master__Response *response =
		response_of(c, MESOS__MASTER__RESPONSE__TYPE__GET_HEALTH);

	response->get_health = PROTO_NEW(&c->request->arena, Mesos__Master__Response__GetHealth,
					 mesos__master__response__get_health__descriptor);
	response->get_health->healthy = 1;
	respond(c, response);
}

static void get_version(const struct operator_call *c)
{
	Mesos__Master__Response *response =
		response_of(c, MESOS__MASTER__RESPONSE__TYPE__GET_VERSION);

	response->get_version = PROTO_NEW(&c->request->arena, Mesos__Master__Response__GetVersion,
					  mesos__master__response__get_version__descriptor);
	response->get_version->version_info =
		PROTO_NEW(&c->request->arena, Mesos__VersionInfo, mesos__version_info__descriptor);
	response->get_version->version_info->version = (char *)MESITA_VERSION;
	respond(c, response);
}

static void get_master(const struct operator_call *c)
{
	const struct master *m = c->shell->core;
	Mesos__Master__Response *response =
		response_of(c, MESOS__MASTER__RESPONSE__TYPE__GET_MASTER);
	Mesos__Master__Response__GetMaster *get =
		PROTO_NEW(&c->request->arena, Mesos__Master__Response__GetMaster,
			  mesos__master__response__get_master__descriptor);

	get->master_info = m->info;
	get->has_start_time = 1;
	get->start_time = clock_seconds(c->shell->start_time);
	get->has_elected_time = 1;
	get->elected_time = clock_seconds(m->elected_time);
	response->get_master = get;
	respond(c, response);
}

static void add_flag(struct arena *arena, Mesos__Master__Response__GetFlags *get,
		     const struct flag *flag)
{
	Mesos__Flag *item = PROTO_NEW(arena, Mesos__Flag, mesos__flag__descriptor);

	item->name = (char *)flag->name;
	item->value = (char *)flag->text;
	proto_push(arena, get->n_flags, get->flags, item);
}

static void get_flags(const struct operator_call *c)
{
	struct arena *arena = &c->request->arena;
	Mesos__Master__Response *response =
		response_of(c, MESOS__MASTER__RESPONSE__TYPE__GET_FLAGS);

	response->get_flags = PROTO_NEW(arena, Mesos__Master__Response__GetFlags,
					mesos__master__response__get_flags__descriptor);
	for (const struct flag *f = c->shell->flags->parsed.table; f->name; f++)
		if (f->text)
			add_flag(arena, response->get_flags, f);
	respond(c, response);
}

struct metric_sink {
	struct arena *arena;
	Mesos__Master__Response__GetMetrics *get;
};

static void add_metric(void *context, const char *name, double value)
{
	struct metric_sink *sink = context;
	Mesos__Metric *metric = PROTO_NEW(sink->arena, Mesos__Metric, mesos__metric__descriptor);

	metric->name = arena_strdup(sink->arena, name);
	metric->has_value = 1;
	metric->value = value;
	proto_push(sink->arena, sink->get->n_metrics, sink->get->metrics, metric);
}

static void get_metrics(const struct operator_call *c)
{
	struct metric_sink sink = {.arena = &c->request->arena};
	Mesos__Master__Response *response =
		response_of(c, MESOS__MASTER__RESPONSE__TYPE__GET_METRICS);

	sink.get = PROTO_NEW(sink.arena, Mesos__Master__Response__GetMetrics,
			     mesos__master__response__get_metrics__descriptor);
	metrics_each(c->shell, add_metric, &sink);
	response->get_metrics = sink.get;
	respond(c, response);
}

static void teardown(const struct operator_call *c)
{
	struct master_event event = {
		.type = MASTER_OPERATOR,
		.operator_ = {.action = MASTER_OPERATOR_TEARDOWN,
			      .framework_id = c->call->teardown->framework_id->value}};

	shell_operate(c->shell, c->request, &event);
}

static void mark_agent_gone(const struct operator_call *c)
{
	struct master_event event = {
		.type = MASTER_OPERATOR,
		.operator_ = {.action = MASTER_OPERATOR_MARK_GONE,
			      .agent_id = c->call->mark_agent_gone->agent_id->value}};

	shell_operate(c->shell, c->request, &event);
}

#define TYPE(name) MESOS__MASTER__CALL__TYPE__##name
#define FIELD(member) offsetof(Mesos__Master__Call, member)

static const struct {
	Mesos__Master__Call__Type type;
	size_t field;	   /* of the sub-message that must be there; 0 = none */
	const char *named; /* in the error */
	void (*handle)(const struct operator_call *c);
} calls[] = {
	{TYPE(GET_HEALTH), 0, NULL, get_health},
	{TYPE(GET_FLAGS), 0, NULL, get_flags},
	{TYPE(GET_VERSION), 0, NULL, get_version},
	{TYPE(GET_METRICS), FIELD(get_metrics), "get_metrics", get_metrics},
	{TYPE(GET_MASTER), 0, NULL, get_master},
	{TYPE(TEARDOWN), FIELD(teardown), "teardown", teardown},
	{TYPE(MARK_AGENT_GONE), FIELD(mark_agent_gone), "mark_agent_gone", mark_agent_gone},
};

static void dispatch(const struct operator_call *c)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (calls[i].type != c->call->type)
			continue;
		if (calls[i].field && !*(void **)((char *)c->call + calls[i].field))
			http_reply_text(c->request, 400,
					arena_printf(&c->request->arena,
						     "Failed to validate master::Call: Expecting "
						     "'%s' to be present",
						     calls[i].named));
		else
			calls[i].handle(c);
		return;
	}
	http_reply_text(c->request, 501, NULL);
}

void api_operator(void *context, struct http_request *request)
{
	struct operator_call c = {.shell = context, .request = request};

	if (!master_ready(c.shell->core)) {
		http_reply_text(request, 503, "Master has not finished recovery");
		return;
	}
	if (strcmp(request->method, "POST")) {
		http_reply_not_allowed(request, "POST");
		return;
	}
	c.call = api_body_decode(request, &mesos__master__call__descriptor);
	if (!c.call)
		return;
	if (!c.call->has_type) {
		http_reply_text(request, 400,
				"Failed to validate master::Call: Expecting 'type' to be present");
		return;
	}
	c.media = http_accept(request);
	if (c.media == HTTP_MEDIA_NONE)
		http_reply_text(request, 406,
				"Expecting 'Accept' to allow 'application/x-protobuf' or "
				"'application/json'");
	else
		dispatch(&c);
}

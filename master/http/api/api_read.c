/* Calls of the operator API that read what the master itself is. */
#include "master/http/api/api_operator.h"

void api_get_health(const struct operator_call *c)
{
	Mesos__Master__Response *response =
		api_response(c, MESOS__MASTER__RESPONSE__TYPE__GET_HEALTH);

	response->get_health = PROTO_NEW(&c->request->arena, Mesos__Master__Response__GetHealth,
					 mesos__master__response__get_health__descriptor);
	response->get_health->healthy = 1;
	api_respond(c, response);
}

void api_get_version(const struct operator_call *c)
{
	Mesos__Master__Response *response =
		api_response(c, MESOS__MASTER__RESPONSE__TYPE__GET_VERSION);
	Mesos__VersionInfo *info;

	response->get_version = PROTO_NEW(&c->request->arena, Mesos__Master__Response__GetVersion,
					  mesos__master__response__get_version__descriptor);
	info = PROTO_NEW(&c->request->arena, Mesos__VersionInfo, mesos__version_info__descriptor);
	info->version = (char *)MESITA_VERSION;
	info->build_date = (char *)BUILD_DATE;
	info->has_build_time = 1;
	info->build_time = BUILD_TIME;
	info->build_user = (char *)BUILD_USER;
	response->get_version->version_info = info;
	api_respond(c, response);
}

void api_get_master(const struct operator_call *c)
{
	const struct master *m = c->shell->steps.core;
	Mesos__Master__Response *response =
		api_response(c, MESOS__MASTER__RESPONSE__TYPE__GET_MASTER);
	Mesos__Master__Response__GetMaster *get =
		PROTO_NEW(&c->request->arena, Mesos__Master__Response__GetMaster,
			  mesos__master__response__get_master__descriptor);

	get->master_info = m->info;
	get->has_start_time = 1;
	get->start_time = clock_seconds(c->shell->start_time);
	get->has_elected_time = 1;
	get->elected_time = clock_seconds(m->elected_time);
	response->get_master = get;
	api_respond(c, response);
}

static void add_flag(struct arena *arena, Mesos__Master__Response__GetFlags *get,
		     const struct flag *flag)
{
	Mesos__Flag *item = PROTO_NEW(arena, Mesos__Flag, mesos__flag__descriptor);

	item->name = (char *)flag->name;
	item->value = (char *)flag->text;
	proto_push(arena, get->n_flags, get->flags, item);
}

void api_get_flags(const struct operator_call *c)
{
	struct arena *arena = &c->request->arena;
	Mesos__Master__Response *response =
		api_response(c, MESOS__MASTER__RESPONSE__TYPE__GET_FLAGS);

	if (!shell_allows(c->shell, c->request, ACL_VIEW_FLAGS, NULL))
		return;
	response->get_flags = PROTO_NEW(arena, Mesos__Master__Response__GetFlags,
					mesos__master__response__get_flags__descriptor);
	for (const struct flag *f = c->shell->flags->parsed.table; f->name; f++)
		if (f->text)
			add_flag(arena, response->get_flags, f);
	api_respond(c, response);
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

static void collect_metrics(const struct shell *shell, struct arena *arena,
			    Mesos__Master__Response *response)
{
	struct metric_sink sink = {.arena = arena};

	sink.get = response->get_metrics =
		PROTO_NEW(arena, Mesos__Master__Response__GetMetrics,
			  mesos__master__response__get_metrics__descriptor);
	metrics_each(shell, add_metric, &sink);
}

void api_get_metrics(const struct operator_call *c)
{
	static const struct api_read metrics = {.type = MESOS__MASTER__RESPONSE__TYPE__GET_METRICS,
						.collect_shell = collect_metrics};

	api_respond_read(c, &metrics, metrics_objects(c->shell));
}

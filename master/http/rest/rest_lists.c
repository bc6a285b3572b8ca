/* Short lists of what else is a part of much longer ones: offers, persistent volumes, who is away,
 * masters. Whoever looks again every few seconds asks for these. */
#include "master/http/rest/rest.h"
#include "master/http/rest/rest_routes.h"

/* ---- offers --------------------------------------------------------------------------------- */

static void write_offer(struct json_writer *w, const struct framework *f, const struct offer *offer)
{
	jw_begin_object(w);
	jw_kv_string(w, "id", offer->id);
	jw_kv_string(w, "framework_id", f->id);
	jw_kv_string(w, "framework_name", f->info->name);
	jw_kv_string(w, "role", offer->role);
	jw_kv_string(w, "slave_id", offer->agent->id);
	jw_kv_string(w, "hostname", offer->agent->info->hostname);
	jw_key(w, "resources");
	resources_write_model(&offer->resources, w);
	jw_end_object(w);
}

static void write_inverse(struct json_writer *w, const struct framework *f,
			  const struct inverse_offer *offer)
{
	jw_begin_object(w);
	jw_kv_string(w, "id", offer->id);
	jw_kv_string(w, "framework_id", f->id);
	jw_kv_string(w, "framework_name", f->info->name);
	jw_kv_string(w, "slave_id", offer->agent->id);
	jw_kv_string(w, "hostname", offer->agent->info->hostname);
	jw_end_object(w);
}

static void write_offers(const struct shell *shell, const struct view *v,
			 struct http_request *request, struct json_writer *w)
{
	const struct framework *f = NULL;

	(void)shell;
	(void)request;
	jw_key(w, "offers");
	jw_begin_array(w);
	while ((f = view_next_framework(v, f))) {
		const struct offer *offer = NULL;

		while ((offer = view_next_offer(v, f, offer)))
			write_offer(w, f, offer);
	}
	jw_end_array(w);
	jw_key(w, "inverse_offers");
	jw_begin_array(w);
	while ((f = view_next_framework(v, f))) {
		const struct inverse_offer *offer = NULL;

		while ((offer = view_next_inverse(v, f, offer)))
			write_inverse(w, f, offer);
	}
	jw_end_array(w);
}

void rest_offers(void *context, struct http_request *request)
{
	static const struct rest_read offers = {.write = write_offers};
	struct shell *shell = context;
	const struct master *m = shell->steps.core;

	read_rest(shell, request, &offers,
		  HASH_COUNT(m->offers) + HASH_COUNT(m->inverse_offers) +
			  HASH_COUNT(m->frameworks));
}

/* ---- who is away, or taken out of service
 * --------------------------------------------------------------------------------- */

static void write_away_agents(struct json_writer *w, const struct view *v)
{
	const struct agent *a = NULL;

	jw_key(w, "agents");
	jw_begin_array(w);
	while ((a = view_next_agent(v, a))) {
		if (!agent_registered(a) || (agent_active(a) && !a->drain_info))
			continue;
		jw_begin_object(w);
		jw_kv_string(w, "id", a->id);
		jw_kv_string(w, "hostname", a->info->hostname);
		jw_kv_bool(w, "active", agent_active(a));
		jw_kv_bool(w, "connected", a->state == AGENT_CONNECTED);
		jw_kv_bool(w, "deactivated", a->deactivated);
		rest_write_drain(w, a);
		jw_end_object(w);
	}
	jw_end_array(w);
}

static void write_away_frameworks(struct json_writer *w, const struct view *v)
{
	const struct framework *f = NULL;

	jw_key(w, "frameworks");
	jw_begin_array(w);
	while ((f = view_next_framework(v, f))) {
		if (framework_connected(f) && f->active)
			continue;
		jw_begin_object(w);
		jw_kv_string(w, "id", f->id);
		jw_kv_string(w, "name", f->info->name);
		jw_kv_bool(w, "active", f->active);
		jw_kv_bool(w, "connected", framework_connected(f));
		jw_kv_bool(w, "recovered", f->state == FRAMEWORK_RECOVERED);
		if (f->failover.index)
			jw_kv_double(w, "seconds_left",
				     clock_seconds(f->failover.deadline - v->m->now));
		jw_end_object(w);
	}
	jw_end_array(w);
}

static void write_away(const struct shell *shell, const struct view *v,
		       struct http_request *request, struct json_writer *w)
{
	(void)shell;
	(void)request;
	write_away_agents(w, v);
	write_away_frameworks(w, v);
}

/* How many there are is looked at, and little of each. */
void rest_away(void *context, struct http_request *request)
{
	static const struct rest_read away = {.write = write_away};
	struct shell *shell = context;
	const struct master *m = shell->steps.core;

	read_rest(shell, request, &away, (HASH_COUNT(m->agents) + HASH_COUNT(m->frameworks)) / 100);
}

static void write_volume(struct json_writer *w, const struct agent *a, const Mesos__Resource *r)
{
	const Mesos__Resource__ReservationInfo *reservation =
		r->reservations[r->n_reservations - 1];

	jw_begin_object(w);
	jw_kv_string(w, "id", r->disk->persistence->id);
	jw_kv_string(w, "role", reservation->role);
	if (r->disk->persistence->principal)
		jw_kv_string(w, "principal", r->disk->persistence->principal);
	if (r->disk->volume)
		jw_kv_string(w, "container_path", r->disk->volume->container_path);
	jw_kv_double(w, "megabytes", r->scalar ? r->scalar->value : 0);
	jw_kv_bool(w, "shared", r->shared != NULL);
	jw_kv_string(w, "slave_id", a->id);
	jw_kv_string(w, "hostname", a->info->hostname);
	jw_end_object(w);
}

static void write_volumes(const struct shell *shell, const struct view *v,
			  struct http_request *request, struct json_writer *w)
{
	const struct agent *a = NULL;

	(void)shell;
	(void)request;
	jw_key(w, "volumes");
	jw_begin_array(w);
	while ((a = view_next_agent(v, a)))
		for (size_t i = 0; i < a->checkpointed_count; i++) {
			const Mesos__Resource *r = a->checkpointed[i];

			if (r->disk && r->disk->persistence && r->n_reservations &&
			    view_sees_role(v, r->reservations[r->n_reservations - 1]->role))
				write_volume(w, a, r);
		}
	jw_end_array(w);
}

void rest_volumes(void *context, struct http_request *request)
{
	static const struct rest_read volumes = {.write = write_volumes};
	struct shell *shell = context;

	read_rest(shell, request, &volumes, HASH_COUNT(shell->steps.core->agents));
}

/* ---- masters -------------------------------------------------------------------------------- */

static void write_masters(const struct shell *shell, const struct view *v,
			  struct http_request *request, struct json_writer *w)
{
	const Mesos__MasterInfo *info = v->m->info;
	const char *others[FOLLOWERS_MAX];
	size_t count =
		shell->followers ? followers_addresses(shell->followers, others, FOLLOWERS_MAX) : 0;
	const char *own =
		arena_printf(&request->arena, "%s:%u", info->hostname, (unsigned)info->port);

	jw_kv_string(w, "leader", own);
	jw_key(w, "masters");
	jw_begin_array(w);
	jw_string(w, own);
	for (size_t i = 0; i < count; i++)
		jw_string(w, others[i]);
	jw_end_array(w);
}

void rest_masters(void *context, struct http_request *request)
{
	static const struct rest_read masters = {.write = write_masters};

	read_rest(context, request, &masters, 1);
}

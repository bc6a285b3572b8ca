/* /roles: what each known role and the roles below it hold (roles_view.h), its weight and
 * its quota. */
#include <string.h>

#include "master/core/roles/quota.h"
#include "master/core/roles/roles_view.h"
#include "master/http/rest/rest.h"
#include "master/http/rest/rest_routes.h"

static void write_amounts(struct json_writer *w, struct arena *arena, const char *key,
			  const struct amount *a, const struct amount *b, bool fill)
{
	static const char *const always[] = {"cpus", "disk", "gpus", "mem"};
	struct amount *sum = NULL;

	amounts_add_list(arena, &sum, a, 1);
	amounts_add_list(arena, &sum, b, 1);
	/* Tools that know Mesos before 1.9 take these for granted. */
	for (size_t i = 0; fill && i < sizeof(always) / sizeof(*always); i++)
		amounts_add(arena, &sum, always[i], 0);
	jw_key(w, key);
	jw_begin_object(w);
	for (; sum; sum = sum->next)
		if (sum->milli > 0 || fill)
			jw_kv_double(w, sum->name, sum->milli / 1000.0);
	jw_end_object(w);
}

/* A limit may be none at all. */
static void write_limits(struct json_writer *w, const struct amount *limits)
{
	jw_key(w, "limit");
	jw_begin_object(w);
	for (; limits; limits = limits->next)
		jw_kv_double(w, limits->name, limits->milli / 1000.0);
	jw_end_object(w);
}

static void write_quota(struct json_writer *w, const struct master *m, struct arena *arena,
			const struct role_view *role)
{
	const struct quota *quota = master_find_quota(m, role->name);
	const Mesos__Quota__QuotaConfig *config = quota ? quota->config : NULL;

	jw_key(w, "quota");
	jw_begin_object(w);
	jw_kv_string(w, "role", role->name);
	write_amounts(w, arena, "guarantee", config ? quota_guarantees(config, arena) : NULL, NULL,
		      false);
	write_limits(w, config ? quota_limits(config, arena) : NULL);
	write_amounts(w, arena, "consumed", role->allocated, role->idle, false);
	jw_end_object(w);
}

static void write_role(struct json_writer *w, const struct master *m, struct arena *arena,
		       const struct role_view *role)
{
	jw_begin_object(w);
	jw_kv_string(w, "name", role->name);
	jw_kv_double(w, "weight", master_role_weight(m, role->name));
	write_quota(w, m, arena, role);
	write_amounts(w, arena, "resources", role->allocated, role->offered, true);
	write_amounts(w, arena, "allocated", role->allocated, NULL, false);
	write_amounts(w, arena, "offered", role->offered, NULL, false);
	write_amounts(w, arena, "reserved", role->reserved, NULL, false);
	jw_key(w, "frameworks");
	jw_begin_array(w);
	for (size_t i = 0; i < role->framework_count; i++)
		jw_string(w, role->frameworks[i]);
	jw_end_array(w);
	jw_end_object(w);
}

static void write_roles(const struct shell *shell, const struct view *v,
			struct http_request *request, struct json_writer *w)
{
	struct roles_view roles;

	(void)shell;
	roles_view_make(&roles, v->m, &request->arena);
	jw_key(w, "roles");
	jw_begin_array(w);
	for (struct role_view *role = roles.roles; role; role = role->hh.next)
		if (view_sees_role(v, role->name))
			write_role(w, v->m, roles.arena, role);
	jw_end_array(w);
	roles_view_free(&roles);
}

void rest_roles(void *context, struct http_request *request)
{
	static const struct rest_read roles = {.write = write_roles};
	struct shell *shell = context;

	read_rest(shell, request, &roles,
		  HASH_COUNT(shell->steps.core->agents) +
			  HASH_COUNT(shell->steps.core->frameworks));
}

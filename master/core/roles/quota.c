/* Quota of roles: calls that change it, and offers that are rescinded for it.
 *
 * UPDATE_QUOTA, SET_QUOTA and REMOVE_QUOTA all come to a list of configurations that is
 * checked as a whole, written as one batch, and takes effect once that is durable: then the
 * allocator is told, offers that stand against the new quota are rescinded, and the operator
 * is answered. What is freed goes out with the next batch of allocations; nothing that runs
 * is touched. Changes that come meanwhile wait, for each is checked against the one before.
 */
#include "master/core/roles/quota.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/emit.h"
#include "master/core/operator.h"
#include "master/core/roles/roles.h"
#include "master/core/store/registry.h"

/* ---- the table ------------------------------------------------------------------------ */

struct quota *master_find_quota(const struct master *m, const char *role)
{
	struct quota *quota;

	HASH_FIND(hh, m->quotas, role, strlen(role), quota);
	return quota;
}

/* The map's entries are ascending, and so is the list. */
struct amount *quota_guarantees(const Mesos__Quota__QuotaConfig *config, struct arena *arena)
{
	struct amount *list = NULL, **end = &list;

	for (size_t i = 0; i < config->n_guarantees; i++) {
		double milli = round(config->guarantees[i]->value->value * 1000);

		if (milli <= 0)
			continue;
		*end = arena_alloc(arena, sizeof(**end));
		**end = (struct amount){config->guarantees[i]->key, milli, NULL};
		end = &(*end)->next;
	}
	return list;
}

struct amount *quota_limits(const Mesos__Quota__QuotaConfig *config, struct arena *arena)
{
	struct amount *list = NULL, **end = &list;

	for (size_t i = 0; i < config->n_limits; i++) {
		*end = arena_alloc(arena, sizeof(**end));
		**end = (struct amount){config->limits[i]->key,
					round(config->limits[i]->value->value * 1000), NULL};
		end = &(*end)->next;
	}
	return list;
}

static void free_quota(struct master *m, struct quota *quota)
{
	HASH_DEL(m->quotas, quota);
	proto_free(quota->config);
	free(quota);
}

void master_free_quotas(struct master *m)
{
	struct quota *quota, *next;

	HASH_ITER (hh, m->quotas, quota, next)
		free_quota(m, quota);
}

static struct allocator_amounts allocator_list(const struct amount *list, struct arena *arena)
{
	struct allocator_amounts amounts = {0};
	struct allocator_amount *items;

	for (const struct amount *amount = list; amount; amount = amount->next)
		amounts.count++;
	amounts.items = items = arena_alloc(arena, (amounts.count + 1) * sizeof(*items));
	for (; list; list = list->next)
		*items++ = (struct allocator_amount){list->name, (int64_t)list->milli};
	return amounts;
}

void master_adopt_quota(struct master *m, const Mesos__Quota__QuotaConfig *config)
{
	struct arena *arena = &m->out->arena;
	struct quota *quota = master_find_quota(m, config->role);
	struct allocator_quota said = {
		.guarantees = allocator_list(quota_guarantees(config, arena), arena),
		.limits = allocator_list(quota_limits(config, arena), arena),
	};

	if (quota)
		free_quota(m, quota);
	if (said.guarantees.count || said.limits.count) {
		quota = xcalloc(1, sizeof(*quota));
		quota->config = proto_copy(config);
		HASH_ADD_KEYPTR(hh, m->quotas, quota->config->role, strlen(quota->config->role),
				quota);
	}
	allocator_set_quota(m->allocator, config->role, &said);
}

/* ---- what operators see ------------------------------------------------------------------ */

static Mesos__Value__Scalar *quota_scalar(struct arena *arena, double milli)
{
	Mesos__Value__Scalar *value =
		PROTO_NEW(arena, Mesos__Value__Scalar, mesos__value__scalar__descriptor);

	value->value = milli / 1000;
	return value;
}

Mesos__Quota__QuotaInfo *quota_old_info(const Mesos__Quota__QuotaConfig *config,
					struct arena *arena)
{
	Mesos__Quota__QuotaInfo *info =
		PROTO_NEW(arena, Mesos__Quota__QuotaInfo, mesos__quota__quota_info__descriptor);

	info->role = config->role;
	for (struct amount *a = quota_guarantees(config, arena); a; a = a->next) {
		Mesos__Resource *resource =
			PROTO_NEW(arena, Mesos__Resource, mesos__resource__descriptor);

		resource->name = (char *)a->name;
		resource->type = MESOS__VALUE__TYPE__SCALAR;
		resource->scalar = quota_scalar(arena, a->milli);
		proto_push(arena, info->n_guarantee, info->guarantee, resource);
	}
	return info;
}

static int by_role(const void *a, const void *b)
{
	return strcmp((*(Mesos__Quota__QuotaConfig *const *)a)->role,
		      (*(Mesos__Quota__QuotaConfig *const *)b)->role);
}

Mesos__Quota__QuotaStatus *master_quota_status(const struct master *m, struct arena *arena)
{
	Mesos__Quota__QuotaStatus *status =
		PROTO_NEW(arena, Mesos__Quota__QuotaStatus, mesos__quota__quota_status__descriptor);

	for (struct quota *quota = m->quotas; quota; quota = quota->hh.next)
		proto_push(arena, status->n_configs, status->configs, quota->config);
	if (status->n_configs)
		qsort(status->configs, status->n_configs, sizeof(*status->configs), by_role);
	for (size_t i = 0; i < status->n_configs; i++)
		proto_push(arena, status->n_infos, status->infos,
			   quota_old_info(status->configs[i], arena));
	return status;
}

/* ---- whether the cluster can bear it ------------------------------------------------------- */

/* A list of configurations by role; the last one of a role counts. */
struct proposal {
	const Mesos__Quota__QuotaConfig *config;
	UT_hash_handle hh;
};

/* A sum by name: with a name a role there may be many. */
struct total {
	struct amount amount;
	UT_hash_handle hh;
};

static struct proposal *propose(const Mesos__Master__Call__UpdateQuota *update, struct arena *arena)
{
	struct proposal *table = NULL;

	for (size_t i = 0; i < update->n_quota_configs; i++) {
		const Mesos__Quota__QuotaConfig *config = update->quota_configs[i];
		struct proposal *p;

		HASH_FIND(hh, table, config->role, strlen(config->role), p);
		if (!p) {
			p = arena_alloc(arena, sizeof(*p));
			HASH_ADD_KEYPTR(hh, table, config->role, strlen(config->role), p);
		}
		p->config = config;
	}
	return table;
}

static void add_guarantees(struct total **table, const Mesos__Quota__QuotaConfig *config,
			   struct arena *arena)
{
	for (struct amount *a = quota_guarantees(config, arena); a; a = a->next) {
		struct total *total;

		HASH_FIND(hh, *table, a->name, strlen(a->name), total);
		if (total) {
			total->amount.milli += a->milli;
			continue;
		}
		total = arena_alloc(arena, sizeof(*total));
		total->amount = *a;
		HASH_ADD_KEYPTR(hh, *table, a->name, strlen(a->name), total);
	}
}

static int quota_by_name(const struct total *a, const struct total *b)
{
	return strcmp(a->amount.name, b->amount.name);
}

/* All guarantees together once the change is done. */
static struct amount *total_guarantees(struct master *m,
				       const Mesos__Master__Call__UpdateQuota *update)
{
	struct arena *arena = &m->out->arena;
	struct proposal *proposals = propose(update, arena), *p;
	struct amount *list = NULL, **end = &list;
	struct total *totals = NULL;

	for (p = proposals; p; p = p->hh.next)
		add_guarantees(&totals, p->config, arena);
	for (struct quota *quota = m->quotas; quota; quota = quota->hh.next) {
		HASH_FIND(hh, proposals, quota->config->role, strlen(quota->config->role), p);
		if (!p)
			add_guarantees(&totals, quota->config, arena);
	}
	HASH_SORT(totals, quota_by_name);
	for (struct total *total = totals; total; total = total->hh.next) {
		*end = &total->amount;
		total->amount.next = NULL;
		end = &total->amount.next;
	}
	/* The tables' own memory is not in the arena. */
	HASH_CLEAR(hh, totals);
	HASH_CLEAR(hh, proposals);
	return list;
}

/* Of all agents that are registered, disconnected ones too: those are mostly back soon. */
static struct amount *cluster_capacity(struct master *m)
{
	struct amount *capacity = NULL;

	for (struct agent *a = m->agents; a; a = a->hh.next) {
		if (!agent_registered(a))
			continue;
		for (uint32_t i = 0; i < a->total.count; i++) {
			const struct resource_piece *piece = &a->total.pieces[i];

			if (resource_shape_type(piece->shape) == MESOS__VALUE__TYPE__SCALAR &&
			    !resource_shape_revocable(piece->shape))
				amounts_add_piece(&m->out->arena, &capacity, piece, 1);
		}
	}
	return capacity;
}

/* "Total quota guarantees '..' exceed cluster capacity '..'", with the capital letter or not. */
static int check_capacity(struct master *m, const Mesos__Master__Call__UpdateQuota *update,
			  const char *first, struct err *err)
{
	struct amount *total = total_guarantees(m, update), *capacity = cluster_capacity(m);
	struct buf wanted = BUF_INIT, there = BUF_INIT;

	if (amounts_contain(capacity, total))
		return 0;
	amounts_print(total, false, &wanted);
	amounts_print(capacity, false, &there);
	err_set(err, ERR_INVALID, "%s quota guarantees '%s' exceed cluster capacity '%s'", first,
		wanted.data, there.data);
	buf_free(&wanted);
	buf_free(&there);
	return ERR_INVALID;
}

static int over_limit(const Mesos__Quota__QuotaConfig *config, const struct amount *consumed,
		      const struct amount *limits, struct err *err)
{
	struct buf used = BUF_INIT, most = BUF_INIT;

	amounts_print(consumed, false, &used);
	amounts_print(limits, true, &most);
	err_set(err, ERR_INVALID,
		"Invalid QuotaConfig: Role '%s' is already consuming '%s'; this is more than the "
		"requested limits '%s' (use 'force' flag to bypass this check)",
		config->role, used.data, most.data);
	buf_free(&used);
	buf_free(&most);
	return ERR_INVALID;
}

static int check_consumption(struct master *m, const Mesos__Master__Call__UpdateQuota *update,
			     struct err *err)
{
	struct arena *arena = &m->out->arena;
	struct roles_view view;
	int rv = 0;

	roles_view_make(&view, m, arena);
	for (size_t i = 0; i < update->n_quota_configs && !rv; i++) {
		const Mesos__Quota__QuotaConfig *config = update->quota_configs[i];
		struct amount *limits = quota_limits(config, arena),
			      *consumed = role_view_consumed(roles_view_find(&view, config->role),
							     arena);

		if (!amounts_within(consumed, limits))
			rv = over_limit(config, consumed, limits, err);
	}
	roles_view_free(&view);
	return rv;
}

/* ---- changing ----------------------------------------------------------------------------- */

static void quota_adopt(struct master *m, struct pending *p)
{
	const Mesos__Master__Call__UpdateQuota *update = p->message;
	struct roles_view view;

	m->quota_writing = false;
	master_deferral_ended(m, DEFER_QUOTA, NULL);
	log_info("quota of %zu roles was changed, %s first", update->n_quota_configs,
		 update->quota_configs[0]->role);
	for (size_t i = 0; i < update->n_quota_configs; i++)
		master_adopt_quota(m, update->quota_configs[i]);
	roles_view_make(&view, m, &m->out->arena);
	for (size_t i = 0; i < update->n_quota_configs; i++) {
		if (p->flag)
			quota_rescind_agents(m, update->quota_configs[i]);
		else
			quota_rescind(m, &view, update->quota_configs[i]);
	}
	roles_view_free(&view);
	master_answer(m, p->request, 200, "%s", "");
}

/* Limits and guarantees of nothing at all are none: the record goes. */
static void quota_put(struct master *m, struct registry_batch *batch,
		      const Mesos__Quota__QuotaConfig *config)
{
	char *key = registry_key(m, "quota", config->role);

	if (config->n_limits || quota_guarantees(config, &m->out->arena))
		registry_put(m, batch, key, config);
	else
		registry_delete(m, batch, key);
}

/* `old` says how offers are rescinded. */
static void write_update(struct master *m, const struct operator_request *request,
			 const Mesos__Master__Call__UpdateQuota *update, bool old)
{
	struct registry_batch batch = {0};
	struct pending *p;

	if (!update->n_quota_configs) {
		master_reply(m, 200, "%s", "");
		return;
	}
	for (size_t i = 0; i < update->n_quota_configs; i++)
		quota_put(m, &batch, update->quota_configs[i]);
	p = registry_write(m, &batch, quota_adopt);
	p->message = proto_copy(update);
	p->request = request->number;
	p->flag = old;
	m->quota_writing = true;
	master_reply(m, 0, "%s", "");
}

static int check_update(struct master *m, const Mesos__Master__Call__UpdateQuota *update,
			struct err *err)
{
	if (update->n_quota_configs > MASTER_ROLES_CHANGED_MAX)
		return err_set(err, ERR_INVALID, "Invalid QuotaConfig: more than %d at once",
			       MASTER_ROLES_CHANGED_MAX);
	for (size_t i = 0; i < update->n_quota_configs; i++) {
		int rv = quota_validate_config(m, update->quota_configs[i], err);

		if (rv)
			return rv;
	}
	if (update->force)
		return 0;
	if (check_consumption(m, update, err))
		return ERR_INVALID;
	if (!check_capacity(m, update, "total", err))
		return 0;
	err_wrap(err, ERR_INVALID, "Invalid QuotaConfig");
	strncat(err->text, " (use 'force' flag to bypass this check)",
		sizeof(err->text) - strlen(err->text) - 1);
	return ERR_INVALID;
}

void master_update_quota(struct master *m, const struct operator_request *request)
{
	const Mesos__Master__Call__UpdateQuota *update = request->call->update_quota;
	struct err err = {""};

	if (m->quota_writing)
		master_defer(m, request, DEFER_QUOTA, NULL);
	else if (check_update(m, update, &err))
		master_reply(m, 400, "%s", err.text);
	else
		write_update(m, request, update, false);
}

/* Guarantee and limit are the same in old requests. */
static Mesos__Quota__QuotaConfig *config_of(struct arena *arena,
					    const Mesos__Quota__QuotaRequest *request)
{
	Mesos__Quota__QuotaConfig *config =
		PROTO_NEW(arena, Mesos__Quota__QuotaConfig, mesos__quota__quota_config__descriptor);
	struct amount *list = NULL;

	config->role = request->role;
	for (size_t i = 0; i < request->n_guarantee; i++)
		amounts_add(arena, &list, request->guarantee[i]->name,
			    round(request->guarantee[i]->scalar->value * 1000));
	for (; list; list = list->next) {
		Mesos__Quota__QuotaConfig__GuaranteesEntry *guarantee =
			PROTO_NEW(arena, Mesos__Quota__QuotaConfig__GuaranteesEntry,
				  mesos__quota__quota_config__guarantees_entry__descriptor);
		Mesos__Quota__QuotaConfig__LimitsEntry *limit =
			PROTO_NEW(arena, Mesos__Quota__QuotaConfig__LimitsEntry,
				  mesos__quota__quota_config__limits_entry__descriptor);

		guarantee->key = limit->key = (char *)list->name;
		guarantee->value = limit->value = quota_scalar(arena, list->milli);
		proto_push(arena, config->n_guarantees, config->guarantees, guarantee);
		proto_push(arena, config->n_limits, config->limits, limit);
	}
	return config;
}

static Mesos__Master__Call__UpdateQuota *update_of(struct master *m,
						   Mesos__Quota__QuotaConfig *config)
{
	Mesos__Master__Call__UpdateQuota *update = STEP_NEW(
		m, Mesos__Master__Call__UpdateQuota, mesos__master__call__update_quota__descriptor);

	proto_push(&m->out->arena, update->n_quota_configs, update->quota_configs, config);
	return update;
}

static void set_checked(struct master *m, const struct operator_request *request)
{
	const Mesos__Quota__QuotaRequest *asked = request->call->set_quota->quota_request;
	Mesos__Quota__QuotaConfig *config = config_of(&m->out->arena, asked);
	Mesos__Master__Call__UpdateQuota *update = update_of(m, config);
	struct err err = {""};

	if (quota_check_config(config, &m->out->arena, &err))
		master_reply(m, 400, "Failed to validate set quota request: %s", err.text);
	else if (!asked->force && check_capacity(m, update, "Total", &err))
		master_reply(m, 409,
			     "Quota guarantees overcommit the cluster (use 'force' to bypass this "
			     "check): %s",
			     err.text);
	else
		write_update(m, request, update, true);
}

void master_set_quota(struct master *m, const struct operator_request *request)
{
	Mesos__Quota__QuotaRequest *asked = request->call->set_quota->quota_request;
	struct err err = {""};

	if (m->quota_writing)
		master_defer(m, request, DEFER_QUOTA, NULL);
	else if (quota_validate_request(m, asked, &err))
		master_reply(m, 400, "%s", err.text);
	else
		set_checked(m, request);
}

void master_remove_quota(struct master *m, const struct operator_request *request)
{
	Mesos__Quota__QuotaConfig *config =
		STEP_NEW(m, Mesos__Quota__QuotaConfig, mesos__quota__quota_config__descriptor);

	config->role = request->call->remove_quota->role;
	if (m->quota_writing)
		master_defer(m, request, DEFER_QUOTA, NULL);
	else if (!master_find_quota(m, config->role))
		master_reply(m, 400, "Failed to remove quota: Role '%s' has no quota set",
			     config->role);
	else
		write_update(m, request, update_of(m, config), false);
}

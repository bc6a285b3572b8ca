/* What quota may be: the rules for configurations (UPDATE_QUOTA) and for the old requests
 * (SET_QUOTA), in Mesos' words and order. Whether the cluster can bear it is in quota.c. */
#include "master/core/objects.h"

#include <math.h>
#include <string.h>

#include "master/core/roles/quota.h"
#include "master/core/roles/roles.h"

#define invalid(err, ...) err_set(err, ERR_INVALID, __VA_ARGS__)

/* Beyond these sums would leave what thousandths in an int64 can hold. */
#define MEGABYTES_MAX 1099511627776.0 /* an exabyte */
#define AMOUNT_MAX 1e12

bool master_role_allowed(const struct master *m, const char *role)
{
	if (!m->options.roles)
		return true;
	for (size_t i = 0; i < m->whitelist_count; i++)
		if (!strcmp(m->whitelist[i], role))
			return true;
	return false;
}

/* ---- configurations ---------------------------------------------------------------- */

/* One entry of either map. */
struct entry {
	const char *name;
	double value;
};

/* Rounded like any amount that is printed, where it can be. */
static double shown(double value)
{
	return value > -RESOURCE_SCALAR_MAX && value < RESOURCE_SCALAR_MAX
		       ? (double)llround(value * 1000) / 1000
		       : value;
}

static int check_size(const struct entry *entry, const char *field, struct err *err)
{
	bool megabytes = !strcmp(entry->name, "mem") || !strcmp(entry->name, "disk");

	if (megabytes && entry->value > MEGABYTES_MAX)
		return invalid(err,
			       "Invalid 'QuotaConfig.%s': {'%s': %.15g} is invalid: values greater "
			       "than 1 exabyte (%.0f) are not supported",
			       field, entry->name, shown(entry->value), MEGABYTES_MAX);
	if (!megabytes && entry->value > AMOUNT_MAX)
		return invalid(err,
			       "Invalid 'QuotaConfig.%s': {'%s': %.15g} is invalid: values greater "
			       "than 1 trillion (%.0f) are not supported",
			       field, entry->name, shown(entry->value), AMOUNT_MAX);
	return 0;
}

static int check_value(const struct entry *entry, const char *kind, struct err *err)
{
	const char *why = amount_fault(entry->value);

	if (why)
		return invalid(err, "Invalid %s configuration {'%s': %.15g}: %s", kind, entry->name,
			       shown(entry->value), why);
	return 0;
}

static struct entry guarantee_at(const Mesos__Quota__QuotaConfig *config, size_t i)
{
	return (struct entry){config->guarantees[i]->key, config->guarantees[i]->value->value};
}

static struct entry limit_at(const Mesos__Quota__QuotaConfig *config, size_t i)
{
	return (struct entry){config->limits[i]->key, config->limits[i]->value->value};
}

static int check_entries(const Mesos__Quota__QuotaConfig *config, struct err *err)
{
	int rv = 0;

	for (size_t i = 0; i < config->n_guarantees && !rv; i++) {
		struct entry entry = guarantee_at(config, i);

		rv = check_size(&entry, "guarantees", err);
	}
	for (size_t i = 0; i < config->n_limits && !rv; i++) {
		struct entry entry = limit_at(config, i);

		rv = check_size(&entry, "limits", err);
	}
	for (size_t i = 0; i < config->n_guarantees && !rv; i++) {
		struct entry entry = guarantee_at(config, i);

		rv = check_value(&entry, "guarantee", err);
	}
	for (size_t i = 0; i < config->n_limits && !rv; i++) {
		struct entry entry = limit_at(config, i);

		rv = check_value(&entry, "limit", err);
	}
	return rv;
}

/* "{ cpus: 4, mem: 512 }" */
static void print_map(const Mesos__Quota__QuotaConfig *config, size_t count,
		      struct entry (*at)(const Mesos__Quota__QuotaConfig *config, size_t i),
		      struct buf *out)
{
	buf_puts(out, "{ ");
	for (size_t i = 0; i < count; i++) {
		struct entry entry = at(config, i);

		buf_printf(out, "%s%s: %.15g", i ? ", " : "", entry.name, shown(entry.value));
	}
	buf_puts(out, " }");
}

static int check_guarantees_within(const Mesos__Quota__QuotaConfig *config, struct arena *arena,
				   struct err *err)
{
	struct buf guarantees = BUF_INIT, limits = BUF_INIT;

	if (amounts_within(quota_guarantees(config, arena), quota_limits(config, arena)))
		return 0;
	print_map(config, config->n_guarantees, guarantee_at, &guarantees);
	print_map(config, config->n_limits, limit_at, &limits);
	invalid(err,
		"'QuotaConfig.guarantees' %s is not contained within the 'QuotaConfig.limits' %s",
		guarantees.data, limits.data);
	buf_free(&guarantees);
	buf_free(&limits);
	return ERR_INVALID;
}

int quota_check_config(const Mesos__Quota__QuotaConfig *config, struct arena *arena,
		       struct err *err)
{
	int rv;

	if (config->n_guarantees > QUOTA_NAMES_MAX || config->n_limits > QUOTA_NAMES_MAX)
		return invalid(err, "There are more than %d guarantees or limits", QUOTA_NAMES_MAX);
	if (!role_valid(config->role, err))
		return err_wrap(err, ERR_INVALID, "Invalid 'QuotaConfig.role'");
	rv = check_entries(config, err);
	return rv ? rv : check_guarantees_within(config, arena, err);
}

int quota_validate_config(struct master *m, const Mesos__Quota__QuotaConfig *config,
			  struct err *err)
{
	if (!master_role_allowed(m, config->role))
		return invalid(err, "Invalid QuotaConfig: '%s' is not on the roles whitelist",
			       config->role);
	if (strchr(config->role, '/'))
		return invalid(err, "Updating quota on nested role '%s' is not supported yet",
			       config->role);
	if (quota_check_config(config, &m->out->arena, err) < 0)
		return err_wrap(err, ERR_INVALID, "Invalid QuotaConfig");
	return 0;
}

/* ---- the old requests ---------------------------------------------------------------- */

static int check_guarantee(const Mesos__Resource *resource, struct err *err)
{
	if (resource->n_reservations)
		return invalid(err, "QuotaInfo must not contain any ReservationInfo");
	if (resource->disk)
		return invalid(err, "QuotaInfo must not contain DiskInfo");
	if (resource->revocable)
		return invalid(err, "QuotaInfo must not contain RevocableInfo");
	if (resource->type != MESOS__VALUE__TYPE__SCALAR)
		return invalid(err, "QuotaInfo must not include non-scalar resources");
	return 0;
}

static int check_request(const Mesos__Quota__QuotaRequest *request, struct err *err)
{
	if (!request->role)
		return invalid(err, "QuotaInfo must specify a role");
	if (!role_valid(request->role, err))
		return err_wrap(err, ERR_INVALID, "QuotaInfo with invalid role");
	if (!request->n_guarantee)
		return invalid(err, "QuotaInfo with empty 'guarantee'");
	for (size_t i = 0; i < request->n_guarantee; i++) {
		int rv = check_guarantee(request->guarantee[i], err);

		if (rv)
			return rv;
		for (size_t k = 0; k < i; k++)
			if (!strcmp(request->guarantee[k]->name, request->guarantee[i]->name))
				return invalid(err,
					       "QuotaInfo contains duplicate resource name '%s'",
					       request->guarantee[i]->name);
	}
	return 0;
}

static int not_contained(const char *parent, size_t len, const struct amount *has,
			 const struct amount *children, struct err *err)
{
	struct buf own = BUF_INIT, sum = BUF_INIT;

	amounts_print(has, false, &own);
	amounts_print(children, false, &sum);
	invalid(err,
		"Invalid quota configuration. Parent role '%.*s' with guarantees (%s) does not "
		"contain the sum of its children's guarantees (%s)",
		(int)len, parent, own.data, sum.data);
	buf_free(&own);
	buf_free(&sum);
	return ERR_INVALID;
}

/* The parent must be guaranteed what its children are; only top-level roles have quota. */
static int check_parent(struct master *m, const Mesos__Quota__QuotaRequest *request,
			struct err *err)
{
	const char *slash = strrchr(request->role, '/'), *parent = request->role;
	struct arena *arena = &m->out->arena;
	struct amount *children = NULL, *has = NULL;

	if (!slash)
		return 0;
	for (size_t i = 0; i < request->n_guarantee; i++)
		amounts_add(arena, &children, request->guarantee[i]->name,
			    round(request->guarantee[i]->scalar->value * 1000));
	for (const char *at = parent; at < slash; at++)
		if (*at == '/')
			parent = at + 1;
	if (parent == request->role) {
		const struct quota *quota = master_find_quota(
			m, arena_strndup(arena, parent, (size_t)(slash - parent)));

		has = quota ? quota_guarantees(quota->config, arena) : NULL;
	}
	if (amounts_contain(has, children))
		return 0;
	return not_contained(parent, (size_t)(slash - parent), has, children, err);
}

static int check_new(struct master *m, const Mesos__Quota__QuotaRequest *request, struct err *err)
{
	int rv = check_request(request, err);

	if (rv)
		return rv;
	if (!master_role_allowed(m, request->role))
		return invalid(err, "Unknown role '%s'", request->role);
	if (master_find_quota(m, request->role))
		return invalid(err, "Cannot set quota for role '%s' which already has quota",
			       request->role);
	return check_parent(m, request, err);
}

int quota_validate_request(struct master *m, Mesos__Quota__QuotaRequest *request, struct err *err)
{
	if (resources_validate(request->guarantee, request->n_guarantee, err) < 0)
		return err_wrap(err, ERR_INVALID,
				"Failed to validate set quota request: QuotaInfo with invalid "
				"resource");
	for (size_t i = 0; i < request->n_guarantee; i++)
		resource_upgrade(&m->out->arena, request->guarantee[i]);
	if (check_new(m, request, err) < 0)
		return err_wrap(err, ERR_INVALID, "Failed to validate set quota request");
	if (strchr(request->role, '/'))
		return invalid(err, "Setting quota on nested role '%s' is not supported yet",
			       request->role);
	return 0;
}

/* Weights of roles: UPDATE_WEIGHTS, and --weights for a registry that has none.
 *
 * The list is checked as a whole, written as one batch, and counts once that is durable:
 * then the allocator is told, and if frameworks are in one of the roles all offers there are
 * are rescinded, to be made anew by the new weights. A weight stays until it is replaced;
 * there is no taking it back but by 1.
 */
#include "master/core/objects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/emit.h"
#include "master/core/offers/offers.h"
#include "master/core/operator.h"
#include "master/core/roles/roles.h"
#include "master/core/store/registry.h"

/* ---- the table ------------------------------------------------------------------------ */

static struct weight *weights_find(const struct master *m, const char *role)
{
	struct weight *weight;

	HASH_FIND(hh, m->weights, role, strlen(role), weight);
	return weight;
}

double master_role_weight(const struct master *m, const char *role)
{
	const struct weight *weight = weights_find(m, role);

	return weight ? weight->value : 1.0;
}

struct weight *master_adopt_weight(struct master *m, const Mesos__WeightInfo *info)
{
	struct weight *weight = weights_find(m, info->role);

	if (!weight) {
		weight = xcalloc(1, sizeof(*weight));
		weight->role = xstrdup(info->role);
		HASH_ADD_KEYPTR(hh, m->weights, weight->role, strlen(weight->role), weight);
	}
	weight->value = info->weight;
	allocator_set_weight(m->allocator, weight->role, weight->value);
	return weight;
}

void master_free_weights(struct master *m)
{
	struct weight *weight, *next;

	HASH_ITER (hh, m->weights, weight, next) {
		HASH_DEL(m->weights, weight);
		free(weight->role);
		free(weight);
	}
}

static int by_role(const void *a, const void *b)
{
	return strcmp((*(Mesos__WeightInfo *const *)a)->role,
		      (*(Mesos__WeightInfo *const *)b)->role);
}

size_t master_weight_infos(const struct master *m, struct arena *arena, Mesos__WeightInfo ***list)
{
	size_t count = 0;

	*list = NULL;
	for (struct weight *weight = m->weights; weight; weight = weight->hh.next) {
		Mesos__WeightInfo *info =
			PROTO_NEW(arena, Mesos__WeightInfo, mesos__weight_info__descriptor);

		info->role = weight->role;
		info->weight = weight->value;
		proto_push(arena, count, *list, info);
	}
	if (count)
		qsort(*list, count, sizeof(**list), by_role);
	return count;
}

/* ---- changing ---------------------------------------------------------------------------- */

static int check_weight(const struct master *m, const Mesos__WeightInfo *info, struct err *err)
{
	struct err why = {""};

	if (!role_valid(info->role, &why))
		return err_set(err, ERR_INVALID, "Invalid role '%s': %s", info->role, why.text);
	if (!master_role_allowed(m, info->role))
		return err_set(err, ERR_INVALID, "Unknown role '%s'", info->role);
	return 0;
}

static const char *weights_trimmed(struct master *m, const char *text)
{
	static const char space[] = " \t\n\r";
	size_t len;

	text += strspn(text, space);
	len = strlen(text);
	while (len && strchr(space, text[len - 1]))
		len--;
	return arena_strndup(&m->out->arena, text, len);
}

/* Fills the reply if it fails. */
static bool check_all(struct master *m, const Mesos__Master__Call__UpdateWeights *update)
{
	static const char prefix[] = "Failed to validate update weights request JSON";

	if (update->n_weight_infos > MASTER_ROLES_CHANGED_MAX) {
		master_reply(m, 400, "%s: More than %d roles at once", prefix,
			     MASTER_ROLES_CHANGED_MAX);
		return false;
	}
	for (size_t i = 0; i < update->n_weight_infos; i++) {
		Mesos__WeightInfo *info = update->weight_infos[i];
		struct err err = {""};

		info->role = (char *)weights_trimmed(m, info->role ? info->role : "");
		if (check_weight(m, info, &err)) {
			master_reply(m, 400, "%s: %s", prefix, err.text);
			return false;
		}
		if (info->weight > 0 && isfinite(info->weight))
			continue;
		master_reply(m, 400, "%s for role '%s': Invalid weight '%g': Weights must be %s",
			     prefix, info->role, info->weight,
			     info->weight > 0 ? "finite" : "positive");
		return false;
	}
	return true;
}

static void put_weight(struct master *m, struct registry_batch *batch,
		       const Mesos__WeightInfo *info)
{
	registry_put(m, batch, registry_key(m, "weight", info->role), info);
}

static bool holds_in_marked(const struct master *m, const struct resources *r, uint64_t mark)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const char *role = resource_shape_allocation_role(r->pieces[i].shape);
		const struct weight *weight = role ? weights_find(m, role) : NULL;

		if (weight && weight->mark == mark)
			return true;
	}
	return false;
}

/* Whether a framework is in a role of the mark, or holds something in it still. */
static bool any_active(const struct master *m, uint64_t mark)
{
	for (struct framework *f = m->frameworks; f; f = f->hh.next) {
		for (size_t i = 0; i < f->role_count; i++) {
			const struct weight *weight = weights_find(m, f->roles[i]);

			if (weight && weight->mark == mark)
				return true;
		}
		if (holds_in_marked(m, &f->used, mark) || holds_in_marked(m, &f->offered, mark))
			return true;
	}
	return false;
}

static void weights_adopt(struct master *m, struct pending *p)
{
	const Mesos__Master__Call__UpdateWeights *update = p->message;
	uint64_t mark = ++m->mark;
	struct offer *o, *next;

	log_info("weights of %zu roles were changed, %s first", update->n_weight_infos,
		 update->weight_infos[0]->role);
	for (size_t i = 0; i < update->n_weight_infos; i++)
		master_adopt_weight(m, update->weight_infos[i])->mark = mark;
	if (any_active(m, mark))
		HASH_ITER (hh, m->offers, o, next)
			master_rescind_offer(m, o);
	master_answer(m, p->request, 200, "%s", "");
}

void master_update_weights(struct master *m, const struct operator_request *request)
{
	const Mesos__Master__Call__UpdateWeights *update = request->call->update_weights;
	struct registry_batch batch = {0};
	struct pending *p;

	if (!check_all(m, update))
		return;
	if (!update->n_weight_infos) {
		master_reply(m, 200, "%s", "");
		return;
	}
	for (size_t i = 0; i < update->n_weight_infos; i++)
		put_weight(m, &batch, update->weight_infos[i]);
	p = registry_write(m, &batch, weights_adopt);
	p->message = proto_copy(update);
	p->request = request->number;
	master_reply(m, 0, "%s", "");
}

/* ---- the flag ---------------------------------------------------------------------------- */

/* "role=weight" */
static int parse_weight(struct arena *arena, const char *text, Mesos__WeightInfo *info,
			struct err *err)
{
	char *copy = arena_strdup(arena, text), *save = NULL, *end;
	char *role = strtok_r(copy, "=", &save), *number = strtok_r(NULL, "=", &save);

	if (!role || !number || strtok_r(NULL, "=", &save))
		return err_set(err, ERR_INVALID,
			       "Invalid weight: '%s'. --weights should be of the form "
			       "'role=weight,role=weight'",
			       text);
	if (!role_valid(role, err))
		return err_wrap(err, ERR_INVALID, "Invalid weight: '%s'", text);
	info->role = role;
	info->weight = strtod(number, &end);
	if (*end || !isfinite(info->weight) || info->weight <= 0)
		return err_set(err, ERR_INVALID, "Invalid weight: '%s'. Weights must be positive",
			       text);
	return 0;
}

int master_parse_weights(struct arena *arena, const char *text, size_t *count,
			 Mesos__WeightInfo ***list, struct err *err)
{
	char *copy = arena_strdup(arena, text), *save = NULL;

	*count = 0;
	*list = NULL;
	for (char *token = strtok_r(copy, ",", &save); token; token = strtok_r(NULL, ",", &save)) {
		Mesos__WeightInfo *info =
			PROTO_NEW(arena, Mesos__WeightInfo, mesos__weight_info__descriptor);
		int rv = parse_weight(arena, token, info, err);

		if (rv)
			return rv;
		proto_push(arena, *count, *list, info);
	}
	return 0;
}

int master_check_weights(const struct master *m, struct err *err)
{
	Mesos__WeightInfo **list;
	struct arena arena;
	size_t count;
	int rv = 0;

	if (!m->options.weights)
		return 0;
	arena_init(&arena);
	rv = master_parse_weights(&arena, m->options.weights, &count, &list, err);
	for (size_t i = 0; i < count && !rv; i++)
		if (!master_role_allowed(m, list[i]->role))
			rv = err_set(err, ERR_INVALID,
				     "Invalid weight: '%s'. %s is not a valid role",
				     m->options.weights, list[i]->role);
	arena_free(&arena);
	return rv;
}

void master_start_weights(struct master *m, struct registry_batch *batch)
{
	Mesos__WeightInfo **list;
	size_t count;

	if (!m->options.weights)
		return;
	if (m->weights) {
		log_warning("--weights '%s' is ignored: the registry has weights",
			    m->options.weights);
		return;
	}
	/* Checked when the master was made. */
	master_parse_weights(&m->out->arena, m->options.weights, &count, &list, NULL);
	for (size_t i = 0; i < count; i++) {
		master_adopt_weight(m, list[i]);
		put_weight(m, batch, list[i]);
	}
}

/* SUBSCRIBE: the checks of a FrameworkInfo and what becomes
 * of the subscription. Those of drivers share the most of it; the rest is in driver.c.
 *
 * A refusal is answered 200 with one ERROR event and the end of the stream, never
 * with a status. Whoever spoke for the framework before hears "Framework failed over"
 * and is let go.
 */
#include "master/core/frameworks/subscribe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/authenticate.h"
#include "master/core/authorize.h"
#include "master/core/emit.h"
#include "master/core/frameworks/driver.h"
#include "master/core/frameworks/events.h"
#include "master/core/frameworks/framework_life.h"
#include "master/core/frameworks/frameworks.h"
#include "master/core/journal.h"
#include "master/core/objects.h"
#include "master/core/roles/amounts.h"
#include "master/core/store/offer_memory.h"
#include "master/core/tasks/task_validate.h"

/* Durations are int64 nanoseconds. */
#define FAILOVER_TIMEOUT_MAX 9223372036.0

/* ---- checks of an info ------------------------------------------------------- */

/* Each is compared with each; nobody has as many. */
#define ROLES_MAX 5000

static bool has_role_field(const Mesos__FrameworkInfo *info)
{
	return info->role && info->role != mesos__framework_info__role__default_value;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The pointers in order; the caller frees the array. */
static char **sorted_texts(char *const *list, size_t count)
{
	char **sorted = xcalloc(count + 1, sizeof(*sorted));

	for (size_t i = 0; i < count; i++)
		sorted[i] = list[i];
	qsort(sorted, count, sizeof(*sorted), compare_texts);
	return sorted;
}

/* Whether something in the list is not `known`; `out` is then the set "{ a, b }" of it. */
static bool list_unknown(char *const *list, size_t count, char *const *known, size_t known_count,
			 struct buf *out)
{
	char **sorted = sorted_texts(known, known_count), **asked = sorted_texts(list, count);

	for (size_t i = 0; i < count; i++) {
		if (i && !strcmp(asked[i], asked[i - 1]))
			continue;
		if (!bsearch(&asked[i], sorted, known_count, sizeof(*sorted), compare_texts))
			buf_printf(out, "%s%s", out->len ? ", " : "{ ", asked[i]);
	}
	free(asked);
	free(sorted);
	if (!out->len)
		return false;
	buf_puts(out, " }");
	return true;
}

static int check_duplicates(const Mesos__FrameworkInfo *info, struct err *err)
{
	char **sorted = sorted_texts(info->roles, info->n_roles);
	struct buf text = BUF_INIT;
	int rv = 0;

	for (size_t i = 1; i < info->n_roles; i++) {
		bool repeated = !strcmp(sorted[i], sorted[i - 1]);

		if (repeated && (i < 2 || strcmp(sorted[i], sorted[i - 2])))
			buf_printf(&text, "%s%s", text.len ? ", " : "", sorted[i]);
	}
	free(sorted);
	if (text.len)
		rv = err_set(err, ERR_INVALID,
			     "'FrameworkInfo.roles' contains duplicate items: { %s }", text.data);
	buf_free(&text);
	return rv;
}

static int subscribe_check_roles(const Mesos__FrameworkInfo *info, struct err *err)
{
	int rv;

	if (!framework_info_has(info, MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__MULTI_ROLE)) {
		if (info->n_roles)
			return err_set(
				err, ERR_INVALID,
				"'FrameworkInfo.roles' must not be set when the framework is "
				"not MULTI_ROLE capable");
		if (!role_valid(info->role ? info->role : "*", err))
			return err_wrap(err, ERR_INVALID,
					"'FrameworkInfo.role' is not a valid role");
		return 0;
	}
	if (has_role_field(info))
		return err_set(
			err, ERR_INVALID,
			"'FrameworkInfo.role' must not be set when the framework is MULTI_ROLE "
			"capable");
	if (info->n_roles > ROLES_MAX)
		return err_set(err, ERR_INVALID, "'FrameworkInfo.roles' has more than %d roles",
			       ROLES_MAX);
	rv = check_duplicates(info, err);
	if (rv)
		return rv;
	for (size_t i = 0; i < info->n_roles; i++) {
		if (!role_valid(info->roles[i], err))
			return err_wrap(err, ERR_INVALID,
					"'FrameworkInfo.roles' contains invalid role");
	}
	return 0;
}

static int check_quantity(const char *name, double value, struct err *err)
{
	const char *why = amount_fault(value);

	return why ? err_set(err, ERR_INVALID, "Invalid resource quantity for '%s': %s", name, why)
		   : 0;
}

static int check_quantities(const Mesos__OfferFilters__ResourceQuantities *q, struct err *err)
{
	int rv = 0;

	if (!q->n_quantities)
		return err_set(err, ERR_INVALID,
			       "Resource quantities must contain at least one quantity");
	for (size_t i = 0; i < q->n_quantities && !rv; i++) {
		const Mesos__Value__Scalar *scalar = q->quantities[i]->value;

		rv = check_quantity(q->quantities[i]->key ? q->quantities[i]->key : "",
				    scalar ? scalar->value : 0, err);
	}
	return rv;
}

static int check_offer_filters(const Mesos__FrameworkInfo *info, struct err *err)
{
	int rv = 0;

	for (size_t i = 0; i < info->n_offer_filters && !rv; i++) {
		const Mesos__OfferFilters *filters = info->offer_filters[i]->value;

		if (!filters || !filters->min_allocatable_resources)
			continue;
		for (size_t k = 0; k < filters->min_allocatable_resources->n_quantities && !rv; k++)
			rv = check_quantities(filters->min_allocatable_resources->quantities[k],
					      err);
	}
	return rv;
}

static int check_failover_timeout(const Mesos__FrameworkInfo *info, struct err *err)
{
	if (!info->has_failover_timeout)
		return 0;
	if (isnan(info->failover_timeout) || fabs(info->failover_timeout) >= FAILOVER_TIMEOUT_MAX)
		return err_set(err, ERR_INVALID, "The framework failover_timeout (%g) is invalid",
			       info->failover_timeout);
	return 0;
}

static int check_whitelist(const struct master *m, const Mesos__FrameworkInfo *info,
			   struct err *err)
{
	char *single = info->role ? info->role : (char *)"*";
	bool multi = framework_info_has(info, MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__MULTI_ROLE);
	struct buf text = BUF_INIT;
	int rv = 0;

	if (!m->whitelist)
		return 0;
	if (list_unknown(multi ? info->roles : &single, multi ? info->n_roles : 1, m->whitelist,
			 m->whitelist_count, &text))
		rv = err_set(err, ERR_INVALID, "Roles %s are not present in the master's --roles",
			     text.data);
	buf_free(&text);
	return rv;
}

int framework_info_validate(const Mesos__FrameworkInfo *info, struct err *err)
{
	int rv = subscribe_check_roles(info, err);

	if (!rv && info->id && info->id->value[0])
		rv = master_validate_id(info->id->value, err);
	if (!rv)
		rv = check_offer_filters(info, err);
	if (!rv)
		rv = check_failover_timeout(info, err);
	return rv;
}

int master_validate_framework_info(const struct master *m, const Mesos__FrameworkInfo *info,
				   struct err *err)
{
	int rv = framework_info_validate(info, err);

	if (!rv)
		rv = check_whitelist(m, info, err);
	if (!rv && !strcmp(info->user, "root") && !m->options.root_submissions)
		rv = err_set(err, ERR_INVALID,
			     "User 'root' is not allowed to run frameworks without "
			     "--root_submissions set");
	if (!rv && info->id && master_find_completed(m, info->id->value))
		rv = err_set(err, ERR_INVALID, "Framework has been removed");
	return rv;
}

static int check_constraints(const Mesos__Scheduler__OfferConstraints *constraints,
			     char *const *roles, size_t role_count, struct err *err)
{
	struct constraints *compiled = NULL;
	char **sorted;
	int rv = 0;

	if (!constraints)
		return 0;
	sorted = sorted_texts(roles, role_count);
	for (size_t i = 0; i < constraints->n_role_constraints && !rv; i++) {
		const char *role = constraints->role_constraints[i]->key;

		role = role ? role : "";
		if (!bsearch(&role, sorted, role_count, sizeof(*sorted), compare_texts))
			rv = err_set(err, ERR_INVALID,
				     "Offer constraints specify `role_constraints` for a role "
				     "'%s'not contained in the set of roles",
				     role);
	}
	free(sorted);
	if (rv)
		return rv;
	rv = constraints_create(constraints, &compiled, err);
	constraints_destroy(compiled);
	return rv ? err_wrap(err, rv, "Offer constraints are not valid") : 0;
}

int master_validate_suppressed(const Mesos__FrameworkInfo *info, char *const *suppressed,
			       size_t count, const Mesos__Scheduler__OfferConstraints *constraints,
			       struct err *err)
{
	char *single = info->role ? info->role : (char *)"*";
	bool multi = framework_info_has(info, MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__MULTI_ROLE);
	char *const *roles = multi ? info->roles : &single;
	size_t role_count = multi ? info->n_roles : 1;
	struct buf text = BUF_INIT;
	int rv = 0;

	if (list_unknown(suppressed, count, roles, role_count, &text))
		rv = err_set(err, ERR_INVALID,
			     "Suppressed roles %s are not contained in the set of roles",
			     text.data);
	if (!rv)
		rv = check_constraints(constraints, roles, role_count, err);
	buf_free(&text);
	return rv;
}

static int check_principal(const struct framework *f, const Mesos__FrameworkInfo *info,
			   struct err *err)
{
	const char *old = f->info->principal, *new = info->principal;

	if (!old == !new && (!old || !strcmp(old, new)))
		return 0;
	return err_set(err, ERR_INVALID, "Changing framework's principal is not allowed.");
}

int master_check_subscription(struct master *m, const Mesos__Scheduler__Call__Subscribe *call,
			      const char *principal, const char *pid, struct subscription *out,
			      struct err *err)
{
	Mesos__FrameworkInfo *info = STEP_COPY(m, call->framework_info);
	int rv;

	*out = (struct subscription){.call = call, .info = info};
	if (info->id && !info->id->value[0])
		info->id = NULL;
	if (info->id)
		m->counters.messages_reregister_framework++;
	else
		m->counters.messages_register_framework++;
	if (!info->principal && principal)
		info->principal = master_text(m, principal);
	rv = master_validate_framework_info(m, info, err);
	if (!rv && pid)
		rv = authenticate_framework(m, pid, info, err);
	if (!rv)
		rv = master_validate_suppressed(info, call->suppressed_roles,
						call->n_suppressed_roles, call->offer_constraints,
						err);
	if (!rv)
		rv = authorize_roles(m, info, err);
	if (!rv && info->id)
		out->f = master_find_framework(m, info->id->value);
	if (!rv && out->f)
		rv = check_principal(out->f, info, err);
	return rv;
}

/* ---- outcomes ------------------------------------------------------------------- */

static struct framework *admit_new(struct master *m, const struct subscription *s)
{
	struct framework *f;

	s->info->id =
		master_framework_id(m, arena_printf(&m->out->arena, "%s-%04llu", m->options.id,
						    (unsigned long long)m->next_framework++));
	f = master_add_framework(m, s->info);
	framework_set_suppressed(f, s->call->suppressed_roles, s->call->n_suppressed_roles);
	framework_set_constraints(f, s->call->offer_constraints);
	f->registered_time = f->reregistered_time = m->now;
	f->active = true;
	master_tell_allocator(m, f);
	log_info("framework %s (%s) subscribed", f->id, s->info->name);
	return f;
}

struct framework *master_admit_framework(struct master *m, struct subscription *s)
{
	struct framework *f = s->f;

	if (!s->info->id)
		return admit_new(m, s);
	if (!f)
		f = master_add_framework(m, s->info);
	f->reregistered_time = m->now;
	if (f->state == FRAMEWORK_RECOVERED)
		f->registered_time = m->now;
	f->active = true;
	master_update_framework(m, f, s->info, s->call->suppressed_roles,
				s->call->n_suppressed_roles, s->call->offer_constraints);
	log_info("framework %s (%s) subscribed again", f->id, f->info->name);
	return f;
}

void master_supplant(struct master *m, struct framework *f)
{
	static const char why[] = "Framework failed over";

	if (!framework_connected(f))
		return;
	if (f->http)
		master_refuse_stream(m, f->stream, why);
	else
		driver_tell_error(m, f->pid, f->reached, why);
	master_detach_framework(m, f);
}

void master_connect_framework(struct master *m, struct framework *f)
{
	master_await_framework(m, f, false);
	framework_life_move(m, f, FRAMEWORK_CONNECTED);
	f->counters.calls[MESOS__SCHEDULER__CALL__TYPE__SUBSCRIBE]++;
	timers_stop(&m->timers, &f->failover);
	journal_framework(m, JOURNAL_FRAMEWORK_CHANGED, f);
	journal_framework(m, f->announced ? JOURNAL_FRAMEWORK_SUBSCRIBED : JOURNAL_FRAMEWORK_ADDED,
			  f);
	f->announced = true;
}

static void adopt_stream(struct master *m, struct framework *f, uint64_t stream,
			 const char *stream_id)
{
	master_supplant(m, f);
	free(f->pid);
	free(f->reached);
	f->pid = f->reached = NULL;
	free(f->stream_id);
	f->stream_id = xstrdup(stream_id);
	f->stream = stream;
	f->http = true;
	HASH_ADD(hh_stream, m->streams, stream, sizeof(f->stream), f);
	master_connect_framework(m, f);
}

void master_subscribe(struct master *m, const struct master_event *event)
{
	struct subscription s;
	struct framework *f;
	uint8_t uuid[UUID_BYTES];
	struct err err = {{0}};
	bool has_id;

	uuid_make(m->options.rng, uuid);
	m->out->reply.stream_id = arena_alloc(&m->out->arena, UUID_TEXT);
	uuid_format(uuid, (char *)m->out->reply.stream_id);
	master_reply(m, 200, "%s", "");
	if (master_check_subscription(m, event->call.call->subscribe, event->call.principal, NULL,
				      &s, &err)) {
		log_info_limited("refused the subscription of framework '%s': %s", s.info->name,
				 err.text);
		master_refuse_stream(m, event->call.stream, err.text);
		return;
	}
	has_id = s.info->id;
	if (s.f)
		master_discard_offers(m, s.f);
	f = master_admit_framework(m, &s);
	adopt_stream(m, f, event->call.stream, m->out->reply.stream_id);
	master_tell_subscribed(m, f);
	master_tell_heartbeat(m, f);
	if (has_id)
		master_broadcast(m, master_update_framework_message(m, f));
}

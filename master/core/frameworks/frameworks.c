/* Framework records: making, changing, disconnecting and removing
 * them, and what the allocator is told about them.
 */
#include "master/core/frameworks/frameworks.h"
#include "master/core/frameworks/framework_shutdown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/emit.h"
#include "master/core/frameworks/framework_life.h"
#include "master/core/frameworks/subscribe.h"
#include "master/core/journal.h"
#include "master/core/objects.h"
#include "master/core/offers/inverse_offers.h"
#include "master/core/offers/offers.h"
#include "master/core/operations/operation_records.h"
#include "master/core/store/offer_memory.h"
#include "master/core/tasks/tasks.h"

struct framework *master_find_framework(const struct master *m, const char *id)
{
	struct framework *f;

	HASH_FIND(hh, m->frameworks, id, strlen(id), f);
	return f;
}

struct framework *master_find_completed(const struct master *m, const char *id)
{
	struct framework *f;

	HASH_FIND(hh, m->completed, id, strlen(id), f);
	return f;
}

bool framework_info_has(const Mesos__FrameworkInfo *info,
			Mesos__FrameworkInfo__Capability__Type capability)
{
	for (size_t i = 0; i < info->n_capabilities; i++) {
		if (info->capabilities[i]->has_type && info->capabilities[i]->type == capability)
			return true;
	}
	return false;
}

static void free_texts(char **texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
	free(texts);
}

static char **copy_texts(char *const *texts, size_t count)
{
	char **copy = xcalloc(count ? count : 1, sizeof(*copy));

	for (size_t i = 0; i < count; i++)
		copy[i] = xstrdup(texts[i]);
	return copy;
}

void framework_derive(struct framework *f)
{
	const Mesos__FrameworkInfo *info = f->info;
	char *single = info->role ? info->role : (char *)"*";

#define CAPABLE(name) framework_info_has(info, MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__##name)
	f->partition_aware = CAPABLE(PARTITION_AWARE);
	f->multi_role = CAPABLE(MULTI_ROLE);
	f->reservation_refinement = CAPABLE(RESERVATION_REFINEMENT);
	f->gpu_resources = CAPABLE(GPU_RESOURCES);
	f->revocable_resources = CAPABLE(REVOCABLE_RESOURCES);
	f->shared_resources = CAPABLE(SHARED_RESOURCES);
	f->region_aware = CAPABLE(REGION_AWARE);
#undef CAPABLE
	free_texts(f->roles, f->role_count);
	f->role_count = f->multi_role ? info->n_roles : 1;
	f->roles = copy_texts(f->multi_role ? info->roles : &single, f->role_count);
}

void framework_set_suppressed(struct framework *f, char *const *roles, size_t count)
{
	char **copy = copy_texts(roles, count);

	free_texts(f->suppressed, f->suppressed_count);
	f->suppressed = copy;
	f->suppressed_count = count;
}

void framework_set_constraints(struct framework *f,
			       const Mesos__Scheduler__OfferConstraints *constraints)
{
	struct err err;

	constraints_destroy(f->constraints);
	proto_free(f->offer_constraints);
	f->offer_constraints = proto_copy(constraints);
	/* They were checked before. */
	constraints_create(constraints, &f->constraints, &err);
}

bool framework_has_role(const struct framework *f, const char *role)
{
	for (size_t i = 0; i < f->role_count; i++) {
		if (!strcmp(f->roles[i], role))
			return true;
	}
	return false;
}

/* Values above this are more than any offer holds. */
#define AMOUNT_MAX 9e12

static struct allocator_amounts filter_amounts(struct master *m,
					       const Mesos__OfferFilters__ResourceQuantities *q)
{
	struct allocator_amount *items =
		arena_alloc(&m->out->arena, (q->n_quantities + 1) * sizeof(*items));

	for (size_t i = 0; i < q->n_quantities; i++) {
		const Mesos__Value__Scalar *scalar = q->quantities[i]->value;
		double value = scalar ? scalar->value : 0;

		items[i].name = q->quantities[i]->key ? q->quantities[i]->key : "";
		items[i].milli = llround((value < AMOUNT_MAX ? value : AMOUNT_MAX) * 1000);
	}
	return (struct allocator_amounts){items, q->n_quantities};
}

/* FrameworkInfo.offer_filters in the allocator's words; borrows from the info. */
static size_t offer_minima(struct master *m, const struct framework *f,
			   struct allocator_minimum **out)
{
	const Mesos__FrameworkInfo *info = f->info;
	size_t count = 0;

	*out = arena_alloc(&m->out->arena, (info->n_offer_filters + 1) * sizeof(**out));
	for (size_t i = 0; i < info->n_offer_filters; i++) {
		const Mesos__OfferFilters *filters = info->offer_filters[i]->value;
		const Mesos__OfferFilters__MinAllocatableResources *least =
			filters ? filters->min_allocatable_resources : NULL;
		struct allocator_amounts *sets;

		if (!least)
			continue;
		sets = arena_alloc(&m->out->arena, (least->n_quantities + 1) * sizeof(*sets));
		for (size_t k = 0; k < least->n_quantities; k++)
			sets[k] = filter_amounts(m, least->quantities[k]);
		(*out)[count++] = (struct allocator_minimum){
			.role = info->offer_filters[i]->key ? info->offer_filters[i]->key : "",
			.any_of = sets,
			.count = least->n_quantities,
		};
	}
	return count;
}

void master_tell_allocator(struct master *m, struct framework *f)
{
	struct allocator_minimum *minima;
	size_t minimum_count = offer_minima(m, f, &minima);
	struct allocator_framework say = {
		.id = f->id,
		.roles = (const char *const *)f->roles,
		.role_count = f->role_count,
		.suppressed_roles = (const char *const *)f->suppressed,
		.suppressed_count = f->suppressed_count,
		.active = f->active,
		.gpu_resources = f->gpu_resources,
		.revocable_resources = f->revocable_resources,
		.shared_resources = f->shared_resources,
		.reservation_refinement = f->reservation_refinement,
		.multi_role = f->multi_role,
		.region_aware = f->region_aware,
		.minima = minima,
		.minimum_count = minimum_count,
		.constraints = f->constraints,
	};

	if (f->alloc)
		allocator_update_framework(m->allocator, f->alloc, &say);
	else
		f->alloc = allocator_add_framework(m->allocator, f, &say);
}

struct framework *master_make_framework(const Mesos__FrameworkInfo *info)
{
	struct framework *f = xcalloc(1, sizeof(*f));

	f->info = proto_copy(info);
	f->id = xstrdup(f->info->id->value);
	f->state = FRAMEWORK_RECOVERED;
	f->failover.kind = TIMER_FAILOVER;
	f->heartbeat.kind = TIMER_HEARTBEAT;
	list_init(&f->unreachable_order);
	list_init(&f->completed_tasks);
	list_init(&f->executors);
	list_init(&f->offers);
	list_init(&f->inverse_offers);
	list_init(&f->inverse_answers);
	list_init(&f->operations);
	list_init(&f->dirty);
	framework_derive(f);
	return f;
}

/* In nanoseconds; validated, whether it subscribed or an agent reported it. */
static int64_t failover_timeout(const struct framework *f)
{
	double seconds = f->info->has_failover_timeout ? f->info->failover_timeout : 0;

	return seconds <= 0 ? 0 : (int64_t)(seconds * SECOND);
}

/* As long as agents may take to come back, but not less than it asked for. */
static int64_t recovered_timeout(const struct master *m, const struct framework *f)
{
	int64_t timeout = failover_timeout(f);

	return timeout > m->options.agent_reregister_timeout ? timeout
							     : m->options.agent_reregister_timeout;
}

struct framework *master_add_framework(struct master *m, const Mesos__FrameworkInfo *info)
{
	struct framework *f = master_make_framework(info);

	HASH_ADD_KEYPTR(hh, m->frameworks, f->id, strlen(f->id), f);
	master_adopt_operations(m, f);
	master_tell_allocator(m, f);
	journal_framework(m, JOURNAL_FRAMEWORK_CHANGED, f);
	/* It may be known from the store or an agent alone. Mesos keeps such a one for ever. */
	timers_start(&m->timers, &f->failover, master_later(m, recovered_timeout(m, f)));
	return f;
}

static void count_used(const struct framework *f, struct resources *used)
{
	struct executor *e, *next_executor;
	struct task *t, *next;

	HASH_ITER (hh, f->tasks, t, next) {
		if (t->holds)
			resources_add(used, &t->resources);
	}
	list_for_each (e, next_executor, &f->executors, by_framework)
		resources_add(used, &e->resources);
}

static void count_offered(const struct framework *f, struct resources *offered)
{
	struct offer *o, *next;

	list_for_each (o, next, &f->offers, by_framework)
		resources_add(offered, &o->resources);
}

void framework_count_held(const struct framework *f, struct resources *used,
			  struct resources *offered)
{
	count_used(f, used);
	count_offered(f, offered);
}

void framework_held(const struct framework *f, struct resources *used, struct resources *offered)
{
	*used = *offered = RESOURCES_INIT;
	if (f->used_mixed)
		count_used(f, used);
	else
		resources_copy(used, &f->used);
	if (f->offered_mixed)
		count_offered(f, offered);
	else
		resources_copy(offered, &f->offered);
}

void framework_add_held(struct framework *f, struct resources *sum, const struct resources *more)
{
	bool *mixed = sum == &f->used ? &f->used_mixed : &f->offered_mixed;

	*mixed = *mixed || !resources_are_scalars(more);
	resources_add(sum, more);
}

void master_free_framework(struct framework *f)
{
	struct completed_task *c, *next;

	HASH_CLEAR(hh, f->completed_by_id);
	list_for_each (c, next, &f->completed_tasks, link) {
		task_record_free(&c->record);
		free(c);
	}
	free_texts(f->roles, f->role_count);
	free_texts(f->suppressed, f->suppressed_count);
	constraints_destroy(f->constraints);
	proto_free(f->offer_constraints);
	resources_free(&f->used);
	resources_free(&f->offered);
	proto_free(f->info);
	free(f->stream_id);
	free(f->pid);
	free(f->reached);
	free(f->id);
	free(f);
}

/* ---- changing ------------------------------------------------------------------ */

/* What a framework may not change keeps its old value. */
static Mesos__FrameworkInfo *merged_info(const struct framework *f,
					 const Mesos__FrameworkInfo *info)
{
	Mesos__FrameworkInfo *merged = proto_copy(info);

	if (strcmp(merged->user, f->info->user)) {
		log_warning("framework %s may not change its user to '%s'", f->id, merged->user);
		free(merged->user);
		merged->user = xstrdup(f->info->user);
	}
	merged->has_checkpoint = f->info->has_checkpoint;
	merged->checkpoint = f->info->checkpoint;
	return merged;
}

static void rescind_foreign_roles(struct master *m, struct framework *f)
{
	struct offer *o, *next;

	list_for_each (o, next, &f->offers, by_framework) {
		if (!framework_has_role(f, o->role))
			master_rescind_offer(m, o);
	}
}

void master_update_framework(struct master *m, struct framework *f,
			     const Mesos__FrameworkInfo *info, char *const *suppressed,
			     size_t suppressed_count,
			     const Mesos__Scheduler__OfferConstraints *constraints)
{
	Mesos__FrameworkInfo *old = f->info;

	f->info = merged_info(f, info);
	proto_free(old);
	framework_derive(f);
	framework_set_suppressed(f, suppressed, suppressed_count);
	framework_set_constraints(f, constraints);
	rescind_foreign_roles(m, f);
	master_tell_allocator(m, f);
	journal_framework(m, JOURNAL_FRAMEWORK_CHANGED, f);
}

void master_discard_offers(struct master *m, struct framework *f)
{
	struct offer *o, *next;

	list_for_each (o, next, &f->offers, by_framework)
		master_discard_offer(m, o);
	master_discard_inverse_of_framework(m, f);
}

void master_activate_framework(struct master *m, struct framework *f, bool active)
{
	if (f->active == active)
		return;
	f->active = active;
	journal_framework(m, JOURNAL_FRAMEWORK_MOVED, f);
	allocator_activate_framework(m->allocator, f->alloc, active);
}

void *master_update_framework_message(struct master *m, const struct framework *f)
{
	Mesos__Internal__UpdateFrameworkMessage *message =
		STEP_NEW(m, Mesos__Internal__UpdateFrameworkMessage,
			 mesos__internal__update_framework_message__descriptor);

	message->framework_id = master_framework_id(m, f->id);
	message->pid = master_text(m, f->pid ? f->pid : MASTER_EMPTY_PID);
	message->framework_info = STEP_COPY(m, f->info);
	return message;
}

/* ---- losing its connection ------------------------------------------------------- */

void master_detach_framework(struct master *m, struct framework *f)
{
	if (f->http) {
		HASH_DELETE(hh_stream, m->streams, f);
		timers_stop(&m->timers, &f->heartbeat);
		f->http = false;
	} else if (framework_connected(f) && f->pid) {
		HASH_DELETE(hh_driver, m->drivers, f);
		master_unlink_driver(m, f);
	}
}

void master_disconnect_framework(struct master *m, struct framework *f)
{
	int64_t timeout = failover_timeout(f);

	log_info("framework %s (%s) disconnected", f->id, f->info->name);
	master_discard_offers(m, f);
	master_activate_framework(m, f, false);
	master_detach_framework(m, f);
	framework_life_move(m, f, FRAMEWORK_DISCONNECTED);
	journal_framework(m, JOURNAL_FRAMEWORK_CHANGED, f);
	if (!timeout) {
		master_remove_framework(m, f);
		return;
	}
	timers_start(&m->timers, &f->failover, master_later(m, timeout));
}

void master_framework_failover_expired(struct master *m, struct framework *f)
{
	log_info("framework %s (%s) did not come back within its failover_timeout", f->id,
		 f->info->name);
	master_remove_framework(m, f);
}

/* ---- removal ------------------------------------------------------------------------ */

/* Recorded, not sent: nobody is there to hear it. */
static void end_task(struct master *m, struct task *t)
{
	const struct task_end end = {
		.state = MESOS__TASK_STATE__TASK_KILLED,
		.reason = MESOS__TASK_STATUS__REASON__REASON_FRAMEWORK_REMOVED,
		.message = arena_printf(&m->out->arena, "Framework %s removed", t->framework->id),
		.silent = true,
		.give_back = true,
	};

	if (!task_state_terminal(t->record.state) || t->unreachable)
		master_end_task(m, t, &end);
	else
		master_complete_task(m, t, true);
}

static void end_tasks_and_executors(struct master *m, struct framework *f)
{
	struct task *t, *next_task;
	struct executor *e, *next;

	HASH_ITER (hh, f->tasks, t, next_task)
		end_task(m, t);
	HASH_ITER (hh, f->unreachable, t, next_task)
		end_task(m, t);
	list_for_each (e, next, &f->executors, by_framework)
		master_remove_executor(m, e, true);
}

static void drop_completed_framework(struct master *m, struct framework *f)
{
	struct completed_task *c, *next;

	list_for_each (c, next, &f->completed_tasks, link)
		master_drop_completed_task(m, f, c);
	journal_framework(m, JOURNAL_FRAMEWORK_REMOVED, f);
	HASH_DEL(m->completed, f);
	master_free_framework(f);
}

void master_keep_completed(struct master *m, struct framework *f)
{
	framework_life_move(m, f, FRAMEWORK_COMPLETED);
	journal_framework(m, JOURNAL_FRAMEWORK_CHANGED, f);
	HASH_ADD_KEYPTR(hh, m->completed, f->id, strlen(f->id), f);
	while (HASH_COUNT(m->completed) > (unsigned)m->options.max_completed_frameworks)
		drop_completed_framework(m, m->completed);
}

void master_remove_framework(struct master *m, struct framework *f)
{
	log_info("removing framework %s (%s)", f->id, f->info->name);
	master_discard_offers(m, f);
	master_activate_framework(m, f, false);
	framework_shutdown_begin(m, f->id);
	end_tasks_and_executors(m, f);
	master_leave_operations(m, f);
	if (framework_connected(f) && f->http)
		master_emit(m, MASTER_END_STREAM)->end_stream.stream = f->stream;
	master_detach_framework(m, f);
	timers_stop(&m->timers, &f->failover);
	f->unregistered_time = m->now;
	master_drop_answers_of_framework(f);
	allocator_remove_framework(m->allocator, f->alloc);
	f->alloc = NULL;
	HASH_DEL(m->frameworks, f);
	master_await_framework(m, f, false);
	journal_framework(m, JOURNAL_FRAMEWORK_ENDED, f);
	master_keep_completed(m, f);
}

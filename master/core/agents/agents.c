/* Agent records and their registration.
 *
 * A registration that breaks a rule is ignored: the agent retries, the log says why.
 * An admitted agent is durable before it hears of it.
 */
#include "master/core/agents/agents.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/agents/agent_health.h"
#include "master/core/agents/agent_life.h"
#include "master/core/agents/agent_remove.h"
#include "master/core/agents/pid.h"
#include "master/core/authenticate.h"
#include "master/core/emit.h"
#include "master/core/frameworks/framework_shutdown.h"
#include "master/core/journal.h"
#include "master/core/maintenance/maintenance.h"
#include "master/core/objects.h"
#include "master/core/offers/inverse_offers.h"
#include "master/core/operations/operation_records.h"
#include "master/core/store/registry.h"
#include "master/core/tasks/task_validate.h"

struct agent *master_find_agent(const struct master *m, const char *id)
{
	struct agent *a;

	HASH_FIND(hh, m->agents, id, strlen(id), a);
	return a;
}

/* ---- departed agents ----------------------------------------------------------- */

struct departed *master_find_departed(struct departed *table, const char *id)
{
	struct departed *d;

	HASH_FIND(hh, table, id, strlen(id), d);
	return d;
}

void master_remove_departed(struct departed **table, const char *id)
{
	struct departed *d = master_find_departed(*table, id);

	if (!d)
		return;
	while (!list_empty(&d->tasks))
		list_remove(d->tasks.next);
	HASH_DEL(*table, d);
	proto_free(d->drain_info);
	free(d->id);
	free(d);
}

void master_add_departed(struct departed **table, const char *id, int64_t time)
{
	struct departed *d;

	master_remove_departed(table, id);
	d = xcalloc(1, sizeof(*d));
	d->id = xstrdup(id);
	d->time = time;
	list_init(&d->tasks);
	HASH_ADD_KEYPTR(hh, *table, d->id, strlen(d->id), d);
}

void master_remember_removed(struct master *m, const char *id)
{
	master_add_departed(&m->removed, id, m->now);
	while (HASH_COUNT(m->removed) > MASTER_REMOVED_AGENTS)
		master_remove_departed(&m->removed, m->removed->id);
}

/* ---- records --------------------------------------------------------------------- */

struct agent *master_add_agent(struct master *m, const Mesos__AgentInfo *info)
{
	struct agent *a = xcalloc(1, sizeof(*a));

	a->info = proto_copy(info);
	a->id = xstrdup(info->id->value);
	a->state = AGENT_RECOVERED;
	a->ping.kind = TIMER_PING;
	a->reregister.kind = TIMER_REREGISTER;
	list_init(&a->tasks);
	list_init(&a->offers);
	list_init(&a->inverse_offers);
	list_init(&a->inverse_answers);
	list_init(&a->drain_check);
	list_init(&a->removal);
	list_init(&a->dirty);
	list_init(&a->unsummed);
	m->agents_in[AGENT_RECOVERED]++;
	HASH_ADD_KEYPTR(hh, m->agents, a->id, strlen(a->id), a);
	a->alloc = allocator_meet_agent(m->allocator, a->id, a);
	allocator_set_agent_info(m->allocator, a->alloc, a->info);
	return a;
}

static void free_capabilities(struct agent *a)
{
	for (size_t i = 0; i < a->capability_count; i++)
		proto_free(a->capabilities[i]);
	free(a->capabilities);
	a->capabilities = NULL;
	a->capability_count = 0;
}

static void free_checkpointed(struct agent *a)
{
	for (size_t i = 0; i < a->checkpointed_count; i++)
		proto_free(a->checkpointed[i]);
	free(a->checkpointed);
	a->checkpointed = NULL;
	a->checkpointed_count = 0;
}

/* Tasks, executors and offers are gone already. */
void master_free_agent(struct master *m, struct agent *a)
{
	master_remove_operations(m, a);
	m->agents_in[a->state]--;
	if (a->hh_pid.tbl)
		HASH_DELETE(hh_pid, m->agents_by_pid, a);
	framework_shutdown_forget(m, a);
	HASH_DEL(m->agents, a);
	master_unobserve_agent(m, a);
	list_remove(&a->dirty);
	list_remove(&a->unsummed);
	list_remove(&a->drain_check);
	master_drop_answers_of_agent(a);
	proto_free(a->drain_info);
	free_capabilities(a);
	free_checkpointed(a);
	resources_free(&a->total);
	resources_free(&a->used);
	resources_free(&a->offered);
	proto_free(a->info);
	free(a->resource_version);
	free(a->version);
	free(a->pid);
	free(a->id);
	free(a);
}

static void learn_capabilities(struct agent *a, const struct agent_facts *facts)
{
	free_capabilities(a);
	a->resource_provider = a->reservation_refinement = a->task_resource_limits = false;
	a->multi_role = a->hierarchical_role = a->agent_draining = false;
	a->operation_feedback = a->resize_volume = false;
	a->capabilities = xcalloc(facts->capability_count + 1, sizeof(*a->capabilities));
	for (size_t i = 0; i < facts->capability_count; i++) {
		const Mesos__AgentInfo__Capability *c = facts->capabilities[i];

		if (!c->has_type)
			continue;
		a->capabilities[a->capability_count++] = proto_copy(c);
		if (c->type == MESOS__AGENT_INFO__CAPABILITY__TYPE__RESOURCE_PROVIDER)
			a->resource_provider = true;
		if (c->type == MESOS__AGENT_INFO__CAPABILITY__TYPE__RESERVATION_REFINEMENT)
			a->reservation_refinement = true;
		if (c->type == MESOS__AGENT_INFO__CAPABILITY__TYPE__TASK_RESOURCE_LIMITS)
			a->task_resource_limits = true;
		if (c->type == MESOS__AGENT_INFO__CAPABILITY__TYPE__MULTI_ROLE)
			a->multi_role = true;
		if (c->type == MESOS__AGENT_INFO__CAPABILITY__TYPE__HIERARCHICAL_ROLE)
			a->hierarchical_role = true;
		if (c->type == MESOS__AGENT_INFO__CAPABILITY__TYPE__AGENT_OPERATION_FEEDBACK)
			a->operation_feedback = true;
		if (c->type == MESOS__AGENT_INFO__CAPABILITY__TYPE__RESIZE_VOLUME)
			a->resize_volume = true;
		if (c->type == MESOS__AGENT_INFO__CAPABILITY__TYPE__AGENT_DRAINING)
			a->agent_draining = true;
	}
}

static void learn_checkpointed(struct agent *a, const struct agent_facts *facts)
{
	free_checkpointed(a);
	a->checkpointed = xcalloc(facts->checkpointed_count + 1, sizeof(*a->checkpointed));
	for (size_t i = 0; i < facts->checkpointed_count; i++)
		a->checkpointed[a->checkpointed_count++] = proto_copy(facts->checkpointed[i]);
}

/* What a dynamic reservation or volume was made of: static reservations stay. */
static Mesos__Resource *stripped(struct master *m, const Mesos__Resource *r)
{
	Mesos__Resource *plain = STEP_COPY(m, (Mesos__Resource *)r);
	size_t kept = 0;

	for (size_t i = 0; i < plain->n_reservations; i++) {
		const Mesos__Resource__ReservationInfo *info = plain->reservations[i];

		if (info->has_type && info->type == MESOS__RESOURCE__RESERVATION_INFO__TYPE__STATIC)
			plain->reservations[kept++] = plain->reservations[i];
	}
	plain->n_reservations = kept;
	plain->shared = NULL;
	if (plain->disk) {
		plain->disk->persistence = NULL;
		plain->disk->volume = NULL;
		if (!plain->disk->source)
			plain->disk = NULL;
	}
	return plain;
}

/* The total: what the agent has, with its checkpointed conversions applied. */
static void compute_total(struct master *m, struct agent *a)
{
	struct resources revocable = RESOURCES_INIT;

	for (uint32_t i = 0; i < a->total.count; i++) {
		if (resource_shape_revocable(a->total.pieces[i].shape))
			resources_add_piece(&revocable, &a->total.pieces[i]);
	}
	resources_clear(&a->total);
	master_resources(m, a->info->resources, a->info->n_resources, &a->total);
	for (size_t i = 0; i < a->checkpointed_count; i++) {
		Mesos__Resource *plain = stripped(m, a->checkpointed[i]);
		struct resources less = RESOURCES_INIT;

		master_resources(m, &plain, 1, &less);
		if (resources_contain(&a->total, &less)) {
			resources_subtract(&a->total, &less);
			master_resources(m, &a->checkpointed[i], 1, &a->total);
		}
		resources_free(&less);
	}
	resources_add(&a->total, &revocable);
	resources_free(&revocable);
}

static void upgrade_all(struct master *m, Mesos__Resource *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		resource_upgrade(&m->out->arena, list[i]);
}

void master_learn_agent(struct master *m, struct agent *a, const Mesos__AgentInfo *info,
			const struct agent_facts *facts)
{
	Mesos__AgentInfo *copy = STEP_COPY(m, (Mesos__AgentInfo *)info);

	/* The upgrade allocates in the arena, hence the second copy. */
	upgrade_all(m, copy->resources, copy->n_resources);
	proto_free(a->info);
	a->info = proto_copy(copy);
	allocator_set_agent_info(m->allocator, a->alloc, a->info);
	if (facts->pid) {
		free(a->pid);
		a->pid = xstrdup(facts->pid);
	}
	free(a->version);
	a->version = xstrdup(facts->version ? facts->version : "");
	free(a->resource_version);
	a->resource_version = NULL;
	a->resource_version_len = facts->resource_version_len;
	if (facts->resource_version)
		a->resource_version = xmemdup(facts->resource_version, facts->resource_version_len);
	learn_capabilities(a, facts);
	learn_checkpointed(a, facts);
	compute_total(m, a);
	journal_agent(m, JOURNAL_AGENT_CHANGED, a);
}

void master_tell_allocator_agent(struct master *m, struct agent *a)
{
	allocator_add_agent(m->allocator, a->alloc, &a->total);
	allocator_set_agent_capabilities(m->allocator, a->alloc, a->multi_role,
					 a->hierarchical_role);
}

void master_admit_agent(struct master *m, struct agent *a)
{
	agent_life_move(m, a, AGENT_CONNECTED);
	if (!a->registered_time)
		a->registered_time = m->now;
	HASH_ADD_KEYPTR(hh_pid, m->agents_by_pid, a->pid, strlen(a->pid), a);
	master_emit(m, MASTER_LINK)->link.pid = master_text(m, a->pid);
	master_tell_allocator_agent(m, a);
	if (!agent_active(a))
		allocator_activate_agent(m->allocator, a->alloc, false);
	master_restore_allocations(m, a);
	master_observe_agent(m, a);
	master_remove_departed(&m->removed, a->id);
	master_place_agent(m, a);
	journal_agent(m, JOURNAL_AGENT_CHANGED, a);
	journal_agent(m, JOURNAL_AGENT_ADMITTED, a);
}

bool master_agent_holds(const struct agent *a, const struct resources *plain)
{
	struct resources firm = RESOURCES_INIT;
	bool holds;

	for (uint32_t i = 0; i < plain->count; i++) {
		if (!resource_shape_shared(plain->pieces[i].shape) &&
		    !resource_shape_revocable(plain->pieces[i].shape))
			resources_add_piece(&firm, &plain->pieces[i]);
	}
	holds = resources_contain(&a->total, &firm);
	resources_free(&firm);
	return holds;
}

/* Tasks of a framework come one after the other most of the time: the allocator is told of
 * them together. */
static void restore_tasks(struct master *m, struct agent *a)
{
	const struct framework *f = NULL;
	struct resources sum = RESOURCES_INIT;
	struct task *t, *next;

	list_for_each (t, next, &a->tasks, by_agent) {
		if (!t->holds)
			continue;
		if (f && f != t->framework) {
			allocator_restore(m->allocator, f->alloc, a->alloc, &sum);
			resources_free(&sum);
		}
		f = t->framework;
		resources_add(&sum, &t->resources);
	}
	if (f)
		allocator_restore(m->allocator, f->alloc, a->alloc, &sum);
	resources_free(&sum);
}

void master_restore_allocations(struct master *m, struct agent *a)
{
	struct executor *e, *next_executor;

	restore_tasks(m, a);
	HASH_ITER (hh, a->executors, e, next_executor)
		allocator_restore(m->allocator, e->framework->alloc, a->alloc, &e->resources);
}

/* ---- registration -------------------------------------------------------------------- */

int master_validate_agent_info(Mesos__AgentInfo *info, struct err *err)
{
	if (info->id && master_validate_id(info->id->value, err))
		return ERR_INVALID;
	return resources_validate(info->resources, info->n_resources, err);
}

int master_validate_agent_version(const struct master *m, const Mesos__AgentInfo *info,
				  const char *version, struct err *err)
{
	char *end;
	long major = version ? strtol(version, &end, 10) : -1;

	if (major < 0 || end == version || (*end != '.' && *end))
		return err_set(err, ERR_INVALID, "version '%s' cannot be read",
			       version ? version : "");
	if (major < 1)
		return err_set(err, ERR_INVALID, "version %s is older than 1.0.0", version);
	if (info->domain && !m->info->domain)
		return err_set(err, ERR_INVALID, "it has a domain, the master has none");
	/* It is not shut down: it may come back with one, and its tasks. */
	if (m->options.require_agent_domain && !info->domain)
		return err_set(err, ERR_INVALID,
			       "it has no domain, and --require_agent_domain is set");
	return 0;
}

static int validate_registration(const struct master *m, const char *from,
				 const Mesos__Internal__RegisterSlaveMessage *message,
				 struct err *err)
{
	int rv = 0;

	if (!pid_valid(from))
		return err_set(err, ERR_INVALID, "its address cannot be reached");
	if (message->agent->id)
		return err_set(err, ERR_INVALID, "it has an id already");
	rv = master_validate_agent_info(message->agent, err);
	if (!rv && message->n_checkpointed_resources &&
	    !(message->agent->has_checkpoint && message->agent->checkpoint))
		rv = err_set(err, ERR_INVALID,
			     "Checkpointed resources provided when checkpointing is not enabled");
	if (!rv)
		rv = resources_validate(message->checkpointed_resources,
					message->n_checkpointed_resources, err);
	if (!rv)
		rv = master_validate_agent_version(m, message->agent, message->version, err);
	return rv;
}

Mesos__Internal__MasterSlaveConnection *master_connection(struct master *m)
{
	Mesos__Internal__MasterSlaveConnection *connection =
		STEP_NEW(m, Mesos__Internal__MasterSlaveConnection,
			 mesos__internal__master_slave_connection__descriptor);

	connection->has_total_ping_timeout_seconds = true;
	connection->total_ping_timeout_seconds =
		clock_seconds(m->options.agent_ping_timeout) * m->options.max_agent_ping_timeouts;
	return connection;
}

static void send_registered(struct master *m, struct agent *a)
{
	Mesos__Internal__SlaveRegisteredMessage *message =
		STEP_NEW(m, Mesos__Internal__SlaveRegisteredMessage,
			 mesos__internal__slave_registered_message__descriptor);

	message->agent_id = master_agent_id(m, a->id);
	message->connection = master_connection(m);
	master_send_agent(m, a, message);
}

static void agents_registered(struct master *m, struct pending *p)
{
	Mesos__Internal__RegisterSlaveMessage *message = p->message;
	struct agent_facts facts = {
		.pid = p->pid,
		.version = message->version,
		.capabilities = message->agent_capabilities,
		.capability_count = message->n_agent_capabilities,
		.checkpointed = message->checkpointed_resources,
		.checkpointed_count = message->n_checkpointed_resources,
	};
	struct agent *a, *old = p->key ? master_find_agent(m, p->key) : NULL;

	if (old) {
		m->counters.slave_removals_registered++;
		master_remove_agent_now(m, old, "a new agent registered at the same address");
	}
	if (message->resource_version_uuid) {
		facts.resource_version = message->resource_version_uuid->value.data;
		facts.resource_version_len = message->resource_version_uuid->value.len;
	}
	a = master_add_agent(m, message->agent);
	master_learn_agent(m, a, message->agent, &facts);
	master_admit_agent(m, a);
	m->counters.slave_registrations++;
	log_info("registered agent %s at %s (%s)", a->id, a->pid, a->info->hostname);
	send_registered(m, a);
}

static void admit(struct master *m, const char *from, struct agent *old,
		  const Mesos__Internal__RegisterSlaveMessage *message)
{
	Mesos__Internal__RegisterSlaveMessage *copy =
		STEP_COPY(m, (Mesos__Internal__RegisterSlaveMessage *)message);
	struct registry_batch batch = {0};
	struct pending *p;

	copy->agent->id = master_agent_id(m, arena_printf(&m->out->arena, "%s-S%llu", m->options.id,
							  (unsigned long long)m->next_agent++));
	upgrade_all(m, copy->agent->resources, copy->agent->n_resources);
	upgrade_all(m, copy->checkpointed_resources, copy->n_checkpointed_resources);
	if (old)
		registry_delete(m, &batch, registry_key(m, "agent", old->id));
	registry_put_agent(m, &batch, copy->agent, false, NULL);
	p = old ? registry_write_change(m, &batch, CHANGE_REPLACE, old->id, agents_registered)
		: registry_write(m, &batch, agents_registered);
	p->message = proto_copy(copy);
	registry_reserve_pid(m, p, from);
}

void master_register_agent(struct master *m, const char *from,
			   const Mesos__Internal__RegisterSlaveMessage *message)
{
	struct agent *old;
	struct err err = {{0}};

	m->counters.messages_register_slave++;
	if (!authenticate_agent(m, from))
		return;
	if (validate_registration(m, from, message, &err)) {
		log_warning("ignored the registration of an agent at %s: %s", from, err.text);
		return;
	}
	if (master_refuse_down(m, from, message->agent))
		return;
	if (registry_pid_reserved(m, from)) {
		log_info("ignored the registration of an agent at %s: one is in progress", from);
		return;
	}
	HASH_FIND(hh_pid, m->agents_by_pid, from, strlen(from), old);
	if (old && agent_connected(old)) {
		log_info("agent %s at %s is registered already", old->id, from);
		send_registered(m, old);
		return;
	}
	if (old && !agent_may_change(m, old->id, CHANGE_REPLACE)) {
		log_info("ignored the registration of an agent at %s: agent %s is being removed",
			 from, old->id);
		return;
	}
	admit(m, from, old, message);
}

/* The master core's outside: making it, feeding events, timeouts (master.h).
 *
 * A step: the event is handled, then what it made possible is allocated, then what
 * changed is written behind, or later (warm.c). Everything is in master.out, in that order.
 */
#include "master/core/objects.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/agents/agent_health.h"
#include "master/core/agents/agent_remove.h"
#include "master/core/agents/agents.h"
#include "master/core/agents/drain.h"
#include "master/core/authenticate.h"
#include "master/core/emit.h"
#include "master/core/frameworks/driver.h"
#include "master/core/frameworks/events.h"
#include "master/core/frameworks/framework_shutdown.h"
#include "master/core/frameworks/frameworks.h"
#include "master/core/maintenance/maintenance.h"
#include "master/core/offers/inverse_offers.h"
#include "master/core/offers/offers.h"
#include "master/core/operator.h"
#include "master/core/roles/roles.h"
#include "master/core/store/offer_memory.h"
#include "master/core/store/recover.h"
#include "master/core/store/registry.h"
#include "master/core/store/warm.h"
#include "master/core/sums.h"
#include "master/core/tasks/updates.h"

/* ---- making --------------------------------------------------------------------------- */

static char *master_copy_text(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static void copy_options(struct master *m, const struct master_options *options)
{
	struct master_options *o = &m->options;

	*o = *options;
	o->id = master_copy_text(options->id);
	o->ip = master_copy_text(options->ip);
	o->hostname = master_copy_text(options->hostname);
	o->version = master_copy_text(options->version);
	o->min_allocatable_resources = master_copy_text(options->min_allocatable_resources);
	o->fair_sharing_excluded = master_copy_text(options->fair_sharing_excluded);
	o->roles = master_copy_text(options->roles);
	o->weights = master_copy_text(options->weights);
	o->domain = NULL;
}

static void free_options(struct master *m)
{
	struct master_options *o = &m->options;

	free((char *)o->id);
	free((char *)o->ip);
	free((char *)o->hostname);
	free((char *)o->version);
	free((char *)o->min_allocatable_resources);
	free((char *)o->fair_sharing_excluded);
	free((char *)o->roles);
	free((char *)o->weights);
}

/* "a, b" of --roles; "*" is always allowed. */
static void parse_whitelist(struct master *m)
{
	char *text, *save = NULL;

	if (!m->options.roles)
		return;
	text = xstrdup(m->options.roles);
	m->whitelist = xcalloc(strlen(text) + 2, sizeof(*m->whitelist));
	m->whitelist[m->whitelist_count++] = xstrdup("*");
	for (char *role = strtok_r(text, ", \t", &save); role; role = strtok_r(NULL, ", \t", &save))
		m->whitelist[m->whitelist_count++] = xstrdup(role);
	free(text);
}

static Mesos__MasterInfo *make_info(struct master *m, const Mesos__DomainInfo *domain)
{
	static const Mesos__MasterInfo__Capability__Type capable[] = {
		MESOS__MASTER_INFO__CAPABILITY__TYPE__AGENT_UPDATE,
		MESOS__MASTER_INFO__CAPABILITY__TYPE__AGENT_DRAINING,
		MESOS__MASTER_INFO__CAPABILITY__TYPE__QUOTA_V2,
	};
	const struct master_options *o = &m->options;
	Mesos__MasterInfo__Capability capabilities[3], *list[3];
	Mesos__MasterInfo info = MESOS__MASTER_INFO__INIT;
	Mesos__Address address = MESOS__ADDRESS__INIT;
	struct in_addr ip = {0};

	inet_pton(AF_INET, o->ip, &ip);
	address.hostname = (char *)o->hostname;
	address.ip = (char *)o->ip;
	address.port = o->port;
	info.id = (char *)o->id;
	info.ip = ip.s_addr; /* as it lies in memory, for compatibility */
	info.port = (uint32_t)o->port;
	info.pid = m->pid;
	info.hostname = (char *)o->hostname;
	info.version = (char *)o->version;
	info.address = &address;
	info.domain = (Mesos__DomainInfo *)domain;
	for (int i = 0; i < 3; i++) {
		mesos__master_info__capability__init(&capabilities[i]);
		capabilities[i].has_type = true;
		capabilities[i].type = capable[i];
		list[i] = &capabilities[i];
	}
	info.n_capabilities = 3;
	info.capabilities = list;
	return proto_copy(&info);
}

static void init_lists(struct master *m)
{
	list_init(&m->pending);
	list_init(&m->held_writes);
	sums_init(m);
	list_init(&m->removals);
	list_init(&m->dirty_tasks);
	list_init(&m->dirty_frameworks);
	list_init(&m->dirty_agents);
	list_init(&m->dirty_executors);
	list_init(&m->dirty_completed);
	list_init(&m->held_acks);
	list_init(&m->drain_checks);
	list_init(&m->deferred_ready);
	list_init(&m->stray_operations);
	list_init(&m->shutdowns);
	m->allocation.kind = TIMER_ALLOCATION;
	m->allocation_part.kind = TIMER_ALLOCATION_PART;
	m->shutdown_part.kind = TIMER_SHUTDOWN_PART;
	m->recovery.kind = TIMER_RECOVERY;
	m->removal.kind = TIMER_REMOVAL;
	m->prune.kind = TIMER_PRUNE;
	m->settle.kind = TIMER_SETTLE;
	m->warm.kind = TIMER_WARM;
}

static const char *domain_region(const Mesos__DomainInfo *domain)
{
	return domain && domain->fault_domain && domain->fault_domain->region
		       ? domain->fault_domain->region->name
		       : NULL;
}

int master_create(const struct master_options *options, struct master **out, struct err *err)
{
	struct allocator_options allocation = {
		.allocation_interval = options->allocation_interval,
		.min_allocatable_resources = options->min_allocatable_resources,
		.fair_sharing_excluded = options->fair_sharing_excluded,
		.filter_gpu_resources = options->filter_gpu_resources,
		.random = options->random_sorter ? options->rng : NULL,
		.region = domain_region(options->domain),
		.remembers = true,
	};
	struct master *m = xcalloc(1, sizeof(*m));
	int rv;

	init_lists(m);
	copy_options(m, options);
	parse_whitelist(m);
	m->pid = xprintf("master@%s:%d", options->ip, options->port);
	m->info = make_info(m, options->domain);
	m->shapes = resource_shapes_create();
	allocation.shapes = m->shapes;
	rv = master_check_weights(m, err);
	if (!rv)
		rv = allocator_create(&allocation, &m->allocator, err);
	if (rv < 0) {
		master_destroy(m);
		return rv;
	}
	*out = m;
	return 0;
}

/* ---- destroying --------------------------------------------------------------------------- */

static void free_tasks(struct task *table)
{
	struct task *t, *next;

	HASH_ITER (hh, table, t, next) {
		HASH_DEL(table, t);
		resources_free(&t->resources);
		task_record_free(&t->record);
		free(t);
	}
}

static void free_frameworks(struct framework **table)
{
	struct framework *f, *next;

	HASH_ITER (hh, *table, f, next) {
		HASH_DEL(*table, f);
		free_tasks(f->tasks);
		free_tasks(f->unreachable);
		master_free_framework(f);
	}
}

static void free_agents(struct master *m)
{
	struct agent *a, *next;
	struct executor *e, *next_executor;

	HASH_ITER (hh, m->agents, a, next) {
		HASH_ITER (hh, a->executors, e, next_executor) {
			HASH_DEL(a->executors, e);
			resources_free(&e->resources);
			proto_free(e->info);
			free(e->key);
			free(e);
		}
		master_free_agent(m, a);
	}
}

static void free_departed(struct departed **table)
{
	while (*table) {
		/* Its tasks are gone already. */
		list_init(&(*table)->tasks);
		master_remove_departed(table, (*table)->id);
	}
}

static void free_rest(struct master *m)
{
	struct reason_counter *r, *next;

	framework_shutdown_free(m);
	master_free_quotas(m);
	master_free_weights(m);
	HASH_ITER (hh, m->reasons, r, next) {
		HASH_DEL(m->reasons, r);
		free(r->name);
		free(r);
	}
	for (size_t i = 0; i < m->whitelist_count; i++)
		free(m->whitelist[i]);
	free(m->whitelist);
	buf_free(&m->warm_deletes);
	free_options(m);
	proto_free(m->info);
	free(m->pid);
}

void master_destroy(struct master *m)
{
	struct offer *o, *next;

	if (!m)
		return;
	timers_free(&m->timers); /* while their owners are there */
	recover_free(m);
	registry_free(m);
	master_free_acknowledgements(m);
	HASH_ITER (hh, m->offers, o, next)
		master_take_offer(m, o);
	master_free_inverse_offers(m);
	master_free_deferred(m);
	authenticate_free(m);
	machines_free(&m->machines);
	proto_free(m->schedule);
	free_agents(m);
	HASH_CLEAR(hh_stream, m->streams);
	HASH_CLEAR(hh_driver, m->drivers);
	free_frameworks(&m->frameworks);
	free_frameworks(&m->completed);
	free_departed(&m->unreachable);
	free_departed(&m->gone);
	free_departed(&m->removed);
	if (m->allocator)
		allocator_destroy(m->allocator);
	resource_shapes_destroy(m->shapes);
	free_rest(m);
	free(m);
}

/* ---- timeouts ------------------------------------------------------------------------------- */

static void timer_due(struct master *m, struct timer *timer)
{
	switch ((enum master_timer)timer->kind) {
	case TIMER_ALLOCATION:
		timers_start(&m->timers, timer, master_later(m, m->options.allocation_interval));
		m->batch_due = !m->settling;
		break;
	case TIMER_ALLOCATION_PART:
		break; /* the end of the step goes on with it */
	case TIMER_SHUTDOWN_PART:
		framework_shutdown_go_on(m);
		break;
	case TIMER_HEARTBEAT:
		master_tell_heartbeat(m, container_of(timer, struct framework, heartbeat));
		break;
	case TIMER_OFFER:
		master_offer_expired(m, container_of(timer, struct offer, expiry));
		break;
	case TIMER_FAILOVER:
		master_framework_failover_expired(m,
						  container_of(timer, struct framework, failover));
		break;
	case TIMER_PING:
		master_ping_due(m, container_of(timer, struct agent, ping));
		break;
	case TIMER_REREGISTER:
		master_reregister_expired(m, container_of(timer, struct agent, reregister));
		break;
	case TIMER_RECOVERY:
		master_recovery_expired(m);
		break;
	case TIMER_REMOVAL:
		master_removal_due(m);
		break;
	case TIMER_PRUNE:
		registry_prune(m);
		break;
	case TIMER_INVERSE_OFFER:
		master_rescind_inverse(m, container_of(timer, struct inverse_offer, expiry));
		break;
	case TIMER_WARM:
		m->warm_urgent = true;
		break;
	case TIMER_SETTLE:
		master_settle_end(m);
		break;
	case TIMER_AUTHENTICATION:
		authenticate_expired(m, timer);
		break;
	}
}

void master_clock_moved(struct master *m, int64_t by)
{
	timers_shift(&m->timers, by);
	allocator_clock_moved(m->allocator, by);
	if (m->next_removal && m->next_removal < TIME_NEVER - (by > 0 ? by : 0))
		m->next_removal += by;
}

void master_watch(struct master *m, bool watched)
{
	m->watched = watched;
}

int64_t master_next_timeout(const struct master *m)
{
	return timers_next(&m->timers);
}

const Mesos__MasterInfo *master_info(const struct master *m)
{
	return m->info;
}

bool master_ready(const struct master *m)
{
	return m->recovered;
}

/* ---- the step ---------------------------------------------------------------------- */

static void stream_closed(struct master *m, uint64_t stream)
{
	struct framework *f;

	HASH_FIND(hh_stream, m->streams, &stream, sizeof(stream), f);
	if (f)
		master_disconnect_framework(m, f);
}

static void store_told(struct master *m, enum store_line line, uint64_t ticket)
{
	if (line == LINE_REGISTRY) {
		registry_stored(m, ticket);
		master_retry_deferred(m);
		return;
	}
	m->warm_stored = ticket;
	registry_release(m, ticket);
	master_send_acknowledgements(m, ticket);
}

static void master_handle(struct master *m, const struct master_event *event)
{
	struct timer *timer;

	switch (event->type) {
	case MASTER_CALL:
		master_handle_call(m, event);
		break;
	case MASTER_STREAM_CLOSED:
		stream_closed(m, event->stream_closed.stream);
		break;
	case MASTER_MESSAGE:
		master_handle_message(m, event);
		break;
	case MASTER_EXITED:
		/* Both: who lies about its pid must not hide the end of another. */
		authenticate_forget(m, event->exited.pid);
		master_driver_exited(m, event->exited.pid);
		master_agent_exited(m, event->exited.pid);
		break;
	case MASTER_STORED:
		store_told(m, event->stored.line, event->stored.ticket);
		break;
	case MASTER_OPERATOR:
		master_handle_operator(m, event);
		break;
	case MASTER_KILL_TASK:
		master_handle_kill_task(m, event);
		break;
	case MASTER_WHITELIST:
		allocator_set_whitelist(m->allocator, event->whitelist.hostnames,
					event->whitelist.count);
		break;
	case MASTER_TICK:
		while ((timer = timers_pop(&m->timers, m->now)))
			timer_due(m, timer);
		break;
	}
}

/* Clients name resources and roles as they like, so their metadata is let go of now and
 * then: between steps nobody has bare pointers to it. */
#define UNUSED_SHAPES_MAX 1024

/* The whole core after each step, in debug builds alone: the simulator does it in any. */
static void master_audit(const struct master *m)
{
#ifndef MESITA_AUDIT
	(void)m;
#else
	struct err why;

	if (!master_check(m, &why)) {
		log_error("the master's core is not consistent: %s", why.text);
		abort();
	}
#endif
}

void master_step(struct master *m, int64_t now, const struct master_event *event,
		 struct master_actions *out)
{
	m->now = now;
	m->out = out;
	master_handle(m, event);
	master_check_drains(m);
	master_settle_check(m);
	if (!m->settling)
		master_allocate(m);
	warm_end_step(m);
	m->out = NULL;
	if (resource_shapes_unused(m->shapes) > UNUSED_SHAPES_MAX)
		resource_shapes_collect(m->shapes);
	master_audit(m);
}

void master_finish(struct master *m, int64_t now, struct master_actions *out)
{
	m->now = now;
	m->out = out;
	warm_flush(m, true);
	m->out = NULL;
}

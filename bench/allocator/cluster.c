/* Clusters. Resources come from texts that are ours, so what cannot be read is a bug here
 * and ends the program. */
#include "bench/allocator/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/time/clock.h"

#define LABELS 12	/* of a reservation */
#define PORTS_PIECES 16 /* that used ports are in */

void cluster_agent_id(int i, char out[32])
{
	snprintf(out, 32, "agent-%d", i);
}

void cluster_framework_id(int i, char out[32])
{
	snprintf(out, 32, "framework-%d", i);
}

void cluster_open(struct cluster *c, const struct workload *workload, int agents, int frameworks,
		  bool random)
{
	*c = (struct cluster){
		.workload = workload,
		.shapes = resource_shapes_create(),
		.now = 1000 * SECOND,
		.agents = agents,
		.frameworks = frameworks,
		.agent_handles = xcalloc((size_t)agents + 1, sizeof(struct alloc_agent *)),
		.framework_handles =
			xcalloc((size_t)frameworks + 1, sizeof(struct alloc_framework *)),
	};
	struct allocator_options options = {
		.shapes = c->shapes,
		.allocation_interval = SECOND,
		.filter_gpu_resources = true,
		.random = random ? &c->rng : NULL,
	};

	rng_seed(&c->rng, 1);
	if (allocator_create(&options, &c->a, NULL) < 0)
		abort();
}

void cluster_close(struct cluster *c)
{
	cluster_forget(c);
	allocator_grants_free(&c->grants);
	allocator_destroy(c->a);
	free(c->agent_handles);
	free(c->framework_handles);
	resource_shapes_destroy(c->shapes);
}

/* ---- resources --------------------------------------------------------------------------- */

static void add_text(struct cluster *c, const char *text, const char *role, struct resources *to)
{
	struct resources more = RESOURCES_INIT;

	if (resources_parse(c->shapes, text, role, &more, NULL) < 0)
		abort();
	resources_add(to, &more);
	resources_free(&more);
}

static void add_json(struct cluster *c, const char *text, struct resources *to)
{
	struct arena arena;
	struct json *json;
	Mesos__Resource *resource = NULL;

	arena_init(&arena);
	if (json_parse(&arena, text, strlen(text), &json, NULL) == 0)
		resource =
			json_to_proto(&mesos__resource__descriptor, json, SPELL_V1, &arena, NULL);
	if (!resource || resource_validate(resource, NULL) < 0)
		abort();
	resources_add_message(c->shapes, to, resource);
	arena_free(&arena);
}

static void add_volume(struct cluster *c, int agent, bool shared, struct resources *to)
{
	char *text = xprintf("{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1024},"
			     "\"reservations\":[{\"type\":\"STATIC\",\"role\":\"%s\"}],"
			     "\"disk\":{\"persistence\":{\"id\":\"id%d\"},"
			     "\"volume\":{\"container_path\":\"path%d\",\"mode\":\"RW\"}}%s}",
			     c->workload->role, agent, agent, shared ? ",\"shared\":{}" : "");

	add_json(c, text, to);
	free(text);
}

static void add_labelled(struct cluster *c, int agent, int number, struct resources *to)
{
	struct buf text = BUF_INIT;

	buf_printf(&text,
		   "{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":8},"
		   "\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"%s\","
		   "\"principal\":\"principal1\",\"labels\":{\"labels\":[",
		   c->workload->role);
	for (int i = 0; i < LABELS - 1; i++)
		buf_printf(&text, "{\"key\":\"key%d\",\"value\":\"value%d\"},", i, i);
	buf_printf(&text, "{\"key\":\"unique_key_%d\",\"value\":\"value_%d\"}]}}]}", number, agent);
	add_json(c, text.data, to);
	buf_free(&text);
}

static void add_extras(struct cluster *c, int agent, struct resources *to)
{
	enum volumes volumes = c->workload->volumes;

	if (volumes != VOLUMES_NONE)
		add_volume(c, agent,
			   volumes == VOLUMES_SHARED ||
				   (volumes == VOLUMES_MIXED && agent % 2 == 0),
			   to);
	for (int i = 1; c->workload->labels && i <= 2; i++)
		add_labelled(c, agent, i, to);
}

/* The resources of an agent that a framework uses, allocated to its role. */
static struct resources used_on(struct cluster *c, int agent)
{
	struct resources plain = RESOURCES_INIT, used = RESOURCES_INIT;

	if (c->workload->used)
		add_text(c, c->workload->used, "*", &plain);
	for (int i = 1; c->workload->labels && i <= 2; i++)
		add_labelled(c, agent, i, &plain);
	resources_allocate(c->shapes, &plain, c->workload->role, &used);
	resources_free(&plain);
	return used;
}

void cluster_prepare(struct cluster *c)
{
	bool all_differ = c->workload->labels || c->workload->volumes != VOLUMES_NONE;

	c->kinds = all_differ ? c->agents : 1;
	c->totals = xcalloc((size_t)c->kinds, sizeof(*c->totals));
	c->used = xcalloc((size_t)c->kinds, sizeof(*c->used));
	for (int i = 0; i < c->kinds; i++) {
		add_text(c, c->workload->total, "*", &c->totals[i]);
		add_extras(c, i, &c->totals[i]);
		c->used[i] = used_on(c, i);
	}
}

void cluster_forget(struct cluster *c)
{
	for (int i = 0; i < c->kinds; i++) {
		resources_free(&c->totals[i]);
		resources_free(&c->used[i]);
	}
	free(c->totals);
	free(c->used);
	c->kinds = 0;
	c->totals = c->used = NULL;
}

/* ---- events ------------------------------------------------------------------------------ */

void cluster_add_frameworks(struct cluster *c)
{
	char id[32];

	for (int i = 0; i < c->frameworks; i++) {
		struct allocator_framework framework = {
			.id = id,
			.roles = &c->workload->role,
			.role_count = 1,
			.active = true,
			.revocable_resources = c->workload->revocable,
			.shared_resources = c->workload->volumes > VOLUMES_REGULAR,
			.reservation_refinement = true,
			.multi_role = true,
		};

		cluster_framework_id(i, id);
		c->framework_handles[i] =
			allocator_add_framework(c->a, &c->framework_handles[i], &framework);
	}
}

static void add_agent(struct cluster *c, int i)
{
	char id[32];

	cluster_agent_id(i, id);
	c->agent_handles[i] = allocator_meet_agent(c->a, id, &c->agent_handles[i]);
	allocator_add_agent(c->a, c->agent_handles[i], &c->totals[i % c->kinds]);
}

static void use_agent(struct cluster *c, int i)
{
	allocator_restore(c->a, c->framework_handles[i % c->frameworks], c->agent_handles[i],
			  &c->used[i % c->kinds]);
}

void cluster_add_agents(struct cluster *c)
{
	for (int i = 0; i < c->agents; i++)
		add_agent(c, i);
}

void cluster_use_agents(struct cluster *c)
{
	for (int i = 0; c->workload->used && i < c->agents; i++)
		use_agent(c, i);
}

size_t cluster_add_one_by_one(struct cluster *c)
{
	size_t offers = 0;

	for (int i = 0; i < c->agents; i++) {
		add_agent(c, i);
		use_agent(c, i);
		cluster_event(c);
		offers += c->grants.count;
	}
	return offers;
}

void cluster_oversubscribe(struct cluster *c)
{
	struct resources plain = RESOURCES_INIT;

	add_text(c, c->workload->total, "*", &plain);
	add_json(c,
		 "{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":10},"
		 "\"revocable\":{}}",
		 &plain);
	for (int i = 0; i < c->agents; i++)
		allocator_update_agent(c->a, c->agent_handles[i], &plain);
	resources_free(&plain);
}

void cluster_end_tasks(struct cluster *c, int n)
{
	for (int i = 0; i < c->agents; i += n)
		allocator_recover(c->a, c->now, c->framework_handles[i % c->frameworks],
				  c->agent_handles[i], &c->used[i % c->kinds], NULL);
}

void cluster_suppress(struct cluster *c, int from, int to)
{
	for (int i = from; i < to; i++)
		allocator_suppress(c->a, c->framework_handles[i], NULL, 0);
}

void cluster_revive(struct cluster *c, int framework)
{
	allocator_revive(c->a, c->framework_handles[framework], NULL, 0);
}

void cluster_drop_grants(struct cluster *c)
{
	allocator_grants_free(&c->grants);
}

void cluster_tick(struct cluster *c)
{
	cluster_drop_grants(c);
	c->now += SECOND;
	allocator_cycle(c->a, c->now, true, &c->grants);
}

void cluster_event(struct cluster *c)
{
	cluster_drop_grants(c);
	allocator_cycle(c->a, c->now, false, &c->grants);
}

void cluster_decline(struct cluster *c, const struct allocator_filter *filter)
{
	for (size_t i = 0; i < c->grants.count; i++) {
		const struct allocator_grant *grant = &c->grants.items[i];

		allocator_recover(c->a, c->now, *(struct alloc_framework **)grant->framework,
				  *(struct alloc_agent **)grant->agent, &grant->resources, filter);
	}
	cluster_drop_grants(c);
}

/* See mix.h. */
#include "bench/load/mix.h"

#include "base/time/clock.h"

#define ROLE "analytics"
#define DISK_MB 102400
#define TASK_DISK_MB 16
#define PORTS_FIRST 31000
#define PORTS_LAST 32000

const char *mix_role(const struct plan *plan)
{
	return plan->mix ? ROLE : "*";
}

/* ---- resources ---------------------------------------------------------------- */

struct list {
	struct arena *arena;
	size_t *count;
	Mesos__Resource ***items;
	const char *allocated_to;
};

static Mesos__Resource *add(const struct list *list, const char *name, Mesos__Value__Type type,
			    const char *role)
{
	Mesos__Resource *r = PROTO_NEW(list->arena, Mesos__Resource, mesos__resource__descriptor);

	r->name = (char *)name;
	r->type = type;
	r->role = (char *)role;
	if (list->allocated_to) {
		r->allocation_info = PROTO_NEW(list->arena, Mesos__Resource__AllocationInfo,
					       mesos__resource__allocation_info__descriptor);
		r->allocation_info->role = (char *)list->allocated_to;
	}
	proto_push(list->arena, *list->count, *list->items, r);
	return r;
}

static void add_scalar(const struct list *list, const char *name, double value, const char *role)
{
	Mesos__Resource *r = add(list, name, MESOS__VALUE__TYPE__SCALAR, role);

	r->scalar = PROTO_NEW(list->arena, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
	r->scalar->value = value;
}

/* Half of it reserved, if tasks are as people's. */
static void add_amount(const struct list *list, const struct plan *plan, const char *name,
		       double value)
{
	if (plan->mix)
		add_scalar(list, name, value / 2, ROLE);
	add_scalar(list, name, plan->mix ? value / 2 : value, "*");
}

void mix_agent_resources(const struct plan *plan, struct arena *arena, size_t *count,
			 Mesos__Resource ***items)
{
	const struct list list = {arena, count, items, NULL};
	Mesos__Value__Range *range =
		PROTO_NEW(arena, Mesos__Value__Range, mesos__value__range__descriptor);
	Mesos__Resource *ports;

	add_amount(&list, plan, "cpus", plan->agent_cpus);
	add_amount(&list, plan, "mem", plan->agent_mem);
	add_scalar(&list, "disk", DISK_MB, "*");
	ports = add(&list, "ports", MESOS__VALUE__TYPE__RANGES, "*");
	range->begin = PORTS_FIRST;
	range->end = PORTS_LAST;
	ports->ranges = PROTO_NEW(arena, Mesos__Value__Ranges, mesos__value__ranges__descriptor);
	proto_push(arena, ports->ranges->n_range, ports->ranges->range, range);
}

void mix_task_resources(const struct plan *plan, struct arena *arena, const char *role,
			size_t *count, Mesos__Resource ***items)
{
	const struct list list = {arena, count, items, role};

	add_amount(&list, plan, "cpus", plan->task_cpus);
	add_amount(&list, plan, "mem", plan->task_mem);
	if (plan->mix)
		add_scalar(&list, "disk", TASK_DISK_MB, "*");
}

/* ---- what people write beside --------------------------------------------------- */

struct pair {
	const char *key, *value;
};

static const struct pair labels[] = {
	{"team", "data-platform"},
	{"cost-center", "4711"},
	{"deployed-by", "jenkins/etl-nightly/1203"},
};

static const struct pair environment[] = {
	{"JAVA_OPTS", "-Xmx512m -XX:+UseG1GC -Djava.net.preferIPv4Stack=true"},
	{"SPARK_EXECUTOR_MEMORY", "1g"},
	{"APP_ENV", "production"},
	{"CONFIG_URL", "http://config.example.com/v2/etl/nightly.json"},
	{"LANG", "C.UTF-8"},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

Mesos__Labels *mix_labels(const struct plan *plan, struct arena *arena)
{
	Mesos__Labels *out;

	if (!plan->mix)
		return NULL;
	out = PROTO_NEW(arena, Mesos__Labels, mesos__labels__descriptor);
	for (size_t i = 0; i < COUNT(labels); i++) {
		Mesos__Label *label = PROTO_NEW(arena, Mesos__Label, mesos__label__descriptor);

		label->key = (char *)labels[i].key;
		label->value = (char *)labels[i].value;
		proto_push(arena, out->n_labels, out->labels, label);
	}
	return out;
}

Mesos__DiscoveryInfo *mix_discovery(const struct plan *plan, struct arena *arena)
{
	Mesos__DiscoveryInfo *out;
	Mesos__Port *port;

	if (!plan->mix)
		return NULL;
	out = PROTO_NEW(arena, Mesos__DiscoveryInfo, mesos__discovery_info__descriptor);
	out->visibility = MESOS__DISCOVERY_INFO__VISIBILITY__CLUSTER;
	out->name = "nightly.etl";
	out->environment = "production";
	out->version = "3.14.1";
	out->ports = PROTO_NEW(arena, Mesos__Ports, mesos__ports__descriptor);
	port = PROTO_NEW(arena, Mesos__Port, mesos__port__descriptor);
	port->number = 8080;
	port->name = "http";
	port->protocol = "tcp";
	proto_push(arena, out->ports->n_ports, out->ports->ports, port);
	return out;
}

Mesos__Environment *mix_environment(const struct plan *plan, struct arena *arena)
{
	Mesos__Environment *out;

	if (!plan->mix)
		return NULL;
	out = PROTO_NEW(arena, Mesos__Environment, mesos__environment__descriptor);
	for (size_t i = 0; i < COUNT(environment); i++) {
		Mesos__Environment__Variable *variable =
			PROTO_NEW(arena, Mesos__Environment__Variable,
				  mesos__environment__variable__descriptor);

		variable->name = (char *)environment[i].key;
		variable->value = (char *)environment[i].value;
		proto_push(arena, out->n_variables, out->variables, variable);
	}
	return out;
}

/* ---- lives ----------------------------------------------------------------------- */

int64_t mix_life(uint32_t number)
{
	if (number % 20 == 0)
		return 30 * SECOND;
	return number % 20 <= 3 ? SECOND : 0;
}

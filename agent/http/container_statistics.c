#include "agent/http/container_statistics.h"

#include <math.h>
#include <unistd.h>

#include "base/time/clock.h"

static void put_limits(const struct agent_limits *limits, bool grouped,
		       Mesos__ResourceStatistics *s)
{
	double mem = isnan(limits->mem_limit) ? limits->mem : limits->mem_limit;

	s->has_cpus_soft_limit = limits->cpus > 0;
	s->cpus_soft_limit = limits->cpus;
	s->has_mem_soft_limit_bytes = limits->mem > 0;
	s->mem_soft_limit_bytes = (uint64_t)limits->mem;
	s->has_mem_limit_bytes = mem > 0 && !isinf(mem);
	s->mem_limit_bytes = s->has_mem_limit_bytes ? (uint64_t)mem : 0;
	if (!grouped || isnan(limits->cpus_limit))
		return;
	s->has_cpus_limit = 1;
	s->cpus_limit = isinf(limits->cpus_limit) ? (double)sysconf(_SC_NPROCESSORS_ONLN)
						  : limits->cpus_limit;
}

static void put_disk(const struct shown_container *c, const struct disk_watch *disks,
		     Mesos__ResourceStatistics *s)
{
	uint64_t used;

	if (!disk_watch_used(disks, c->container, &used))
		return;
	s->has_disk_used_bytes = s->has_disk_limit_bytes = 1;
	s->disk_used_bytes = used;
	s->disk_limit_bytes = (uint64_t)(c->disk * 1024 * 1024);
}

Mesos__ResourceStatistics statistics_of(const struct usage *usage, const struct shown_container *c,
					const struct disk_watch *disks)
{
	Mesos__ResourceStatistics statistics = usage->counted;

	statistics.timestamp = clock_seconds(clock_now());
	if (c)
		put_limits(&c->limits, usage->group != NULL, &statistics);
	if (c && disks)
		put_disk(c, disks, &statistics);
	return statistics;
}

static void write_field(struct json_writer *w, const ProtobufCFieldDescriptor *field,
			const char *message)
{
	const void *value = message + field->offset;

	if (field->label == PROTOBUF_C_LABEL_REPEATED ||
	    (field->label == PROTOBUF_C_LABEL_OPTIONAL && field->quantifier_offset &&
	     !*(const protobuf_c_boolean *)(message + field->quantifier_offset)))
		return;
	if (field->type == PROTOBUF_C_TYPE_DOUBLE)
		jw_kv_double(w, field->name, *(const double *)value);
	else if (field->type == PROTOBUF_C_TYPE_UINT32)
		jw_kv_int(w, field->name, *(const uint32_t *)value);
	else if (field->type == PROTOBUF_C_TYPE_UINT64)
		jw_kv_int(w, field->name, (int64_t) * (const uint64_t *)value);
}

void statistics_write(struct json_writer *w, const Mesos__ResourceStatistics *statistics)
{
	const ProtobufCMessageDescriptor *d = &mesos__resource_statistics__descriptor;

	for (unsigned i = 0; i < d->n_fields; i++)
		write_field(w, &d->fields[d->fields_sorted_by_name[i]], (const char *)statistics);
}

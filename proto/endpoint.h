/* The JSON of Mesos' v0 endpoints: not a mapping of
 * the messages but shapes of their own, the same on master and agent. */
#ifndef PROTO_ENDPOINT_H
#define PROTO_ENDPOINT_H

#include "proto/proto.h"
#include "proto/resources.h"

/* A Task as /state and /tasks show it. */
void endpoint_write_task(struct json_writer *w, struct resource_shapes *shapes,
			 const Mesos__Task *task);
/* [{"key":..,"value":..},...] */
void endpoint_write_labels(struct json_writer *w, const Mesos__Labels *labels);
/* {"rack":"r1","size":2.0,...} */
void endpoint_write_attributes(struct json_writer *w, Mesos__Attribute *const *list, size_t count);
/* The members of an executor in the master's /state, without slave_id. */
void endpoint_write_executor_members(struct json_writer *w, struct resource_shapes *shapes,
				     const Mesos__ExecutorInfo *info);
/* Resources of messages as a "modelled" object. */
void endpoint_write_resources(struct json_writer *w, struct resource_shapes *shapes,
			      Mesos__Resource *const *list, size_t count);
/* {"<role>": <modelled resources>, ...} of the reserved part. */
void endpoint_write_reserved(struct json_writer *w, const struct resources *r);
/* The modelled unreserved part. */
void endpoint_write_unreserved(struct json_writer *w, const struct resources *r);
/* [<Resource message in endpoint format>, ...]; `role` NULL = all, "*" = the
 * unreserved ones, else those reserved for the role. */
void endpoint_write_full(struct json_writer *w, const struct resources *r, const char *role);
/* {"<role>": [<Resource>, ...], ...} of the reserved part. */
void endpoint_write_reserved_full(struct json_writer *w, const struct resources *r);
/* {"fault_domain":{"region":{"name":..},"zone":{"name":..}}} */
void endpoint_write_domain(struct json_writer *w, const Mesos__DomainInfo *domain);
/* No build date: the same sources must give the same binary. Tools read the members, so they
 * are there. */
#define BUILD_DATE "1970-01-01 00:00:00"
#define BUILD_TIME 0
#define BUILD_USER "mesita"

/* build_date ... version, sorted; the body of /version and the head of /state. */
void endpoint_write_version(struct json_writer *w);

#endif

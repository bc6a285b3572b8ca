/* What the agent's machine is and has, from flags and, where they
 * are silent, from the operating system. All of it blocks; used at start-up only. */
#ifndef AGENT_HOST_H
#define AGENT_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/memory/arena.h"
#include "proto/proto.h"
#include "proto/resources.h"

/* Parses --resources (NULL = none given) and adds what is missing of cpus, mem, disk
 * (of the filesystem of `work_dir`) and ports, with `role`. */
int host_resources(struct resource_shapes *shapes, const char *text, const char *role,
		   const char *work_dir, struct resources *out, struct err *err);

/* --attributes: "name:value;...", the type guessed from the value. */
int host_attributes(struct arena *arena, const char *text, Mesos__Attribute ***list, size_t *count,
		    struct err *err);

/* --domain: JSON. */
int host_domain(struct arena *arena, const char *text, Mesos__DomainInfo **domain, struct err *err);

/* What executors have from us: our LIBPROCESS_SSL_* and --executor_environment_variables, a JSON
 * object of strings (or NULL), as NAME=VALUE, NULL-ended. */
int host_environment(struct arena *arena, const char *text, const char *const **list,
		     struct err *err);

/* The address that others reach us under when we listen on `ip` (NULL or 0.0.0.0 =
 * all interfaces: that of the host's name, or loopback). Heap. */
char *host_advertised_ip(const char *ip);
/* The name of an address; the address itself if it has none or !lookup. Heap. */
char *host_name_of(const char *ip, bool lookup);
/* The JNI library that Java executors are told of: $MESOS_NATIVE_JAVA_LIBRARY or
 * $MESOS_NATIVE_LIBRARY, else libmesos.so beside `program` or in ../lib from there. NULL if there
 * is none. Heap. */
char *host_native_library(const char *program);
/* Changes with every boot; "" if unknown. Heap. */
char *host_boot_id(void);

#endif

/* Oversubscription: what the agent offers beyond its resources, to be taken back at any time. */
#ifndef AGENT_ESTIMATOR_H
#define AGENT_ESTIMATOR_H

#include "proto/resources.h"

/* The estimator that Mesos has as a module, here built in: a fixed amount. */
#define ESTIMATOR_FIXED "org_apache_mesos_FixedResourceEstimator"

/* --resource_estimator (NULL: none, `out` stays empty) and --modules, JSON, where the parameter
 * "resources" of the module of that name says how much. All of `out` is revocable. */
int estimator_parse(struct resource_shapes *shapes, const char *name, const char *modules,
		    struct resources *out, struct err *err);

#endif

/* What the allocator's tests share: resources from short texts, and a lab that
 * drives an allocator and prints its grants. */
#ifndef TESTS_UNIT_ALLOCATOR_KIT_H
#define TESTS_UNIT_ALLOCATOR_KIT_H

#include "allocator/objects.h"
#include "base/memory/buf.h"
#include "base/time/clock.h"

/* "cpus:2;mem(r):512;ports:[1-9];cpus:1{rev};disk(r):10{shared=v};mem(a>a/b):1": a
 * `>` stacks a dynamic reservation on a static one; {volume=v} and {mount=/m} are disks
 * too. Aborts on nonsense. */
struct resources kit_resources(struct resource_shapes *shapes, const char *text);
/* The same, allocated to a role. */
struct resources kit_allocated(struct resource_shapes *shapes, const char *role, const char *text);

struct lab {
	struct resource_shapes *shapes;
	struct allocator *a;
	int64_t now;
	struct allocator_grants grants; /* of the last cycle */
};

/* `options` may be NULL: Mesos' defaults, one second. */
struct lab lab_open(const struct allocator_options *options);
void lab_close(struct lab *lab);
void lab_agent(struct lab *lab, const char *id, const char *total);
/* Roles are comma-separated; the framework can take everything. */
void lab_framework(struct lab *lab, const char *id, const char *roles);
struct allocator_framework lab_incapable(const char *id, const char *const *role);

/* The cycle that events ask for, if they do, or the periodic one a second later. What
 * was granted, e.g. "f1(r)@a1 cpus:1; mem:2, f2(r)@a2 ..."; heap. */
char *lab_event(struct lab *lab);
char *lab_tick(struct lab *lab);
#define lab_expect_event(lab, expected) lab_check(lab_event(lab), (expected), __LINE__)
#define lab_expect_tick(lab, expected) lab_check(lab_tick(lab), (expected), __LINE__)
void lab_check(char *text, const char *expected, int line);

void lab_restore(struct lab *lab, const char *framework, const char *role, const char *agent,
		 const char *resources);
#define LAB_NO_FILTER (-1e300)
void lab_recover(struct lab *lab, const char *framework, const char *role, const char *agent,
		 const char *resources, double refuse_seconds);
/* Gives back the i-th of the last grants. */
void lab_decline(struct lab *lab, size_t i, double refuse_seconds);
/* "cpus:2;mem:0.5"; "" is none. */
void lab_quota(struct lab *lab, const char *role, const char *guarantees, const char *limits);
/* Names of the roles with active leaves, in the order of a walk; heap. */
char *lab_role_order(struct lab *lab);

#endif

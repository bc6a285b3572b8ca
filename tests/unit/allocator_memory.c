/* What an allocator remembers over the end of its process: its successor makes the same
 * offers, whoever comes back first. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/allocator_looks.h"
#include "allocator/allocator_memory.h"
#include "allocator_kit.h"
#include "allocator_named.h"
#include "base/memory/arena.h"

TestSuite(allocator_memory);

/* A store of what changed. */
struct entry {
	UT_hash_handle hh;
	char *key;
	struct allocator_memory memory; /* texts and resources are its own */
	struct resources refused;
};

struct store {
	struct lab *lab;
	struct entry *entries;
	int puts, deletions;
};

static void entry_free(struct store *store, struct entry *entry)
{
	HASH_DEL(store->entries, entry);
	free((char *)entry->memory.framework);
	free((char *)entry->memory.role);
	free((char *)entry->memory.agent);
	resources_free(&entry->refused);
	free(entry->key);
	free(entry);
}

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static void put(void *context, const struct allocator_memory *memory)
{
	struct store *store = context;
	struct entry *entry;
	char *key = xprintf(
		"%d %s %s %s %llu", memory->kind,
		memory->framework && memory->kind == ALLOCATOR_MEMORY_LEAF ? memory->framework : "",
		memory->role && memory->kind != ALLOCATOR_MEMORY_FILTER ? memory->role : "",
		memory->agent && memory->kind == ALLOCATOR_MEMORY_AGENT ? memory->agent : "",
		memory->kind == ALLOCATOR_MEMORY_FILTER ? (unsigned long long)memory->number : 0);

	HASH_FIND_STR(store->entries, key, entry);
	if (entry)
		entry_free(store, entry);
	if (memory->gone) {
		cr_expect(entry, "deleted, but never stored: %s", key);
		store->deletions++;
		free(key);
		return;
	}
	store->puts++;
	entry = xcalloc(1, sizeof(*entry));
	entry->key = key;
	entry->memory = *memory;
	entry->memory.framework = copy(memory->framework);
	entry->memory.role = copy(memory->role);
	entry->memory.agent = copy(memory->agent);
	if (memory->refused)
		resources_copy(&entry->refused, memory->refused);
	entry->memory.refused = &entry->refused;
	HASH_ADD_KEYPTR(hh, store->entries, entry->key, strlen(entry->key), entry);
}

static int written(struct store *store)
{
	bool changed = allocator_changed(store->lab->a);

	store->puts = store->deletions = 0;
	allocator_changes(store->lab->a, put, store);
	cr_expect_eq(changed, store->puts + store->deletions > 0);
	cr_expect_not(allocator_changed(store->lab->a));
	return store->puts + store->deletions;
}

static int by_kind(struct entry *a, struct entry *b)
{
	return (int)a->memory.kind - (int)b->memory.kind;
}

static struct allocator *successor(struct lab *lab)
{
	struct allocator_options options = {.shapes = lab->shapes,
					    .allocation_interval = SECOND,
					    .filter_gpu_resources = true,
					    .remembers = true};
	struct allocator *a = NULL;
	struct err err = {""};

	cr_assert_eq(allocator_create(&options, &a, &err), 0, "%s", err.text);
	return a;
}

static struct lab open_lab(struct store *store, struct lab *lab)
{
	struct allocator_options options = {
		.allocation_interval = SECOND, .filter_gpu_resources = true, .remembers = true};

	*store = (struct store){.lab = lab};
	return lab_open(&options);
}

/* The end of the process. The frameworks of before are added, inactive. Returns how many
 * records are written anew. */
static size_t restart(struct store *store, const char *const *frameworks, const char *roles)
{
	struct lab *lab = store->lab;
	struct entry *entry, *next;

	written(store);
	allocator_grants_free(&lab->grants);
	named_destroy(lab->a);
	lab->a = successor(lab);
	for (; *frameworks; frameworks++) {
		lab_framework(lab, *frameworks, roles);
		named_activate_framework(lab->a, *frameworks, false);
	}
	HASH_SORT(store->entries, by_kind);
	HASH_ITER (hh, store->entries, entry, next) {
		if (!named_remember(lab->a, lab->now, &entry->memory))
			entry_free(store, entry);
	}
	return (size_t)written(store);
}

static void crash(struct store *store, const char *const *frameworks, const char *roles)
{
	cr_expect_eq(restart(store, frameworks, roles), 0, "nothing changed by that");
}

static void close_lab(struct store *store)
{
	struct entry *entry, *next;

	HASH_ITER (hh, store->entries, entry, next)
		entry_free(store, entry);
	lab_close(store->lab);
}

static const char *const two[] = {"f1", "f2", NULL};

static void both_are_back(struct lab *lab)
{
	named_activate_framework(lab->a, "f2", true);
	named_activate_framework(lab->a, "f1", true);
}

Test(allocator_memory, nothing_is_said_twice)
{
	struct store store;
	struct lab lab = open_lab(&store, &lab);

	cr_expect_eq(written(&store), 0);
	lab_framework(&lab, "f1", "a/b/c");
	cr_expect_eq(written(&store), 0);
	lab_agent(&lab, "s1", "cpus:1;mem:64");
	cr_expect_eq(written(&store), 1);
	free(lab_event(&lab));
	/* The leaf, and three roles. */
	cr_expect_eq(written(&store), 4);
	cr_expect_eq(written(&store), 0);
	lab_decline(&lab, 0, 5);
	cr_expect_eq(written(&store), 1);
	for (int i = 0; i < 4; i++) {
		free(lab_tick(&lab));
		cr_expect_eq(written(&store), 0, "idle cycles write nothing");
	}
	lab_expect_tick(&lab, "f1(a/b/c)@s1 cpus:1; mem:64");
	cr_expect_eq(written(&store), 5);
	cr_expect_eq(store.deletions, 1);
	lab_decline(&lab, 0, 5);
	named_revive(lab.a, "f1", NULL, 0);
	cr_expect_eq(written(&store), 0, "made and dropped since it was asked");
	named_remove_framework(lab.a, "f1");
	named_remove_agent(lab.a, "s1");
	cr_expect_eq(written(&store), 5);
	cr_expect_eq(store.deletions, 5);
	cr_expect_eq(HASH_COUNT(store.entries), 0);
	close_lab(&store);
}

Test(allocator_memory, whoever_does_not_ask_for_it_pays_nothing)
{
	struct lab lab = lab_open(NULL);
	struct store store = {.lab = &lab};

	lab_framework(&lab, "f1", "r");
	lab_agent(&lab, "s1", "cpus:1;mem:64");
	free(lab_event(&lab));
	lab_decline(&lab, 0, 5);
	named_remove_agent(lab.a, "s1");
	cr_expect_eq(written(&store), 0);
	lab_close(&lab);
}

/* f1 was given more often, so f2 is next; without the counts it would be f1. */
static void ties(bool crashes, const char *roles, const char *first, const char *second)
{
	struct store store;
	struct lab lab = open_lab(&store, &lab);

	lab_framework(&lab, "f1", roles);
	lab_agent(&lab, "s1", "cpus:1;mem:64");
	free(lab_event(&lab));
	lab_decline(&lab, 0, LAB_NO_FILTER);
	lab_framework(&lab, "f2", roles);
	if (crashes) {
		crash(&store, two, roles);
		both_are_back(&lab);
		lab_agent(&lab, "s1", "cpus:1;mem:64");
	}
	lab_expect_event(&lab, first);
	lab_decline(&lab, 0, LAB_NO_FILTER);
	lab_expect_tick(&lab, second);
	close_lab(&store);
}

Test(allocator_memory, counts_go_on_breaking_ties)
{
	for (int i = 0; i < 2; i++) {
		ties(i, "r", "f2(r)@s1 cpus:1; mem:64", "f1(r)@s1 cpus:1; mem:64");
		/* a was given first, then each in turn. */
		ties(i, "a,b", "f1(b)@s1 cpus:1; mem:64", "f2(a)@s1 cpus:1; mem:64");
		/* The virtual leaf of a beside a/b. */
		ties(i, "a,a/b", "f1(a/b)@s1 cpus:1; mem:64", "f2(a)@s1 cpus:1; mem:64");
	}
}

/* A role that gets children and loses them hands its count on, given nothing. */
static void hands_on(bool crashes)
{
	struct store store;
	struct lab lab = open_lab(&store, &lab);

	lab_framework(&lab, "f1", "a/b/d");
	lab_agent(&lab, "s1", "cpus:1;mem:64");
	free(lab_event(&lab));
	lab_decline(&lab, 0, LAB_NO_FILTER);
	written(&store);
	lab_framework(&lab, "f1", "a/b");
	written(&store);
	lab_framework(&lab, "f1", "a/b,a/b/d");
	written(&store);
	if (crashes) {
		crash(&store, (const char *const[]){"f1", NULL}, "a/b,a/b/d");
		named_activate_framework(lab.a, "f1", true);
		lab_agent(&lab, "s1", "cpus:1;mem:64");
	}
	lab_expect_tick(&lab, "f1(a/b/d)@s1 cpus:1; mem:64");
	close_lab(&store);
}

Test(allocator_memory, counts_that_are_handed_on_are_remembered)
{
	hands_on(false);
	hands_on(true);
}

static void order(bool crashes)
{
	struct store store;
	struct lab lab = open_lab(&store, &lab);

	lab_framework(&lab, "f1", "r");
	lab_framework(&lab, "f2", "r");
	/* Not in the order of their ids. */
	lab_agent(&lab, "z", "cpus:1;mem:64");
	lab_agent(&lab, "m", "cpus:1;mem:64");
	lab_agent(&lab, "a", "cpus:1;mem:64");
	if (crashes) {
		crash(&store, two, "r");
		lab_agent(&lab, "a", "cpus:1;mem:64");
		lab_agent(&lab, "z", "cpus:1;mem:64");
		lab_agent(&lab, "m", "cpus:1;mem:64");
		cr_expect_eq(written(&store), 0);
		both_are_back(&lab);
	}
	lab_agent(&lab, "new", "cpus:1;mem:64");
	lab_expect_event(&lab, "f1(r)@z cpus:1; mem:64, f2(r)@m cpus:1; mem:64, "
			       "f1(r)@a cpus:1; mem:64, f2(r)@new cpus:1; mem:64");
	close_lab(&store);
}

Test(allocator_memory, agents_keep_their_places)
{
	order(false);
	order(true);
}

/* Crashes after `wait` seconds; the agent is offered again at the same time either way. */
static int refused_for(bool crashes, double refuse, int wait)
{
	struct store store;
	struct lab lab = open_lab(&store, &lab);
	int ticks = 0;

	lab_framework(&lab, "f1", "r");
	lab_agent(&lab, "s1", "cpus:1;mem:64");
	free(lab_event(&lab));
	lab_decline(&lab, 0, refuse);
	for (int i = 0; i < wait; i++)
		free(lab_tick(&lab));
	if (crashes) {
		crash(&store, (const char *const[]){"f1", NULL}, "r");
		cr_expect_eq(allocator_filter_count(lab.a), 1);
		named_activate_framework(lab.a, "f1", true);
		lab_agent(&lab, "s1", "cpus:1;mem:64");
		lab_expect_event(&lab, "");
	}
	do {
		free(lab_tick(&lab));
		ticks++;
	} while (!lab.grants.count && ticks < 100);
	written(&store);
	cr_expect_eq(store.deletions, crashes);
	close_lab(&store);
	return ticks;
}

Test(allocator_memory, filters_go_on)
{
	for (int wait = 0; wait < 5; wait++) {
		int without = refused_for(false, 5, wait), with = refused_for(true, 5, wait);

		cr_expect_eq(without, 5 - wait);
		cr_expect_eq(with, without, "%d: %d, %d", wait, with, without);
	}
	/* One that no batch has met yet. */
	cr_expect_eq(refused_for(true, 0.5, 0), refused_for(false, 0.5, 0));
}

Test(allocator_memory, filters_that_ended_meanwhile_are_dropped)
{
	struct store store;
	struct lab lab = open_lab(&store, &lab);

	lab_framework(&lab, "f1", "r");
	lab_agent(&lab, "s1", "cpus:1;mem:64");
	free(lab_event(&lab));
	lab_decline(&lab, 0, 5);
	written(&store);
	lab.now += 5 * SECOND;
	crash(&store, (const char *const[]){"f1", NULL}, "r");
	cr_expect_eq(allocator_filter_count(lab.a), 0);
	named_activate_framework(lab.a, "f1", true);
	lab_agent(&lab, "s1", "cpus:1;mem:64");
	lab_expect_event(&lab, "f1(r)@s1 cpus:1; mem:64");
	close_lab(&store);
}

/* The successor's clock is an hour behind. */
Test(allocator_memory, filters_of_the_future_last_as_long_as_asked)
{
	struct store store;
	struct lab lab = open_lab(&store, &lab);
	int ticks = 0;

	lab_framework(&lab, "f1", "r");
	lab_agent(&lab, "s1", "cpus:1;mem:64");
	free(lab_event(&lab));
	lab_decline(&lab, 0, 5);
	written(&store);
	lab.now -= HOUR;
	cr_expect_eq(restart(&store, (const char *const[]){"f1", NULL}, "r"), 1);
	cr_expect_eq(allocator_filter_count(lab.a), 1);
	named_activate_framework(lab.a, "f1", true);
	lab_agent(&lab, "s1", "cpus:1;mem:64");
	for (; !lab.grants.count && ticks < 100; ticks++)
		free(lab_tick(&lab));
	cr_expect_leq(ticks, 6, "%d", ticks);
	close_lab(&store);
}

/* Nor are they prolonged when that one crashes, too. */
Test(allocator_memory, filters_of_the_future_are_moved_once)
{
	struct store store;
	struct lab lab = open_lab(&store, &lab);

	lab_framework(&lab, "f1", "r");
	lab_agent(&lab, "s1", "cpus:1;mem:64");
	free(lab_event(&lab));
	lab_decline(&lab, 0, 5);
	written(&store);
	lab.now -= HOUR;
	cr_expect_eq(restart(&store, (const char *const[]){"f1", NULL}, "r"), 1);
	cr_expect_eq(allocator_filter_count(lab.a), 1);
	lab.now += 6 * SECOND;
	crash(&store, (const char *const[]){"f1", NULL}, "r");
	cr_expect_eq(allocator_filter_count(lab.a), 0);
	close_lab(&store);
}

/* What makes a filter void does so before its agent is back. */
Test(allocator_memory, filters_of_those_still_away_can_be_dropped)
{
	const char *role = "r";

	for (int i = 0; i < 5; i++) {
		struct store store;
		struct lab lab = open_lab(&store, &lab);
		struct allocator_framework other = {.id = "f1", .active = true};

		lab_framework(&lab, "f1", "r");
		lab_agent(&lab, "s1", "cpus:1;mem:64");
		free(lab_event(&lab));
		lab_decline(&lab, 0, 3600);
		crash(&store, (const char *const[]){"f1", NULL}, "r");
		switch (i) {
		case 0:
			named_revive(lab.a, "f1", &role, 1);
			break;
		case 1:
			named_remove_framework(lab.a, "f1");
			break;
		case 2:
			named_remove_agent(lab.a, "s1");
			break;
		case 3:
			named_forget_filters(lab.a, "s1");
			break;
		default:
			named_add_framework(lab.a, &other);
		}
		cr_expect_eq(allocator_filter_count(lab.a), 0, "%d", i);
		written(&store);
		cr_expect_geq(store.deletions, 1);
		free(lab_event(&lab));
		close_lab(&store);
	}
}

Test(allocator_memory, what_returns_was_counted_before)
{
	struct store store;
	struct lab lab = open_lab(&store, &lab);

	lab_framework(&lab, "f1", "r,s/t");
	lab_agent(&lab, "s1", "cpus:2;mem:128");
	lab_restore(&lab, "f1", "r", "s1", "cpus:1;mem:64");
	lab_restore(&lab, "f1", "s/t", "s1", "cpus:1;mem:64");
	crash(&store, (const char *const[]){"f1", NULL}, "r");
	/* The role s/t is the framework's no more; it is there for the use that may return. */
	lab_agent(&lab, "s1", "cpus:2;mem:128");
	lab_restore(&lab, "f1", "s/t", "s1", "cpus:1;mem:64");
	lab_restore(&lab, "f1", "r", "s1", "cpus:1;mem:64");
	cr_expect_eq(written(&store), 0, "counts are as they were");
	/* From now on use that is reported counts. */
	lab_restore(&lab, "f1", "r", "s1", "cpus:1");
	cr_expect_eq(written(&store), 2);
	lab_recover(&lab, "f1", "s/t", "s1", "cpus:1;mem:64", LAB_NO_FILTER);
	written(&store);
	/* The leaf, s/t and s. */
	cr_expect_eq(store.deletions, 3);
	close_lab(&store);
}

Test(allocator_memory, counts_that_nothing_returns_for_go_with_the_last_ghost)
{
	struct store store;
	struct lab lab = open_lab(&store, &lab);

	lab_framework(&lab, "f1", "r,s");
	lab_agent(&lab, "s1", "cpus:2;mem:128");
	lab_agent(&lab, "s2", "cpus:2;mem:128");
	lab_restore(&lab, "f1", "s", "s1", "cpus:1;mem:64");
	crash(&store, (const char *const[]){"f1", NULL}, "r");
	lab_agent(&lab, "s1", "cpus:2;mem:128");
	free(lab_event(&lab));
	cr_expect_eq(written(&store), 0);
	named_remove_agent(lab.a, "s2");
	free(lab_tick(&lab));
	written(&store);
	/* s2; the leaf and the role s. */
	cr_expect_eq(store.deletions, 3);
	close_lab(&store);
}

Test(allocator_memory, records_of_nothing_are_refused)
{
	struct store store;
	struct lab lab = open_lab(&store, &lab);
	struct resources refused = kit_resources(lab.shapes, "cpus:1");
	const struct allocator_memory bad[] = {
		{.kind = ALLOCATOR_MEMORY_LEAF, .framework = "nobody", .role = "r", .number = 1},
		{.kind = ALLOCATOR_MEMORY_ROLE, .role = "q", .number = 1},
		{.kind = ALLOCATOR_MEMORY_ROLE, .role = "r/s", .number = 1},
		{.kind = ALLOCATOR_MEMORY_AGENT, .agent = "s1", .number = 9},
		{.kind = ALLOCATOR_MEMORY_FILTER,
		 .framework = "f1",
		 .role = "q",
		 .agent = "s1",
		 .number = 1,
		 .until = INT64_MAX,
		 .refused = &refused},
		{.kind = ALLOCATOR_MEMORY_FILTER,
		 .framework = "f1",
		 .role = "r",
		 .agent = "s2",
		 .number = 1,
		 .until = INT64_MAX,
		 .refused = &refused},
		{.kind = ALLOCATOR_MEMORY_FILTER,
		 .framework = "f2",
		 .role = "r",
		 .agent = "s1",
		 .number = 1,
		 .until = INT64_MAX,
		 .refused = &refused},
	};

	lab_framework(&lab, "f1", "r");
	lab_agent(&lab, "s1", "cpus:1;mem:64");
	written(&store);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_expect_not(named_remember(lab.a, lab.now, &bad[i]), "%zu", i);
	cr_expect_eq(written(&store), 0);
	resources_free(&refused);
	close_lab(&store);
}

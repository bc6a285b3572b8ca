/* Cycles over all agents that come in parts: nobody is left out, whatever happens in between. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/allocator_looks.h"
#include "allocator_kit.h"
#include "allocator_named.h"
#include "base/random.h"

#define AGENTS 12
#define FRAMEWORKS 4
#define OUTSTANDING_MAX 4096

static struct lab lab;

static void start(void)
{
	lab = lab_open(NULL);
}

static void stop(void)
{
	lab_close(&lab);
}

TestSuite(allocator_parts, .init = start, .fini = stop);

/* The agents that the next part grants, as "s1 s2"; "+" at the end: there is more. */
static void expect_part(size_t max, const char *expected)
{
	char text[256] = "";
	bool more;

	allocator_grants_free(&lab.grants);
	more = allocator_cycle_part(lab.a, lab.now, true, max, &lab.grants);
	for (size_t i = 0; i < lab.grants.count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 named_id(lab.grants.items[i].agent));
	strcat(text, more ? "+" : "");
	cr_assert_str_eq(text, expected);
}

static void add_agents(int from, int to)
{
	char id[8];

	for (int i = from; i <= to; i++) {
		snprintf(id, sizeof(id), "s%d", i);
		lab_agent(&lab, id, "cpus:1;mem:128");
	}
}

Test(allocator_parts, each_agent_comes_once)
{
	lab_framework(&lab, "f1", "a");
	add_agents(1, 5);
	expect_part(2, "s1 s2+");
	expect_part(2, "s3 s4+");
	expect_part(2, "s5");
	expect_part(2, "");
	cr_assert_not(allocator_pending(lab.a));
}

Test(allocator_parts, what_is_declined_meanwhile_is_for_the_next_cycle)
{
	lab_framework(&lab, "f1", "a");
	add_agents(1, 5);
	expect_part(2, "s1 s2+");
	lab_decline(&lab, 0, 0);
	expect_part(2, "s3 s4+");
	expect_part(2, "s5");
	expect_part(2, "s1");
}

Test(allocator_parts, as_many_as_fit_are_the_last_but_one)
{
	lab_framework(&lab, "f1", "a");
	add_agents(1, 4);
	expect_part(4, "s1 s2 s3 s4+");
	expect_part(4, "");
}

Test(allocator_parts, who_goes_meanwhile_is_not_granted_and_who_comes_is_later)
{
	lab_framework(&lab, "f1", "a");
	add_agents(1, 5);
	expect_part(2, "s1 s2+");
	named_remove_agent(lab.a, "s3");
	named_activate_agent(lab.a, "s4", false);
	add_agents(6, 6);
	lab_expect_event(&lab, "f1(a)@s6 cpus:1; mem:128");
	named_activate_agent(lab.a, "s4", true);
	expect_part(2, "s4 s5+");
	expect_part(2, "");
}

Test(allocator_parts, a_framework_that_revives_meanwhile_sees_the_agents_of_before)
{
	lab_framework(&lab, "f1", "a");
	add_agents(1, 4);
	expect_part(9, "s1 s2 s3 s4");
	for (size_t i = 0; i < 4; i++)
		lab_decline(&lab, i, 3600);
	expect_part(2, "+");
	named_revive(lab.a, "f1", NULL, 0);
	cr_assert(allocator_pending_all(lab.a));
	expect_part(2, "s3 s4+");
	expect_part(2, "");
	cr_assert(allocator_pending_all(lab.a));
	expect_part(2, "s1 s2+");
	expect_part(2, "");
	cr_assert_not(allocator_pending(lab.a));
}

/* A guarantee that is met while agents are visited releases those that were held back for it. */
static void hold_back_for_a_guarantee(void)
{
	lab_quota(&lab, "b", "cpus:1;mem:128", "");
	lab_framework(&lab, "f1", "a");
	lab_framework(&lab, "f2", "b");
	add_agents(1, 1);
	lab_expect_event(&lab, "f2(b)@s1 cpus:1; mem:128");
	lab_decline(&lab, 0, 3600);
	lab_expect_tick(&lab, "");
	add_agents(2, 2);
}

Test(allocator_parts, what_a_guarantee_releases_comes_with_the_last_part)
{
	hold_back_for_a_guarantee();
	expect_part(9, "s2 s1");
}

Test(allocator_parts, what_a_guarantee_releases_comes_in_one_go)
{
	hold_back_for_a_guarantee();
	lab_expect_tick(&lab, "f2(b)@s2 cpus:1; mem:128, f1(a)@s1 cpus:1; mem:128");
}

/* ---- whatever happens ------------------------------------------------------------ */

struct held {
	char framework[8], agent[8];
	struct resources resources;
};

struct random_world {
	struct rng rng;
	bool agents[AGENTS], frameworks[FRAMEWORKS];
	struct held held[OUTSTANDING_MAX];
	size_t count;
	bool quotas;
	enum { IN_PARTS, IN_ONE_PART, IN_ONE_GO } manner;
};

static unsigned pick(struct random_world *w, unsigned count)
{
	return (unsigned)(rng_unit(&w->rng) * count);
}

static void drop(struct random_world *w, size_t i)
{
	resources_free(&w->held[i].resources);
	w->held[i] = w->held[--w->count];
}

static void drop_of(struct random_world *w, const char *framework, const char *agent)
{
	for (size_t i = w->count; i-- > 0;)
		if ((framework && strcmp(w->held[i].framework, framework) == 0) ||
		    (agent && strcmp(w->held[i].agent, agent) == 0))
			drop(w, i);
}

static void keep_grants(struct random_world *w)
{
	for (size_t i = 0; i < lab.grants.count; i++) {
		struct held *h = &w->held[w->count++];

		cr_assert_lt(w->count, OUTSTANDING_MAX);
		snprintf(h->framework, sizeof(h->framework), "%s",
			 named_id(lab.grants.items[i].framework));
		snprintf(h->agent, sizeof(h->agent), "%s", named_id(lab.grants.items[i].agent));
		resources_copy(&h->resources, &lab.grants.items[i].resources);
	}
	allocator_grants_free(&lab.grants);
}

static void toggle_agent(struct random_world *w)
{
	static const char *const totals[] = {"cpus:1;mem:128", "cpus:4;mem:1024;ports:[1-9]",
					     "cpus:2;mem(a):64;mem:64"};
	unsigned number = pick(w, AGENTS);
	char id[8];

	snprintf(id, sizeof(id), "s%u", number);
	if (w->agents[number]) {
		drop_of(w, NULL, id);
		named_remove_agent(lab.a, id);
	} else {
		lab_agent(&lab, id, totals[pick(w, 3)]);
	}
	w->agents[number] = !w->agents[number];
}

static void toggle_framework(struct random_world *w)
{
	static const char *const roles[] = {"a", "b", "a,c", "b/x"};
	unsigned number = pick(w, FRAMEWORKS);
	char id[8];

	snprintf(id, sizeof(id), "f%u", number);
	if (w->frameworks[number]) {
		/* The master takes back first what it has. */
		for (size_t i = w->count; i-- > 0;)
			if (strcmp(w->held[i].framework, id) == 0) {
				named_recover(lab.a, lab.now, id, w->held[i].agent,
					      &w->held[i].resources, NULL);
				drop(w, i);
			}
		named_remove_framework(lab.a, id);
	} else {
		lab_framework(&lab, id, roles[number]);
	}
	w->frameworks[number] = !w->frameworks[number];
}

static void give_back(struct random_world *w)
{
	static const double refusals[] = {0, 0.5, 3, 1000};
	struct allocator_filter filter = {.refuse_seconds = refusals[pick(w, 4)]};
	size_t i = pick(w, (unsigned)w->count);

	if (w->count == 0)
		return;
	named_recover(lab.a, lab.now, w->held[i].framework, w->held[i].agent, &w->held[i].resources,
		      pick(w, 3) ? &filter : NULL);
	drop(w, i);
}

static void change_mind(struct random_world *w)
{
	unsigned number = pick(w, FRAMEWORKS);
	char id[8];

	snprintf(id, sizeof(id), "f%u", number);
	if (!w->frameworks[number])
		return;
	if (pick(w, 2))
		named_revive(lab.a, id, NULL, 0);
	else
		named_suppress(lab.a, id, NULL, 0);
}

static void change_quota(struct random_world *w)
{
	static const char *const amounts[] = {"", "cpus:1", "cpus:3;mem:256"};
	static const char *const roles[] = {"a", "b", "c"};
	unsigned least = pick(w, 3);

	lab_quota(&lab, roles[pick(w, 3)], amounts[least], pick(w, 2) ? "" : "cpus:6;mem:512");
}

/* A part, or a whole cycle over all, as is the manner of the world. */
static bool run_part(struct random_world *w, bool batch)
{
	size_t max = 1 + pick(w, 4);
	bool more = false;

	if (w->manner == IN_ONE_GO)
		allocator_cycle(lab.a, lab.now, batch, &lab.grants);
	else
		more = allocator_cycle_part(lab.a, lab.now, batch,
					    w->manner == IN_PARTS ? max : 10 * AGENTS, &lab.grants);
	cr_assert(!more || w->manner == IN_PARTS);
	keep_grants(w);
	return more;
}

/* What events ask for. */
static void run_event(struct random_world *w)
{
	if (!allocator_pending(lab.a))
		return;
	if (allocator_pending_all(lab.a)) {
		if (w->manner != IN_PARTS)
			run_part(w, false);
		return;
	}
	allocator_cycle(lab.a, lab.now, false, &lab.grants);
	keep_grants(w);
}

static void happen(struct random_world *w)
{
	struct err why;

	switch (pick(w, 12)) {
	case 0:
	case 1:
		toggle_agent(w);
		break;
	case 2:
		toggle_framework(w);
		break;
	case 3:
		change_mind(w);
		break;
	case 4:
		if (w->quotas)
			change_quota(w);
		break;
	case 5:
		lab.now += pick(w, 3) * SECOND;
		break;
	case 6:
		run_event(w);
		break;
	case 7:
	case 8:
	case 9:
		give_back(w);
		break;
	default:
		run_part(w, w->manner != IN_PARTS || pick(w, 2));
		break;
	}
	cr_assert(allocator_audit(lab.a, &why), "%s", why.text);
}

static size_t run_all_parts(struct random_world *w)
{
	size_t before = w->count;

	while (run_part(w, true))
		;
	return w->count - before;
}

/* Once nothing happens any more three of them leave nothing that a cycle in one go would grant:
 * what changed during the first is for the second, and filters that ended with that for the third.
 * With quotas a cycle, in one go or not, can make room for the next one: until one grants nothing.
 */
static void expect_nothing_left(struct random_world *w, unsigned seed)
{
	int passes = 3;

	for (int i = 0; i < passes; i++)
		if (run_all_parts(w) > 0 && w->quotas && i > 1)
			passes++;
	cr_assert_lt(passes, 20);
	allocator_cycle(lab.a, lab.now, true, &lab.grants);
	cr_assert_eq(lab.grants.count, 0, "seed %u: %zu grants of %s on %s are left", seed,
		     lab.grants.count, named_id(lab.grants.items[0].framework),
		     named_id(lab.grants.items[0].agent));
}

Test(allocator_parts, nothing_is_left_whatever_happens_in_between)
{
	static struct random_world w;

	for (unsigned seed = 1; seed <= 2000; seed++) {
		memset(&w, 0, sizeof(w));
		rng_seed(&w.rng, seed);
		w.quotas = seed % 2 == 0;
		for (int i = 0; i < 150; i++) {
			happen(&w);
			if (i % 50 == 49)
				expect_nothing_left(&w, seed);
		}
		while (w.count)
			drop(&w, 0);
		lab_close(&lab);
		lab = lab_open(NULL);
	}
}

/* Resources of two allocators have shapes of their own: as text. */
static void expect_same_held(const struct held *a, const struct held *b, unsigned seed)
{
	struct buf one = BUF_INIT, other = BUF_INIT;

	buf_printf(&one, "%s on %s: ", a->framework, a->agent);
	buf_printf(&other, "%s on %s: ", b->framework, b->agent);
	resources_print(&a->resources, &one);
	resources_print(&b->resources, &other);
	cr_assert_str_eq(one.data, other.data, "seed %u: %s, and %s", seed, one.data, other.data);
	buf_free(&one);
	buf_free(&other);
}

static void expect_the_same(const struct random_world *a, const struct random_world *b,
			    unsigned seed)
{
	cr_assert_eq(a->count, b->count, "seed %u: %zu grants, and %zu", seed, a->count, b->count);
	for (size_t i = 0; i < a->count; i++)
		expect_same_held(&a->held[i], &b->held[i], seed);
}

static void begin_world(struct random_world *w, unsigned seed, int manner)
{
	memset(w, 0, sizeof(*w));
	rng_seed(&w->rng, seed);
	w->quotas = seed % 4 != 0;
	w->manner = manner;
}

/* One part that is large enough grants what a cycle in one go grants. */
Test(allocator_parts, one_part_is_a_cycle)
{
	static struct random_world one, other;

	for (unsigned seed = 1; seed <= 1000; seed++) {
		struct lab second = lab_open(NULL), first;

		begin_world(&one, seed, IN_ONE_GO);
		begin_world(&other, seed, IN_ONE_PART);
		for (int i = 0; i < 120; i++) {
			happen(&one);
			first = lab;
			lab = second;
			happen(&other);
			second = lab;
			lab = first;
			if (i % 8 == 0)
				expect_the_same(&one, &other, seed);
		}
		while (other.count)
			drop(&other, 0);
		lab_close(&second);
		while (one.count)
			drop(&one, 0);
		lab_close(&lab);
		lab = lab_open(NULL);
	}
}

/* Cycles of the allocator: A agents, F frameworks in one role. Figures in the form of
 * the other benchmarks, "name value unit limit ratio"; the limit is one walk over
 * agents x frameworks that only touches each pair, what a full scan costs at least.
 *
 *	bench_allocator [AGENTS [FRAMEWORKS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "allocator/allocator.h"
#include "base/clock.h"

struct bench {
	struct resource_shapes *shapes;
	struct allocator *a;
	struct allocator_grants grants;
	int64_t now;
	int agents;
	int frameworks;
	double limit; /* ms */
};

static double ms_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double scan_ms(const struct bench *b)
{
	volatile uint32_t sink = 0;
	double start = ms_now();

	for (int i = 0; i < b->agents; i++) {
		for (int j = 0; j < b->frameworks; j++)
			sink += (uint32_t)(i ^ j);
	}
	return ms_now() - start;
}

static void cycle(struct bench *b, const char *name)
{
	double start = ms_now();

	allocator_grants_free(&b->grants);
	b->now += SECOND;
	allocator_cycle(b->a, b->now, true, &b->grants);
	double took = ms_now() - start;
	printf("%s %.3f ms %.3f %.2f\n", name, took, b->limit, took / b->limit);
}

/* Gives all grants of the last cycle back. */
static void decline(struct bench *b, double seconds)
{
	struct allocator_filter filter = {seconds};

	for (size_t i = 0; i < b->grants.count; i++)
		allocator_recover(b->a, b->now, b->grants.items[i].framework,
				  b->grants.items[i].agent, &b->grants.items[i].resources, &filter);
}

static void fill(struct bench *b)
{
	struct resources total = RESOURCES_INIT;
	const char *role = "*";
	char id[32];

	resources_parse(b->shapes, "cpus:24;mem:4096;disk:4096;ports:[31000-32000]", "*", &total,
			NULL);
	for (int i = 0; i < b->frameworks; i++) {
		struct allocator_framework framework = {
			.id = id, .roles = &role, .role_count = 1, .active = true};

		snprintf(id, sizeof(id), "framework-%d", i);
		allocator_add_framework(b->a, &framework);
	}
	for (int i = 0; i < b->agents; i++) {
		snprintf(id, sizeof(id), "agent-%d", i);
		allocator_add_agent(b->a, id, &total, NULL);
	}
	resources_free(&total);
}

int main(int argc, char **argv)
{
	struct bench b = {.shapes = resource_shapes_create(), .agents = 1000, .frameworks = 200};
	struct allocator_options options = {.shapes = b.shapes, .allocation_interval = SECOND};

	if (argc > 1)
		b.agents = atoi(argv[1]);
	if (argc > 2)
		b.frameworks = atoi(argv[2]);
	if (b.agents < 100 || b.frameworks < 1 || allocator_create(&options, &b.a, NULL) < 0)
		return 2;
	b.limit = scan_ms(&b);
	fill(&b);
	cycle(&b, "allocator_full_grant");
	decline(&b, 1e6);
	cycle(&b, "allocator_next_taker");
	for (int i = 1; i < b.frameworks; i++) {
		decline(&b, 1e6);
		allocator_grants_free(&b.grants);
		b.now += SECOND;
		allocator_cycle(b.a, b.now, true, &b.grants);
	}
	cycle(&b, "allocator_all_filtered");

	allocator_revive(b.a, "framework-0", NULL, 0);
	cycle(&b, "allocator_one_revived");
	for (size_t i = (size_t)b.agents / 100; i < b.grants.count; i++)
		resources_clear(&b.grants.items[i].resources);
	decline(&b, 1e6);
	cycle(&b, "allocator_hundredth_changed");
	allocator_grants_free(&b.grants);
	allocator_destroy(b.a);
	resource_shapes_destroy(b.shapes);
	return 0;
}

/* The algebra of resources against a naive model: for each kind of resource the model keeps
 * what a reader of the rules would, a number, a set of bits, or a count of each size.
 * Operations are drawn from seeds, so a failure names the seed that repeats it. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/random.h"
#include "proto/resources.h"

#define WHOLE 3 /* shapes of MOUNT, volume and shared volume */
#define SIZES 3 /* sizes that those come in */

struct model {
	int64_t scalars[4]; /* milli */
	uint64_t ports;	    /* a bit a port */
	uint64_t zones;	    /* a bit an item */
	int counts[WHOLE][SIZES];
};

static struct arena arena;
static struct resource_shapes *shapes;

static Mesos__Resource *message_of(const char *text)
{
	struct json *json;
	struct err err = {""};
	Mesos__Resource *resource;

	cr_assert_eq(json_parse(&arena, text, strlen(text), &json, &err), 0, "%s", err.text);
	resource = json_to_proto(&mesos__resource__descriptor, json, SPELL_V1, &arena, &err);
	cr_assert(resource && !resource_validate(resource, &err), "%s: %s", text, err.text);
	return resource;
}

static void add_text(struct resources *to, const char *text)
{
	resources_add_message(shapes, to, message_of(text));
}

static void add_scalar(struct resources *to, int kind, int64_t milli)
{
	static const char *const more[] = {
		"", ",\"role\":\"r\"", ",\"role\":\"r\",\"reservation\":{}", ",\"revocable\":{}"};

	add_text(to, arena_printf(&arena,
				  "{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":%"
				  "lld.%03lld}%s}",
				  (long long)milli / 1000, (long long)milli % 1000, more[kind]));
}

/* Each run of bits as a range; half of the time in pieces, which must make no difference. */
static void add_ports(struct resources *to, uint64_t bits, struct rng *rng)
{
	struct buf text = BUF_INIT;

	buf_puts(&text, "{\"name\":\"ports\",\"type\":\"RANGES\",\"ranges\":{\"range\":[");
	for (int i = 0, any = 0; i < 64; i++) {
		int end = i;

		if (!(bits >> i & 1))
			continue;
		while (end + 1 < 64 && (bits >> (end + 1) & 1) && rng_next(rng) % 8)
			end++;
		buf_printf(&text, "%s{\"begin\":%d,\"end\":%d}", any++ ? "," : "", i, end);
		i = end;
	}
	buf_puts(&text, "]}}");
	add_text(to, text.data);
	buf_free(&text);
}

static void add_zones(struct resources *to, uint64_t bits)
{
	struct buf text = BUF_INIT;

	buf_puts(&text, "{\"name\":\"zones\",\"type\":\"SET\",\"set\":{\"item\":[");
	for (int i = 0, any = 0; i < 8; i++)
		if (bits >> i & 1)
			buf_printf(&text, "%s\"z%d\"", any++ ? "," : "", i);
	buf_puts(&text, "]}}");
	add_text(to, text.data);
	buf_free(&text);
}

static void add_whole(struct resources *to, int kind, int size)
{
	static const char *const more[] = {
		"\"disk\":{\"source\":{\"type\":\"MOUNT\",\"mount\":{\"root\":\"/m\"}}}",
		"\"role\":\"r\",\"disk\":{\"persistence\":{\"id\":\"v\"}}",
		"\"role\":\"r\",\"disk\":{\"persistence\":{\"id\":\"s\"}},\"shared\":{}",
	};

	add_text(to, arena_printf(
			     &arena,
			     "{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":%d},%s}",
			     size + 1, more[kind]));
}

/* A few random resources, in both forms. */
static void draw(struct rng *rng, struct model *model, struct resources *r)
{
	*model = (struct model){0};
	*r = RESOURCES_INIT;
	for (int i = 0; i < 4; i++) {
		if (rng_next(rng) % 3)
			continue;
		model->scalars[i] = (int64_t)(rng_next(rng) % 3000);
		add_scalar(r, i, model->scalars[i]);
	}
	if (rng_next(rng) % 2) {
		model->ports = rng_next(rng) & rng_next(rng);
		add_ports(r, model->ports, rng);
	}
	if (rng_next(rng) % 2) {
		model->zones = rng_next(rng) & rng_next(rng) & 0xff;
		add_zones(r, model->zones);
	}
	for (int kind = 0; kind < WHOLE; kind++) {
		int size = (int)(rng_next(rng) % SIZES);

		if (rng_next(rng) % 3)
			continue;
		model->counts[kind][size]++;
		add_whole(r, kind, size);
	}
}

static void model_add(struct model *to, const struct model *more)
{
	for (int i = 0; i < 4; i++)
		to->scalars[i] += more->scalars[i];
	to->ports |= more->ports;
	to->zones |= more->zones;
	for (int k = 0; k < WHOLE; k++)
		for (int s = 0; s < SIZES; s++)
			to->counts[k][s] += more->counts[k][s];
}

static void model_subtract(struct model *from, const struct model *less)
{
	for (int i = 0; i < 4; i++)
		from->scalars[i] = from->scalars[i] > less->scalars[i]
					   ? from->scalars[i] - less->scalars[i]
					   : 0;
	from->ports &= ~less->ports;
	from->zones &= ~less->zones;
	for (int k = 0; k < WHOLE; k++)
		for (int s = 0; s < SIZES; s++)
			from->counts[k][s] = from->counts[k][s] > less->counts[k][s]
						     ? from->counts[k][s] - less->counts[k][s]
						     : 0;
}

static bool model_contains(const struct model *have, const struct model *want)
{
	for (int i = 0; i < 4; i++)
		if (have->scalars[i] < want->scalars[i])
			return false;
	if (want->ports & ~have->ports || want->zones & ~have->zones)
		return false;
	for (int k = 0; k < WHOLE; k++) {
		for (int s = 0; s < SIZES; s++) {
			/* MOUNT disks are not used up by the comparison. */
			int needed = k ? want->counts[k][s] : !!want->counts[k][s];

			if (have->counts[k][s] < needed)
				return false;
		}
	}
	return true;
}

/* What a collection holds, read from its messages. */
static struct model read_back(const struct resources *r)
{
	struct model model = {0};

	for (uint32_t i = 0; i < r->count; i++) {
		const struct resource_piece *piece = &r->pieces[i];
		const char *name = resource_shape_name(piece->shape);

		if (!strcmp(name, "cpus")) {
			int kind = resource_shape_revocable(piece->shape) ? 3
				   : resource_shape_dynamic(piece->shape)
					   ? 2
					   : (int)resource_shape_reservations(piece->shape);

			model.scalars[kind] += piece->milli;
		} else if (!strcmp(name, "ports")) {
			for (uint32_t j = 0; j < piece->count; j++)
				for (uint64_t p = piece->ranges[j].begin; p <= piece->ranges[j].end;
				     p++)
					model.ports |= (uint64_t)1 << p;
		} else if (!strcmp(name, "zones")) {
			for (uint32_t j = 0; j < piece->count; j++)
				model.zones |= (uint64_t)1 << (piece->items[j][1] - '0');
		} else {
			int kind = resource_shape_shared(piece->shape)	      ? 2
				   : resource_shape_persistence(piece->shape) ? 1
									      : 0;

			model.counts[kind][piece->milli / 1000 - 1] += (int)piece->shares;
		}
	}
	return model;
}

/* Ascending, apart from each other by at least one: the form all operations rely on. */
static void check_form(const struct resources *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const struct resource_piece *piece = &r->pieces[i];

		cr_assert(piece->shares);
		if (resource_shape_type(piece->shape) == MESOS__VALUE__TYPE__SCALAR)
			cr_assert_gt(piece->milli, 0);
		else
			cr_assert_gt(piece->count, 0);
		for (uint32_t j = 0; piece->ranges && j < piece->count; j++) {
			cr_assert_leq(piece->ranges[j].begin, piece->ranges[j].end);
			if (j)
				cr_assert_gt(piece->ranges[j].begin, piece->ranges[j - 1].end + 1);
		}
	}
}

static void check_same(const struct resources *r, const struct model *model, uint64_t seed)
{
	struct model now = read_back(r);

	check_form(r);
	cr_assert(!memcmp(&now, model, sizeof(now)), "seed %llu", (unsigned long long)seed);
}

static void run(uint64_t seed)
{
	struct model total = {0};
	struct resources sum = RESOURCES_INIT;
	struct rng rng;

	rng_seed(&rng, seed);
	for (int step = 0; step < 30; step++) {
		struct model model, both;
		struct resources r, copy;

		draw(&rng, &model, &r);
		check_same(&r, &model, seed);
		cr_assert_eq(resources_contain(&sum, &r), model_contains(&total, &model),
			     "seed %llu", (unsigned long long)seed);
		cr_assert_eq(resources_contain(&r, &sum), model_contains(&model, &total),
			     "seed %llu", (unsigned long long)seed);
		/* a + b contains b, and is the same as b + a. */
		resources_copy(&copy, &r);
		resources_add(&copy, &sum);
		both = model;
		model_add(&both, &total);
		check_same(&copy, &both, seed);
		cr_assert(resources_contain(&copy, &r) && resources_contain(&copy, &sum));
		if (rng_next(&rng) % 3) {
			resources_add(&sum, &r);
			model_add(&total, &model);
			cr_assert(resources_equal(&sum, &copy));
		} else {
			resources_subtract(&sum, &r);
			model_subtract(&total, &model);
		}
		check_same(&sum, &total, seed);
		resources_free(&copy);
		resources_free(&r);
		arena_free(&arena);
	}
	resources_subtract(&sum, &sum);
	cr_assert(resources_empty(&sum));
	resources_free(&sum);
}

Test(proto_algebra, agrees_with_the_model)
{
	arena_init(&arena);
	shapes = resource_shapes_create();
	for (uint64_t seed = 1; seed <= 300; seed++) {
		run(seed);
		if (seed % 50 == 0)
			resource_shapes_collect(shapes);
	}
	resource_shapes_destroy(shapes);
}

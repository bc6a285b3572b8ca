/* The frameworks know nothing of each other and of shares: each launches a task where an
 * offer holds one, and declines the rest for no time; an offer too small for a task it
 * declines for a day. All order comes from the allocator. It ends when nothing is offered
 * any more. */
#include "cli/demo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/allocator.h"
#include "allocator/allocator_looks.h"
#include "base/json/json.h"
#include "base/memory/arena.h"
#include "base/time/clock.h"

#define BAR 18 /* its length: ninths and sixths of the paper come out even */
#define AGENT "agent"

struct demo_framework {
	char *name; /* of its role, too */
	struct alloc_framework *alloc;
	struct resources task;
	double weight;
	unsigned tasks;
};

struct demo {
	struct resource_shapes *shapes;
	struct allocator *allocator;
	struct alloc_agent *agent;
	struct resources total;
	struct demo_framework frameworks[DEMO_FRAMEWORKS_MAX];
	size_t count;
	int64_t now;
	unsigned step, launched;
	bool json;
	struct buf *out;
};

/* -- setting up -- */

static struct demo_framework *demo_find(struct demo *demo, const char *name, size_t len)
{
	for (size_t i = 0; i < demo->count; i++) {
		if (strlen(demo->frameworks[i].name) == len &&
		    !strncmp(demo->frameworks[i].name, name, len))
			return &demo->frameworks[i];
	}
	return NULL;
}

/* What has no shares is not for this. */
static int parse_scalars(struct demo *demo, const char *text, struct resources *out,
			 struct err *err)
{
	int status = resources_parse(demo->shapes, text, "*", out, err);

	if (status != 0)
		return status;
	for (uint32_t i = 0; i < out->count; i++) {
		const struct resource_shape *shape = out->pieces[i].shape;

		if (resource_shape_type(shape) != MESOS__VALUE__TYPE__SCALAR ||
		    resource_shape_reservations(shape) > 0)
			return err_set(err, ERR_INVALID, "'%s' are not only plain amounts", text);
	}
	if (resources_empty(out))
		return err_set(err, ERR_INVALID, "'%s' is nothing", text);
	return 0;
}

static int add_framework(struct demo *demo, const char *text, struct err *err)
{
	const char *equals = strchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : 0;

	if (!equals || len == 0)
		return err_set(err, ERR_INVALID, "'%s' is not NAME=TASK", text);
	if (demo->count == DEMO_FRAMEWORKS_MAX)
		return err_set(err, ERR_LIMIT, "more than %d frameworks", DEMO_FRAMEWORKS_MAX);
	if (demo_find(demo, text, len))
		return err_set(err, ERR_EXISTS, "two frameworks have the name '%.*s'", (int)len,
			       text);
	struct demo_framework *framework = &demo->frameworks[demo->count++];
	framework->name = xstrndup(text, len);
	framework->weight = 1;
	if (!role_valid(framework->name, err))
		return err_wrap(err, ERR_INVALID, "'%s' is no name for a role", framework->name);
	return parse_scalars(demo, equals + 1, &framework->task, err);
}

static int set_weights(struct demo *demo, const char *text, struct err *err)
{
	for (const char *at = text; *at; at += *at == ',') {
		size_t len = strcspn(at, "=,");
		struct demo_framework *framework = demo_find(demo, at, len);
		char *end = NULL;

		if (!framework)
			return err_set(err, ERR_NOT_FOUND, "there is no framework '%.*s'", (int)len,
				       at);
		if (at[len] == '=')
			framework->weight = strtod(at + len + 1, &end);
		if (!end || end == at + len + 1 || (*end && *end != ',') ||
		    !isfinite(framework->weight) || framework->weight <= 0)
			return err_set(err, ERR_INVALID, "the weight of '%s' is no number above 0",
				       framework->name);
		at = end;
	}
	return 0;
}

static int set_up(struct demo *demo, const struct demo_options *options, struct err *err)
{
	struct allocator_options allocator = {.shapes = demo->shapes,
					      .allocation_interval = SECOND,
					      .min_allocatable_resources = ""};
	int status = parse_scalars(demo, options->agent, &demo->total, err);

	for (size_t i = 0; status == 0 && i < options->framework_count; i++)
		status = add_framework(demo, options->frameworks[i], err);
	if (status == 0 && options->weights)
		status = set_weights(demo, options->weights, err);
	if (status == 0)
		status = allocator_create(&allocator, &demo->allocator, err);
	if (status != 0)
		return status;
	for (size_t i = 0; i < demo->count; i++) {
		const char *role = demo->frameworks[i].name;
		struct allocator_framework framework = {
			.id = role, .roles = &role, .role_count = 1, .active = true};

		allocator_set_weight(demo->allocator, role, demo->frameworks[i].weight);
		demo->frameworks[i].alloc =
			allocator_add_framework(demo->allocator, &demo->frameworks[i], &framework);
	}
	demo->agent = allocator_meet_agent(demo->allocator, AGENT, demo);
	allocator_add_agent(demo->allocator, demo->agent, &demo->total);
	return 0;
}

static void demo_tear_down(struct demo *demo)
{
	allocator_destroy(demo->allocator);
	resources_free(&demo->total);
	for (size_t i = 0; i < demo->count; i++) {
		resources_free(&demo->frameworks[i].task);
		free(demo->frameworks[i].name);
	}
	resource_shapes_destroy(demo->shapes);
}

/* -- telling -- */

static double demo_amount(const struct resource_piece *piece)
{
	return (double)piece->milli / 1000;
}

static void put_resources(struct buf *out, const struct resources *resources)
{
	for (uint32_t i = 0; i < resources->count; i++) {
		const char *name = resource_shape_name(resources->pieces[i].shape);
		double value = demo_amount(&resources->pieces[i]);

		buf_puts(out, i > 0 ? ", " : "");
		if (!strcmp(name, "cpus"))
			buf_printf(out, "%g CPU%s", value, value == 1 ? "" : "s");
		else if (!strcmp(name, "mem") && value >= 1024)
			buf_printf(out, "%g GB", value / 1024);
		else
			buf_printf(out, "%g %s%s", value, !strcmp(name, "mem") ? "MB of " : "",
				   name);
	}
}

/* The allocator has divided it by the weight. */
static double share_of(const struct demo *demo, const struct demo_framework *framework)
{
	return allocator_role_share(demo->allocator, framework->name) * framework->weight;
}

#define SHARE_TEXT 32

/* As a fraction with a small denominator where there is one. */
static const char *share_text(double share, char out[SHARE_TEXT])
{
	snprintf(out, SHARE_TEXT, "%.4f", share);
	for (int below = 1; below <= 1000; below++) {
		double above = nearbyint(share * below);

		if (fabs(above / below - share) > 1e-12)
			continue;
		snprintf(out, SHARE_TEXT, below == 1 ? "%d" : "%d/%d", (int)above, below);
		break;
	}
	return out;
}

/* The resource that the framework has most of, in parts of the agent; "" = it has none. */
static const char *dominant(const struct demo *demo, const struct demo_framework *framework)
{
	const char *name = "";
	double most = 0;

	for (uint32_t i = 0; i < framework->task.count; i++) {
		const char *one = resource_shape_name(framework->task.pieces[i].shape);
		double total = (double)resources_quantity(&demo->total, one);
		double part = framework->tasks * (double)framework->task.pieces[i].milli / total;

		if (part > most) {
			most = part;
			name = one;
		}
	}
	return name;
}

static void put_bar(struct buf *out, double share)
{
	int full = (int)(share * BAR + 0.5);

	for (int i = 0; i < BAR; i++)
		buf_putc(out, i < full ? '#' : '.');
}

static void tell_shares(struct demo *demo)
{
	for (size_t i = 0; i < demo->count; i++) {
		const struct demo_framework *framework = &demo->frameworks[i];
		char text[SHARE_TEXT];
		double share = share_of(demo, framework);
		const char *of = dominant(demo, framework);

		buf_printf(demo->out, "      %-4s ", framework->name);
		put_bar(demo->out, share);
		buf_puts(demo->out, "  ");
		buf_printf(demo->out, "%-7s", share_text(share, text));
		buf_printf(demo->out, " %s %-5s %u task%s", *of ? "of" : "  ", of, framework->tasks,
			   framework->tasks == 1 ? "" : "s");
		if (framework->weight != 1)
			buf_printf(demo->out, ", by its weight of %g it counts as %s",
				   framework->weight, share_text(share / framework->weight, text));
		buf_putc(demo->out, '\n');
	}
	buf_putc(demo->out, '\n');
}

static void tell_start(struct demo *demo)
{
	buf_puts(demo->out, "An agent has ");
	put_resources(demo->out, &demo->total);
	buf_puts(demo->out, ".\n");
	for (size_t i = 0; i < demo->count; i++) {
		buf_printf(demo->out, "Each task of %s needs ", demo->frameworks[i].name);
		put_resources(demo->out, &demo->frameworks[i].task);
		buf_puts(demo->out, ".\n");
	}
	buf_puts(demo->out, "Who has the least dominant share is offered what is left.\n\n");
}

static void write_resources(struct json_writer *w, const char *key,
			    const struct resources *resources)
{
	jw_key(w, key);
	jw_begin_object(w);
	for (uint32_t i = 0; i < resources->count; i++)
		jw_kv_double(w, resource_shape_name(resources->pieces[i].shape),
			     demo_amount(&resources->pieces[i]));
	jw_end_object(w);
}

static void demo_write_frameworks(struct demo *demo, struct json_writer *w)
{
	jw_key(w, "frameworks");
	jw_begin_array(w);
	for (size_t i = 0; i < demo->count; i++) {
		const struct demo_framework *framework = &demo->frameworks[i];

		jw_begin_object(w);
		jw_kv_string(w, "name", framework->name);
		jw_kv_double(w, "weight", framework->weight);
		jw_kv_int(w, "tasks", framework->tasks);
		jw_kv_double(w, "share", share_of(demo, framework));
		jw_kv_string(w, "of", dominant(demo, framework));
		jw_end_object(w);
	}
	jw_end_array(w);
}

static void tell_step(struct demo *demo, const char *framework, const struct resources *offered,
		      bool launches)
{
	struct json_writer w;

	if (!demo->json) {
		buf_printf(demo->out, "%4u  %s is offered ", demo->step, framework);
		put_resources(demo->out, offered);
		buf_puts(demo->out, launches ? " and launches a task.\n" : " and declines.\n");
		tell_shares(demo);
		return;
	}
	jw_init(&w, demo->out);
	jw_begin_object(&w);
	jw_kv_int(&w, "step", demo->step);
	jw_kv_string(&w, "framework", framework);
	write_resources(&w, "offered", offered);
	jw_kv_bool(&w, "launched", launches);
	demo_write_frameworks(demo, &w);
	jw_end_object(&w);
	buf_putc(demo->out, '\n');
}

static void tell_end(struct demo *demo)
{
	struct json_writer w;

	if (demo->json) {
		jw_init(&w, demo->out);
		jw_begin_object(&w);
		jw_kv_int(&w, "steps", demo->step);
		demo_write_frameworks(demo, &w);
		jw_end_object(&w);
		buf_putc(demo->out, '\n');
		return;
	}
	buf_puts(demo->out, demo->launched < DEMO_TASKS_MAX ? "Nothing more can be launched"
							    : "That is enough");
	for (size_t i = 0; i < demo->count; i++)
		buf_printf(demo->out, "%s %s runs %u", i > 0 ? "," : ":", demo->frameworks[i].name,
			   demo->frameworks[i].tasks);
	buf_puts(demo->out, ".\n");
}

/* -- going on -- */

static void demo_answer(struct demo *demo, struct allocator_grant *grant)
{
	struct demo_framework *framework = grant->framework;
	struct allocator_filter filter = {0};
	struct resources task, offered;

	resources_allocate(demo->shapes, &grant->resources, NULL, &offered);
	resources_allocate(demo->shapes, &framework->task, framework->name, &task);
	bool launches = resources_contain(&grant->resources, &task);
	if (launches) {
		framework->tasks++;
		demo->launched++;
		resources_subtract(&grant->resources, &task);
	} else {
		filter.refuse_seconds = 86400;
	}
	if (!resources_empty(&grant->resources))
		allocator_recover(demo->allocator, demo->now, framework->alloc, demo->agent,
				  &grant->resources, &filter);
	demo->step++;
	tell_step(demo, framework->name, &offered, launches);
	resources_free(&task);
	resources_free(&offered);
}

/* False when nobody was offered anything. */
static bool demo_go_on(struct demo *demo)
{
	struct allocator_grants grants = {0};

	demo->now += SECOND;
	allocator_cycle(demo->allocator, demo->now, true, &grants);
	bool offered = grants.count > 0;
	for (size_t i = 0; i < grants.count; i++)
		demo_answer(demo, &grants.items[i]);
	allocator_grants_free(&grants);
	return offered && demo->launched < DEMO_TASKS_MAX;
}

int demo_run(const struct demo_options *options, struct buf *out, struct err *err)
{
	struct demo demo = {.shapes = resource_shapes_create(), .json = options->json, .out = out};
	int status = set_up(&demo, options, err);

	if (status == 0) {
		if (!demo.json)
			tell_start(&demo);
		while (demo_go_on(&demo))
			;
		tell_end(&demo);
	}
	demo_tear_down(&demo);
	return status;
}

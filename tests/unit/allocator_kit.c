#include "allocator_kit.h"
#include "allocator/sorting/walk.h"
#include "allocator_named.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"

static const char *between(struct arena *arena, const char *text, char open, char close)
{
	const char *from = strchr(text, open), *to = from ? strchr(from, close) : NULL;

	return to ? arena_strndup(arena, from + 1, (size_t)(to - from - 1)) : NULL;
}

static void set_reservations(struct arena *arena, Mesos__Resource *resource, char *roles)
{
	size_t count = 0;

	resource->reservations = arena_alloc(arena, 8 * sizeof(*resource->reservations));
	for (char *role; count < 8 && (role = strsep(&roles, ">")); count++) {
		Mesos__Resource__ReservationInfo *info = arena_alloc(arena, sizeof(*info));

		mesos__resource__reservation_info__init(info);
		info->has_type = true;
		info->type = count == 0 ? MESOS__RESOURCE__RESERVATION_INFO__TYPE__STATIC
					: MESOS__RESOURCE__RESERVATION_INFO__TYPE__DYNAMIC;
		info->role = role;
		resource->reservations[count] = info;
	}
	resource->n_reservations = count;
}

static void set_volume(struct arena *arena, Mesos__Resource *resource, char *id)
{
	resource->disk->persistence = arena_alloc(arena, sizeof(*resource->disk->persistence));
	mesos__resource__disk_info__persistence__init(resource->disk->persistence);
	resource->disk->persistence->id = id;
	resource->disk->volume = arena_alloc(arena, sizeof(*resource->disk->volume));
	mesos__volume__init(resource->disk->volume);
	resource->disk->volume->container_path = "path";
	resource->disk->volume->mode = MESOS__VOLUME__MODE__RW;
}

static void set_mount(struct arena *arena, Mesos__Resource *resource, char *root)
{
	Mesos__Resource__DiskInfo__Source *source = arena_alloc(arena, sizeof(*source));

	mesos__resource__disk_info__source__init(source);
	source->type = MESOS__RESOURCE__DISK_INFO__SOURCE__TYPE__MOUNT;
	source->mount = arena_alloc(arena, sizeof(*source->mount));
	mesos__resource__disk_info__source__mount__init(source->mount);
	source->mount->root = root;
	resource->disk->source = source;
}

/* "rev", or "shared=id", "volume=id", "mount=root". */
static void set_kind(struct arena *arena, Mesos__Resource *resource, char *kind)
{
	char *name = strsep(&kind, "=");

	if (strcmp(name, "rev") == 0) {
		resource->revocable = arena_alloc(arena, sizeof(*resource->revocable));
		mesos__resource__revocable_info__init(resource->revocable);
		return;
	}
	resource->disk = arena_alloc(arena, sizeof(*resource->disk));
	mesos__resource__disk_info__init(resource->disk);
	if (strcmp(name, "mount") == 0)
		set_mount(arena, resource, kind);
	else
		set_volume(arena, resource, kind);
	if (strcmp(name, "shared") == 0) {
		resource->shared = arena_alloc(arena, sizeof(*resource->shared));
		mesos__resource__shared_info__init(resource->shared);
	}
}

static void set_value(struct arena *arena, Mesos__Resource *resource, const char *text)
{
	unsigned long long begin, end;

	if (sscanf(text, "[%llu-%llu]", &begin, &end) == 2) {
		Mesos__Value__Range *range = arena_alloc(arena, sizeof(*range));

		mesos__value__range__init(range);
		range->begin = begin;
		range->end = end;
		resource->type = MESOS__VALUE__TYPE__RANGES;
		resource->ranges = arena_alloc(arena, sizeof(*resource->ranges));
		mesos__value__ranges__init(resource->ranges);
		resource->ranges->range = arena_memdup(arena, &range, sizeof(range));
		resource->ranges->n_range = 1;
		return;
	}
	resource->type = MESOS__VALUE__TYPE__SCALAR;
	resource->scalar = arena_alloc(arena, sizeof(*resource->scalar));
	mesos__value__scalar__init(resource->scalar);
	resource->scalar->value = strtod(text, NULL);
}

static void add_item(struct resource_shapes *shapes, const char *item, struct resources *out)
{
	Mesos__Resource resource = MESOS__RESOURCE__INIT;
	struct arena arena;
	struct err err = {""};

	arena_init(&arena);
	const char *colon = strchr(item, ':');
	cr_assert_not_null(colon, "%s", item);
	char *head = arena_strndup(&arena, item, (size_t)(colon - item));
	char *roles = (char *)between(&arena, head, '(', ')');
	char *flags = (char *)between(&arena, colon, '{', '}');

	head[strcspn(head, "(")] = '\0';
	resource.name = head;
	if (roles)
		set_reservations(&arena, &resource, roles);
	if (flags)
		set_kind(&arena, &resource, flags);
	set_value(&arena, &resource, colon + 1);
	cr_assert_eq(resource_validate(&resource, &err), 0, "%s: %s", item, err.text);
	resources_add_message(shapes, out, &resource);
	arena_free(&arena);
}

struct resources kit_resources(struct resource_shapes *shapes, const char *text)
{
	struct resources out = RESOURCES_INIT;
	char *copy = xstrdup(text), *rest = copy, *item;

	while (*text && (item = strsep(&rest, ";")))
		add_item(shapes, item + strspn(item, " "), &out);
	free(copy);
	return out;
}

struct resources kit_allocated(struct resource_shapes *shapes, const char *role, const char *text)
{
	struct resources plain = kit_resources(shapes, text), out = RESOURCES_INIT;

	resources_allocate(shapes, &plain, role, &out);
	resources_free(&plain);
	return out;
}

struct lab lab_open(const struct allocator_options *options)
{
	struct allocator_options own = {.allocation_interval = SECOND,
					.filter_gpu_resources = true};
	struct lab lab = {.shapes = resource_shapes_create(), .now = 1000 * SECOND};
	struct err err = {""};

	if (options)
		own = *options;
	own.shapes = lab.shapes;
	cr_assert_eq(allocator_create(&own, &lab.a, &err), 0, "%s", err.text);
	return lab;
}

void lab_close(struct lab *lab)
{
	allocator_grants_free(&lab->grants);
	named_destroy(lab->a);
	resource_shapes_destroy(lab->shapes);
}

void lab_agent(struct lab *lab, const char *id, const char *total)
{
	struct resources resources = kit_resources(lab->shapes, total);

	named_add_agent(lab->a, id, &resources, NULL);
	resources_free(&resources);
}

void lab_framework(struct lab *lab, const char *id, const char *roles)
{
	char *copy = xstrdup(roles), *rest = copy, *role;
	const char *list[16];
	struct allocator_framework framework = {
		.id = id,
		.roles = list,
		.active = true,
		.gpu_resources = true,
		.revocable_resources = true,
		.shared_resources = true,
		.reservation_refinement = true,
		.multi_role = true,
		.region_aware = true,
	};

	while ((role = strsep(&rest, ",")))
		list[framework.role_count++] = role;
	named_add_framework(lab->a, &framework);
	free(copy);
}

struct allocator_framework lab_incapable(const char *id, const char *const *role)
{
	return (struct allocator_framework){
		.id = id, .roles = role, .role_count = 1, .active = true};
}

static char *grants_text(struct lab *lab)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < lab->grants.count; i++) {
		const struct allocator_grant *grant = &lab->grants.items[i];
		struct resources plain = RESOURCES_INIT;

		if (i > 0)
			buf_puts(&text, ", ");
		buf_printf(&text, "%s(%s)@%s ", named_id(grant->framework), grant->role,
			   named_id(grant->agent));
		resources_allocate(lab->shapes, &grant->resources, NULL, &plain);
		resources_print(&plain, &text);
		resources_free(&plain);
	}
	return buf_take(&text);
}

char *lab_event(struct lab *lab)
{
	allocator_grants_free(&lab->grants);
	if (allocator_pending(lab->a))
		allocator_cycle(lab->a, lab->now, false, &lab->grants);
	return grants_text(lab);
}

char *lab_tick(struct lab *lab)
{
	allocator_grants_free(&lab->grants);
	lab->now += SECOND;
	allocator_cycle(lab->a, lab->now, true, &lab->grants);
	return grants_text(lab);
}

void lab_check(char *text, const char *expected, int line)
{
	cr_expect_str_eq(text, expected, "line %d: '%s' is not '%s'", line, text, expected);
	free(text);
}

void lab_restore(struct lab *lab, const char *framework, const char *role, const char *agent,
		 const char *resources)
{
	struct resources allocated = kit_allocated(lab->shapes, role, resources);

	named_restore(lab->a, framework, agent, &allocated);
	resources_free(&allocated);
}

void lab_recover(struct lab *lab, const char *framework, const char *role, const char *agent,
		 const char *resources, double refuse_seconds)
{
	struct resources allocated = kit_allocated(lab->shapes, role, resources);
	struct allocator_filter filter = {refuse_seconds};

	named_recover(lab->a, lab->now, framework, agent, &allocated,
		      refuse_seconds == LAB_NO_FILTER ? NULL : &filter);
	resources_free(&allocated);
}

void lab_decline(struct lab *lab, size_t i, double refuse_seconds)
{
	const struct allocator_grant *grant = &lab->grants.items[i];
	struct allocator_filter filter = {refuse_seconds};

	cr_assert_lt(i, lab->grants.count);
	named_recover(lab->a, lab->now, grant->framework, grant->agent, &grant->resources,
		      refuse_seconds == LAB_NO_FILTER ? NULL : &filter);
}

static void append_path(const struct role *role, struct buf *out)
{
	if (role->parent && role->parent->parent) {
		append_path(role->parent, out);
		buf_putc(out, '/');
	}
	buf_puts(out, role->component);
}

/* The names stay in the text; the caller frees the items. */
static struct allocator_amounts parse_amounts(char *text)
{
	struct allocator_amount *items = xcalloc(strlen(text) + 1, sizeof(*items));
	size_t count = 0;
	char *item;

	while (text && *text && (item = strsep(&text, ";"))) {
		char *colon = strchr(item, ':');

		cr_assert_not_null(colon, "%s", item);
		*colon = '\0';
		items[count].name = item;
		items[count++].milli = (int64_t)(strtod(colon + 1, NULL) * 1000 + 0.5);
	}
	return (struct allocator_amounts){items, count};
}

void lab_quota(struct lab *lab, const char *role, const char *guarantees, const char *limits)
{
	char *copies[] = {xstrdup(guarantees), xstrdup(limits)};
	struct allocator_quota quota = {parse_amounts(copies[0]), parse_amounts(copies[1])};

	allocator_set_quota(lab->a, role, &quota);
	for (int i = 0; i < 2; i++)
		free(copies[i]);
	free((void *)quota.guarantees.items);
	free((void *)quota.limits.items);
}

char *lab_role_order(struct lab *lab)
{
	struct buf out = BUF_INIT;
	struct role *role;

	alloc_walk_start(lab->a, WALK_ALL);
	while ((role = alloc_walk_role(lab->a))) {
		if (out.len > 0)
			buf_putc(&out, ' ');
		append_path(role, &out);
	}
	return buf_take(&out);
}

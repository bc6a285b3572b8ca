/* Shapes: the metadata of resources, interned so that pieces are compared by pointer.
 *
 * A shape is kept per exact metadata (what is printed and sent), an identity per metadata
 * that counts for the algebra. Shapes without pieces stay until the owner collects them, so
 * that a shape in use for a moment is not made anew each time. There are as many allocated
 * shapes as roles with frameworks times shapes of agents, so they share what they can.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/resources/resource_internal.h"

struct resource_shapes *resource_shapes_create(void)
{
	return xcalloc(1, sizeof(struct resource_shapes));
}

static void identity_unref(struct resource_shapes *shapes, struct resource_identity *identity)
{
	if (--identity->refs)
		return;
	if (identity->bare)
		HASH_DEL(identity->bare->allocated, identity);
	else
		HASH_DEL(shapes->identities, identity);
	buf_free(&identity->key);
	free(identity);
}

static void forget_plain(struct resource_shapes *shapes, const struct resource_shape *shape)
{
	for (size_t i = 0; i < PLAIN_MAX; i++) {
		if (shapes->plain[i] == shape)
			shapes->plain[i] = NULL;
	}
}

static void shape_destroy(struct resource_shapes *shapes, struct resource_shape *shape)
{
	forget_plain(shapes, shape);
	if (shape->bare) {
		HASH_DEL(shape->bare->allocated, shape);
		free(shape->message->allocation_info->role);
		free(shape->message->allocation_info);
		free(shape->message);
	} else {
		HASH_DEL(shapes->shapes, shape);
		proto_free(shape->message);
	}
	identity_unref(shapes, shape->identity);
	/* Its identity may be the one that this one's was in. */
	if (shape->bare)
		shape_unref(shape->bare);
	buf_free(&shape->key);
	free(shape);
	shapes->unused--;
}

size_t resource_shapes_unused(const struct resource_shapes *shapes)
{
	return shapes->unused;
}

void resource_shapes_collect(struct resource_shapes *shapes)
{
	struct resource_shape *shape, *next, *allocated, *after;

	if (!shapes->unused)
		return;
	HASH_ITER (hh, shapes->shapes, shape, next) {
		HASH_ITER (hh, shape->allocated, allocated, after)
			if (!allocated->refs)
				shape_destroy(shapes, allocated);
		if (!shape->refs)
			shape_destroy(shapes, shape);
	}
}

void resource_shapes_destroy(struct resource_shapes *shapes)
{
	if (shapes)
		resource_shapes_collect(shapes);
	free(shapes);
}

/* ---- keys ----------------------------------------------------------------------------- */

/* Keys are made for each role that something is offered to: without printf. */
static void key_number(struct buf *key, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
	} while (number /= 10);
	buf_append(key, digits + at, sizeof(digits) - at);
}

/* An optional text, told apart from an empty one, and one text from the next. */
static void key_text(struct buf *key, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (!text) {
		buf_putc(key, '-');
		return;
	}
	key_number(key, len);
	buf_putc(key, ':');
	buf_append(key, text, len);
}

static int compare_labels(const void *a, const void *b)
{
	const Mesos__Label *left = *(Mesos__Label *const *)a, *right = *(Mesos__Label *const *)b;
	int order = strcmp(left->key, right->key);

	if (order)
		return order;
	if (!left->value || !right->value)
		return !!left->value - !!right->value;
	return strcmp(left->value, right->value);
}

void labels_key(const Mesos__Labels *labels, struct buf *key)
{
	Mesos__Label **sorted;

	if (!labels) {
		buf_putc(key, '-');
		return;
	}
	sorted = xcalloc(labels->n_labels + 1, sizeof(*sorted));
	for (size_t i = 0; i < labels->n_labels; i++)
		sorted[i] = labels->labels[i];
	qsort(sorted, labels->n_labels, sizeof(*sorted), compare_labels);
	key_number(key, labels->n_labels);
	buf_putc(key, '{');
	for (size_t i = 0; i < labels->n_labels; i++) {
		key_text(key, sorted[i]->key);
		key_text(key, sorted[i]->value);
	}
	free(sorted);
}

static void key_disk(struct buf *key, const Mesos__Resource__DiskInfo *disk)
{
	const Mesos__Resource__DiskInfo__Source *source = disk ? disk->source : NULL;

	buf_putc(key, disk ? 'd' : '-');
	if (!disk)
		return;
	key_text(key, disk->persistence ? disk->persistence->id : NULL);
	buf_putc(key, source ? 's' : '-');
	if (!source)
		return;
	key_number(key, (uint64_t)source->type);
	buf_putc(key, source->path ? 'p' : '-');
	key_text(key, source->path ? source->path->root : NULL);
	buf_putc(key, source->mount ? 'm' : '-');
	key_text(key, source->mount ? source->mount->root : NULL);
	key_text(key, source->vendor);
	key_text(key, source->id);
	labels_key(source->metadata, key);
	key_text(key, source->profile);
}

static void identity_key(struct buf *key, const Mesos__Resource *resource)
{
	key_text(key, resource->name);
	key_number(key, (uint64_t)resource->type);
	buf_putc(key, resource->allocation_info ? 'a' : '-');
	key_text(key, resource->allocation_info ? resource->allocation_info->role : NULL);
	key_number(key, resource->n_reservations);
	buf_putc(key, '[');
	for (size_t i = 0; i < resource->n_reservations; i++) {
		const Mesos__Resource__ReservationInfo *reservation = resource->reservations[i];

		key_number(key, (uint64_t)reservation->type);
		key_text(key, reservation->role);
		key_text(key, reservation->principal);
		labels_key(reservation->labels, key);
	}
	key_disk(key, resource->disk);
	key_text(key, resource->provider_id ? resource->provider_id->value : NULL);
	buf_putc(key, resource->revocable ? 'r' : '-');
	buf_putc(key, resource->shared ? 's' : '-');
}

static enum shape_mode mode_of(const Mesos__Resource *resource)
{
	const Mesos__Resource__DiskInfo *disk = resource->disk;

	if (resource->shared)
		return SHAPE_SHARED;
	if (!disk)
		return SHAPE_PLAIN;
	if (disk->persistence)
		return SHAPE_EXCLUSIVE;
	if (!disk->source)
		return SHAPE_PLAIN;
	switch (disk->source->type) {
	case MESOS__RESOURCE__DISK_INFO__SOURCE__TYPE__MOUNT:
	case MESOS__RESOURCE__DISK_INFO__SOURCE__TYPE__BLOCK:
		return SHAPE_EXCLUSIVE;
	case MESOS__RESOURCE__DISK_INFO__SOURCE__TYPE__RAW:
		return disk->source->id ? SHAPE_EXCLUSIVE : SHAPE_PLAIN;
	default:
		return SHAPE_PLAIN;
	}
}

static struct resource_identity *identity_intern(struct resource_shapes *shapes,
						 const Mesos__Resource *resource)
{
	struct resource_identity *identity;
	struct buf key = BUF_INIT;

	identity_key(&key, resource);
	HASH_FIND(hh, shapes->identities, key.data, key.len, identity);
	if (identity) {
		buf_free(&key);
	} else {
		identity = xcalloc(1, sizeof(*identity));
		identity->key = key;
		HASH_ADD_KEYPTR(hh, shapes->identities, identity->key.data, identity->key.len,
				identity);
	}
	identity->refs++;
	return identity;
}

/* Nothing but a name and a type: so are nearly all. */
static bool is_plain(const Mesos__Resource *r)
{
	return !r->allocation_info && !r->n_reservations && !r->reservation && !r->disk &&
	       !r->revocable && !r->shared && !r->provider_id && !r->base.n_unknown_fields &&
	       r->role == mesos__resource__role__default_value;
}

static struct resource_shape *find_plain(struct resource_shapes *shapes,
					 const Mesos__Resource *resource)
{
	for (size_t i = 0; i < PLAIN_MAX; i++) {
		struct resource_shape *shape = shapes->plain[i];

		if (shape && shape->message->type == resource->type &&
		    !strcmp(shape->message->name, resource->name))
			return shape;
	}
	return NULL;
}

static void note_plain(struct resource_shapes *shapes, struct resource_shape *shape)
{
	for (size_t i = 0; i < PLAIN_MAX; i++) {
		if (shapes->plain[i])
			continue;
		shapes->plain[i] = shape;
		return;
	}
}

static struct resource_shape *shape_packed(struct resource_shapes *shapes,
					   const Mesos__Resource *bare)
{
	struct resource_shape *shape;
	struct buf key = BUF_INIT;

	proto_pack(bare, &key);
	HASH_FIND(hh, shapes->shapes, key.data, key.len, shape);
	if (shape) {
		buf_free(&key);
		return shape;
	}
	shape = xcalloc(1, sizeof(*shape));
	shape->shapes = shapes;
	shape->message = proto_copy(bare);
	shape->key = key;
	shape->mode = mode_of(bare);
	shape->identity = identity_intern(shapes, bare);
	HASH_ADD_KEYPTR(hh, shapes->shapes, shape->key.data, shape->key.len, shape);
	shapes->unused++;
	return shape;
}

/* Of exactly this message. */
static struct resource_shape *shape_of(struct resource_shapes *shapes, const Mesos__Resource *bare)
{
	bool plain = is_plain(bare);
	struct resource_shape *shape = plain ? find_plain(shapes, bare) : NULL;

	if (shape)
		return shape;
	shape = shape_packed(shapes, bare);
	if (plain)
		note_plain(shapes, shape);
	return shape;
}

const struct resource_shape *shape_intern(struct resource_shapes *shapes,
					  const Mesos__Resource *resource)
{
	const Mesos__Resource__AllocationInfo *allocation = resource->allocation_info;
	Mesos__Resource bare = *resource;

	bare.scalar = NULL;
	bare.ranges = NULL;
	bare.set = NULL;
	/* An allocation that says nothing, or more than its role, is kept as it is. */
	if (!allocation || !allocation->role || allocation->base.n_unknown_fields > 0)
		return shape_of(shapes, &bare);
	bare.allocation_info = NULL;
	return shape_allocate(shapes, shape_of(shapes, &bare), allocation->role);
}

/* ---- allocated shapes ------------------------------------------------------------------- */

static struct resource_identity *identity_allocate(struct resource_identity *bare, const char *role,
						   size_t len)
{
	struct resource_identity *identity;

	HASH_FIND(hh, bare->allocated, role, len, identity);
	if (!identity) {
		identity = xcalloc(1, sizeof(*identity));
		identity->bare = bare;
		buf_append(&identity->key, role, len);
		HASH_ADD_KEYPTR(hh, bare->allocated, identity->key.data, len, identity);
	}
	identity->refs++;
	return identity;
}

static struct resource_shape *allocated_create(struct resource_shapes *shapes,
					       struct resource_shape *bare, const char *role,
					       size_t len)
{
	struct resource_shape *shape = xcalloc(1, sizeof(*shape));
	Mesos__Resource__AllocationInfo *allocation = xmalloc(sizeof(*allocation));

	mesos__resource__allocation_info__init(allocation);
	allocation->role = xstrdup(role);
	shape->shapes = shapes;
	shape->bare = bare;
	shape->message = xmemdup(bare->message, sizeof(*bare->message));
	shape->message->allocation_info = allocation;
	shape->mode = bare->mode;
	shape->identity = identity_allocate(bare->identity, role, len);
	HASH_ADD_KEYPTR(hh, bare->allocated, allocation->role, len, shape);
	shape_ref(bare);
	shapes->unused++;
	return shape;
}

const struct resource_shape *shape_allocate(struct resource_shapes *shapes,
					    const struct resource_shape *shape, const char *role)
{
	struct resource_shape *bare = (struct resource_shape *)shape, *found;
	size_t len = role ? strlen(role) : 0;

	if (shape->bare) {
		bare = shape->bare;
	} else if (shape->message->allocation_info) {
		Mesos__Resource message = *shape->message;

		message.allocation_info = NULL;
		bare = shape_of(shapes, &message);
	}
	if (!role)
		return bare;
	HASH_FIND(hh, bare->allocated, role, len, found);
	return found ? found : allocated_create(shapes, bare, role, len);
}

void shape_ref(const struct resource_shape *shape)
{
	struct resource_shape *mine = (struct resource_shape *)shape;

	if (!mine->refs++)
		mine->shapes->unused--;
}

void shape_unref(const struct resource_shape *shape)
{
	struct resource_shape *mine = (struct resource_shape *)shape;

	if (!--mine->refs)
		mine->shapes->unused++;
}

/* ---- what a shape tells --------------------------------------------------------------- */

const char *resource_shape_name(const struct resource_shape *shape)
{
	return shape->message->name;
}

uint32_t resource_shape_tag(const struct resource_shape *shape)
{
	return shape->tag;
}

void resource_shape_set_tag(const struct resource_shape *shape, uint32_t tag)
{
	((struct resource_shape *)shape)->tag = tag;
}

Mesos__Value__Type resource_shape_type(const struct resource_shape *shape)
{
	return shape->message->type;
}

const char *resource_shape_role(const struct resource_shape *shape)
{
	size_t count = shape->message->n_reservations;

	return count ? shape->message->reservations[count - 1]->role : "*";
}

const char *resource_shape_allocation_role(const struct resource_shape *shape)
{
	return shape->message->allocation_info ? shape->message->allocation_info->role : NULL;
}

size_t resource_shape_reservations(const struct resource_shape *shape)
{
	return shape->message->n_reservations;
}

bool resource_shape_dynamic(const struct resource_shape *shape)
{
	size_t count = shape->message->n_reservations;

	return count && shape->message->reservations[count - 1]->type ==
				MESOS__RESOURCE__RESERVATION_INFO__TYPE__DYNAMIC;
}

bool resource_shape_revocable(const struct resource_shape *shape)
{
	return shape->message->revocable;
}

bool resource_shape_shared(const struct resource_shape *shape)
{
	return shape->message->shared;
}

const char *resource_shape_persistence(const struct resource_shape *shape)
{
	const Mesos__Resource__DiskInfo *disk = shape->message->disk;

	return disk && disk->persistence ? disk->persistence->id : NULL;
}

bool resource_shape_same(const struct resource_shape *a, const struct resource_shape *b)
{
	return a == b || a->identity == b->identity;
}

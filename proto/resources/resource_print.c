/* Resources as text, as Mesos' logs and messages have it, and as the "modelled" JSON object
 * of its endpoints. */
#include <stdlib.h>
#include <string.h>

#include "proto/resources/resource_internal.h"

static void print_scalar(int64_t milli, struct buf *out)
{
	buf_printf(out, "%.15g", scalar_from_milli(milli));
}

void print_ranges(const struct resource_range *ranges, uint32_t count, struct buf *out)
{
	buf_putc(out, '[');
	for (uint32_t i = 0; i < count; i++)
		buf_printf(out, "%s%llu-%llu", i ? ", " : "", (unsigned long long)ranges[i].begin,
			   (unsigned long long)ranges[i].end);
	buf_putc(out, ']');
}

void print_items(char *const *items, uint32_t count, struct buf *out)
{
	buf_putc(out, '{');
	for (uint32_t i = 0; i < count; i++) {
		buf_puts(out, i ? ", " : "");
		buf_puts(out, items[i]);
	}
	buf_putc(out, '}');
}

void print_labels(const Mesos__Labels *labels, struct buf *out)
{
	buf_putc(out, '{');
	for (size_t i = 0; labels && i < labels->n_labels; i++) {
		buf_puts(out, i ? ", " : "");
		buf_puts(out, labels->labels[i]->key);
		if (labels->labels[i]->value) {
			buf_puts(out, ": ");
			buf_puts(out, labels->labels[i]->value);
		}
	}
	buf_putc(out, '}');
}

static void print_reservations(const Mesos__Resource *resource, struct buf *out)
{
	if (!resource->n_reservations)
		return;
	buf_puts(out, "(reservations: [");
	for (size_t i = 0; i < resource->n_reservations; i++) {
		const Mesos__Resource__ReservationInfo *reservation = resource->reservations[i];

		buf_puts(out, i ? ",(" : "(");
		buf_puts(out, proto_enum_name(&mesos__resource__reservation_info__type__descriptor,
					      (int)reservation->type, SPELL_V1));
		buf_putc(out, ',');
		buf_puts(out, reservation->role ? reservation->role : "");
		if (reservation->principal) {
			buf_putc(out, ',');
			buf_puts(out, reservation->principal);
		}
		if (reservation->labels) {
			buf_putc(out, ',');
			print_labels(reservation->labels, out);
		}
		buf_putc(out, ')');
	}
	buf_puts(out, "])");
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static void print_source(const Mesos__Resource__DiskInfo__Source *source, struct buf *out)
{
	const char *root = NULL;

	buf_puts(out, proto_enum_name(&mesos__resource__disk_info__source__type__descriptor,
				      (int)source->type, SPELL_V1));
	if (source->id || source->profile) {
		buf_putc(out, '(');
		buf_puts(out, or_empty(source->vendor));
		buf_putc(out, ',');
		buf_puts(out, or_empty(source->id));
		buf_putc(out, ',');
		buf_puts(out, or_empty(source->profile));
		buf_putc(out, ')');
		return;
	}
	if (source->type == MESOS__RESOURCE__DISK_INFO__SOURCE__TYPE__MOUNT && source->mount)
		root = source->mount->root;
	if (source->type == MESOS__RESOURCE__DISK_INFO__SOURCE__TYPE__PATH && source->path)
		root = source->path->root;
	if (root) {
		buf_putc(out, ':');
		buf_puts(out, root);
	}
}

static void print_volume(const Mesos__Volume *volume, struct buf *out)
{
	buf_putc(out, ':');
	if (volume->host_path) {
		buf_puts(out, volume->host_path);
		buf_putc(out, ':');
	}
	buf_puts(out, volume->container_path);
	if (volume->host_path)
		buf_puts(out, volume->mode == MESOS__VOLUME__MODE__RW ? ":rw" : ":ro");
}

static void print_disk(const Mesos__Resource__DiskInfo *disk, struct buf *out)
{
	buf_putc(out, '[');
	if (disk->source)
		print_source(disk->source, out);
	if (disk->persistence) {
		if (disk->source)
			buf_putc(out, ',');
		buf_puts(out, disk->persistence->id);
	}
	if (disk->volume)
		print_volume(disk->volume, out);
	buf_putc(out, ']');
}

/* All up to the colon before the value. */
static void print_shape(const Mesos__Resource *resource, struct buf *out)
{
	buf_puts(out, or_empty(resource->name));
	if (resource->allocation_info) {
		buf_puts(out, "(allocated: ");
		buf_puts(out, or_empty(resource->allocation_info->role));
		buf_putc(out, ')');
	}
	print_reservations(resource, out);
	if (resource->disk)
		print_disk(resource->disk, out);
	if (resource->revocable)
		buf_puts(out, "{REV}");
	if (resource->shared)
		buf_puts(out, "<SHARED>");
	buf_putc(out, ':');
}

void resource_print(const Mesos__Resource *resource, struct buf *out)
{
	print_shape(resource, out);
	if (resource->type == MESOS__VALUE__TYPE__SCALAR) {
		double value = resource->scalar ? resource->scalar->value : 0;

		if (value >= -RESOURCE_SCALAR_MAX && value <= RESOURCE_SCALAR_MAX)
			print_scalar(scalar_to_milli(value), out);
		else
			buf_printf(out, "%.15g", value);
	} else if (resource->type == MESOS__VALUE__TYPE__RANGES) {
		const Mesos__Value__Ranges *ranges = resource->ranges;

		buf_putc(out, '[');
		for (size_t i = 0; ranges && i < ranges->n_range; i++)
			buf_printf(out, "%s%llu-%llu", i ? ", " : "",
				   (unsigned long long)ranges->range[i]->begin,
				   (unsigned long long)ranges->range[i]->end);
		buf_putc(out, ']');
	} else if (resource->type == MESOS__VALUE__TYPE__SET) {
		const Mesos__Value__Set *set = resource->set;

		print_items(set ? set->item : NULL, set ? (uint32_t)set->n_item : 0, out);
	}
}

static void print_value(const struct resource_piece *piece, struct buf *out)
{
	switch (resource_shape_type(piece->shape)) {
	case MESOS__VALUE__TYPE__SCALAR:
		print_scalar(piece->milli, out);
		break;
	case MESOS__VALUE__TYPE__RANGES:
		print_ranges(piece->ranges, piece->count, out);
		break;
	default:
		print_items(piece->items, piece->count, out);
	}
}

void resources_print(const struct resources *r, struct buf *out)
{
	if (!r->count)
		buf_puts(out, "{}");
	for (uint32_t i = 0; i < r->count; i++) {
		const struct resource_piece *piece = &r->pieces[i];

		buf_puts(out, i ? "; " : "");
		print_shape(piece->shape->message, out);
		print_value(piece, out);
		if (piece->shape->mode == SHAPE_SHARED)
			buf_printf(out, "<%u>", piece->shares);
	}
}

/* ---- the model ------------------------------------------------------------------------ */

static bool same_model(const struct resource_shape *a, const struct resource_shape *b)
{
	return a == b || (resource_shape_type(a) == resource_shape_type(b) &&
			  resource_shape_revocable(a) == resource_shape_revocable(b) &&
			  !strcmp(resource_shape_name(a), resource_shape_name(b)));
}

/* Writes the sum of all pieces like piece `first`, under its name. */
static void write_sum(const struct resources *r, uint32_t first, struct json_writer *w)
{
	const struct resource_shape *shape = r->pieces[first].shape;
	struct resource_piece sum = {.shape = shape};
	struct buf text = BUF_INIT;

	for (uint32_t i = first; i < r->count; i++)
		if (same_model(r->pieces[i].shape, shape))
			value_add(&sum, &r->pieces[i]);
	buf_puts(&text, resource_shape_name(shape));
	if (resource_shape_revocable(shape))
		buf_puts(&text, "_revocable");
	jw_key(w, text.data);
	if (resource_shape_type(shape) == MESOS__VALUE__TYPE__SCALAR) {
		jw_double(w, scalar_from_milli(sum.milli));
	} else {
		buf_clear(&text);
		print_value(&sum, &text);
		jw_string_n(w, text.data, text.len);
	}
	buf_free(&text);
	value_free(&sum);
}

static bool always_there(const struct resource_shape *shape)
{
	static const char *const names[] = {"cpus", "gpus", "mem", "disk"};

	for (size_t i = 0; i < 4; i++)
		if (!strcmp(names[i], resource_shape_name(shape)))
			return resource_shape_type(shape) == MESOS__VALUE__TYPE__SCALAR &&
			       !resource_shape_revocable(shape);
	return false;
}

static double scalar_sum(const struct resources *r, const char *name)
{
	int64_t milli = 0;

	for (uint32_t i = 0; i < r->count; i++)
		if (always_there(r->pieces[i].shape) &&
		    !strcmp(resource_shape_name(r->pieces[i].shape), name) &&
		    __builtin_add_overflow(milli, r->pieces[i].milli, &milli))
			milli = INT64_MAX;
	return scalar_from_milli(milli);
}

void resources_write_model(const struct resources *r, struct json_writer *w)
{
	static const char *const names[] = {"cpus", "gpus", "mem", "disk"};

	jw_begin_object(w);
	for (size_t i = 0; i < 4; i++)
		jw_kv_double(w, names[i], scalar_sum(r, names[i]));
	for (uint32_t i = 0; i < r->count; i++) {
		uint32_t first = 0;

		while (!same_model(r->pieces[first].shape, r->pieces[i].shape))
			first++;
		if (first == i && !always_there(r->pieces[i].shape))
			write_sum(r, i, w);
	}
	jw_end_object(w);
}

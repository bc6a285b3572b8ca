/* The rules that a resource in a message must obey, in Mesos' order and words. */
#include <stdlib.h>
#include <string.h>

#include "proto/resources/resource_internal.h"

#define invalid(err, ...) err_set(err, ERR_INVALID, __VA_ARGS__)

static const char *resource_validate_role_of(const Mesos__Resource *resource)
{
	return resource->role ? resource->role : "*";
}

static bool has_role(const Mesos__Resource *resource)
{
	return PROTO_HAS(resource, role, mesos__resource__role__default_value);
}

static int validate_scalar(const Mesos__Resource *resource, struct err *err)
{
	double value;

	if (!resource->scalar || resource->ranges || resource->set)
		return invalid(err, "Invalid scalar resource");
	value = resource->scalar->value;
	if (value > RESOURCE_SCALAR_MAX)
		return invalid(err, "Invalid scalar resource: value > %.0f", RESOURCE_SCALAR_MAX);
	/* Written so that NaN is refused; -infinity must not get to llround(). */
	if (value != 0 && !(value > 0 && scalar_to_milli(value) > 0))
		return invalid(err, "Invalid scalar resource: value <= 0");
	return 0;
}

static int validate_ranges(const Mesos__Resource *resource, struct err *err)
{
	const Mesos__Value__Ranges *ranges = resource->ranges;
	struct resource_range *sorted;
	bool overlap = false;

	if (resource->scalar || !ranges || resource->set)
		return invalid(err, "Invalid ranges resource");
	for (size_t i = 0; i < ranges->n_range; i++)
		if (ranges->range[i]->begin > ranges->range[i]->end)
			return invalid(err, "Invalid ranges resource: begin > end");
	if (ranges->n_range < 2)
		return 0;
	sorted = xcalloc(ranges->n_range, sizeof(*sorted));
	for (size_t i = 0; i < ranges->n_range; i++)
		sorted[i] = (struct resource_range){ranges->range[i]->begin, ranges->range[i]->end};
	ranges_sort(sorted, (uint32_t)ranges->n_range);
	for (size_t i = 1; i < ranges->n_range; i++)
		overlap = overlap || sorted[i].begin <= sorted[i - 1].end;
	free(sorted);
	return overlap ? invalid(err, "Invalid ranges resource: overlapping ranges") : 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int validate_set(const Mesos__Resource *resource, struct err *err)
{
	const Mesos__Value__Set *set = resource->set;
	bool twice = false;
	char **sorted;

	if (resource->scalar || resource->ranges || !set)
		return invalid(err, "Invalid set resource");
	if (set->n_item < 2)
		return 0;
	sorted = xmemdup(set->item, set->n_item * sizeof(*sorted));
	qsort(sorted, set->n_item, sizeof(*sorted), by_text);
	for (size_t i = 1; i < set->n_item; i++)
		twice = twice || !strcmp(sorted[i], sorted[i - 1]);
	free(sorted);
	return twice ? invalid(err, "Invalid set resource: duplicated elements") : 0;
}

static int validate_value(const Mesos__Resource *resource, struct err *err)
{
	switch (resource->type) {
	case MESOS__VALUE__TYPE__SCALAR:
		return validate_scalar(resource, err);
	case MESOS__VALUE__TYPE__RANGES:
		return validate_ranges(resource, err);
	case MESOS__VALUE__TYPE__SET:
		return validate_set(resource, err);
	case MESOS__VALUE__TYPE__TEXT:
		return invalid(err, "Unsupported resource type");
	default:
		return invalid(err, "Invalid resource type");
	}
}

static int validate_disk(const Mesos__Resource *resource, struct err *err)
{
	const Mesos__Resource__DiskInfo__Source *source;
	const char *type;

	if (strcmp(resource->name, "disk"))
		return invalid(err, "DiskInfo should not be set for %s resource", resource->name);
	source = resource->disk->source;
	if (!source)
		return 0;
	switch (source->type) {
	case MESOS__RESOURCE__DISK_INFO__SOURCE__TYPE__PATH:
	case MESOS__RESOURCE__DISK_INFO__SOURCE__TYPE__MOUNT:
		return 0;
	case MESOS__RESOURCE__DISK_INFO__SOURCE__TYPE__BLOCK:
	case MESOS__RESOURCE__DISK_INFO__SOURCE__TYPE__RAW:
		type = proto_enum_name(&mesos__resource__disk_info__source__type__descriptor,
				       (int)source->type, SPELL_V1);
		if (source->mount)
			return invalid(err, "Mount should not be set for %s disk source", type);
		if (source->path)
			return invalid(err, "Path should not be set for %s disk source", type);
		return 0;
	default:
		return invalid(err, "Unsupported 'DiskInfo.Source.Type' in 'UNKNOWN'");
	}
}

/* role and reservation, the format before reservation refinement. */
static int validate_old_format(const Mesos__Resource *resource, struct err *err)
{
	const Mesos__Resource__ReservationInfo *reservation = resource->reservation;

	if (!role_valid(resource_validate_role_of(resource), err))
		return ERR_INVALID;
	if (!reservation)
		return 0;
	if (reservation->has_type)
		return invalid(err, "'Resource.ReservationInfo.type' must not be set for the "
				    "'Resource.reservation' field");
	if (reservation->role)
		return invalid(err, "'Resource.ReservationInfo.role' must not be set for the "
				    "'Resource.reservation' field");
	if (!strcmp(resource_validate_role_of(resource), "*"))
		return invalid(err,
			       "Invalid reservation: role \"*\" cannot be dynamically reserved");
	return 0;
}

static int validate_reservation(const Mesos__Resource__ReservationInfo *reservation,
				struct err *err)
{
	if (!reservation->has_type)
		return invalid(err, "Invalid reservation: 'Resource.ReservationInfo.type' field "
				    "must be set.");
	if (!reservation->role)
		return invalid(err, "Invalid reservation: 'Resource.ReservationInfo.role' field "
				    "must be set.");
	if (!role_valid(reservation->role, err))
		return ERR_INVALID;
	if (!strcmp(reservation->role, "*"))
		return invalid(err, "Invalid reservation: role \"*\" cannot be reserved");
	return 0;
}

static int validate_refinement(const Mesos__Resource *resource, struct err *err)
{
	for (size_t i = 1; i < resource->n_reservations; i++) {
		const Mesos__Resource__ReservationInfo *reservation = resource->reservations[i];
		const char *ancestor = resource->reservations[i - 1]->role;

		if (reservation->type == MESOS__RESOURCE__RESERVATION_INFO__TYPE__STATIC)
			return invalid(err, "Invalid refined reservation: A refined reservation "
					    "cannot be STATIC");
		if (!role_is_strict_subrole(reservation->role, ancestor))
			return invalid(err,
				       "Invalid refined reservation: role '%s' is not a refinement "
				       "of '%s'",
				       reservation->role, ancestor);
	}
	return 0;
}

static bool labels_equal(const Mesos__Labels *a, const Mesos__Labels *b)
{
	static const Mesos__Labels none = MESOS__LABELS__INIT;
	struct buf left = BUF_INIT, right = BUF_INIT;
	bool equal;

	labels_key(a ? a : &none, &left);
	labels_key(b ? b : &none, &right);
	equal = left.len == right.len && !memcmp(left.data, right.data, left.len);
	buf_free(&left);
	buf_free(&right);
	return equal;
}

static int mismatch_labels(const Mesos__Labels *old, const Mesos__Labels *new, struct err *err)
{
	struct buf left = BUF_INIT, right = BUF_INIT;

	print_labels(old, &left);
	print_labels(new, &right);
	invalid(err,
		"Invalid resource format: 'Resource.reservation.labels' field with '%s' does not "
		"match the labels '%s' in 'Resource.reservations'",
		left.data, right.data);
	buf_free(&left);
	buf_free(&right);
	return ERR_INVALID;
}

/* A dynamic reservation may be told in the old fields as well. */
static int validate_both(const Mesos__Resource *resource, struct err *err)
{
	const Mesos__Resource__ReservationInfo *new = resource->reservations[0];
	const Mesos__Resource__ReservationInfo *old = resource->reservation;
	const char *old_principal, *new_principal;

	if (has_role(resource) != (old != NULL))
		return invalid(
			err, "Invalid resource format: 'Resource.role' and 'Resource.reservation' "
			     "must either be both set or both not set if the single reservation in "
			     "'Resource.reservations' is DYNAMIC");
	if (!old)
		return 0;
	old_principal = old->principal ? old->principal : "";
	new_principal = new->principal ? new->principal : "";
	if (strcmp(old_principal, new_principal))
		return invalid(
			err,
			"Invalid resource format: 'Resource.reservation.principal' field with "
			"'%s' does not match the principal '%s' in 'Resource.reservations'",
			old_principal, new_principal);
	if (!labels_equal(old->labels, new->labels))
		return mismatch_labels(old->labels, new->labels, err);
	return 0;
}

static int validate_single(const Mesos__Resource *resource, struct err *err)
{
	const Mesos__Resource__ReservationInfo *reservation = resource->reservations[0];

	if (has_role(resource) && strcmp(resource->role, reservation->role))
		return invalid(err,
			       "Invalid resource format: 'Resource.role' field with '%s' does not "
			       "match the role '%s' in 'Resource.reservations'",
			       resource->role, reservation->role);
	switch (reservation->type) {
	case MESOS__RESOURCE__RESERVATION_INFO__TYPE__STATIC:
		if (resource->reservation)
			return invalid(err, "Invalid resource format: 'Resource.reservation' must "
					    "not be set if the single reservation in "
					    "'Resource.reservations' is STATIC");
		return 0;
	case MESOS__RESOURCE__RESERVATION_INFO__TYPE__DYNAMIC:
		return validate_both(resource, err);
	default:
		return invalid(err, "Unsupported 'Resource.ReservationInfo.Type'");
	}
}

/* reservations, the format since reservation refinement. */
static int validate_new_format(const Mesos__Resource *resource, struct err *err)
{
	const char *extra = NULL;

	for (size_t i = 0; i < resource->n_reservations; i++)
		if (validate_reservation(resource->reservations[i], err))
			return ERR_INVALID;
	if (validate_refinement(resource, err))
		return ERR_INVALID;
	if (resource->n_reservations == 1)
		return validate_single(resource, err);
	if (has_role(resource))
		extra = "role";
	else if (resource->reservation)
		extra = "reservation";
	if (extra)
		return invalid(err,
			       "Invalid resource format: 'Resource.%s' must not be set if there is "
			       "more than one reservation in 'Resource.reservations'",
			       extra);
	return 0;
}

static int validate_shared(const Mesos__Resource *resource, struct err *err)
{
	if (strcmp(resource->name, "disk"))
		return invalid(err, "Resource %s cannot be shared", resource->name);
	if (!resource->disk || !resource->disk->persistence)
		return invalid(err, "Only persistent volumes can be shared");
	return 0;
}

int resource_validate(const Mesos__Resource *resource, struct err *err)
{
	int rv;

	if (!resource->name || !*resource->name)
		return invalid(err, "Empty resource name");
	rv = validate_value(resource, err);
	if (!rv && resource->disk)
		rv = validate_disk(resource, err);
	if (!rv && resource->n_reservations)
		rv = validate_new_format(resource, err);
	else if (!rv)
		rv = validate_old_format(resource, err);
	if (!rv && resource->shared)
		rv = validate_shared(resource, err);
	return rv;
}

/* Sums of resources take time for each that is there already: a list that no machine has
 * would hold everything up. */
int resources_check_size(Mesos__Resource *const *list, size_t count, struct err *err)
{
	size_t parts = 0;

	if (count > RESOURCES_MAX)
		return err_set(err, ERR_INVALID, "There are %zu resources, more than %d", count,
			       RESOURCES_MAX);
	for (size_t i = 0; i < count; i++) {
		parts += list[i]->ranges ? list[i]->ranges->n_range : 0;
		parts += list[i]->set ? list[i]->set->n_item : 0;
	}
	if (parts > RESOURCE_PARTS_MAX)
		return err_set(err, ERR_INVALID,
			       "The resources have %zu ranges and items, more than %d", parts,
			       RESOURCE_PARTS_MAX);
	return 0;
}

int resources_validate(Mesos__Resource *const *list, size_t count, struct err *err)
{
	if (resources_check_size(list, count, err) < 0)
		return ERR_INVALID;
	for (size_t i = 0; i < count; i++) {
		struct err why = {""};
		struct buf text = BUF_INIT;

		if (!resource_validate(list[i], &why))
			continue;
		resource_print(list[i], &text);
		err_set(err, ERR_INVALID, "Resource '%s' is invalid: %s", text.data, why.text);
		buf_free(&text);
		return ERR_INVALID;
	}
	return 0;
}

/* Rules that operations on resources must obey, whoever asks for them: a framework for what
 * it is offered, or an operator (`f` NULL) for what is free.
 *
 * First failing rule wins; texts are Mesos' own. The operation is normalised already.
 */
#include "master/core/objects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "master/core/emit.h"
#include "master/core/frameworks/frameworks.h"
#include "master/core/operations/operations.h"
#include "master/core/tasks/task_validate.h"

#define FAIL(...) return err_set(err, ERR_INVALID, __VA_ARGS__)
#define FAIL_AS(...) return err_wrap(err, ERR_INVALID, __VA_ARGS__)

/* Who does it, where. */
struct request {
	struct master *m;
	const struct framework *f; /* NULL: an operator */
	const struct agent *a;
	const char *principal; /* NULL: anybody */
};

/* ---- looking at a resource ------------------------------------------------------- */

static const Mesos__Resource__ReservationInfo *last_reservation(const Mesos__Resource *r)
{
	return r->n_reservations ? r->reservations[r->n_reservations - 1] : NULL;
}

static const char *reservation_role(const Mesos__Resource *r)
{
	const Mesos__Resource__ReservationInfo *last = last_reservation(r);

	return last && last->role ? last->role : "*";
}

static bool dynamically_reserved(const Mesos__Resource *r)
{
	const Mesos__Resource__ReservationInfo *last = last_reservation(r);

	return last && last->has_type &&
	       last->type == MESOS__RESOURCE__RESERVATION_INFO__TYPE__DYNAMIC;
}

static bool persistent(const Mesos__Resource *r)
{
	return r->disk && r->disk->persistence;
}

static const char *operation_validate_allocation_role(const Mesos__Resource *r)
{
	return r->allocation_info ? r->allocation_info->role : NULL;
}

/* As Mesos prints it, in the step's arena. */
static const char *text_of(struct master *m, const Mesos__Resource *r)
{
	struct buf text = BUF_INIT;
	const char *copy;

	resource_print(r, &text);
	copy = master_text(m, text.data ? text.data : "");
	buf_free(&text);
	return copy;
}

static const char *sum_text(struct master *m, const struct resources *r)
{
	struct buf text = BUF_INIT;
	const char *copy;

	resources_print(r, &text);
	copy = master_text(m, text.data ? text.data : "");
	buf_free(&text);
	return copy;
}

static const char *json_text(struct master *m, Mesos__Resource *const *list, size_t count)
{
	struct buf text = BUF_INIT;
	const char *copy;

	buf_putc(&text, '[');
	for (size_t i = 0; i < count; i++) {
		if (i)
			buf_putc(&text, ',');
		proto_to_json(list[i], SPELL_V0, &text);
	}
	buf_putc(&text, ']');
	copy = master_text(m, text.data);
	buf_free(&text);
	return copy;
}

static const char *roles_text(struct master *m, const struct framework *f)
{
	struct buf text = BUF_INIT;
	const char *copy;

	buf_putc(&text, '{');
	for (size_t i = 0; i < f->role_count && text.len < ERR_TEXT_MAX; i++)
		buf_printf(&text, "%s %s", i ? "," : "", f->roles[i]);
	buf_puts(&text, " }");
	copy = master_text(m, text.data);
	buf_free(&text);
	return copy;
}

/* ---- rules that several operations share ---------------------------------------------- */

static const char *provider(const Mesos__Resource *r)
{
	return r->provider_id ? r->provider_id->value : NULL;
}

/* All of one resource provider, or of none. No resources at all is Mesos' odd case of
 * several providers. */
static int validate_provider(Mesos__Resource *const *list, size_t count, struct err *err)
{
	struct buf names = BUF_INIT;
	bool mixed = !count;
	int rv = 0;

	buf_puts(&names, count && provider(list[0]) ? provider(list[0]) : "");

	for (size_t i = 1; i < count && !rv; i++) {
		if (!provider(list[i]) != !provider(list[0]))
			rv = err_set(err, ERR_INVALID,
				     "Some resources have a resource provider and some do not");
		if (!provider(list[i]) || !provider(list[0]) ||
		    !strcmp(provider(list[i]), provider(list[0])))
			continue;
		mixed = true;
		/* The error has no room for more. */
		if (names.len < ERR_TEXT_MAX)
			buf_printf(&names, ", %s", provider(list[i]));
	}
	if (!rv && mixed)
		rv = err_set(err, ERR_INVALID, "The resources have multiple resource providers: %s",
			     names.data ? names.data : "");
	buf_free(&names);
	return rv;
}

/* What RESERVE, UNRESERVE, CREATE and DESTROY begin with. */
static int validate_list(const struct request *q, Mesos__Resource *const *list, size_t count,
			 struct err *err)
{
	if (master_validate_resources(list, count, err) || validate_provider(list, count, err))
		FAIL_AS("Invalid resources");
	return 0;
}

static int validate_volume(const struct request *q, const Mesos__Resource *volume, struct err *err)
{
	const Mesos__Resource__DiskInfo *disk = volume->disk;

	if (!disk)
		FAIL("Resource %s does not have DiskInfo", text_of(q->m, volume));
	if (!disk->persistence)
		FAIL("'persistence' is not set in DiskInfo");
	if (!disk->volume)
		FAIL("Expecting 'volume' to be set for persistent volume");
	if (disk->volume->mode == MESOS__VOLUME__MODE__RO)
		FAIL("Read-only persistent volume not supported");
	return 0;
}

static int validate_volumes(const struct request *q, Mesos__Resource *const *list, size_t count,
			    struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		if (validate_volume(q, list[i], err))
			FAIL_AS("Not a persistent volume");
	}
	return 0;
}

/* Whether the agent knows such reservations. `what` and `done` differ by operation. */
static int validate_capable(const struct request *q, const Mesos__Resource *r, const char *what,
			    const char *done, struct err *err)
{
	const char *role = reservation_role(r);

	if (!q->a->hierarchical_role && strchr(role, '/'))
		FAIL("%s %s with reservation for hierarchical role '%s' cannot be %s on an agent "
		     "without HIERARCHICAL_ROLE capability",
		     what, text_of(q->m, r), role, done);
	if (!q->a->reservation_refinement && r->n_reservations > 1)
		FAIL("%s %s with reservation refinement cannot be %s on an agent without "
		     "RESERVATION_REFINEMENT capability",
		     what, text_of(q->m, r), done);
	return 0;
}

static int validate_allocated(const struct request *q, Mesos__Resource *const *list, size_t count,
			      const char *what, struct err *err)
{
	struct resources sum = RESOURCES_INIT;
	int rv;

	if (!q->f)
		return 0;
	master_resources(q->m, list, count, &sum);
	rv = master_validate_single_role(&sum, err);
	resources_free(&sum);
	return rv ? err_wrap(err, rv, "Invalid %s resources", what) : 0;
}

/* ---- RESERVE ------------------------------------------------------------------------------- */

static bool same_reservations(const Mesos__Resource *a, const Mesos__Resource *b)
{
	if (a->n_reservations != b->n_reservations)
		return false;
	for (size_t i = 0; i < a->n_reservations; i++) {
		if (!proto_equal(a->reservations[i], b->reservations[i]))
			return false;
	}
	return true;
}

static int validate_uniform(const struct request *q, Mesos__Resource *const *list, size_t count,
			    const char *what, struct err *err)
{
	if (!count)
		FAIL("Invalid %s: Resource cannot be empty", what);
	for (size_t i = 1; i < count; i++) {
		if (!same_reservations(list[i], list[0]))
			FAIL("Invalid %s: Mixed reservations are not supported%s", what,
			     json_text(q->m, list, count));
	}
	return 0;
}

static void unreserved_sum(struct master *m, Mesos__Resource *const *list, size_t count,
			   struct resources *out)
{
	for (size_t i = 0; i < count; i++) {
		Mesos__Resource plain = *list[i], *one = &plain;

		plain.n_reservations = 0;
		plain.reservations = NULL;
		master_resources(m, &one, 1, out);
	}
}

/* `source` says what the resources were before: other reservations of the same. */
static int validate_source(const struct request *q, const Mesos__Offer__Operation__Reserve *reserve,
			   struct err *err)
{
	struct resources source = RESOURCES_INIT, target = RESOURCES_INIT;
	int rv = 0;

	if (validate_uniform(q, reserve->source, reserve->n_source, "source", err) ||
	    validate_uniform(q, reserve->resources, reserve->n_resources, "resources", err))
		return ERR_INVALID;
	unreserved_sum(q->m, reserve->source, reserve->n_source, &source);
	unreserved_sum(q->m, reserve->resources, reserve->n_resources, &target);
	if (!resources_equal(&source, &target))
		rv = err_set(err, ERR_INVALID,
			     "Source and target resources should refer to identical resource "
			     "quantities: %s vs. %s",
			     sum_text(q->m, &source), sum_text(q->m, &target));
	resources_free(&source);
	resources_free(&target);
	return rv;
}

static int validate_reserver(const struct request *q, const Mesos__Resource *r, struct err *err)
{
	const char *principal = last_reservation(r)->principal;

	if (!q->principal)
		return 0;
	if (!principal)
		FAIL("A reserve operation was attempted by principal '%s', but there is a reserved "
		     "resource in the request with no principal set",
		     q->principal);
	if (strcmp(principal, q->principal))
		FAIL("A reserve operation was attempted by authenticated principal '%s', which "
		     "does not match a reserved resource in the request with principal '%s'",
		     q->principal, principal);
	return 0;
}

static int validate_reserved_role(const struct request *q, const Mesos__Resource *r,
				  struct err *err)
{
	const char *role = reservation_role(r), *allocated = operation_validate_allocation_role(r);

	if (!q->f && r->allocation_info)
		FAIL("A reserve operation was attempted with an allocated resource, but the "
		     "operator API only allows reservations to be made to unallocated resources");
	if (!q->f)
		return 0;
	if (!allocated)
		FAIL("A reserve operation was attempted on unallocated resource %s, but frameworks "
		     "can only perform reservations on allocated resources",
		     text_of(q->m, r));
	if (strcmp(allocated, role))
		FAIL("A reserve operation was attempted for a resource with role '%s', but the "
		     "resource was allocated to role '%s'",
		     role, allocated);
	if (!framework_has_role(q->f, allocated))
		FAIL("A reserve operation was attempted for a resource allocated to role '%s', but "
		     "the framework only has roles '%s'",
		     allocated, roles_text(q->m, q->f));
	return 0;
}

static int validate_reserve(const struct request *q,
			    const Mesos__Offer__Operation__Reserve *reserve, struct err *err)
{
	if (master_validate_resources(reserve->resources, reserve->n_resources, err))
		FAIL_AS("Invalid resources");
	if (master_validate_resources(reserve->source, reserve->n_source, err))
		FAIL_AS("Invalid source");
	if (reserve->n_source && validate_source(q, reserve, err))
		return ERR_INVALID;
	if (validate_provider(reserve->resources, reserve->n_resources, err))
		FAIL_AS("Invalid resources");
	for (size_t i = 0; i < reserve->n_resources; i++) {
		const Mesos__Resource *r = reserve->resources[i];

		if (!dynamically_reserved(r))
			FAIL("Resource %s is not dynamically reserved", text_of(q->m, r));
		if (validate_capable(q, r, "Resource", "reserved", err) ||
		    validate_reserver(q, r, err) || validate_reserved_role(q, r, err))
			return ERR_INVALID;
	}
	return validate_allocated(q, reserve->resources, reserve->n_resources, "reservation", err);
}

/* ---- UNRESERVE ----------------------------------------------------------------------------- */

static int validate_unreserve(const struct request *q,
			      const Mesos__Offer__Operation__Unreserve *unreserve, struct err *err)
{
	if (validate_list(q, unreserve->resources, unreserve->n_resources, err))
		return ERR_INVALID;
	for (size_t i = 0; i < unreserve->n_resources; i++) {
		const Mesos__Resource *r = unreserve->resources[i];

		if (!dynamically_reserved(r))
			FAIL("Resource %s is not dynamically reserved", text_of(q->m, r));
		if (persistent(r))
			FAIL("A dynamically reserved persistent volume %s cannot be unreserved "
			     "directly. Please destroy the persistent volume first then unreserve "
			     "the resource",
			     text_of(q->m, r));
	}
	return 0;
}

/* ---- CREATE, DESTROY -------------------------------------------------------------------- */

/* What the agent checkpoints, and more if that changed in this call. */
static const struct resources *checkpointed(const struct request *q, struct resources *list)
{
	if (q->a->checkpointed_changed)
		return &q->a->total;
	master_resources(q->m, q->a->checkpointed, q->a->checkpointed_count, list);
	return list;
}

/* An agent may have a thousand volumes, and as many operations may create one each: not all
 * are compared with all. */
static bool has_persistence(const struct resources *r, const Mesos__Resource *volume)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const struct resource_shape *shape = r->pieces[i].shape;
		const char *id = resource_shape_persistence(shape);

		if (id && !strcmp(id, volume->disk->persistence->id) &&
		    !strcmp(resource_shape_role(shape), reservation_role(volume)))
			return true;
	}
	return false;
}

static int validate_unique(const struct request *q, const Mesos__Offer__Operation__Create *create,
			   struct err *err)
{
	struct resources list = RESOURCES_INIT, all;
	const struct resources *known = checkpointed(q, &list);
	int rv = 0;

	if (create->n_volumes == 1) {
		if (has_persistence(known, create->volumes[0]))
			rv = err_set(err, ERR_INVALID, "Persistence ID '%s' is not unique",
				     create->volumes[0]->disk->persistence->id);
	} else {
		resources_copy(&all, known);
		master_resources(q->m, create->volumes, create->n_volumes, &all);
		rv = master_validate_persistence(&all, err);
		resources_free(&all);
	}
	resources_free(&list);
	return rv;
}

static int validate_creator(const struct request *q, const Mesos__Resource *volume, struct err *err)
{
	const char *principal = volume->disk->persistence->principal;

	if (!q->principal)
		return 0;
	if (!principal)
		FAIL("Create volume operation attempted by principal '%s', but there is a volume "
		     "in the operation with no principal set in 'disk.persistence'",
		     q->principal);
	if (strcmp(principal, q->principal))
		FAIL("Create volume operation attempted by authenticated principal '%s', which "
		     "does not match a volume in the operation with principal '%s' set in "
		     "'disk.persistence'",
		     q->principal, principal);
	return 0;
}

static int validate_create(const struct request *q, const Mesos__Offer__Operation__Create *create,
			   struct err *err)
{
	if (validate_list(q, create->volumes, create->n_volumes, err) ||
	    validate_volumes(q, create->volumes, create->n_volumes, err) ||
	    validate_unique(q, create, err))
		return ERR_INVALID;
	for (size_t i = 0; i < create->n_volumes; i++) {
		const Mesos__Resource *volume = create->volumes[i];

		if (q->f && volume->shared && !q->f->shared_resources)
			FAIL("Create volume operation for '%s' has been attempted by framework "
			     "'%s' with no SHARED_RESOURCES capability",
			     text_of(q->m, volume), q->f->id);
		if (validate_capable(q, volume, "Volume", "created", err) ||
		    validate_creator(q, volume, err))
			return ERR_INVALID;
	}
	return validate_allocated(q, create->volumes, create->n_volumes, "volume", err);
}

static int validate_destroyed(const struct request *q, const Mesos__Resource *volume,
			      const struct resources *known, struct err *err)
{
	Mesos__Resource plain = *volume, *one = &plain;
	struct resources wanted = RESOURCES_INIT;
	int rv = 0;

	plain.allocation_info = NULL;
	master_resources(q->m, &one, 1, &wanted);
	if (!provider(volume) && !resources_contain(known, &wanted))
		rv = err_set(err, ERR_INVALID, "Persistent volumes not found");
	else if (master_holds_volume(q->m, &q->a->used, &wanted))
		rv = err_set(err, ERR_INVALID, "Persistent volumes in use");
	resources_free(&wanted);
	return rv;
}

static int validate_destroy(const struct request *q,
			    const Mesos__Offer__Operation__Destroy *destroy, struct err *err)
{
	struct resources list = RESOURCES_INIT;
	const struct resources *known;
	int rv = 0;

	if (validate_list(q, destroy->volumes, destroy->n_volumes, err) ||
	    validate_volumes(q, destroy->volumes, destroy->n_volumes, err))
		return ERR_INVALID;
	known = checkpointed(q, &list);
	for (size_t i = 0; i < destroy->n_volumes && !rv; i++)
		rv = validate_destroyed(q, destroy->volumes[i], known, err);
	resources_free(&list);
	return rv;
}

/* ---- GROW_VOLUME, SHRINK_VOLUME --------------------------------------------------------- */

static long long thousandths(const Mesos__Value__Scalar *scalar)
{
	return scalar ? llround(scalar->value * 1000) : 0;
}

/* A volume and the disk it is to get must differ in nothing else. */
static bool mergeable(struct master *m, const Mesos__Offer__Operation__GrowVolume *grow)
{
	Mesos__Resource *plain = STEP_COPY(m, grow->volume);
	struct resources sum = RESOURCES_INIT;
	bool merged;

	plain->disk->persistence = NULL;
	plain->disk->volume = NULL;
	if (!plain->disk->source)
		plain->disk = NULL;
	master_resources(m, &plain, 1, &sum);
	master_resources(m, &grow->addition, 1, &sum);
	merged = sum.count == 1;
	resources_free(&sum);
	return merged;
}

static int validate_grow(const struct request *q, const Mesos__Offer__Operation__GrowVolume *grow,
			 struct err *err)
{
	const Mesos__Resource *volume = grow->volume;

	if (thousandths(grow->addition->scalar) <= 0)
		FAIL("The size of 'GrowVolume.addition' field must be greater than zero");
	if (provider(volume))
		FAIL("Growing a volume from a resource provider is not supported");
	if (validate_volume(q, volume, err))
		FAIL_AS("Invalid persistent volume in the 'GrowVolume.volume' field");
	if (volume->shared)
		FAIL("Growing a shared persistent volume is not supported");
	if (!mergeable(q->m, grow))
		FAIL("Incompatible resources in the 'GrowVolume.volume' and 'GrowVolume.addition' "
		     "fields");
	if (!q->a->resize_volume)
		FAIL("Volume %s cannot be grown on an agent without RESIZE_VOLUME capability",
		     text_of(q->m, volume));
	return 0;
}

static int validate_shrink(const struct request *q,
			   const Mesos__Offer__Operation__ShrinkVolume *shrink, struct err *err)
{
	const Mesos__Resource *volume = shrink->volume;
	const Mesos__Resource__DiskInfo__Source *source =
		volume->disk ? volume->disk->source : NULL;

	/* NaN compares with nothing. */
	if (!(shrink->subtract->value > 0) || thousandths(shrink->subtract) <= 0)
		FAIL("Value of 'ShrinkVolume.subtract' must be greater than zero");
	if (shrink->subtract->value > RESOURCE_SCALAR_MAX ||
	    thousandths(volume->scalar) <= thousandths(shrink->subtract))
		FAIL("Value of 'ShrinkVolume.subtract' must be smaller than the size of "
		     "'ShrinkVolume.volume'");
	if (provider(volume))
		FAIL("Shrinking a volume from a resource provider is not supported");
	if (source && source->type == MESOS__RESOURCE__DISK_INFO__SOURCE__TYPE__MOUNT)
		FAIL("Shrinking a volume on a MOUNT disk is not supported");
	if (validate_volume(q, volume, err))
		FAIL_AS("Invalid persistent volume in the 'ShrinkVolume.volume' field");
	if (volume->shared)
		FAIL("Shrinking a shared persistent volume is not supported");
	if (!q->a->resize_volume)
		FAIL("Volume %s cannot be shrunk on an agent without RESIZE_VOLUME capability",
		     text_of(q->m, volume));
	return 0;
}

/* ---- CREATE_DISK, DESTROY_DISK ---------------------------------------------------------- */

/* They are for resource providers, and no agent of ours has any. */
static int validate_disk(const Mesos__Resource *source, struct err *err)
{
	if (master_validate_resources((Mesos__Resource *const *)&source, 1, err))
		FAIL_AS("Invalid resource");
	if (!provider(source))
		FAIL("'source' is not managed by a resource provider");
	FAIL("'source' is managed by a resource provider that is not known: %s", provider(source));
}

int master_validate_operation(struct master *m, const struct framework *f, const struct agent *a,
			      const char *principal, const Mesos__Offer__Operation *operation,
			      struct err *err)
{
	struct request q = {m, f, a, principal};

	switch (operation->type) {
	case MESOS__OFFER__OPERATION__TYPE__RESERVE:
		return validate_reserve(&q, operation->reserve, err);
	case MESOS__OFFER__OPERATION__TYPE__UNRESERVE:
		return validate_unreserve(&q, operation->unreserve, err);
	case MESOS__OFFER__OPERATION__TYPE__CREATE:
		return validate_create(&q, operation->create, err);
	case MESOS__OFFER__OPERATION__TYPE__DESTROY:
		return validate_destroy(&q, operation->destroy, err);
	case MESOS__OFFER__OPERATION__TYPE__GROW_VOLUME:
		return validate_grow(&q, operation->grow_volume, err);
	case MESOS__OFFER__OPERATION__TYPE__SHRINK_VOLUME:
		return validate_shrink(&q, operation->shrink_volume, err);
	case MESOS__OFFER__OPERATION__TYPE__CREATE_DISK:
		return validate_disk(operation->create_disk->source, err);
	case MESOS__OFFER__OPERATION__TYPE__DESTROY_DISK:
		return validate_disk(operation->destroy_disk->source, err);
	default:
		FAIL("Unknown offer operation");
	}
}

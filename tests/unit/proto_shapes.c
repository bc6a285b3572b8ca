/* Shapes with allocation roles: made once whichever way they come about, and gone with the
 * last that needs them. */
#include <criterion/criterion.h>

#include "proto/resources/resource_internal.h"

static struct resource_shapes *shapes;

static void setup(void)
{
	shapes = resource_shapes_create();
}

static void teardown(void)
{
	resource_shapes_destroy(shapes);
}

/* A resource with a reservation, so that its metadata is more than a name. */
static const struct resource_shape *intern(Mesos__Resource__AllocationInfo *allocation)
{
	Mesos__Resource__ReservationInfo reservation = MESOS__RESOURCE__RESERVATION_INFO__INIT;
	Mesos__Resource__ReservationInfo *reservations = &reservation;
	Mesos__Resource resource = MESOS__RESOURCE__INIT;

	reservation.has_type = 1;
	reservation.type = MESOS__RESOURCE__RESERVATION_INFO__TYPE__STATIC;
	reservation.role = "r";
	resource.name = "cpus";
	resource.type = MESOS__VALUE__TYPE__SCALAR;
	resource.n_reservations = 1;
	resource.reservations = &reservations;
	resource.allocation_info = allocation;
	return shape_intern(shapes, &resource);
}

static const struct resource_shape *intern_allocated(const char *role)
{
	Mesos__Resource__AllocationInfo allocation = MESOS__RESOURCE__ALLOCATION_INFO__INIT;

	allocation.role = (char *)role;
	return intern(&allocation);
}

Test(proto_shapes, one_for_each_allocation_role, .init = setup, .fini = teardown)
{
	const struct resource_shape *bare = intern(NULL), *a = intern_allocated("a");

	cr_assert_eq(intern(NULL), bare);
	cr_assert_neq(a, bare);
	cr_assert_eq(shape_allocate(shapes, bare, "a"), a);
	cr_assert_eq(shape_allocate(shapes, a, NULL), bare);
	cr_assert_eq(shape_allocate(shapes, shape_allocate(shapes, a, "b"), "a"), a);
	cr_assert_eq(intern_allocated("b"), shape_allocate(shapes, a, "b"));
	cr_assert_str_eq(resource_shape_allocation_role(a), "a");
	cr_assert_str_eq(resource_shape_role(a), "r");
	cr_assert_null(resource_shape_allocation_role(bare));
	cr_assert_not(resource_shape_same(a, bare));
	cr_assert_not(resource_shape_same(a, intern_allocated("b")));
}

Test(proto_shapes, an_allocation_to_nobody_is_none, .init = setup, .fini = teardown)
{
	const struct resource_shape *bare = intern(NULL), *odd = intern_allocated(NULL);

	cr_assert_neq(odd, bare);
	cr_assert_null(resource_shape_allocation_role(odd));
	cr_assert_eq(shape_allocate(shapes, odd, NULL), bare);
	cr_assert_eq(shape_allocate(shapes, odd, "a"), intern_allocated("a"));
}

Test(proto_shapes, an_allocated_one_keeps_what_it_was_made_of, .init = setup, .fini = teardown)
{
	const struct resource_shape *a = intern_allocated("a");

	shape_ref(a);
	intern_allocated("b");
	cr_assert_eq(resource_shapes_unused(shapes), 1);
	resource_shapes_collect(shapes);
	cr_assert_eq(resource_shapes_unused(shapes), 0);
	cr_assert_str_eq(resource_shape_name(shape_allocate(shapes, a, NULL)), "cpus");
	shape_unref(a);
	resource_shapes_collect(shapes);
	cr_assert_eq(resource_shapes_unused(shapes), 0);
	cr_assert_eq(HASH_COUNT(shapes->shapes), 0);
	cr_assert_eq(HASH_COUNT(shapes->identities), 0);
}

/* Operators reserve, make volumes and undo it: 202, 400, 409, and what offers are rescinded. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/master_operations.h"

static struct driver *d;

static void set_up(void)
{
	d = driver_create();
	driver_agent_like(d, AGENT1, ROOMY, NULL);
}

static void tear_down(void)
{
	driver_destroy(d);
}

TestSuite(master_operations_operator, .init = set_up, .fini = tear_down);

#define CALL(TYPE, type, members)                                                                  \
	"{\"type\":\"" TYPE "\",\"" type "\":{\"agent_id\":{\"value\":\"M-S0\"}," members "}}"
#define OPERATOR_RESERVE(list)                                                                     \
	CALL("RESERVE_RESOURCES", "reserve_resources", "\"resources\":[" list "]")
#define OPERATOR_UNRESERVE(list)                                                                   \
	CALL("UNRESERVE_RESOURCES", "unreserve_resources", "\"resources\":[" list "]")
#define OPERATOR_CREATE(list) CALL("CREATE_VOLUMES", "create_volumes", "\"volumes\":[" list "]")
#define OPERATOR_DESTROY(list) CALL("DESTROY_VOLUMES", "destroy_volumes", "\"volumes\":[" list "]")
#define DISK SCALAR("disk", 64, DYNAMIC("r"))
#define VOLUME_V SCALAR("disk", 64, DYNAMIC("r") VOLUME("v"))

static void expect_answer(const char *call, int status, const char *text)
{
	driver_forget(d);
	cr_expect_eq(driver_operate(d, "%s", call), status, "%d %s for %s", d->out.reply.status,
		     d->out.reply.text, call);
	cr_expect(strstr(d->out.reply.text, text), "not %s: %s", text, d->out.reply.text);
}

static double disk(bool reserved)
{
	const struct resources *r = &d->m->agents->total;
	int64_t sum = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		if (!strcmp(resource_shape_name(r->pieces[i].shape), "disk") &&
		    !!resource_shape_reservations(r->pieces[i].shape) == reserved)
			sum += r->pieces[i].milli;
	}
	return (double)sum / 1000;
}

/* ---- all of them ---------------------------------------------------------------------- */

Test(master_operations_operator, the_life_of_a_volume)
{
	expect_answer(OPERATOR_RESERVE(DISK), 202, "");
	expect(d, "ApplyOperationMessage", "\"type\":\"RESERVE\"");
	refute(d, "ApplyOperationMessage", "framework_id");
	cr_expect_eq(disk(true), 64);
	expect_answer(OPERATOR_CREATE(VOLUME_V), 202, "");
	expect_answer(OPERATOR_UNRESERVE(DISK), 409, "does not contain");
	expect_answer(
		CALL("GROW_VOLUME", "grow_volume", "\"volume\":" VOLUME_V ",\"addition\":" DISK),
		409, "does not contain");
	expect_answer(OPERATOR_RESERVE(DISK), 202, "");
	expect_answer(
		CALL("GROW_VOLUME", "grow_volume", "\"volume\":" VOLUME_V ",\"addition\":" DISK),
		202, "");
	expect_answer(
		CALL("SHRINK_VOLUME", "shrink_volume",
		     "\"volume\":" SCALAR("disk", 128,
					  DYNAMIC("r") VOLUME("v")) ","
								    "\"subtract\":{\"value\":64}"),
		202, "");
	expect_answer(OPERATOR_DESTROY(VOLUME_V), 202, "");
	cr_expect_eq(disk(true), 128);
	expect_answer(OPERATOR_UNRESERVE(SCALAR("disk", 128, DYNAMIC("r"))), 202, "");
	cr_expect_eq(disk(true), 0);
	cr_expect_eq(disk(false), 1000);
}

/* ---- what is refused ------------------------------------------------------------------- */

#define ON_AGENT " on agent M-S0 at slave(1)@127.0.0.1:5001 (host): "

Test(master_operations_operator, refused)
{
	static const struct {
		const char *call, *text;
	} rows[] = {
		{"{\"type\":\"RESERVE_RESOURCES\",\"reserve_resources\":{\"agent_id\":{\"value\":"
		 "\"X\"},\"resources\":[" DISK "]}}",
		 "No agent found with specified ID"},
		{OPERATOR_RESERVE(SCALAR("disk", 64, "")),
		 "Invalid RESERVE operation" ON_AGENT
		 "Resource disk:64 is not dynamically reserved"},
		{OPERATOR_RESERVE(SCALAR("disk", 64, DYNAMIC("r") ALLOCATED("r"))),
		 "A reserve operation was attempted with an allocated resource, but the operator "
		 "API only allows reservations to be made to unallocated resources"},
		{OPERATOR_RESERVE(SCALAR("disk", -1, DYNAMIC("r"))), "disk"},
		{OPERATOR_UNRESERVE(SCALAR("disk", 64, "")),
		 "Invalid UNRESERVE operation: Resource disk:64 is not dynamically reserved"},
		{OPERATOR_UNRESERVE(VOLUME_V),
		 "cannot be unreserved directly. Please destroy the persistent volume first"},
		{OPERATOR_CREATE(DISK),
		 "Invalid CREATE operation" ON_AGENT "Not a persistent volume: "},
		{OPERATOR_CREATE(SCALAR("disk", 64, VOLUME("v"))),
		 "Persistent volumes cannot be created from unreserved resources"},
		{OPERATOR_DESTROY(VOLUME_V),
		 "Invalid DESTROY operation: Persistent volumes not found"},
		{CALL("GROW_VOLUME", "grow_volume",
		      "\"volume\":" VOLUME_V ",\"addition\":" SCALAR("disk", 0, DYNAMIC("r"))),
		 "Invalid GROW_VOLUME operation" ON_AGENT "The size of"},
		{CALL("SHRINK_VOLUME", "shrink_volume",
		      "\"volume\":" VOLUME_V ",\"subtract\":{\"value\":0}"),
		 "Invalid SHRINK_VOLUME operation" ON_AGENT "Value of"},
		{CALL("RESERVE_RESOURCES", "reserve_resources",
		      "\"resources\":[" DISK "],\"source\":[" SCALAR("disk", 65, "") "]"),
		 "Source and target resources should refer to identical resource quantities: "
		 "disk:65 vs. disk:64"},
		{CALL("RESERVE_RESOURCES", "reserve_resources",
		      "\"resources\":[" DISK
		      "," SCALAR("cpus", 1, DYNAMIC("s")) "],\"source\":[" SCALAR(
			      "disk", 64, "") "," SCALAR("cpus", 1, "") "]"),
		 "Invalid resources: Mixed reservations are not supported[{"},
		/* The same first reservation, and others behind it. */
		{CALL("RESERVE_RESOURCES", "reserve_resources",
		      "\"resources\":[" SCALAR("disk", 64, REFINED("r", "r/a")) "," SCALAR(
			      "cpus", 1, REFINED("r", "r/b")) "],\"source\":[" DISK "]"),
		 "Invalid resources: Mixed reservations are not supported[{"},
		/* As many as the other has, and one more. */
		{CALL("RESERVE_RESOURCES", "reserve_resources",
		      "\"resources\":[" SCALAR("disk", 64, DYNAMIC("r")) "," SCALAR(
			      "cpus", 1, REFINED("r", "r/b")) "],\"source\":[" DISK "]"),
		 "Invalid resources: Mixed reservations are not supported[{"},
		{CALL("RESERVE_RESOURCES", "reserve_resources", "\"source\":[" DISK "]"),
		 "Invalid resources: Resource cannot be empty"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		expect_answer(rows[i].call, 400, rows[i].text);
		refute(d, "ApplyOperationMessage");
		cr_expect_eq(disk(false), 1000);
	}
}

Test(master_operations_operator, principals)
{
	d->principal = "p";
	expect_answer(OPERATOR_RESERVE(DISK), 400,
		      "A reserve operation was attempted by principal 'p', but there is a reserved "
		      "resource in the request with no principal set");
	expect_answer(OPERATOR_RESERVE(SCALAR("disk", 64, DYNAMIC_BY("r", "q"))), 400,
		      "which does not match a reserved resource in the request with principal 'q'");
	expect_answer(OPERATOR_RESERVE(SCALAR("disk", 64, DYNAMIC_BY("r", "p"))), 202, "");
	expect_answer(OPERATOR_CREATE(SCALAR("disk", 64, DYNAMIC_BY("r", "p") VOLUME("v"))), 400,
		      "no principal set in 'disk.persistence'");
	expect_answer(OPERATOR_CREATE(SCALAR("disk", 64, DYNAMIC_BY("r", "p") VOLUME_BY("v", "p"))),
		      202, "");
	/* Whose it is matters to nobody who takes it away. */
	d->principal = "q";
	expect_answer(
		OPERATOR_DESTROY(SCALAR("disk", 64, DYNAMIC_BY("r", "p") VOLUME_BY("v", "p"))), 202,
		"");
	expect_answer(OPERATOR_UNRESERVE(SCALAR("disk", 64, DYNAMIC_BY("r", "p"))), 202, "");
}

/* Reservations are made others at once. */
Test(master_operations_operator, reservations_change_hands)
{
	expect_answer(OPERATOR_RESERVE(DISK), 202, "");
	expect_answer(CALL("RESERVE_RESOURCES", "reserve_resources",
			   "\"resources\":[" SCALAR("disk", 64, DYNAMIC("s")) "],\"source\":[" DISK
									      "]"),
		      202, "");
	cr_expect_eq(disk(true), 64);
	expect_answer(OPERATOR_UNRESERVE(DISK), 409, "does not contain");
	expect_answer(OPERATOR_UNRESERVE(SCALAR("disk", 64, DYNAMIC("s"))), 202, "");
}

/* ---- who has it ------------------------------------------------------------------------- */

/* Case: with nothing offered a part is reserved, and what is offered then shows it. */
Test(master_operations_operator, free_resources)
{
	expect_answer(OPERATOR_RESERVE(
			      SCALAR("cpus", 1, DYNAMIC("r")) "," SCALAR("mem", 50, DYNAMIC("r"))),
		      202, "");
	driver_subscribe(d, NULL, ROLE_R);
	driver_pass(d, 2 * SECOND);
	expect(d, "OFFERS", "\"value\":3.0", "\"value\":1.0", "\"value\":50.0", "DYNAMIC");
}

/* Case: all is in the hands of tasks. */
Test(master_operations_operator, used_resources)
{
	uint64_t stream = driver_subscribe(d, NULL, ROLE_R);

	accept_offer(
		d, stream, "M-0000", driver_offer(d), 0,
		LAUNCH(LAUNCH_TASK("t", SCALAR("cpus", 4, "") "," SCALAR(
						"mem", 4096, "") "," SCALAR("disk", 1000, ""))));
	expect_answer(OPERATOR_RESERVE(DISK), 409, "{} does not contain disk:64");
	refute(d, "ApplyOperationMessage");
}

Test(master_operations_operator, offers_make_room)
{
	uint64_t stream = driver_subscribe(d, NULL, ROLE_R);
	char *offer = xstrdup(driver_offer(d));

	expect_answer(OPERATOR_RESERVE(DISK), 202, "");
	expect(d, "RESCIND", offer);
	/* What the framework lost it is not offered at once, but the rest that changed is. */
	driver_pass(d, 6 * SECOND);
	expect(d, "OFFERS", "\"value\":936.0");
	cr_expect(stream);
	free(offer);
}

/* Offers that have nothing of it are left. */
Test(master_operations_operator, only_offers_that_help)
{
	uint64_t stream = driver_subscribe(d, NULL, ROLE_R);
	char *offer;

	/* Two offers: the disk in one, the rest in the other. */
	accept_offer(d, stream, "M-0000", driver_offer(d), 0,
		     LAUNCH(LAUNCH_TASK("t", SCALAR("cpus", 2, "") "," SCALAR("mem", 1024, ""))));
	driver_pass(d, 2 * SECOND);
	offer = xstrdup(driver_offer(d));
	driver_update(d, AGENT1, "M-S0", "M-0000", "t", "TASK_FINISHED", 1);
	driver_pass(d, 2 * SECOND);
	cr_assert_str_neq(offer, driver_offer(d));
	expect_answer(OPERATOR_RESERVE(DISK), 202, "");
	expect(d, "RESCIND", offer);
	cr_expect_eq(driver_count(d, "RESCIND"), 1);
	free(offer);
}

/* Case: shared volumes in use stay. */
Test(master_operations_operator, volumes_in_use)
{
	uint64_t stream;

	expect_answer(OPERATOR_RESERVE(DISK), 202, "");
	expect_answer(OPERATOR_CREATE(VOLUME_V), 202, "");
	stream = driver_subscribe(d, NULL, ROLE_R);
	driver_pass(d, 2 * SECOND);
	accept_offer(d, stream, "M-0000", driver_offer(d), 0,
		     LAUNCH(LAUNCH_TASK(
			     "t", SCALAR("cpus", 1, "") "," SCALAR("mem", 32, "") "," VOLUME_V)));
	expect_answer(OPERATOR_DESTROY(VOLUME_V), 400,
		      "Invalid DESTROY operation: Persistent volumes in use");
	driver_update(d, AGENT1, "M-S0", "M-0000", "t", "TASK_FINISHED", 1);
	expect_answer(OPERATOR_DESTROY(VOLUME_V), 202, "");
}

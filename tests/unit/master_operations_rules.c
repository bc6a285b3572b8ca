/* What is wrong with an operation on resources: each rule with its text, and nothing is
 * half-applied. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/master_operations.h"

#define ID OPERATION_ID("op")
#define DISK SCALAR("disk", 64, DYNAMIC("r"))
#define ON_AGENT "; on agent M-S0 at slave(1)@127.0.0.1:5001 (host)"
#define MULTI "\"capabilities\":[{\"type\":\"MULTI_ROLE\"},{\"type\":\"RESERVATION_REFINEMENT\"}],"

#define MOUNTED                                                                                    \
	",\"disk\":{\"persistence\":{\"id\":\"v\"}," VOLUME_PATH                                   \
	",\"source\":{\"type\":\"MOUNT\",\"mount\":{\"root\":\"/mnt\"}}}"

static const struct rule {
	const char *name;
	const char *framework;	  /* members; NULL: ROLE_R */
	const char *capabilities; /* of the agent; NULL: all */
	const char *operation;
	const char *text;
} rules[] = {
	/* -- structure -- */
	{"reserve without its part", NULL, NULL, "{" ID "\"type\":\"RESERVE\"}",
	 "Operation attempted with invalid resources: A RESERVE offer operation must have the "
	 "Offer.Operation.reserve field set."},
	{"unreserve without its part", NULL, NULL, "{" ID "\"type\":\"UNRESERVE\"}",
	 "Operation attempted with invalid resources: An UNRESERVE offer operation must have the "
	 "Offer.Operation.unreserve field set."},
	{"grow without its part", NULL, NULL, "{" ID "\"type\":\"GROW_VOLUME\"}",
	 "A GROW_VOLUME operation must have the Offer.Operation.grow_volume field set"},
	{"bad resource", NULL, NULL, RESERVE(ID, SCALAR("disk", -1, DYNAMIC("r"))),
	 "Operation attempted with invalid resources: "},
	{"source", NULL, NULL,
	 "{" ID "\"type\":\"RESERVE\",\"reserve\":{\"resources\":[" DISK "],\"source\":[" DISK
	 "]}}",
	 "Operation attempted with invalid resources: Reservation updates are not yet implemented "
	 "for the scheduler API."},
	/* -- feedback -- */
	{"no resource provider", NULL, "MULTI_ROLE RESERVATION_REFINEMENT", RESERVE(ID, DISK),
	 "Operation requested feedback, but agent M-S0 does not have the required "
	 "RESOURCE_PROVIDER capability"},
	{"no feedback", NULL, "MULTI_ROLE RESERVATION_REFINEMENT RESOURCE_PROVIDER",
	 RESERVE(ID, DISK),
	 "Operation on agent default resources requested feedback, but agent M-S0 does not have "
	 "the required AGENT_OPERATION_FEEDBACK and RESOURCE_PROVIDER capabilities"},
	/* -- RESERVE -- */
	{"nothing", NULL, NULL, RESERVE(ID, ""),
	 "Invalid resources: The resources have multiple resource providers: " ON_AGENT},
	{"some of a provider", NULL, NULL,
	 RESERVE(ID, DISK "," SCALAR("mem", 1, DYNAMIC("r") ",\"provider_id\":{\"value\":\"p\"}")),
	 "Invalid resources: Some resources have a resource provider and some do not" ON_AGENT},
	{"of two providers", NULL, NULL,
	 RESERVE(ID, SCALAR("mem", 1, DYNAMIC("r") ",\"provider_id\":{\"value\":\"p\"}") "," SCALAR(
			     "cpus", 1, DYNAMIC("r") ",\"provider_id\":{\"value\":\"q\"}")),
	 "Invalid resources: The resources have multiple resource providers: p, q" ON_AGENT},
	{"fractional gpus", NULL, NULL, RESERVE(ID, SCALAR("gpus", 0.5, DYNAMIC("r"))),
	 "Invalid resources: Invalid 'gpus' resource: The 'gpus' resource must be an unsigned "
	 "integer" ON_AGENT},
	{"revocable", NULL, NULL, RESERVE(ID, SCALAR("cpus", 1, DYNAMIC("r") ",\"revocable\":{}")),
	 "Invalid resources: Invalid ReservationInfo: Dynamically reserved resource"},
	{"static", NULL, NULL, RESERVE(ID, SCALAR("disk", 64, STATIC("r"))),
	 "Resource disk(allocated: r)(reservations: [(STATIC,r)]):64 is not dynamically "
	 "reserved" ON_AGENT},
	{"unreserved", NULL, NULL, RESERVE(ID, SCALAR("disk", 64, "")),
	 "Resource disk(allocated: r):64 is not dynamically reserved" ON_AGENT},
	{"no principal", ROLE_R ",\"principal\":\"p\"", NULL, RESERVE(ID, DISK),
	 "A reserve operation was attempted by principal 'p', but there is a reserved resource in "
	 "the request with no principal set" ON_AGENT},
	{"other principal", ROLE_R ",\"principal\":\"p\"", NULL,
	 RESERVE(ID, SCALAR("disk", 64, DYNAMIC_BY("r", "q"))),
	 "A reserve operation was attempted by authenticated principal 'p', which does not match a "
	 "reserved resource in the request with principal 'q'" ON_AGENT},
	{"foreign role", NULL, NULL, RESERVE(ID, SCALAR("cpus", 1, DYNAMIC("foreign"))),
	 "A reserve operation was attempted for a resource with role 'foreign', but the resource "
	 "was allocated to role 'r'" ON_AGENT},
	{"role of nobody", NULL, NULL, RESERVE(ID, SCALAR("cpus", 1, DYNAMIC("x") ALLOCATED("x"))),
	 "A reserve operation was attempted for a resource allocated to role 'x', but the "
	 "framework only has roles '{ r }'" ON_AGENT},
	{"hierarchical role", MULTI "\"roles\":[\"r/s\"]",
	 "MULTI_ROLE RESERVATION_REFINEMENT RESOURCE_PROVIDER AGENT_OPERATION_FEEDBACK",
	 RESERVE(ID, SCALAR("disk", 64, DYNAMIC("r/s"))), NULL},
	{"refinement", NULL,
	 "MULTI_ROLE HIERARCHICAL_ROLE RESOURCE_PROVIDER AGENT_OPERATION_FEEDBACK",
	 RESERVE(ID, SCALAR("disk", 64, REFINED("r", "r/s"))),
	 "with reservation refinement cannot be reserved on an agent without "
	 "RESERVATION_REFINEMENT capability" ON_AGENT},
	{"two allocation roles", MULTI "\"roles\":[\"r\",\"s\"]", NULL,
	 RESERVE(ID, SCALAR("cpus", 1, DYNAMIC("r") ALLOCATED("r")) "," SCALAR(
			     "mem", 1, DYNAMIC("s") ALLOCATED("s"))),
	 "Invalid reservation resources: The resources have multiple allocation roles ('s' and "
	 "'r') but only one allocation role is allowed" ON_AGENT},
	{"more than offered", NULL, NULL, RESERVE(ID, SCALAR("disk", 2000, DYNAMIC("r"))),
	 "disk(allocated: r):1000 does not contain disk(allocated: r):2000"},
	/* -- UNRESERVE -- */
	{"unreserve nothing", NULL, NULL, UNRESERVE(ID, ""),
	 "Invalid resources: The resources have multiple resource providers: " ON_AGENT},
	{"unreserve static", NULL, NULL, UNRESERVE(ID, SCALAR("disk", 64, STATIC("r"))),
	 "is not dynamically reserved" ON_AGENT},
	{"unreserve a volume", NULL, NULL,
	 UNRESERVE(ID, SCALAR("disk", 64, DYNAMIC("r") VOLUME("v"))),
	 "cannot be unreserved directly. Please destroy the persistent volume first then unreserve "
	 "the resource" ON_AGENT},
	{"unreserve what is not there", NULL, NULL, UNRESERVE(ID, DISK),
	 "does not contain disk(allocated: r)(reservations: [(DYNAMIC,r)]):64"},
	/* -- CREATE -- */
	{"create nothing", NULL, NULL, CREATE(ID, ""),
	 "Invalid resources: The resources have multiple resource providers: " ON_AGENT},
	{"no disk", NULL, NULL, CREATE(ID, DISK),
	 "Not a persistent volume: Resource disk(allocated: r)(reservations: [(DYNAMIC,r)]):64 "
	 "does not have DiskInfo" ON_AGENT},
	{"not persistent", NULL, NULL,
	 CREATE(ID, SCALAR("disk", 64, DYNAMIC("r") ",\"disk\":{" VOLUME_PATH "}")),
	 "Invalid resources: Invalid DiskInfo: Non-persistent volume not supported" ON_AGENT},
	{"a bare source", NULL, NULL,
	 CREATE(ID, SCALAR("disk", 64,
			   DYNAMIC("r") ",\"disk\":{\"source\":{\"type\":\"PATH\",\"path\":{"
					"\"root\":\"/x\"}}}")),
	 "Not a persistent volume: 'persistence' is not set in DiskInfo" ON_AGENT},
	{"empty disk", NULL, NULL, CREATE(ID, SCALAR("disk", 64, DYNAMIC("r") ",\"disk\":{}")),
	 "Invalid resources: Invalid DiskInfo: DiskInfo is set but empty" ON_AGENT},
	{"no volume", NULL, NULL,
	 CREATE(ID, SCALAR("disk", 64, DYNAMIC("r") ",\"disk\":{\"persistence\":{\"id\":\"v\"}}")),
	 "Invalid resources: Invalid DiskInfo: Expecting 'volume' to be set for persistent "
	 "volume" ON_AGENT},
	{"host path", NULL, NULL,
	 CREATE(ID, SCALAR("disk", 64,
			   DYNAMIC("r") ",\"disk\":{\"persistence\":{\"id\":\"v\"},\"volume\":{"
					"\"container_path\":\"d\",\"mode\":\"RW\",\"host_path\":\"/"
					"x\"}}")),
	 "Invalid resources: Invalid DiskInfo: Expecting 'host_path' to be unset for persistent "
	 "volume" ON_AGENT},
	{"read-only", NULL, NULL,
	 CREATE(ID, SCALAR("disk", 64,
			   DYNAMIC("r") ",\"disk\":{\"persistence\":{\"id\":\"v\"},\"volume\":{"
					"\"container_path\":\"d\",\"mode\":\"RO\"}}")),
	 "Not a persistent volume: Read-only persistent volume not supported" ON_AGENT},
	{"bad id", NULL, NULL, CREATE(ID, SCALAR("disk", 64, DYNAMIC("r") VOLUME("a/b"))),
	 "Invalid resources: Invalid DiskInfo: Invalid persistence ID for persistent volume: "
	 "'a/b' contains invalid characters" ON_AGENT},
	{"unreserved volume", NULL, NULL, CREATE(ID, SCALAR("disk", 64, VOLUME("v"))),
	 "Invalid resources: Invalid DiskInfo: Persistent volumes cannot be created from "
	 "unreserved resources" ON_AGENT},
	{"revocable volume", NULL, NULL,
	 CREATE(ID, SCALAR("disk", 64, DYNAMIC("r") VOLUME("v") ",\"revocable\":{}")),
	 "Invalid resources: Invalid DiskInfo: Persistent volumes cannot be created from revocable "
	 "resources" ON_AGENT},
	{"twice the same id", NULL, NULL,
	 CREATE(ID, SCALAR("disk", 64, DYNAMIC("r") VOLUME("v")) "," SCALAR(
			    "disk", 32, DYNAMIC("r") VOLUME("v"))),
	 "Persistence ID 'v' is not unique" ON_AGENT},
	{"twice two ids", NULL, NULL,
	 CREATE(ID, SCALAR("disk", 1, DYNAMIC("r") VOLUME("z")) "," SCALAR(
			    "disk", 2,
			    DYNAMIC("r") VOLUME(
				    "a")) "," SCALAR("disk", 3,
						     DYNAMIC("r") VOLUME(
							     "z")) "," SCALAR("disk", 4,
									      DYNAMIC("r")
										      VOLUME("a"))),
	 "Persistence ID 'z' is not unique" ON_AGENT},
	{"shared", NULL, NULL, CREATE(ID, SCALAR("disk", 64, DYNAMIC("r") VOLUME("v") SHARED)),
	 "has been attempted by framework 'M-0000' with no SHARED_RESOURCES capability" ON_AGENT},
	{"volume without principal", ROLE_R ",\"principal\":\"p\"", NULL,
	 CREATE(ID, SCALAR("disk", 64, DYNAMIC_BY("r", "p") VOLUME("v"))),
	 "Create volume operation attempted by principal 'p', but there is a volume in the "
	 "operation with no principal set in 'disk.persistence'" ON_AGENT},
	{"volume of another principal", ROLE_R ",\"principal\":\"p\"", NULL,
	 CREATE(ID, SCALAR("disk", 64, DYNAMIC_BY("r", "p") VOLUME_BY("v", "q"))),
	 "Create volume operation attempted by authenticated principal 'p', which does not match a "
	 "volume in the operation with principal 'q' set in 'disk.persistence'" ON_AGENT},
	{"refined volume", NULL,
	 "MULTI_ROLE HIERARCHICAL_ROLE RESOURCE_PROVIDER AGENT_OPERATION_FEEDBACK",
	 CREATE(ID, SCALAR("disk", 64, REFINED("r", "r/s") VOLUME("v"))),
	 "with reservation refinement cannot be created on an agent without "
	 "RESERVATION_REFINEMENT capability" ON_AGENT},
	{"volume on what is not reserved", NULL, NULL,
	 CREATE(ID, SCALAR("disk", 64, DYNAMIC("r") VOLUME("v"))), "does not contain"},
	/* -- DESTROY -- */
	{"destroy what is not there", NULL, NULL,
	 DESTROY(ID, SCALAR("disk", 64, DYNAMIC("r") VOLUME("v"))),
	 "Persistent volumes not found" ON_AGENT},
	{"destroy no volume", NULL, NULL, DESTROY(ID, DISK), "Not a persistent volume: "},
	/* -- GROW_VOLUME, SHRINK_VOLUME -- */
	{"grow by nothing", NULL, NULL,
	 GROW(ID, SCALAR("disk", 64, DYNAMIC("r") VOLUME("v")), SCALAR("disk", 0, DYNAMIC("r"))),
	 "The size of 'GrowVolume.addition' field must be greater than zero" ON_AGENT},
	{"grow of a provider", NULL, NULL,
	 GROW(ID, SCALAR("disk", 64, DYNAMIC("r") VOLUME("v") ",\"provider_id\":{\"value\":\"p\"}"),
	      SCALAR("disk", 1, DYNAMIC("r"))),
	 "Growing a volume from a resource provider is not supported" ON_AGENT},
	{"grow no volume", NULL, NULL, GROW(ID, DISK, SCALAR("disk", 1, DYNAMIC("r"))),
	 "Invalid persistent volume in the 'GrowVolume.volume' field: Resource"},
	{"grow shared", NULL, NULL,
	 GROW(ID, SCALAR("disk", 64, DYNAMIC("r") VOLUME("v") SHARED),
	      SCALAR("disk", 1, DYNAMIC("r"))),
	 "Growing a shared persistent volume is not supported" ON_AGENT},
	{"grow by other disk", NULL, NULL,
	 GROW(ID, SCALAR("disk", 64, DYNAMIC("r") VOLUME("v")), SCALAR("disk", 1, "")),
	 "Incompatible resources in the 'GrowVolume.volume' and 'GrowVolume.addition' "
	 "fields" ON_AGENT},
	{"grow on an old agent", NULL,
	 "MULTI_ROLE RESERVATION_REFINEMENT RESOURCE_PROVIDER AGENT_OPERATION_FEEDBACK",
	 GROW(ID, SCALAR("disk", 64, DYNAMIC("r") VOLUME("v")), SCALAR("disk", 1, DYNAMIC("r"))),
	 "cannot be grown on an agent without RESIZE_VOLUME capability" ON_AGENT},
	{"grow what is not there", NULL, NULL,
	 GROW(ID, SCALAR("disk", 64, DYNAMIC("r") VOLUME("v")), SCALAR("disk", 1, DYNAMIC("r"))),
	 "Invalid GROW_VOLUME operation: "},
	{"shrink by nothing", NULL, NULL,
	 SHRINK(ID, SCALAR("disk", 64, DYNAMIC("r") VOLUME("v")), 0),
	 "Value of 'ShrinkVolume.subtract' must be greater than zero" ON_AGENT},
	{"shrink by all", NULL, NULL, SHRINK(ID, SCALAR("disk", 64, DYNAMIC("r") VOLUME("v")), 64),
	 "Value of 'ShrinkVolume.subtract' must be smaller than the size of "
	 "'ShrinkVolume.volume'" ON_AGENT},
	{"shrink of a provider", NULL, NULL,
	 SHRINK(ID,
		SCALAR("disk", 64, DYNAMIC("r") VOLUME("v") ",\"provider_id\":{\"value\":\"p\"}"),
		1),
	 "Shrinking a volume from a resource provider is not supported" ON_AGENT},
	{"shrink a mount", NULL, NULL, SHRINK(ID, SCALAR("disk", 64, DYNAMIC("r") MOUNTED), 1),
	 "Shrinking a volume on a MOUNT disk is not supported" ON_AGENT},
	{"shrink no volume", NULL, NULL, SHRINK(ID, DISK, 1),
	 "Invalid persistent volume in the 'ShrinkVolume.volume' field: Resource"},
	{"shrink shared", NULL, NULL,
	 SHRINK(ID, SCALAR("disk", 64, DYNAMIC("r") VOLUME("v") SHARED), 1),
	 "Shrinking a shared persistent volume is not supported" ON_AGENT},
	{"shrink on an old agent", NULL,
	 "MULTI_ROLE RESERVATION_REFINEMENT RESOURCE_PROVIDER AGENT_OPERATION_FEEDBACK",
	 SHRINK(ID, SCALAR("disk", 64, DYNAMIC("r") VOLUME("v")), 1),
	 "cannot be shrunk on an agent without RESIZE_VOLUME capability" ON_AGENT},
	{"shrink what is not there", NULL, NULL,
	 SHRINK(ID, SCALAR("disk", 64, DYNAMIC("r") VOLUME("v")), 1),
	 "Invalid SHRINK_VOLUME operation: "},
	/* -- CREATE_DISK, DESTROY_DISK -- */
	{"create a disk", NULL, NULL,
	 "{" ID "\"type\":\"CREATE_DISK\",\"create_disk\":{\"source\":" DISK
	 ",\"target_type\":\"MOUNT\"}}",
	 "'source' is not managed by a resource provider" ON_AGENT},
	{"destroy a disk", NULL, NULL,
	 "{" ID "\"type\":\"DESTROY_DISK\",\"destroy_disk\":{\"source\":" DISK "}}",
	 "'source' is not managed by a resource provider" ON_AGENT},
};

/* Nothing changed: the agent has what it had, and is told nothing; all is offered again. */
static void check_untouched(struct driver *d, const struct rule *rule)
{
	struct agent *a = d->m->agents;
	struct resources plain = RESOURCES_INIT, offered = RESOURCES_INIT;

	resources_parse(d->m->shapes, "cpus:4;mem:4096;disk:1000", "*", &plain, NULL);
	cr_expect(resources_equal(&a->total, &plain), "%s: the total changed", rule->name);
	cr_expect_eq(a->checkpointed_count, 0, "%s", rule->name);
	cr_expect_null(a->operations, "%s: there is an operation", rule->name);
	cr_expect_not(driver_saw(d, "ApplyOperationMessage", NULL), "%s", rule->name);
	cr_expect_not(driver_saw(d, "CheckpointResourcesMessage", NULL), "%s", rule->name);
	driver_pass(d, 2 * SECOND);
	resources_allocate(d->m->shapes, &a->offered, NULL, &offered);
	cr_expect(resources_equal(&offered, &plain), "%s: not all is offered again", rule->name);
	resources_free(&plain);
	resources_free(&offered);
}

static void check_rule(const struct rule *rule)
{
	struct driver *d = driver_create();
	uint64_t stream = driver_subscribe(d, NULL, rule->framework ? rule->framework : ROLE_R);

	driver_agent_like(d, AGENT1, ROOMY, rule->capabilities);
	if (*driver_offer(d)) {
		accept_offer(d, stream, "M-0000", driver_offer(d), 0, rule->operation);
		cr_expect(driver_saw(d, "UPDATE_OPERATION_STATUS",
				     "\"operation_id\":{\"value\":\"op\"},"
				     "\"state\":\"OPERATION_ERROR\"",
				     rule->text, NULL),
			  "%s: not in the trace: %s\n%s", rule->name, rule->text, d->trace.data);
		cr_expect_not(driver_saw(d, "UPDATE_OPERATION_STATUS", "uuid", NULL), "%s",
			      rule->name);
		check_untouched(d, rule);
	} else {
		/* Such an agent is not even offered to the role. */
		cr_expect_null(rule->text, "%s: no offer", rule->name);
	}
	driver_destroy(d);
}

Test(master_operations_rules, each)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		check_rule(&rules[i]);
}

/* Without an id there is nobody to tell. */
Test(master_operations_rules, silence_without_id)
{
	struct driver *d = driver_create();
	uint64_t stream = driver_subscribe(d, NULL, ROLE_R);

	driver_agent_like(d, AGENT1, ROOMY, NULL);
	driver_forget(d);
	accept_offer(d, stream, "M-0000", driver_offer(d), 0,
		     RESERVE("", SCALAR("disk", 64, DYNAMIC("x"))));
	refute(d, "UPDATE_OPERATION_STATUS");
	refute(d, "ApplyOperationMessage");
	driver_destroy(d);
}

/* One that fails does not keep others from being carried out. */
Test(master_operations_rules, others_go_on)
{
	struct driver *d = driver_create();
	uint64_t stream = driver_subscribe(d, NULL, ROLE_R);

	driver_agent_like(d, AGENT1, ROOMY, NULL);
	accept_offer(d, stream, "M-0000", driver_offer(d), 0,
		     RESERVE(ID, SCALAR("disk", 64, DYNAMIC("x"))) "," RESERVE(
			     "", SCALAR("cpus", 1, DYNAMIC("r"))));
	expect(d, "UPDATE_OPERATION_STATUS", "OPERATION_ERROR");
	expect(d, "ApplyOperationMessage", "\"name\":\"cpus\"");
	driver_destroy(d);
}

Test(master_operations_rules, old_agents_have_no_disks_to_make)
{
	struct driver *d = driver_create();
	uint64_t stream = driver_subscribe(d, NULL, ROLE_R);

	driver_agent_like(d, AGENT1, ROOMY, "MULTI_ROLE RESERVATION_REFINEMENT");
	driver_forget(d);
	accept_offer(d, stream, "M-0000", driver_offer(d), 0,
		     "{\"type\":\"CREATE_DISK\",\"create_disk\":{\"source\":" DISK
		     ",\"target_type\":\"MOUNT\"}}");
	refute(d, "ApplyOperationMessage");
	cr_expect_eq(d->m->operation_states[MESOS__OFFER__OPERATION__TYPE__CREATE_DISK]
					   [MESOS__OPERATION_STATE__OPERATION_ERROR],
		     1);
	driver_destroy(d);
}

/* Operations on resources in the words of the scheduler API, for their tests. */
#ifndef TESTS_UNIT_MASTER_OPERATIONS_H
#define TESTS_UNIT_MASTER_OPERATIONS_H

#include "tests/unit/master_driver.h"

/* -- resources: name, value, further members -- */
#define SCALAR(name, value, more)                                                                  \
	"{\"name\":\"" name "\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" #value "}" more "}"
#define STATIC(role) ",\"reservations\":[{\"type\":\"STATIC\",\"role\":\"" role "\"}]"
#define DYNAMIC(role) ",\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"" role "\"}]"
#define DYNAMIC_BY(role, who)                                                                      \
	",\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"" role "\",\"principal\":\"" who "\"" \
	"}]"
#define REFINED(role, sub)                                                                         \
	",\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"" role                                \
	"\"},{\"type\":\"DYNAMIC\",\"role\":\"" sub "\"}]"
#define VOLUME(id) ",\"disk\":{\"persistence\":{\"id\":\"" id "\"}," VOLUME_PATH "}"
#define VOLUME_BY(id, who)                                                                         \
	",\"disk\":{\"persistence\":{\"id\":\"" id "\",\"principal\":\"" who "\"}," VOLUME_PATH "}"
#define VOLUME_PATH "\"volume\":{\"container_path\":\"data\",\"mode\":\"RW\"}"
#define SHARED ",\"shared\":{}"
#define ALLOCATED(role) ",\"allocation_info\":{\"role\":\"" role "\"}"

/* -- operations; `id`: a member with a comma, or "" -- */
#define OPERATION_ID(id) "\"id\":{\"value\":\"" id "\"},"
#define RESERVE(id, list) "{" id "\"type\":\"RESERVE\",\"reserve\":{\"resources\":[" list "]}}"
#define UNRESERVE(id, list)                                                                        \
	"{" id "\"type\":\"UNRESERVE\",\"unreserve\":{\"resources\":[" list "]}}"
#define CREATE(id, list) "{" id "\"type\":\"CREATE\",\"create\":{\"volumes\":[" list "]}}"
#define DESTROY(id, list) "{" id "\"type\":\"DESTROY\",\"destroy\":{\"volumes\":[" list "]}}"
#define GROW(id, volume, addition)                                                                 \
	"{" id "\"type\":\"GROW_VOLUME\",\"grow_volume\":{\"volume\":" volume                      \
	",\"addition\":" addition "}}"
#define SHRINK(id, volume, subtract)                                                               \
	"{" id "\"type\":\"SHRINK_VOLUME\",\"shrink_volume\":{\"volume\":" volume                  \
	",\"subtract\":{\"value\":" #subtract "}}}"
/* Of a command task on the agent M-S0. */
#define LAUNCH_TASK(task, list)                                                                    \
	"{\"name\":\"t\",\"task_id\":{\"value\":\"" task "\"},\"agent_id\":{\"value\":\"M-S0\"},"  \
	"\"command\":{\"value\":\"true\"},\"resources\":[" list "]}"
#define LAUNCH(tasks) "{\"type\":\"LAUNCH\",\"launch\":{\"task_infos\":[" tasks "]}}"

/* An agent's; cpus:4;mem:4096;disk:1000. */
#define ROOMY "[" SCALAR("cpus", 4, "") "," SCALAR("mem", 4096, "") "," SCALAR("disk", 1000, "") "]"
/* Members of a FrameworkInfo. */
#define ROLE_R                                                                                     \
	"\"roles\":[\"r\"],\"capabilities\":[{\"type\":\"MULTI_ROLE\"},"                           \
	"{\"type\":\"RESERVATION_REFINEMENT\"}]"
#define ROLE_R_SHARING                                                                             \
	"\"roles\":[\"r\"],\"capabilities\":[{\"type\":\"MULTI_ROLE\"},"                           \
	"{\"type\":\"RESERVATION_REFINEMENT\"},{\"type\":\"SHARED_RESOURCES\"}]"

/* ACCEPT of an offer by the framework M-0000 with these operations. */
static inline void accept_offer(struct driver *d, uint64_t stream, const char *framework,
				const char *offer, double refuse, const char *operations)
{
	driver_call(d, stream,
		    "{\"type\":\"ACCEPT\",\"framework_id\":{\"value\":\"%s\"},\"accept\":{"
		    "\"offer_ids\":[{\"value\":\"%s\"}],\"filters\":{\"refuse_seconds\":%g},"
		    "\"operations\":[%s]}}",
		    framework, offer, refuse, operations);
}

#endif

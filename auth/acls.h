/* Access control lists: which principal may do what to which objects. The rules are those of Mesos'
 * local authorizer, its JSON included.
 *
 * Each list is about one action and has rules in their order. A rule names principals and objects,
 * each as SOME of a list, ANY or NONE. The first rule whose principals and objects both match
 * decides; it allows what it does not say NONE of. Where none matches, `permissive` decides.
 */
#ifndef AUTH_ACLS_H
#define AUTH_ACLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* X(action, list, key of its objects, what the objects are; acls.c). */
#define ACL_LISTS(X)                                                                               \
	X(ACL_REGISTER_FRAMEWORK, "register_frameworks", "roles", OBJECT_ROLE)                     \
	X(ACL_RUN_TASK, "run_tasks", "users", OBJECT_VALUE)                                        \
	X(ACL_TEARDOWN_FRAMEWORK, "teardown_frameworks", "framework_principals", OBJECT_VALUE)     \
	X(ACL_RESERVE_RESOURCES, "reserve_resources", "roles", OBJECT_ROLE)                        \
	X(ACL_UNRESERVE_RESOURCES, "unreserve_resources", "reserver_principals", OBJECT_VALUE)     \
	X(ACL_CREATE_VOLUME, "create_volumes", "roles", OBJECT_ROLE)                               \
	X(ACL_DESTROY_VOLUME, "destroy_volumes", "creator_principals", OBJECT_VALUE)               \
	X(ACL_RESIZE_VOLUME, "resize_volumes", "roles", OBJECT_ROLE)                               \
	X(ACL_CREATE_BLOCK_DISK, "create_block_disks", "roles", OBJECT_ROLE)                       \
	X(ACL_DESTROY_BLOCK_DISK, "destroy_block_disks", "roles", OBJECT_ROLE)                     \
	X(ACL_CREATE_MOUNT_DISK, "create_mount_disks", "roles", OBJECT_ROLE)                       \
	X(ACL_DESTROY_MOUNT_DISK, "destroy_mount_disks", "roles", OBJECT_ROLE)                     \
	X(ACL_DESTROY_RAW_DISK, "destroy_raw_disks", "roles", OBJECT_ROLE)                         \
	X(ACL_GET_QUOTA, "get_quotas", "roles", OBJECT_ROLE)                                       \
	X(ACL_UPDATE_QUOTA, "update_quotas", "roles", OBJECT_ROLE)                                 \
	X(ACL_VIEW_ROLE, "view_roles", "roles", OBJECT_ROLE)                                       \
	X(ACL_UPDATE_WEIGHT, "update_weights", "roles", OBJECT_ROLE)                               \
	X(ACL_GET_ENDPOINT, "get_endpoints", "paths", OBJECT_PATH)                                 \
	X(ACL_VIEW_FRAMEWORK, "view_frameworks", "users", OBJECT_VALUE)                            \
	X(ACL_VIEW_TASK, "view_tasks", "users", OBJECT_VALUE)                                      \
	X(ACL_VIEW_EXECUTOR, "view_executors", "users", OBJECT_VALUE)                              \
	X(ACL_ACCESS_SANDBOX, "access_sandboxes", "users", OBJECT_VALUE)                           \
	X(ACL_ACCESS_MESOS_LOG, "access_mesos_logs", "logs", OBJECT_WHOLE)                         \
	X(ACL_VIEW_FLAGS, "view_flags", "flags", OBJECT_WHOLE)                                     \
	X(ACL_SET_LOG_LEVEL, "set_log_level", "level", OBJECT_WHOLE)                               \
	X(ACL_REGISTER_AGENT, "register_agents", "agents", OBJECT_WHOLE)                           \
	X(ACL_UPDATE_MAINTENANCE_SCHEDULE, "update_maintenance_schedules", "machines",             \
	  OBJECT_WHOLE)                                                                            \
	X(ACL_GET_MAINTENANCE_SCHEDULE, "get_maintenance_schedules", "machines", OBJECT_WHOLE)     \
	X(ACL_START_MAINTENANCE, "start_maintenances", "machines", OBJECT_WHOLE)                   \
	X(ACL_STOP_MAINTENANCE, "stop_maintenances", "machines", OBJECT_WHOLE)                     \
	X(ACL_GET_MAINTENANCE_STATUS, "get_maintenance_statuses", "machines", OBJECT_WHOLE)        \
	X(ACL_DRAIN_AGENT, "drain_agents", "agents", OBJECT_WHOLE)                                 \
	X(ACL_DEACTIVATE_AGENT, "deactivate_agents", "agents", OBJECT_WHOLE)                       \
	X(ACL_REACTIVATE_AGENT, "reactivate_agents", "agents", OBJECT_WHOLE)                       \
	X(ACL_MARK_AGENT_GONE, "mark_agents_gone", "agents", OBJECT_WHOLE)                         \
	X(ACL_LAUNCH_NESTED_CONTAINER_AS, "launch_nested_containers_as_user", "users",             \
	  OBJECT_VALUE)                                                                            \
	X(ACL_LAUNCH_NESTED_CONTAINER_UNDER, "launch_nested_containers_under_parent_with_user",    \
	  "users", OBJECT_VALUE)                                                                   \
	X(ACL_LAUNCH_SESSION_AS, "launch_nested_container_sessions_as_user", "users",              \
	  OBJECT_VALUE)                                                                            \
	X(ACL_LAUNCH_SESSION_UNDER, "launch_nested_container_sessions_under_parent_with_user",     \
	  "users", OBJECT_VALUE)                                                                   \
	X(ACL_KILL_NESTED_CONTAINER, "kill_nested_containers", "users", OBJECT_VALUE)              \
	X(ACL_WAIT_NESTED_CONTAINER, "wait_nested_containers", "users", OBJECT_VALUE)              \
	X(ACL_REMOVE_NESTED_CONTAINER, "remove_nested_containers", "users", OBJECT_VALUE)          \
	X(ACL_ATTACH_INPUT, "attach_containers_input", "users", OBJECT_VALUE)                      \
	X(ACL_ATTACH_OUTPUT, "attach_containers_output", "users", OBJECT_VALUE)                    \
	X(ACL_VIEW_CONTAINER, "view_containers", "users", OBJECT_VALUE)                            \
	X(ACL_LAUNCH_STANDALONE_CONTAINER, "launch_standalone_containers", "users", OBJECT_WHOLE)  \
	X(ACL_KILL_STANDALONE_CONTAINER, "kill_standalone_containers", "users", OBJECT_WHOLE)      \
	X(ACL_WAIT_STANDALONE_CONTAINER, "wait_standalone_containers", "users", OBJECT_WHOLE)      \
	X(ACL_REMOVE_STANDALONE_CONTAINER, "remove_standalone_containers", "users", OBJECT_WHOLE)  \
	X(ACL_VIEW_STANDALONE_CONTAINER, "view_standalone_containers", "users", OBJECT_WHOLE)      \
	X(ACL_MODIFY_RESOURCE_PROVIDER_CONFIG, "modify_resource_provider_configs",                 \
	  "resource_providers", OBJECT_WHOLE)                                                      \
	X(ACL_MARK_RESOURCE_PROVIDER_GONE, "mark_resource_providers_gone", "resource_providers",   \
	  OBJECT_WHOLE)                                                                            \
	X(ACL_VIEW_RESOURCE_PROVIDER, "view_resource_providers", "resource_providers",             \
	  OBJECT_WHOLE)                                                                            \
	X(ACL_PRUNE_IMAGES, "prune_images", "images", OBJECT_WHOLE)

enum acl_action {
#define ACL_ACTION(action, list, key, kind) action,
	ACL_LISTS(ACL_ACTION)
#undef ACL_ACTION
		ACL_ACTIONS
};

struct acls;

/* Of the value of --acls: JSON, or the path of a file with it ("/..."). ERR_INVALID says which list
 * is wrong and why. Keys that are no list are ignored, as Mesos ignores them. */
int acls_read(const char *value, struct acls **out, struct err *err);
/* Of JSON alone. */
int acls_parse(const char *text, size_t len, struct acls **out, struct err *err);
void acls_free(struct acls *acls); /* NULL is fine */

/* Whether the principal may; `principal` NULL: nobody was asked who they are. `object` NULL: the
 * action has none, or the object does not tell. `acls` NULL: there are none, and all may do
 * everything. Remembers what it found, so that thousands of rules cost once: one thread at a time.
 */
bool acls_allow(const struct acls *acls, enum acl_action action, const char *principal,
		const char *object);

#endif

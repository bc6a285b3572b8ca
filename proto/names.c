/* The libprocess messages that master and agent take, by full name. */
#include "proto/names.h"

#include <string.h>

#include "proto/proto.h"

/* Some forty names and a compare that mostly fails in its first bytes after the
 * common prefix: a linear walk costs less than decoding the smallest message. */
static const ProtobufCMessageDescriptor *const types[] = {
	&mesos__internal__status_update_message__descriptor,
	&mesos__internal__status_update_acknowledgement_message__descriptor,
	&mesos__internal__run_task_message__descriptor,
	&mesos__internal__ping_slave_message__descriptor,
	&mesos__internal__pong_slave_message__descriptor,
	&mesos__internal__kill_task_message__descriptor,
	&mesos__internal__exited_executor_message__descriptor,
	&mesos__internal__run_task_group_message__descriptor,
	&mesos__internal__register_slave_message__descriptor,
	&mesos__internal__reregister_slave_message__descriptor,
	&mesos__internal__slave_registered_message__descriptor,
	&mesos__internal__slave_reregistered_message__descriptor,
	&mesos__internal__unregister_slave_message__descriptor,
	&mesos__internal__update_slave_message__descriptor,
	&mesos__internal__update_framework_message__descriptor,
	&mesos__internal__shutdown_message__descriptor,
	&mesos__internal__shutdown_framework_message__descriptor,
	&mesos__internal__shutdown_executor_message__descriptor,
	&mesos__internal__framework_to_executor_message__descriptor,
	&mesos__internal__executor_to_framework_message__descriptor,
	&mesos__internal__checkpoint_resources_message__descriptor,
	&mesos__internal__apply_operation_message__descriptor,
	&mesos__internal__update_operation_status_message__descriptor,
	&mesos__internal__acknowledge_operation_status_message__descriptor,
	&mesos__internal__reconcile_operations_message__descriptor,
	&mesos__internal__drain_slave_message__descriptor,
	&mesos__internal__register_executor_message__descriptor,
	&mesos__internal__reregister_executor_message__descriptor,
	&mesos__internal__register_framework_message__descriptor,
	&mesos__internal__reregister_framework_message__descriptor,
	&mesos__internal__unregister_framework_message__descriptor,
	&mesos__internal__deactivate_framework_message__descriptor,
	&mesos__internal__resource_request_message__descriptor,
	&mesos__internal__launch_tasks_message__descriptor,
	&mesos__internal__revive_offers_message__descriptor,
	&mesos__internal__reconcile_tasks_message__descriptor,
	&mesos__internal__authenticate_message__descriptor,
	&mesos__internal__authentication_mechanisms_message__descriptor,
	&mesos__internal__authentication_start_message__descriptor,
	&mesos__internal__authentication_step_message__descriptor,
	&mesos__internal__authentication_completed_message__descriptor,
	&mesos__internal__authentication_failed_message__descriptor,
	&mesos__internal__authentication_error_message__descriptor,
};

const ProtobufCMessageDescriptor *proto_message_type(const char *name)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(types[i]->name, name))
			return types[i];
	return NULL;
}

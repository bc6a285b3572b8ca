/* What the agent has: the resources of its flags, and in them what the master made of some
 * by operations: reservations and persistent volumes. Those are checkpointed.
 *
 * Happy path of a change: the new total is computed, the directories of new volumes are
 * made (which may take long: orders.c), then the change is taken, stored (synced), and what
 * follows goes out when that is written. Removed volumes lose their data only after that.
 * Failures: what cannot be computed or made leaves everything as it was. The master took the
 * operation for done, so we look for it again and register with what we really have. */
#include "agent/core/resources/total.h"

#include <string.h>

#include "agent/core/objects.h"
#include "agent/core/orders.h"
#include "agent/core/registration.h"
#include "agent/core/resources/operations.h"
#include "agent/core/resources/volumes.h"
#include "agent/core/store/checkpoint.h"

/* ---- the checkpointed part ------------------------------------------------ */

static bool is_checkpointed(const struct resource_piece *piece)
{
	return resource_shape_dynamic(piece->shape) || resource_shape_persistence(piece->shape);
}

/* As it was in the flags: without dynamic reservations and volume. */
static void total_strip(Mesos__Resource *resource)
{
	Mesos__Resource__DiskInfo *disk = resource->disk;

	for (size_t i = 0; i < resource->n_reservations; i++) {
		if (resource->reservations[i]->type ==
		    MESOS__RESOURCE__RESERVATION_INFO__TYPE__DYNAMIC) {
			resource->n_reservations = i;
			break;
		}
	}
	if (disk && disk->persistence) {
		disk->persistence = NULL;
		disk->volume = NULL;
		if (!disk->source)
			resource->disk = NULL;
	}
	resource->shared = NULL;
}

static int does_not_contain(const struct resources *total, const struct resources *want,
			    struct err *err)
{
	struct buf text = BUF_INIT;

	resources_print(total, &text);
	buf_puts(&text, " does not contain ");
	resources_print(want, &text);
	err_set(err, ERR_INVALID, "Incompatible agent resources: %s", text.data);
	buf_free(&text);
	return ERR_INVALID;
}

static int put_in(struct agent *agent, struct resources *total, const struct resource_piece *piece,
		  struct err *err)
{
	Mesos__Resource *plain = resource_piece_to_message(&agent->out->arena, piece);
	struct resources want = RESOURCES_INIT;
	int rv = 0;

	total_strip(plain);
	resources_add_message(agent->options.shapes, &want, plain);
	if (resources_contain(total, &want)) {
		resources_subtract(total, &want);
		resources_add_piece(total, piece);
	} else {
		rv = does_not_contain(total, &want, err);
	}
	resources_free(&want);
	return rv;
}

/* `total` is empty; on error, too. */
static int compute_total(struct agent *agent, const struct resources *checkpointed,
			 struct resources *total, struct err *err)
{
	int rv = 0;

	resources_add_messages(agent->options.shapes, total, agent->info->resources,
			       agent->info->n_resources);
	for (uint32_t i = 0; i < checkpointed->count && rv == 0; i++) {
		if (is_checkpointed(&checkpointed->pieces[i]))
			rv = put_in(agent, total, &checkpointed->pieces[i], err);
		else
			rv = err_set(err, ERR_INVALID, "Unexpected checkpointed resources");
	}
	if (rv < 0)
		resources_free(total);
	return rv;
}

int agent_total_recover(struct agent *agent, struct err *err)
{
	struct resources total = RESOURCES_INIT;
	struct buf have = BUF_INIT, flags = BUF_INIT;
	struct volumes volumes;
	int rv = compute_total(agent, &agent->checkpointed, &total, err);

	if (rv == 0)
		rv = agent_volumes_of(agent, &total, &volumes, err);
	if (rv == 0) {
		resources_free(&agent->total);
		agent->total = total;
		/* A directory may be gone with a machine that lost its power. */
		if (volumes.count)
			agent_make_volumes(agent, &volumes);
		return 0;
	}
	resources_free(&total);
	resources_add_messages(agent->options.shapes, &total, agent->info->resources,
			       agent->info->n_resources);
	resources_print(&agent->checkpointed, &have);
	resources_print(&total, &flags);
	err_wrap(err, ERR_STATE,
		 "Checkpointed resources %s are incompatible with agent resources %s", have.data,
		 flags.data);
	resources_free(&total);
	buf_free(&have);
	buf_free(&flags);
	return ERR_STATE;
}

void agent_new_version(struct agent *agent)
{
	uuid_make(agent->options.rng, agent->version);
}

/* ---- changes --------------------------------------------------------------- */

static void change_free(struct change *change)
{
	list_remove(&change->link);
	proto_free(change->message);
	free(change);
}

void agent_free_changes(struct agent *agent)
{
	struct change *change, *next;

	list_for_each (change, next, &agent->changes, link)
		change_free(change);
}

/* What the total would be; `total` is empty, and is on error. */
static int preview(struct agent *agent, const struct operation *operation,
		   const Mesos__Internal__CheckpointResourcesMessage *message,
		   struct resources *total, struct err *err)
{
	struct resources list = RESOURCES_INIT;
	struct volumes volumes;
	int rv;

	if (operation) {
		resources_copy(total, &agent->total);
		rv = agent_operation_convert(agent, operation, total, err);
	} else {
		resources_add_messages(agent->options.shapes, &list, message->resources,
				       message->n_resources);
		rv = compute_total(agent, &list, total, err);
		resources_free(&list);
	}
	if (rv == 0)
		rv = agent_volumes_of(agent, total, &volumes, err);
	if (rv < 0)
		resources_free(total);
	return rv;
}

static bool has_path(const struct volumes *list, const char *path)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = strcmp(list->items[middle].path, path);

		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* Those of `from` that are not in `less`. */
static struct volumes total_difference(struct agent *agent, const struct volumes *from,
				       const struct volumes *less)
{
	struct volumes out = {
		arena_alloc(&agent->out->arena, (from->count + 1) * sizeof(*out.items)), 0};

	for (size_t i = 0; i < from->count; i++) {
		if (!has_path(less, from->items[i].path))
			out.items[out.count++] = from->items[i];
	}
	return out;
}

static void total_compare(struct agent *agent, const struct resources *total, struct volumes *fresh,
			  struct volumes *gone)
{
	struct volumes before = {0}, after = {0};

	/* Both were looked at before. */
	agent_volumes_of(agent, &agent->total, &before, NULL);
	agent_volumes_of(agent, total, &after, NULL);
	*fresh = total_difference(agent, &after, &before);
	*gone = total_difference(agent, &before, &after);
}

/* Takes `total`. */
static void total_take(struct agent *agent, struct operation *operation, struct resources *total)
{
	struct volumes fresh, gone;

	total_compare(agent, total, &fresh, &gone);
	resources_free(&agent->total);
	agent->total = *total;
	resources_clear(&agent->checkpointed);
	for (uint32_t i = 0; i < agent->total.count; i++) {
		if (is_checkpointed(&agent->total.pieces[i]))
			resources_add_piece(&agent->checkpointed, &agent->total.pieces[i]);
	}
	agent->batch_class = STORE_SYNCED;
	agent_store_checkpointed(agent);
	for (size_t i = 0; i < gone.count; i++)
		agent_remove_volume(agent, &gone.items[i], operation);
	if (operation && operation->removals)
		agent_store_operation(operation, agent);
	else if (operation)
		agent_operation_settle(agent, operation, MESOS__OPERATION_STATE__OPERATION_FINISHED,
				       NULL);
	agent->total_ticket = agent_ticket(agent);
	for (size_t i = 0; i < gone.count; i++)
		agent_wait(agent, agent_ticket(agent), WAIT_REMOVE, gone.items[i].path, NULL, NULL);
}

static void total_refuse(struct agent *agent, struct operation *operation,
			 Mesos__OperationState state, const char *text)
{
	log_warning("Resources stay as they are: %s", text);
	if (operation)
		agent_operation_settle(agent, operation, state, text);
	agent_new_version(agent);
	if (agent->state == STATE_RUNNING)
		agent_redetect(agent, "it thinks that our resources changed");
}

static void wait_for_volumes(struct agent *agent, const struct operation *operation,
			     const Mesos__Internal__CheckpointResourcesMessage *message,
			     const struct volumes *fresh)
{
	struct change *change = agent_make_volumes(agent, fresh);

	change->ordered = operation != NULL;
	if (operation)
		memcpy(change->uuid, operation->uuid, UUID_BYTES);
	else
		change->message = proto_copy(message);
}

/* New volumes whose directories have to be made now. Where old data is still being removed
 * they are made after that. */
static struct volumes to_make(struct agent *agent, const struct resources *total)
{
	struct volumes fresh, gone;
	size_t count = 0;

	total_compare(agent, total, &fresh, &gone);
	for (size_t i = 0; i < fresh.count; i++) {
		if (!agent_removal_find(agent, fresh.items[i].path))
			fresh.items[count++] = fresh.items[i];
	}
	fresh.count = count;
	return fresh;
}

void agent_change(struct agent *agent, struct operation *operation,
		  const Mesos__Internal__CheckpointResourcesMessage *message)
{
	struct resources total = RESOURCES_INIT;
	struct err err = {""};
	struct volumes fresh;

	if (preview(agent, operation, message, &total, &err) < 0) {
		total_refuse(agent, operation, MESOS__OPERATION_STATE__OPERATION_ERROR, err.text);
		return;
	}
	fresh = to_make(agent, &total);
	if (!fresh.count) {
		total_take(agent, operation, &total);
		return;
	}
	wait_for_volumes(agent, operation, message, &fresh);
	resources_free(&total);
}

static struct change *find_change(struct agent *agent, uint64_t number)
{
	struct change *change, *next;

	list_for_each (change, next, &agent->changes, link) {
		if (change->number == number)
			return change;
	}
	return NULL;
}

/* Takes `change`. */
static void total_go_on(struct agent *agent, struct change *change, const char *failure)
{
	struct operation *operation =
		change->ordered ? agent_operation_find(agent, change->uuid) : NULL;
	struct resources total = RESOURCES_INIT;
	struct err err = {""};
	struct volumes fresh;

	if (failure) {
		total_refuse(agent, operation, MESOS__OPERATION_STATE__OPERATION_FAILED, failure);
	} else if (change->ordered && !operation) {
		log_error("An operation went away while its volumes were made");
	} else if (preview(agent, operation, change->message, &total, &err) < 0) {
		total_refuse(agent, operation, MESOS__OPERATION_STATE__OPERATION_ERROR, err.text);
	} else if (fresh = to_make(agent, &total), fresh.count > change->count) {
		/* Old data is gone meanwhile, and its place free for a volume of this change. */
		wait_for_volumes(agent, operation, change->message, &fresh);
		resources_free(&total);
	} else {
		total_take(agent, operation, &total);
	}
	change_free(change);
}

void agent_handle_volumes_made(struct agent *agent, const struct agent_event *event)
{
	struct change *change = find_change(agent, event->volumes_made.number);
	const char *failure = event->volumes_made.failure;

	if (!change)
		return;
	if (change->ordered || change->message) {
		total_go_on(agent, change, failure);
	} else {
		if (failure)
			log_error("%s", failure);
		change_free(change);
	}
	if (!list_empty(&agent->changes))
		return;
	agent_links_release(agent);
	agent_orders_resume(agent);
}

void agent_handle_checkpoint_resources(struct agent *agent, const char *from,
				       Mesos__Internal__CheckpointResourcesMessage *message)
{
	struct err err = {""};

	if (!agent_from_master(agent, from, "CheckpointResourcesMessage"))
		return;
	if (resources_validate(message->resources, message->n_resources, &err) < 0) {
		log_warning("Dropped the resources to checkpoint: %s", err.text);
		return;
	}
	agent_resources_upgrade(agent, message->n_resources, message->resources);
	agent_change(agent, NULL, message);
}

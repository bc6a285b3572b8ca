/* Rules that executors must obey, and those
 * that tasks and executors share: commands, containers, resources.
 *
 * Texts are Mesos' own: schedulers match on them.
 */
#include "master/core/objects.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "master/core/tasks/task_validate.h"

#define FAIL(...) return err_set(err, ERR_INVALID, __VA_ARGS__)

int master_validate_id(const char *id, struct err *err)
{
	if (!id[0])
		FAIL("ID must not be empty");
	if (strlen(id) > NAME_MAX)
		FAIL("ID must not be greater than %d characters", NAME_MAX);
	if (!strcmp(id, ".") || !strcmp(id, ".."))
		FAIL("'%s' is disallowed", id);
	for (const char *c = id; *c; c++) {
		if (iscntrl((unsigned char)*c) || *c == '/' || *c == '\\')
			FAIL("'%s' contains invalid characters", id);
	}
	return 0;
}

/* ---- commands --------------------------------------------------------------------- */

static int validate_secret(const Mesos__Secret *secret, struct err *err)
{
	if (!secret->has_type)
		return 0;
	switch (secret->type) {
	case MESOS__SECRET__TYPE__REFERENCE:
		if (!secret->reference)
			FAIL("Secret of type REFERENCE must have the 'reference' field set");
		if (secret->value)
			FAIL("Secret '%s' of type REFERENCE must not have the 'value' field set",
			     secret->reference->name);
		return 0;
	case MESOS__SECRET__TYPE__VALUE:
		if (!secret->value)
			FAIL("Secret of type VALUE must have the 'value' field set");
		if (secret->reference)
			FAIL("Secret of type VALUE must not have the 'reference' field set");
		return 0;
	default:
		return 0;
	}
}

static int validate_secret_variable(const Mesos__Environment__Variable *v, struct err *err)
{
	if (!v->secret)
		FAIL("Environment variable '%s' of type 'SECRET' must have a secret set", v->name);
	if (v->value)
		FAIL("Environment variable '%s' of type 'SECRET' must not have a value set",
		     v->name);
	if (validate_secret(v->secret, err))
		return err_wrap(err, ERR_INVALID,
				"Environment variable '%s' specifies an invalid secret", v->name);
	if (v->secret->value && v->secret->value->data.len &&
	    memchr(v->secret->value->data.data, 0, v->secret->value->data.len))
		FAIL("Environment variable '%s' specifies a secret containing null bytes, which is "
		     "not allowed in the environment",
		     v->name);
	return 0;
}

static int validate_variable(const Mesos__Environment__Variable *v, struct err *err)
{
	Mesos__Environment__Variable__Type type =
		v->has_type ? v->type : MESOS__ENVIRONMENT__VARIABLE__TYPE__VALUE;

	switch (type) {
	case MESOS__ENVIRONMENT__VARIABLE__TYPE__SECRET:
		return validate_secret_variable(v, err);
	case MESOS__ENVIRONMENT__VARIABLE__TYPE__VALUE:
		if (!v->value)
			FAIL("Environment variable '%s' of type 'VALUE' must have a value set",
			     v->name);
		if (v->secret)
			FAIL("Environment variable '%s' of type 'VALUE' must not have a secret set",
			     v->name);
		return 0;
	default:
		FAIL("Environment variable of type 'UNKNOWN' is not allowed");
	}
}

int master_validate_command(const Mesos__CommandInfo *command, struct err *err)
{
	int rv = 0;

	if (!command->environment)
		return 0;
	for (size_t i = 0; i < command->environment->n_variables && !rv; i++)
		rv = validate_variable(command->environment->variables[i], err);
	return rv;
}

/* ---- containers --------------------------------------------------------------------- */

static int validate_source(const Mesos__Volume__Source *source, struct err *err)
{
	switch (source->has_type ? source->type : MESOS__VOLUME__SOURCE__TYPE__UNKNOWN) {
	case MESOS__VOLUME__SOURCE__TYPE__DOCKER_VOLUME:
		if (!source->docker_volume)
			FAIL("'source.docker_volume' is not set for DOCKER_VOLUME volume");
		return 0;
	case MESOS__VOLUME__SOURCE__TYPE__HOST_PATH:
		if (!source->host_path)
			FAIL("'source.host_path' is not set for HOST_PATH volume");
		return 0;
	case MESOS__VOLUME__SOURCE__TYPE__SANDBOX_PATH:
		if (!source->sandbox_path)
			FAIL("'source.sandbox_path' is not set for SANDBOX_PATH volume");
		return 0;
	case MESOS__VOLUME__SOURCE__TYPE__SECRET:
		if (!source->secret)
			FAIL("'source.secret' is not set for SECRET volume");
		return 0;
	case MESOS__VOLUME__SOURCE__TYPE__CSI_VOLUME:
		if (!source->csi_volume)
			FAIL("'source.csi_volume' is not set for CSI volume");
		if (!source->csi_volume->static_provisioning)
			FAIL("'source.csi_volume.static_provisioning' is not set for CSI volume");
		return 0;
	default:
		FAIL("'source.type' is unknown");
	}
}

static int validate_volume(const Mesos__Volume *volume, struct err *err)
{
	if (!!volume->host_path + !!volume->image + !!volume->source != 1)
		FAIL("Only one of them should be set: 'host_path', 'image' and 'source'");
	return volume->source ? validate_source(volume->source, err) : 0;
}

int master_validate_container(const Mesos__ContainerInfo *container, struct err *err)
{
	for (size_t i = 0; i < container->n_volumes; i++) {
		if (validate_volume(container->volumes[i], err))
			return err_wrap(err, ERR_INVALID, "Invalid volume");
	}
	if (container->type != MESOS__CONTAINER_INFO__TYPE__DOCKER)
		return 0;
	if (!container->docker)
		FAIL("DockerInfo 'docker' is not set for DOCKER typed ContainerInfo");
	for (size_t i = 0; i < container->docker->n_parameters; i++) {
		if (!strcmp(container->docker->parameters[i]->key, "name"))
			FAIL("Parameter in DockerInfo must not be 'name'");
	}
	return 0;
}

bool master_executor_share_cgroups(const Mesos__ContainerInfo *container)
{
	return container && container->linux_info && container->linux_info->has_share_cgroups &&
	       container->linux_info->share_cgroups;
}

/* ---- resources ------------------------------------------------------------------------ */

void master_resources(struct master *m, Mesos__Resource *const *list, size_t count,
		      struct resources *out)
{
	resources_add_messages(m->shapes, out, list, count);
}

static bool unreserved(const Mesos__Resource *r)
{
	return !r->n_reservations;
}

static bool dynamically_reserved(const Mesos__Resource *r)
{
	const Mesos__Resource__ReservationInfo *last;

	if (unreserved(r))
		return false;
	last = r->reservations[r->n_reservations - 1];
	return last->has_type && last->type == MESOS__RESOURCE__RESERVATION_INFO__TYPE__DYNAMIC;
}

static int validate_gpus(Mesos__Resource *const *list, size_t count, struct err *err)
{
	double gpus = 0;

	for (size_t i = 0; i < count; i++) {
		if (!strcmp(list[i]->name, "gpus") && list[i]->scalar)
			gpus += list[i]->scalar->value;
	}
	if ((long long)(gpus * 1000.0) % 1000)
		return err_set(err, ERR_INVALID,
			       "Invalid 'gpus' resource: The 'gpus' resource must "
			       "be an unsigned integer");
	return 0;
}

static int validate_volume_resource(const Mesos__Resource *r, struct err *err)
{
	const Mesos__Resource__DiskInfo *disk = r->disk;

	if (!disk->persistence) {
		if (disk->volume)
			FAIL("Non-persistent volume not supported");
		if (!disk->source)
			FAIL("DiskInfo is set but empty");
		return 0;
	}
	if (r->revocable)
		FAIL("Persistent volumes cannot be created from revocable resources");
	if (unreserved(r))
		FAIL("Persistent volumes cannot be created from unreserved resources");
	if (!disk->volume)
		FAIL("Expecting 'volume' to be set for persistent volume");
	if (disk->volume->host_path)
		FAIL("Expecting 'host_path' to be unset for persistent volume");
	if (master_validate_id(disk->persistence->id, err))
		return err_wrap(err, ERR_INVALID, "Invalid persistence ID for persistent volume");
	return 0;
}

static int say_revocable(const Mesos__Resource *resource, struct err *err)
{
	struct buf text = BUF_INIT;

	resource_print(resource, &text);
	err_set(err, ERR_INVALID,
		"Invalid ReservationInfo: Dynamically reserved resource %s cannot be created from "
		"revocable resources",
		text.data);
	buf_free(&text);
	return ERR_INVALID;
}

int master_validate_resources(Mesos__Resource *const *list, size_t count, struct err *err)
{
	if (resources_validate(list, count, err))
		return err_wrap(err, ERR_INVALID, "Invalid resources");
	if (validate_gpus(list, count, err))
		return ERR_INVALID;
	for (size_t i = 0; i < count; i++) {
		if (list[i]->disk && validate_volume_resource(list[i], err))
			return err_wrap(err, ERR_INVALID, "Invalid DiskInfo");
	}
	for (size_t i = 0; i < count; i++) {
		if (dynamically_reserved(list[i]) && list[i]->revocable)
			return say_revocable(list[i], err);
	}
	return 0;
}

/* A volume, and where it stands in the list. */
struct volume_place {
	const char *id, *role;
	uint32_t at;
};

static int by_volume(const void *left, const void *right)
{
	const struct volume_place *a = left, *b = right;
	int order = strcmp(a->id, b->id);

	if (!order)
		order = strcmp(a->role, b->role);
	return order ? order : (a->at > b->at) - (a->at < b->at);
}

/* The id of the first volume that was there before; NULL if all are unique. Sorts the list, as
 * an agent may have a thousand volumes, and each of as many operations is checked. */
static const char *find_repeated(struct volume_place *volumes, uint32_t count)
{
	const struct volume_place *first = NULL;

	qsort(volumes, count, sizeof(*volumes), by_volume);
	for (uint32_t i = 1; i < count; i++) {
		const struct volume_place *before = &volumes[i - 1], *after = &volumes[i];

		if (!strcmp(before->id, after->id) && !strcmp(before->role, after->role) &&
		    (!first || after->at < first->at))
			first = after;
	}
	return first ? first->id : NULL;
}

int master_validate_persistence(const struct resources *r, struct err *err)
{
	struct volume_place *volumes = xcalloc(r->count + 1, sizeof(*volumes));
	const char *repeated;
	uint32_t count = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		const struct resource_shape *shape = r->pieces[i].shape;

		if (resource_shape_persistence(shape))
			volumes[count++] = (struct volume_place){resource_shape_persistence(shape),
								 resource_shape_role(shape), i};
	}
	repeated = find_repeated(volumes, count);
	free(volumes);
	if (repeated)
		FAIL("Persistence ID '%s' is not unique", repeated);
	return 0;
}

int master_validate_single_role(const struct resources *r, struct err *err)
{
	const char *role = NULL, *other;

	for (uint32_t i = 0; i < r->count; i++) {
		other = resource_shape_allocation_role(r->pieces[i].shape);
		if (!other)
			FAIL("The resources are not allocated to a role");
		if (role && strcmp(role, other))
			FAIL("The resources have multiple allocation roles ('%s' and '%s') but "
			     "only "
			     "one allocation role is allowed",
			     other, role);
		role = other;
	}
	return 0;
}

int master_validate_revocable(const struct resources *r, struct err *err)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const struct resource_shape *a = r->pieces[i].shape;

		for (uint32_t k = 0; k < i; k++) {
			const struct resource_shape *b = r->pieces[k].shape;

			if (resource_shape_revocable(a) != resource_shape_revocable(b) &&
			    !strcmp(resource_shape_name(a), resource_shape_name(b)))
				FAIL("Cannot use both revocable and non-revocable '%s' at the same "
				     "time",
				     resource_shape_name(a));
		}
	}
	return 0;
}

/* Adding ranges or sets that overlap yields less than the sum of both. */
bool master_resources_overlap(const struct resources *a, const struct resources *b)
{
	struct resources sum = RESOURCES_INIT;
	int64_t apart = 0, together = 0;

	resources_copy(&sum, a);
	resources_add(&sum, b);
	for (uint32_t i = 0; i < a->count; i++)
		apart += resource_piece_quantity(&a->pieces[i]);
	for (uint32_t i = 0; i < b->count; i++)
		apart += resource_piece_quantity(&b->pieces[i]);
	for (uint32_t i = 0; i < sum.count; i++)
		together += resource_piece_quantity(&sum.pieces[i]);
	resources_free(&sum);
	return apart != together;
}

/* ---- executors --------------------------------------------------------------------------- */

static int validate_type(const Mesos__ExecutorInfo *executor, struct err *err)
{
	const Mesos__ContainerInfo *container = executor->container;

	if (!executor->has_type || executor->type == MESOS__EXECUTOR_INFO__TYPE__UNKNOWN)
		return 0;
	if (executor->type == MESOS__EXECUTOR_INFO__TYPE__CUSTOM) {
		if (!executor->command)
			FAIL("'ExecutorInfo.command' must be set for 'CUSTOM' executor");
		return 0;
	}
	if (executor->command)
		FAIL("'ExecutorInfo.command' must not be set for 'DEFAULT' executor");
	if (container && container->type != MESOS__CONTAINER_INFO__TYPE__MESOS)
		FAIL("'ExecutorInfo.container.type' must be 'MESOS' for 'DEFAULT' executor");
	if (container && container->mesos && container->mesos->image)
		FAIL("'ExecutorInfo.container.mesos.image' must not be set for 'DEFAULT' executor");
	return 0;
}

int master_validate_executor_alone(const Mesos__ExecutorInfo *executor, struct err *err)
{
	int rv = validate_type(executor, err);

	if (!rv)
		rv = master_validate_id(executor->executor_id->value, err);
	if (!rv && executor->shutdown_grace_period &&
	    executor->shutdown_grace_period->nanoseconds < 0)
		rv = err_set(err, ERR_INVALID,
			     "ExecutorInfo's 'shutdown_grace_period' must be non-negative");
	if (!rv && executor->command && master_validate_command(executor->command, err))
		rv = err_wrap(err, ERR_INVALID, "Executor's `CommandInfo` is invalid");
	if (!rv && executor->container && master_validate_container(executor->container, err))
		rv = err_wrap(err, ERR_INVALID, "Executor's `ContainerInfo` is invalid");
	return rv;
}

static int validate_executor_resources(struct master *m, const Mesos__ExecutorInfo *executor,
				       struct err *err)
{
	struct resources r = RESOURCES_INIT;
	int rv;

	if (master_validate_resources(executor->resources, executor->n_resources, err))
		return err_wrap(err, ERR_INVALID, "Executor uses invalid resources");
	master_resources(m, executor->resources, executor->n_resources, &r);
	rv = master_validate_persistence(&r, err);
	if (rv)
		err_wrap(err, rv, "Executor uses duplicate persistence ID");
	if (!rv && (rv = master_validate_single_role(&r, err)))
		err_wrap(err, rv, "Invalid executor resources");
	if (!rv && (rv = master_validate_revocable(&r, err)))
		err_wrap(err, rv, "Executor mixes revocable and non-revocable resources");
	resources_free(&r);
	return rv;
}

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool same_message(const void *a, const void *b)
{
	return a && b ? proto_equal(a, b) : a == b;
}

static bool same_resources(struct master *m, const Mesos__ExecutorInfo *a,
			   const Mesos__ExecutorInfo *b)
{
	struct resources x = RESOURCES_INIT, y = RESOURCES_INIT;
	bool same;

	master_resources(m, a->resources, a->n_resources, &x);
	master_resources(m, b->resources, b->n_resources, &y);
	same = resources_equal(&x, &y);
	resources_free(&x);
	resources_free(&y);
	return same;
}

bool master_same_executor(struct master *m, const Mesos__ExecutorInfo *a,
			  const Mesos__ExecutorInfo *b)
{
	if (a->has_type != b->has_type || (a->has_type && a->type != b->type))
		return false;
	if (!same_text(a->executor_id->value, b->executor_id->value) ||
	    !same_text(a->framework_id ? a->framework_id->value : NULL,
		       b->framework_id ? b->framework_id->value : NULL) ||
	    !same_text(a->name, b->name) || !same_text(a->source, b->source))
		return false;
	if (a->data.len != b->data.len ||
	    (a->data.len && memcmp(a->data.data, b->data.data, a->data.len)))
		return false;
	return same_message(a->command, b->command) && same_message(a->container, b->container) &&
	       same_message(a->discovery, b->discovery) && same_resources(m, a, b);
}

static int validate_compatible(struct master *m, const struct framework *f, const struct agent *a,
			       const Mesos__ExecutorInfo *executor, struct err *err)
{
	static const char line[] = "------------------------------------------------------------";
	struct executor *known = agent_find_executor(a, f->id, executor->executor_id->value);
	struct buf ours = BUF_INIT, theirs = BUF_INIT;

	if (!known || master_same_executor(m, known->info, executor))
		return 0;
	proto_to_json(known->info, SPELL_V1, &ours);
	proto_to_json(executor, SPELL_V1, &theirs);
	err_set(err, ERR_INVALID,
		"ExecutorInfo is not compatible with existing ExecutorInfo with same "
		"ExecutorID.\n%s\nExisting ExecutorInfo:\n%s\n%s\nExecutorInfo:\n%s\n%s\n",
		line, ours.data, line, theirs.data, line);
	buf_free(&ours);
	buf_free(&theirs);
	return ERR_INVALID;
}

int master_validate_executor(struct master *m, const struct framework *f, const struct agent *a,
			     const Mesos__ExecutorInfo *executor, struct err *err)
{
	int rv = master_validate_executor_alone(executor, err);

	if (!rv && !executor->framework_id)
		rv = err_set(err, ERR_INVALID, "'ExecutorInfo.framework_id' must be set");
	if (!rv && strcmp(executor->framework_id->value, f->id))
		rv = err_set(err, ERR_INVALID,
			     "ExecutorInfo has an invalid FrameworkID (Actual: %s vs Expected: %s)",
			     executor->framework_id->value, f->id);
	if (!rv)
		rv = validate_executor_resources(m, executor, err);
	if (!rv)
		rv = validate_compatible(m, f, a, executor, err);
	return rv;
}

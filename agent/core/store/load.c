/* The stored pairs (checkpoint.c) become frameworks, executors, tasks, streams of updates and
 * the rest again, one by one, before the agent starts (recovery.c).
 *
 * Failures: a pair that cannot be read is an error; one that belongs to nothing is counted
 * and dropped. */
#include "agent/core/objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/core/executors/executors.h"
#include "agent/core/nested/nested.h"
#include "agent/core/resources/operations.h"
#include "agent/core/resources/volumes.h"
#include "agent/core/store/orphans.h"
#include "agent/core/tasks/frameworks.h"
#include "agent/core/tasks/tasks.h"
#include "agent/core/tasks/updates.h"

#define PARTS_MAX 4

/* A key cut at its slashes; `text` is heap. */
struct parts {
	char *text;
	char *items[PARTS_MAX];
	size_t count;
};

static bool load_split(struct slice key, struct parts *parts)
{
	char *at = xstrndup(key.data, key.len);

	parts->text = at;
	parts->count = 0;
	while (parts->count < PARTS_MAX) {
		parts->items[parts->count++] = at;
		at = strchr(at, '/');
		if (!at)
			return true;
		*at++ = 0;
	}
	return false;
}

static struct framework *need_framework(struct agent *agent, const char *id)
{
	struct framework *framework = agent_framework_find(agent, id);

	return framework ? framework : agent_framework_create(agent, id);
}

static int decode(const ProtobufCMessageDescriptor *type, struct slice value, void **out,
		  struct err *err)
{
	*out = proto_unpack_heap(type, value.data, value.len);
	return *out ? 0 : err_set(err, ERR_INVALID, "it holds no %s", type->name);
}

static int load_agent(struct agent *agent, const struct parts *parts, struct slice value,
		      struct err *err)
{
	Mesos__Internal__CheckpointResourcesMessage *message;
	void *decoded;
	int rv;

	if (parts->count == 2 && strcmp(parts->items[1], "info") == 0) {
		rv = decode(&mesos__agent_info__descriptor, value, &decoded, err);
		if (rv == 0)
			agent->loaded_info = decoded;
		if (rv == 0 &&
		    (!agent->loaded_info->id || !agent_id_usable(agent->loaded_info->id->value)))
			rv = err_set(err, ERR_INVALID, "it holds no usable agent id");
		return rv;
	}
	if (parts->count == 2 && strcmp(parts->items[1], "drain") == 0) {
		rv = decode(&mesos__drain_config__descriptor, value, &decoded, err);
		if (rv == 0)
			agent->drain = decoded;
		return rv;
	}
	if (parts->count != 2 || strcmp(parts->items[1], "resources") != 0)
		return 0;
	rv = decode(&mesos__internal__checkpoint_resources_message__descriptor, value, &decoded,
		    err);
	if (rv < 0)
		return rv;
	message = decoded;
	if (resources_validate(message->resources, message->n_resources, err) == 0)
		resources_add_messages(agent->options.shapes, &agent->checkpointed,
				       message->resources, message->n_resources);
	else
		rv = ERR_INVALID;
	proto_free(message);
	return rv;
}

static int load_framework(struct agent *agent, const struct parts *parts, struct slice value,
			  struct err *err)
{
	struct framework *framework;
	void *decoded;
	int rv;

	if (parts->count != 3)
		return err_set(err, ERR_INVALID, "the key is not ours");
	framework = need_framework(agent, parts->items[1]);
	if (strcmp(parts->items[2], "pid") == 0) {
		free(framework->pid);
		framework->pid = xstrndup(value.data, value.len);
		return 0;
	}
	rv = decode(&mesos__framework_info__descriptor, value, &decoded, err);
	if (rv < 0)
		return rv;
	proto_free(framework->info);
	framework->info = decoded;
	framework->checkpoint = true;
	return 0;
}

static int load_container(struct agent *agent, struct executor *executor, const char *text,
			  struct err *err)
{
	uint8_t uuid[UUID_BYTES];
	char id[UUID_TEXT], kind[16];

	if (sscanf(text, "%36s %15s", id, kind) != 2 || !uuid_parse(id, uuid))
		return err_set(err, ERR_INVALID, "it holds no container");
	executor->generated = strcmp(kind, "command") == 0;
	/* The sandbox's path needs the agent's id: set in agent_start(). */
	free(executor->container);
	executor->container = xstrdup(id);
	return 0;
}

static int load_executor(struct agent *agent, const struct parts *parts, struct slice value,
			 struct err *err)
{
	struct framework *framework;
	struct executor *executor;
	char *text;
	void *decoded;
	int rv = 0;

	if (parts->count != 4)
		return err_set(err, ERR_INVALID, "the key is not ours");
	framework = need_framework(agent, parts->items[1]);
	executor = agent_executor_find(framework, parts->items[2]);
	if (!executor)
		executor = agent_executor_alloc(framework, parts->items[2]);
	executor->checkpoint = true;
	executor->recovered = true;
	if (strcmp(parts->items[3], "info") == 0) {
		rv = decode(&mesos__executor_info__descriptor, value, &decoded, err);
		if (rv < 0)
			return rv;
		proto_free(executor->info);
		executor->info = decoded;
		return 0;
	}
	if (strcmp(parts->items[3], "networks") == 0) {
		rv = decode(&mesos__container_status__descriptor, value, &decoded, err);
		if (rv < 0)
			return rv;
		proto_free(executor->networked);
		executor->networked = decoded;
		return 0;
	}
	text = xstrndup(value.data, value.len);
	if (strcmp(parts->items[3], "container") == 0) {
		rv = load_container(agent, executor, text, err);
	} else if (strcmp(parts->items[3], "process") == 0) {
		if (sscanf(text, "%" SCNd64 " %" SCNu64, &executor->process_id,
			   &executor->start_ticks) != 2)
			rv = err_set(err, ERR_INVALID, "it holds no process");
	} else if (strcmp(parts->items[3], "channel") == 0) {
		executor->sent_task = true;
		if (strcmp(text, "http") != 0) {
			free(executor->pid);
			executor->pid = xstrdup(text);
		}
	}
	free(text);
	return rv;
}

static int load_task(struct agent *agent, const struct parts *parts, struct slice value,
		     struct err *err)
{
	struct framework *framework;
	struct executor *executor;
	Mesos__Task *record;
	struct task *task;
	void *decoded;

	if (parts->count != 4)
		return err_set(err, ERR_INVALID, "the key is not ours");
	framework = need_framework(agent, parts->items[1]);
	executor = agent_executor_find(framework, parts->items[2]);
	if (decode(&mesos__task__descriptor, value, &decoded, err) < 0)
		return ERR_INVALID;
	record = decoded;
	if (!executor || strcmp(record->task_id->value, parts->items[3]) != 0 ||
	    agent_task_find(framework, parts->items[3])) {
		agent->counters.recovery_errors++;
		log_warning("Task '%s' in the store belongs to no executor", parts->items[3]);
		proto_free(record);
		return 0;
	}
	task = agent_task_create(executor, record, NULL,
				 task_state_terminal(record->state) ? TASK_TERMINATED
								    : TASK_LAUNCHED);
	executor->bursts = executor->bursts || record->n_limits;
	if (task->place == TASK_LAUNCHED)
		resources_add_messages(agent->options.shapes, &executor->allocated,
				       record->resources, record->n_resources);
	return 0;
}

static int load_take_record(struct stream *stream, Mesos__Internal__StatusUpdateRecord *record)
{
	if (record->type == MESOS__INTERNAL__STATUS_UPDATE_RECORD__TYPE__ACK) {
		if (!record->has_uuid || record->uuid.len != UUID_BYTES ||
		    !list_empty(&stream->pending))
			return ERR_INVALID;
		agent_stream_remember(stream, stream->next_seq++, record->uuid.data);
		return 0;
	}
	if (!record->update || !record->update->has_uuid || record->update->uuid.len != UUID_BYTES)
		return ERR_INVALID;
	agent_stream_append(stream, proto_copy(record->update));
	return 0;
}

static int load_update(struct agent *agent, const struct parts *parts, struct slice value,
		       struct err *err)
{
	struct framework *framework;
	struct stream *stream;
	uint64_t seq;
	void *decoded;
	int rv;

	if (parts->count != 4 || sscanf(parts->items[3], "%" SCNx64, &seq) != 1)
		return err_set(err, ERR_INVALID, "the key is not ours");
	if (decode(&mesos__internal__status_update_record__descriptor, value, &decoded, err) < 0)
		return ERR_INVALID;
	framework = need_framework(agent, parts->items[1]);
	stream = agent_stream_find(framework, parts->items[2]);
	if (!stream) {
		stream = agent_stream_create(framework, parts->items[2]);
		stream->next_seq = seq;
	}
	stream->checkpoint = true;
	rv = stream->next_seq == seq ? load_take_record(stream, decoded) : ERR_INVALID;
	proto_free(decoded);
	return rv < 0 ? err_set(err, rv, "it does not fit the records before it") : 0;
}

static int load_collectable(struct agent *agent, struct slice key, struct slice value)
{
	size_t skip = strlen("collect/"), len = key.len - skip;
	struct collectable *collectable = xcalloc(1, sizeof(*collectable) + len + 1);
	char *text = xstrndup(value.data, value.len);

	collectable->when = strtoll(text, NULL, 10);
	memcpy(collectable->path, key.data + skip, len);
	list_append(&agent->collectables, &collectable->link);
	free(text);
	return 0;
}

static int load_operation(struct agent *agent, const struct parts *parts, struct slice value,
			  struct err *err)
{
	void *decoded;

	if (parts->count != 2)
		return err_set(err, ERR_INVALID, "the key is not ours");
	if (decode(&mesos__operation__descriptor, value, &decoded, err) < 0)
		return ERR_INVALID;
	return agent_load_operation(agent, parts->items[1], decoded, err);
}

static int load_orphan(struct agent *agent, const struct parts *parts, struct slice value,
		       struct err *err)
{
	char *text = xstrndup(value.data, value.len);
	int rv = parts->count == 2 ? agent_load_orphan(agent, parts->items[1], text, err)
				   : err_set(err, ERR_INVALID, "the key is not ours");

	free(text);
	return rv;
}

static int load_removal(struct agent *agent, struct slice key, struct slice value, struct err *err)
{
	size_t skip = strlen("removal/");
	char *path = xstrndup(key.data + skip, key.len - skip);
	char *text = xstrndup(value.data, value.len);
	int rv = agent_load_removal(agent, path, text, err);

	free(path);
	free(text);
	return rv;
}

static int load_load_pair(struct agent *agent, const struct parts *parts, struct slice value,
			  struct err *err)
{
	const char *kind = parts->items[0];

	if (strcmp(kind, "agent") == 0)
		return load_agent(agent, parts, value, err);
	if (strcmp(kind, "framework") == 0)
		return load_framework(agent, parts, value, err);
	if (strcmp(kind, "executor") == 0)
		return load_executor(agent, parts, value, err);
	if (strcmp(kind, "task") == 0)
		return load_task(agent, parts, value, err);
	if (strcmp(kind, "update") == 0)
		return load_update(agent, parts, value, err);
	if (strcmp(kind, "operation") == 0)
		return load_operation(agent, parts, value, err);
	if (strcmp(kind, "orphan") == 0)
		return load_orphan(agent, parts, value, err);
	if (strcmp(kind, "nested") == 0 && parts->count == 3)
		return agent_load_nested(agent, parts->items[1], parts->items[2], value, err);
	return 0; /* the shell keeps things of its own */
}

int agent_load(struct agent *agent, struct slice key, struct slice value, struct err *err)
{
	struct parts parts;
	int rv = 0;

	if (key.len > strlen("collect/") && memcmp(key.data, "collect/", 8) == 0)
		return load_collectable(agent, key, value);
	if (key.len > strlen("removal/") && memcmp(key.data, "removal/", 8) == 0) {
		rv = load_removal(agent, key, value, err);
	} else {
		if (load_split(key, &parts))
			rv = load_load_pair(agent, &parts, value, err);
		free(parts.text);
	}
	if (rv < 0)
		return err_wrap(err, rv, "Pair '%.*s' of the store", (int)key.len, key.data);
	return 0;
}

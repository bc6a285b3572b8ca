/* After a restart: the stored pairs become frameworks, executors, tasks
 * and update streams again.
 *
 * Happy path: agent_load() for each pair, agent_start(): processes are watched again, v0
 * executors are called back, v1 ones subscribe; when all are back the agent registers and
 * sends the heads of the streams.
 * Failures: an executor that is not back in time is destroyed (LOST/GONE), one whose
 * process is gone ends its tasks as failed; after a reboot none can live. A pair that
 * cannot be read is an error; one that belongs to nothing is counted and dropped. */
#include "agent/core.h"

#include "base/duration.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PARTS_MAX 4
#define REASON(name) MESOS__TASK_STATUS__REASON__REASON_##name

/* ---- loading ------------------------------------------------------------- */

/* A key cut at its slashes; `text` is heap. */
struct parts {
	char *text;
	char *items[PARTS_MAX];
	size_t count;
};

static bool split(struct slice key, struct parts *parts)
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
	if (task->place == TASK_LAUNCHED)
		resources_add_messages(agent->options.shapes, &executor->allocated,
				       record->resources, record->n_resources);
	return 0;
}

static int take_record(struct stream *stream, Mesos__Internal__StatusUpdateRecord *record)
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
	rv = stream->next_seq == seq ? take_record(stream, decoded) : ERR_INVALID;
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

static int load_pair(struct agent *agent, const struct parts *parts, struct slice value,
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
		if (split(key, &parts))
			rv = load_pair(agent, &parts, value, err);
		free(parts.text);
	}
	if (rv < 0)
		return err_wrap(err, rv, "Pair '%.*s' of the store", (int)key.len, key.data);
	return 0;
}

/* ---- starting ------------------------------------------------------------ */

/* Reservations and volumes stay: they belong to the machine's disks, not to the id. */
static void forget_all(struct agent *agent)
{
	struct framework *framework, *next;
	struct executor *executor, *next_executor;
	struct stream *stream, *next_stream;
	struct task *task, *next_task;
	struct operation *operation, *next_operation;

	HASH_ITER (hh, agent->operations, operation, next_operation)
		agent_forget_operation(operation, agent);
	agent_operations_free(agent);
	if (agent->drain) {
		proto_free(agent->drain);
		agent->drain = NULL;
		agent_store_drain(agent);
	}
	HASH_ITER (hh, agent->frameworks, framework, next) {
		HASH_ITER (hh, framework->tasks, task, next_task)
			agent_forget_task(task, agent);
		HASH_ITER (hh, framework->executors, executor, next_executor)
			agent_forget_executor(executor, agent);
		HASH_ITER (hh, framework->streams, stream, next_stream)
			agent_stream_close(agent, stream);
		agent_forget_framework(framework, agent);
		agent_framework_free(agent, framework);
	}
}

/* Gives up the stored identity, with all that ran under it. */
static void start_anew(struct agent *agent, const char *why)
{
	char *path = xprintf("%s/slaves/%s", agent->options.work_dir, agent_id(agent));

	log_warning("This is a new agent, and %s is no more: %s", agent_id(agent), why);
	agent_collect(agent, path);
	free(path);
	proto_free(agent->info->id);
	agent->info->id = NULL;
	agent_delete(agent, agent_key(agent, "agent/info"));
	forget_all(agent);
}

/* Takes over the identity. After a reboot an info that does not fit is forgotten. */
static int take_identity(struct agent *agent, bool rebooted, struct err *err)
{
	Mesos__AgentInfo *old = agent->loaded_info;
	int rv;

	agent->loaded_info = NULL;
	if (!old) {
		forget_all(agent);
		return 0;
	}
	rv = agent_info_compatible(agent, old, err);
	agent->info->id = proto_copy(old->id);
	proto_free(old);
	if (agent->options.start_new)
		start_anew(agent, "its link was removed");
	else if (rv < 0 && rebooted)
		start_anew(agent, err->text);
	else if (rv < 0)
		return err_wrap(err, rv,
				"Failed to perform recovery. To keep the agent id, restore the "
				"flags or see --reconfiguration_policy; to start as a new agent "
				"without the old one's tasks: rm -f %s/meta/slaves/latest",
				agent->options.work_dir);
	return 0;
}

/* Half a record: its batch was all or nothing, so this is damage. */
static bool is_whole(const struct executor *executor)
{
	return executor->info && executor->container && executor->framework->info;
}

static void drop_broken(struct agent *agent, struct executor *executor)
{
	struct task *task, *next;

	agent->counters.recovery_errors++;
	log_warning("Executor '%s' of framework %s is not whole in the store", executor->id,
		    executor->framework->id);
	for (int place = 0; place < TASK_PLACES; place++) {
		list_for_each (task, next, &executor->tasks[place], link)
			agent_forget_task(task, agent);
	}
	agent_forget_executor(executor, agent);
	agent_executor_free(agent, executor);
}

static void reattach(struct agent *agent, struct executor *executor, bool rebooted)
{
	struct agent_action *action;
	char *container = executor->container;
	struct task *only = list_first(&executor->tasks[TASK_LAUNCHED], struct task, link);

	executor->container = NULL;
	agent_executor_set_container(agent, executor, container);
	free(container);
	resources_add_messages(agent->options.shapes, &executor->allocated,
			       executor->info->resources, executor->info->n_resources);
	/* A command executor that never got its one task would wait for ever. */
	if (executor->generated && only && only->record->state == MESOS__TASK_STATE__TASK_STAGING)
		executor->sent_task = false;
	executor->process = CONTAINER_ASKED;
	agent_links_recover(agent, executor);
	agent->awaited++;
	if (rebooted)
		return;
	action = agent_emit(agent, AGENT_REATTACH);
	action->reattach.container = arena_strdup(&agent->out->arena, executor->container);
	action->reattach.sandbox = arena_strdup(&agent->out->arena, executor->sandbox);
	action->reattach.pid = executor->process_id;
	action->reattach.start_ticks = executor->start_ticks;
}

static void call_back(struct agent *agent, struct executor *executor)
{
	Mesos__Internal__ReconnectExecutorMessage *message;

	if (!executor->pid)
		return;
	message = agent_new(agent, Mesos__Internal__ReconnectExecutorMessage,
			    mesos__internal__reconnect_executor_message__descriptor);
	message->agent_id = agent_own_id(agent);
	agent_link(agent, AGENT_LINK, executor->pid);
	agent_send(agent, executor->pid, message);
}

static void revive_framework(struct agent *agent, struct framework *framework, bool rebooted)
{
	struct executor *executor, *next;

	HASH_ITER (hh, framework->executors, executor, next) {
		if (!is_whole(executor)) {
			drop_broken(agent, executor);
			continue;
		}
		reattach(agent, executor, rebooted);
		if (!rebooted)
			call_back(agent, executor);
	}
	if (!framework->info) {
		struct stream *stream, *next_stream;

		agent->counters.recovery_errors++;
		HASH_ITER (hh, framework->streams, stream, next_stream)
			agent_stream_close(agent, stream);
		agent_forget_framework(framework, agent);
		agent_framework_free(agent, framework);
		return;
	}
	agent_framework_settle(agent, framework);
}

static void end_all(struct agent *agent)
{
	struct framework *framework, *next;
	struct executor *executor, *next_executor;

	HASH_ITER (hh, agent->frameworks, framework, next) {
		HASH_ITER (hh, framework->executors, executor, next_executor)
			agent_executor_exited(agent, executor, -1, "unknown container");
	}
}

static void resume_collection(struct agent *agent)
{
	struct collectable *collectable, *next;

	list_for_each (collectable, next, &agent->collectables, link) {
		struct agent_action *action = agent_emit(agent, AGENT_COLLECT);

		action->collect.path = arena_strdup(&agent->out->arena, collectable->path);
		action->collect.when = collectable->when;
		list_remove(&collectable->link);
		free(collectable);
	}
}

static void recovered(struct agent *agent)
{
	timers_stop(&agent->timers, &agent->recovery_timer);
	agent->recovery_time = agent->now - agent->recovery_began;
	agent_set_state(agent, STATE_DISCONNECTED);
	log_info("Finished recovery");
	agent_drain_resume(agent);
	agent_begin_registration(agent);
}

static void begin(struct agent *agent, bool rebooted)
{
	struct framework *framework, *next;

	HASH_ITER (hh, agent->frameworks, framework, next)
		revive_framework(agent, framework, rebooted);
	resume_collection(agent);
	agent_operations_recover(agent);
	agent->started = true;
	if (rebooted)
		end_all(agent);
	if (agent->options.recover_cleanup)
		agent_handle_shutdown(agent, NULL, "--recover=cleanup");
	else if (agent->state == STATE_RECOVERING && agent->awaited == 0)
		recovered(agent);
	else if (agent->state == STATE_RECOVERING)
		timers_start(&agent->timers, &agent->recovery_timer,
			     agent->now + agent->options.executor_reregistration_timeout +
				     AGENT_RECOVERY_MARGIN);
}

int agent_start(struct agent *agent, int64_t now, bool rebooted, struct agent_actions *out,
		struct err *err)
{
	int rv;

	agent->now = now;
	agent->out = out;
	agent->recovery_began = now;
	rv = agent_total_recover(agent, err);
	if (rv == 0)
		rv = take_identity(agent, rebooted, err);
	if (rv == 0) {
		agent_new_version(agent);
		begin(agent, rebooted);
		agent_flush_store(agent);
	}
	agent->out = NULL;
	return rv;
}

/* ---- waiting ------------------------------------------------------------- */

void agent_recovery_settle(struct agent *agent)
{
	if (agent->awaited > 0)
		agent->awaited--;
	if (agent->started && agent->state == STATE_RECOVERING && agent->awaited == 0)
		recovered(agent);
}

/* Does not wait for the destruction: it may take its time. */
void agent_recovery_timeout(struct agent *agent)
{
	struct framework *framework, *next;
	struct executor *executor, *next_executor;
	char text[DURATION_TEXT];

	if (agent->state != STATE_RECOVERING)
		return;
	duration_format(agent->options.executor_reregistration_timeout, text);
	HASH_ITER (hh, agent->frameworks, framework, next) {
		HASH_ITER (hh, framework->executors, executor, next_executor) {
			if (executor->state != EXECUTOR_REGISTERING)
				continue;
			agent_executor_set_pending(
				executor, agent_gone_state(framework),
				REASON(EXECUTOR_REREGISTRATION_TIMEOUT),
				agent_key(agent, "Executor did not reregister within %s", text));
			agent_executor_destroy(agent, executor);
		}
	}
	if (agent->state == STATE_RECOVERING)
		recovered(agent);
}

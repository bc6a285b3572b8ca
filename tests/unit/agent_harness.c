#include "agent_harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ---------------------------------------------------------------- */

void rig_init(struct rig *rig)
{
	struct err err = {""};

	memset(rig, 0, sizeof(*rig));
	arena_init(&rig->arena);
	agent_actions_init(&rig->out);
	rng_seed(&rig->rng, 1);
	rig->now = 1000 * SECOND;
	rig->options = (struct agent_options){
		.ip = "10.0.0.2",
		.port = 5051,
		.hostname = "host",
		.version = "1.12.0",
		.work_dir = "/w",
		.launcher_program = "/bin/mesita",
		.shapes = resource_shapes_create(),
		.resources = &rig->total,
		.rng = &rig->rng,
		.start_time = rig->now,
		.reconfiguration_policy = "equal",
		.registration_backoff_factor = SECOND,
		.executor_registration_timeout = MINUTE,
		.executor_reregistration_timeout = 2 * SECOND,
		.executor_shutdown_grace_period = 5 * SECOND,
		.recovery_timeout = 15 * MINUTE,
		.gc_delay = WEEK,
		.max_completed_executors_per_framework = 150,
	};
	cr_assert_eq(resources_parse(rig->options.shapes, "cpus:4;mem:4096;ports:[31000-31999]",
				     "*", &rig->total, &err),
		     0, "%s", err.text);
}

static void free_batch(struct rig_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		free(batch->ops[i].key);
		buf_free(&batch->ops[i].value);
	}
	free(batch->ops);
	free(batch);
}

void rig_kill_agent(struct rig *rig)
{
	struct rig_batch *batch;

	agent_destroy(rig->agent);
	rig->agent = NULL;
	while ((batch = rig->batches)) {
		rig->batches = batch->next;
		free_batch(batch);
	}
}

void rig_free(struct rig *rig)
{
	rig_kill_agent(rig);
	for (size_t i = 0; i < rig->pair_count; i++) {
		free(rig->pairs[i].key);
		buf_free(&rig->pairs[i].value);
	}
	for (size_t i = 0; i < rig->container_count; i++) {
		free(rig->containers[i][0]);
		free(rig->containers[i][1]);
	}
	agent_actions_free(&rig->out);
	resources_free(&rig->total);
	resource_shapes_destroy(rig->options.shapes);
	buf_free(&rig->trace);
	arena_free(&rig->arena);
}

/* ---- the store ----------------------------------------------------------- */

static void apply_op(struct rig *rig, const struct rig_pair *op)
{
	size_t at = 0;
	bool same;

	while (at < rig->pair_count && strcmp(rig->pairs[at].key, op->key) < 0)
		at++;
	same = at < rig->pair_count && strcmp(rig->pairs[at].key, op->key) == 0;
	if (!op->value.data) {
		if (!same)
			return;
		free(rig->pairs[at].key);
		buf_free(&rig->pairs[at].value);
		memmove(&rig->pairs[at], &rig->pairs[at + 1],
			(--rig->pair_count - at) * sizeof(rig->pairs[0]));
		return;
	}
	if (!same) {
		cr_assert_lt(rig->pair_count, RIG_PAIRS);
		memmove(&rig->pairs[at + 1], &rig->pairs[at],
			(rig->pair_count++ - at) * sizeof(rig->pairs[0]));
		rig->pairs[at] = (struct rig_pair){.key = xstrdup(op->key)};
	}
	buf_clear(&rig->pairs[at].value);
	buf_append(&rig->pairs[at].value, op->value.data, op->value.len);
}

static void keep_batch(struct rig *rig, const struct agent_action *action)
{
	struct rig_batch *batch = xcalloc(1, sizeof(*batch)), **end = &rig->batches;

	batch->ticket = action->store.ticket;
	batch->count = action->store.count;
	batch->ops = xcalloc(batch->count, sizeof(*batch->ops));
	for (size_t i = 0; i < batch->count; i++) {
		const struct store_op *op = &action->store.ops[i];

		batch->ops[i].key = xstrndup(op->key.data, op->key.len);
		if (op->value.data) {
			buf_reserve(&batch->ops[i].value, 1);
			buf_append(&batch->ops[i].value, op->value.data, op->value.len);
		}
	}
	while (*end)
		end = &(*end)->next;
	*end = batch;
}

void rig_stored(struct rig *rig, uint64_t ticket)
{
	struct agent_event event = {.type = AGENT_STORED, .stored = {ticket}};
	struct rig_batch *batch;

	while ((batch = rig->batches) && batch->ticket <= ticket) {
		rig->batches = batch->next;
		for (size_t i = 0; i < batch->count; i++)
			apply_op(rig, &batch->ops[i]);
		free_batch(batch);
	}
	rig_step(rig, &event);
}

/* ---- actions -------------------------------------------------------------- */

const char *rig_take(struct rig *rig)
{
	static struct buf taken;

	buf_clear(&taken);
	buf_append(&taken, rig->trace.data ? rig->trace.data : "", rig->trace.len);
	buf_reserve(&taken, 1);
	buf_clear(&rig->trace);
	return taken.len ? taken.data : "";
}

/* What is asked of the shell and answered at once; the rest is in the next steps. */
struct answer {
	enum agent_action_type type;
	uint64_t number;
	char *text;
};

static struct answer answer_to(const struct agent_action *action)
{
	struct answer answer = {.type = action->type};

	if (action->type == AGENT_MAKE_VOLUMES)
		answer.number = action->make_volumes.number;
	else if (action->type == AGENT_REMOVE_VOLUME)
		answer.text = xstrdup(action->remove_volume.path);
	else
		answer.text = xstrdup(action->link_volumes.container);
	return answer;
}

static void give_answer(struct rig *rig, const struct answer *answer)
{
	struct agent_event linked = {.type = AGENT_VOLUMES_LINKED,
				     .volumes_linked = {answer->text, rig->volume_failure}};

	if (answer->type == AGENT_MAKE_VOLUMES)
		rig_volumes_made(rig, answer->number);
	else if (answer->type == AGENT_REMOVE_VOLUME)
		rig_volume_removed(rig, answer->text);
	else
		rig_step(rig, &linked);
	free(answer->text);
}

static bool wants_answer(const struct rig *rig, const struct agent_action *action)
{
	return !rig->manual_volumes &&
	       (action->type == AGENT_MAKE_VOLUMES || action->type == AGENT_REMOVE_VOLUME ||
		action->type == AGENT_LINK_VOLUMES);
}

static void take_actions(struct rig *rig)
{
	struct answer answers[16];
	size_t answer_count = 0;
	uint64_t last = 0;

	for (size_t i = 0; i < rig->out.count; i++) {
		if (rig->out.items[i].type == AGENT_STORE) {
			last = rig->out.items[i].store.ticket;
			keep_batch(rig, &rig->out.items[i]);
		}
		rig_trace(rig, &rig->out.items[i]);
		if (wants_answer(rig, &rig->out.items[i])) {
			cr_assert_lt(answer_count, 16);
			answers[answer_count++] = answer_to(&rig->out.items[i]);
		}
		if (rig->watch)
			rig->watch(rig, &rig->out.items[i]);
	}
	if (rig->out.reply.status)
		buf_printf(&rig->trace, "reply %d%s%s\n", rig->out.reply.status,
			   rig->out.reply.text[0] ? " " : "", rig->out.reply.text);
	agent_actions_clear(&rig->out);
	if (last && !rig->manual_store)
		rig_stored(rig, last);
	for (size_t i = 0; i < answer_count; i++)
		give_answer(rig, &answers[i]);
}

/* ---- starting and stepping ----------------------------------------------- */

/* Its caller's texts are gone when it has them. */
static int create_agent(struct rig *rig, struct err *err)
{
	struct agent_options options = rig->options;
	const char **texts[] = {&options.ip, &options.hostname, &options.version, &options.work_dir,
				&options.launcher_program};
	char *copies[sizeof(texts) / sizeof(*texts)];
	int rv;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		*texts[i] = copies[i] = *texts[i] ? xstrdup(*texts[i]) : NULL;
	rv = agent_create(&options, &rig->agent, err);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		free(copies[i]);
	return rv;
}

int rig_try_start(struct rig *rig, bool rebooted, struct err *err)
{
	int rv = create_agent(rig, err);

	for (size_t i = 0; rv == 0 && i < rig->pair_count; i++) {
		const struct rig_pair *pair = &rig->pairs[i];

		rv = agent_load(rig->agent, slice_of(pair->key),
				(struct slice){pair->value.data, pair->value.len}, err);
	}
	if (rv == 0)
		rv = agent_start(rig->agent, rig->now, rebooted, &rig->out, err);
	take_actions(rig);
	return rv;
}

void rig_start(struct rig *rig)
{
	struct err err = {""};

	cr_assert_eq(rig_try_start(rig, false, &err), 0, "%s", err.text);
}

void rig_step(struct rig *rig, const struct agent_event *event)
{
	agent_step(rig->agent, rig->now, event, &rig->out);
	take_actions(rig);
}

void rig_tick(struct rig *rig, int64_t later)
{
	struct agent_event event = {.type = AGENT_TICK};
	int64_t end = rig->now + later;

	while (agent_next_timeout(rig->agent) <= end) {
		if (agent_next_timeout(rig->agent) > rig->now)
			rig->now = agent_next_timeout(rig->agent);
		rig_step(rig, &event);
	}
	rig->now = end;
}

void rig_next(struct rig *rig)
{
	struct agent_event event = {.type = AGENT_TICK};
	int64_t next = agent_next_timeout(rig->agent);

	cr_assert_neq(next, TIME_NEVER);
	if (next > rig->now)
		rig->now = next;
	rig_step(rig, &event);
}

void rig_message(struct rig *rig, const char *from, void *message)
{
	rig_message_to(rig, from, "slave(1)", message);
}

void rig_message_to(struct rig *rig, const char *from, const char *to, void *message)
{
	struct agent_event event = {.type = AGENT_MESSAGE,
				    .message = {.from = from, .to = to, .message = message}};

	rig_step(rig, &event);
}

void rig_detect(struct rig *rig, const char *master)
{
	struct agent_event event = {.type = AGENT_DETECTED, .detected = {master}};

	rig_step(rig, &event);
}

Mesos__AgentID *rig_agent_id(struct rig *rig)
{
	Mesos__AgentID *id = rig_new(rig, Mesos__AgentID, mesos__agent_id__descriptor);

	id->value = (char *)RIG_AGENT;
	return id;
}

void rig_register(struct rig *rig)
{
	Mesos__Internal__SlaveRegisteredMessage *message =
		rig_new(rig, Mesos__Internal__SlaveRegisteredMessage,
			mesos__internal__slave_registered_message__descriptor);

	message->agent_id = rig_agent_id(rig);
	rig_detect(rig, RIG_MASTER);
	rig_tick(rig, SECOND);
	rig_message(rig, RIG_MASTER, message);
	rig_take(rig);
}

void rig_reregister(struct rig *rig)
{
	Mesos__Internal__SlaveReregisteredMessage *message =
		rig_new(rig, Mesos__Internal__SlaveReregisteredMessage,
			mesos__internal__slave_reregistered_message__descriptor);

	message->agent_id = rig_agent_id(rig);
	rig_detect(rig, RIG_MASTER);
	rig_next(rig);
	rig_message(rig, RIG_MASTER, message);
}

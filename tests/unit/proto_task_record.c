/* Records of tasks as packed bytes: the same as packing a message that is changed alike. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "master/core/tasks/tasks.h"
#include "proto/states.h"
#include "proto/task_record.h"

static struct arena arena;
static struct task_record record;
static Mesos__Task *tree; /* heap */
static struct buf packed;

static void set_up(void)
{
	arena_init(&arena);
	record = (struct task_record){0};
	tree = NULL;
	packed = BUF_INIT;
}

static void tear_down(void)
{
	task_record_free(&record);
	proto_free(tree);
	buf_free(&packed);
	arena_free(&arena);
}

TestSuite(master_task_record, .init = set_up, .fini = tear_down);

static void *from_json(const ProtobufCMessageDescriptor *type, const char *text)
{
	struct err err = {{0}};
	struct json *json = NULL;
	void *message = NULL;

	if (!json_parse(&arena, text, strlen(text), &json, &err))
		message = json_to_proto(type, json, SPELL_V1, &arena, &err);

	cr_assert(message, "%s: %s", text, err.text);
	return message;
}

/* Both the message and its record. */
static void begin(const char *text)
{
	proto_free(tree);
	tree = proto_copy(from_json(&mesos__task__descriptor, text));
	task_record_free(&record);
	task_record_pack(&record, &arena, tree);
}

static struct slice pack_tree(void)
{
	buf_clear(&packed);
	proto_pack(tree, &packed);
	return (struct slice){packed.data, packed.len};
}

static bool same(struct slice a, struct slice b)
{
	return a.len == b.len && !memcmp(a.data, b.data, a.len);
}

static void expect_equal(void)
{
	struct slice bytes = pack_tree(), id = task_record_id(&record);
	struct slice executor = task_record_executor_id(&record);
	struct task_sent sent = task_record_sent(&record);
	Mesos__TaskStatus *last = task_record_last_status(&record, &arena);
	Mesos__Resource **resources;
	struct task_record again;
	size_t count;

	cr_assert(same(task_record_bytes(&record), bytes));
	cr_assert_eq(record.state, tree->state);
	cr_assert_eq(record.status_count, tree->n_statuses);
	cr_assert(slice_eq(id, tree->task_id->value));
	cr_assert(slice_eq(task_record_agent_id(&record), tree->agent_id->value));
	cr_assert_eq(executor.data != NULL, tree->executor_id != NULL);
	cr_assert(!tree->executor_id || slice_eq(executor, tree->executor_id->value));
	cr_assert_eq(sent.known, tree->has_status_update_state);
	cr_assert(!sent.known || sent.state == tree->status_update_state);
	cr_assert_eq(task_record_told_state(&record),
		     sent.known ? tree->status_update_state : tree->state);
	cr_assert(task_record_agrees(&record, tree));
	cr_assert_eq(last != NULL, tree->n_statuses > 0);
	cr_assert(!last || proto_equal(last, tree->statuses[tree->n_statuses - 1]));
	cr_assert_eq(task_record_first_time(&record),
		     tree->n_statuses ? tree->statuses[0]->timestamp : 0);
	task_record_resources(&record, &arena, &count, &resources);
	cr_assert_eq(count, tree->n_resources);
	for (size_t i = 0; i < count; i++)
		cr_assert(proto_equal(resources[i], tree->resources[i]));
	cr_assert_eq(task_record_container(&record, &arena) != NULL, tree->container != NULL);
	cr_assert(proto_equal(task_record_unpack(&record, &arena), tree));
	/* From the store it comes back with the same parts. */
	task_record_adopt(&again, &arena, bytes, tree);
	again.cap = record.cap;
	free(again.bytes);
	again.bytes = record.bytes;
	cr_assert_eq(memcmp(&again, &record, sizeof(record)), 0);
}

/* ---- the same changes to both ------------------------------------------------------------ */

static void set_state(int state)
{
	tree->state = (Mesos__TaskState)state;
	task_record_set_state(&record, (Mesos__TaskState)state);
}

static void add_status(const Mesos__TaskStatus *status)
{
	task_record_status(tree, status);
	task_record_add_status(&record, &arena, status);
}

static void set_sent(int state, const void *uuid, size_t len)
{
	tree->has_status_update_state = true;
	tree->status_update_state = (Mesos__TaskState)state;
	if (tree->has_status_update_uuid)
		free(tree->status_update_uuid.data);
	tree->has_status_update_uuid = true;
	tree->status_update_uuid.data = xmemdup(uuid, len);
	tree->status_update_uuid.len = len;
	task_record_set_sent(&record, (Mesos__TaskState)state, (struct slice){uuid, len});
}

static Mesos__TaskStatus *status_of(int state, const char *more)
{
	const char *name = proto_enum_name(&mesos__task_state__descriptor, state, SPELL_V1);

	return from_json(&mesos__task_status__descriptor,
			 arena_printf(&arena, "{\"task_id\":{\"value\":\"t\"},\"state\":\"%s\"%s}",
				      name, more));
}

#define IDS                                                                                        \
	"\"name\":\"n\",\"task_id\":{\"value\":\"t\"},\"framework_id\":{\"value\":\"f\"},"         \
	"\"agent_id\":{\"value\":\"a\"},\"state\":\"TASK_STAGING\""
#define CPUS "{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1}}"
#define RESOURCES ",\"resources\":[" CPUS "," CPUS "]"
#define LABELS ",\"labels\":{\"labels\":[{\"key\":\"k\",\"value\":\"v\"}]}"
#define LIMITS ",\"limits\":{\"cpus\":{\"value\":2},\"mem\":{\"value\":64}}"
#define CONTAINER ",\"container\":{\"type\":\"MESOS\"}"
#define EXECUTOR ",\"executor_id\":{\"value\":\"e\"}"

Test(master_task_record, the_life_of_a_task)
{
	begin("{" IDS RESOURCES LABELS "}");
	expect_equal();
	for (int state = 0; state < 4; state++) {
		uint8_t uuid[16];

		memset(uuid, state, sizeof(uuid));
		set_sent(state, uuid, sizeof(uuid));
		set_state(state);
		add_status(status_of(state, ",\"timestamp\":1.5,\"data\":\"AAAA\""));
		expect_equal();
	}
	cr_expect_not(task_record_unpack(&record, &arena)->statuses[0]->has_data);
}

/* A hundred of them would be more bytes than 32 bits can count. */
Test(master_task_record, huge_statuses_do_not_add_up)
{
	const size_t size = TASK_RECORD_MAX / 4;
	char *huge = xmalloc(size + 1);
	Mesos__TaskStatus *status = status_of(MESOS__TASK_STATE__TASK_RUNNING, "");
	const Mesos__Task *task;

	memset(huge, 'h', size);
	huge[size] = '\0';
	status->message = huge;
	begin("{" IDS RESOURCES LABELS "}");
	for (int i = 0; i < 9; i++) {
		struct arena scratch = {0};

		status->state =
			i % 2 ? MESOS__TASK_STATE__TASK_RUNNING : MESOS__TASK_STATE__TASK_STARTING;
		task_record_add_status(&record, &scratch, status);
		cr_expect_leq(record.len, TASK_RECORD_MAX);
		arena_free(&scratch);
	}
	/* Alone it is kept, however long; what is around it stays. */
	status->message = xrealloc(huge, TASK_RECORD_MAX + 1);
	memset(status->message, 'h', TASK_RECORD_MAX);
	status->message[TASK_RECORD_MAX] = '\0';
	task_record_add_status(&record, &arena, status);
	task = task_record_unpack(&record, &arena);
	cr_assert_eq(task->n_statuses, 1);
	cr_expect_eq(strlen(task->statuses[0]->message), TASK_RECORD_MAX);
	cr_expect(task->n_resources == 2 && task->labels);
	free(status->message);
}

/* With and without each of the fields around those that change, and with some that the schema
 * does not have. */
static void begin_with(struct rng *rng)
{
	static const char *const parts[] = {EXECUTOR,  RESOURCES,	  LABELS,
					    CONTAINER, ",\"user\":\"u\"", LIMITS};
	static uint8_t unknown[] = {7, 7};
	struct buf text = BUF_INIT;

	buf_puts(&text, "{" IDS);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (rng_next(rng) % 2)
			buf_puts(&text, parts[i]);
	buf_puts(&text, "}");
	begin(text.data);
	buf_free(&text);
	if (rng_next(rng) % 4)
		return;
	tree->base.n_unknown_fields = 1;
	tree->base.unknown_fields = xcalloc(1, sizeof(*tree->base.unknown_fields));
	tree->base.unknown_fields[0] = (ProtobufCMessageUnknownField){
		.tag = rng_next(rng) % 2 ? 9 : 77,
		.wire_type = PROTOBUF_C_WIRE_TYPE_VARINT,
		.len = 1,
		.data = xmemdup(unknown, sizeof(unknown)),
	};
	if (tree->base.unknown_fields[0].tag == 9)
		tree->base.unknown_fields[0].data[0] = 99; /* a state that nobody knows */
	task_record_free(&record);
	task_record_pack(&record, &arena, tree);
}

static void change(struct rng *rng)
{
	char more[400] = "";
	uint8_t uuid[16];

	for (size_t i = 0; i < sizeof(uuid); i++)
		uuid[i] = (uint8_t)rng_next(rng);
	switch (rng_next(rng) % 4) {
	case 0:
		set_state((int)(rng_next(rng) % 14));
		break;
	case 1:
		set_sent((int)(rng_next(rng) % 14), uuid, 1 + rng_next(rng) % sizeof(uuid));
		break;
	default:
		if (rng_next(rng) % 2)
			snprintf(more, sizeof(more), ",\"timestamp\":%d,\"message\":\"%0*d\"",
				 (int)(rng_next(rng) % 1000), 1 + (int)(rng_next(rng) % 300), 7);
		add_status(status_of((int)(rng_next(rng) % 3), more));
	}
}

Test(master_task_record, changed_as_a_message_is)
{
	struct rng rng;

	for (uint64_t seed = 0; seed < 60; seed++) {
		rng_seed(&rng, seed);
		arena_reset(&arena);
		begin_with(&rng);
		expect_equal();
		/* More than it keeps statuses, now and then. */
		for (int i = seed % 10 ? 20 : 400; i; i--) {
			change(&rng);
			expect_equal();
		}
	}
}

/* ---- from a store ------------------------------------------------------------------------ */

static void adopt(const void *bytes, size_t len)
{
	Mesos__Task *task = proto_unpack(&mesos__task__descriptor, &arena, bytes, len, NULL);

	cr_assert(task);
	proto_free(tree);
	tree = proto_copy(task);
	task_record_free(&record);
	task_record_adopt(&record, &arena, (struct slice){bytes, len}, task);
}

Test(master_task_record, bytes_in_another_order_are_put_right)
{
	static const uint8_t late_state[] = {0x30, MESOS__TASK_STATE__TASK_RUNNING};
	static const uint8_t long_state[] = {0x30, 0x81, 0x00};
	static const uint8_t unknown[] = {0x9a, 0x05, 0x01, 'x', 0x48, 0x63};
	struct slice plain;
	struct buf bytes = BUF_INIT;

	begin("{" IDS RESOURCES LABELS ",\"status_update_state\":\"TASK_FAILED\"}");
	plain = pack_tree();
	for (int i = 0; i < 3; i++) {
		const uint8_t *more = i == 0 ? late_state : i == 1 ? long_state : unknown;
		size_t len = i == 0   ? sizeof(late_state)
			     : i == 1 ? sizeof(long_state)
				      : sizeof(unknown);

		buf_clear(&bytes);
		buf_append(&bytes, plain.data, plain.len);
		buf_append(&bytes, more, len);
		adopt(bytes.data, bytes.len);
		expect_equal();
		set_sent(1, "0123", 4);
		add_status(status_of(1, ""));
		expect_equal();
		begin("{" IDS RESOURCES LABELS ",\"status_update_state\":\"TASK_FAILED\"}");
		plain = pack_tree();
	}
	buf_free(&bytes);
}

/* Bytes that are a task though some of them are wrong give a record that is one. */
Test(master_task_record, broken_bytes_that_are_still_a_task)
{
	struct buf bytes = BUF_INIT;
	size_t read = 0;
	struct rng rng;

	rng_seed(&rng, 1);
	begin("{" IDS EXECUTOR RESOURCES LABELS LIMITS CONTAINER "}");
	set_sent(1, "0123456789abcdef", 16);
	add_status(status_of(0, ",\"timestamp\":3"));
	add_status(status_of(1, ",\"timestamp\":4"));
	buf_append(&bytes, record.bytes, record.len);
	for (int i = 0; i < 20000; i++) {
		struct slice plain = {bytes.data, bytes.len};
		uint8_t *copy = arena_memdup(&arena, plain.data, plain.len);
		Mesos__Task *task;

		for (uint64_t k = 1 + rng_next(&rng) % 3; k; k--)
			copy[rng_next(&rng) % plain.len] = (uint8_t)rng_next(&rng);
		task = proto_unpack(&mesos__task__descriptor, &arena, copy, plain.len, NULL);
		if (task) {
			adopt(copy, plain.len);
			read++;
			cr_assert(task_record_unpack(&record, &arena));
			cr_assert(task_record_agrees(&record, tree));
			set_sent(1, "0123", 4);
			add_status(status_of(2, ""));
			cr_assert(task_record_agrees(&record, tree));
			cr_assert(proto_equal(task_record_unpack(&record, &arena), tree));
		}
		arena_reset(&arena);
	}
	cr_expect(read > 1000, "%zu", read);
	buf_free(&bytes);
}

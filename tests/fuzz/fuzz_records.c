/* Records of the stores: a master or an agent that starts with whatever is there. Input is a list
 * of records: which kind, the lengths of the rest of the key and of the value, both. What is
 * refused is left out; with what is taken the core must start, and the master's invariants must
 * hold. */
#include <string.h>

#include "agent/core/agent.h"
#include "tests/fuzz/fuzz_master.h"

static const char *const of_master[] = {
	"agent/",   "unreachable/", "gone/",	    "framework/", "executor/",
	"task/",    "completed/",   "maintenance/", "given/",	  "given-role/",
	"arrival/", "filter/",	    "quota/",	    "weight/",	  "other/",
};
static const char *const of_agent[] = {
	"agent/info",	 "agent/resources",
	"agent/drain",	 "framework/F/info",
	"framework/",	 "executor/F/E/info",
	"executor/F/E/", "executor/",
	"task/F/E/",	 "task/",
	"update/F/",	 "update/",
	"operation/",	 "collect/",
	"removal/",	 "other/",
};
#define KEY_MAX 300
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

struct record {
	char key[KEY_MAX];
	struct slice value;
};

/* The next record of the input; false: there is none. */
static bool next_record(const uint8_t **data, size_t *size, const char *const *kinds, size_t count,
			struct record *out)
{
	size_t key, value;

	if (*size < 4)
		return false;
	key = (*data)[1];
	value = (size_t)(*data)[2] << 8 | (*data)[3];
	key = key < *size - 4 ? key : *size - 4;
	value = value < *size - 4 - key ? value : *size - 4 - key;
	snprintf(out->key, sizeof(out->key), "%s%.*s", kinds[(*data)[0] % count], (int)key,
		 (const char *)*data + 4);
	out->value = (struct slice){(const char *)*data + 4 + key, value};
	*data += 4 + key + value;
	*size -= 4 + key + value;
	return true;
}

static struct slice key_of(const struct record *r)
{
	return (struct slice){r->key, strlen(r->key)};
}

static void start_master(const uint8_t *data, size_t size)
{
	struct game g = {0};
	struct master_options options = game_options(&g);
	char last[KEY_MAX] = "";
	struct record r;
	struct err err = {""};

	master_actions_init(&g.out);
	g.now = 1000 * SECOND;
	g.ticket = UINT64_MAX;
	if (master_create(&options, &g.m, &err) < 0)
		abort();
	while (next_record(&data, &size, of_master, COUNT(of_master), &r)) {
		if (strcmp(r.key, last) <= 0)
			continue;
		memcpy(last, r.key, sizeof(last));
		master_load(g.m, key_of(&r), r.value, &err);
	}
	master_start(g.m, g.now, &g.out);
	game_stored(&g);
	game_pass(&g, 250);
	game_pass(&g, 250);
	game_pass(&g, 250);
	master_destroy(g.m);
	master_actions_free(&g.out);
}

static void start_agent(const uint8_t *data, size_t size)
{
	struct resources total = {0};
	struct rng rng;
	struct agent_options options = {
		.ip = "10.0.0.2",
		.port = 5051,
		.hostname = "host",
		.version = "1.12.0",
		.work_dir = "/w",
		.launcher_program = "/bin/mesita",
		.shapes = resource_shapes_create(),
		.resources = &total,
		.rng = &rng,
		.start_time = 1000 * SECOND,
		.reconfiguration_policy = "additive",
		.registration_backoff_factor = SECOND,
		.executor_registration_timeout = MINUTE,
		.executor_reregistration_timeout = 2 * SECOND,
		.executor_shutdown_grace_period = 5 * SECOND,
		.recovery_timeout = 15 * MINUTE,
		.gc_delay = WEEK,
		.max_completed_executors_per_framework = 5,
	};
	struct agent_event tick = {.type = AGENT_TICK};
	struct agent_actions out;
	char last[KEY_MAX] = "";
	struct record r;
	struct agent *agent;
	struct err err = {""};

	log_setup(LOG_LEVEL_ERROR + 1, 2);
	rng_seed(&rng, 1);
	agent_actions_init(&out);
	resources_parse(options.shapes, "cpus:4;mem:4096;ports:[31000-31999]", "*", &total, &err);
	if (agent_create(&options, &agent, &err) < 0)
		abort();
	while (next_record(&data, &size, of_agent, COUNT(of_agent), &r)) {
		if (strcmp(r.key, last) <= 0)
			continue; /* a store has each key once, in order */
		memcpy(last, r.key, sizeof(last));
		agent_load(agent, key_of(&r), r.value, &err);
	}
	if (agent_start(agent, 1000 * SECOND, false, &out, &err) == 0) {
		for (int i = 1; i < 4; i++) {
			agent_actions_clear(&out);
			agent_step(agent, (1000 + 10 * i) * SECOND, &tick, &out);
		}
	}
	agent_destroy(agent);
	agent_actions_free(&out);
	resources_free(&total);
	resource_shapes_destroy(options.shapes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0] & 1)
		start_agent(data + 1, size - 1);
	else if (size)
		start_master(data + 1, size - 1);
	return 0;
}

/* `mesita ps`: the tasks that the master knows, as a table or as JSON. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "net/http.h"

struct ps_flags {
	const char *master;
	const char *principal, *secret;
	const char *framework;
	bool all;
	bool json;
};

#define AT(member) offsetof(struct ps_flags, member)

static const struct flag ps_table[] = {
	{"master", NULL, FLAG_STRING, AT(master), CLI_DEFAULT_MASTER,
	 "Address of the master, host:port.", NULL, NULL},
	{"framework", NULL, FLAG_STRING, AT(framework), NULL, "Only tasks of this framework.", NULL,
	 NULL},
	{"all", NULL, FLAG_BOOL, AT(all), "false", "Tasks that are over, too.", NULL, NULL},
	{"json", NULL, FLAG_BOOL, AT(json), "false", "One JSON object a line.", NULL, NULL},
	CLI_LOGIN(struct ps_flags),
	{NULL, NULL, FLAG_IGNORED, 0, NULL, NULL, NULL, NULL},
};

/* A table is never longer than this; more tasks are for programs to read. */
#define PS_LIMIT "1000000"

/* The agent's host name and port, or its id when it is not known; `agents` is the answer of
 * /slaves. Those that a restarted master has not seen again yet count, too. */
static const char *agent_name(struct arena *arena, const struct json *agents, const char *id)
{
	const struct json *lists[] = {json_get(agents, "slaves"),
				      json_get(agents, "recovered_slaves")};

	for (size_t n = 0; n < 2; n++) {
		for (size_t i = 0; lists[n] && i < lists[n]->count; i++) {
			const struct json *agent = &lists[n]->items[i];
			const struct json *port = json_get(agent, "port");

			if (!strcmp(json_get_string(agent, "id"), id))
				return arena_printf(arena, "%s:%d",
						    json_get_string(agent, "hostname"),
						    port ? (int)json_number(port) : 0);
		}
	}
	return id;
}

static double resource(const struct json *task, const char *name)
{
	const struct json *value = json_get(json_get(task, "resources"), name);

	return value ? json_number(value) : 0;
}

static void print_json(const struct json *task, const char *agent)
{
	struct buf line = BUF_INIT;
	struct json_writer w;

	jw_init(&w, &line);
	jw_begin_object(&w);
	jw_kv_string(&w, "task", json_get_string(task, "id"));
	jw_kv_string(&w, "name", json_get_string(task, "name"));
	jw_kv_string(&w, "state", json_get_string(task, "state"));
	jw_kv_string(&w, "framework", json_get_string(task, "framework_id"));
	jw_kv_string(&w, "agent", json_get_string(task, "slave_id"));
	jw_kv_string(&w, "address", agent);
	jw_kv_double(&w, "cpus", resource(task, "cpus"));
	jw_kv_double(&w, "mem", resource(task, "mem"));
	jw_end_object(&w);
	puts(line.data);
	buf_free(&line);
}

static void add_row(struct cli_table *table, struct arena *arena, const struct json *task,
		    const char *agent)
{
	cli_table_add(table, json_get_string(task, "id"));
	cli_table_add(table, json_get_string(task, "name"));
	cli_table_add(table, json_get_string(task, "state"));
	cli_table_add(table, agent);
	cli_table_add(table, arena_printf(arena, "%g", resource(task, "cpus")));
	cli_table_add(table, arena_printf(arena, "%g", resource(task, "mem")));
	cli_table_add(table, json_get_string(task, "framework_id"));
}

static void add_header(struct cli_table *table)
{
	static const char *const names[] = {"TASK", "NAME", "STATE",	"AGENT",
					    "CPUS", "MEM",  "FRAMEWORK"};

	cli_table_init(table, sizeof(names) / sizeof(*names));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		cli_table_add(table, names[i]);
}

static void print_tasks(const struct ps_flags *flags, struct arena *arena, const struct json *tasks,
			const struct json *agents)
{
	struct cli_table table;
	size_t shown = 0;

	add_header(&table);
	for (size_t i = 0; tasks && i < tasks->count; i++) {
		const struct json *task = &tasks->items[i];
		const char *agent = agent_name(arena, agents, json_get_string(task, "slave_id"));

		if (!flags->all && cli_state_over(json_get_string(task, "state")))
			continue;
		shown++;
		if (flags->json)
			print_json(task, agent);
		else
			add_row(&table, arena, task, agent);
	}
	if (flags->json || shown == 0)
		table.count = 0;
	cli_table_print(&table);
	if (!flags->json && shown == 0)
		printf("no tasks%s\n",
		       flags->all ? "" : " are running (--all shows those that are over)");
}

int cmd_ps(int argc, char **argv)
{
	struct ps_flags target = {0};
	struct flags flags;
	struct arena arena;
	struct err err = {{0}};
	struct buf path = BUF_INIT;
	const struct json *tasks, *agents = NULL;
	int status = 0;

	if (cli_flags(&flags, ps_table, sizeof(ps_table) / sizeof(*ps_table), &target,
		      "Usage: mesita ps [--master=HOST:PORT] [--all] [--json]", argc, argv,
		      &status))
		return status;
	cli_log_in(target.principal, target.secret);
	if (cli_no_arguments(&flags, "ps") < 0) {
		cli_flags_free(&flags);
		return 1;
	}
	arena_init(&arena);
	buf_puts(&path, "/tasks?order=asc&limit=" PS_LIMIT);
	if (target.framework) {
		buf_puts(&path, "&framework_id=");
		http_encode(&path, target.framework);
	}
	tasks = cli_get_json(&arena, target.master, path.data, &err);
	if (tasks)
		agents = cli_get_json(&arena, target.master, "/slaves", &err);
	if (tasks && agents) {
		print_tasks(&target, &arena, json_get(tasks, "tasks"), agents);
	} else {
		fprintf(stderr, "mesita ps: %s\n", err.text);
		status = 1;
	}
	buf_free(&path);
	arena_free(&arena);
	cli_flags_free(&flags);
	return status;
}

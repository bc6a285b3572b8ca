#include "cli/job/task_place.h"
#include "net/http.h"

#include <string.h>

#include "cli/cli.h"

const struct json *cli_find_task(struct arena *arena, const char *master, const char *id,
				 const char *framework, struct err *err)
{
	struct buf path = BUF_INIT;
	const struct json *tasks;

	buf_puts(&path, "/tasks?limit=1&task_id=");
	http_encode(&path, id);
	if (framework) {
		buf_puts(&path, "&framework_id=");
		http_encode(&path, framework);
	}
	tasks = cli_get_json(arena, master, path.data, err);
	buf_free(&path);
	if (!tasks)
		return NULL;
	tasks = json_get(tasks, "tasks");
	if (tasks && tasks->count > 0)
		return &tasks->items[0];
	err_set(err, ERR_NOT_FOUND, "the master knows no task '%s' (see `mesita ps --all`)", id);
	return NULL;
}

/* The agent's pid says where it listens: "slave(1)@ip:port". */
const char *cli_agent_address(struct arena *arena, const char *master, const char *agent_id,
			      struct err *err)
{
	struct buf path = BUF_INIT;
	const struct json *slaves;
	const char *at;

	buf_puts(&path, "/slaves?slave_id=");
	http_encode(&path, agent_id);
	slaves = cli_get_json(arena, master, path.data, err);
	buf_free(&path);
	slaves = slaves ? json_get(slaves, "slaves") : NULL;
	if (!slaves)
		return NULL;
	at = slaves->count > 0 ? strchr(json_get_string(&slaves->items[0], "pid"), '@') : NULL;
	if (!at)
		err_set(err, ERR_NOT_FOUND, "agent %s of the task is not registered now", agent_id);
	return at ? at + 1 : NULL;
}

const struct json *cli_task_container(const struct json *task)
{
	static const struct json none = {.type = JSON_OBJECT};
	const struct json *statuses = json_get(task, "statuses"), *found = &none;

	for (size_t i = 0; statuses && i < statuses->count; i++) {
		const struct json *container = json_get(&statuses->items[i], "container_status");
		const struct json *id = container ? json_get(container, "container_id") : NULL;

		if (id)
			found = id;
	}
	return found;
}

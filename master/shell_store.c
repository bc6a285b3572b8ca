/* The shell's side of the store: batches of the core go there, and what has become of them
 * comes back as an event.
 *
 * Failure: a store that cannot write, or that counts otherwise than the core, ends the
 * process: what was not written was not acknowledged.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "master/shell.h"

/* ---- writing ------------------------------------------------------------- */

void shell_store_write(struct shell *shell, const struct master_action *action)
{
	if (shell->write_count < SHELL_WRITES_TIMED)
		shell->writes[shell->write_count++] =
			(struct shell_write){action->store.ticket, (int64_t)uv_hrtime()};
	shell->stores = store_write(shell->store, action->store.class, action->store.ops,
				    action->store.count);
	if (action->store.class == STORE_REGISTRY)
		shell->synced_store = shell->stores;
	if (shell->stores != action->store.ticket) {
		log_error("the store's numbering and the core's differ: %llu, %llu",
			  (unsigned long long)shell->stores,
			  (unsigned long long)action->store.ticket);
		shell_stop(shell, 1);
	}
}

void shell_store_last(struct shell *shell)
{
	master_actions_clear(&shell->actions);
	master_finish(shell->core, clock_now(), &shell->actions);
	for (size_t i = 0; i < shell->actions.count; i++) {
		if (shell->actions.items[i].type == MASTER_STORE)
			shell_store_write(shell, &shell->actions.items[i]);
	}
}

/* ---- what was written ---------------------------------------------------- */

static void store_notify(void *context)
{
	struct shell *shell = context;

	uv_async_send(&shell->stored);
}

static void time_writes(struct shell *shell, uint64_t durable)
{
	size_t done = 0;

	for (; done < shell->write_count && shell->writes[done].ticket <= durable; done++)
		timing_add(&shell->store_timing, (int64_t)uv_hrtime(),
			   shell_ms_since(shell->writes[done].since));
	shell->write_count -= done;
	memmove(shell->writes, shell->writes + done, shell->write_count * sizeof(*shell->writes));
}

void shell_store_told(uv_async_t *async)
{
	struct shell *shell = async->data;
	struct master_event event = {.type = MASTER_STORED};
	const char *failure = store_failed(shell->store);
	uint64_t durable, ticket;

	if (failure) {
		log_error("the registry cannot be written: %s", failure);
		shell_stop(shell, 1);
		return;
	}
	/* What need not be synced counts once it is written: it outlives us. */
	durable = store_durable(shell->store);
	ticket = durable >= shell->synced_store ? store_applied(shell->store) : durable;
	if (ticket <= shell->stored_ticket)
		return;
	event.stored.ticket = shell->stored_ticket = ticket;
	time_writes(shell, ticket);
	shell_step(shell, &event);
}

/* ---- reading -------------------------------------------------------------- */

static int shell_store_load_pair(void *context, struct slice key, struct slice value)
{
	struct shell *shell = context;
	struct err err;
	int rv = master_load(shell->core, key, value, &err);

	if (rv < 0)
		log_error("the registry holds a record that cannot be read: %s", err.text);
	return rv;
}

/* Most records of a busy master live for seconds: they die in memory. */
#define STORE_BUFFER (4 * 1024 * 1024)

int shell_store_open(struct shell *shell, struct err *err)
{
	bool in_memory = !strcmp(shell->flags->registry, "in_memory");
	struct store_options options = {
		.backend = in_memory ? "memory" : "leveldb",
		.repair = shell->flags->repair_store,
		.buffer = STORE_BUFFER,
		.notify = store_notify,
		.context = shell,
	};
	char *path = in_memory ? NULL : xprintf("%s/registry", shell->flags->work_dir);
	int64_t begin = (int64_t)uv_hrtime();
	int rv;

	options.path = path;
	rv = store_open(&options, &shell->store, err);
	free(path);
	if (rv == 0)
		rv = store_load(shell->store, "", shell_store_load_pair, shell, err);
	shell->fetch_ms = shell_ms_since(begin);
	return rv;
}

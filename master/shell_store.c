/* The shell's side of the stores: batches of the core go there, and what has become of them
 * comes back as an event. Each line of the core is a store of its own, in work_dir.
 *
 * Failure: a store that cannot write, or that counts otherwise than the core, ends the
 * process: what was not written was not acknowledged.
 */
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/time/clock.h"
#include "master/shell.h"
#include "master/store_lines.h"

/* ---- writing ------------------------------------------------------------- */

/* Of several masters, what is written behind is in memory, and with those that follow. */
static bool is_warm_table(const struct shell *shell, enum store_line line)
{
	return line == LINE_WARM && shell->flags->registry_kind == REGISTRY_ZOOKEEPER;
}

static uint64_t write_warm_table(struct shell *shell, const struct store_op *ops, size_t count)
{
	for (size_t i = 0; i < count; i++)
		warm_table_apply(&shell->warm, &ops[i]);
	shell->warm_last++;
	if (!shell->steps.over) {
		if (shell->followers)
			followers_tell(shell->followers, ops, count, shell->warm_last);
		uv_async_send(&shell->stored);
	}
	return shell->warm_last;
}

/* A change of the table that nobody waits for. */
static void tell_unawaited(void *context, const struct store_op *ops, size_t count)
{
	struct shell *shell = context;

	if (shell->followers)
		followers_tell(shell->followers, ops, count, shell->warm_last);
}

void shell_store_mark(struct shell *shell)
{
	char mark[STORE_MARK_MAX];
	uint64_t number = store_mark(shell->stores[LINE_REGISTRY], mark);

	registry_copy_durable(shell->registry_copy, number, mark, tell_unawaited, shell);
}

/* What those have, too, that are waited for. */
static uint64_t warm_durable(const struct shell *shell)
{
	return shell->followers ? followers_durable(shell->followers) : shell->warm_last;
}

uint64_t shell_store_write(void *context, enum store_line line, enum store_class class,
			   const struct store_op *ops, size_t count)
{
	struct shell *shell = context;
	uint64_t number;

	if (is_warm_table(shell, line))
		return write_warm_table(shell, ops, count);
	number = store_write(shell->stores[line], class, ops, count);
	if (line == LINE_REGISTRY && shell->registry_copy)
		registry_copy_wrote(shell->registry_copy, number, ops, count);
	if (line == LINE_REGISTRY && shell->write_count < SHELL_WRITES_TIMED)
		shell->writes[shell->write_count++] =
			(struct shell_write){number, (int64_t)uv_hrtime()};
	return number;
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

uint64_t shell_store_queued(const struct shell *shell, enum store_line line)
{
	if (is_warm_table(shell, line))
		return shell->warm_last - warm_durable(shell);
	/* Who does not lead has none. */
	return shell->stores[line]
		       ? shell->steps.lines[line].last - store_durable(shell->stores[line])
		       : 0;
}

static void tell_line(struct shell *shell, enum store_line line)
{
	const char *failure;
	uint64_t durable;

	if (is_warm_table(shell, line)) {
		durable = warm_durable(shell);
		master_steps_stored(&shell->steps, line, durable, durable);
		return;
	}
	if (!shell->stores[line])
		return;
	failure = store_failed(shell->stores[line]);
	if (failure) {
		log_error("the master's state cannot be written: %s", failure);
		shell_stop(shell, 1);
		return;
	}
	/* First what is durable: what is synced between the two is applied, too. */
	durable = store_durable(shell->stores[line]);
	if (line == LINE_REGISTRY)
		time_writes(shell, durable);
	if (shell->followers && line == LINE_REGISTRY) {
		shell_store_mark(shell);
		followers_noted(shell->followers, store_noted(shell->stores[line]));
	}
	if (master_steps_stored(&shell->steps, line, store_applied(shell->stores[line]), durable))
		uv_async_send(&shell->stored);
}

void shell_store_told(uv_async_t *async)
{
	struct shell *shell = async->data;

	for (int i = 0; i < STORE_LINES && !shell->loading && !shell->steps.over; i++)
		tell_line(shell, i);
}

/* ---- opening and reading ---------------------------------------------------- */

/* Most records that are written behind live for seconds: they die in memory. */
#define WARM_BUFFER (4 * 1024 * 1024)

/* The state of a thread that opens and reads the stores. */
struct shell_loading {
	uv_work_t work;
	struct shell *shell;
	void (*done)(struct shell *shell, const struct err *err);
	int64_t begin; /* uv_hrtime */
	int rv;
	struct err err;
	atomic_bool given_up;
};

static int load_pair(void *context, struct slice key, struct slice value)
{
	struct shell_loading *loading = context;

	if (atomic_load(&loading->given_up))
		return err_set(&loading->err, ERR_IO, "the master was ended meanwhile");
	if (master_load(loading->shell->steps.core, key, value, &loading->err) < 0)
		return err_wrap(&loading->err, ERR_INVALID,
				"the store holds a record that cannot be read");
	return 0;
}

static int load_warm_pair(void *context, struct slice key, struct slice value)
{
	return registry_copy_is(key) ? 0 : load_pair(context, key, value);
}

/* Those that follow are told of it, too. */
static int load_registry_pair(void *context, struct slice key, struct slice value)
{
	struct shell_loading *loading = context;

	if (!store_is_cached(loading->shell->stores[LINE_REGISTRY]))
		registry_copy_put(&loading->shell->warm, key, value);
	return load_pair(context, key, value);
}

/* What was copied counts if it is all that the master before this one acted on. Otherwise it may be
 * over long since, and this one starts without. */
static void choose_warm_table(struct shell *shell)
{
	const char *note = store_note_before(shell->stores[LINE_REGISTRY]);

	if (shell->warm_copy && follow_note_names(note, shell->warm_copy)) {
		log_info("going on with %zu records of the master before",
			 warm_table_count(&shell->warm));
		return;
	}
	if (*note)
		log_info("there is no complete copy of what the master before knew: frameworks and "
			 "tasks are known when they come back");
	registry_copy_keep(&shell->warm);
}

static int open_in_zookeeper(struct shell *shell, struct store *out[STORE_LINES], struct err *err)
{
	const struct master_flags *f = shell->flags;
	char *path = xprintf("%s.mesita/registry", f->group.path);
	struct store_cache cache = {.mark = {NULL, 0}};
	const struct store_options registry = {
		.backend = "zookeeper",
		.path = path,
		.zookeeper = &f->group,
		.zookeeper_timeout_ms = (int)(f->zk_session_timeout / MILLISECOND),
		.patience = f->registry_store_timeout,
		.cache = &cache,
		.given_up = &shell->gives_up,
		.notify = store_notify,
		.context = shell,
	};
	int rv;

	/* The mark that is in half of a copy says nothing of the other half. */
	if (shell->warm_copy)
		registry_copy_offer(&shell->warm, &cache);
	rv = store_open(&registry, &out[LINE_REGISTRY], err);
	if (rv == 0 && store_is_cached(out[LINE_REGISTRY]))
		log_info("the copy of the registry is what ZooKeeper has");
	else if (rv == 0)
		registry_copy_drop(&shell->warm);
	if (rv == 0)
		choose_warm_table(shell);
	free(path);
	return rv;
}

static int open_stores(struct shell *shell, struct store *out[STORE_LINES], struct err *err)
{
	static const char *const names[STORE_LINES] = {
		[LINE_WARM] = "warm",
		[LINE_REGISTRY] = "registry",
	};
	const struct master_flags *f = shell->flags;
	bool in_memory = f->registry_kind == REGISTRY_MEMORY;
	struct store_options options[STORE_LINES];
	char *paths[STORE_LINES];
	int rv;

	if (f->registry_kind == REGISTRY_ZOOKEEPER)
		return open_in_zookeeper(shell, out, err);
	for (int i = 0; i < STORE_LINES; i++) {
		paths[i] = in_memory ? NULL : xprintf("%s/%s", f->work_dir, names[i]);
		options[i] = (struct store_options){
			.backend = in_memory ? "memory" : "leveldb",
			.path = paths[i],
			.repair = f->repair_store,
			.buffer = i == LINE_WARM ? WARM_BUFFER : 0,
			.notify = store_notify,
			.context = shell,
		};
	}
	rv = store_lines_open(options, out, err);
	for (int i = 0; i < STORE_LINES; i++)
		free(paths[i]);
	return rv;
}

static void load_stores(uv_work_t *work)
{
	struct shell_loading *loading = work->data;
	struct shell *shell = loading->shell;
	bool has_table = is_warm_table(shell, LINE_WARM);

	loading->rv = open_stores(shell, shell->stores, &loading->err);
	for (int i = 0; i < STORE_LINES && loading->rv == 0; i++) {
		if (is_warm_table(shell, i))
			loading->rv = warm_table_each(&shell->warm, load_warm_pair, loading);
		else
			loading->rv = store_load(shell->stores[i], "",
						 has_table ? load_registry_pair : load_pair,
						 loading, &loading->err);
	}
}

static void loaded_cb(uv_work_t *work, int status)
{
	struct shell_loading *loading = work->data;
	struct shell *shell = loading->shell;

	(void)status;
	shell->loading = NULL;
	shell->fetch_ms = shell_ms_since(loading->begin);
	if (!shell->steps.over)
		loading->done(shell, loading->rv < 0 ? &loading->err : NULL);
	free(loading);
}

void shell_store_open(struct shell *shell, void (*done)(struct shell *shell, const struct err *err))
{
	struct shell_loading *loading = xcalloc(1, sizeof(*loading));

	*loading = (struct shell_loading){
		.work.data = loading,
		.shell = shell,
		.done = done,
		.begin = (int64_t)uv_hrtime(),
	};
	shell->loading = loading;
	/* What is read stays: in the heap of the loop, not in one of the thread's own, of which
	 * what reading leaves behind would be lost to everybody. */
	mallopt(M_ARENA_MAX, 1);
	uv_queue_work(&shell->loop, &loading->work, load_stores, loaded_cb);
}

void shell_store_close(struct shell *shell)
{
	if (shell->loading) {
		atomic_store(&shell->loading->given_up, true);
		while (shell->loading)
			uv_run(&shell->loop, UV_RUN_ONCE);
	} else if (shell->stores[LINE_REGISTRY] && shell->steps.core &&
		   master_ready(shell->steps.core)) {
		master_steps_finish(&shell->steps);
	}
	for (int i = 0; i < STORE_LINES; i++)
		store_close(shell->stores[i]);
	registry_copy_free(shell->registry_copy);
	warm_table_clear(&shell->warm);
	free(shell->warm_copy);
}

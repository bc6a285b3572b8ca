/* See image_store.h. A want is looked for on a thread; if it is not there it joins the pull of its
 * name, or begins one. */
#include "agent/containers/image/image_store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/containers/image/image_files.h"
#include "agent/containers/posix/process_watch.h"
#include "agent/containers/posix/spawn.h"
#include "base/list.h"
#include "base/log/log.h"
#include "base/time/clock.h"

#define LINE_MAX_BYTES 2000

extern char **environ;

struct image_want {
	struct slow_job slow;
	struct list link; /* of the pull that it waits for */
	struct image_store *store;
	char *name;
	bool cached;
	bool there;
	bool looking;
	struct buf access;
	void (*ready)(void *context, const char *failure); /* NULL: canceled */
	void *context;
};

struct pull_process {
	struct list link;
	struct image_store *store;
	char *name;
	struct list wants;
	pid_t pid;
	struct process_watch *watch;
	uv_pipe_t output;
	struct buf line; /* what came of the next one */
	struct buf last;
	char data[4096];
	bool over; /* the process is; else its output goes on */
	bool silent;
	int status;
};

struct prune_job {
	struct slow_job slow;
	struct image_store *store;
	char **excluded; /* heap; NULL: those of the options */
	bool if_full;	 /* only if there is not enough room */
	int count;
	struct err err;
	void (*done)(void *context, int count, const char *failure);
	void *context;
};

struct image_store {
	struct image_store_options options;
	struct list pulls;
	struct slow_lane lane; /* of removals */
	uv_timer_t timer;
	int jobs;
	bool closing, closed;
};

static void store_add_job(struct image_store *store, struct slow_lane *lane, struct slow_job *slow)
{
	store->jobs++;
	slow_add(store->options.pool, lane, slow);
}

/* With its last job, or with the loop's hold on it. */
static void store_end_job(struct image_store *store)
{
	if (!--store->jobs && store->closed)
		free(store);
}

/* ---- wants -------------------------------------------------------------------------- */

static void want_free(struct image_want *want)
{
	list_remove(&want->link);
	buf_free(&want->access);
	free(want->name);
	free(want);
}

static void want_answer(struct image_want *want, const char *failure)
{
	void (*ready)(void *context, const char *failure) = want->ready;
	void *context = want->context;

	want_free(want);
	if (ready)
		ready(context, failure);
}

static void start_pull(struct image_want *want);

static void look_work(struct slow_job *slow)
{
	struct image_want *want = container_of(slow, struct image_want, slow);

	want->there = want->cached && image_is_there(want->store->options.directory, want->name);
}

static void look_done(struct slow_job *slow, bool canceled)
{
	struct image_want *want = container_of(slow, struct image_want, slow);
	struct image_store *store = want->store;

	want->looking = false;
	if (canceled || !want->ready || want->store->closing)
		want_free(want);
	else if (want->there)
		want_answer(want, NULL);
	else
		start_pull(want);
	store_end_job(store);
}

struct image_want *image_store_want(struct image_store *store, const char *name, bool cached,
				    struct slice access,
				    void (*ready)(void *context, const char *failure),
				    void *context)
{
	struct image_want *want = xcalloc(1, sizeof(*want));

	list_init(&want->link);
	want->store = store;
	want->name = xstrdup(name);
	want->cached = cached;
	buf_append(&want->access, access.data, access.len);
	want->ready = ready;
	want->context = context;
	want->looking = true;
	want->slow.work = look_work;
	want->slow.done = look_done;
	store_add_job(store, NULL, &want->slow);
	return want;
}

void image_want_cancel(struct image_want *want)
{
	want->ready = NULL;
	if (!want->looking)
		want_free(want);
}

/* ---- pulls ---------------------------------------------------------------------------- */

static void pull_closed_cb(uv_handle_t *handle)
{
	struct pull_process *pull = handle->data;

	buf_free(&pull->line);
	buf_free(&pull->last);
	free(pull->name);
	free(pull);
}

static void pull_finish(struct pull_process *pull)
{
	struct image_want *want, *next;
	char *failure = NULL;

	if (!pull->over || !pull->silent)
		return;
	list_remove(&pull->link);
	if (pull->status)
		failure = xprintf("Failed to pull image '%s': %s", pull->name,
				  pull->last.len ? pull->last.data : "the process was killed");
	list_for_each (want, next, &pull->wants, link)
		want_answer(want, failure);
	free(failure);
	uv_close((uv_handle_t *)&pull->output, pull_closed_cb);
}

static void pull_ended_cb(void *context)
{
	struct pull_process *pull = context;

	pull->watch = NULL;
	while (waitpid(pull->pid, &pull->status, 0) < 0 && errno == EINTR)
		;
	pull->over = true;
	pull_finish(pull);
}

/* Log lines without what logs begin with. */
static void take_line(struct pull_process *pull)
{
	const char *text = pull->line.data, *bracket = strstr(text, "] ");

	if (bracket)
		text = bracket + 2;
	log_info("Image '%s': %s", pull->name, text);
	pull->last.len = 0;
	buf_append(&pull->last, text, strlen(text) + 1);
	pull->line.len = 0;
}

static void take_output(struct pull_process *pull, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool over = data[i] == '\n';

		if (!over && pull->line.len < LINE_MAX_BYTES)
			buf_putc(&pull->line, data[i]);
		if (over && pull->line.len) {
			buf_putc(&pull->line, '\0');
			take_line(pull);
		}
	}
}

static void pull_alloc_cb(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct pull_process *pull = handle->data;

	*buf = uv_buf_init(pull->data, sizeof(pull->data));
}

static void pull_read_cb(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
	struct pull_process *pull = stream->data;

	if (got > 0)
		take_output(pull, buf->base, (size_t)got);
	if (got >= 0)
		return;
	uv_read_stop(stream);
	pull->silent = true;
	pull_finish(pull);
}

static int open_input(const struct image_want *want)
{
	const char *general = want->store->options.access;
	const char *text = want->access.len ? want->access.data : general;
	size_t len = want->access.len ? want->access.len : general ? strlen(general) : 0;
	int fd = memfd_create("access", MFD_CLOEXEC);

	if (fd >= 0 &&
	    (write(fd, text ? text : "", len) != (ssize_t)len || lseek(fd, 0, SEEK_SET))) {
		close(fd);
		return -1;
	}
	return fd;
}

static pid_t spawn_pull(const struct image_want *want, int output, struct err *err)
{
	const struct image_store_options *o = &want->store->options;
	char *arguments[] = {
		"mesita",
		"pull",
		xprintf("--store=%s", o->directory),
		xprintf("--registry=%s", o->registry),
		xprintf("--stall_timeout=%lldns", (long long)o->stall_timeout),
		xprintf("--image=%s", want->name),
		NULL,
	};
	struct spawn spawn = {
		.program = o->program,
		.arguments = arguments,
		.environment = environ,
		.directory = "/",
		.input = open_input(want),
		.output = output,
		.error = output,
	};
	pid_t pid = spawn.input < 0
			    ? (pid_t)err_set(err, ERR_IO, "No file in memory: %s", strerror(errno))
			    : spawn_process(&spawn, err);

	if (spawn.input >= 0)
		close(spawn.input);
	for (size_t i = 2; arguments[i]; i++)
		free(arguments[i]);
	return pid;
}

static struct pull_process *begin_pull(struct image_want *want, struct err *err)
{
	struct image_store *store = want->store;
	struct pull_process *pull;
	int pair[2];
	pid_t pid;

	if (pipe2(pair, O_CLOEXEC)) {
		err_set(err, ERR_IO, "Failed to create a pipe: %s", strerror(errno));
		return NULL;
	}
	pid = spawn_pull(want, pair[1], err);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return NULL;
	}
	log_info("Pulling image '%s'", want->name);
	pull = xcalloc(1, sizeof(*pull));
	pull->store = store;
	pull->name = xstrdup(want->name);
	pull->pid = pid;
	list_init(&pull->wants);
	list_append(&store->pulls, &pull->link);
	uv_pipe_init(store->options.loop, &pull->output, 0);
	pull->output.data = pull;
	uv_pipe_open(&pull->output, pair[0]);
	uv_read_start((uv_stream_t *)&pull->output, pull_alloc_cb, pull_read_cb);
	pull->watch = process_watch_start(store->options.loop, pid, 0, pull_ended_cb, pull);
	return pull;
}

/* One with an access of its own is nobody else's. */
static struct pull_process *find_pull(const struct image_want *want)
{
	struct pull_process *pull, *next;

	if (want->access.len)
		return NULL;
	list_for_each (pull, next, &want->store->pulls, link)
		if (!strcmp(pull->name, want->name))
			return pull;
	return NULL;
}

static void start_pull(struct image_want *want)
{
	struct err err = {""};
	struct pull_process *pull = find_pull(want);

	if (!pull)
		pull = begin_pull(want, &err);
	if (pull)
		list_append(&pull->wants, &want->link);
	else
		want_answer(want, err.text);
}

bool image_store_owns(const struct image_store *store, pid_t pid)
{
	struct pull_process *pull, *next;

	list_for_each (pull, next, (struct list *)&store->pulls, link)
		if (pull->pid == pid && !pull->over)
			return true;
	return false;
}

/* ---- removal --------------------------------------------------------------------------- */

static bool is_full(const struct image_store_options *options)
{
	struct statvfs info;

	return !statvfs(options->directory, &info) && info.f_blocks &&
	       (double)info.f_bavail / (double)info.f_blocks < options->headroom;
}

static void prune_work(struct slow_job *slow)
{
	struct prune_job *job = container_of(slow, struct prune_job, slow);
	const struct image_store_options *options = &job->store->options;

	if (!job->if_full || is_full(options))
		job->count =
			image_prune(options->directory,
				    job->excluded ? job->excluded : options->excluded, &job->err);
}

static void prune_done(struct slow_job *slow, bool canceled)
{
	struct prune_job *job = container_of(slow, struct prune_job, slow);

	if (job->count > 0)
		log_info("Removed %d images that nobody uses", job->count);
	if (job->err.text[0])
		log_warning("Cannot remove images: %s", job->err.text);
	if (job->done && !canceled && !job->store->closing)
		job->done(job->context, job->count, job->err.text[0] ? job->err.text : NULL);
	store_end_job(job->store);
	for (char **name = job->excluded; name && *name; name++)
		free(*name);
	free(job->excluded);
	free(job);
}

static struct prune_job *new_prune(struct image_store *store)
{
	struct prune_job *job = xcalloc(1, sizeof(*job));

	job->store = store;
	job->slow.work = prune_work;
	job->slow.done = prune_done;
	return job;
}

void image_store_prune(struct image_store *store, char *const *excluded,
		       void (*done)(void *context, int count, const char *failure), void *context)
{
	struct prune_job *job = new_prune(store);
	size_t count = 0;

	while (excluded && excluded[count])
		count++;
	if (excluded) {
		job->excluded = xcalloc(count + 1, sizeof(*job->excluded));
		for (size_t i = 0; i < count; i++)
			job->excluded[i] = xstrdup(excluded[i]);
	}
	job->done = done;
	job->context = context;
	store_add_job(store, &store->lane, &job->slow);
}

static void prune_timer_cb(uv_timer_t *timer)
{
	struct image_store *store = timer->data;
	struct prune_job *job = new_prune(store);

	job->if_full = true;
	store_add_job(store, &store->lane, &job->slow);
}

/* ---- life -------------------------------------------------------------------------------- */

static void sweep_work(struct slow_job *slow)
{
	struct prune_job *job = container_of(slow, struct prune_job, slow);

	image_sweep(job->store->options.directory);
}

struct image_store *image_store_create(const struct image_store_options *options)
{
	struct image_store *store = xcalloc(1, sizeof(*store));
	struct prune_job *sweep = new_prune(store);
	uint64_t interval = (uint64_t)(options->interval / MILLISECOND);

	store->options = *options;
	list_init(&store->pulls);
	slow_lane_init(&store->lane);
	uv_timer_init(options->loop, &store->timer);
	store->timer.data = store;
	if (interval)
		uv_timer_start(&store->timer, prune_timer_cb, interval, interval);
	sweep->slow.work = sweep_work;
	store_add_job(store, &store->lane, &sweep->slow);
	return store;
}

static void store_closed_cb(uv_handle_t *handle)
{
	struct image_store *store = handle->data;

	store->closed = true;
	if (!store->jobs)
		free(store);
}

/* Those who wait were told that nobody answers any more. */
void image_store_close(struct image_store *store)
{
	struct pull_process *pull, *next;

	store->closing = true;
	list_for_each (pull, next, &store->pulls, link) {
		kill(pull->pid, SIGKILL);
		if (!pull->over)
			waitpid(pull->pid, NULL, 0);
		if (pull->watch)
			process_watch_stop(pull->watch);
		list_remove(&pull->link);
		uv_close((uv_handle_t *)&pull->output, pull_closed_cb);
	}
	uv_close((uv_handle_t *)&store->timer, store_closed_cb);
}

const char *image_store_directory(const struct image_store *store)
{
	return store->options.directory;
}

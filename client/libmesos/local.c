/* See local.h.
 *
 * No libuv process: its handler of SIGCHLD would be the program's. The child is asked after by a
 * timer. It dies with the loop's thread (PR_SET_PDEATHSIG), and its guardian with it. */
#include "client/libmesos/local.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json/json.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"

#define WATCH_MS 20
#define KILL_MS 10000 /* a cluster that does not end by then is killed */
#define LINE_MAX_BYTES (64 * 1024)

struct local_cluster {
	uv_pipe_t output;
	uv_timer_t watch;
	pid_t pid;
	struct buf line;
	char chunk[4096];
	void (*ready)(void *context, const char *master, const char *why); /* NULL once called */
	void (*ended)(void *context);
	void *context;
	uint64_t kill_time;
	int open_handles;
};

static char *find_program(void)
{
	const char *named = getenv("MESITA"), *slash;
	static const char *const places[] = {"mesita", "../bin/mesita"};
	Dl_info info;

	if (named && *named)
		return xstrdup(named);
	if (dladdr((void *)local_cluster_start, &info) && (slash = strrchr(info.dli_fname, '/'))) {
		for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
			char *path = xprintf("%.*s/%s", (int)(slash - info.dli_fname),
					     info.dli_fname, places[i]);

			if (access(path, X_OK) == 0)
				return path;
			free(path);
		}
	}
	return xstrdup("mesita");
}

/* In the child of a program with many threads: only what is safe in signal handlers. */
static _Noreturn void become(char *const *argv, int output, pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(output, STDOUT_FILENO);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == parent)
		execvp(argv[0], argv);
	_exit(127);
}

static int start_child(struct local_cluster *c, int *output, struct err *err)
{
	char *program = find_program();
	char *argv[] = {program, "local", "--port=0", "--json", NULL};
	pid_t self = getpid();
	int ends[2], rv = 0;

	if (pipe2(ends, O_CLOEXEC) < 0) {
		free(program);
		return err_set(err, ERR_IO, "pipe: %s", strerror(errno));
	}
	c->pid = fork();
	if (c->pid == 0)
		become(argv, ends[1], self);
	if (c->pid < 0)
		rv = err_set(err, ERR_IO, "cannot start %s: %s", program, strerror(errno));
	close(ends[1]);
	if (rv < 0)
		close(ends[0]);
	*output = ends[0];
	free(program);
	return rv;
}

static void local_tell(struct local_cluster *c, const char *master, const char *why)
{
	void (*ready)(void *context, const char *master, const char *why) = c->ready;

	c->ready = NULL;
	if (ready)
		ready(c->context, master, why);
}

static void take_line(struct local_cluster *c)
{
	struct arena arena;
	struct json *json;
	struct err err;
	const char *master = "";

	arena_init(&arena);
	if (json_parse(&arena, c->line.data, c->line.len, &json, &err) == 0)
		master = json_get_string(json, "master");
	if (*master)
		local_tell(c, master, NULL);
	else
		local_tell(c, NULL, "`mesita local` did not say where its master is");
	arena_free(&arena);
}

static void alloc_cb(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
	struct local_cluster *c = handle->data;

	*out = uv_buf_init(c->chunk, sizeof(c->chunk));
}

static void local_read_cb(uv_stream_t *stream, ssize_t count, const uv_buf_t *bytes)
{
	struct local_cluster *c = stream->data;

	if (count < 0) {
		uv_read_stop(stream);
		local_tell(c, NULL,
			   "`mesita local` did not start; is mesita in the PATH, or in $MESITA?");
		return;
	}
	if (!c->ready || c->line.len > LINE_MAX_BYTES)
		return;
	buf_append(&c->line, bytes->base, (size_t)count);
	if (memchr(c->line.data, '\n', c->line.len))
		take_line(c);
}

static void local_closed_cb(uv_handle_t *handle)
{
	struct local_cluster *c = handle->data;

	if (--c->open_handles > 0)
		return;
	buf_free(&c->line);
	if (c->ended)
		c->ended(c->context);
	free(c);
}

/* Waits for the end of a child that was asked to end. */
static void local_watch_cb(uv_timer_t *timer)
{
	struct local_cluster *c = timer->data;
	bool gone = waitpid(c->pid, NULL, WNOHANG) != 0;

	if (!gone && uv_now(timer->loop) >= c->kill_time)
		kill(c->pid, SIGKILL);
	if (!gone)
		return;
	c->open_handles = 2;
	uv_close((uv_handle_t *)&c->output, local_closed_cb);
	uv_close((uv_handle_t *)&c->watch, local_closed_cb);
}

struct local_cluster *local_cluster_start(uv_loop_t *loop,
					  void (*ready)(void *context, const char *master,
							const char *why),
					  void *context)
{
	struct local_cluster *c = xcalloc(1, sizeof(*c));
	struct err err;
	int output = -1;

	if (start_child(c, &output, &err) < 0) {
		free(c);
		ready(context, NULL, err.text);
		return NULL;
	}
	c->ready = ready;
	c->context = context;
	uv_pipe_init(loop, &c->output, 0);
	uv_timer_init(loop, &c->watch);
	c->output.data = c->watch.data = c;
	uv_pipe_open(&c->output, output);
	uv_read_start((uv_stream_t *)&c->output, alloc_cb, local_read_cb);
	return c;
}

void local_cluster_stop(struct local_cluster *c, void (*ended)(void *context))
{
	c->ready = NULL;
	c->ended = ended;
	kill(c->pid, SIGTERM);
	c->kill_time = uv_now(c->watch.loop) + KILL_MS;
	uv_timer_start(&c->watch, local_watch_cb, 0, WATCH_MS);
}

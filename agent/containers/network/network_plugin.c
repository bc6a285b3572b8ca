/* Running a plugin: its configuration goes in by standard input, its result comes by standard
 * output, what is done by the environment. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/containers/network/network_internal.h"
#include "agent/containers/posix/spawn.h"

#define PLUGIN_SECONDS 60
#define TOLD_MAX 300 /* bytes of what a plugin says that end up in a message */

/* What was given and what came, in files of memory, which hold up nobody. */
struct streams {
	int input, output, error;
};

static void streams_close(struct streams *streams)
{
	close(streams->input);
	close(streams->output);
	close(streams->error);
}

static int streams_open(struct streams *streams, struct slice input, struct err *err)
{
	streams->input = memfd_create("input", MFD_CLOEXEC);
	streams->output = memfd_create("output", MFD_CLOEXEC);
	streams->error = memfd_create("error", MFD_CLOEXEC);
	if (streams->error >= 0 &&
	    write(streams->input, input.data, input.len) == (ssize_t)input.len &&
	    lseek(streams->input, 0, SEEK_SET) == 0)
		return 0;
	err_set(err, ERR_IO, "No file in memory: %s", strerror(errno));
	streams_close(streams);
	return ERR_IO;
}

/* At most so much of it. */
static size_t streams_read(int fd, char *text, size_t max)
{
	size_t len = 0;
	ssize_t got;

	lseek(fd, 0, SEEK_SET);
	while (len < max && (got = read(fd, text + len, max - len)) > 0)
		len += (size_t)got;
	return len;
}

/* ---- the process ---------------------------------------------------------------- */

/* The first of the directories that has it, in the arena. */
static char *find_plugin(struct arena *arena, const char *directories, const char *type)
{
	while (*type && !strchr(type, '/')) {
		size_t len = strcspn(directories, ":");
		char *path = arena_printf(arena, "%.*s/%s", (int)len, directories, type);

		if (len && !access(path, X_OK))
			return path;
		directories += len;
		if (!*directories++)
			break;
	}
	return NULL;
}

/* Its wait status; one that takes too long is killed. SIGCHLD is blocked. */
static int await(pid_t pid)
{
	const struct timespec second = {.tv_sec = 1};
	sigset_t child;
	int status, seconds = 0;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (sigtimedwait(&child, NULL, &second) < 0 && ++seconds == PLUGIN_SECONDS)
			kill(pid, SIGKILL);
	}
	return status;
}

static int run(const struct network_call *call, struct arena *arena, const char *path,
	       const struct streams *streams, struct err *err)
{
	const char *search = getenv("PATH");
	char *arguments[] = {(char *)path, NULL};
	char *environment[] = {
		arena_printf(arena, "CNI_COMMAND=%s", call->command),
		arena_printf(arena, "CNI_CONTAINERID=%s", call->container),
		arena_printf(arena, "CNI_NETNS=%s", call->namespace),
		arena_printf(arena, "CNI_IFNAME=%s", call->interface),
		arena_printf(arena, "CNI_PATH=%s", call->plugins),
		arena_printf(arena, "PATH=%s",
			     search ? search
				    : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:"
				      "/bin"),
		NULL,
	};
	const struct spawn spawn = {
		.program = path,
		.arguments = arguments,
		.environment = environment,
		.directory = "/",
		.input = streams->input,
		.output = streams->output,
		.error = streams->error,
		.leaves_orphans = true,
	};
	pid_t pid = spawn_process(&spawn, err);

	return pid < 0 ? pid : await(pid);
}

/* ---- what goes in and comes out ---------------------------------------------------- */

static void put_configuration(const struct network_call *call, const struct json *plugin,
			      struct buf *out)
{
	struct json_writer w;

	jw_init(&w, out);
	jw_begin_object(&w);
	for (size_t i = 0; i < plugin->count; i++) {
		jw_key(&w, plugin->keys[i].data);
		jw_value(&w, &plugin->items[i]);
	}
	if (call->before) {
		jw_key(&w, "prevResult");
		jw_value(&w, call->before);
	}
	jw_end_object(&w);
}

/* In its own words, which are a field of its answer if that is well-formed. */
static int tell_failure(const struct network_call *call, const char *type, int status,
			const struct streams *streams, struct err *err)
{
	char output[TOLD_MAX + 1], error[TOLD_MAX + 1];

	output[streams_read(streams->output, output, TOLD_MAX)] = 0;
	error[streams_read(streams->error, error, TOLD_MAX)] = 0;
	return err_set(err, ERR_STATE,
		       "The CNI plugin '%s' failed to %s container %s %s CNI network '%s' (%s %d): "
		       "stdout='%s', stderr='%s'",
		       type, strcmp(call->command, "ADD") ? "detach" : "attach", call->container,
		       strcmp(call->command, "ADD") ? "from" : "to",
		       json_get_string(json_get(call->network, "info"), "name"),
		       WIFSIGNALED(status) ? "signal" : "status",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), output, error);
}

static int take_result(const struct streams *streams, struct arena *arena, struct json **result,
		       struct err *err)
{
	char *text = arena_alloc(arena, NETWORK_FILE_MAX);
	size_t len = streams_read(streams->output, text, NETWORK_FILE_MAX);

	*result = NULL;
	while (len > 0 && strchr(" \t\r\n", text[len - 1]))
		len--;
	return len ? json_parse_up_to(PROTO_VALUES_MAX, arena, text, len, result, err) : 0;
}

int network_plugin_run(const struct network_call *call, struct arena *arena, struct json **result,
		       struct err *err)
{
	const struct json *plugin = &json_get(call->network, "plugins")->items[call->plugin];
	const char *type = json_get_string(plugin, "type");
	char *path = find_plugin(arena, call->plugins, type);
	struct buf input = BUF_INIT;
	struct streams streams;
	int status, rv;

	if (!path)
		return err_set(err, ERR_NOT_FOUND, "There is no CNI plugin '%s' in '%s'", type,
			       call->plugins);
	put_configuration(call, plugin, &input);
	rv = streams_open(&streams, (struct slice){input.data, input.len}, err);
	buf_free(&input);
	if (rv < 0)
		return rv;
	status = run(call, arena, path, &streams, err);
	if (status < 0)
		rv = status;
	else if (status > 0)
		rv = tell_failure(call, type, status, &streams, err);
	else if (take_result(&streams, arena, result, err) < 0)
		rv = err_wrap(err, ERR_INVALID, "The CNI plugin '%s' says no JSON", type);
	streams_close(&streams);
	return rv;
}

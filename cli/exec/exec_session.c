/* A session from its launch to its exit status; see exec_session.h.
 *
 * Happy path: LAUNCH_NESTED_CONTAINER_SESSION -> its head; the input is attached -> output, until
 * it ends -> WAIT_CONTAINER tells the status -> REMOVE_CONTAINER. If we end before that, the agent
 * kills what runs, as the connection is gone. */
#include "cli/exec/exec_session.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "cli/cli.h"
#include "cli/exec/exec_internal.h"
#include "cli/job/task_place.h"
#include "client/address.h"

#define ANSWER_TIMEOUT_MS 60000
#define AGENT_PORT 5051
#define SIGNALED 128 /* and the number, as shells have it */

void exec_headers(const struct exec_session *s, bool records_out, bool records_in,
		  const char *headers[EXEC_HEADERS])
{
	static const char protobuf[] = "application/x-protobuf", records[] = "application/recordio";
	size_t count = 0;

	headers[count++] = "Content-Type";
	headers[count++] = records_out ? records : protobuf;
	if (records_out) {
		headers[count++] = "Message-Content-Type";
		headers[count++] = protobuf;
	}
	headers[count++] = "Accept";
	headers[count++] = records_in ? records : protobuf;
	if (records_in) {
		headers[count++] = "Message-Accept";
		headers[count++] = protobuf;
	}
	if (s->request->authorization) {
		headers[count++] = "Authorization";
		headers[count++] = s->request->authorization;
	}
	headers[count] = NULL;
}

/* ---- the end --------------------------------------------------------------------- */

static void finish(struct exec_session *s)
{
	exec_input_end(s);
	http_client_close(s->output);
	http_client_close(s->input);
}

static void fail(struct exec_session *s, const char *what, const struct http_answer *answer)
{
	s->status = EXEC_FAILED;
	if (!answer->status)
		err_set(s->err, ERR_IO, "%s: %s", what, answer->error);
	else
		err_set(s->err, ERR_STATE, "%s: %d %.*s", what, answer->status,
			(int)answer->body.len, answer->body.data);
	finish(s);
}

static void session_send(struct exec_session *s, Mesos__Agent__Call *call,
			 void (*answered)(void *context, const struct http_answer *answer))
{
	const char *headers[EXEC_HEADERS];
	struct buf bytes = BUF_INIT;

	call->has_type = 1;
	exec_headers(s, false, false, headers);
	proto_pack(call, &bytes);
	http_client_send(s->output, "POST", EXEC_PATH, headers, bytes.data, bytes.len,
			 ANSWER_TIMEOUT_MS, answered, s);
	buf_free(&bytes);
}

/* It was for tidiness alone. */
static void session_removed(void *context, const struct http_answer *answer)
{
	finish(context);
}

static void read_end(struct exec_session *s, struct slice body)
{
	Mesos__Agent__Response *response = proto_unpack(&mesos__agent__response__descriptor,
							&s->arena, body.data, body.len, NULL);
	const Mesos__Agent__Response__WaitContainer *end =
		response ? response->wait_container : NULL;
	int status = end && end->has_exit_status ? end->exit_status : -1;

	if (status < 0)
		err_set(s->err, ERR_STATE, "It is not known how the command ended");
	else
		s->status = WIFSIGNALED(status) ? SIGNALED + WTERMSIG(status) : WEXITSTATUS(status);
}

static void session_waited(void *context, const struct http_answer *answer)
{
	struct exec_session *s = context;
	Mesos__Agent__Call call = MESOS__AGENT__CALL__INIT;
	Mesos__Agent__Call__RemoveContainer remove = MESOS__AGENT__CALL__REMOVE_CONTAINER__INIT;

	if (answer->status != 200) {
		fail(s, "The agent does not know how the command ended", answer);
		return;
	}
	read_end(s, answer->body);
	call.type = MESOS__AGENT__CALL__TYPE__REMOVE_CONTAINER;
	call.remove_container = &remove;
	remove.container_id = s->id;
	session_send(s, &call, session_removed);
}

/* ---- output ----------------------------------------------------------------------- */

/* Whoever reads us slowly holds us up, and with us the command. */
static void write_all(int fd, const uint8_t *data, size_t len)
{
	while (len > 0) {
		ssize_t put = write(fd, data, len);

		if (put < 0 && errno == EAGAIN) {
			struct pollfd out = {.fd = fd, .events = POLLOUT};

			poll(&out, 1, -1);
		} else if (put < 0 && errno != EINTR) {
			return;
		} else if (put > 0) {
			data += put;
			len -= (size_t)put;
		}
	}
}

static void session_opened(void *context, const struct http_answer *answer)
{
	struct exec_session *s = context;

	s->opened = answer->status == 200;
	if (s->opened)
		exec_input_begin(s);
	else if (s->request->command)
		fail(s, "The command cannot be started", answer);
	else if (answer->status == 404)
		fail(s, "The task has no terminal (`mesita run --tty` gives one)", answer);
	else
		fail(s, "The agent does not show the terminal", answer);
}

void exec_detach(struct exec_session *s)
{
	s->status = EXEC_DETACHED;
	finish(s);
}

static void session_record(void *context, struct slice record)
{
	struct arena arena;
	Mesos__Agent__ProcessIO *io;

	(void)context;
	arena_init(&arena);
	io = proto_unpack(&mesos__agent__process_io__descriptor, &arena, record.data, record.len,
			  NULL);
	if (io && io->data && io->data->has_data)
		write_all(io->data->type == MESOS__AGENT__PROCESS_IO__DATA__TYPE__STDERR
				  ? STDERR_FILENO
				  : STDOUT_FILENO,
			  io->data->data.data, io->data->data.len);
	arena_free(&arena);
}

static void session_ended(void *context, const char *why)
{
	struct exec_session *s = context;
	Mesos__Agent__Call call = MESOS__AGENT__CALL__INIT;
	Mesos__Agent__Call__WaitContainer wait = MESOS__AGENT__CALL__WAIT_CONTAINER__INIT;

	if (!s->opened)
		return;
	exec_input_end(s);
	if (!s->request->command) {
		s->status = 0;
		finish(s);
		return;
	}
	call.type = MESOS__AGENT__CALL__TYPE__WAIT_CONTAINER;
	call.wait_container = &wait;
	wait.container_id = s->id;
	session_send(s, &call, session_waited);
}

/* ---- the beginning ------------------------------------------------------------------ */

static Mesos__ContainerID *id_of(struct arena *arena, const struct json *json)
{
	Mesos__ContainerID *id =
		PROTO_NEW(arena, Mesos__ContainerID, mesos__container_id__descriptor);

	id->value = (char *)json_get_string(json, "value");
	if (json_get(json, "parent"))
		id->parent = id_of(arena, json_get(json, "parent"));
	return id;
}

static Mesos__ContainerID *own_id(struct exec_session *s)
{
	Mesos__ContainerID *id =
		PROTO_NEW(&s->arena, Mesos__ContainerID, mesos__container_id__descriptor);
	uint8_t bytes[UUID_BYTES];
	char text[UUID_TEXT];
	struct rng rng;

	rng_seed(&rng, rng_entropy());
	uuid_make(&rng, bytes);
	uuid_format(bytes, text);
	id->value = arena_strdup(&s->arena, text);
	id->parent = id_of(&s->arena, s->request->parent);
	return id;
}

static Mesos__CommandInfo *command_of(struct exec_session *s)
{
	Mesos__CommandInfo *command =
		PROTO_NEW(&s->arena, Mesos__CommandInfo, mesos__command_info__descriptor);

	command->has_shell = 1;
	command->shell = 0;
	command->value = s->request->command[0];
	command->user = (char *)s->request->user;
	for (char *const *argument = s->request->command; *argument; argument++)
		proto_push(&s->arena, command->n_arguments, command->arguments, *argument);
	return command;
}

static Mesos__ContainerInfo *terminal_of(struct exec_session *s)
{
	Mesos__ContainerInfo *info =
		PROTO_NEW(&s->arena, Mesos__ContainerInfo, mesos__container_info__descriptor);
	Mesos__TTYInfo__WindowSize *size = PROTO_NEW(&s->arena, Mesos__TTYInfo__WindowSize,
						     mesos__ttyinfo__window_size__descriptor);

	info->type = MESOS__CONTAINER_INFO__TYPE__MESOS;
	info->tty_info = PROTO_NEW(&s->arena, Mesos__TTYInfo, mesos__ttyinfo__descriptor);
	if (exec_window_size(size))
		info->tty_info->window_size = size;
	return info;
}

static void session_open(struct exec_session *s, Mesos__Agent__Call *call)
{
	static const struct http_stream_handlers handlers = {session_opened, session_record,
							     session_ended};
	const char *headers[EXEC_HEADERS];
	struct buf bytes = BUF_INIT;

	call->has_type = 1;
	exec_headers(s, false, true, headers);
	proto_pack(call, &bytes);
	http_client_stream(s->output, EXEC_PATH, headers, bytes.data, bytes.len, ANSWER_TIMEOUT_MS,
			   &handlers, s);
	buf_free(&bytes);
}

static void session_launch(struct exec_session *s)
{
	Mesos__Agent__Call call = MESOS__AGENT__CALL__INIT;
	Mesos__Agent__Call__LaunchNestedContainerSession launch =
		MESOS__AGENT__CALL__LAUNCH_NESTED_CONTAINER_SESSION__INIT;

	call.type = MESOS__AGENT__CALL__TYPE__LAUNCH_NESTED_CONTAINER_SESSION;
	call.launch_nested_container_session = &launch;
	launch.container_id = s->id = own_id(s);
	launch.command = command_of(s);
	if (s->request->tty)
		launch.container = terminal_of(s);
	session_open(s, &call);
}

static void session_attach(struct exec_session *s)
{
	Mesos__Agent__Call call = MESOS__AGENT__CALL__INIT;
	Mesos__Agent__Call__AttachContainerOutput attach =
		MESOS__AGENT__CALL__ATTACH_CONTAINER_OUTPUT__INIT;

	call.type = MESOS__AGENT__CALL__TYPE__ATTACH_CONTAINER_OUTPUT;
	call.attach_container_output = &attach;
	attach.container_id = s->id = id_of(&s->arena, s->request->parent);
	session_open(s, &call);
}

int exec_find(struct arena *arena, const char *master, const char *id, const char *framework,
	      struct exec_request *request, struct err *err)
{
	const struct json *task = cli_find_task(arena, master, id, framework, err);

	if (!task)
		return ERR_NOT_FOUND;
	if (cli_state_over(json_get_string(task, "state")))
		return err_set(err, ERR_STATE, "task '%s' is over (%s)", id,
			       json_get_string(task, "state"));
	request->parent = cli_task_container(task);
	request->agent = cli_agent_address(arena, master, json_get_string(task, "slave_id"), err);
	if (!request->agent)
		return ERR_NOT_FOUND;
	return request->parent->count
		       ? 0
		       : err_set(err, ERR_STATE, "task '%s' has not started yet", id);
}

int exec_session_run(const struct exec_request *request, struct err *err)
{
	struct exec_session s = {
		.request = request, .err = err, .status = EXEC_FAILED, .input_flags = -1};
	char *host;
	int port;

	if (address_parse(request->agent, AGENT_PORT, &host, &port, err) < 0)
		return EXEC_FAILED;
	arena_init(&s.arena);
	uv_loop_init(&s.loop);
	s.output = http_client_create(&s.loop, host, port);
	s.input = http_client_create(&s.loop, host, port);
	if (request->command)
		session_launch(&s);
	else
		session_attach(&s);
	uv_run(&s.loop, UV_RUN_DEFAULT);
	uv_loop_close(&s.loop);
	arena_free(&s.arena);
	free(host);
	return s.status;
}

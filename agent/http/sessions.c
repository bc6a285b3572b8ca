/* See sessions.h. Output is read in pieces: of each, every client gets a record, and the next is
 * read when all of them have taken it. Of a terminal that its container's init serves, input and
 * output are one connection to that, for as long as somebody is attached. */
#include "agent/http/sessions.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/containers/terminal/terminal.h"
#include "agent/http/api_containers.h"
#include "agent/shell.h"
#include "base/time/clock.h"
#include "net/http_parts.h"

#define PIECE 16384	       /* bytes of output in a record, at most */
#define HEARTBEAT_MS 30000     /* between heartbeats, as in Mesos */
#define BACKLOG_MAX (1u << 20) /* bytes that wait for a client: it is only passed one piece */
#define DATA(name) MESOS__AGENT__PROCESS_IO__DATA__TYPE__##name

/* A client that gets the output. */
struct listener {
	struct list link;
	struct session *session;
	struct http_stream *stream;
	enum http_media media;
	bool owner; /* it launched the container */
	bool busy;  /* it has not taken the last piece */
};

/* Where output comes from. */
struct source {
	uv_pipe_t pipe;
	struct session *session;
	Mesos__Agent__ProcessIO__Data__Type type;
	bool open;
};

struct session {
	UT_hash_handle hh;
	struct agent_shell *shell;
	char *container;
	bool tty;
	bool served; /* by its init */
	uv_pipe_t input;
	uv_shutdown_t input_shut;
	bool input_open; /* more may be written */
	struct source sources[2];
	struct list listeners;
	struct list inputs; /* of struct session_input */
	uv_timer_t heartbeat;
	int handles;
	bool ending;
};

static struct session *session_find(struct agent_shell *shell, const char *container)
{
	struct session *session;

	HASH_FIND_STR(shell->sessions, container, session);
	return session;
}

/* ---- the end ------------------------------------------------------------- */

static void session_closed_cb(uv_handle_t *handle)
{
	struct session *session = handle->data;

	if (--session->handles)
		return;
	free(session->container);
	free(session);
}

static void close_source(struct source *source)
{
	if (source->open)
		uv_close((uv_handle_t *)&source->pipe, session_closed_cb);
	source->open = false;
}

static void close_input(struct session *session)
{
	if (!uv_is_closing((uv_handle_t *)&session->input))
		uv_close((uv_handle_t *)&session->input, session_closed_cb);
}

static void input_shut_cb(uv_shutdown_t *request, int status)
{
	(void)status;
	close_input(request->handle->data);
}

/* After what was written before. A terminal is hung up with the session alone. */
void session_end_input(struct session *session)
{
	if (!session->input_open || session->tty)
		return;
	session->input_open = false;
	if (uv_shutdown(&session->input_shut, (uv_stream_t *)&session->input, input_shut_cb) < 0)
		close_input(session);
}

/* `told`: all of the output was. */
static void session_end(struct session *session, bool told)
{
	struct session_input *input, *next_input;
	struct listener *listener, *next;

	if (session->ending)
		return;
	session->ending = true;
	HASH_DEL(session->shell->sessions, session);
	list_for_each (listener, next, &session->listeners, link) {
		struct http_stream *stream = listener->stream;

		list_remove(&listener->link);
		listener->session = NULL;
		if (told) {
			http_stream_end(stream);
			free(listener);
		} else {
			http_stream_cut(stream); /* listener_closed() frees it */
		}
	}
	list_for_each (input, next_input, &session->inputs, link) {
		list_remove(&input->link);
		input->session = NULL;
	}
	session->input_open = false;
	close_input(session);
	close_source(&session->sources[0]);
	close_source(&session->sources[1]);
	uv_close((uv_handle_t *)&session->heartbeat, session_closed_cb);
}

/* Whoever is served attaches again. */
static void end_if_unused(struct session *session)
{
	if (session->served && list_empty(&session->listeners) && list_empty(&session->inputs))
		session_end(session, false);
}

void sessions_close(struct agent_shell *shell)
{
	struct session *session, *next;

	HASH_ITER (hh, shell->sessions, session, next)
		session_end(session, false);
}

/* ---- records --------------------------------------------------------------- */

static void listener_send(struct listener *listener, const Mesos__Agent__ProcessIO *io)
{
	struct buf bytes = BUF_INIT;

	if (listener->media == HTTP_MEDIA_PROTOBUF)
		proto_pack(io, &bytes);
	else
		proto_to_json(io, SPELL_V1_ALL, &bytes);
	http_stream_record(listener->stream, bytes.data, bytes.len);
	buf_free(&bytes);
}

static void heartbeat_cb(uv_timer_t *timer)
{
	struct session *session = timer->data;
	Mesos__Agent__ProcessIO io = MESOS__AGENT__PROCESS_IO__INIT;
	Mesos__Agent__ProcessIO__Control control = MESOS__AGENT__PROCESS_IO__CONTROL__INIT;
	Mesos__Agent__ProcessIO__Control__Heartbeat beat =
		MESOS__AGENT__PROCESS_IO__CONTROL__HEARTBEAT__INIT;
	Mesos__DurationInfo interval = MESOS__DURATION_INFO__INIT;
	struct listener *listener, *next;

	io.has_type = control.has_type = 1;
	io.type = MESOS__AGENT__PROCESS_IO__TYPE__CONTROL;
	io.control = &control;
	control.type = MESOS__AGENT__PROCESS_IO__CONTROL__TYPE__HEARTBEAT;
	control.heartbeat = &beat;
	beat.interval = &interval;
	interval.nanoseconds = HEARTBEAT_MS * MILLISECOND;
	list_for_each (listener, next, &session->listeners, link)
		listener_send(listener, &io);
}

/* ---- output ------------------------------------------------------------------ */

static void read_cb(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf);

static void alloc_cb(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	static char piece[PIECE]; /* used up inside read_cb */

	(void)handle;
	(void)suggested;
	*buf = uv_buf_init(piece, sizeof(piece));
}

static void set_reading(struct session *session, bool reading)
{
	for (int i = 0; i < 2; i++) {
		uv_stream_t *stream = (uv_stream_t *)&session->sources[i].pipe;

		if (!session->sources[i].open)
			continue;
		if (reading)
			uv_read_start(stream, alloc_cb, read_cb);
		else
			uv_read_stop(stream);
	}
}

static bool any_busy(const struct session *session)
{
	struct listener *listener, *next;

	list_for_each (listener, next, &session->listeners, link) {
		if (listener->busy)
			return true;
	}
	return false;
}

static void listener_drained(void *context, struct http_stream *stream)
{
	struct listener *listener = context;

	(void)stream;
	listener->busy = false;
	if (listener->session && !any_busy(listener->session))
		set_reading(listener->session, true);
}

static void tell_piece(struct session *session, Mesos__Agent__ProcessIO__Data__Type type,
		       const void *data, size_t len)
{
	Mesos__Agent__ProcessIO io = MESOS__AGENT__PROCESS_IO__INIT;
	Mesos__Agent__ProcessIO__Data piece = MESOS__AGENT__PROCESS_IO__DATA__INIT;
	struct listener *listener, *next;

	io.has_type = piece.has_type = piece.has_data = 1;
	io.type = MESOS__AGENT__PROCESS_IO__TYPE__DATA;
	io.data = &piece;
	piece.type = type;
	piece.data = (ProtobufCBinaryData){len, (uint8_t *)data};
	if (!list_empty(&session->listeners))
		set_reading(session, false);
	list_for_each (listener, next, &session->listeners, link) {
		listener_send(listener, &io);
		listener->busy = true;
		http_stream_when_drained(listener->stream, listener_drained);
	}
}

static void read_cb(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
	struct source *source = container_of((uv_pipe_t *)stream, struct source, pipe);
	struct session *session = source->session;

	if (len > 0) {
		tell_piece(session, source->type, buf->base, (size_t)len);
	} else if (len < 0) {
		close_source(source);
		if (!session->sources[0].open && !session->sources[1].open)
			session_end(session, true);
	}
}

/* ---- listeners ------------------------------------------------------------------ */

/* The owner's leaving ends the container. */
static void listener_closed(void *context, struct http_stream *stream)
{
	struct listener *listener = context;
	struct session *session = listener->session;
	struct agent_event event = {.type = AGENT_SESSION_CLOSED};
	bool owner = listener->owner;

	(void)stream;
	if (session)
		list_remove(&listener->link);
	free(listener);
	if (!session)
		return;
	if (owner) {
		event.session_closed.container = session->container;
		agent_shell_step(session->shell, &event);
		session_end(session, false);
	} else if (!any_busy(session)) {
		set_reading(session, true);
		end_if_unused(session);
	}
}

/* In which format records are. `framed`: the client says that it takes RecordIO; one that does not
 * gets it nevertheless, as from Mesos. */
static enum http_media records_media(struct http_request *request, bool *framed)
{
	const char *accept = http_header_list(request, "Accept");
	const char *message = http_header_list(request, "Message-Accept");

	*framed = accept && strstr(accept, "application/recordio");
	if (!*framed)
		return http_accept(request);
	return message && strstr(message, "application/x-protobuf") ? HTTP_MEDIA_PROTOBUF
								    : HTTP_MEDIA_JSON;
}

static void listen_to(struct session *session, struct http_request *request, bool owner)
{
	static const char *const json[] = {"Message-Content-Type", "application/json", NULL};
	static const char *const packed[] = {"Message-Content-Type", "application/x-protobuf",
					     NULL};
	struct listener *listener = xcalloc(1, sizeof(*listener));
	bool framed;

	listener->session = session;
	listener->owner = owner;
	listener->media = records_media(request, &framed);
	list_append(&session->listeners, &listener->link);
	listener->stream = http_stream_open(
		request, framed ? "application/recordio" : http_media_name(listener->media),
		!framed					 ? NULL
		: listener->media == HTTP_MEDIA_PROTOBUF ? packed
							 : json,
		BACKLOG_MAX, listener_closed, listener);
}

static void open_pipe(struct session *session, uv_pipe_t *pipe, int fd)
{
	uv_pipe_init(&session->shell->loop, pipe, 0);
	uv_pipe_open(pipe, fd);
	pipe->data = session;
	session->handles++;
}

static struct session *session_create(struct agent_shell *shell, const char *container,
				      const int streams[3], bool tty)
{
	struct session *session = xcalloc(1, sizeof(*session));

	session->shell = shell;
	session->container = xstrdup(container);
	session->tty = tty;
	list_init(&session->listeners);
	list_init(&session->inputs);
	open_pipe(session, &session->input, streams[0]);
	session->input_open = true;
	for (int i = 0; i < 2; i++) {
		struct source *source = &session->sources[i];

		source->session = session;
		source->type = i ? DATA(STDERR) : DATA(STDOUT);
		source->open = streams[i + 1] >= 0;
		if (source->open)
			open_pipe(session, &source->pipe, streams[i + 1]);
	}
	uv_timer_init(&shell->loop, &session->heartbeat);
	session->heartbeat.data = session;
	session->handles++;
	uv_timer_start(&session->heartbeat, heartbeat_cb, HEARTBEAT_MS, HEARTBEAT_MS);
	HASH_ADD_KEYPTR(hh, shell->sessions, session->container, strlen(session->container),
			session);
	return session;
}

void session_begin(struct agent_shell *shell, struct http_request *request, const char *container)
{
	struct session *session;
	int streams[3];
	bool tty;

	if (!posix_take_streams(shell->posix, container, streams, &tty)) {
		http_reply_text(request, 500, "The container has no output");
		return;
	}
	session = session_create(shell, container, streams, tty);
	listen_to(session, request, true);
	set_reading(session, true);
}

/* The running one, or a connection to the init that serves its terminal; or NULL. */
static struct session *session_reach(struct agent_shell *shell, const char *container)
{
	struct session *session = session_find(shell, container);
	int streams[3] = {-1, -1, -1};

	if (session || !*container)
		return session;
	streams[0] = terminal_connect(shell->flags->runtime_dir, container);
	if (streams[0] < 0)
		return NULL;
	streams[1] = fcntl(streams[0], F_DUPFD_CLOEXEC, 0);
	if (streams[1] < 0) {
		close(streams[0]);
		return NULL;
	}
	session = session_create(shell, container, streams, true);
	session->served = true;
	set_reading(session, true);
	return session;
}

void session_attach_output(struct agent_shell *shell, struct http_request *request,
			   const char *container)
{
	struct session *session = session_reach(shell, container);

	if (session)
		listen_to(session, request, false);
	else
		http_reply_text(
			request, 404,
			arena_printf(&request->arena, "Container %s cannot be found", container));
}

/* ---- input ------------------------------------------------------------------------- */

bool session_attach(struct agent_shell *shell, const char *container, struct session_input *input)
{
	input->session = session_reach(shell, container);
	if (!input->session)
		return false;
	list_append(&input->session->inputs, &input->link);
	return true;
}

void session_detach(struct session_input *input)
{
	struct session *session = input->session;

	if (!session)
		return;
	input->session = NULL;
	list_remove(&input->link);
	end_if_unused(session);
}

struct input_write {
	uv_write_t write;
	void (*written)(void *context);
	void *context;
	char head[TERMINAL_HEAD];
	char data[];
};

static void written_cb(uv_write_t *write, int status)
{
	struct input_write *w = container_of(write, struct input_write, write);

	(void)status;
	w->written(w->context);
	free(w);
}

bool session_write(struct session *session, const void *data, size_t len,
		   void (*written)(void *context), void *context)
{
	struct input_write *w;
	uv_buf_t bufs[2];
	int first = session->served ? 0 : 1;

	if (!session->input_open)
		return false;
	w = xcalloc(1, sizeof(*w) + len);
	memcpy(w->data, data, len);
	w->written = written;
	w->context = context;
	terminal_head(w->head, TERMINAL_INPUT, len);
	bufs[0] = uv_buf_init(w->head, TERMINAL_HEAD);
	bufs[1] = uv_buf_init(w->data, (unsigned)len);
	if (uv_write(&w->write, (uv_stream_t *)&session->input, bufs + first, (unsigned)(2 - first),
		     written_cb) == 0)
		return true;
	free(w);
	return false;
}

struct size_write {
	uv_write_t write;
	char frame[TERMINAL_HEAD + 4];
};

static void size_sent_cb(uv_write_t *write, int status)
{
	(void)status;
	free(container_of(write, struct size_write, write));
}

static void send_size(struct session *session, unsigned rows, unsigned columns)
{
	struct size_write *w;
	uv_buf_t buf;

	if (!session->input_open)
		return;
	w = xcalloc(1, sizeof(*w));
	buf = uv_buf_init(w->frame, (unsigned)terminal_size_frame(w->frame, rows, columns));
	if (uv_write(&w->write, (uv_stream_t *)&session->input, &buf, 1, size_sent_cb) < 0)
		free(w);
}

void session_resize(struct session *session, unsigned rows, unsigned columns)
{
	struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
	uv_os_fd_t fd;

	if (session->served)
		send_size(session, rows, columns);
	else if (session->tty && uv_fileno((uv_handle_t *)&session->input, &fd) == 0)
		ioctl(fd, TIOCSWINSZ, &size);
}

/* What goes into a session: ATTACH_CONTAINER_INPUT, a request of many records. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/exec/exec_internal.h"
#include "net/recordio.h"

#define PIECE (32 * 1024)
/* No more is read while so much is still to be sent. */
#define UNSENT_MAX (256 * 1024)

/* ---- records ------------------------------------------------------------------ */

static void put_call(struct exec_session *s, Mesos__Agent__Call__AttachContainerInput *attach)
{
	Mesos__Agent__Call call = MESOS__AGENT__CALL__INIT;
	struct buf bytes = BUF_INIT, record = BUF_INIT;

	call.has_type = 1;
	call.type = MESOS__AGENT__CALL__TYPE__ATTACH_CONTAINER_INPUT;
	call.attach_container_input = attach;
	proto_pack(&call, &bytes);
	recordio_encode(&record, bytes.data, bytes.len);
	http_client_put(s->input, record.data, record.len);
	buf_free(&bytes);
	buf_free(&record);
}

static void put_process_io(struct exec_session *s, Mesos__Agent__ProcessIO *io)
{
	Mesos__Agent__Call__AttachContainerInput attach =
		MESOS__AGENT__CALL__ATTACH_CONTAINER_INPUT__INIT;

	attach.has_type = 1;
	attach.type = MESOS__AGENT__CALL__ATTACH_CONTAINER_INPUT__TYPE__PROCESS_IO;
	attach.process_io = io;
	put_call(s, &attach);
}

/* Nothing (`len` 0) is the end of input. */
static void put_data(struct exec_session *s, void *data, size_t len)
{
	Mesos__Agent__ProcessIO io = MESOS__AGENT__PROCESS_IO__INIT;
	Mesos__Agent__ProcessIO__Data piece = MESOS__AGENT__PROCESS_IO__DATA__INIT;

	io.has_type = 1;
	io.type = MESOS__AGENT__PROCESS_IO__TYPE__DATA;
	io.data = &piece;
	piece.has_type = 1;
	piece.type = MESOS__AGENT__PROCESS_IO__DATA__TYPE__STDIN;
	piece.has_data = 1;
	piece.data = (ProtobufCBinaryData){len, data};
	put_process_io(s, &io);
}

static void put_window_size(struct exec_session *s)
{
	Mesos__Agent__ProcessIO io = MESOS__AGENT__PROCESS_IO__INIT;
	Mesos__Agent__ProcessIO__Control control = MESOS__AGENT__PROCESS_IO__CONTROL__INIT;
	Mesos__TTYInfo tty = MESOS__TTYINFO__INIT;
	Mesos__TTYInfo__WindowSize size = MESOS__TTYINFO__WINDOW_SIZE__INIT;

	if (!exec_window_size(&size))
		return;
	io.has_type = 1;
	io.type = MESOS__AGENT__PROCESS_IO__TYPE__CONTROL;
	io.control = &control;
	control.has_type = 1;
	control.type = MESOS__AGENT__PROCESS_IO__CONTROL__TYPE__TTY_INFO;
	control.tty_info = &tty;
	tty.window_size = &size;
	put_process_io(s, &io);
}

/* ---- our input ------------------------------------------------------------------- */

static void pause_reading(struct exec_session *s)
{
	if (!s->reading)
		return;
	s->reading = false;
	if (s->polled)
		uv_poll_stop(&s->readable);
	else
		uv_idle_stop(&s->ready);
}

/* Ctrl-P, Ctrl-Q, as Docker has it. */
#define LEAVE_FIRST 0x10
#define LEAVE_THEN 0x11

/* Sends what was typed; the first key is kept back until it is known what follows. False: both
 * came. */
static bool put_typed(struct exec_session *s, const char *keys, size_t len)
{
	struct buf out = BUF_INIT;
	bool left = false;

	for (size_t i = 0; i < len && !left; i++) {
		left = s->leaving && keys[i] == LEAVE_THEN;
		if (s->leaving && !left)
			buf_putc(&out, LEAVE_FIRST);
		s->leaving = !left && keys[i] == LEAVE_FIRST;
		if (!s->leaving && !left)
			buf_putc(&out, keys[i]);
	}
	if (out.len)
		put_data(s, out.data, out.len);
	buf_free(&out);
	return !left;
}

static void read_some(struct exec_session *s)
{
	char piece[PIECE];
	ssize_t got = read(STDIN_FILENO, piece, sizeof(piece));

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	s->at_end = got <= 0;
	if (!s->at_end && s->raw && !s->request->command) {
		if (!put_typed(s, piece, (size_t)got)) {
			exec_detach(s);
			return;
		}
	} else {
		put_data(s, piece, s->at_end ? 0 : (size_t)got);
	}
	if (s->at_end || http_client_unsent(s->input) > UNSENT_MAX)
		pause_reading(s);
}

static void readable_cb(uv_poll_t *poll, int status, int events)
{
	read_some(poll->data);
}

static void ready_cb(uv_idle_t *idle)
{
	read_some(idle->data);
}

static void read_on(struct exec_session *s)
{
	s->reading = true;
	if (s->polled)
		uv_poll_start(&s->readable, UV_READABLE, readable_cb);
	else
		uv_idle_start(&s->ready, ready_cb);
}

static void open_input(struct exec_session *s)
{
	s->input_flags = fcntl(STDIN_FILENO, F_GETFL);
	s->polled = uv_poll_init(&s->loop, &s->readable, STDIN_FILENO) == 0;
	s->readable.data = s;
	uv_idle_init(&s->loop, &s->ready);
	s->ready.data = s;
	read_on(s);
}

/* ---- the terminal ------------------------------------------------------------------ */

bool exec_window_size(Mesos__TTYInfo__WindowSize *size)
{
	struct winsize window;

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &window) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window))
		return false;
	size->rows = window.ws_row;
	size->columns = window.ws_col;
	return true;
}

static void resized_cb(uv_signal_t *signal, int number)
{
	put_window_size(signal->data);
}

/* Each key goes to the command as it is. */
static void make_raw(struct exec_session *s)
{
	struct termios raw;

	if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &s->cooked))
		return;
	raw = s->cooked;
	cfmakeraw(&raw);
	s->raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
	uv_signal_init(&s->loop, &s->resized);
	s->resized.data = s;
	s->watches_size = true;
	uv_signal_start(&s->resized, resized_cb, SIGWINCH);
}

/* ---- life ---------------------------------------------------------------------------- */

static void input_answered(void *context, const struct http_answer *answer)
{
	struct exec_session *s = context;

	/* The command's end, which its output tells, ends this as well. It may have come before our
	 * input was attached: the agent does not know the container any more then. */
	pause_reading(s);
	if (answer->status != 200 && answer->status != 404 && answer->status)
		err_set(s->err, ERR_STATE, "The agent does not take input: %.*s",
			(int)answer->body.len, answer->body.data);
}

static void input_drained(void *context)
{
	struct exec_session *s = context;

	if (s->input_flags != -1 && !s->reading && !s->at_end)
		read_on(s);
}

void exec_input_begin(struct exec_session *s)
{
	Mesos__Agent__Call__AttachContainerInput attach =
		MESOS__AGENT__CALL__ATTACH_CONTAINER_INPUT__INIT;
	const char *headers[EXEC_HEADERS];

	exec_headers(s, true, false, headers);
	http_client_upload(s->input, EXEC_PATH, headers, input_answered, input_drained, s);
	attach.has_type = 1;
	attach.type = MESOS__AGENT__CALL__ATTACH_CONTAINER_INPUT__TYPE__CONTAINER_ID;
	attach.container_id = s->id;
	put_call(s, &attach);
	if (!s->request->interactive) {
		put_data(s, NULL, 0);
		return;
	}
	if (s->request->tty)
		make_raw(s);
	if (!s->request->command)
		put_window_size(s);
	open_input(s);
}

static void nothing_cb(uv_handle_t *handle)
{
	(void)handle;
}

void exec_input_end(struct exec_session *s)
{
	if (s->raw)
		tcsetattr(STDIN_FILENO, TCSANOW, &s->cooked);
	s->raw = false;
	if (s->watches_size)
		uv_close((uv_handle_t *)&s->resized, nothing_cb);
	s->watches_size = false;
	if (s->input_flags == -1)
		return;
	pause_reading(s);
	if (s->polled)
		uv_close((uv_handle_t *)&s->readable, nothing_cb);
	uv_close((uv_handle_t *)&s->ready, nothing_cb);
	fcntl(STDIN_FILENO, F_SETFL, s->input_flags);
	s->input_flags = -1;
}

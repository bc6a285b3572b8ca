/* Serving a terminal from the init of its container; see terminal.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/containers/terminal/terminal.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/time/clock.h"

/* The agent has one connection for all who attach; one of before its restart may be left. */
#define CLIENTS_MAX 4
#define PIECE 4096		/* bytes that are read at once */
#define UNSENT_MAX (256 * 1024) /* the program waits while a client has not taken so much */
#define STALL (10 * SECOND)	/* a client that takes nothing for so long is closed */
#define FLUSH_MAX_MS 1000	/* clients get what is left for so long after the end */

struct client {
	int fd; /* -1: none */
	struct buf unsent;
	int64_t taken; /* when it last took something, or had all */
	struct buf frames;
	size_t input_left; /* of the frame of input at their beginning, whose head is gone */
	bool held;	   /* the terminal takes no more input for now */
	bool deaf;	   /* it has left; what it typed before is still to be read */
};

struct terminal {
	int master;
	int slave;
	bool hung; /* the last who had it open is gone */
	struct client clients[CLIENTS_MAX];
};

static void set_size(const struct terminal *terminal, unsigned rows, unsigned columns)
{
	struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};

	ioctl(terminal->master, TIOCSWINSZ, &size);
}

struct terminal *terminal_open(const char *size, struct err *err)
{
	struct terminal *terminal = xcalloc(1, sizeof(*terminal));
	unsigned rows, columns;
	char name[64];
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

	terminal->master = master;
	for (int i = 0; i < CLIENTS_MAX; i++)
		terminal->clients[i].fd = -1;
	if (master < 0 || grantpt(master) || unlockpt(master) ||
	    ptsname_r(master, name, sizeof(name)) ||
	    (terminal->slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0) {
		err_set(err, ERR_IO, "Failed to make a terminal: %s", strerror(errno));
		if (master >= 0)
			close(master);
		free(terminal);
		return NULL;
	}
	fcntl(TERMINAL_FD, F_SETFD, FD_CLOEXEC);
	if (sscanf(size, "%ux%u", &rows, &columns) == 2 && rows && columns)
		set_size(terminal, rows, columns);
	return terminal;
}

void terminal_take(const struct terminal *terminal)
{
	for (int i = 0; i < 3; i++)
		dup2(terminal->slave, i);
	close(terminal->slave);
	close(terminal->master);
	close(TERMINAL_FD);
	ioctl(STDIN_FILENO, TIOCSCTTY, 0);
}

/* ---- clients ------------------------------------------------------------------- */

static void client_close(struct client *client)
{
	close(client->fd);
	buf_free(&client->unsent);
	buf_free(&client->frames);
	*client = (struct client){.fd = -1};
}

static void accept_client(struct terminal *terminal)
{
	int fd = accept4(TERMINAL_FD, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	for (int i = 0; i < CLIENTS_MAX && fd >= 0; i++) {
		struct client *client = &terminal->clients[i];

		if (client->fd >= 0)
			continue;
		client->fd = fd;
		client->taken = clock_now();
		return;
	}
	if (fd >= 0)
		close(fd);
}

static void client_send(struct client *client)
{
	ssize_t put = send(client->fd, client->unsent.data, client->unsent.len, MSG_NOSIGNAL);

	if (put > 0) {
		buf_consume(&client->unsent, (size_t)put);
		client->taken = clock_now();
	} else if (put < 0 && errno != EAGAIN && errno != EINTR) {
		buf_consume(&client->unsent, client->unsent.len);
		client->deaf = true;
	}
}

/* Somebody does not keep up, and the program has to wait. */
static bool is_behind(const struct terminal *terminal)
{
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (terminal->clients[i].unsent.len > UNSENT_MAX)
			return true;
	return false;
}

/* Returns in how many ms to look again; -1: there is no need. */
static int close_stalled(struct terminal *terminal)
{
	int64_t now = clock_now();
	int wait = -1;

	for (int i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = &terminal->clients[i];
		int64_t left = client->taken + STALL - now;

		if (client->unsent.len <= UNSENT_MAX)
			continue;
		if (left <= 0)
			client_close(client);
		else if (wait < 0 || left / MILLISECOND < wait)
			wait = (int)(left / MILLISECOND) + 1;
	}
	return wait;
}

/* ---- input ----------------------------------------------------------------------- */

/* False: the terminal takes no more for now. */
static bool put_in(const struct terminal *terminal, struct client *client)
{
	size_t len =
		client->frames.len < client->input_left ? client->frames.len : client->input_left;
	ssize_t put = write(terminal->master, client->frames.data, len);

	if (put < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	/* Nobody reads it any more: it is dropped. */
	len = put < 0 ? len : (size_t)put;
	buf_consume(&client->frames, len);
	client->input_left -= len;
	return true;
}

static unsigned two_bytes(const char *data)
{
	return (unsigned char)data[0] | (unsigned)(unsigned char)data[1] << 8;
}

/* Returns false when more bytes are needed, or the client is closed. */
static bool take_head(const struct terminal *terminal, struct client *client)
{
	const char *data = client->frames.data;
	size_t len;

	if (client->frames.len < TERMINAL_HEAD)
		return false;
	len = two_bytes(data + 1) | (size_t)two_bytes(data + 3) << 16;
	if (data[0] == TERMINAL_INPUT) {
		buf_consume(&client->frames, TERMINAL_HEAD);
		client->input_left = len;
		return true;
	}
	if (data[0] != TERMINAL_SIZE || len != 4) {
		client_close(client);
		return false;
	}
	if (client->frames.len < TERMINAL_HEAD + 4)
		return false;
	set_size(terminal, two_bytes(data + TERMINAL_HEAD), two_bytes(data + TERMINAL_HEAD + 2));
	buf_consume(&client->frames, TERMINAL_HEAD + 4);
	return true;
}

static void take_frames(const struct terminal *terminal, struct client *client)
{
	bool more = true;

	client->held = false;
	while (more && client->frames.len > 0) {
		if (!client->input_left) {
			more = take_head(terminal, client);
		} else {
			more = put_in(terminal, client);
			client->held = !more;
		}
	}
}

static void read_client(const struct terminal *terminal, struct client *client)
{
	char piece[PIECE];
	ssize_t got = recv(client->fd, piece, sizeof(piece), 0);

	if (got > 0) {
		buf_append(&client->frames, piece, (size_t)got);
		take_frames(terminal, client);
	} else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
		client_close(client);
	}
}

/* ---- output ------------------------------------------------------------------------ */

/* To the sandbox; what its disk does not take is lost there alone. */
static void write_down(const char *data, size_t len)
{
	while (len > 0) {
		ssize_t put = write(STDOUT_FILENO, data, len);

		if (put < 0 && errno != EINTR)
			return;
		data += put > 0 ? put : 0;
		len -= put > 0 ? (size_t)put : 0;
	}
}

static bool show_more(struct terminal *terminal)
{
	char piece[PIECE];
	ssize_t got = read(terminal->master, piece, sizeof(piece));

	if (got <= 0) {
		terminal->hung = got == 0 || (errno != EAGAIN && errno != EINTR);
		return false;
	}
	write_down(piece, (size_t)got);
	for (int i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = &terminal->clients[i];

		if (client->fd < 0 || client->deaf)
			continue;
		if (!client->unsent.len)
			client->taken = clock_now();
		buf_append(&client->unsent, piece, (size_t)got);
	}
	return true;
}

/* ---- serving ----------------------------------------------------------------------- */

enum { SIGNALS, MASTER, LISTENER, FIRST_CLIENT, POLLED = FIRST_CLIENT + CLIENTS_MAX };

static void choose(const struct terminal *terminal, int signals, struct pollfd polled[POLLED])
{
	bool held = false;

	for (int i = 0; i < CLIENTS_MAX; i++) {
		const struct client *client = &terminal->clients[i];
		int events = (client->held ? 0 : POLLIN) | (client->unsent.len ? POLLOUT : 0);

		held |= client->held;
		/* What a held one sent before it left is still to be put in. */
		polled[FIRST_CLIENT + i] =
			(struct pollfd){.fd = events ? client->fd : -1, .events = (short)events};
	}
	polled[SIGNALS] = (struct pollfd){.fd = signals, .events = POLLIN};
	polled[LISTENER] = (struct pollfd){.fd = TERMINAL_FD, .events = POLLIN};
	polled[MASTER] = (struct pollfd){
		.fd = terminal->hung ? -1 : terminal->master,
		.events = (short)((is_behind(terminal) ? 0 : POLLIN) | (held ? POLLOUT : 0))};
}

static void serve_clients(struct terminal *terminal, const struct pollfd *polled)
{
	for (int i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = &terminal->clients[i];
		short events = polled[FIRST_CLIENT + i].revents;

		if (client->fd < 0)
			continue;
		if (events & POLLOUT)
			client_send(client);
		if (client->fd >= 0 && (events & (POLLIN | POLLHUP | POLLERR)))
			read_client(terminal, client);
		if (client->fd >= 0 && client->held)
			take_frames(terminal, client);
	}
}

void terminal_serve(struct terminal *terminal, int signals)
{
	struct pollfd polled[POLLED];

	for (;;) {
		int wait = close_stalled(terminal);

		choose(terminal, signals, polled);
		if (poll(polled, POLLED, wait) < 0)
			continue;
		if (polled[MASTER].revents & (POLLIN | POLLHUP | POLLERR))
			show_more(terminal);
		serve_clients(terminal, polled);
		if (polled[LISTENER].revents)
			accept_client(terminal);
		if (polled[SIGNALS].revents)
			return;
	}
}

/* ---- the end ------------------------------------------------------------------------ */

static void flush_client(struct client *client)
{
	int64_t deadline = clock_now() + FLUSH_MAX_MS * MILLISECOND;

	while (client->fd >= 0 && client->unsent.len > 0 && clock_now() < deadline) {
		struct pollfd out = {.fd = client->fd, .events = POLLOUT};

		poll(&out, 1, FLUSH_MAX_MS);
		client_send(client);
	}
	if (client->fd >= 0)
		client_close(client);
}

void terminal_close(struct terminal *terminal)
{
	close(TERMINAL_FD);
	close(terminal->slave);
	while (show_more(terminal))
		;
	for (int i = 0; i < CLIENTS_MAX; i++)
		flush_client(&terminal->clients[i]);
	close(terminal->master);
	free(terminal);
}

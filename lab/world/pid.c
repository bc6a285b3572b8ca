/* What master, agents and schedulers speak over connections: streams of events, and libprocess'
 * messages between pids. */
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "lab/world/conn.h"
#include "proto/proto.h"

/* ---- streams ----------------------------------------------------------------- */

/* The conn to the process that carries its stream of this number, or NULL. */
static struct conn *stream_conn(struct process *p, uint64_t number)
{
	struct conn_end *end, *next;

	list_for_each (end, next, &p->conns, link) {
		if (end->conn->tag == number && end == &end->conn->of[CONN_SERVER])
			return end->conn;
	}
	return NULL;
}

void stream_send(struct process *p, uint64_t number, const void *event)
{
	struct conn *conn = stream_conn(p, number);
	struct letter letter = {.kind = LETTER_EVENT, .message = event};

	if (!conn)
		return;
	proto_pack(event, &letter.bytes);
	conn_send(conn, p, &letter);
}

void stream_end(struct process *p, uint64_t number)
{
	struct conn *conn = stream_conn(p, number);

	if (conn)
		conn_close(conn, p);
}

/* ---- libprocess -------------------------------------------------------------- */

static const char *pid_address(const char *pid)
{
	const char *at = strrchr(pid, '@');

	return at ? at + 1 : pid;
}

/* The one that `from` opened to the pid, or NULL. */
static struct conn *pid_find(struct process *from, const char *pid)
{
	struct conn_end *end, *next;

	list_for_each (end, next, &from->conns, link) {
		struct conn *conn = end->conn;

		if (end == &conn->of[CONN_CLIENT] && conn->peer &&
		    !strcmp(conn->peer, pid_address(pid)))
			return conn;
	}
	return NULL;
}

static struct conn *pid_conn(struct process *from, const char *pid)
{
	struct conn *conn = pid_find(from, pid);

	if (conn)
		return conn;
	conn = conn_open(from, pid_address(pid));
	if (conn)
		conn->peer = xstrdup(pid_address(pid));
	return conn;
}

static char *make_pid(const char *actor, const char *address)
{
	size_t len = strlen(actor), rest = strlen(address);
	char *pid;

	if (strchr(actor, '@'))
		return xstrdup(actor);
	pid = xmalloc(len + 1 + rest + 1);
	memcpy(pid, actor, len);
	pid[len] = '@';
	memcpy(pid + len + 1, address, rest + 1);
	return pid;
}

void pid_post(struct process *from, const char *actor, const char *pid, struct letter *letter)
{
	const ProtobufCMessage *m = letter->message;
	struct conn *conn = pid_conn(from, pid);

	letter->kind = LETTER_MESSAGE;
	letter->type = m->descriptor;
	letter->from = make_pid(actor, from->address);
	if (str_has_prefix(pid, PID_DRIVER))
		letter->name = xstrdup(pid);
	proto_pack(m, &letter->bytes);
	if (!conn) {
		if (from->world->observer)
			from->world->observer->sent(from->world->observer, from, NULL,
						    pid_address(pid), letter);
		letter_free(letter);
		return;
	}
	conn_send(conn, from, letter);
}

void pid_send(struct process *from, const char *actor, const char *pid, const void *message)
{
	struct letter letter = {.message = message};

	pid_post(from, actor, pid, &letter);
}

void pid_link(struct process *from, const char *pid)
{
	struct conn *conn = pid_conn(from, pid);

	if (!conn) {
		conn = conn_make(from->world, from, NULL);
		conn->peer = xstrdup(pid_address(pid));
		conn_break(conn);
	}
	free(conn->linked);
	conn->linked = xstrdup(pid);
}

void pid_unlink(struct process *from, const char *pid)
{
	struct conn *conn = pid_find(from, pid);

	if (conn) {
		free(conn->linked);
		conn->linked = NULL;
	}
}

void pid_note_sender(struct conn *conn, const char *pid)
{
	if (conn->sender && !strcmp(conn->sender, pid))
		return;
	free(conn->sender);
	conn->sender = xstrdup(pid);
}

void pid_sole_sender(struct process *to, struct conn *conn, const char *pid)
{
	struct conn_end *end, *next;

	pid_note_sender(conn, pid);
	list_for_each (end, next, &to->conns, link) {
		struct conn *other = end->conn;

		if (other != conn && other->sender && !strcmp(other->sender, pid))
			conn_close(other, to);
	}
}

/* Bodies that are handed over as they come.
 *
 * The exchange is the connection's current one from its head on. Its body is parsed as long as
 * there is a reader that does not pause; then input waits, first here and then in the client's
 * socket. An answer ends the reading: nobody can tell where the next request begins without
 * taking all of the body, so the connection takes no further one. */
#include "net/http/http_internal.h"

bool http_body_flows(const struct exchange *exchange)
{
	return exchange->streams && !exchange->whole && exchange->reader && !exchange->paused;
}

bool http_body_give(struct http_connection *connection, struct slice part)
{
	const struct exchange *exchange = connection->current;

	if (!exchange)
		return false;
	exchange->reader->part(exchange->reader_context, part);
	return connection->current == exchange;
}

void http_body_end(struct http_connection *connection, bool whole)
{
	struct exchange *exchange = connection->current;

	if (!exchange || !exchange->streams || exchange->whole || !exchange->reader)
		return;
	exchange->whole = true;
	if (!exchange->request.keep_alive)
		connection->in_done = true;
	exchange->reader->ended(exchange->reader_context, whole);
}

bool http_body_read(struct http_request *request, const struct http_body_reader *reader,
		    void *context)
{
	struct exchange *exchange = request->answer;

	if (!exchange->connection || exchange->connection->closing)
		return false;
	/* If the client has said all that it will, the turn finds out. */
	exchange->reader = reader;
	exchange->reader_context = context;
	http_server_touch(exchange->connection);
	return true;
}

void http_body_pause(struct http_request *request, bool paused)
{
	struct exchange *exchange = request->answer;

	exchange->paused = paused;
	if (exchange->connection && !exchange->connection->closing)
		http_server_touch(exchange->connection);
}

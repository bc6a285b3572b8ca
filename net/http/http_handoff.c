/* Handing the writing of an answer to a child process, which has the client's socket from us.
 * Until it is done nothing else is written there: the request is the connection's current one,
 * no further is taken, and what was to be written before it has left. */
#include "net/http/http_internal.h"

enum http_handoff http_handoff(struct http_request *request, int *fd)
{
	struct exchange *exchange = request->answer;
	struct http_connection *connection = exchange->connection;
	int handle;

	if (!connection || connection->closing)
		return HTTP_HANDOFF_GONE;
	http_connection_flush(connection);
	if (connection->broken)
		return HTTP_HANDOFF_GONE;
	if (!list_empty(&connection->streams) || connection->detached)
		return HTTP_HANDOFF_NEVER;
	if (!transport_idle(&connection->transport))
		return HTTP_HANDOFF_BUSY;
	http_server_date(connection->server);
	handle = transport_socket(&connection->transport);
	if (handle < 0)
		return HTTP_HANDOFF_RELAY;
	*fd = handle;
	return HTTP_HANDOFF_READY;
}

void http_keep_date(struct http_request *request)
{
	const struct exchange *exchange = request->answer;

	exchange->connection->server->date_kept = true;
}

void http_handoff_done(struct http_request *request, bool written)
{
	struct exchange *exchange = request->answer;
	struct http_connection *connection = exchange->connection;

	if (connection)
		http_connection_let_go(connection);
	http_exchange_free(exchange);
	if (!connection || connection->closing)
		return;
	if (written)
		http_connection_answered(connection);
	else
		http_connection_close(connection);
}

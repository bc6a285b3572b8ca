/* Bounds of everything that strangers can make grow, each with its reason.
 *
 * Those a test needs small can be overridden in `struct http_server_options`. */
#ifndef NET_LIMITS_H
#define NET_LIMITS_H

/* -- HTTP server -- */

/* Request line and headers, bytes: what http-parser itself allows, as in Mesos. */
#define HTTP_HEAD_MAX (80 * 1024)
/* Values in a form or query. Those of Mesos' endpoints have three at most; more only cost time. */
#define HTTP_FORM_VALUES_MAX 1000
/* A head that began must be whole after this time: a client on the slowest line
 * needs a second, one that holds connections open with single bytes needs ever. */
#define HTTP_HEAD_TIMEOUT_MS 30000
/* A body must be whole or bring HTTP_BODY_PROGRESS bytes in each such span. */
#define HTTP_BODY_TIMEOUT_MS 30000
#define HTTP_BODY_PROGRESS 4096
/* An answer of which the client took nothing for so long is given up. Streams are
 * not timed, only bounded: a scheduler stopped in a debugger must survive. */
#define HTTP_WRITE_TIMEOUT_MS 60000
/* After the last answer the input is read and dropped this long: closing with
 * unread input would reset the connection and destroy the answer on its way. */
#define HTTP_LINGER_MS 2000
/* Bytes read ahead while a request is being answered; then reading stops. */
#define HTTP_READ_AHEAD (64 * 1024)
/* Unsent bytes of answers at which no further request is taken from the client:
 * together with the biggest answer this bounds a client that never reads. */
#define HTTP_OUTPUT_HIGH (64 * 1024)
/* Unsent bytes of all clients together. Beyond it, those go that hold more than their
 * share. */
#define HTTP_OUTPUT_TOTAL_MAX (512 * 1024 * 1024)
/* Answers to requests behind an open stream wait for its end, which may never
 * come: 202s of some 80 bytes, so this is 100,000 of them. */
#define HTTP_HELD_MAX (8 * 1024 * 1024)
/* Streams opened behind one another on one connection: nobody needs the second. */
#define HTTP_STREAMS_MAX 8
/* Unsent bytes of an answer that comes in parts, below which the next part is asked for. */
#define HTTP_BODY_LOW (64 * 1024)
/* Unsent bytes of a stream whose opener gave no limit. */
#define HTTP_STREAM_LIMIT (64 * 1024 * 1024)
/* Connections of a server, about 1 KiB each when idle. */
#define HTTP_CONNECTIONS_MAX 65536
/* Bytes read from a socket at once; one buffer a server. */
#define HTTP_READ_SIZE (64 * 1024)
/* Answers from this length on are compressed, as in Mesos. */
#define HTTP_GZIP_MIN 1024
/* Connections waiting for accept; the kernel cuts it to net.core.somaxconn. */
#define HTTP_BACKLOG 4096
/* Dead peers behind an idle connection (no FIN came) are noticed by TCP probes. */
#define TCP_KEEPALIVE_SECONDS 30

/* -- HTTP client -- */

/* A whole answer: the state of a large cluster is some 100 MB. */
#define CLIENT_BODY_MAX (512 * 1024 * 1024)
/* One record of a stream: the first record of an operator stream is the state. */
#define CLIENT_RECORD_MAX (256 * 1024 * 1024)
/* The kernel would try for two minutes. */
#define CLIENT_CONNECT_TIMEOUT_MS 30000

/* -- the loop -- */

/* Connections with something to send are flushed for so long in one turn of the loop; the rest
 * waits for the next turn, before which is read what came. A write to a socket
 * takes 20 to 80 us on loopback, where the kernel hands it to the receiver at once. */
#define FLUSH_TURN_NS (2 * 1000 * 1000)

/* -- messenger -- */

/* Unsent bytes for one peer; a reregistration of a big agent is a few MB. */
#define MESSENGER_QUEUE_MAX (64 * 1024 * 1024)
/* Peers at a time: pids come from strangers, and each may open a connection. */
#define MESSENGER_PEERS_MAX 65536
/* An unlinked connection is kept so long after its last message, since messages
 * to one peer come in groups. */
#define MESSENGER_IDLE_MS 5000
#define MESSENGER_CONNECT_TIMEOUT_MS 15000
#define MESSENGER_TICK_MS 1000

#endif

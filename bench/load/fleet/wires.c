/* See wires.h. */
#include "bench/load/fleet/wires.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/libprocess.h"

#define BODY_MAX (64 * 1024 * 1024)
#define LOOPBACK "127.0.0.1"

struct wire {
	struct messenger *messenger;
	char ip[INET6_ADDRSTRLEN];
	int port;
};

struct wires {
	struct wires_options options;
	struct wire *list;
	size_t count;
	struct http_server **servers; /* one for all wires, or one each */
	size_t server_count;
	size_t open_servers;
};

static const struct wire *wire_of(const struct wires *w, uint32_t agent)
{
	return &w->list[agent % w->count];
}

const char *wires_ip(const struct wires *w, uint32_t agent)
{
	return wire_of(w, agent)->ip;
}

int wires_port(const struct wires *w, uint32_t agent)
{
	return wire_of(w, agent)->port;
}

static void pid_of(const struct wires *w, uint32_t agent, char out[PID_MAX])
{
	const struct wire *wire = wire_of(w, agent);

	snprintf(out, PID_MAX, "slave(%u)@%s:%d", agent + 1, wire->ip, wire->port);
}

void wires_send(struct wires *w, uint32_t agent, const char *to, const char *name,
		struct slice body)
{
	char from[PID_MAX];

	pid_of(w, agent, from);
	messenger_send(wire_of(w, agent)->messenger, from, to, name, body.data, body.len);
}

void wires_link(struct wires *w, uint32_t agent, const char *to)
{
	messenger_link(wire_of(w, agent)->messenger, to);
}

/* ---- life ------------------------------------------------------------------- */

static int open_server(struct wires *w, const char *ip, struct err *err)
{
	const struct wires_options *o = &w->options;
	struct http_server_options options = {
		.loop = &o->load->loop,
		.ip = ip,
		.body_max = BODY_MAX,
		.handler = o->handler,
		.tls = o->load->tls,
		.context = o->context,
	};
	int rv = http_server_create(&options, &w->servers[w->server_count], err);

	if (rv == 0)
		w->server_count++;
	return rv;
}

static void name_loopback(struct wire *wire, size_t number)
{
	struct in_addr address = {.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)number)};

	inet_ntop(AF_INET, &address, wire->ip, sizeof(wire->ip));
}

int wires_open(const struct wires_options *options, struct wires **out, struct err *err)
{
	const struct plan *plan = &options->load->plan;
	struct wires *w = xcalloc(1, sizeof(*w));
	bool loopback = strcmp(plan->ip, LOOPBACK) == 0 && plan->connections > 1;
	int rv = 0;

	w->options = *options;
	w->count = (size_t)plan->connections;
	w->list = xcalloc(w->count, sizeof(*w->list));
	w->servers = xcalloc(w->count, sizeof(struct http_server *));
	*out = w;
	for (size_t i = 0; i < w->count && rv == 0; i++) {
		struct wire *wire = &w->list[i];

		if (i == 0 || !loopback)
			rv = open_server(w, loopback ? "0.0.0.0" : plan->ip, err);
		if (rv < 0)
			break;
		wire->messenger = messenger_create(&options->load->loop, options->load->tls,
						   options->exited, options->context);
		wire->port = http_server_port(w->servers[w->server_count - 1]);
		if (loopback)
			name_loopback(wire, i);
		else
			snprintf(wire->ip, sizeof(wire->ip), "%s", plan->ip);
	}
	return rv;
}

static void finish_close(struct wires *w)
{
	if (w->open_servers > 0)
		return;
	w->options.closed(w->options.context);
	free(w->servers);
	free(w->list);
	free(w);
}

static void server_closed_cb(void *context)
{
	struct wires *w = context;

	w->open_servers--;
	finish_close(w);
}

void wires_close(struct wires *w)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->list[i].messenger)
			messenger_close(w->list[i].messenger);
	w->open_servers = w->server_count;
	for (size_t i = 0; i < w->server_count; i++)
		http_server_close(w->servers[i], server_closed_cb, w);
	if (w->server_count == 0)
		finish_close(w);
}

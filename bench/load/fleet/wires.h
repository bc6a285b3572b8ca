/* The connections of the fleet: each agent has one of its own to the master and is reached by the
 * master at an address of its own, or some agents share one, as the plan says.
 *
 * On loopback the addresses are 127.0.0.1, 127.0.0.2 and so on at one port, so that each takes two
 * files here and two in the master. At another --ip they are ports of it. */
#ifndef BENCH_LOAD_WIRES_H
#define BENCH_LOAD_WIRES_H

#include "bench/load/load.h"
#include "net/http.h"

struct wires;

struct wires_options {
	struct load *load;
	void (*handler)(void *context, struct http_request *request); /* what the master sends */
	void (*exited)(void *context, const char *pid); /* a linked connection broke */
	void (*closed)(void *context);			/* after wires_close() */
	void *context;
};

int wires_open(const struct wires_options *options, struct wires **out, struct err *err);
/* Frees itself from the loop, then calls `closed`. */
void wires_close(struct wires *wires);

const char *wires_ip(const struct wires *wires, uint32_t agent);
int wires_port(const struct wires *wires, uint32_t agent);
/* Over the agent's connection; `exited` tells when it breaks. */
void wires_send(struct wires *wires, uint32_t agent, const char *to, const char *name,
		struct slice body);
void wires_link(struct wires *wires, uint32_t agent, const char *to);

#endif

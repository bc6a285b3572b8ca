/* The limit: as many messages of the same mean size as the run had, sent by one process and
 * sent back by another through libuv on loopback, over as many connections. Both gather what they
 * have for a connection and write it at once; nothing is parsed. As much is under way as the
 * kernel's buffers hold, so nobody who waits for what he sends can be faster. The process that
 * sends back runs on the processors that the master may use. */
#ifndef BENCH_LOAD_ECHO_H
#define BENCH_LOAD_ECHO_H

#include <stdint.h>

#include "base/err.h"

struct echo {
	uint64_t messages; /* in both directions together */
	uint64_t bytes;
	uint32_t connections;
	int master_pid; /* 0: unknown, the server runs where this process may */
	/* out */
	double seconds;
	double server_cpu; /* seconds of processor time of the one that sends back */
};

/* Blocks until it is done. The other process ends with it. */
int echo_measure(struct echo *echo, struct err *err);

#endif

/* What the kernel counts of processes and of our own sockets. */
#ifndef BENCH_LOAD_KERNEL_H
#define BENCH_LOAD_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

struct process_figures {
	bool known;
	double user; /* seconds of processor time */
	double system;
	double waited;	/* seconds its main thread was ready and another had the processor */
	double blocked; /* seconds that thread waited for disks; 0 where nobody counts that */
	double age;	/* seconds since it was started */
	uint64_t rss;	/* bytes */
	uint64_t peak;
	uint64_t preempted; /* times its main thread was */
	uint64_t slept;	    /* times that thread gave the processor up by itself */
};

struct socket_figures {
	uint64_t sent; /* bytes, acknowledged by the other end */
	uint64_t received;
	uint64_t waiting; /* bytes not acknowledged yet */
	uint32_t count;
};

void process_read(int pid, struct process_figures *out);
/* The process that listens on a port of this machine, 0 when it cannot be told. */
int process_find(int port);
/* All TCP connections of this process, as they are now. */
void sockets_read(struct socket_figures *out);

#endif

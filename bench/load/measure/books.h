/* The books: each launched task, what became of it and when. What breaks the rules (a task
 * that comes twice, two ends, an end nobody told the agent) is a violation and fails the run. */
#ifndef BENCH_LOAD_BOOKS_H
#define BENCH_LOAD_BOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "bench/load/measure/histogram.h"
#include "proto/proto.h"

#define BOOKS_VIOLATIONS_SHOWN 10
#define TASK_ID_MAX 48

enum life {
	LIFE_ACCEPTED, /* ACCEPT was sent */
	LIFE_RUNNING,  /* its scheduler heard TASK_RUNNING */
	LIFE_ENDED,    /* its scheduler heard a terminal state */
	LIFE_DONE,     /* and its agent knows that */
};

/* What the plan has in mind for a task. */
enum fate {
	FATE_END,	/* ends by itself */
	FATE_KILL,	/* runs until it is killed */
	FATE_RECONCILE, /* is asked for while it runs */
};

struct run; /* a task on its agent (runs.c) */

struct record {
	union {
		int64_t ready; /* when the offer was there and the plan wanted the task */
		int64_t asked; /* once it runs: when its fate was called for */
	};
	int64_t accepted; /* when ACCEPT was sent */
	int64_t sent;	  /* when its agent first sent the latest update */
	struct run *run;  /* NULL before it arrives, and when it is over */
	uint32_t end;	  /* first bytes of the uuid of the terminal update */
	uint16_t scheduler;
	uint8_t life : 2;
	uint8_t fate : 2;
	bool arrived : 1;
	bool answered : 1;  /* the reconciliation of its fate was */
	bool confirmed : 1; /* after a failover: the master knows it */
};

struct books {
	char prefix[24]; /* of this run's task ids */
	struct record **blocks;
	uint32_t launched;
	uint32_t arrived;
	uint32_t running; /* ever: their schedulers heard so */
	uint32_t ended;
	uint32_t killed;
	uint32_t reconciled; /* asked for while they run, and */
	uint32_t answered;
	uint32_t confirmed;
	uint32_t done;	   /* finished, and acknowledged as far as its agent */
	uint32_t dropped;  /* ended by the master, without its agent */
	uint32_t retries;  /* updates sent again */
	uint32_t repeated; /* updates heard again */
	uint64_t violations;
	int64_t first_accept;
	int64_t last_running;
	int64_t last_done;

	/* messages, by what they are */
	uint64_t calls;
	uint64_t events;
	uint64_t to_agents;
	uint64_t from_agents;

	struct histogram ready_to_launch;
	struct histogram accept_to_running;
	struct histogram update_to_scheduler;
	struct histogram call_to_answer;
	struct histogram accept_to_done;
	struct histogram kill_to_ended;
	struct histogram reconcile_to_answer;
};

void books_open(struct books *books, uint64_t tag);
void books_close(struct books *books);

/* A new task's number. */
uint32_t books_launch(struct books *books, size_t scheduler, enum fate fate, int64_t ready,
		      int64_t now);
void books_task_id(const struct books *books, uint32_t number, char out[TASK_ID_MAX]);
/* NULL when it is no task of this run. */
struct record *books_find(const struct books *books, const char *task_id, uint32_t *number);

/* The task reached its agent. False: it had done so before. */
bool books_arrive(struct books *books, uint32_t number, int64_t now);
/* Its scheduler heard of it. True: it begins to run, and its fate is to be called for. */
bool books_hear(struct books *books, size_t scheduler, const Mesos__TaskStatus *status, int64_t now,
		enum fate *fate);
/* The master answered its scheduler's question. */
void books_answer(struct books *books, size_t scheduler, const Mesos__TaskStatus *status,
		  int64_t now);
/* After a failover the master tells that it has the task: once, and running. */
void books_confirm(struct books *books, size_t scheduler, const Mesos__TaskStatus *status);
/* Its agent heard that the terminal update was acknowledged. */
void books_finish(struct books *books, uint32_t number, int64_t now);

void books_violate(struct books *books, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* What has not come to its end. */
void books_show_missing(const struct books *books);

#endif

/* /monitor/statistics: what containers use, read twice a second at most; who asks in between waits,
 * as in Mesos. */
#ifndef AGENT_HTTP_STATISTICS_H
#define AGENT_HTTP_STATISTICS_H

#include <uv.h>

#include "base/list.h"
#include "net/http.h"

#define STATISTICS_WAIT_MS 500
#define STATISTICS_WAITING_MAX 1000 /* more are answered 503 */

struct statistics_turns {
	struct list waiting;
	size_t count;  /* that wait */
	uint64_t next; /* uv_now() of the next turn */
	uv_timer_t timer;
};

void statistics_init(struct statistics_turns *turns, uv_loop_t *loop);
/* Answers those who wait 503. */
void statistics_close(struct statistics_turns *turns);
void agent_rest_statistics(void *shell, struct http_request *request);

#endif

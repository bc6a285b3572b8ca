/* How much a daemon logs, changed while it runs: a level of 0 logs what the flags say, any other
 * everything. It falls back to 0 after the time that was given. */
#ifndef NET_VERBOSITY_H
#define NET_VERBOSITY_H

#include <uv.h>

#include "base/log/log.h"
#include "net/http.h"

struct verbosity {
	uint32_t level;
	enum log_level start; /* what the flags say: set by the owner */
	uv_timer_t timer;     /* until it falls back */
};

void verbosity_init(struct verbosity *v, uv_loop_t *loop);
void verbosity_close(struct verbosity *v); /* before the loop ends */
/* `duration` in ns; what is below a millisecond falls back at once. */
void verbosity_set(struct verbosity *v, uint32_t level, int64_t duration);
/* GET /logging/toggle: tells the level, or sets it by ?level=N&duration=5mins. */
void verbosity_toggle(struct verbosity *v, struct http_request *request);

#endif

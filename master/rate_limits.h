/* --rate_limits: how many messages of drivers are handled in a second, by the principal of their
 * framework. What comes faster waits, and above a capacity is refused. Messages of who is no
 * registered driver are not limited, nor are calls over HTTP, as in Mesos. */
#ifndef MASTER_RATE_LIMITS_H
#define MASTER_RATE_LIMITS_H

#include <uv.h>

#include "base/json/json.h"
#include "net/libprocess.h"

struct rate_limits;

/* A message in its turn, and one that is refused since so many wait. */
struct rate_limits_handlers {
	void (*deliver)(void *context, const struct libprocess_message *message, const char *local);
	void (*refuse)(void *context, const struct libprocess_message *message, uint64_t capacity);
};

/* `config` NULL: nothing is limited, only counted. ERR_INVALID. */
int rate_limits_create(uv_loop_t *loop, const struct json *config,
		       const struct rate_limits_handlers *handlers, void *context,
		       struct rate_limits **out, struct err *err);
/* What waits is forgotten. Frees itself from the loop. NULL is fine. */
void rate_limits_close(struct rate_limits *limits);

/* A message of a driver whose framework has the principal (NULL: none), which reached us at `local`
 * (NULL: as advertised). It is delivered inside the call if its turn is now. */
void rate_limits_take(struct rate_limits *limits, const char *principal,
		      const struct libprocess_message *message, const char *local);
/* Messages of a principal so far. */
void rate_limits_counts(const struct rate_limits *limits, const char *principal, uint64_t *received,
			uint64_t *processed);

#endif

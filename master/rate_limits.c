#include "master/rate_limits.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/list.h"
#include "base/memory/arena.h"
#include "base/time/clock.h"

/* A message that waits; its texts and its body are behind it. */
struct waiting_message {
	struct list link;
	struct principal_counts *sender;
	struct libprocess_message message;
	const char *local; /* NULL: as advertised */
	char bytes[];
};

struct rate_limit {
	struct rate_limits *all;
	double qps;	   /* 0: unlimited */
	bool bounded;	   /* by the capacity */
	uint64_t capacity; /* messages that may wait */
	uint64_t count;	   /* that wait */
	int64_t next;	   /* when the next one's turn is; ns, of uv_hrtime */
	struct list waiting;
	uv_timer_t timer; /* of a limit with qps */
};

struct principal_counts {
	char *name; /* "" : none */
	uint64_t received, processed;
	struct rate_limit *limit; /* its own; NULL: that of all others */
	UT_hash_handle hh;
};

struct rate_limits {
	uv_loop_t *loop;
	const struct rate_limits_handlers *handlers;
	void *context;
	struct principal_counts *principals; /* by name */
	struct rate_limit *rest;	     /* of who has none; NULL: unlimited */
	size_t timers;			     /* open ones */
	bool closing;
};

/* ---- configuration ------------------------------------------------------------------- */

static struct principal_counts *counts_of(struct rate_limits *limits, const char *principal)
{
	struct principal_counts *counts;

	principal = principal ? principal : "";
	HASH_FIND_STR(limits->principals, principal, counts);
	if (counts)
		return counts;
	counts = xcalloc(1, sizeof(*counts));
	counts->name = xstrdup(principal);
	HASH_ADD_KEYPTR(hh, limits->principals, counts->name, strlen(counts->name), counts);
	return counts;
}

static struct rate_limit *make_limit(struct rate_limits *limits, double qps, bool bounded,
				     uint64_t capacity)
{
	struct rate_limit *limit = xcalloc(1, sizeof(*limit));

	*limit = (struct rate_limit){
		.all = limits, .qps = qps, .bounded = bounded, .capacity = capacity};
	list_init(&limit->waiting);
	if (qps > 0) {
		uv_timer_init(limits->loop, &limit->timer);
		limit->timer.data = limit;
		limits->timers++;
	}
	return limit;
}

/* Reads members `qps` and `capacity` of an object; without qps there is no limit. */
static int read_limit(struct rate_limits *limits, const struct json *from, const char *qps_name,
		      const char *capacity_name, struct rate_limit **out, struct err *err)
{
	const struct json *qps = json_get(from, qps_name);
	const struct json *capacity = json_get(from, capacity_name);
	int64_t number = 0;

	if (qps && (qps->type != JSON_NUMBER || !(json_number(qps) > 0)))
		return err_set(err, ERR_INVALID, "Invalid %s: it must be a positive number",
			       qps_name);
	if (capacity && (!json_integer(capacity, &number) || number < 0))
		return err_set(err, ERR_INVALID, "Invalid %s: it must be a number of messages",
			       capacity_name);
	*out = make_limit(limits, qps ? json_number(qps) : 0, qps && capacity, (uint64_t)number);
	return 0;
}

static int read_principal(struct rate_limits *limits, const struct json *from, struct err *err)
{
	const struct json *name = json_get(from, "principal");
	struct principal_counts *counts;

	if (!name || name->type != JSON_STRING || !*name->text.data)
		return err_set(err, ERR_INVALID, "a limit has no principal");
	counts = counts_of(limits, name->text.data);
	if (counts->limit)
		return err_set(err, ERR_INVALID,
			       "Duplicate principal '%s' found in RateLimits configuration",
			       counts->name);
	return read_limit(limits, from, "qps", "capacity", &counts->limit, err);
}

static int read_config(struct rate_limits *limits, const struct json *config, struct err *err)
{
	const struct json *list = json_get(config, "limits");
	int rv = 0;

	if (config->type != JSON_OBJECT || (list && list->type != JSON_ARRAY))
		return err_set(err, ERR_INVALID, "expected {\"limits\": [..], ..}");
	for (size_t i = 0; rv == 0 && list && i < list->count; i++)
		rv = read_principal(limits, &list->items[i], err);
	if (rv == 0)
		rv = read_limit(limits, config, "aggregate_default_qps",
				"aggregate_default_capacity", &limits->rest, err);
	return rv;
}

int rate_limits_create(uv_loop_t *loop, const struct json *config,
		       const struct rate_limits_handlers *handlers, void *context,
		       struct rate_limits **out, struct err *err)
{
	struct rate_limits *limits = xcalloc(1, sizeof(*limits));
	int rv;

	limits->loop = loop;
	limits->handlers = handlers;
	limits->context = context;
	rv = config ? read_config(limits, config, err) : 0;
	if (rv < 0)
		rate_limits_close(limits);
	else
		*out = limits;
	return rv;
}

/* ---- the end ----------------------------------------------------------------------------- */

static void free_limit(struct rate_limit *limit)
{
	struct waiting_message *waiting, *next;

	if (!limit)
		return;
	list_for_each (waiting, next, &limit->waiting, link)
		free(waiting);
	free(limit);
}

static void free_limits(struct rate_limits *limits)
{
	struct principal_counts *counts, *next;

	HASH_ITER (hh, limits->principals, counts, next) {
		HASH_DEL(limits->principals, counts);
		free_limit(counts->limit);
		free(counts->name);
		free(counts);
	}
	free_limit(limits->rest);
	free(limits);
}

static void rate_limits_timer_closed(uv_handle_t *timer)
{
	struct rate_limits *limits = ((struct rate_limit *)timer->data)->all;

	if (--limits->timers == 0)
		free_limits(limits);
}

static void close_limit(struct rate_limit *limit)
{
	if (limit && limit->qps > 0)
		uv_close((uv_handle_t *)&limit->timer, rate_limits_timer_closed);
}

void rate_limits_close(struct rate_limits *limits)
{
	struct principal_counts *counts, *next;

	if (!limits || limits->closing)
		return;
	limits->closing = true;
	if (limits->timers == 0) {
		free_limits(limits);
		return;
	}
	HASH_ITER (hh, limits->principals, counts, next)
		close_limit(counts->limit);
	close_limit(limits->rest);
}

/* ---- turns -------------------------------------------------------------------------------- */

static void hand_over(struct rate_limit *limit, struct principal_counts *sender,
		      const struct libprocess_message *message, const char *local)
{
	struct rate_limits *limits = limit->all;
	int64_t now = (int64_t)uv_hrtime();

	limit->next = (limit->next > now ? limit->next : now) + (int64_t)(SECOND / limit->qps);
	sender->processed++;
	limits->handlers->deliver(limits->context, message, local);
}

static void rate_limits_on_turn(uv_timer_t *timer);

static void wait_for_turn(struct rate_limit *limit)
{
	int64_t wait = limit->next - (int64_t)uv_hrtime();

	if (!list_empty(&limit->waiting))
		uv_timer_start(&limit->timer, rate_limits_on_turn,
			       wait > 0 ? (uint64_t)((wait + MILLISECOND - 1) / MILLISECOND) : 0,
			       0);
}

/* A timer is exact to the millisecond: at more than 1,000 a second several turns are due. */
static void rate_limits_on_turn(uv_timer_t *timer)
{
	struct rate_limit *limit = timer->data;
	int64_t due = (int64_t)uv_hrtime();

	while (!list_empty(&limit->waiting) && limit->next <= due) {
		struct waiting_message *waiting =
			list_first(&limit->waiting, struct waiting_message, link);
		int64_t turn = limit->next;

		list_remove(&waiting->link);
		limit->count--;
		hand_over(limit, waiting->sender, &waiting->message, waiting->local);
		/* Turns that the loop was late for are not lost. */
		limit->next = turn + (int64_t)(SECOND / limit->qps);
		free(waiting);
	}
	wait_for_turn(limit);
}

static char *put_text(char **at, const char *text, size_t len)
{
	char *copy = *at;

	memcpy(copy, text, len);
	copy[len] = '\0';
	*at += len + 1;
	return copy;
}

static void keep_waiting(struct rate_limit *limit, struct principal_counts *sender,
			 const struct libprocess_message *message, const char *local)
{
	size_t from = strlen(message->from), to = strlen(message->to), name = strlen(message->name);
	struct waiting_message *waiting =
		xmalloc(sizeof(*waiting) + from + to + name + message->body.len + 4 +
			(local ? strlen(local) + 1 : 0));
	char *at = waiting->bytes;

	waiting->sender = sender;
	waiting->message.from = put_text(&at, message->from, from);
	waiting->message.to = put_text(&at, message->to, to);
	waiting->message.name = put_text(&at, message->name, name);
	waiting->message.body.len = message->body.len;
	waiting->message.body.data = put_text(&at, message->body.data, message->body.len);
	waiting->local = local ? put_text(&at, local, strlen(local)) : NULL;
	list_append(&limit->waiting, &waiting->link);
	limit->count++;
}

void rate_limits_take(struct rate_limits *limits, const char *principal,
		      const struct libprocess_message *message, const char *local)
{
	struct principal_counts *sender = counts_of(limits, principal);
	struct rate_limit *limit = sender->limit ? sender->limit : limits->rest;

	sender->received++;
	if (!limit || limit->qps <= 0) {
		sender->processed++;
		limits->handlers->deliver(limits->context, message, local);
	} else if (list_empty(&limit->waiting) && limit->next <= (int64_t)uv_hrtime()) {
		hand_over(limit, sender, message, local);
	} else if (limit->bounded && limit->count >= limit->capacity) {
		limits->handlers->refuse(limits->context, message, limit->capacity);
	} else {
		keep_waiting(limit, sender, message, local);
		wait_for_turn(limit);
	}
}

void rate_limits_counts(const struct rate_limits *limits, const char *principal, uint64_t *received,
			uint64_t *processed)
{
	const struct principal_counts *counts;

	HASH_FIND_STR(limits->principals, principal, counts);
	*received = counts ? counts->received : 0;
	*processed = counts ? counts->processed : 0;
}

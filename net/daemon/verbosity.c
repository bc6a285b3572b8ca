#include "net/daemon/verbosity.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/time/clock.h"
#include "base/time/duration.h"
#include "net/daemon/audit.h"

static void verbosity_apply(struct verbosity *v, uint32_t level)
{
	v->level = level;
	log_set_level(level > 0 ? LOG_LEVEL_DEBUG : v->start);
}

static void fall_back_cb(uv_timer_t *timer)
{
	verbosity_apply(timer->data, 0);
}

void verbosity_init(struct verbosity *v, uv_loop_t *loop)
{
	v->level = 0;
	uv_timer_init(loop, &v->timer);
	v->timer.data = v;
}

void verbosity_close(struct verbosity *v)
{
	uv_close((uv_handle_t *)&v->timer, NULL);
}

void verbosity_set(struct verbosity *v, uint32_t level, int64_t duration)
{
	verbosity_apply(v, level);
	if (level == 0)
		uv_timer_stop(&v->timer);
	else
		uv_timer_start(&v->timer, fall_back_cb,
			       duration > 0 ? (uint64_t)(duration / MILLISECOND) : 0, 0);
}

void verbosity_toggle(struct verbosity *v, struct http_request *request)
{
	const char *level = http_query(request, "level"), *wait = http_query(request, "duration");
	struct arena *arena = &request->arena;
	struct err err = {""};
	int64_t duration;
	char *end;
	long number;

	if (!level && !wait) {
		http_reply_text(request, 200, arena_printf(arena, "%u\n", v->level));
		return;
	}
	if (!level || !wait) {
		http_reply_text(request, 400,
				level ? "Expecting 'duration=value' in query.\n"
				      : "Expecting 'level=value' in query.\n");
		return;
	}
	errno = 0;
	number = strtol(level, &end, 10);
	if (errno || end == level || *end || number > INT32_MAX)
		http_reply_text(request, 400,
				arena_printf(arena, "Failed to convert '%s' to number.\n", level));
	else if (number < 0)
		http_reply_text(request, 400,
				arena_printf(arena, "'%ld' < original level.\n", number));
	else if (duration_parse(wait, &duration, &err) < 0)
		http_reply_text(request, 400, arena_printf(arena, "%s\n", err.text));
	else {
		audit_change(request, request->path,
			     arena_printf(arena, "level=%ld,duration=%s", number, wait), 200);
		verbosity_set(v, (uint32_t)number, duration);
		http_reply(request, 200, NULL, NULL, 0, NULL);
	}
}

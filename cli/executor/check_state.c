/* See check_state.h. */
#include "cli/executor/check_state.h"

#include "base/time/clock.h"

#define SPAN_MAX (3650 * DAY) /* longer ones are taken for this */
/* With an interval of nothing, what else the executor does must get its turn. */
#define INTERVAL_MIN (10 * MILLISECOND)

static int64_t span(double seconds)
{
	if (!(seconds > 0))
		return 0;
	return seconds >= (double)(SPAN_MAX / SECOND) ? SPAN_MAX : (int64_t)(seconds * SECOND);
}

void check_options_of_check(struct check_options *options, const Mesos__CheckInfo *check)
{
	*options = (struct check_options){
		.kind = check->type == MESOS__CHECK_INFO__TYPE__COMMAND ? PROBE_COMMAND
			: check->type == MESOS__CHECK_INFO__TYPE__HTTP	? PROBE_HTTP
									: PROBE_TCP,
		.delay = span(check->delay_seconds),
		.interval = span(check->interval_seconds),
		.timeout = span(check->timeout_seconds),
	};
}

void check_options_of_health(struct check_options *options, const Mesos__HealthCheck *check)
{
	*options = (struct check_options){
		.health = true,
		.kind = check->type == MESOS__HEALTH_CHECK__TYPE__COMMAND ? PROBE_COMMAND
			: check->type == MESOS__HEALTH_CHECK__TYPE__HTTP  ? PROBE_HTTP
									  : PROBE_TCP,
		.delay = span(check->delay_seconds),
		.interval = span(check->interval_seconds),
		.timeout = span(check->timeout_seconds),
		.grace = span(check->grace_period_seconds),
		.limit = check->consecutive_failures,
	};
}

void check_state_init(struct check_state *s, const struct check_options *options, int64_t now)
{
	*s = (struct check_state){
		.options = *options,
		.started = now,
		.due = now + options->delay,
	};
}

int64_t check_state_due(const struct check_state *s)
{
	return s->stopped ? TIME_NEVER : s->due;
}

enum check_step check_state_step(struct check_state *s, int64_t now)
{
	if (s->stopped || now < s->due)
		return CHECK_WAIT;
	if (s->probing) {
		s->due = TIME_NEVER;
		return CHECK_TIME_OUT;
	}
	s->probing = true;
	s->due = s->options.timeout ? now + s->options.timeout : TIME_NEVER;
	return CHECK_PROBE;
}

/* ---- results ------------------------------------------------------------- */

static bool is_healthy(enum probe_kind kind, const struct probe_result *result)
{
	if (result->outcome != PROBE_RESULT)
		return false;
	switch (kind) {
	case PROBE_COMMAND:
		return result->value == 0;
	case PROBE_HTTP:
		return result->value >= 200 && result->value < 400;
	default:
		return result->value == 1;
	}
}

static enum check_verdict judge_health(struct check_state *s, int64_t now, bool healthy)
{
	bool news = !s->passed || s->failures > 0;

	if (healthy) {
		s->passed = true;
		s->failures = 0;
		return news ? CHECK_HEALTHY : CHECK_NO_NEWS;
	}
	if (!s->passed && s->options.grace > 0 && now - s->started <= s->options.grace)
		return CHECK_NO_NEWS;
	s->failures++;
	return s->failures >= s->options.limit ? CHECK_HOPELESS : CHECK_UNHEALTHY;
}

static enum check_verdict note_result(struct check_state *s, const struct probe_result *result)
{
	bool known = result->outcome == PROBE_RESULT;
	int value = known ? result->value : 0;
	bool changed = known != s->known || value != s->value;

	s->known = known;
	s->value = value;
	return changed ? CHECK_CHANGED : CHECK_NO_NEWS;
}

enum check_verdict check_state_take(struct check_state *s, int64_t now,
				    const struct probe_result *result)
{
	int64_t interval = s->options.interval;

	s->probing = false;
	s->due = now + (interval > INTERVAL_MIN ? interval : INTERVAL_MIN);
	if (s->stopped || result->outcome == PROBE_UNAVAILABLE)
		return CHECK_NO_NEWS;
	if (s->options.health)
		return judge_health(s, now, is_healthy(s->options.kind, result));
	return note_result(s, result);
}

void check_state_stop(struct check_state *s)
{
	s->stopped = true;
}

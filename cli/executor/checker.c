/* See checker.h. The rules are in check_state.c, the probes in probe_*.c.
 *
 * Per check: the timer fires when a probe is due -> it is started -> its result is
 * judged -> the timer is set again. Failures: a probe that takes too long is ended and
 * counts as failed; one that this machine cannot make says nothing about the task. */
#include "cli/executor/checker.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/time/clock.h"
#include "base/time/duration.h"
#include "cli/executor/check_state.h"

#define REASON(name) MESOS__TASK_STATUS__REASON__REASON_TASK_##name

/* A check or a health check. */
struct part {
	struct checker *checker;
	const char *name; /* NULL: the task has none */
	struct check_state state;
	struct probe_target target;
	struct probe *probe;
	uv_timer_t timer;
};

struct checker {
	uv_loop_t *loop;
	const Mesos__TaskInfo *task;
	struct checker_handlers handlers;
	void *context;
	struct part parts[2]; /* check, health check */
	bool judged;	      /* once at least, */
	bool healthy;	      /* so the last time */
	int open_handles;
};

/* ---- what updates say ---------------------------------------------------- */

Mesos__CheckStatusInfo *check_report_empty(struct check_report *report, const Mesos__TaskInfo *task)
{
	if (!task || !task->check)
		return NULL;
	*report = (struct check_report){
		MESOS__CHECK_STATUS_INFO__INIT,
		MESOS__CHECK_STATUS_INFO__COMMAND__INIT,
		MESOS__CHECK_STATUS_INFO__HTTP__INIT,
		MESOS__CHECK_STATUS_INFO__TCP__INIT,
	};
	report->info.has_type = true;
	report->info.type = task->check->type;
	if (task->check->type == MESOS__CHECK_INFO__TYPE__COMMAND)
		report->info.command = &report->command;
	else if (task->check->type == MESOS__CHECK_INFO__TYPE__HTTP)
		report->info.http = &report->http;
	else if (task->check->type == MESOS__CHECK_INFO__TYPE__TCP)
		report->info.tcp = &report->tcp;
	return &report->info;
}

static void fill_result(struct check_report *report, const struct check_state *state)
{
	if (!state->known)
		return;
	report->command.has_exit_code = true;
	report->command.exit_code = state->value;
	report->http.has_status_code = true;
	report->http.status_code = (uint32_t)state->value;
	report->tcp.has_succeeded = true;
	report->tcp.succeeded = state->value;
}

static void checker_tell(struct part *part, enum check_verdict verdict)
{
	struct checker *c = part->checker;
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	struct check_report report;

	if (part->state.options.health) {
		c->judged = true;
		c->healthy = verdict == CHECK_HEALTHY;
	}
	status.state = MESOS__TASK_STATE__TASK_RUNNING;
	status.has_reason = true;
	status.reason = part->state.options.health ? REASON(HEALTH_CHECK_STATUS_UPDATED)
						   : REASON(CHECK_STATUS_UPDATED);
	status.has_healthy = c->judged;
	status.healthy = c->healthy;
	status.check_status = check_report_empty(&report, c->task);
	if (status.check_status)
		fill_result(&report, &c->parts[0].state);
	c->handlers.update(c->context, &status, verdict == CHECK_HOPELESS);
}

/* ---- probing ------------------------------------------------------------- */

static void checker_timer_cb(uv_timer_t *timer);

static void arm_timer(struct part *part)
{
	int64_t due = check_state_due(&part->state), now = clock_now();

	if (due == TIME_NEVER)
		uv_timer_stop(&part->timer);
	else
		uv_timer_start(
			&part->timer, checker_timer_cb,
			due > now ? (uint64_t)((due - now + MILLISECOND - 1) / MILLISECOND) : 0, 0);
}

static void take_result(struct part *part, const struct probe_result *result)
{
	const char *task_id = part->checker->task->task_id->value;
	enum check_verdict verdict;

	if (result->outcome == PROBE_FAILED)
		log_warning("%s of task '%s' failed: %s", part->name, task_id, result->why);
	else if (result->outcome == PROBE_UNAVAILABLE)
		log_warning("%s of task '%s' is not possible: %s", part->name, task_id,
			    result->why);
	else
		log_info("%s of task '%s' returned %d", part->name, task_id, result->value);
	verdict = check_state_take(&part->state, clock_now(), result);
	arm_timer(part);
	if (verdict != CHECK_NO_NEWS)
		checker_tell(part, verdict);
}

static void probe_done_cb(void *context, const struct probe_result *result)
{
	struct part *part = context;

	part->probe = NULL;
	take_result(part, result);
}

static void begin_probe(struct part *part)
{
	struct probe_result failed;
	struct err err = {{0}};

	part->probe =
		probe_start(part->checker->loop, &part->target, probe_done_cb, part, &failed, &err);
	if (part->probe)
		arm_timer(part);
	else
		take_result(part, &failed);
}

static void end_probe(struct part *part)
{
	if (part->probe)
		probe_cancel(part->probe);
	part->probe = NULL;
}

static void time_out(struct part *part)
{
	static const char *const what[] = {"Command", "HTTP request", "TCP connection"};
	struct probe_result result = {.outcome = PROBE_FAILED};
	char span[DURATION_TEXT];
	struct err err;

	end_probe(part);
	err_set(&err, ERR_LIMIT, "%s timed out after %s", what[part->target.kind],
		duration_format(part->state.options.timeout, span));
	result.why = err.text;
	take_result(part, &result);
}

static void checker_timer_cb(uv_timer_t *timer)
{
	struct part *part = timer->data;

	switch (check_state_step(&part->state, clock_now())) {
	case CHECK_PROBE:
		begin_probe(part);
		break;
	case CHECK_TIME_OUT:
		time_out(part);
		break;
	case CHECK_WAIT:
		arm_timer(part);
		break;
	}
}

/* ---- life ---------------------------------------------------------------- */

static void start_part(struct checker *c, struct part *part, const char *name,
		       const struct check_options *options)
{
	part->checker = c;
	part->name = name;
	part->target.kind = options->kind;
	part->target.commander = c->handlers.command;
	part->target.commander_context = c->context;
	part->target.network = c->handlers.network;
	check_state_init(&part->state, options, clock_now());
	uv_timer_init(c->loop, &part->timer);
	part->timer.data = part;
	c->open_handles++;
	arm_timer(part);
}

static void start_check(struct checker *c, const Mesos__CheckInfo *check)
{
	struct probe_target *target = &c->parts[0].target;
	struct check_options options;

	if (check->command)
		target->command = check->command->command;
	if (check->type == MESOS__CHECK_INFO__TYPE__HTTP && check->http) {
		target->port = (int)(check->http->port & 0xffff);
		target->path = check->http->path;
	} else if (check->tcp) {
		target->port = (int)(check->tcp->port & 0xffff);
	}
	check_options_of_check(&options, check);
	start_part(c, &c->parts[0], "Check", &options);
}

static void start_health_check(struct checker *c, const Mesos__HealthCheck *check)
{
	const Mesos__HealthCheck__HTTPCheckInfo *http = check->http;
	struct probe_target *target = &c->parts[1].target;
	struct check_options options;

	target->command = check->command;
	if (check->type == MESOS__HEALTH_CHECK__TYPE__HTTP && http) {
		target->port = (int)(http->port & 0xffff);
		target->path = http->path;
		target->tls = http->scheme && !strcmp(http->scheme, "https");
		target->ipv6 = http->protocol == MESOS__NETWORK_INFO__PROTOCOL__IPv6;
	} else if (check->tcp) {
		target->port = (int)(check->tcp->port & 0xffff);
		target->ipv6 = check->tcp->protocol == MESOS__NETWORK_INFO__PROTOCOL__IPv6;
	}
	check_options_of_health(&options, check);
	start_part(c, &c->parts[1], "Health check", &options);
}

struct checker *checker_start(uv_loop_t *loop, const Mesos__TaskInfo *task,
			      const struct checker_handlers *handlers, void *context)
{
	struct checker *c;

	if (!task->check && !task->health_check)
		return NULL;
	c = xcalloc(1, sizeof(*c));
	c->loop = loop;
	c->task = task;
	c->handlers = *handlers;
	c->context = context;
	if (task->check)
		start_check(c, task->check);
	if (task->health_check)
		start_health_check(c, task->health_check);
	return c;
}

bool checker_reap(struct checker *c, pid_t pid, int status)
{
	for (size_t i = 0; c && i < 2; i++)
		if (c->parts[i].probe && probe_reap(c->parts[i].probe, pid, status))
			return true;
	return false;
}

void checker_stop(struct checker *c)
{
	for (size_t i = 0; c && i < 2; i++) {
		struct part *part = &c->parts[i];

		if (!part->name)
			continue;
		check_state_stop(&part->state);
		uv_timer_stop(&part->timer);
		end_probe(part);
	}
}

static void checker_closed_cb(uv_handle_t *handle)
{
	struct part *part = handle->data;

	if (!--part->checker->open_handles)
		free(part->checker);
}

void checker_close(struct checker *c)
{
	checker_stop(c);
	for (size_t i = 0; c && i < 2; i++)
		if (c->parts[i].name)
			uv_close((uv_handle_t *)&c->parts[i].timer, checker_closed_cb);
}

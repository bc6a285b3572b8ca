/* The slave/... metrics the core knows. Asked for rarely, so gauges are counted then. */
#include "agent/core/objects.h"

typedef void metric_sink(void *context, const char *name, double value);

struct gauges {
	unsigned executors[EXECUTOR_STATES];
	unsigned tasks[16]; /* by TaskState, not terminal */
	struct resources used;
};

static void count_executor(const struct executor *executor, struct gauges *gauges)
{
	gauges->executors[executor->state]++;
	if (executor->state != EXECUTOR_TERMINATED)
		resources_add(&gauges->used, &executor->allocated);
	for (int place = 0; place < TASK_TERMINATED; place++) {
		for (const struct list *at = executor->tasks[place].next;
		     at != &executor->tasks[place]; at = at->next) {
			const struct task *task = list_entry(at, struct task, link);

			if ((unsigned)task->record->state < 16)
				gauges->tasks[task->record->state]++;
		}
	}
}

static void each_gauge(const struct agent *agent, const struct gauges *gauges, metric_sink *each,
		       void *context)
{
	each(context, "slave/frameworks_active", HASH_COUNT(agent->frameworks));
	each(context, "slave/tasks_staging", gauges->tasks[MESOS__TASK_STATE__TASK_STAGING]);
	each(context, "slave/tasks_starting", gauges->tasks[MESOS__TASK_STATE__TASK_STARTING]);
	each(context, "slave/tasks_running", gauges->tasks[MESOS__TASK_STATE__TASK_RUNNING]);
	each(context, "slave/tasks_killing", gauges->tasks[MESOS__TASK_STATE__TASK_KILLING]);
	each(context, "slave/executors_registering", gauges->executors[EXECUTOR_REGISTERING]);
	each(context, "slave/executors_running", gauges->executors[EXECUTOR_RUNNING]);
	each(context, "slave/executors_terminating", gauges->executors[EXECUTOR_TERMINATING]);
}

static void each_resource(const struct agent *agent, const struct gauges *gauges, metric_sink *each,
			  void *context)
{
	static const char *const names[] = {"cpus", "gpus", "mem", "disk"};
	struct buf name = BUF_INIT;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		double have = (double)resources_quantity(&agent->total, names[i]) / 1000;
		double used = (double)resources_quantity(&gauges->used, names[i]) / 1000;

		buf_clear(&name);
		buf_printf(&name, "slave/%s_total", names[i]);
		each(context, name.data, have);
		buf_clear(&name);
		buf_printf(&name, "slave/%s_used", names[i]);
		each(context, name.data, used);
		buf_clear(&name);
		buf_printf(&name, "slave/%s_percent", names[i]);
		each(context, name.data, have > 0 ? used / have : 0);
	}
	buf_free(&name);
}

static void each_counter(const struct agent *agent, metric_sink *each, void *context)
{
	const struct agent_counters *counters = &agent->counters;
	const uint64_t *finished = counters->finished;

	each(context, "slave/tasks_finished", finished[MESOS__TASK_STATE__TASK_FINISHED]);
	each(context, "slave/tasks_failed", finished[MESOS__TASK_STATE__TASK_FAILED]);
	each(context, "slave/tasks_killed", finished[MESOS__TASK_STATE__TASK_KILLED]);
	each(context, "slave/tasks_lost", finished[MESOS__TASK_STATE__TASK_LOST]);
	each(context, "slave/tasks_gone", finished[MESOS__TASK_STATE__TASK_GONE]);
	each(context, "slave/executors_terminated", counters->executors_terminated);
	each(context, "slave/executors_preempted", 0);
	each(context, "slave/valid_status_updates", counters->valid_status_updates);
	each(context, "slave/invalid_status_updates", counters->invalid_status_updates);
	each(context, "slave/valid_framework_messages", counters->valid_framework_messages);
	each(context, "slave/invalid_framework_messages", counters->invalid_framework_messages);
	each(context, "slave/container_launch_errors", counters->container_launch_errors);
	each(context, "slave/recovery_errors", counters->recovery_errors);
}

void agent_each_metric(const struct agent *agent, metric_sink *each, void *context)
{
	struct gauges gauges = {0};
	const struct framework *framework;
	const struct executor *executor;

	for (framework = agent->frameworks; framework; framework = framework->hh.next) {
		for (executor = framework->executors; executor; executor = executor->hh.next)
			count_executor(executor, &gauges);
	}
	each(context, "slave/registered", agent_registered(agent));
	if (agent->recovery_time >= 0)
		each(context, "slave/recovery_time_secs",
		     (double)agent->recovery_time / (double)SECOND);
	each_gauge(agent, &gauges, each, context);
	each_counter(agent, each, context);
	each_resource(agent, &gauges, each, context);
	resources_free(&gauges.used);
}

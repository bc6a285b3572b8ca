/* The command executor, `mesita executor`: runs one command task (spec/agent.md 4).
 *
 * Happy path: SUBSCRIBED -> LAUNCH: TASK_STARTING, fork, TASK_RUNNING -> the command
 * exits: TASK_FINISHED or TASK_FAILED -> that update is acknowledged: exit 0.
 * A KILL, a SHUTDOWN or max_completion_time signals the command's whole tree: SIGTERM,
 * after the grace period SIGKILL.
 *
 * Failure modes: the agent is gone for good (SHUTDOWN comes from the driver): the
 * command is killed and the executor ends without waiting for acknowledgements that
 * cannot come. A terminal update that nobody acknowledges: exit 1 after a minute.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "agent/process_tree.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/log.h"
#include "cli/cli.h"
#include "client/executor.h"

#define KILL_GRACE_DEFAULT (3 * SECOND)  /* spec/agent.md 4.3 */
#define SHUTDOWN_RESERVE (2 * SECOND)    /* what a shutdown leaves for the last updates */
#define ACKNOWLEDGE_WAIT_MS 60000        /* for the terminal update */
#define FRAMEWORK_CAPABILITY(x) MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__##x

extern char **environ;

struct command_executor {
	uv_loop_t loop;
	struct rng rng;
	struct executor_driver *driver;
	Mesos__TaskInfo *task; /* heap; NULL before LAUNCH */
	uv_process_t process;
	bool running;
	bool exited;          /* the terminal update was sent */
	bool killed;          /* by KILL or SHUTDOWN */
	bool timed_out;       /* by max_completion_time */
	bool shutting_down;
	bool tells_killing;   /* the framework has TASK_KILLING_STATE */
	int64_t kill_time;    /* ns: when the kill began */
	int64_t kill_deadline; /* ns: when SIGKILL follows */
	uv_timer_t escalation;
	uv_timer_t completion;
	uv_timer_t last_wait;
	int exit_status;
	bool ending;
};

/* ---- updates ------------------------------------------------------------- */

static void update(struct command_executor *e, const Mesos__TaskID *task_id,
		   Mesos__TaskState state, const char *message)
{
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;

	status.task_id = (Mesos__TaskID *)task_id;
	status.state = state;
	status.message = (char *)message;
	if (e->timed_out && state == MESOS__TASK_STATE__TASK_FAILED) {
		status.has_reason = 1;
		status.reason = MESOS__TASK_STATUS__REASON__REASON_MAX_COMPLETION_TIME_REACHED;
	}
	executor_driver_update(e->driver, &status);
}

static void close_timer(uv_timer_t *timer)
{
	if (!uv_is_closing((uv_handle_t *)timer))
		uv_close((uv_handle_t *)timer, NULL);
}

static void end(struct command_executor *e, int status)
{
	if (e->ending)
		return;
	e->ending = true;
	e->exit_status = status;
	executor_driver_close(e->driver);
	close_timer(&e->escalation);
	close_timer(&e->completion);
	close_timer(&e->last_wait);
}

static void last_wait_cb(uv_timer_t *timer)
{
	struct command_executor *e = timer->data;

	log_warning("nobody acknowledged the last update");
	end(e, 1);
}

/* ---- killing ------------------------------------------------------------- */

/* Stops the whole tree, signals it, lets it go on: none gets away by forking. */
static void signal_tree(struct command_executor *e, int signal)
{
	struct process_list list;

	if (!e->running)
		return;
	process_list_read(&list);
	process_list_mark(&list, e->process.pid);
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].member)
			kill(list.items[i].pid, SIGSTOP);
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].member)
			kill(list.items[i].pid, signal);
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].member)
			kill(list.items[i].pid, SIGCONT);
	process_list_free(&list);
}

static void escalation_cb(uv_timer_t *timer)
{
	signal_tree(timer->data, SIGKILL);
}

/* A second kill may only bring the deadline nearer. */
static void escalate_after(struct command_executor *e, int64_t grace)
{
	int64_t now = clock_now(), deadline = e->kill_time + grace;

	if (e->kill_deadline && deadline >= e->kill_deadline)
		return;
	e->kill_deadline = deadline;
	if (deadline <= now)
		signal_tree(e, SIGKILL);
	else
		uv_timer_start(&e->escalation, escalation_cb,
			       (uint64_t)((deadline - now) / MILLISECOND), 0);
}

static void begin_kill(struct command_executor *e, int64_t grace)
{
	if (!e->task || e->exited)
		return;
	if (!e->killed && !e->timed_out) {
		e->killed = true;
		e->kill_time = clock_now();
		uv_timer_stop(&e->completion);
		if (e->tells_killing)
			update(e, e->task->task_id, MESOS__TASK_STATE__TASK_KILLING, NULL);
		signal_tree(e, SIGTERM);
	}
	escalate_after(e, grace < 0 ? 0 : grace);
}

static int64_t kill_grace(const Mesos__KillPolicy *first, const Mesos__KillPolicy *second)
{
	if (first && first->grace_period)
		return first->grace_period->nanoseconds;
	if (second && second->grace_period)
		return second->grace_period->nanoseconds;
	return KILL_GRACE_DEFAULT;
}

static void completion_cb(uv_timer_t *timer)
{
	struct command_executor *e = timer->data;

	if (e->killed || e->exited)
		return;
	e->timed_out = true;
	e->kill_time = clock_now();
	signal_tree(e, SIGTERM);
	escalate_after(e, 0);
}

/* ---- the command --------------------------------------------------------- */

static char *exit_message(int64_t status, int signal)
{
	if (signal)
		return xprintf("Command terminated with signal %s", strsignal(signal));
	return xprintf("Command exited with status %d", (int)status);
}

static void command_over(struct command_executor *e, int64_t status, int signal)
{
	Mesos__TaskState state = MESOS__TASK_STATE__TASK_FAILED;
	char *message = exit_message(status, signal);

	e->running = false;
	e->exited = true;
	uv_timer_stop(&e->completion);
	uv_timer_stop(&e->escalation);
	if (e->timed_out)
		state = MESOS__TASK_STATE__TASK_FAILED;
	else if (e->killed)
		state = MESOS__TASK_STATE__TASK_KILLED;
	else if (status == 0 && signal == 0)
		state = MESOS__TASK_STATE__TASK_FINISHED;
	log_info("%s (pid: %d)", message, e->process.pid);
	update(e, e->task->task_id, state, message);
	free(message);
	uv_timer_start(&e->last_wait, last_wait_cb, ACKNOWLEDGE_WAIT_MS, 0);
}

static void process_exit_cb(uv_process_t *process, int64_t status, int signal)
{
	struct command_executor *e = process->data;

	uv_close((uv_handle_t *)process, NULL);
	if (!e->ending)
		command_over(e, status, signal);
	if (e->shutting_down && executor_driver_unacknowledged(e->driver) == 0)
		end(e, 0);
}

static size_t environment_count(void)
{
	size_t count = 0;

	while (environ[count])
		count++;
	return count;
}

/* Sets NAME=VALUE in a NULL-ended list with room, replacing an earlier one. */
static void put_variable(char **list, char *variable)
{
	size_t name = (size_t)(strchr(variable, '=') - variable) + 1;

	for (; *list; list++) {
		if (strncmp(*list, variable, name))
			continue;
		*list = variable;
		return;
	}
	list[0] = variable;
	list[1] = NULL;
}

/* Our own environment, then the command's, then the allocation role. */
static char **make_environment(struct arena *arena, const Mesos__TaskInfo *task)
{
	const Mesos__Environment *more = task->command->environment;
	size_t own = environment_count(), extra = more ? more->n_variables : 0;
	char **list = arena_alloc(arena, (own + extra + 2) * sizeof(*list));

	memcpy(list, environ, own * sizeof(*list));
	for (size_t i = 0; i < extra; i++)
		if (more->variables[i]->type != MESOS__ENVIRONMENT__VARIABLE__TYPE__SECRET)
			put_variable(list, arena_printf(arena, "%s=%s", more->variables[i]->name,
							more->variables[i]->value
								? more->variables[i]->value
								: ""));
	if (task->n_resources > 0 && task->resources[0]->allocation_info &&
	    task->resources[0]->allocation_info->role)
		put_variable(list,
			     arena_printf(arena, "MESOS_ALLOCATION_ROLE=%s",
					  task->resources[0]->allocation_info->role));
	return list;
}

static char **make_arguments(struct arena *arena, const Mesos__CommandInfo *command)
{
	char **list = arena_alloc(arena, (command->n_arguments + 4) * sizeof(*list));

	if (command->shell) {
		list[0] = (char *)"sh";
		list[1] = (char *)"-c";
		list[2] = command->value;
		return list;
	}
	for (size_t i = 0; i < command->n_arguments; i++)
		list[i] = command->arguments[i];
	return list;
}

static int spawn(struct command_executor *e)
{
	const Mesos__CommandInfo *command = e->task->command;
	const char *sandbox = getenv("MESOS_SANDBOX");
	uv_stdio_container_t stdio[3] = {
		{.flags = UV_INHERIT_FD, .data.fd = 0},
		{.flags = UV_INHERIT_FD, .data.fd = 1},
		{.flags = UV_INHERIT_FD, .data.fd = 2},
	};
	uv_process_options_t options = {
		.exit_cb = process_exit_cb,
		.file = command->shell ? "/bin/sh" : command->value,
		.cwd = sandbox,
		.flags = UV_PROCESS_DETACHED,
		.stdio_count = 3,
		.stdio = stdio,
	};
	struct arena arena;
	int rv;

	arena_init(&arena);
	options.args = make_arguments(&arena, command);
	options.env = make_environment(&arena, e->task);
	e->process.data = e;
	rv = uv_spawn(&e->loop, &e->process, &options);
	if (rv < 0) {
		fprintf(stderr, "Failed to execute '%s': %s\n", options.file, uv_strerror(rv));
		uv_close((uv_handle_t *)&e->process, NULL);
	}
	arena_free(&arena);
	return rv;
}

static void launch(struct command_executor *e, const Mesos__TaskInfo *task)
{
	int rv;

	if (e->task) {
		update(e, task->task_id, MESOS__TASK_STATE__TASK_FAILED,
		       "Attempted to run multiple tasks using a \"command\" executor");
		return;
	}
	e->task = proto_copy(task);
	update(e, task->task_id, MESOS__TASK_STATE__TASK_STARTING, NULL);
	if (!task->command || !task->command->value) {
		e->exited = true;
		update(e, task->task_id, MESOS__TASK_STATE__TASK_FAILED,
		       "'CommandInfo.value' must be set for a command task");
		return;
	}
	rv = spawn(e);
	e->running = rv == 0;
	update(e, task->task_id, MESOS__TASK_STATE__TASK_RUNNING, NULL);
	if (rv < 0) {
		/* What Mesos' launcher helper exits with. */
		command_over(e, 1, 0);
		return;
	}
	log_info("Forked command at %d", e->process.pid);
	if (task->max_completion_time)
		uv_timer_start(&e->completion, completion_cb,
			       (uint64_t)(task->max_completion_time->nanoseconds / MILLISECOND), 0);
}

/* ---- events -------------------------------------------------------------- */

static void shut_down(struct command_executor *e)
{
	const char *text = getenv("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD");
	int64_t grace = 5 * SECOND;
	struct err err;

	e->shutting_down = true;
	if (!e->running) {
		/* Nothing launched, or over: no acknowledgement will come any more. */
		end(e, 0);
		return;
	}
	if (text)
		(void)duration_parse(text, &grace, &err);
	begin_kill(e, grace - SHUTDOWN_RESERVE);
}

static void note_capabilities(struct command_executor *e, const Mesos__FrameworkInfo *framework)
{
	for (size_t i = 0; i < framework->n_capabilities; i++)
		if (framework->capabilities[i]->type == FRAMEWORK_CAPABILITY(TASK_KILLING_STATE))
			e->tells_killing = true;
}

static void event_cb(void *context, const Mesos__Executor__Event *event)
{
	struct command_executor *e = context;

	switch (event->type) {
	case MESOS__EXECUTOR__EVENT__TYPE__SUBSCRIBED:
		if (event->subscribed)
			note_capabilities(e, event->subscribed->framework_info);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__LAUNCH:
		if (event->launch)
			launch(e, event->launch->task);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__KILL:
		if (event->kill && e->task &&
		    !strcmp(event->kill->task_id->value, e->task->task_id->value))
			begin_kill(e, kill_grace(event->kill->kill_policy, e->task->kill_policy));
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__SHUTDOWN:
		shut_down(e);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__ACKNOWLEDGED:
		if (e->exited && executor_driver_unacknowledged(e->driver) == 0)
			end(e, 0);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__ERROR:
		log_error("the agent sent an error: %s", event->error ? event->error->message : "");
		break;
	default:
		break;
	}
}

static void failed_cb(void *context, const char *why)
{
	struct command_executor *e = context;

	log_error("%s", why);
	signal_tree(e, SIGKILL);
	end(e, 1);
}

/* ---- life ---------------------------------------------------------------- */

int executor_main(int argc, char **argv)
{
	static const struct executor_handlers handlers = {event_cb, failed_cb};
	struct command_executor e = {0};
	struct err err = {{0}};

	/* Mesos' flags (--launcher_dir and so on) have no meaning here. */
	(void)argc;
	(void)argv;
	signal(SIGPIPE, SIG_IGN);
	rng_seed(&e.rng, rng_entropy());
	uv_loop_init(&e.loop);
	uv_timer_t *timers[] = {&e.escalation, &e.completion, &e.last_wait};
	for (size_t i = 0; i < sizeof(timers) / sizeof(*timers); i++) {
		uv_timer_init(&e.loop, timers[i]);
		timers[i]->data = &e;
	}
	if (executor_driver_create(&e.loop, &e.rng, &handlers, &e, &e.driver, &err) < 0) {
		fprintf(stderr, "mesita executor: %s\n", err.text);
		return 1;
	}
	uv_run(&e.loop, UV_RUN_DEFAULT);
	uv_loop_close(&e.loop);
	proto_free(e.task);
	return e.exit_status;
}

/* The command executor, `mesita executor`: runs one command task.
 *
 * Happy path: SUBSCRIBED -> LAUNCH: TASK_STARTING, fork, TASK_RUNNING -> the command
 * exits: TASK_FINISHED or TASK_FAILED -> that update is acknowledged: exit 0.
 * A KILL, a SHUTDOWN or max_completion_time signals the command's whole tree: SIGTERM,
 * after the grace period SIGKILL. While it runs its checks are made (checker.c); a task
 * that is unhealthy too often is killed as by a KILL.
 *
 * A task in a Docker container is run by the docker program (docker/), and stopped by it.
 *
 * Failure modes: a program that cannot be executed is a command that exited with 1. The
 * agent is gone for good (SHUTDOWN comes from the driver): the command is killed and
 * the executor ends without waiting for acknowledgements that cannot come. A terminal
 * update that nobody acknowledges: exit 1 after a minute.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "agent/containers/linux/launch_message.h"
#include "agent/containers/posix/process_tree.h"
#include "agent/containers/terminal/terminal.h"
#include "base/log/log.h"
#include "base/time/clock.h"
#include "base/time/duration.h"
#include "cli/cli.h"
#include "cli/executor/checker.h"
#include "cli/executor/docker/docker_task.h"
#include "cli/executor/executor_command.h"
#include "client/executor.h"
#include "net/client.h"
#include "net/tls/tls.h"

#define KILL_GRACE_DEFAULT (3 * SECOND)
#define SHUTDOWN_GRACE_DEFAULT (5 * SECOND)
#define SHUTDOWN_RESERVE (2 * SECOND)  /* what a shutdown leaves for the last updates */
#define ACKNOWLEDGE_WAIT (60 * SECOND) /* for the terminal update */
#define LEFT_ROUNDS_MAX 100	       /* of killing what the task left behind */
#define SPAN_MAX (3650 * DAY)	       /* longer ones are taken for this */
#define NOT_EXECUTED (1 << 8)	       /* wait status of a program that cannot be executed */

struct command_executor {
	uv_loop_t loop;
	struct rng rng;
	struct executor_driver *driver;
	struct tls *tls;       /* NULL: the agent is plain */
	Mesos__TaskInfo *task; /* heap; NULL before LAUNCH */
	pid_t pid;	       /* of the command, 0 = it does not run */
	bool over;	       /* the terminal update was sent */
	bool killed;	       /* by KILL or SHUTDOWN */
	bool timed_out;	       /* by max_completion_time */
	bool unhealthy;	       /* killed for that */
	bool shutting_down;
	bool tells_killing;    /* the framework has TASK_KILLING_STATE */
	int64_t kill_time;     /* ns: when the kill began */
	int64_t kill_deadline; /* ns: when SIGKILL follows */
	uv_timer_t escalation;
	uv_timer_t completion;
	uv_timer_t last_wait;
	uv_signal_t children;
	struct checker *checker;    /* NULL: no checks */
	struct docker_task *docker; /* NULL: the task is no Docker container */
	struct docker_setting setting;
	char *terminal;		       /* an argument for the task's init; or NULL */
	bool has_room;		       /* the task gets a container of its own: */
	Mesita__ContainerLaunch *room; /* heap */
	char *container;	       /* id of ours; heap */
	struct arena arena;	       /* what lives as long */
	int exit_status;
	bool ending;
};

static void start_timer(uv_timer_t *timer, uv_timer_cb callback, int64_t span)
{
	uv_timer_start(timer, callback, span > 0 ? (uint64_t)(span / MILLISECOND) : 0, 0);
}

static int64_t bounded(int64_t span)
{
	return span < 0 ? 0 : span > SPAN_MAX ? SPAN_MAX : span;
}

/* ---- the end ------------------------------------------------------------- */

static void close_handles(struct command_executor *e)
{
	checker_close(e->checker);
	e->checker = NULL;
	docker_task_close(e->docker);
	e->docker = NULL;
	uv_close((uv_handle_t *)&e->escalation, NULL);
	uv_close((uv_handle_t *)&e->completion, NULL);
	uv_close((uv_handle_t *)&e->last_wait, NULL);
	uv_close((uv_handle_t *)&e->children, NULL);
}

static void executor_end(struct command_executor *e, int status)
{
	if (e->ending)
		return;
	e->ending = true;
	e->exit_status = status;
	executor_driver_close(e->driver);
	close_handles(e);
}

static void executor_last_wait_cb(uv_timer_t *timer)
{
	struct command_executor *e = timer->data;

	log_warning("nobody acknowledged the last update");
	executor_end(e, e->shutting_down ? 0 : 1);
}

/* Ends when nothing is left to be done; otherwise bounds the time for it. */
static void end_if_done(struct command_executor *e)
{
	bool told = executor_driver_unacknowledged(e->driver) == 0;

	if (!e->over)
		return;
	if (told || (e->shutting_down && !executor_driver_connected(e->driver)))
		executor_end(e, 0);
	else if (e->shutting_down)
		start_timer(&e->last_wait, executor_last_wait_cb, SHUTDOWN_RESERVE);
	else if (!uv_is_active((uv_handle_t *)&e->last_wait))
		start_timer(&e->last_wait, executor_last_wait_cb, ACKNOWLEDGE_WAIT);
}

/* ---- updates ------------------------------------------------------------- */

static void update(struct command_executor *e, const Mesos__TaskID *task_id, Mesos__TaskState state,
		   const char *message)
{
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	struct check_report report;

	status.task_id = (Mesos__TaskID *)task_id;
	status.state = state;
	status.message = (char *)message;
	status.check_status = check_report_empty(&report, e->task);
	status.has_healthy = e->over && e->unhealthy;
	if (e->timed_out && state == MESOS__TASK_STATE__TASK_FAILED) {
		status.has_reason = 1;
		status.reason = MESOS__TASK_STATUS__REASON__REASON_MAX_COMPLETION_TIME_REACHED;
	}
	executor_driver_update(e->driver, &status);
}

static void executor_finish(struct command_executor *e, Mesos__TaskState state, const char *message)
{
	e->over = true;
	e->pid = 0;
	checker_stop(e->checker);
	uv_timer_stop(&e->completion);
	uv_timer_stop(&e->escalation);
	update(e, e->task->task_id, state, message);
	end_if_done(e);
}

/* ---- killing ------------------------------------------------------------- */

static void signal_tree(struct command_executor *e, int signal)
{
	if (e->pid)
		process_tree_signal(e->pid, signal, true);
}

static void escalation_cb(uv_timer_t *timer)
{
	signal_tree(timer->data, SIGKILL);
}

/* A second kill may only bring the deadline nearer. */
static void escalate_after(struct command_executor *e, int64_t grace)
{
	int64_t now = clock_now(), deadline = e->kill_time + bounded(grace);

	if (e->kill_deadline && deadline >= e->kill_deadline)
		return;
	e->kill_deadline = deadline;
	if (deadline <= now)
		signal_tree(e, SIGKILL);
	else
		start_timer(&e->escalation, escalation_cb, deadline - now);
}

static void stop_after(struct command_executor *e, int64_t grace)
{
	if (e->docker)
		docker_task_stop(e->docker, bounded(grace));
	else
		escalate_after(e, grace);
}

static void begin_kill(struct command_executor *e, int64_t grace)
{
	if (!e->task || e->over)
		return;
	if (!e->killed && !e->timed_out) {
		e->killed = true;
		e->kill_time = clock_now();
		checker_stop(e->checker);
		uv_timer_stop(&e->completion);
		if (e->tells_killing)
			update(e, e->task->task_id, MESOS__TASK_STATE__TASK_KILLING, NULL);
		signal_tree(e, SIGTERM);
	}
	stop_after(e, grace);
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

	if (e->killed || e->over)
		return;
	e->timed_out = true;
	e->kill_time = clock_now();
	checker_stop(e->checker);
	signal_tree(e, SIGTERM);
	stop_after(e, 0);
}

static void checked_cb(void *context, const Mesos__TaskStatus *news, bool kill)
{
	struct command_executor *e = context;
	Mesos__TaskStatus status = *news;

	status.task_id = e->task->task_id;
	executor_driver_update(e->driver, &status);
	if (!kill)
		return;
	e->unhealthy = true;
	begin_kill(e, kill_grace(NULL, e->task->kill_policy));
}

/* ---- the command --------------------------------------------------------- */

/* With what Mesos' two executors say: "Command exited", "Container exited". */
static void process_over(struct command_executor *e, int status, char *message)
{
	Mesos__TaskState state = MESOS__TASK_STATE__TASK_FAILED;

	if (e->killed)
		state = MESOS__TASK_STATE__TASK_KILLED;
	else if (status == 0 && !e->timed_out)
		state = MESOS__TASK_STATE__TASK_FINISHED;
	executor_finish(e, state, message);
	free(message);
}

static void command_over(struct command_executor *e, int status)
{
	process_over(e, status, executor_command_message(status));
}

/* ---- a Docker container --------------------------------------------------- */

static void docker_over_cb(void *context, int status)
{
	process_over(context, status,
		     WIFSIGNALED(status)
			     ? xprintf("Container terminated with signal %s",
				       strsignal(WTERMSIG(status)))
			     : xprintf("Container exited with status %d", WEXITSTATUS(status)));
}

static void docker_failed_cb(void *context, const char *why)
{
	struct command_executor *e = context;
	char *message = xprintf("Failed to launch container: %s", why);

	executor_finish(e,
			e->killed ? MESOS__TASK_STATE__TASK_KILLED : MESOS__TASK_STATE__TASK_FAILED,
			message);
	free(message);
}

static void check_docker(struct command_executor *e)
{
	static const struct checker_handlers handlers = {.update = checked_cb};
	struct err err = {""};
	Mesos__TaskInfo *checked = docker_checked_task(&e->arena, &e->setting, e->task, &err);

	if (checked)
		e->checker = checker_start(&e->loop, checked, &handlers, e);
	else if (err.text[0])
		log_warning("%s", err.text);
}

static void docker_running_cb(void *context, struct slice inspected, const char *address)
{
	struct command_executor *e = context;
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	Mesos__ContainerStatus container = MESOS__CONTAINER_STATUS__INIT;
	Mesos__NetworkInfo network = MESOS__NETWORK_INFO__INIT, *networks = &network;
	Mesos__NetworkInfo__IPAddress ip = MESOS__NETWORK_INFO__IPADDRESS__INIT, *ips = &ip;

	status.task_id = e->task->task_id;
	status.state = MESOS__TASK_STATE__TASK_RUNNING;
	status.has_data = 1;
	status.data = (ProtobufCBinaryData){inspected.len, (uint8_t *)inspected.data};
	if (*address) {
		ip.ip_address = (char *)address;
		network.n_ip_addresses = 1;
		network.ip_addresses = &ips;
		container.n_network_infos = 1;
		container.network_infos = &networks;
		status.container_status = &container;
	}
	if (!e->killed)
		executor_driver_update(e->driver, &status);
	if (!e->killed)
		check_docker(e);
}

static bool is_docker(const Mesos__TaskInfo *task)
{
	return task->container && task->container->type == MESOS__CONTAINER_INFO__TYPE__DOCKER;
}

static void run_docker(struct command_executor *e)
{
	static const struct docker_handlers handlers = {docker_running_cb, docker_over_cb,
							docker_failed_cb};
	e->setting.name = arena_printf(&e->arena, "mesos-%s", e->container ? e->container : "");
	e->setting.sandbox = getenv("MESOS_SANDBOX") ? getenv("MESOS_SANDBOX") : ".";
	e->docker = docker_task_start(&e->loop, &e->setting, e->task, &handlers, e);
	if (e->task->max_completion_time)
		start_timer(&e->completion, completion_cb,
			    bounded(e->task->max_completion_time->nanoseconds));
}

/* Reaps the command, and orphans: the agent starts executors as adopters of those. */
static void children_cb(uv_signal_t *handle, int signal)
{
	struct command_executor *e = handle->data;
	pid_t pid;
	int status;

	(void)signal;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == e->pid && !e->ending)
			command_over(e, status);
		else if (!docker_task_reap(e->docker, pid, status))
			checker_reap(e->checker, pid, status);
}

static struct probe *probe_inside(void *context, const Mesos__CommandInfo *command,
				  enum probe_outcome *outcome, struct err *err)
{
	struct command_executor *e = context;

	return probe_command_inside(e->pid, e->room, command, outcome, err);
}

static void executor_run(struct command_executor *e)
{
	const struct checker_handlers handlers = {
		.update = checked_cb,
		.command = e->room ? probe_inside : NULL,
		.network = e->room ? e->room->network : NULL,
	};
	struct err err;
	pid_t pid = e->room ? executor_command_start_inside(e->room, e->task, e->terminal, &err)
			    : executor_command_start(e->task, e->terminal, &err);

	/* Its init has it alone, so that nobody connects to it after the end. */
	if (e->terminal)
		close(TERMINAL_FD);
	update(e, e->task->task_id, MESOS__TASK_STATE__TASK_RUNNING, NULL);
	if (pid < 0) {
		fprintf(stderr, "%s\n", err.text);
		command_over(e, NOT_EXECUTED);
		return;
	}
	e->pid = pid;
	e->checker = checker_start(&e->loop, e->task, &handlers, e);
	if (e->task->max_completion_time)
		start_timer(&e->completion, completion_cb,
			    bounded(e->task->max_completion_time->nanoseconds));
}

static void launch(struct command_executor *e, const Mesos__TaskInfo *task)
{
	const Mesos__CommandInfo *command = task->command;

	if (e->task) {
		update(e, task->task_id, MESOS__TASK_STATE__TASK_FAILED,
		       "Attempted to run multiple tasks using a \"command\" executor");
		return;
	}
	e->task = proto_copy(task);
	update(e, task->task_id, MESOS__TASK_STATE__TASK_STARTING, NULL);
	if (is_docker(task))
		run_docker(e);
	else if (command && (command->value || e->room))
		executor_run(e);
	else
		executor_finish(e, MESOS__TASK_STATE__TASK_FAILED,
				"'CommandInfo.value' must be set for a command task");
}

/* ---- events -------------------------------------------------------------- */

static void shut_down(struct command_executor *e)
{
	const char *text = getenv("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD");
	int64_t grace;
	struct err err;

	e->shutting_down = true;
	if (!e->task) {
		executor_end(e, 0);
	} else if (e->over) {
		end_if_done(e);
	} else {
		if (!text || duration_parse(text, &grace, &err) < 0)
			grace = SHUTDOWN_GRACE_DEFAULT;
		begin_kill(e, grace - SHUTDOWN_RESERVE);
	}
}

static void note_capabilities(struct command_executor *e, const Mesos__FrameworkInfo *framework)
{
	for (size_t i = 0; i < framework->n_capabilities; i++)
		if (framework->capabilities[i]->type ==
		    MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__TASK_KILLING_STATE)
			e->tells_killing = true;
}

static void take_kill(struct command_executor *e, const Mesos__Executor__Event__Kill *event)
{
	if (e->task && !strcmp(event->task_id->value, e->task->task_id->value))
		begin_kill(e, kill_grace(event->kill_policy, e->task->kill_policy));
}

static void executor_event_cb(void *context, const Mesos__Executor__Event *event)
{
	struct command_executor *e = context;

	switch (event->type) {
	case MESOS__EXECUTOR__EVENT__TYPE__SUBSCRIBED:
		if (event->subscribed)
			note_capabilities(e, event->subscribed->framework_info);
		if (event->subscribed && event->subscribed->container_id && !e->container)
			e->container = xstrdup(event->subscribed->container_id->value);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__LAUNCH:
		launch(e, event->launch->task);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__KILL:
		if (event->kill)
			take_kill(e, event->kill);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__SHUTDOWN:
		shut_down(e);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__ACKNOWLEDGED:
		end_if_done(e);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__ERROR:
		log_error("the agent sent an error: %s", event->error ? event->error->message : "");
		break;
	default:
		break;
	}
}

static void executor_failed_cb(void *context, const char *why)
{
	struct command_executor *e = context;

	log_error("%s", why);
	signal_tree(e, SIGKILL);
	executor_end(e, 1);
}

/* ---- life ---------------------------------------------------------------- */

static void open_handles(struct command_executor *e)
{
	uv_timer_t *timers[] = {&e->escalation, &e->completion, &e->last_wait};

	for (size_t i = 0; i < sizeof(timers) / sizeof(*timers); i++) {
		uv_timer_init(&e->loop, timers[i]);
		timers[i]->data = e;
	}
	uv_signal_init(&e->loop, &e->children);
	e->children.data = e;
	uv_signal_start(&e->children, children_cb, SIGCHLD);
}

/* Orphans of the task came to us, and nobody else may find them when we are gone: an agent that
 * was started again is no parent of ours. They may fork while they are looked for. */
static void kill_left(void)
{
	bool found = true;

	for (int round = 0; found && round < LEFT_ROUNDS_MAX; round++) {
		pid_t *children = process_children();

		found = *children != 0;
		for (pid_t *child = children; *child; child++) {
			process_tree_signal(*child, SIGKILL, true);
			waitpid(*child, NULL, 0);
		}
		free(children);
	}
}

/* Those of the agent for Docker containers; Mesos' other flags (--launcher_dir and so on) have no
 * meaning here. */
static void take_flags(struct command_executor *e, int argc, char **argv)
{
	struct docker_setting *setting = &e->setting;
	const struct {
		const char *prefix;
		const char **value;
	} known[] = {{"--docker=", &setting->program},
		     {"--docker_socket=", &setting->socket},
		     {"--mapped_directory=", &setting->mapped}};

	setting->program = "docker";
	setting->socket = DOCKER_SOCKET_DEFAULT;
	setting->mapped = DOCKER_SANDBOX_DEFAULT;
	for (int i = 0; i < argc; i++) {
		e->has_room |= !strcmp(argv[i], "--launch");
		if (str_has_prefix(argv[i], "--terminal="))
			e->terminal = argv[i];
		for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
			if (str_has_prefix(argv[i], known[k].prefix))
				*known[k].value = argv[i] + strlen(known[k].prefix);
	}
}

int executor_main(int argc, char **argv)
{
	static const struct executor_handlers handlers = {.event = executor_event_cb,
							  .failed = executor_failed_cb};
	struct command_executor e = {0};
	struct err err = {{0}};

	take_flags(&e, argc, argv);
	if (e.terminal)
		fcntl(TERMINAL_FD, F_SETFD, FD_CLOEXEC);
	if (e.has_room && !(e.room = launch_message_read(&err))) {
		fprintf(stderr, "mesita executor: %s\n", err.text);
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	rng_seed(&e.rng, rng_entropy());
	arena_init(&e.arena);
	uv_loop_init(&e.loop);
	open_handles(&e);
	if (tls_from_environment(false, &e.tls, &err) == 0)
		http_clients_secure(e.tls);
	if (err.text[0] ||
	    executor_driver_create(&e.loop, &e.rng, &handlers, &e, &e.driver, &err) < 0) {
		fprintf(stderr, "mesita executor: %s\n", err.text);
		e.exit_status = 1;
		close_handles(&e);
	}
	uv_run(&e.loop, UV_RUN_DEFAULT);
	uv_loop_close(&e.loop);
	tls_free(e.tls);
	kill_left();
	proto_free(e.task);
	proto_free(e.room);
	free(e.container);
	arena_free(&e.arena);
	return e.exit_status;
}

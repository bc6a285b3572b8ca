/* The life of the default executor; see pod.h.
 *
 * Happy path: SUBSCRIBED -> LAUNCH_GROUP, as often as there are groups -> the last task is over and
 * all updates are acknowledged: exit 0.
 * Failures: the agent is gone for good (SHUTDOWN comes from the driver): it kills what runs by
 * itself. Updates that nobody acknowledges: exit 1 after a minute.
 */
#include "cli/executor/pod/pod.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "agent/containers/posix/process_tree.h"
#include "base/log/log.h"
#include "base/time/duration.h"
#include "cli/cli.h"
#include "client/address.h"
#include "net/tls/tls.h"

#define SHUTDOWN_GRACE_DEFAULT (5 * SECOND)
#define SHUTDOWN_RESERVE (2 * SECOND) /* what a shutdown leaves for the last updates */
#define ACKNOWLEDGE_WAIT_MS 60000

/* ---- the end ------------------------------------------------------------- */

static void pod_end(struct pod *pod, int status)
{
	struct pod_task *task, *next;

	if (pod->ending)
		return;
	pod->ending = true;
	pod->exit_status = status;
	if (pod->driver)
		executor_driver_close(pod->driver);
	HASH_ITER (hh, pod->tasks, task, next)
		pod_task_close(task);
	pod_probes_close(pod);
	uv_close((uv_handle_t *)&pod->last_wait, NULL);
	uv_close((uv_handle_t *)&pod->children, NULL);
}

static void pod_last_wait_cb(uv_timer_t *timer)
{
	struct pod *pod = timer->data;

	log_warning("nobody acknowledged the last updates");
	pod_end(pod, pod->shutting_down ? 0 : 1);
}

void pod_end_if_done(struct pod *pod)
{
	bool told;

	if (pod->ending || pod->tasks || !(pod->began || pod->shutting_down))
		return;
	told = executor_driver_unacknowledged(pod->driver) == 0;
	if (told || (pod->shutting_down && !executor_driver_connected(pod->driver)))
		pod_end(pod, 0);
	else if (pod->shutting_down)
		uv_timer_start(&pod->last_wait, pod_last_wait_cb, SHUTDOWN_RESERVE / MILLISECOND,
			       0);
	else if (!uv_is_active((uv_handle_t *)&pod->last_wait))
		uv_timer_start(&pod->last_wait, pod_last_wait_cb, ACKNOWLEDGE_WAIT_MS, 0);
}

/* ---- events -------------------------------------------------------------- */

/* Nobody can be asked to kill. What a task's first process leaves is its init's to kill. */
static void kill_without_agent(struct pod *pod)
{
	struct pod_task *task, *next;

	HASH_ITER (hh, pod->tasks, task, next) {
		char *id = xprintf("%s.%s", pod->container, task->container);
		pid_t pid = process_find_container(id);

		if (pid)
			process_tree_signal(pid, SIGKILL, true);
		free(id);
	}
}

static void pod_shut_down(struct pod *pod)
{
	const char *text = getenv("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD");
	struct pod_task *task, *next;
	int64_t longest, grace;
	struct err err;

	pod->shutting_down = true;
	if (!text || duration_parse(text, &longest, &err) < 0)
		longest = SHUTDOWN_GRACE_DEFAULT;
	longest = longest > SHUTDOWN_RESERVE ? longest - SHUTDOWN_RESERVE : 0;
	HASH_ITER (hh, pod->tasks, task, next) {
		grace = pod_grace(NULL, task->info->kill_policy);
		pod_kill(task, grace < longest ? grace : longest);
	}
	if (executor_driver_connected(pod->driver)) {
		pod_end_if_done(pod);
		return;
	}
	kill_without_agent(pod);
	pod_end(pod, 0);
}

static void pod_subscribed(struct pod *pod, const Mesos__Executor__Event__Subscribed *event)
{
	const Mesos__FrameworkInfo *framework = event->framework_info;

	for (size_t i = 0; i < framework->n_capabilities; i++)
		if (framework->capabilities[i]->type ==
		    MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__TASK_KILLING_STATE)
			pod->tells_killing = true;
	if (event->container_id && !pod->container)
		pod->container = xstrdup(event->container_id->value);
	pod_resume(pod);
}

static void pod_take_group(struct pod *pod, const Mesos__TaskGroupInfo *group)
{
	if (pod->shutting_down || !pod->container) {
		log_warning("dropped a group of %zu tasks: %s", group->n_tasks,
			    pod->container ? "shutting down" : "the agent told no container id");
		return;
	}
	/* More work came before the end. */
	uv_timer_stop(&pod->last_wait);
	pod_launch(pod, group);
}

static void pod_take_kill(struct pod *pod, const Mesos__Executor__Event__Kill *event)
{
	struct pod_task *task = pod_find(pod, event->task_id->value);

	if (task)
		pod_kill(task, pod_grace(event->kill_policy, task->info->kill_policy));
}

static void pod_event_cb(void *context, const Mesos__Executor__Event *event)
{
	struct pod *pod = context;

	switch (event->type) {
	case MESOS__EXECUTOR__EVENT__TYPE__SUBSCRIBED:
		if (event->subscribed)
			pod_subscribed(pod, event->subscribed);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__LAUNCH:
		log_error("only groups can be launched on a default executor");
		pod_shut_down(pod);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__LAUNCH_GROUP:
		pod_take_group(pod, event->launch_group->task_group);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__KILL:
		if (event->kill)
			pod_take_kill(pod, event->kill);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__SHUTDOWN:
		pod_shut_down(pod);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__ACKNOWLEDGED:
		pod_end_if_done(pod);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__ERROR:
		log_error("the agent sent an error: %s", event->error ? event->error->message : "");
		break;
	default:
		break;
	}
}

static void pod_failed_cb(void *context, const char *why)
{
	log_error("%s", why);
	pod_end(context, 1);
}

static void pod_disconnected_cb(void *context)
{
	pod_pause(context);
}

/* Probes are processes of ours. */
static void pod_children_cb(uv_signal_t *handle, int signal)
{
	struct pod *pod = handle->data;
	struct pod_task *task, *next;
	pid_t pid;
	int status;

	(void)signal;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		HASH_ITER (hh, pod->tasks, task, next) {
			if (checker_reap(task->checker, pid, status))
				break;
		}
	}
}

/* ---- life ---------------------------------------------------------------- */

static int pod_read_environment(struct pod *pod, struct err *err)
{
	const char *endpoint = getenv("MESOS_AGENT_ENDPOINT");
	const char *token = getenv("MESOS_EXECUTOR_AUTHENTICATION_TOKEN");

	pod->sandbox = getenv("MESOS_SANDBOX");
	if (!endpoint || !pod->sandbox)
		return err_set(err, ERR_INVALID, "it is started by an agent, which sets %s",
			       endpoint ? "MESOS_SANDBOX" : "MESOS_AGENT_ENDPOINT");
	if (token)
		pod->authorization = xprintf("Bearer %s", token);
	return address_parse(endpoint, 5051, &pod->host, &pod->port, err);
}

static int pod_start(struct pod *pod, struct tls **tls, struct err *err)
{
	static const struct executor_handlers handlers = {.event = pod_event_cb,
							  .failed = pod_failed_cb,
							  .disconnected = pod_disconnected_cb};
	int rv = pod_read_environment(pod, err);

	if (rv == 0)
		rv = tls_from_environment(false, tls, err);
	if (rv < 0)
		return rv;
	http_clients_secure(*tls);
	return executor_driver_create(&pod->loop, &pod->rng, &handlers, pod, &pod->driver, err);
}

static void open_handles(struct pod *pod)
{
	list_init(&pod->stale);
	uv_loop_init(&pod->loop);
	uv_timer_init(&pod->loop, &pod->last_wait);
	pod->last_wait.data = pod;
	uv_signal_init(&pod->loop, &pod->children);
	pod->children.data = pod;
	uv_signal_start(&pod->children, pod_children_cb, SIGCHLD);
}

int default_executor_main(int argc, char **argv)
{
	struct pod pod = {0};
	struct tls *tls = NULL;
	struct err err = {{0}};

	/* Mesos' flags (--launcher_dir and so on) have no meaning here. */
	(void)argc;
	(void)argv;
	signal(SIGPIPE, SIG_IGN);
	rng_seed(&pod.rng, rng_entropy());
	open_handles(&pod);
	if (pod_start(&pod, &tls, &err) < 0) {
		fprintf(stderr, "mesita default-executor: %s\n", err.text);
		pod_end(&pod, 1);
	}
	uv_run(&pod.loop, UV_RUN_DEFAULT);
	uv_loop_close(&pod.loop);
	tls_free(tls);
	free(pod.host);
	free(pod.authorization);
	free(pod.container);
	return pod.exit_status;
}

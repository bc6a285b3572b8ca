/* Commands of checks: each runs in a debug container inside of its task's.
 *
 * Happy path: LAUNCH_NESTED_CONTAINER_SESSION -> its output ends -> WAIT_CONTAINER tells the exit
 * status -> REMOVE_CONTAINER. A probe that is ended before that closes the connection, which kills
 * the container; the next probe has it removed.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/executor/executor_command.h"
#include "cli/executor/pod/pod.h"
#include "cli/executor/probe_internal.h"

#define ANSWER_TIMEOUT_MS 60000

struct pod_probe {
	struct probe probe;
	struct pod_task *task;
	char *id; /* of its container, below the task's */
	struct http_client *client;
	bool opened;
	char *why; /* it was not launched; heap */
};

/* A container that is to be removed. */
struct stale {
	struct list link;
	struct arena arena;
	Mesos__ContainerID *id;
};

/* ---- removal --------------------------------------------------------------- */

static Mesos__ContainerID *probe_container(struct arena *arena, const struct pod_probe *p)
{
	Mesos__ContainerID *id =
		PROTO_NEW(arena, Mesos__ContainerID, mesos__container_id__descriptor);

	id->value = p->id;
	id->parent = pod_container_id(arena, p->task);
	return id;
}

static void removed_cb(void *context, const struct http_answer *answer)
{
	(void)context;
	(void)answer;
}

static void remove_container(struct pod *pod, Mesos__ContainerID *id)
{
	Mesos__Agent__Call call = MESOS__AGENT__CALL__INIT;
	Mesos__Agent__Call__RemoveContainer body = MESOS__AGENT__CALL__REMOVE_CONTAINER__INIT;

	if (!pod->remover)
		pod->remover = http_client_create(&pod->loop, pod->host, pod->port);
	call.has_type = 1;
	call.type = MESOS__AGENT__CALL__TYPE__REMOVE_CONTAINER;
	call.remove_container = &body;
	body.container_id = id;
	pod_send(pod->remover, pod, &call, ANSWER_TIMEOUT_MS, removed_cb, NULL);
}

static void stale_free(struct stale *stale)
{
	list_remove(&stale->link);
	arena_free(&stale->arena);
	free(stale);
}

static void remove_stale(struct pod *pod)
{
	struct stale *stale, *next;

	list_for_each (stale, next, &pod->stale, link) {
		remove_container(pod, stale->id);
		stale_free(stale);
	}
}

static void keep_stale(const struct pod_probe *p)
{
	struct stale *stale = xcalloc(1, sizeof(*stale));
	struct arena scratch;

	arena_init(&stale->arena);
	arena_init(&scratch);
	stale->id = proto_copy_to(&stale->arena, probe_container(&scratch, p));
	arena_free(&scratch);
	list_append(&p->task->pod->stale, &stale->link);
}

void pod_probes_close(struct pod *pod)
{
	struct stale *stale, *next;

	list_for_each (stale, next, &pod->stale, link)
		stale_free(stale);
	if (pod->remover)
		http_client_close(pod->remover);
	pod->remover = NULL;
}

/* ---- the end ------------------------------------------------------------------ */

static void probe_free(struct pod_probe *p)
{
	http_client_close(p->client);
	free(p->why);
	free(p->id);
	free(p);
}

/* Says the result; the probe is gone then. */
static void probe_over(struct pod_probe *p, enum probe_outcome outcome, int value, const char *why)
{
	char *text = why ? xstrdup(why) : NULL;
	struct probe probe = p->probe;

	probe_free(p);
	probe_say(&probe, outcome, value, text);
	free(text);
}

static void pod_probe_cancel(struct probe *probe)
{
	struct pod_probe *p = container_of(probe, struct pod_probe, probe);

	keep_stale(p);
	probe_free(p);
}

static const struct probe_ops ops = {NULL, pod_probe_cancel};

/* ---- its life ------------------------------------------------------------------- */

static void probe_ended_cb(void *context, const struct http_answer *answer)
{
	struct pod_probe *p = context;
	const Mesos__Agent__Response__WaitContainer *end = NULL;
	struct arena arena;
	char *why = NULL;
	int status = 0;

	arena_init(&arena);
	remove_container(p->task->pod, probe_container(&arena, p));
	if (answer->status == 200)
		end = pod_read_wait(&arena, answer);
	if (end && end->has_exit_status)
		status = end->exit_status;
	else
		why = xprintf("How the command ended is not known: %s",
			      answer->status ? "the agent does not tell" : answer->error);
	arena_free(&arena);
	if (!why && WIFSIGNALED(status))
		why = executor_command_message(status);
	probe_over(p, why ? PROBE_FAILED : PROBE_RESULT, WEXITSTATUS(status), why);
	free(why);
}

static void ask_for_end(struct pod_probe *p)
{
	struct pod *pod = p->task->pod;
	Mesos__Agent__Call call = MESOS__AGENT__CALL__INIT;
	Mesos__Agent__Call__WaitContainer body = MESOS__AGENT__CALL__WAIT_CONTAINER__INIT;
	struct arena arena;

	arena_init(&arena);
	call.has_type = 1;
	call.type = MESOS__AGENT__CALL__TYPE__WAIT_CONTAINER;
	call.wait_container = &body;
	body.container_id = probe_container(&arena, p);
	http_client_close(p->client);
	p->client = http_client_create(&pod->loop, pod->host, pod->port);
	pod_send(p->client, pod, &call, 0, probe_ended_cb, p);
	arena_free(&arena);
}

static void probe_opened_cb(void *context, const struct http_answer *answer)
{
	struct pod_probe *p = context;

	p->opened = answer->status == 200;
	if (!p->opened)
		p->why = answer->status ? xstrndup(answer->body.data, answer->body.len)
					: xstrdup(answer->error);
}

/* What the command says is for nobody. */
static void probe_record_cb(void *context, struct slice record)
{
	(void)context;
	(void)record;
}

static void probe_closed_cb(void *context, const char *why)
{
	struct pod_probe *p = context;

	if (p->opened)
		ask_for_end(p);
	else
		probe_over(p, PROBE_FAILED, 0, p->why ? p->why : why);
}

static void probe_launch(struct pod_probe *p, const Mesos__CommandInfo *command)
{
	static const struct http_stream_handlers handlers = {probe_opened_cb, probe_record_cb,
							     probe_closed_cb};
	struct pod *pod = p->task->pod;
	Mesos__Agent__Call call = MESOS__AGENT__CALL__INIT;
	Mesos__Agent__Call__LaunchNestedContainerSession body =
		MESOS__AGENT__CALL__LAUNCH_NESTED_CONTAINER_SESSION__INIT;
	const char *headers[POD_HEADERS];
	struct buf bytes = BUF_INIT;
	struct arena arena;

	arena_init(&arena);
	call.has_type = 1;
	call.type = MESOS__AGENT__CALL__TYPE__LAUNCH_NESTED_CONTAINER_SESSION;
	call.launch_nested_container_session = &body;
	body.container_id = probe_container(&arena, p);
	body.command = (Mesos__CommandInfo *)command;
	pod_headers(pod, true, headers);
	proto_pack(&call, &bytes);
	http_client_stream(p->client, POD_AGENT_PATH, headers, bytes.data, bytes.len,
			   ANSWER_TIMEOUT_MS, &handlers, p);
	buf_free(&bytes);
	arena_free(&arena);
}

struct probe *pod_probe_start(void *context, const Mesos__CommandInfo *command,
			      enum probe_outcome *outcome, struct err *err)
{
	struct pod_task *task = context;
	struct pod_probe *p;
	uint8_t uuid[UUID_BYTES];
	char text[UUID_TEXT];

	if (!executor_driver_connected(task->pod->driver)) {
		/* Nothing is known of the task meanwhile. */
		*outcome = PROBE_UNAVAILABLE;
		err_set(err, ERR_STATE, "the agent is away");
		return NULL;
	}
	remove_stale(task->pod);
	p = xcalloc(1, sizeof(*p));
	uuid_make(&task->pod->rng, uuid);
	uuid_format(uuid, text);
	p->probe.ops = &ops;
	p->task = task;
	p->id = xprintf("check-%s", text);
	p->client = http_client_create(&task->pod->loop, task->pod->host, task->pod->port);
	probe_launch(p, command);
	return &p->probe;
}

/* Calls of the agent's operator API. */
#include <string.h>

#include "cli/executor/pod/pod.h"

#define KILL_TIMEOUT_MS 60000

void pod_headers(const struct pod *pod, bool records, const char *headers[POD_HEADERS])
{
	size_t count = 0;

	headers[count++] = "Content-Type";
	headers[count++] = "application/x-protobuf";
	headers[count++] = "Accept";
	headers[count++] = records ? "application/recordio" : "application/x-protobuf";
	if (records) {
		headers[count++] = "Message-Accept";
		headers[count++] = "application/x-protobuf";
	}
	if (pod->authorization) {
		headers[count++] = "Authorization";
		headers[count++] = pod->authorization;
	}
	headers[count] = NULL;
}

void pod_send(struct http_client *client, const struct pod *pod, const Mesos__Agent__Call *call,
	      int timeout_ms, pod_answered *answered, void *context)
{
	const char *headers[POD_HEADERS];
	struct buf bytes = BUF_INIT;

	pod_headers(pod, false, headers);
	proto_pack(call, &bytes);
	http_client_send(client, "POST", POD_AGENT_PATH, headers, bytes.data, bytes.len, timeout_ms,
			 answered, context);
	buf_free(&bytes);
}

static struct http_client *client_of(struct pod *pod, struct http_client **client)
{
	if (!*client)
		*client = http_client_create(&pod->loop, pod->host, pod->port);
	return *client;
}

void pod_call_launch(struct pod_task *task, pod_answered *answered)
{
	Mesos__Agent__Call call = MESOS__AGENT__CALL__INIT;
	struct arena arena;

	arena_init(&arena);
	call.has_type = 1;
	call.type = MESOS__AGENT__CALL__TYPE__LAUNCH_CONTAINER;
	call.launch_container = pod_launch_make(&arena, task);
	pod_send(client_of(task->pod, &task->client), task->pod, &call, 0, answered, task);
	arena_free(&arena);
}

void pod_call_kill(struct pod_task *task, int signal, pod_answered *answered)
{
	Mesos__Agent__Call call = MESOS__AGENT__CALL__INIT;
	Mesos__Agent__Call__KillContainer body = MESOS__AGENT__CALL__KILL_CONTAINER__INIT;
	struct arena arena;

	arena_init(&arena);
	call.has_type = 1;
	call.type = MESOS__AGENT__CALL__TYPE__KILL_CONTAINER;
	call.kill_container = &body;
	body.container_id = pod_container_id(&arena, task);
	body.has_signal = 1;
	body.signal = signal;
	pod_send(client_of(task->pod, &task->killer), task->pod, &call, KILL_TIMEOUT_MS, answered,
		 task);
	arena_free(&arena);
}

void pod_call_wait(struct pod_task *task, pod_answered *answered)
{
	Mesos__Agent__Call call = MESOS__AGENT__CALL__INIT;
	Mesos__Agent__Call__WaitContainer body = MESOS__AGENT__CALL__WAIT_CONTAINER__INIT;
	struct arena arena;

	arena_init(&arena);
	call.has_type = 1;
	call.type = MESOS__AGENT__CALL__TYPE__WAIT_CONTAINER;
	call.wait_container = &body;
	body.container_id = pod_container_id(&arena, task);
	pod_send(client_of(task->pod, &task->client), task->pod, &call, 0, answered, task);
	arena_free(&arena);
}

void pod_drop_calls(struct pod_task *task)
{
	if (task->client)
		http_client_close(task->client);
	if (task->killer)
		http_client_close(task->killer);
	task->client = task->killer = NULL;
}

const Mesos__Agent__Response__WaitContainer *pod_read_wait(struct arena *arena,
							   const struct http_answer *answer)
{
	struct err err = {""};
	const Mesos__Agent__Response *response =
		proto_unpack(&mesos__agent__response__descriptor, arena, answer->body.data,
			     answer->body.len, &err);

	return response ? response->wait_container : NULL;
}

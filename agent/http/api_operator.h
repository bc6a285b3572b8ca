/* POST /api/v1 of the agent: the operator API. Calls that read a file are answered by files.c. */
#ifndef AGENT_HTTP_API_OPERATOR_H
#define AGENT_HTTP_API_OPERATOR_H

#include "agent/shell.h"

/* 200 with the response, in the format that the request accepts. */
void agent_api_respond(struct http_request *request, const Mesos__Agent__Response *response);

/* -- files.c; both answer the request later -- */
void agent_files_list_call(struct agent_shell *shell, struct http_request *request,
			   const char *path, Mesos__Agent__Response *response);
/* `length` in bytes; at most 64 KiB are read. */
void agent_files_read_call(struct agent_shell *shell, struct http_request *request,
			   const char *path, uint64_t offset, uint64_t length,
			   Mesos__Agent__Response *response);

/* -- rest_containers.c; both answer the request later -- */
void agent_reply_statistics(struct agent_shell *shell, struct http_request *request);
void agent_containers_call(struct agent_shell *shell, struct http_request *request,
			   Mesos__Agent__Response *response,
			   const Mesos__Agent__Call__GetContainers *get);

#endif

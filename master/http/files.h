/* The master's one file: its log, as /master/log. It is there if --external_log_file says where. */
#ifndef MASTER_HTTP_FILES_H
#define MASTER_HTTP_FILES_H

#include "master/http/api/api_operator.h"

void files_browse(void *shell, struct http_request *request);
void files_read(void *shell, struct http_request *request);
void files_download(void *shell, struct http_request *request);
void files_debug(void *shell, struct http_request *request);
/* LIST_FILES and READ_FILE of the operator API. */
void files_list_call(const struct operator_call *c);
void files_read_call(const struct operator_call *c);

#endif

/* The web page: its files, and what only a page needs. Reads that programs want as well are in
 * master/http/rest/. */
#ifndef MASTER_HTTP_PAGE_PAGE_H
#define MASTER_HTTP_PAGE_PAGE_H

#include "master/shell.h"

/* "/": the page. A master that does not lead leads to the one that does. */
void page_root(void *shell, struct http_request *request);
/* "/assets/NAME", and other folders that --webui_dir has. */
void page_file(void *shell, struct http_request *request);
/* "/agent/ID/files/(browse|read|download)?path=...": the agent's answer, passed on. */
void page_agent_files(void *shell, struct http_request *request);

/* -- page_dir.c -- */

/* Answers with a file of --webui_dir, which `name` is below. */
void page_send_file(struct shell *shell, struct http_request *request, const char *name);

#endif

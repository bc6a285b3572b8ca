/* See detector.h. What cannot be read or resolved is logged and tried again every second;
 * ZooKeeper is watched as long as the detector lives. */
#include "net/masters/detector.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/zk/zk_url.h"
#include "net/masters/election.h"

#define RETRY_MS 1000
#define SOURCE_MAX 512

struct detector {
	const char *source;
	int zk_timeout_ms;
	struct detector_handlers handlers;
	void *context;
	struct election *election; /* NULL: the source is an address */
	char *leader;		   /* its pid, as ZooKeeper has it; NULL: none */
	char host[SOURCE_MAX];
	int port;
	uv_timer_t retry;
	uv_getaddrinfo_t resolve;
	bool resolving;
	bool closing;
	bool closed;
};

/* NULL: it is no file. */
static const char *source_path(const char *source)
{
	if (str_has_prefix(source, "file://"))
		return source + strlen("file://");
	return *source == '/' ? source : NULL;
}

static int read_source(const struct detector *d, char *text, struct err *err)
{
	const char *path = source_path(d->source);
	FILE *file;
	size_t len;

	if (!path) {
		snprintf(text, SOURCE_MAX, "%s", d->source);
		return 0;
	}
	file = fopen(path, "re");
	if (!file)
		return err_set(err, ERR_IO, "Cannot read the file '%s' of --master: %s", d->source,
			       strerror(errno));
	len = fread(text, 1, SOURCE_MAX - 1, file);
	fclose(file);
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	text[len] = '\0';
	return 0;
}

static int parse_host(const char *text, char *host, int *port, struct err *err)
{
	const char *start = str_has_prefix(text, "master@") ? text + strlen("master@") : text;
	const char *colon = strrchr(start, ':');
	char *end;
	long number = colon ? strtol(colon + 1, &end, 10) : 0;

	if (!colon || colon == start || *end || number < 1 || number > 65535)
		return err_set(err, ERR_INVALID,
			       "Invalid value '%s' for --master: expected HOST:PORT, "
			       "zk://HOST:PORT/PATH or file://PATH",
			       text);
	snprintf(host, SOURCE_MAX, "%.*s", (int)(colon - start), start);
	*port = (int)number;
	return 0;
}

/* Either the host and its port, or where ZooKeeper has it, to be freed; it is empty otherwise. */
static int detector_parse(const struct detector *d, char *host, int *port, struct zk_url *url,
			  struct err *err)
{
	char text[SOURCE_MAX];
	int rv = read_source(d, text, err);

	*url = (struct zk_url){NULL, NULL, NULL};
	if (rv < 0)
		return rv;
	if (!zk_url_is(text))
		return parse_host(text, host, port, err);
	rv = zk_url_parse(text, url, err);
	return rv < 0 ? err_wrap(err, rv, "Invalid value '%s' for --master", text) : 0;
}

int detector_check(const struct detector *d, struct err *err)
{
	char host[SOURCE_MAX];
	struct zk_url url;
	int port, rv = detector_parse(d, host, &port, &url, err);

	zk_url_free(&url);
	return rv;
}

static void detector_tell(struct detector *d, const char *ip)
{
	char *pid = xprintf("master@%s:%d", ip, d->port);

	d->handlers.detected(d->context, pid);
	free(pid);
}

/* ---- by ZooKeeper ------------------------------------------------------------ */

static void detector_leader(void *context, const Mesos__MasterInfo *leader, bool ours)
{
	struct detector *d = context;

	(void)ours;
	free(d->leader);
	d->leader = leader ? xstrdup(leader->pid) : NULL;
	d->handlers.detected(d->context, d->leader);
}

static void election_failed(void *context, const char *why)
{
	struct detector *d = context;

	d->handlers.failed(d->context, why);
}

static void watch_election(struct detector *d, const struct zk_url *url)
{
	static const struct election_handlers handlers = {.leader = detector_leader,
							  .failed = election_failed};

	d->election = election_open(d->retry.loop, url, d->zk_timeout_ms, NULL, &handlers, d);
}

/* ---- by address --------------------------------------------------------------- */

static void detector_retry_cb(uv_timer_t *timer)
{
	detector_look(timer->data);
}

static void detector_free_if_done(struct detector *d)
{
	if (!d->closed || d->resolving)
		return;
	free(d->leader);
	free(d);
}

static void resolved_cb(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
	struct detector *d = request->data;
	char ip[INET_ADDRSTRLEN] = "";

	d->resolving = false;
	if (status == 0)
		uv_ip4_name((const struct sockaddr_in *)found->ai_addr, ip, sizeof(ip));
	uv_freeaddrinfo(found);
	if (d->closing) {
		detector_free_if_done(d);
	} else if (status == 0) {
		detector_tell(d, ip);
	} else {
		log_warning("Cannot resolve the master's name '%s': %s", d->host,
			    uv_strerror(status));
		uv_timer_start(&d->retry, detector_retry_cb, RETRY_MS, 0);
	}
}

static void look_up(struct detector *d)
{
	static const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
	struct in_addr address;

	if (inet_pton(AF_INET, d->host, &address) == 1) {
		detector_tell(d, d->host);
		return;
	}
	d->resolve.data = d;
	d->resolving =
		!uv_getaddrinfo(d->retry.loop, &d->resolve, resolved_cb, d->host, NULL, &hints);
	if (!d->resolving)
		uv_timer_start(&d->retry, detector_retry_cb, RETRY_MS, 0);
}

void detector_look(struct detector *d)
{
	struct zk_url url;
	struct err err;

	if (d->resolving || d->closing)
		return;
	if (d->election) {
		if (d->leader)
			d->handlers.detected(d->context, d->leader);
		return;
	}
	uv_timer_stop(&d->retry);
	if (detector_parse(d, d->host, &d->port, &url, &err) < 0) {
		log_warning("%s", err.text);
		uv_timer_start(&d->retry, detector_retry_cb, RETRY_MS, 0);
	} else if (url.path) {
		watch_election(d, &url);
		zk_url_free(&url);
	} else {
		look_up(d);
	}
}

struct detector *detector_create(uv_loop_t *loop, const char *source, int zk_timeout_ms,
				 const struct detector_handlers *handlers, void *context)
{
	struct detector *d = xcalloc(1, sizeof(*d));

	d->source = source;
	d->zk_timeout_ms = zk_timeout_ms;
	d->handlers = *handlers;
	d->context = context;
	uv_timer_init(loop, &d->retry);
	d->retry.data = d;
	return d;
}

static void detector_closed_cb(uv_handle_t *handle)
{
	struct detector *d = handle->data;

	d->closed = true;
	detector_free_if_done(d);
}

void detector_close(struct detector *d)
{
	d->closing = true;
	if (d->election)
		election_close(d->election);
	if (d->resolving)
		uv_cancel((uv_req_t *)&d->resolve);
	uv_close((uv_handle_t *)&d->retry, detector_closed_cb);
}

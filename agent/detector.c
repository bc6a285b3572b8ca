/* The standalone detector; see detector.h. What cannot be read or resolved is logged and
 * tried again every second. */
#include "agent/detector.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"

#define RETRY_MS 1000
#define SOURCE_MAX 512

struct detector {
	const char *source;
	void (*detected)(void *context, const char *pid);
	void *context;
	char host[SOURCE_MAX];
	int port;
	uv_timer_t retry;
	uv_getaddrinfo_t resolve;
	bool resolving;
	bool closing;
	bool closed;
};

static int read_source(const struct detector *d, char *text, struct err *err)
{
	FILE *file;
	size_t len;

	if (*d->source != '/') {
		snprintf(text, SOURCE_MAX, "%s", d->source);
		return 0;
	}
	file = fopen(d->source, "re");
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

static int detector_parse(const struct detector *d, char *host, int *port, struct err *err)
{
	char text[SOURCE_MAX], *colon, *end, *start = text;
	long number;
	int rv = read_source(d, text, err);

	if (rv < 0)
		return rv;
	if (str_has_prefix(text, "zk://"))
		return err_set(
			err, ERR_INVALID,
			"--master=%s: ZooKeeper is not supported by this version of mesita; give "
			"the master's address as HOST:PORT",
			text);
	if (str_has_prefix(text, "master@"))
		start += strlen("master@");
	colon = strrchr(start, ':');
	number = colon ? strtol(colon + 1, &end, 10) : 0;
	if (!colon || colon == start || *end || number < 1 || number > 65535)
		return err_set(err, ERR_INVALID,
			       "Invalid value '%s' for --master: expected HOST:PORT or file://PATH",
			       text);
	*colon = '\0';
	strcpy(host, start);
	*port = (int)number;
	return 0;
}

int detector_check(const struct detector *d, struct err *err)
{
	char host[SOURCE_MAX];
	int port;

	return detector_parse(d, host, &port, err);
}

static void detector_tell(struct detector *d, const char *ip)
{
	char *pid = xprintf("master@%s:%d", ip, d->port);

	d->detected(d->context, pid);
	free(pid);
}

static void detector_retry_cb(uv_timer_t *timer)
{
	detector_look(timer->data);
}

static void detector_free_if_done(struct detector *d)
{
	if (d->closed && !d->resolving)
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

void detector_look(struct detector *d)
{
	static const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
	struct in_addr address;
	struct err err;

	if (d->resolving || d->closing)
		return;
	uv_timer_stop(&d->retry);
	if (detector_parse(d, d->host, &d->port, &err) < 0) {
		log_warning("%s", err.text);
		uv_timer_start(&d->retry, detector_retry_cb, RETRY_MS, 0);
	} else if (inet_pton(AF_INET, d->host, &address) == 1) {
		detector_tell(d, d->host);
	} else {
		d->resolve.data = d;
		d->resolving = !uv_getaddrinfo(d->retry.loop, &d->resolve, resolved_cb, d->host,
					       NULL, &hints);
		if (!d->resolving)
			uv_timer_start(&d->retry, detector_retry_cb, RETRY_MS, 0);
	}
}

struct detector *detector_create(uv_loop_t *loop, const char *source,
				 void (*detected)(void *context, const char *pid), void *context)
{
	struct detector *d = xcalloc(1, sizeof(*d));

	d->source = source;
	d->detected = detected;
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
	if (d->resolving)
		uv_cancel((uv_req_t *)&d->resolve);
	uv_close((uv_handle_t *)&d->retry, detector_closed_cb);
}

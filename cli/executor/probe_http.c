/* HTTP probes: the status of a GET to this machine, redirects followed, bodies dropped.
 *
 * Plain HTTP goes through our client; the first https URL on the way is handed, with
 * all that follows, to the curl program. Failures: no connection, no HTTP, a redirect to
 * something else than HTTP, too many of them. */
#include <stdlib.h>
#include <string.h>

#include "base/memory/buf.h"
#include "cli/executor/probe_internal.h"
#include "cli/url.h"
#include "net/client.h"

#define REDIRECTS_MAX 50 /* as curl */

struct http_probe {
	struct probe base;
	uv_loop_t *loop;
	struct url url;
	struct http_client *client; /* NULL while curl is at it */
	struct probe *curl;
	int redirects;
};

static void http_free(struct http_probe *p)
{
	if (p->client)
		http_client_close(p->client);
	url_free(&p->url);
	free(p);
}

static void http_cancel(struct probe *probe)
{
	struct http_probe *p = (struct http_probe *)probe;

	if (p->curl)
		probe_cancel(p->curl);
	http_free(p);
}

static bool http_reap(struct probe *probe, pid_t pid, int status)
{
	struct http_probe *p = (struct http_probe *)probe;

	return p->curl && probe_reap(p->curl, pid, status);
}

static const struct probe_ops http_ops = {http_reap, http_cancel};

static void probe_http_finish(struct http_probe *p, enum probe_outcome outcome, int value,
			      const char *why)
{
	probe_say(&p->base, outcome, value, why);
	http_free(p);
}

static void curl_done(void *context, const struct probe_result *result)
{
	probe_http_finish(context, result->outcome, result->value, result->why);
}

static int hand_to_curl(struct http_probe *p, enum probe_outcome *outcome, struct err *err)
{
	char *text = url_format(&p->url);

	p->curl = probe_curl_start(text, outcome, err);
	free(text);
	if (!p->curl)
		return ERR_IO;
	p->curl->done = curl_done;
	p->curl->context = p;
	return 0;
}

static void probe_http_answered_cb(void *context, const struct http_answer *answer);

/* Asks for the present URL. */
static int probe_http_ask(struct http_probe *p, enum probe_outcome *outcome, struct err *err)
{
	static const char *const headers[] = {
		"User-Agent", "mesita/" MESITA_VERSION, "Accept", "*/*", NULL,
	};

	if (p->client)
		http_client_close(p->client);
	p->client = NULL;
	*outcome = PROBE_FAILED;
	if (p->url.tls)
		return hand_to_curl(p, outcome, err);
	p->client = http_client_create(p->loop, p->url.host, p->url.port);
	http_client_drop_bodies(p->client);
	http_client_send(p->client, "GET", p->url.path, headers, NULL, 0, 0, probe_http_answered_cb,
			 p);
	return 0;
}

static int probe_http_follow(struct http_probe *p, const char *location,
			     enum probe_outcome *outcome, struct err *err)
{
	struct url next;

	*outcome = PROBE_FAILED;
	if (p->redirects++ >= REDIRECTS_MAX)
		return err_set(err, ERR_LIMIT, "More than %d redirects", REDIRECTS_MAX);
	if (url_resolve(&p->url, location, &next, err))
		return ERR_INVALID;
	url_free(&p->url);
	p->url = next;
	return probe_http_ask(p, outcome, err);
}

static bool is_redirect(const struct http_answer *answer)
{
	switch (answer->status) {
	case 301:
	case 302:
	case 303:
	case 307:
	case 308:
		return answer->location[0];
	default:
		return false;
	}
}

static void probe_http_answered_cb(void *context, const struct http_answer *answer)
{
	struct http_probe *p = context;
	enum probe_outcome outcome;
	struct err err = {{0}};

	if (answer->status == 0)
		probe_http_finish(p, PROBE_FAILED, 0, answer->error);
	else if (!is_redirect(answer))
		probe_http_finish(p, PROBE_RESULT, answer->status, NULL);
	else if (probe_http_follow(p, answer->location, &outcome, &err))
		probe_http_finish(p, outcome, 0, err.text);
}

struct probe *probe_http_start(uv_loop_t *loop, const struct probe_target *target,
			       enum probe_outcome *outcome, struct err *err)
{
	struct http_probe *p = xcalloc(1, sizeof(*p));
	struct url start = {
		.tls = target->tls,
		.host = (char *)(target->ipv6 ? "::1" : "127.0.0.1"),
		.port = target->port,
		.path = (char *)(target->path ? target->path : ""),
	};
	char *text = url_format(&start);
	int rv;

	*outcome = PROBE_FAILED;
	p->base.ops = &http_ops;
	p->loop = loop;
	rv = url_resolve(&start, text, &p->url, err);
	free(text);
	/* Our client makes its sockets later, in our own network. */
	if (!rv)
		rv = target->network ? hand_to_curl(p, outcome, err)
				     : probe_http_ask(p, outcome, err);
	if (!rv)
		return &p->base;
	http_free(p);
	return NULL;
}

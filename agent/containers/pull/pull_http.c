/* Requests to registries, by libcurl. A registry that wants to know who asks says where a token is
 * to be had: that is got once, and shown with each request. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/containers/curl/curl_library.h"
#include "agent/containers/pull/pull_internal.h"
#include "auth/digest.h"
#include "base/base64.h"
#include "base/log/log.h"
#include "base/time/clock.h"

#define DOCUMENT_MAX (8 * 1024 * 1024)
#define PARALLEL_MAX 4
#define TRIES_MAX 3
#define REPORT_BYTES (64LL << 20) /* a line of progress each */
#define ACCEPT                                                                                     \
	"Accept: application/vnd.oci.image.index.v1+json, "                                        \
	"application/vnd.oci.image.manifest.v1+json, "                                             \
	"application/vnd.docker.distribution.manifest.list.v2+json, "                              \
	"application/vnd.docker.distribution.manifest.v2+json"

struct registry {
	struct pull *pull;
	const struct curl_library *curl;
	const char *base, *host, *repository;
	char *login;	     /* "user:password"; or NULL. In the pull's arena, as the next */
	char *authorization; /* the header; NULL: none was wanted yet */
};

/* ---- one request ----------------------------------------------------------------- */

struct answer {
	struct buf *body;
	struct buf challenge; /* of WWW-Authenticate */
};

static size_t take_body(char *data, size_t size, size_t count, void *context)
{
	struct answer *answer = context;

	if (answer->body->len + size * count > DOCUMENT_MAX)
		return 0;
	buf_append(answer->body, data, size * count);
	return size * count;
}

static size_t take_header(char *data, size_t size, size_t count, void *context)
{
	static const char name[] = "www-authenticate:";
	struct answer *answer = context;
	size_t len = size * count;

	if (len > sizeof(name) && !strncasecmp(data, name, sizeof(name) - 1)) {
		answer->challenge.len = 0;
		buf_append(&answer->challenge, data + sizeof(name) - 1, len - (sizeof(name) - 1));
	}
	return len;
}

static CURL *new_request(const struct registry *registry, const char *url)
{
	bool plain = !strncmp(registry->base, "http:", 5);

	return curl_request(registry->curl, url, plain ? "http,https" : "https",
			    registry->pull->stall_timeout);
}

static struct curl_slist *request_headers(const struct registry *registry, const char *accept)
{
	const struct curl_library *c = registry->curl;
	struct curl_slist *headers = c->curl_slist_append(NULL, accept);

	/* libcurl shows it to this host alone, wherever it is led to. */
	return registry->authorization ? c->curl_slist_append(headers, registry->authorization)
				       : headers;
}

/* Returns the HTTP status, or a negative code. */
static long get_document(struct registry *registry, const char *url, const char *login,
			 struct buf *body, struct buf *challenge, struct err *err)
{
	const struct curl_library *c = registry->curl;
	struct answer answer = {.body = body};
	CURL *curl = new_request(registry, url);
	struct curl_slist *headers = login ? NULL : request_headers(registry, ACCEPT);
	CURLcode rv;
	long status = 0;

	body->len = 0;
	if (headers)
		c->curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	if (login && *login)
		c->curl_easy_setopt(curl, CURLOPT_USERPWD, login);
	c->curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
	c->curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
	c->curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
	c->curl_easy_setopt(curl, CURLOPT_HEADERDATA, &answer);
	rv = c->curl_easy_perform(curl);
	c->curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	c->curl_easy_cleanup(curl);
	c->curl_slist_free_all(headers);
	if (challenge)
		*challenge = answer.challenge;
	else
		buf_free(&answer.challenge);
	if (rv != CURLE_OK)
		return err_set(err,
			       rv == CURLE_COULDNT_CONNECT || rv == CURLE_SSL_CONNECT_ERROR
				       ? ERR_NOT_FOUND
				       : ERR_IO,
			       "Cannot get '%s': %s", url, c->curl_easy_strerror(rv));
	return status;
}

/* ---- who asks ----------------------------------------------------------------------- */

/* A parameter of a challenge: NAME="VALUE". In the arena; NULL: it is not there. */
static char *challenge_value(struct arena *arena, const char *challenge, const char *name)
{
	char *pattern = arena_printf(arena, "%s=\"", name);
	const char *at = strcasestr(challenge, pattern);

	if (!at)
		return NULL;
	at += strlen(pattern);
	return arena_strndup(arena, at, strcspn(at, "\""));
}

static char *find_login(const struct registry *registry)
{
	const struct json *auths = json_get(registry->pull->access, "auths");
	struct arena *arena = &registry->pull->arena;

	for (size_t i = 0; auths && auths->type == JSON_OBJECT && i < auths->count; i++) {
		const char *auth = json_get_string(&auths->items[i], "auth");
		const char *key = auths->keys[i].data, *host = strstr(key, "://");
		size_t len = strlen(auth);
		char *login;
		long size;

		host = host ? host + 3 : key;
		/* Keys may be URLs, of which the host counts. */
		if (strncmp(host, registry->host, strlen(registry->host)) != 0 ||
		    (host[strlen(registry->host)] && host[strlen(registry->host)] != '/'))
			continue;
		login = arena_alloc(arena, BASE64_DECODED(len) + 1);
		size = base64_decode(auth, len, login);
		if (size < 0)
			continue;
		login[size] = 0;
		return login;
	}
	return NULL;
}

static char *escaped(struct registry *registry, const char *text)
{
	char *made = registry->curl->curl_easy_escape(NULL, text, 0);
	char *copy = arena_strdup(&registry->pull->arena, made ? made : "");

	registry->curl->curl_free(made);
	return copy;
}

static int get_token(struct registry *registry, const char *challenge, struct err *err)
{
	struct arena *arena = &registry->pull->arena;
	char *realm = challenge_value(arena, challenge, "realm"), *url;
	char *service = challenge_value(arena, challenge, "service");
	const char *token;
	struct buf body = BUF_INIT;
	struct json *document;
	long status;
	int rv;

	if (!realm)
		return err_set(err, ERR_INVALID, "The registry asks who we are, but not how");
	url = arena_printf(arena, "%s%cscope=repository%%3A%s%%3Apull%s%s", realm,
			   strchr(realm, '?') ? '&' : '?', escaped(registry, registry->repository),
			   service ? "&service=" : "", service ? escaped(registry, service) : "");
	status = get_document(registry, url, registry->login ? registry->login : "", &body, NULL,
			      err);
	if (status < 0)
		rv = (int)status;
	else if (status != 200)
		rv = err_set(err, ERR_INVALID, "Got no token for '%s': HTTP status %ld",
			     registry->repository, status);
	else
		rv = json_parse(arena, body.data ? body.data : "", body.len, &document, err);
	buf_free(&body);
	if (rv < 0)
		return rv;
	token = json_get_string(document, "token");
	if (!*token)
		token = json_get_string(document, "access_token");
	registry->authorization = arena_printf(arena, "Authorization: Bearer %s", token);
	return *token ? 0 : err_set(err, ERR_INVALID, "The registry sent no token");
}

static int answer_challenge(struct registry *registry, struct buf *challenge, struct err *err)
{
	const char *text = challenge->data ? challenge->data : "";
	struct buf login = BUF_INIT;
	int rv = 0;

	while (*text == ' ')
		text++;
	if (!strncasecmp(text, "Bearer", 6)) {
		rv = get_token(registry, text, err);
	} else if (registry->login) {
		base64_encode(&login, registry->login, strlen(registry->login));
		registry->authorization =
			arena_printf(&registry->pull->arena, "Authorization: Basic %s", login.data);
	} else {
		rv = err_set(err, ERR_INVALID,
			     "The registry wants a login for '%s': name one in --docker_config",
			     registry->repository);
	}
	buf_free(&login);
	return rv;
}

int registry_manifest(struct registry *registry, const char *reference, struct buf *body,
		      struct err *err)
{
	char *url = arena_printf(&registry->pull->arena, "%s/v2/%s/manifests/%s", registry->base,
				 registry->repository, reference);
	struct buf challenge = BUF_INIT;
	long status = get_document(registry, url, NULL, body, &challenge, err);

	if (status == 401 && !registry->authorization &&
	    (status = answer_challenge(registry, &challenge, err)) == 0) {
		buf_free(&challenge);
		status = get_document(registry, url, NULL, body, &challenge, err);
	}
	buf_free(&challenge);
	if (status < 0)
		return (int)status;
	return status == 200 ? 0
			     : err_set(err, ERR_INVALID,
				       "Unexpected HTTP status %ld for the manifest of '%s'",
				       status, registry->pull->image);
}

/* ---- blobs --------------------------------------------------------------------------- */

struct download {
	const struct blob *blob;
	CURL *curl;
	struct curl_slist *headers;
	struct digest *digest;
	char *path;
	int fd;
	int tries;
	int64_t got, told;
};

static size_t take_piece(char *data, size_t size, size_t count, void *context)
{
	struct download *d = context;
	size_t len = size * count;

	if (d->blob->size >= 0 && d->got + (int64_t)len > d->blob->size)
		return 0;
	if (write(d->fd, data, len) != (ssize_t)len)
		return 0;
	digest_add(d->digest, data, len);
	d->got += (int64_t)len;
	if (d->got - d->told >= REPORT_BYTES) {
		d->told = d->got;
		log_info("Layer %.12s: %lld of %lld MB", d->blob->hex, (long long)(d->got >> 20),
			 (long long)(d->blob->size >> 20));
	}
	return len;
}

static int begin_download(struct registry *registry, struct download *d, CURLM *multi,
			  struct err *err)
{
	const struct curl_library *c = registry->curl;
	char *url = arena_printf(&registry->pull->arena, "%s/v2/%s/blobs/sha256:%s", registry->base,
				 registry->repository, d->blob->hex);

	d->fd = open(d->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (d->fd < 0)
		return err_set(err, ERR_IO, "Cannot make '%s': %s", d->path, strerror(errno));
	d->got = d->told = 0;
	d->tries++;
	d->digest = digest_begin();
	d->curl = new_request(registry, url);
	d->headers = request_headers(registry, "Accept: */*");
	c->curl_easy_setopt(d->curl, CURLOPT_HTTPHEADER, d->headers);
	c->curl_easy_setopt(d->curl, CURLOPT_WRITEFUNCTION, take_piece);
	c->curl_easy_setopt(d->curl, CURLOPT_WRITEDATA, d);
	c->curl_easy_setopt(d->curl, CURLOPT_FAILONERROR, 1L);
	c->curl_easy_setopt(d->curl, CURLOPT_PRIVATE, d);
	c->curl_multi_add_handle(multi, d->curl);
	return 0;
}

static void end_download(struct registry *registry, struct download *d, CURLM *multi,
			 char hex[DIGEST_TEXT])
{
	const struct curl_library *c = registry->curl;

	c->curl_multi_remove_handle(multi, d->curl);
	c->curl_easy_cleanup(d->curl);
	c->curl_slist_free_all(d->headers);
	digest_end(d->digest, hex);
	close(d->fd);
	d->curl = NULL;
}

/* One that broke is begun anew, a few times. */
static int download_over(struct registry *registry, struct download *d, CURLM *multi, CURLcode code,
			 struct err *err)
{
	char hex[DIGEST_TEXT];

	end_download(registry, d, multi, hex);
	if (code == CURLE_OK)
		return pull_check_digest("A layer", d->blob->hex, hex, err);
	err_set(err, ERR_IO, "Cannot get layer %.12s: %s", d->blob->hex,
		registry->curl->curl_easy_strerror(code));
	if (d->tries >= TRIES_MAX || code == CURLE_HTTP_RETURNED_ERROR || code == CURLE_WRITE_ERROR)
		return ERR_IO;
	log_warning("%s; trying again", err->text);
	return begin_download(registry, d, multi, err);
}

static int run_downloads(struct registry *registry, struct download *list, size_t count,
			 CURLM *multi, struct err *err)
{
	const struct curl_library *c = registry->curl;
	size_t begun = 0;
	int running = 0, rv = 0, left;

	while (rv == 0) {
		CURLMsg *message;

		while (rv == 0 && begun < count && running < PARALLEL_MAX) {
			rv = begin_download(registry, &list[begun++], multi, err);
			running++;
		}
		c->curl_multi_perform(multi, &running);
		while (rv == 0 && (message = c->curl_multi_info_read(multi, &left))) {
			CURLcode code = message->data.result;
			struct download *d = NULL;

			c->curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&d);
			rv = download_over(registry, d, multi, code, err);
			if (rv == 0 && d->curl)
				running++;
		}
		if (rv || (!running && begun == count))
			break;
		c->curl_multi_poll(multi, NULL, 0, 1000, NULL);
	}
	return rv;
}

int registry_blobs(struct registry *registry, const struct blob *blobs, size_t count,
		   struct err *err)
{
	struct download *list = xcalloc(count + 1, sizeof(*list));
	CURLM *multi = registry->curl->curl_multi_init();
	char hex[DIGEST_TEXT];
	int rv;

	for (size_t i = 0; i < count; i++) {
		list[i].blob = &blobs[i];
		list[i].path = xprintf("%s/%s", registry->pull->staging, blobs[i].hex);
	}
	rv = run_downloads(registry, list, count, multi, err);
	for (size_t i = 0; i < count; i++) {
		if (list[i].curl)
			end_download(registry, &list[i], multi, hex);
		free(list[i].path);
	}
	registry->curl->curl_multi_cleanup(multi);
	free(list);
	return rv;
}

/* ---- registries ----------------------------------------------------------------------- */

struct registry *registry_open(struct pull *pull, const char *base, const char *host,
			       const char *repository, struct err *err)
{
	const struct curl_library *curl = curl_library(err);
	struct registry *registry;

	if (!curl)
		return NULL;
	registry = arena_alloc(&pull->arena, sizeof(*registry));
	*registry = (struct registry){
		.pull = pull, .curl = curl, .base = base, .host = host, .repository = repository};
	registry->login = find_login(registry);
	return registry;
}

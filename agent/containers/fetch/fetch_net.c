/* Downloads by libcurl. A transfer that breaks in the middle goes on where it was if the server
 * says that the file is still the same, and begins anew otherwise. */
#include "agent/containers/fetch/fetch_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "agent/containers/curl/curl_library.h"
#include "base/log/log.h"
#include "base/time/clock.h"

#define SCHEMES "http,https,ftp,ftps"
#define TRIES_MAX 3
#define REPORT_BYTES (64LL << 20) /* a line of progress each */
#define VALIDATOR_MAX 512

struct download {
	const struct curl_library *curl;
	CURL *request;
	const char *uri;
	int fd;
	int64_t most;		   /* bytes; 0: any */
	int64_t got, told;	   /* bytes in the file; of them, in the last line of progress */
	int64_t resumed;	   /* bytes that were there when this try began */
	bool too_large, disk_full; /* why we ended it ourselves */
	bool anew;		   /* the server sends all of it once more */
	char validator[VALIDATOR_MAX]; /* the strong ETag; "" if the server gives none */
	char problem[CURL_ERROR_SIZE];
};

bool fetch_is_net(const char *uri)
{
	static const char *const schemes[] = {"http://", "https://", "ftp://", "ftps://"};

	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++)
		if (!strncasecmp(uri, schemes[i], strlen(schemes[i])))
			return true;
	return false;
}

static bool is_ftp(const char *uri)
{
	return !strncasecmp(uri, "ftp", 3);
}

static long status_of(const struct download *d)
{
	long status = 0;

	d->curl->curl_easy_getinfo(d->request, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

/* ---- one try ----------------------------------------------------------------------- */

static size_t take_header(char *data, size_t size, size_t count, void *context)
{
	static const char name[] = "etag:";
	struct download *d = context;
	size_t len = size * count, skip = sizeof(name) - 1;

	/* Each answer of a chain of redirections begins with its status line. */
	if (len > 5 && !strncmp(data, "HTTP/", 5))
		d->validator[0] = '\0';
	if (len <= skip || strncasecmp(data, name, skip) != 0)
		return len;
	while (skip < len && (data[skip] == ' ' || data[skip] == '\t'))
		skip++;
	/* A weak one says that two files are about the same, which is not enough to join them. */
	if (data[skip] == '"' && len - skip < VALIDATOR_MAX) {
		memcpy(d->validator, data + skip, len - skip);
		d->validator[len - skip] = '\0';
		d->validator[strcspn(d->validator, "\r\n")] = '\0';
	}
	return len;
}

/* What comes is all of the file although a part was asked for: what was there goes. */
static int begin_anew(struct download *d)
{
	if (ftruncate(d->fd, 0) || lseek(d->fd, 0, SEEK_SET) < 0)
		return -1;
	d->got = d->told = d->resumed = 0;
	return 0;
}

static size_t take_piece(char *data, size_t size, size_t count, void *context)
{
	struct download *d = context;
	size_t len = size * count;

	if (!is_ftp(d->uri) && status_of(d) >= 300)
		return len; /* the page of an error is not the file */
	if (d->resumed && !d->anew && !is_ftp(d->uri) && status_of(d) != 206) {
		d->anew = true;
		if (begin_anew(d))
			return 0;
	}
	if (d->most && d->got + (int64_t)len > d->most) {
		d->too_large = true;
		return 0;
	}
	for (size_t done = 0; done < len;) {
		ssize_t put = write(d->fd, data + done, len - done);

		if (put < 0) {
			d->disk_full = true;
			return 0;
		}
		done += (size_t)put;
		d->got += put;
	}
	if (d->got - d->told >= REPORT_BYTES) {
		d->told = d->got;
		log_info("Downloaded %lld MB of '%s'", (long long)(d->got >> 20), d->uri);
	}
	return len;
}

static void set_up(struct download *d)
{
	const struct curl_library *c = d->curl;

	c->curl_easy_setopt(d->request, CURLOPT_ERRORBUFFER, d->problem);
	c->curl_easy_setopt(d->request, CURLOPT_HEADERFUNCTION, take_header);
	c->curl_easy_setopt(d->request, CURLOPT_HEADERDATA, d);
	c->curl_easy_setopt(d->request, CURLOPT_WRITEFUNCTION, take_piece);
	c->curl_easy_setopt(d->request, CURLOPT_WRITEDATA, d);
	if (d->most) /* where the server says how large it is, none of it comes */
		c->curl_easy_setopt(d->request, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)d->most);
}

/* CURLOPT_RESUME_FROM_LARGE would fail where the server sends all of it instead. */
static struct curl_slist *ask_for_the_rest(const struct download *d)
{
	char line[VALIDATOR_MAX + 16];
	struct curl_slist *headers;

	snprintf(line, sizeof(line), "Range: bytes=%lld-", (long long)d->got);
	headers = d->curl->curl_slist_append(NULL, line);
	snprintf(line, sizeof(line), "If-Range: %s", d->validator);
	return d->curl->curl_slist_append(headers, line);
}

static CURLcode try_once(struct download *d)
{
	const struct curl_library *c = d->curl;
	struct curl_slist *headers = NULL;
	CURLcode code;

	d->resumed = d->got;
	d->anew = false;
	d->problem[0] = '\0';
	set_up(d);
	if (d->got && is_ftp(d->uri))
		c->curl_easy_setopt(d->request, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)d->got);
	else if (d->got)
		headers = ask_for_the_rest(d);
	c->curl_easy_setopt(d->request, CURLOPT_HTTPHEADER, headers);
	code = c->curl_easy_perform(d->request);
	c->curl_slist_free_all(headers);
	return code;
}

/* ---- all of it ----------------------------------------------------------------------- */

static bool is_broken_transfer(CURLcode code)
{
	return code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR ||
	       code == CURLE_GOT_NOTHING || code == CURLE_HTTP2_STREAM;
}

/* Why the last try failed; 0: it did not. */
static int outcome(const struct download *d, CURLcode code, struct err *err)
{
	const char *problem = *d->problem ? d->problem : d->curl->curl_easy_strerror(code);
	long status = status_of(d);
	bool good = is_ftp(d->uri) ? status == 226 : status == 200 || (d->resumed && status == 206);

	if (d->too_large || code == CURLE_FILESIZE_EXCEEDED)
		return err_set(err, ERR_LIMIT, "'%s' is too large", d->uri);
	if (d->disk_full)
		return err_set(err, ERR_IO, "Error downloading resource: %s", strerror(errno));
	if (code != CURLE_OK)
		return err_set(err, ERR_IO, "Error downloading resource: %s", problem);
	if (!good)
		return err_set(err, ERR_IO,
			       "Error downloading resource, received %s return code %ld",
			       is_ftp(d->uri) ? "FTP" : "HTTP", status);
	return 0;
}

static int download(struct download *d, int64_t stall_timeout, struct err *err)
{
	for (int tries = 1;; tries++) {
		CURLcode code;
		int rv;

		d->request = curl_request(d->curl, d->uri, SCHEMES, stall_timeout);
		code = try_once(d);
		rv = outcome(d, code, err);
		d->curl->curl_easy_cleanup(d->request);
		if (rv == 0 || !is_broken_transfer(code) || d->too_large || d->disk_full ||
		    tries == TRIES_MAX)
			return rv;
		/* Without a validator nobody knows whether the rest is of the same file. */
		if (!is_ftp(d->uri) && !*d->validator && begin_anew(d))
			return rv;
		log_warning("%s; trying again from byte %lld", err->text, (long long)d->got);
	}
}

int fetch_net(struct fetch *fetch, const char *uri, const char *target, uint64_t most,
	      struct err *err)
{
	struct download d = {.uri = uri, .most = most > INT64_MAX ? 0 : (int64_t)most};
	int rv;

	log_info("Downloading resource from '%s' to '%s'", uri, target);
	d.curl = curl_library(err);
	if (!d.curl)
		return err_wrap(err, ERR_NOT_FOUND, "Error downloading resource");
	d.fd = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (d.fd < 0)
		return err_set(err, ERR_IO, "Failed to create '%s': %s", target, strerror(errno));
	rv = download(&d, fetch->stall_timeout, err);
	if (close(d.fd) && rv == 0)
		rv = err_set(err, ERR_IO, "Failed to write '%s': %s", target, strerror(errno));
	return rv;
}

/* The file is read on a thread of libuv's pool: a disk may be slow. */
#include "master/http/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_PATH "/master/log"
#define READ_MAX 65536 /* 16 pages, as in Mesos */
/* A download is made in memory; whoever wants all of a longer log reads it in parts. */
#define DOWNLOAD_MAX ((int64_t)64 << 20)

enum files_kind { FILES_BROWSE, FILES_READ, FILES_DOWNLOAD, FILES_LIST_CALL, FILES_READ_CALL };

struct files_job {
	uv_work_t work;
	struct operator_call call; /* shell, request and, of calls, how to answer */
	enum files_kind kind;
	const char *real;
	int64_t offset, length; /* length < 0: to the end */
	int error;		/* of errno */
	int64_t size;
	char *data;
	size_t len;
};

/* ---- on a thread --------------------------------------------------------------------- */

static int64_t wanted_bytes(const struct files_job *job)
{
	int64_t most = job->kind == FILES_DOWNLOAD ? DOWNLOAD_MAX : READ_MAX;
	int64_t left = job->offset < 0 || job->offset >= job->size ? 0 : job->size - job->offset;

	if (job->kind == FILES_BROWSE || job->kind == FILES_LIST_CALL)
		return 0;
	if (job->length >= 0 && job->length < left)
		left = job->length;
	return left < most ? left : most;
}

static void read_log(uv_work_t *work)
{
	struct files_job *job = work->data;
	int fd = open(job->real, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat info;
	ssize_t got = 0;

	if (fd < 0 || fstat(fd, &info)) {
		job->error = errno;
	} else if (!S_ISREG(info.st_mode)) {
		job->error = ENOENT;
	} else {
		job->size = info.st_size;
		job->data = xmalloc((size_t)wanted_bytes(job) + 1);
		got = pread(fd, job->data, (size_t)wanted_bytes(job),
			    job->offset < 0 || job->offset > job->size ? 0 : job->offset);
		if (got < 0)
			job->error = errno;
		job->len = got < 0 ? 0 : (size_t)got;
	}
	if (fd >= 0)
		close(fd);
}

/* ---- answers ------------------------------------------------------------------------------ */

static void answer_read(const struct files_job *job)
{
	struct buf body = BUF_INIT;
	struct json_writer w;

	jw_init(&w, &body);
	jw_begin_object(&w);
	jw_key(&w, "data");
	jw_string_n(&w, job->data, job->len);
	jw_kv_int(&w, "offset", job->offset < 0 ? job->size : job->offset);
	jw_end_object(&w);
	router_reply_json(job->call.request, &body);
	buf_free(&body);
}

static void answer_call(const struct files_job *job)
{
	const struct operator_call *c = &job->call;
	struct arena *arena = &c->request->arena;
	bool lists = job->kind == FILES_LIST_CALL;
	Mesos__Master__Response *response =
		api_response(c, lists ? MESOS__MASTER__RESPONSE__TYPE__LIST_FILES
				      : MESOS__MASTER__RESPONSE__TYPE__READ_FILE);

	if (lists) {
		/* It is no directory. */
		response->list_files = PROTO_NEW(arena, Mesos__Master__Response__ListFiles,
						 mesos__master__response__list_files__descriptor);
	} else {
		response->read_file = PROTO_NEW(arena, Mesos__Master__Response__ReadFile,
						mesos__master__response__read_file__descriptor);
		response->read_file->size = (uint64_t)job->size;
		response->read_file->data = (ProtobufCBinaryData){job->len, (uint8_t *)job->data};
	}
	api_respond(c, response);
}

static void answer(const struct files_job *job)
{
	static const char *const headers[] = {"Content-Disposition", "attachment; filename=log",
					      NULL};
	struct buf none = BUF_INIT;

	switch (job->kind) {
	case FILES_BROWSE:
		buf_puts(&none, "[]");
		router_reply_json(job->call.request, &none);
		buf_free(&none);
		break;
	case FILES_READ:
		answer_read(job);
		break;
	case FILES_DOWNLOAD:
		http_reply(job->call.request, 200, "application/octet-stream", job->data, job->len,
			   headers);
		break;
	default:
		answer_call(job);
	}
}

static void read_done(uv_work_t *work, int status)
{
	struct files_job *job = work->data;

	if (status == UV_ECANCELED)
		http_reply_text(job->call.request, 503, NULL);
	else if (job->error)
		http_reply_text(job->call.request, job->error == ENOENT ? 404 : 500,
				job->error == ENOENT ? "" : strerror(job->error));
	else
		answer(job);
	free(job->data);
	free(job);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void begin(const struct operator_call *c, enum files_kind kind, const char *path,
		  int64_t offset, int64_t length)
{
	const char *real = c->shell->log_file;
	struct files_job *job;

	if (!path || !*path) {
		http_reply_text(c->request, 400, "Expecting 'path=value' in query.\n");
		return;
	}
	if (!real || strcmp(path, LOG_PATH)) {
		http_reply_text(c->request, 404, "");
		return;
	}
	if (!shell_allows(c->shell, c->request, ACL_ACCESS_MESOS_LOG, NULL))
		return;
	job = xcalloc(1, sizeof(*job));
	job->call = *c;
	job->kind = kind;
	job->real = real;
	job->offset = offset;
	job->length = length;
	job->work.data = job;
	uv_queue_work(&c->shell->loop, &job->work, read_log, read_done);
}

/* A parameter that is a number of at least -1; absent is -1. False: answered. */
static bool parse_number(struct http_request *request, const char *name, const char *negative,
			 int64_t *out)
{
	const char *text = http_query(request, name);
	char *end;

	*out = -1;
	if (!text)
		return true;
	errno = 0;
	*out = strtoll(text, &end, 10);
	if (errno || end == text || *end)
		http_reply_text(request, 400,
				arena_printf(&request->arena,
					     "Failed to parse %s: Failed to convert '%s' to "
					     "number.\n",
					     name, text));
	else if (*out < -1)
		http_reply_text(request, 400,
				arena_printf(&request->arena, "%s provided: %lld.\n", negative,
					     (long long)*out));
	else
		return true;
	return false;
}

void files_browse(void *context, struct http_request *request)
{
	const struct operator_call c = {.shell = context, .request = request};

	begin(&c, FILES_BROWSE, http_query(request, "path"), 0, 0);
}

void files_read(void *context, struct http_request *request)
{
	const struct operator_call c = {.shell = context, .request = request};
	const char *path = http_query(request, "path");
	int64_t offset = 0, length = 0;

	/* A path that is missing is told first, whatever else is wrong. */
	if (path && *path &&
	    (!parse_number(request, "offset", "Negative offset", &offset) ||
	     !parse_number(request, "length", "Negative length", &length)))
		return;
	begin(&c, FILES_READ, path, offset, length);
}

void files_download(void *context, struct http_request *request)
{
	const struct operator_call c = {.shell = context, .request = request};

	begin(&c, FILES_DOWNLOAD, http_query(request, "path"), 0, -1);
}

void files_debug(void *context, struct http_request *request)
{
	const struct shell *shell = context;
	struct buf body = BUF_INIT;
	struct json_writer w;

	if (!shell_allows(shell, request, ACL_GET_ENDPOINT, "/files/debug"))
		return;
	jw_init(&w, &body);
	jw_begin_object(&w);
	if (shell->log_file)
		jw_kv_string(&w, LOG_PATH, shell->log_file);
	jw_end_object(&w);
	router_reply_json(request, &body);
	buf_free(&body);
}

void files_list_call(const struct operator_call *c)
{
	begin(c, FILES_LIST_CALL, c->call->list_files->path, 0, 0);
}

void files_read_call(const struct operator_call *c)
{
	const Mesos__Master__Call__ReadFile *read = c->call->read_file;

	begin(c, FILES_READ_CALL, read->path,
	      read->offset > INT64_MAX ? INT64_MAX : (int64_t)read->offset,
	      !read->has_length || read->length > INT64_MAX ? -1 : (int64_t)read->length);
}

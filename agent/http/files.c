/* /files/browse, /files/read, /files/download: sandboxes and the agent's log.
 *
 * Which paths are sandboxes the core knows. All that touches the disk happens on a thread of
 * the pool for slow work: a task may have made its sandbox slow to look at. Reads are at most
 * 64 KiB; a download is read in parts, as fast as its client takes them. */
#include "agent/http/files.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/core/show.h"
#include "agent/http/api_operator.h"
#include "agent/shell.h"
#include "base/time/clock.h"
#include "net/daemon/audit.h"
#include "net/daemon/media.h"
#include "net/http_parts.h"

#define READ_MAX 65536 /* 16 pages, as in Mesos */
/* Of a download; what a client that does not read makes us hold, once or twice. */
#define DOWNLOAD_PART (128 * 1024)
#define LOG_PATH "/slave/log"
#define TEXT "text/plain; charset=utf-8"

/* The last two are calls of the operator API. */
enum files_kind { FILES_BROWSE, FILES_READ, FILES_DOWNLOAD, FILES_LIST_CALL, FILES_READ_CALL };

/* A request, answered on the loop with what the thread found. */
struct files_job {
	struct slow_job slow;
	struct agent_shell *shell;
	struct http_request *request;
	enum files_kind kind;
	struct files_place place;
	char *real;	 /* heap; NULL: the log */
	const char *log; /* path of the agent's log, or NULL */
	int64_t offset, length;

	int fd;
	struct stat info;
	int status;
	const char *text; /* of an error, in the request's arena; NULL: `body` is the answer */
	struct buf body;
	Mesos__Agent__Response *response; /* of calls, in the request's arena */
};

/* ---- on a thread of the pool ------------------------------------------------- */

static void files_say(struct files_job *job, int status, const char *text)
{
	job->status = status;
	job->text = text;
}

static void fail_read(struct files_job *job, int error)
{
	files_say(job, 500,
		  arena_printf(&job->request->arena, "Failed to read '%s': %s", job->place.path,
			       strerror(error)));
}

/* False: said why. */
static bool open_wanted(struct files_job *job)
{
	if (job->log)
		job->fd = open(job->log, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	else
		job->fd = files_open_in_sandbox(job->place.work_dir, job->real);
	if (job->fd == ERR_INVALID) {
		files_say(job, 400,
			  arena_printf(&job->request->arena, "'%s' is inaccessible.\n",
				       job->place.path));
		return false;
	}
	if (job->fd >= 0 && !fstat(job->fd, &job->info) &&
	    (S_ISREG(job->info.st_mode) || S_ISDIR(job->info.st_mode)))
		return true;
	files_say(job, 404, "");
	return false;
}

static void list_dir(struct files_job *job,
		     void (*each)(void *context, const struct files_entry *entry), void *context)
{
	DIR *dir = S_ISDIR(job->info.st_mode) ? fdopendir(job->fd) : NULL;

	if (!dir)
		return;
	job->fd = -1; /* the directory's now */
	files_list(&job->place, dir, each, context);
	closedir(dir);
}

static void write_entry(void *context, const struct files_entry *entry)
{
	struct json_writer *w = context;
	char mode[11];

	files_format_mode(entry->info->st_mode, mode);
	jw_begin_object(w);
	jw_kv_string(w, "gid", entry->group);
	jw_kv_string(w, "mode", mode);
	jw_kv_double(w, "mtime", (double)entry->info->st_mtime);
	jw_kv_int(w, "nlink", (int64_t)entry->info->st_nlink);
	jw_kv_string(w, "path", entry->path);
	jw_kv_int(w, "size", entry->info->st_size);
	jw_kv_string(w, "uid", entry->user);
	jw_end_object(w);
}

static void browse(struct files_job *job)
{
	struct json_writer w;

	jw_init(&w, &job->body);
	jw_begin_array(&w);
	list_dir(job, write_entry, &w);
	jw_end_array(&w);
}

#define NEW(job, Type, descriptor) PROTO_NEW(&(job)->request->arena, Mesos__##Type, descriptor)

static void push_entry(void *context, const struct files_entry *entry)
{
	struct files_job *job = context;
	struct arena *arena = &job->request->arena;
	Mesos__Agent__Response__ListFiles *list = job->response->list_files;
	Mesos__FileInfo *info = NEW(job, FileInfo, mesos__file_info__descriptor);

	info->path = arena_strdup(arena, entry->path);
	info->has_nlink = info->has_size = info->has_mode = true;
	info->nlink = (int32_t)entry->info->st_nlink;
	info->size = (uint64_t)entry->info->st_size;
	info->mtime = NEW(job, TimeInfo, mesos__time_info__descriptor);
	info->mtime->nanoseconds = (int64_t)entry->info->st_mtime * SECOND;
	info->mode = entry->info->st_mode;
	info->uid = arena_strdup(arena, entry->user);
	info->gid = arena_strdup(arena, entry->group);
	proto_push(arena, list->n_file_infos, list->file_infos, info);
}

static void list_for_call(struct files_job *job)
{
	job->response->list_files = NEW(job, Agent__Response__ListFiles,
					mesos__agent__response__list_files__descriptor);
	list_dir(job, push_entry, job);
}

static ssize_t read_part(const struct files_job *job, char *data)
{
	int64_t length = job->length, offset = job->offset;
	size_t wanted = length < 0 || length > READ_MAX ? READ_MAX : (size_t)length, done = 0;
	ssize_t got = 0;
	int fd = job->fd;

	/* The kernel takes no offset near the end of its numbers. */
	if (offset >= job->info.st_size)
		return 0;

	while (done < wanted &&
	       (got = pread(fd, data + done, wanted - done, offset + (int64_t)done)) > 0)
		done += (size_t)got;
	return got < 0 ? -1 : (ssize_t)done;
}

static void read_some(struct files_job *job)
{
	struct json_writer w;
	char *data = NULL;
	ssize_t got = 0;

	if (S_ISDIR(job->info.st_mode)) {
		files_say(job, 400, "Cannot read a directory.\n");
		return;
	}
	if (job->offset >= 0) {
		data = xmalloc(READ_MAX);
		got = read_part(job, data);
	}
	if (got < 0) {
		fail_read(job, errno);
	} else {
		jw_init(&w, &job->body);
		jw_begin_object(&w);
		jw_key(&w, "data");
		jw_string_n(&w, data ? data : "", (size_t)got);
		jw_kv_int(&w, "offset", job->offset < 0 ? job->info.st_size : job->offset);
		jw_end_object(&w);
	}
	free(data);
}

static void read_for_call(struct files_job *job)
{
	Mesos__Agent__Response__ReadFile *read =
		NEW(job, Agent__Response__ReadFile, mesos__agent__response__read_file__descriptor);
	ssize_t got;

	if (S_ISDIR(job->info.st_mode)) {
		files_say(job, 400, "Cannot read a directory.\n");
		return;
	}
	read->data.data = arena_alloc(&job->request->arena, READ_MAX);
	got = read_part(job, (char *)read->data.data);
	if (got < 0) {
		fail_read(job, errno);
		return;
	}
	read->data.len = (size_t)got;
	read->size = (uint64_t)job->info.st_size;
	job->response->read_file = read;
}

/* Its parts are read as the client takes them. */
static void look_whole(struct files_job *job)
{
	if (S_ISDIR(job->info.st_mode))
		files_say(job, 400, "Cannot download a directory.\n");
}

static void files_work(struct slow_job *slow)
{
	static void (*const kinds[])(struct files_job *) = {browse, read_some, look_whole,
							    list_for_call, read_for_call};
	struct files_job *job = container_of(slow, struct files_job, slow);

	if (open_wanted(job))
		kinds[job->kind](job);
}

/* ---- answers ------------------------------------------------------------------- */

/* The last component, without what would break out of a header. */
static const char *base_name(struct arena *arena, const char *path)
{
	char *copy = arena_strdup(arena, path), *slash;
	size_t len = strlen(copy);

	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	slash = strrchr(copy, '/');
	for (char *c = copy; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '_';
	return slash ? slash + 1 : copy;
}

/* ---- downloads ----------------------------------------------------------------- */

/* A file on its way to a client, a part at a time: read on a thread when the client has taken
 * the one before. */
struct download {
	struct slow_job slow;
	struct agent_shell *shell;
	struct http_stream *stream; /* NULL: the client is gone */
	bool reading;
	int fd;
	off_t at, size;
	ssize_t got;
	char part[DOWNLOAD_PART];
};

static void download_free(struct download *d)
{
	close(d->fd);
	free(d);
}

static void download_read(struct slow_job *slow)
{
	struct download *d = container_of(slow, struct download, slow);
	off_t left = d->size - d->at;

	d->got = pread(d->fd, d->part, left < DOWNLOAD_PART ? (size_t)left : DOWNLOAD_PART, d->at);
}

static void download_end(struct download *d)
{
	if (d->stream)
		http_stream_end(d->stream);
	download_free(d);
}

static void download_done(struct slow_job *slow, bool canceled)
{
	struct download *d = container_of(slow, struct download, slow);

	d->reading = false;
	/* A file that shrinks meanwhile, or cannot be read, ends the connection. */
	if (canceled || !d->stream || d->got <= 0) {
		download_end(d);
		return;
	}
	d->at += d->got;
	http_stream_write(d->stream, d->part, (size_t)d->got);
	if (d->at == d->size)
		download_end(d);
}

static void download_drained(void *context, struct http_stream *stream)
{
	struct download *d = context;

	(void)stream;
	d->reading = true;
	d->slow.work = download_read;
	d->slow.done = download_done;
	agent_shell_read_files(d->shell, &d->slow);
}

static void download_closed(void *context, struct http_stream *stream)
{
	struct download *d = context;

	(void)stream;
	d->stream = NULL;
	if (!d->reading)
		download_free(d);
}

static void answer_download(struct files_job *job)
{
	struct http_request *request = job->request;
	const char *name = base_name(&request->arena, job->place.path);
	const char *media = media_of(name);
	const char *headers[] = {"Content-Disposition",
				 arena_printf(&request->arena, "attachment; filename=%s", name),
				 NULL};
	struct download *d;

	if (job->info.st_size == 0) {
		http_reply(request, 200, media, "", 0, headers);
		return;
	}
	d = xcalloc(1, sizeof(*d));
	d->shell = job->shell;
	d->fd = job->fd;
	d->size = job->info.st_size;
	job->fd = -1;
	d->stream = http_body_open(request, media, headers, (uint64_t)d->size, download_drained,
				   download_closed, d);
}

/* ---- requests -------------------------------------------------------------------- */

static void files_done(struct slow_job *slow, bool canceled)
{
	struct files_job *job = container_of(slow, struct files_job, slow);

	if (canceled)
		http_reply_text(job->request, 503, "The agent is ending.\n");
	else if (job->status == 404) /* No text, and yet a type, as in Mesos. */
		http_reply(job->request, 404, TEXT, "", 0, NULL);
	else if (job->text)
		http_reply_text(job->request, job->status, job->text);
	else if (job->kind == FILES_DOWNLOAD)
		answer_download(job);
	else if (job->response)
		agent_api_respond(job->request, job->response);
	else
		router_reply_json(job->request, &job->body);
	if (job->fd >= 0)
		close(job->fd);
	free(job->real);
	buf_free(&job->body);
	free(job);
}

/* A parameter that is a number of at least -1; absent is -1. False: answered. */
static bool files_parse_number(struct http_request *request, const char *name, const char *negative,
			       int64_t *out)
{
	const char *text = http_query(request, name);
	char *end;

	*out = -1;
	if (!text)
		return true;
	errno = 0;
	*out = strtoll(text, &end, 10);
	if (errno || end == text || *end || isspace((unsigned char)*text)) {
		http_reply_text(request, 400,
				arena_printf(&request->arena,
					     "Failed to parse %s: Failed to convert '%s' to "
					     "number.\n",
					     name, text));
		return false;
	}
	if (*out < -1) {
		http_reply_text(request, 400,
				arena_printf(&request->arena, "%s provided: %lld.\n", negative,
					     (long long)*out));
		return false;
	}
	return true;
}

static void files_begin(struct agent_shell *shell, struct http_request *request,
			enum files_kind kind, const char *path, int64_t offset, int64_t length,
			Mesos__Agent__Response *response)
{
	const char *log = shell->log_file;
	struct agent_view view = agent_shell_view(shell, request);
	struct files_job *job;
	char *real = NULL;

	if (!path || !*path) {
		http_reply_text(request, 400, "Expecting 'path=value' in query.\n");
		return;
	}
	log = log && (!strcmp(path, LOG_PATH) || !strcmp(path, "/agent/log")) ? log : NULL;
	if (!log && !agent_resolve_path(shell->steps.core, path, &real)) {
		http_reply(request, 404, TEXT, "", 0, NULL);
		return;
	}
	if (log ? !agent_view_allows(&view, ACL_ACCESS_MESOS_LOG, NULL)
		: !agent_view_opens(&view, path)) {
		audit_change(request, request->path, path, 403);
		http_reply_text(request, 403, NULL);
		free(real);
		return;
	}
	job = xcalloc(1, sizeof(*job));
	job->shell = shell;
	job->request = request;
	job->kind = kind;
	job->response = response;
	job->place = (struct files_place){shell->flags->work_dir, path, real};
	job->real = real;
	job->log = log;
	job->offset = offset;
	job->length = length;
	job->fd = -1;
	job->slow.work = files_work;
	job->slow.done = files_done;
	agent_shell_read_files(shell, &job->slow);
}

static void debug_container(void *context, const struct shown_container *c)
{
	struct json_writer *w = context;
	char *path = xprintf("/frameworks/%s/executors/%s/runs/%s", c->framework_id, c->executor_id,
			     c->container);

	jw_kv_string(w, path, c->directory);
	free(path);
}

void agent_files_debug(void *context, struct http_request *request)
{
	const struct agent_shell *shell = context;
	struct agent_view view = agent_shell_view(shell, request);
	struct buf body = BUF_INIT;
	struct json_writer w;

	if (!agent_shell_allows(shell, request, ACL_GET_ENDPOINT, "/files/debug"))
		return;
	jw_init(&w, &body);
	jw_begin_object(&w);
	if (shell->log_file)
		jw_kv_string(&w, LOG_PATH, shell->log_file);
	agent_show_each_container(&view, debug_container, &w);
	jw_end_object(&w);
	router_reply_json(request, &body);
	buf_free(&body);
}

void agent_files_browse(void *context, struct http_request *request)
{
	files_begin(context, request, FILES_BROWSE, http_query(request, "path"), 0, 0, NULL);
}

void agent_files_read(void *context, struct http_request *request)
{
	const char *path = http_query(request, "path");
	int64_t offset = 0, length = 0;

	/* A path that is missing is told first, whatever else is wrong. */
	if (path && *path &&
	    (!files_parse_number(request, "offset", "Negative offset", &offset) ||
	     !files_parse_number(request, "length", "Negative length", &length)))
		return;
	files_begin(context, request, FILES_READ, path, offset, length, NULL);
}

void agent_files_list_call(struct agent_shell *shell, struct http_request *request,
			   const char *path, Mesos__Agent__Response *response)
{
	files_begin(shell, request, FILES_LIST_CALL, path, 0, 0, response);
}

void agent_files_read_call(struct agent_shell *shell, struct http_request *request,
			   const char *path, uint64_t offset, uint64_t length,
			   Mesos__Agent__Response *response)
{
	files_begin(shell, request, FILES_READ_CALL, path,
		    offset > INT64_MAX ? INT64_MAX : (int64_t)offset,
		    length > READ_MAX ? READ_MAX : (int64_t)length, response);
}

void agent_files_download(void *context, struct http_request *request)
{
	files_begin(context, request, FILES_DOWNLOAD, http_query(request, "path"), 0, 0, NULL);
}

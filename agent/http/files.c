/* /files/browse, /files/read, /files/download: sandboxes and the agent's log.
 *
 * Which paths are sandboxes the core knows. Links inside a sandbox are a task's own
 * work and may point anywhere: the canonical path must be inside of the sandbox, and it
 * is opened without following any link, so that nothing changes between the check and
 * the opening.
 *
 * Reads are at most 64 KiB. A download is read whole on a thread of libuv's pool. */
#include "agent/http/files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/shell.h"

#define READ_MAX 65536 /* 16 pages, as in Mesos */
/* Larger files are read in parts with /files/read. */
#define DOWNLOAD_MAX (64 * 1024 * 1024)
/* Entries of one listing: the loop must not be held up by a directory of millions. */
#define ENTRIES_MAX 20000
#define LOG_PATH "/slave/log"
#define COMPONENT_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define LAST_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC)

/* ---- opening ------------------------------------------------------------- */

/* Length of the part of `path` that is the sandbox: eight components below work_dir. */
static size_t sandbox_length(const char *work_dir, const char *path)
{
	size_t at = strlen(work_dir);

	for (int i = 0; i < 8; i++) {
		while (path[at] == '/')
			at++;
		if (!path[at])
			return 0;
		at += strcspn(path + at, "/");
	}
	return at;
}

/* Component by component: a task may put links in place at any moment, and openat2() is
 * not everywhere. -1: not there, or a link or ".." is in the way. */
static int open_below(const char *root, const char *below)
{
	int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), dir;
	char name[NAME_MAX + 1];
	bool last = false;

	while (fd >= 0 && !last) {
		size_t len = strcspn(below, "/");

		dir = fd;
		last = !below[len];
		if (len > NAME_MAX || (len == 2 && !memcmp(below, "..", 2))) {
			fd = -1;
			errno = EXDEV;
		} else {
			snprintf(name, sizeof(name), "%.*s", len ? (int)len : 1, len ? below : ".");
			fd = openat(dir, name, last ? LAST_FLAGS : COMPONENT_FLAGS);
		}
		close(dir);
		below += len + !last;
	}
	return fd;
}

int files_open_in_sandbox(const char *work_dir, const char *path)
{
	size_t len = sandbox_length(work_dir, path);
	char *sandbox, *root, *real;
	int fd;

	if (!len)
		return ERR_NOT_FOUND;
	sandbox = xstrndup(path, len);
	fd = open_below(sandbox, path + len + (path[len] == '/'));
	if (fd >= 0) {
		/* No link on the way, as mostly. */
		free(sandbox);
		return fd;
	}
	root = realpath(sandbox, NULL);
	real = realpath(path, NULL);
	free(sandbox);
	fd = ERR_NOT_FOUND;
	if (root && real) {
		len = strlen(root);
		if (strncmp(real, root, len) || (real[len] && real[len] != '/')) {
			fd = ERR_INVALID;
		} else {
			fd = open_below(root, real + len + (real[len] == '/'));
			if (fd < 0)
				fd = errno == ELOOP || errno == EXDEV ? ERR_INVALID : ERR_NOT_FOUND;
		}
	}
	free(root);
	free(real);
	return fd;
}

static int open_path(const struct agent_shell *shell, const char *path)
{
	const char *log = shell->flags->external_log_file;
	char *real;
	int fd;

	if (log && !strcmp(path, LOG_PATH)) {
		fd = open(log, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		return fd < 0 ? ERR_NOT_FOUND : fd;
	}
	if (!agent_resolve_path(shell->core, path, &real))
		return ERR_NOT_FOUND;
	fd = files_open_in_sandbox(shell->flags->work_dir, real);
	free(real);
	return fd;
}

/* Opens what the query names; on failure the request is answered and -1 returned. */
static int open_wanted(const struct agent_shell *shell, struct http_request *request,
		       const char **path, struct stat *info)
{
	int fd;

	*path = http_query(request, "path");
	if (!*path || !**path) {
		http_reply_text(request, 400, "Expecting 'path=value' in query.\n");
		return -1;
	}
	fd = open_path(shell, *path);
	if (fd == ERR_INVALID) {
		http_reply_text(request, 400,
				arena_printf(&request->arena, "'%s' is inaccessible.\n", *path));
		return -1;
	}
	if (fd >= 0 && (fstat(fd, info) || !(S_ISREG(info->st_mode) || S_ISDIR(info->st_mode)))) {
		close(fd);
		fd = -1;
	}
	if (fd < 0) {
		/* No text, and yet a type, as in Mesos. */
		http_reply(request, 404, "text/plain; charset=utf-8", "", 0, NULL);
		return -1;
	}
	return fd;
}

/* ---- browse -------------------------------------------------------------- */

/* The last names looked up: files of a sandbox mostly have one owner. */
struct names {
	bool has_user, has_group;
	uid_t uid;
	gid_t gid;
	char user[256];
	char group[256];
};

static const char *user_name(struct names *names, uid_t uid)
{
	char data[4096];
	struct passwd record, *found = NULL;

	if (names->has_user && names->uid == uid)
		return names->user;
	if (!getpwuid_r(uid, &record, data, sizeof(data), &found) && found)
		snprintf(names->user, sizeof(names->user), "%s", record.pw_name);
	else
		snprintf(names->user, sizeof(names->user), "%u", (unsigned)uid);
	names->has_user = true;
	names->uid = uid;
	return names->user;
}

static const char *group_name(struct names *names, gid_t gid)
{
	char data[16384];
	struct group record, *found = NULL;

	if (names->has_group && names->gid == gid)
		return names->group;
	if (!getgrgid_r(gid, &record, data, sizeof(data), &found) && found)
		snprintf(names->group, sizeof(names->group), "%s", record.gr_name);
	else
		snprintf(names->group, sizeof(names->group), "%u", (unsigned)gid);
	names->has_group = true;
	names->gid = gid;
	return names->group;
}

void files_format_mode(unsigned mode, char out[11])
{
	static const char bits[] = "rwxrwxrwx";

	out[0] = S_ISDIR(mode)	  ? 'd'
		 : S_ISLNK(mode)  ? 'l'
		 : S_ISFIFO(mode) ? 'p'
		 : S_ISSOCK(mode) ? 's'
		 : S_ISCHR(mode)  ? 'c'
		 : S_ISBLK(mode)  ? 'b'
				  : '-';
	for (int i = 0; i < 9; i++)
		out[i + 1] = (char)(mode & (0400u >> i) ? bits[i] : '-');
	if (mode & S_ISUID)
		out[3] = mode & 0100 ? 's' : 'S';
	if (mode & S_ISGID)
		out[6] = mode & 0010 ? 's' : 'S';
	if (mode & S_ISVTX)
		out[9] = mode & 0001 ? 't' : 'T';
	out[10] = '\0';
}

static void write_entry(struct json_writer *w, const char *path, const struct stat *info,
			struct names *names)
{
	char mode[11];

	files_format_mode(info->st_mode, mode);
	jw_begin_object(w);
	jw_kv_string(w, "gid", group_name(names, info->st_gid));
	jw_kv_string(w, "mode", mode);
	jw_kv_double(w, "mtime", (double)info->st_mtime);
	jw_kv_int(w, "nlink", (int64_t)info->st_nlink);
	jw_kv_string(w, "path", path);
	jw_kv_int(w, "size", info->st_size);
	jw_kv_string(w, "uid", user_name(names, info->st_uid));
	jw_end_object(w);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names in the directory, sorted; in the arena. */
static const char **list_names(struct arena *arena, DIR *dir, size_t *count)
{
	const char **names = NULL;
	struct dirent *entry;
	size_t cap = 0;

	*count = 0;
	while (*count < ENTRIES_MAX && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (*count == cap) {
			cap = cap ? 2 * cap : 64;
			names = xrealloc(names, cap * sizeof(*names));
		}
		names[(*count)++] = arena_strdup(arena, entry->d_name);
	}
	if (*count)
		qsort(names, *count, sizeof(*names), compare_names);
	return names;
}

/* What an entry is: of a link that stays in the sandbox, what it leads to, so that
 * browsers can go on to it. */
static bool stat_entry(const struct agent_shell *shell, int dir, const char *name, const char *path,
		       struct stat *info)
{
	int fd = -1;

	if (fstatat(dir, name, info, AT_SYMLINK_NOFOLLOW))
		return false;
	if (S_ISLNK(info->st_mode))
		fd = open_path(shell, path);
	if (fd >= 0) {
		fstat(fd, info);
		close(fd);
	}
	return true;
}

void agent_files_browse(void *context, struct http_request *request)
{
	struct names names = {0};
	struct buf body = BUF_INIT;
	struct json_writer w;
	struct stat info;
	const char *path, **entries = NULL;
	size_t count = 0, len;
	int fd = open_wanted(context, request, &path, &info);
	DIR *dir;

	if (fd < 0)
		return;
	dir = S_ISDIR(info.st_mode) ? fdopendir(fd) : NULL;
	if (dir)
		entries = list_names(&request->arena, dir, &count);
	for (len = strlen(path); len > 1 && path[len - 1] == '/';)
		len--;
	jw_init(&w, &body);
	jw_begin_array(&w);
	for (size_t i = 0; i < count; i++) {
		const char *full =
			arena_printf(&request->arena, "%.*s/%s", (int)len, path, entries[i]);

		if (stat_entry(context, fd, entries[i], full, &info))
			write_entry(&w, full, &info, &names);
	}
	jw_end_array(&w);
	if (dir)
		closedir(dir);
	else
		close(fd);
	router_reply_json(request, &body);
	free(entries);
	buf_free(&body);
}

/* ---- read ---------------------------------------------------------------- */

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

static ssize_t read_part(int fd, char *data, int64_t offset, int64_t length)
{
	size_t wanted = length < 0 || length > READ_MAX ? READ_MAX : (size_t)length, done = 0;
	ssize_t got = 0;

	while (done < wanted &&
	       (got = pread(fd, data + done, wanted - done, offset + (int64_t)done)) > 0)
		done += (size_t)got;
	return got < 0 ? -1 : (ssize_t)done;
}

static void reply_part(struct http_request *request, int64_t offset, const char *data, size_t len)
{
	struct buf body = BUF_INIT;
	struct json_writer w;

	jw_init(&w, &body);
	jw_begin_object(&w);
	jw_key(&w, "data");
	jw_string_n(&w, data, len);
	jw_kv_int(&w, "offset", offset);
	jw_end_object(&w);
	router_reply_json(request, &body);
	buf_free(&body);
}

void agent_files_read(void *context, struct http_request *request)
{
	int64_t offset, length;
	const char *path = http_query(request, "path");
	struct stat info;
	char *data;
	ssize_t got;
	int fd;

	/* Told first, whatever else is wrong. */
	if (!path || !*path) {
		http_reply_text(request, 400, "Expecting 'path=value' in query.\n");
		return;
	}
	if (!parse_number(request, "offset", "Negative offset", &offset) ||
	    !parse_number(request, "length", "Negative length", &length))
		return;
	fd = open_wanted(context, request, &path, &info);
	if (fd < 0)
		return;
	if (S_ISDIR(info.st_mode)) {
		http_reply_text(request, 400, "Cannot read a directory.\n");
	} else if (offset < 0) {
		reply_part(request, info.st_size, "", 0);
	} else {
		data = xmalloc(READ_MAX);
		got = read_part(fd, data, offset, length);
		if (got < 0)
			http_reply_text(request, 500,
					arena_printf(&request->arena, "Failed to read '%s': %s",
						     path, strerror(errno)));
		else
			reply_part(request, offset, data, (size_t)got);
		free(data);
	}
	close(fd);
}

/* ---- download ------------------------------------------------------------ */

struct download {
	uv_work_t work;
	struct http_request *request;
	const char *name; /* in the request's arena */
	int fd;
	int error;
	struct buf body;
};

static const char *media_of(const char *name)
{
	static const struct {
		const char *extension;
		const char *media;
	} known[] = {
		{".css", "text/css"},	       {".csv", "text/csv"},
		{".gif", "image/gif"},	       {".htm", "text/html"},
		{".html", "text/html"},	       {".jpeg", "image/jpeg"},
		{".jpg", "image/jpeg"},	       {".js", "application/x-javascript"},
		{".json", "application/json"}, {".pdf", "application/pdf"},
		{".png", "image/png"},	       {".svg", "image/svg+xml"},
		{".tar", "application/x-tar"}, {".txt", "text/plain"},
		{".xml", "text/xml"},	       {".zip", "application/zip"},
	};
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < sizeof(known) / sizeof(*known); i++)
		if (!strcasecmp(dot, known[i].extension))
			return known[i].media;
	return "application/octet-stream";
}

/* On a thread of the pool. */
static void download_work(uv_work_t *work)
{
	struct download *download = work->data;
	ssize_t got = 1;

	while (got > 0 && download->body.len <= DOWNLOAD_MAX) {
		buf_reserve(&download->body, READ_MAX);
		got = read(download->fd, download->body.data + download->body.len, READ_MAX);
		if (got > 0)
			download->body.len += (size_t)got;
	}
	download->error = got < 0 ? errno : download->body.len > DOWNLOAD_MAX ? EFBIG : 0;
}

static void download_done(uv_work_t *work, int status)
{
	struct download *download = work->data;
	struct http_request *request = download->request;
	const char *headers[] = {"Content-Disposition", NULL, NULL};

	if (status || download->error) {
		http_reply_text(request, 500,
				arena_printf(&request->arena, "Failed to read '%s': %s",
					     download->name, strerror(download->error)));
	} else {
		headers[1] =
			arena_printf(&request->arena, "attachment; filename=%s", download->name);
		http_reply(request, 200, media_of(download->name),
			   download->body.data ? download->body.data : "", download->body.len,
			   headers);
	}
	close(download->fd);
	buf_free(&download->body);
	free(download);
}

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

void agent_files_download(void *context, struct http_request *request)
{
	struct agent_shell *shell = context;
	struct download *download;
	struct stat info;
	const char *path;
	int fd = open_wanted(shell, request, &path, &info);

	if (fd < 0)
		return;
	if (S_ISDIR(info.st_mode) || info.st_size > DOWNLOAD_MAX) {
		close(fd);
		if (S_ISDIR(info.st_mode))
			http_reply_text(request, 400, "Cannot download a directory.\n");
		else
			http_reply_text(
				request, 413,
				"The file is too large to be downloaded at once: read it in "
				"parts with /files/read.\n");
		return;
	}
	download = xcalloc(1, sizeof(*download));
	download->work.data = download;
	download->request = request;
	download->name = base_name(&request->arena, path);
	download->fd = fd;
	uv_queue_work(&shell->loop, &download->work, download_work, download_done);
}

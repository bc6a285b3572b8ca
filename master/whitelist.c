/* --whitelist=FILE: the hosts whose agents may be offered, one a line.
 *
 * The file is read every 5 s by libuv's threads, never by the loop's own. What it says is
 * handed to the core when it changed. A file that cannot be read leaves things as they
 * were; until it could be read for the first time no agent is offered, for a list that was
 * asked for and is not there must not let everybody in.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/time/clock.h"
#include "master/shell.h"

#define PERIOD 5000 /* ms */
#define CHUNK (64u << 10)
#define SIZE_MAX_BYTES (16u << 20) /* a million hosts; more is not a list of them */

struct whitelist {
	struct shell *shell;
	const char *path;
	uv_timer_t timer;
	uv_fs_t request;
	int fd;
	int status;	  /* of the read under way: what failed, or 0 */
	int last_failure; /* told in the log */
	struct buf next;  /* being read */
	struct buf last;  /* what the core was told */
	char chunk[CHUNK];
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Cuts the text, which is changed, into its lines. */
static size_t cut_lines(char *text, const char **lines)
{
	char *save = NULL;
	size_t count = 0;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		size_t len;

		while (is_blank(*line))
			line++;
		for (len = strlen(line); len && is_blank(line[len - 1]); len--)
			line[len - 1] = '\0';
		if (*line)
			lines[count++] = line;
	}
	return count;
}

static size_t count_lines(const struct buf *text)
{
	size_t count = 1;

	for (size_t i = 0; i < text->len; i++)
		count += text->data[i] == '\n';
	return count;
}

static void tell_core(struct whitelist *w)
{
	struct master_event event = {.type = MASTER_WHITELIST};
	const char **lines = xcalloc(count_lines(&w->last), sizeof(*lines));
	char *text = xstrndup(w->last.data ? w->last.data : "", w->last.len);

	event.whitelist.hostnames = lines;
	event.whitelist.count = cut_lines(text, lines);
	log_info("--whitelist: agents of %zu hosts may be offered", event.whitelist.count);
	shell_step(w->shell, &event);
	free(text);
	free(lines);
}

static void whitelist_poll_cb(uv_timer_t *timer);

static void finished(struct whitelist *w)
{
	bool same = w->next.len == w->last.len &&
		    (!w->next.len || !memcmp(w->next.data, w->last.data, w->next.len));

	if (w->shell->steps.over)
		return;
	if (w->status && w->status != w->last_failure)
		log_error("cannot read --whitelist=%s, it stays as it was: %s", w->path,
			  uv_strerror(w->status));
	w->last_failure = w->status;
	if (!w->status && !same) {
		struct buf swap = w->last;

		w->last = w->next;
		w->next = swap;
		tell_core(w);
	}
	uv_timer_start(&w->timer, whitelist_poll_cb, PERIOD, 0);
}

static void whitelist_closed_cb(uv_fs_t *request)
{
	uv_fs_req_cleanup(request);
	finished(request->data);
}

static void whitelist_read_cb(uv_fs_t *request);

static void read_more(struct whitelist *w)
{
	uv_buf_t chunk = uv_buf_init(w->chunk, sizeof(w->chunk));

	uv_fs_read(&w->shell->loop, &w->request, w->fd, &chunk, 1, -1, whitelist_read_cb);
}

static void whitelist_read_cb(uv_fs_t *request)
{
	struct whitelist *w = request->data;
	ssize_t len = request->result;

	uv_fs_req_cleanup(request);
	if (len > 0 && w->next.len + (size_t)len <= SIZE_MAX_BYTES && !w->shell->steps.over) {
		buf_append(&w->next, w->chunk, (size_t)len);
		read_more(w);
		return;
	}
	w->status = len > 0 ? UV_EFBIG : (int)len;
	uv_fs_close(&w->shell->loop, request, w->fd, whitelist_closed_cb);
}

static void whitelist_opened_cb(uv_fs_t *request)
{
	struct whitelist *w = request->data;

	w->fd = (int)request->result;
	uv_fs_req_cleanup(request);
	if (w->fd < 0) {
		w->status = w->fd;
		finished(w);
		return;
	}
	read_more(w);
}

static void whitelist_poll_cb(uv_timer_t *timer)
{
	struct whitelist *w = timer->data;

	w->status = 0;
	buf_clear(&w->next);
	/* Not blocking: a pipe would hold a thread for ever. */
	uv_fs_open(&w->shell->loop, &w->request, w->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0,
		   whitelist_opened_cb);
}

void whitelist_start(struct shell *shell)
{
	const char *path = shell->flags->whitelist;
	struct whitelist *w;

	/* "*" is how old configurations say that there is none. */
	if (!path || !strcmp(path, "*"))
		return;
	w = shell->whitelist = xcalloc(1, sizeof(*w));
	w->shell = shell;
	w->path = path;
	w->request.data = w;
	uv_timer_init(&shell->loop, &w->timer);
	w->timer.data = w;
	tell_core(w);
	whitelist_poll_cb(&w->timer);
}

void whitelist_stop(struct shell *shell)
{
	if (shell->whitelist)
		uv_close((uv_handle_t *)&shell->whitelist->timer, NULL);
}

void whitelist_free(struct shell *shell)
{
	if (!shell->whitelist)
		return;
	buf_free(&shell->whitelist->next);
	buf_free(&shell->whitelist->last);
	free(shell->whitelist);
	shell->whitelist = NULL;
}

/* Files of --webui_dir, read on a thread of libuv's pool. They are the operator's own and few: each
 * is read whole, up to a bound. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "master/http/page/page.h"
#include "net/daemon/media.h"

#define FILE_MAX ((off_t)16 << 20)

struct page_job {
	uv_work_t work;
	struct http_request *request;
	const char *path; /* in the request's arena */
	int status;
	char *data;
	size_t len;
};

/* Names below the folder, none of which leads up. */
static bool is_below(const char *name)
{
	while (*name) {
		size_t len = strcspn(name, "/");

		if (len == 0 || (len <= 2 && strspn(name, ".") >= len))
			return false;
		name += len;
		name += *name == '/';
	}
	return true;
}

static void read_page(uv_work_t *work)
{
	struct page_job *job = work->data;
	int fd = open(job->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat info;
	ssize_t got = 0;

	job->status = 404;
	if (fd >= 0 && !fstat(fd, &info) && S_ISREG(info.st_mode) && info.st_size <= FILE_MAX) {
		job->data = xmalloc((size_t)info.st_size + 1);
		while (job->len < (size_t)info.st_size &&
		       (got = read(fd, job->data + job->len, (size_t)info.st_size - job->len)) > 0)
			job->len += (size_t)got;
		job->status = got < 0 ? 500 : 200;
	}
	if (fd >= 0)
		close(fd);
}

static void page_read(uv_work_t *work, int status)
{
	struct page_job *job = work->data;

	if (status == UV_ECANCELED)
		http_reply_text(job->request, 503, NULL);
	else if (job->status != 200)
		http_reply_text(job->request, job->status, NULL);
	else
		http_reply(job->request, 200, media_of(job->path), job->data, job->len, NULL);
	free(job->data);
	free(job);
}

void page_send_file(struct shell *shell, struct http_request *request, const char *name)
{
	struct page_job *job;

	if (!is_below(name)) {
		http_reply_text(request, 404, NULL);
		return;
	}
	job = xcalloc(1, sizeof(*job));
	job->work.data = job;
	job->request = request;
	job->path = arena_printf(&request->arena, "%s/%s", shell->flags->webui_dir, name);
	uv_queue_work(&shell->loop, &job->work, read_page, page_read);
}

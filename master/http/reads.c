/* Answers to reads, made at once or in a child process by how much there is to look at. */
#include "master/http/rest.h"

size_t read_framework_tasks(const struct framework *f)
{
	return HASH_COUNT(f->tasks) + f->unreachable_count + f->completed_task_count;
}

size_t read_all_tasks(const struct master *m)
{
	size_t count = 0;

	for (const struct framework *f = m->frameworks; f; f = f->hh.next)
		count += read_framework_tasks(f);
	for (const struct framework *f = m->completed; f; f = f->hh.next)
		count += read_framework_tasks(f);
	return count;
}

static void render_rest(const struct offload_read *read, struct buf *body,
			const char **content_type)
{
	const struct rest_read *what = read->what;
	const char *function = router_jsonp(read->request);
	struct json_writer w;

	if (function) {
		*content_type = ROUTER_JSONP;
		buf_printf(body, "%s(", function);
	}
	jw_init(&w, body);
	jw_begin_object(&w);
	what->write(read->context, read->request, &w);
	jw_end_object(&w);
	if (function)
		buf_putc(body, ')');
}

void read_any(struct shell *shell, const struct offload_read *read, size_t objects)
{
	if (objects <= READ_INLINE)
		offload_inline(read);
	else
		offload_submit(shell->offload, read);
}

void read_rest(struct shell *shell, struct http_request *request, const struct rest_read *what,
	       size_t objects)
{
	struct offload_read read = {
		.request = request,
		.render = render_rest,
		.context = shell,
		.what = what,
		.content_type = http_media_name(HTTP_MEDIA_JSON),
	};

	read_any(shell, &read, objects);
}

/* Answers to reads, made at once or in a child process by how much there is to look at. */
#include "master/http/rest/rest.h"

static void render_rest(const struct offload_read *read, struct buf *body,
			const char **content_type)
{
	const struct rest_read *what = read->what;
	struct view view = shell_view(read->context, read->request);
	struct json_writer w;

	router_begin_json(read->request, body, content_type);
	jw_init(&w, body);
	if (!what->whole)
		jw_begin_object(&w);
	what->write(read->context, &view, read->request, &w);
	if (!what->whole)
		jw_end_object(&w);
	router_end_json(read->request, body);
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

/* See sandbox_file.h. */
#include "cli/job/sandbox_file.h"
#include "net/http.h"

#include "cli/cli.h"

void sandbox_file_path(struct buf *path, const char *framework, const char *executor,
		       const char *file, size_t offset)
{
	buf_printf(path, "/files/read?offset=%zu&path=", offset);
	buf_puts(path, "/frameworks/");
	http_encode(path, framework);
	buf_puts(path, "/executors/");
	http_encode(path, executor);
	buf_puts(path, "/runs/latest/");
	http_encode(path, file);
}

int sandbox_file_data(const char *body, size_t len, struct buf *out, struct err *err)
{
	struct arena arena;
	struct json *json;
	const struct json *data = NULL;
	int rv;

	arena_init(&arena);
	rv = json_parse(&arena, body, len, &json, err);
	if (rv == 0)
		data = json_get(json, "data");
	if (data && data->type == JSON_STRING)
		buf_append(out, data->text.data, data->text.len);
	else if (rv == 0)
		rv = err_set(err, ERR_INVALID, "the agent's answer has no data");
	arena_free(&arena);
	return rv;
}

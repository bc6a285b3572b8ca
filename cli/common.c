/* What the subcommands share; see cli.h. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "client/address.h"
#include "net/client.h"

#define HTTP_TIMEOUT_MS 30000 /* of one exchange: a master that hangs is reported */

extern char **environ;

int cli_flags(struct flags *flags, const struct flag *table, size_t count, void *target,
	      const char *usage, int argc, char **argv, int *status)
{
	struct buf text = BUF_INIT;
	struct err err = {{0}};
	int rv;

	memset(flags, 0, sizeof(*flags));
	flags->table = xmemdup(table, count * sizeof(*table));
	flags->target = target;
	flags->usage = usage;
	rv = flags_parse(flags, argc, argv, environ, &text, &err);
	if (text.len)
		fputs(text.data, stderr);
	buf_clear(&text);
	*status = rv < 0 ? 1 : 0;
	if (rv < 0)
		fprintf(stderr, "%s\n%s\n", err.text, usage);
	else if (flags->help_wanted) {
		flags_help(flags, &text);
		fputs(text.data, stdout);
	}
	buf_free(&text);
	if (rv < 0 || flags->help_wanted) {
		cli_flags_free(flags);
		return 1;
	}
	return 0;
}

void cli_flags_free(struct flags *flags)
{
	flags_free(flags);
	free(flags->table);
	flags->table = NULL;
}

/* ---- HTTP ---------------------------------------------------------------- */

struct exchange {
	struct http_client *client;
	int status;
	struct buf *body;
	struct err *err;
};

static void answered_cb(void *context, const struct http_answer *answer)
{
	struct exchange *exchange = context;

	exchange->status = answer->status;
	if (answer->status == 0)
		err_set(exchange->err, ERR_IO, "%s", answer->error);
	else
		buf_append(exchange->body, answer->body.data, answer->body.len);
	http_client_close(exchange->client);
}

int cli_http(const char *address, const char *method, const char *path, const char *form,
	     struct buf *body, struct err *err)
{
	static const char *const headers[] = {"Content-Type", "application/x-www-form-urlencoded",
					      NULL};
	struct exchange exchange = {.body = body, .err = err};
	char *host;
	int port;
	uv_loop_t loop;
	int rv = address_parse(address, 5050, &host, &port, err);

	if (rv < 0)
		return rv;
	uv_loop_init(&loop);
	exchange.client = http_client_create(&loop, host, port);
	http_client_send(exchange.client, method, path, form ? headers : NULL, form ? form : "",
			 form ? strlen(form) : 0, HTTP_TIMEOUT_MS, answered_cb, &exchange);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	free(host);
	if (exchange.status == 0)
		return err_wrap(err, ERR_IO, "no answer from %s", address);
	return exchange.status;
}

const struct json *cli_get_json(struct arena *arena, const char *address, const char *path,
				struct err *err)
{
	struct buf body = BUF_INIT;
	struct json *json = NULL;
	int status = cli_http(address, "GET", path, NULL, &body, err);

	if (status > 0 && status != 200)
		err_set(err, ERR_INVALID, "%s answered %d to %s: %s", address, status, path,
			body.data ? body.data : "");
	else if (status == 200 && json_parse(arena, body.data, body.len, &json, err) < 0)
		err_wrap(err, ERR_INVALID, "%s did not answer %s with JSON", address, path);
	buf_free(&body);
	return json;
}

void cli_put_encoded(struct buf *out, const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if ((*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
		    (*c >= 'A' && *c <= 'Z') || strchr("-_.~/", *c))
			buf_putc(out, (char)*c);
		else
			buf_printf(out, "%%%02X", *c);
	}
}

char *cli_self_path(void)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (len < 0)
		return xstrdup("mesita");
	path[len] = 0;
	return xstrdup(path);
}

/* ---- tables -------------------------------------------------------------- */

void cli_table_init(struct cli_table *table, size_t columns)
{
	memset(table, 0, sizeof(*table));
	arena_init(&table->arena);
	table->columns = columns;
}

void cli_table_add(struct cli_table *table, const char *cell)
{
	char *copy = arena_strdup(&table->arena, cell ? cell : "");

	for (char *c = copy; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	if (table->count == table->cap) {
		table->cap = table->cap ? 2 * table->cap : 64;
		table->cells = xrealloc(table->cells, table->cap * sizeof(*table->cells));
	}
	table->cells[table->count++] = copy;
}

void cli_table_print(struct cli_table *table)
{
	size_t widths[16] = {0};

	for (size_t i = 0; i < table->count; i++) {
		size_t len = strlen(table->cells[i]), column = i % table->columns;

		if (column < 16 && len > widths[column])
			widths[column] = len;
	}
	for (size_t i = 0; i < table->count; i++) {
		size_t column = i % table->columns;

		if (column + 1 == table->columns)
			printf("%s\n", table->cells[i]);
		else
			printf("%-*s  ", (int)widths[column], table->cells[i]);
	}
	free(table->cells);
	arena_free(&table->arena);
}

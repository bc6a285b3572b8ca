/* What the subcommands share; see cli.h. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "client/address.h"
#include "client/credential.h"
#include "net/client.h"
#include "net/tls/tls.h"
#include "proto/proto.h"
#include "proto/states.h"

#define HTTP_TIMEOUT_MS 30000 /* of one exchange: a master that hangs is reported */
#define REDIRECTS_MAX 3

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
		fprintf(stderr, "%s\n%s\n(--help lists all flags)\n", err.text, usage);
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

int cli_no_arguments(const struct flags *flags, const char *command)
{
	if (flags->positional_count == 0)
		return 0;
	fprintf(stderr, "mesita %s: what is '%s'? It takes flags only (--help lists them)\n",
		command, flags->positional[0]);
	return ERR_INVALID;
}

/* ---- HTTP ---------------------------------------------------------------- */

struct exchange {
	struct http_client *client;
	int status;
	char *location; /* heap */
	struct buf *body;
	struct err *err;
};

static void common_answered_cb(void *context, const struct http_answer *answer)
{
	struct exchange *exchange = context;

	exchange->status = answer->status;
	if (answer->status == 0)
		err_set(exchange->err, ERR_IO, "%s", answer->error);
	else
		buf_append(exchange->body, answer->body.data, answer->body.len);
	exchange->location = xstrdup(answer->status == 0 ? "" : answer->location);
	http_client_close(exchange->client);
}

/* A command has one principal. */
static char *authorization;

void cli_log_in(const char *principal, const char *secret)
{
	free(authorization);
	authorization = principal && secret ? credential_basic(principal, secret) : NULL;
}

const char *cli_authorization(void)
{
	return authorization;
}

int cli_secure(const char *address, struct err *err)
{
	static bool known;
	struct tls *tls;
	int rv;

	if (known)
		return 0;
	rv = str_has_prefix(address, "https://") ? tls_for_url(&tls, err)
						 : tls_from_environment(false, &tls, err);
	if (rv < 0)
		return rv;
	http_clients_secure(tls);
	known = true;
	return 0;
}

static int exchange_once(struct exchange *exchange, const char *host, int port, const char *method,
			 const char *path, const char *form)
{
	const char *headers[5] = {NULL};
	size_t count = 0;
	uv_loop_t loop;

	if (form) {
		headers[count++] = "Content-Type";
		headers[count++] = "application/x-www-form-urlencoded";
	}
	if (authorization) {
		headers[count++] = "Authorization";
		headers[count++] = authorization;
	}

	uv_loop_init(&loop);
	exchange->client = http_client_create(&loop, host, port);
	http_client_send(exchange->client, method, path, headers, form ? form : "",
			 form ? strlen(form) : 0, HTTP_TIMEOUT_MS, common_answered_cb, exchange);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	return exchange->status;
}

static bool is_redirect(int status)
{
	return status == 302 || status == 307 || status == 308;
}

int cli_http(const char *address, const char *method, const char *path, const char *form,
	     struct buf *body, struct err *err)
{
	struct exchange exchange = {.body = body, .err = err};
	char *target = NULL, *host;
	int port, rv = cli_secure(address, err);

	if (rv == 0)
		rv = cli_find_master(address, &target, err);
	for (int hops = 0; rv == 0 && hops <= REDIRECTS_MAX; hops++) {
		rv = address_parse(target, 5050, &host, &port, err);
		if (rv < 0)
			break;
		buf_clear(body);
		rv = exchange_once(&exchange, host, port, method, path, form);
		free(host);
		free(target);
		target = exchange.location;
		if (!is_redirect(rv))
			break;
		rv = 0;
	}
	free(target);
	if (rv <= 0 || rv == 503)
		cli_forget_master();
	return rv ? rv : ERR_IO;
}

static void unreachable(struct err *err)
{
	struct err why = *err;

	err_set(err, ERR_IO, "cannot reach %.200s (--master=HOST:PORT says where the master is)",
		why.text);
}

const struct json *cli_get_json(struct arena *arena, const char *address, const char *path,
				struct err *err)
{
	struct buf body = BUF_INIT;
	struct json *json = NULL;
	int status = cli_http(address, "GET", path, NULL, &body, err);

	if (status == ERR_IO)
		unreachable(err);
	else if (status == 401)
		err_set(err, ERR_INVALID, "%s asks who calls: --principal and --secret say it",
			address);
	else if (status > 0 && status != 200)
		err_set(err, ERR_INVALID, "%s answered %d to %s: %.200s", address, status, path,
			body.data ? body.data : "");
	else if (status == 200 &&
		 json_parse(arena, body.data ? body.data : "", body.len, &json, err) < 0)
		err_wrap(err, ERR_INVALID, "%s did not answer %s with JSON", address, path);
	buf_free(&body);
	return json;
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

bool cli_state_over(const char *state)
{
	const ProtobufCEnumValue *value =
		protobuf_c_enum_descriptor_get_value_by_name(&mesos__task_state__descriptor, state);

	return !value || task_state_terminal(value->value);
}

/* ---- tables -------------------------------------------------------------- */

/* Of standard output; 0 when it is no terminal. */
static size_t terminal_width(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void cli_table_init(struct cli_table *table, size_t columns)
{
	memset(table, 0, sizeof(*table));
	arena_init(&table->arena);
	table->columns = columns;
	table->width_max = terminal_width();
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

#define COLUMNS_MAX 16
#define LAST_WIDTH_MIN 10 /* the last column is never cut shorter */

/* The bytes of `text` that `width` characters take: continuation bytes of UTF-8 take no
 * room of their own. */
static size_t bytes_of_width(const char *text, size_t width)
{
	size_t at = 0;

	for (; text[at]; at++) {
		if (((unsigned char)text[at] & 0xc0) == 0x80)
			continue;
		if (width-- == 0)
			break;
	}
	return at;
}

static void print_last(const struct cli_table *table, const char *cell, size_t used)
{
	size_t room = table->width_max > used ? table->width_max - used : 0;
	size_t len = strlen(cell);

	if (room < LAST_WIDTH_MIN)
		room = LAST_WIDTH_MIN;
	if (table->width_max)
		len = bytes_of_width(cell, room);
	printf("%.*s\n", (int)len, cell);
}

void cli_table_print(struct cli_table *table)
{
	size_t widths[COLUMNS_MAX] = {0}, used = 0, columns = table->columns;

	for (size_t i = 0; i < table->count; i++) {
		size_t len = strlen(table->cells[i]), column = i % columns;

		if (column < COLUMNS_MAX && len > widths[column])
			widths[column] = len;
	}
	for (size_t i = 0; i + 1 < columns && i < COLUMNS_MAX; i++)
		used += widths[i] + 2;
	for (size_t i = 0; i < table->count; i++) {
		if (i % columns + 1 == columns)
			print_last(table, table->cells[i], used);
		else
			printf("%-*s  ", (int)widths[i % columns], table->cells[i]);
	}
	free(table->cells);
	arena_free(&table->arena);
}

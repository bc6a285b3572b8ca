#include "base/log/log_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/json/json.h"

static const char *const level_names[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
static time_t stamped; /* the second that `stamp` spells */
static bool stamped_json;
static char stamp[32];
static _Thread_local pid_t own_thread; /* 0: not asked for yet */

void log_line_forked(void)
{
	own_thread = 0;
}

static pid_t thread_number(void)
{
	if (!own_thread)
		own_thread = gettid();
	return own_thread;
}

static char *digits(char *at, long value, int width)
{
	for (int i = width; i-- > 0; value /= 10)
		at[i] = (char)('0' + value % 10);
	return at + width;
}

/* The second (local for eyes, UTC for machines) in `stamp`, the rest in `micros`. */
static void read_clock(bool json, char micros[8])
{
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	*digits(micros, now.tv_nsec / 1000, 6) = '\0';
	if (now.tv_sec == stamped && stamp[0] && json == stamped_json)
		return;
	if (json)
		gmtime_r(&now.tv_sec, &tm);
	else
		localtime_r(&now.tv_sec, &tm);
	strftime(stamp, sizeof(stamp), json ? "%Y-%m-%dT%H:%M:%S." : "%m%d %H:%M:%S.", &tm);
	stamped = now.tv_sec;
	stamped_json = json;
}

static const char *base_name(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

/* ---- for eyes --------------------------------------------------------------------------- */

/* The thread's number, as " %5d ". */
static void append_thread(struct buf *line)
{
	char text[NUMBER_TEXT];
	size_t len = str_number(text, (unsigned)thread_number(), 10);

	buf_append(line, "     ", len < 5 ? 6 - len : 1);
	buf_append(line, text, len);
	buf_putc(line, ' ');
}

static void append_head(struct buf *line, const struct log_line *said)
{
	char micros[8];

	read_clock(false, micros);
	buf_putc(line, *level_names[said->level]);
	buf_puts(line, stamp);
	buf_puts(line, micros);
	append_thread(line);
	buf_puts(line, base_name(said->file));
	buf_putc(line, ':');
	buf_number(line, (unsigned)said->number, 10);
	buf_puts(line, "] ");
}

static void append_special(struct buf *line, unsigned char c)
{
	if (c == '\n')
		buf_puts(line, "\\n");
	else if (c == '\t')
		buf_puts(line, "\\t");
	else if (c == '\r')
		buf_puts(line, "\\r");
	else
		buf_printf(line, "\\x%02x", c);
}

static void append_escaped(struct buf *line, const char *text, size_t len)
{
	for (;;) {
		size_t plain = str_printable(text, len);

		buf_append(line, text, plain);
		if (plain == len)
			return;
		append_special(line, (unsigned char)text[plain]);
		text += plain + 1;
		len -= plain + 1;
	}
}

/* In quotes where a reader could not tell its end. */
static void append_field(struct buf *line, const struct log_field *field)
{
	bool quoted = !*field->value || strpbrk(field->value, " \"=");

	buf_printf(line, " %s=", field->name);
	if (quoted)
		buf_putc(line, '"');
	for (const char *text = field->value; *text;) {
		size_t len = strcspn(text, "\"");

		append_escaped(line, text, len);
		text += len;
		if (*text) {
			buf_puts(line, "\\\"");
			text++;
		}
	}
	if (quoted)
		buf_putc(line, '"');
}

static void append_text_line(struct buf *out, const struct log_line *line)
{
	append_head(out, line);
	append_escaped(out, line->text.data, line->text.len);
	if (line->cut)
		buf_puts(out, "...");
	for (size_t i = 0; i < line->field_count; i++)
		append_field(out, &line->fields[i]);
	if (line->left_out)
		buf_printf(out, " (after %" PRIu64 " such lines that were left out)",
			   line->left_out);
	buf_putc(out, '\n');
}

/* ---- for machines --------------------------------------------------------------------------- */

static void append_json_line(struct buf *out, const struct log_line *line)
{
	char micros[8], time[48];
	struct json_writer w;

	read_clock(true, micros);
	snprintf(time, sizeof(time), "%s%sZ", stamp, micros);
	jw_init(&w, out);
	jw_begin_object(&w);
	jw_kv_string(&w, "time", time);
	jw_kv_string(&w, "level", level_names[line->level]);
	jw_kv_int(&w, "thread", thread_number());
	jw_kv_string(&w, "file", base_name(line->file));
	jw_kv_int(&w, "line", line->number);
	jw_key(&w, "message");
	jw_string_n(&w, line->text.data, line->text.len);
	if (line->cut)
		jw_kv_bool(&w, "cut", true);
	if (line->left_out)
		jw_kv_int(&w, "left_out", (int64_t)line->left_out);
	for (size_t i = 0; i < line->field_count; i++)
		jw_kv_string(&w, line->fields[i].name, line->fields[i].value);
	jw_end_object(&w);
	buf_putc(out, '\n');
}

void log_line_append(struct buf *out, const struct log_line *line, bool json)
{
	if (json)
		append_json_line(out, line);
	else
		append_text_line(out, line);
}

/* log: the shape of a line, escapes, levels. Lines are read back through a pipe. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json/json.h"
#include "base/log/log.h"
#include "base/log/log_limit.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"

static int ends[2];

static void open_log(void)
{
	cr_assert_eq(pipe(ends), 0);
	log_setup(LOG_LEVEL_INFO, ends[1]);
}

static void close_log(void)
{
	log_setup(LOG_LEVEL_INFO, STDERR_FILENO);
	close(ends[0]);
	if (ends[1] >= 0)
		close(ends[1]);
}

TestSuite(log, .init = open_log, .fini = close_log);

/* One read, since a line is one write. */
static char *read_line(void)
{
	static char line[60000];
	ssize_t len = read(ends[0], line, sizeof(line) - 1);

	cr_assert_gt(len, 0);
	line[len] = '\0';
	return line;
}

Test(log, has_the_shape_of_glog)
{
	const char *pattern = "^W[01][0-9][0-3][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6} +[0-9]+ "
			      "master\\.c:120\\] 3 agents\n$";
	regex_t regex;
	char *line;

	log_write(LOG_LEVEL_WARNING, "some/where/master.c", 120, "%d agents", 3);
	line = read_line();
	cr_assert_eq(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
	cr_assert_eq(regexec(&regex, line, 0, NULL, 0), 0, "%s", line);
	regfree(&regex);
}

Test(log, escapes_control_characters)
{
	log_info("a\nI1121 forged\r\t\x1b[31m\x7f\xc3\xa9");
	cr_assert(str_has_suffix(read_line(), "] a\\nI1121 forged\\r\\t\\x1b[31m\\x7f\xc3\xa9\n"));
}

Test(log, leaves_out_what_is_below_the_level)
{
	log_debug("unheard");
	log_setup(LOG_LEVEL_ERROR, ends[1]);
	log_warning("unheard");
	log_error("heard");
	cr_assert(str_has_suffix(read_line(), "] heard\n"));
}

Test(log, writes_long_lines_whole)
{
	size_t len = 20000;
	char *text = xmalloc(len + 1), *line;

	memset(text, 'x', len);
	text[len] = '\0';
	log_info("%s", text);
	line = read_line();
	cr_assert_gt(strlen(line), len);
	cr_assert(str_has_suffix(line, "xxx\n"));
	free(text);
}

Test(log, cuts_what_never_ends)
{
	char *text = xmalloc(100001);

	memset(text, 'x', 100000);
	text[100000] = '\0';
	log_info("%s", text);
	cr_assert_lt(strlen(read_line()), 40000);
	log_warning("%s", text);
	cr_assert_lt(strlen(read_line()), 2100);
	free(text);
}

Test(log, does_not_flood)
{
	size_t lines = 0;

	for (int i = 0; i < 300; i++)
		log_warning("the same");
	log_warning("another");
	for (char *c = read_line(); *c; c++)
		lines += *c == '\n';
	cr_assert_eq(lines, LOG_LIMIT_BURST + 1);
}

Test(log_limit, lets_a_burst_through_and_counts_the_rest)
{
	static struct log_limit limit;
	uint64_t left_out;

	for (int i = 0; i < LOG_LIMIT_BURST; i++)
		cr_assert(log_limit_admit(&limit, "a.c", 1, i, &left_out) && !left_out);
	for (int i = 0; i < 7; i++)
		cr_assert_not(log_limit_admit(&limit, "a.c", 1, LOG_LIMIT_SPAN - 1, &left_out));
	cr_assert(log_limit_admit(&limit, "a.c", 2, 0, &left_out), "another place");
	cr_assert(log_limit_admit(&limit, "a.c", 1, LOG_LIMIT_SPAN, &left_out));
	cr_assert_eq(left_out, 7);
	cr_assert(log_limit_admit(&limit, "a.c", 1, LOG_LIMIT_SPAN, &left_out));
	cr_assert_eq(left_out, 0);
}

Test(log_limit, lets_all_through_when_there_are_too_many_places)
{
	static struct log_limit limit;
	uint64_t left_out;

	for (int line = 0; line < 2 * LOG_LIMIT_SITES; line++)
		for (int i = 0; i < LOG_LIMIT_BURST + 1; i++)
			cr_assert_eq(log_limit_admit(&limit, "a.c", line, 0, &left_out),
				     i < LOG_LIMIT_BURST || line >= LOG_LIMIT_SITES);
}

Test(log, survives_a_closed_destination_and_keeps_errno)
{
	signal(SIGPIPE, SIG_IGN);
	close(ends[1]);
	ends[1] = -1;
	errno = EBUSY;
	log_info("nobody hears");
	cr_assert_eq(errno, EBUSY);
}

/* How many lines there are to be read. */
static size_t count_lines(void)
{
	size_t lines = 0;
	int flags = fcntl(ends[0], F_GETFL);
	char text[4096];
	ssize_t len;

	fcntl(ends[0], F_SETFL, flags | O_NONBLOCK);
	while ((len = read(ends[0], text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < len; i++)
			lines += text[i] == '\n';
	fcntl(ends[0], F_SETFL, flags);
	return lines;
}

Test(log, gathers_lines_until_they_are_asked_for)
{
	log_gather(true);
	log_info("one");
	log_info("two");
	cr_assert_eq(count_lines(), 0);
	log_flush();
	cr_assert_eq(count_lines(), 2);
	log_flush();
	cr_assert_eq(count_lines(), 0);
	log_gather(false);
}

Test(log, gathers_no_bad_news_and_no_more_than_so_much)
{
	cr_assert_gt(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20), 1 << 17);
	log_gather(true);
	log_info("before");
	log_error("wrong");
	cr_assert_eq(count_lines(), 2);
	for (int i = 0; i < 600; i++)
		log_info("%0120d", i);
	cr_assert_gt(count_lines(), 100);
	log_info("last");
	log_gather(false);
	cr_assert_gt(count_lines(), 0);
	log_info("at once");
	cr_assert_eq(count_lines(), 1);
}

Test(log, leaves_what_is_gathered_to_the_parent_of_a_fork)
{
	int status;

	log_gather(true);
	log_info("the parent's");
	pid_t child = fork();
	if (child == 0) {
		log_info("the child's");
		log_flush();
		_exit(0);
	}
	waitpid(child, &status, 0);
	cr_assert_eq(count_lines(), 1);
	log_gather(false);
	cr_assert_eq(count_lines(), 1);
}

/* A reader that stops reading stops no daemon, and hears later how much it missed. */
Test(log, a_full_pipe_blocks_nobody, .timeout = 20)
{
	static char text[70000];
	struct buf all = BUF_INIT;
	ssize_t got;

	log_gather(true);
	for (int i = 0; i < 30000; i++) {
		log_info("line %d of many that nobody reads as they are written", i);
		if (i % 10 == 0)
			log_flush();
	}
	log_error("the last");
	cr_assert_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	for (int i = 0; i < 100; i++) {
		while ((got = read(ends[0], text, sizeof(text))) > 0)
			buf_append(&all, text, (size_t)got);
		log_flush();
	}
	cr_expect(strstr(all.data, "] line 0 of many"));
	cr_expect(strstr(all.data, "] line 8000 of many"));
	cr_expect(strstr(all.data, " lines of the log were lost: nobody read them\n"));
	cr_expect_eq(all.data[all.len - 1], '\n');
	log_info("and now");
	log_flush();
	got = read(ends[0], text, sizeof(text) - 1);
	cr_assert_gt(got, 0);
	text[got] = '\0';
	cr_expect(strstr(text, "] and now\n"));
	buf_free(&all);
	log_gather(false);
}

/* ---- for machines --------------------------------------------------------------------- */

static const struct log_field fields[] = {
	{"principal", "ops"}, {"object", "role=a b"}, {"quote", "a\"b\nc"}, {"none", ""}};

Test(log, fields_follow_the_text)
{
	log_write_fields(LOG_LEVEL_INFO, "x/audit.c", 7, "audit:", fields, 4);
	cr_assert(str_has_suffix(read_line(),
				 " audit.c:7] audit: principal=ops object=\"role=a b\" "
				 "quote=\"a\\\"b\\nc\" none=\"\"\n"));
	log_setup(LOG_LEVEL_WARNING, ends[1]);
	log_write_fields(LOG_LEVEL_INFO, "x/audit.c", 7, "unheard", fields, 4);
	log_warning("heard");
	cr_assert(str_has_suffix(read_line(), "] heard\n"));
}

Test(log, lines_of_json)
{
	const char *pattern =
		"^\\{\"time\":\"20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-9]{2}:[0-9]{2}:"
		"[0-9]{2}\\.[0-9]{6}Z\",\"level\":\"WARNING\",\"thread\":[0-9]+,"
		"\"file\":\"master.c\",\"line\":120,\"message\":\"a \\\\\"b\\\\\"\\\\n"
		"c\"\\}\n$";
	struct arena arena;
	struct json *line;
	struct err err;
	regex_t regex;
	char *text;

	log_set_json(true);
	log_write(LOG_LEVEL_WARNING, "some/where/master.c", 120, "a \"b\"\n%s", "c");
	text = read_line();
	cr_assert_eq(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
	cr_assert_eq(regexec(&regex, text, 0, NULL, 0), 0, "%s", text);
	regfree(&regex);
	log_write_fields(LOG_LEVEL_INFO, "x/audit.c", 7, "audit:", fields, 4);
	text = read_line();
	arena_init(&arena);
	cr_assert_eq(json_parse(&arena, text, strlen(text), &line, &err), 0, "%s", text);
	for (int i = 0; i < 4; i++)
		cr_assert_str_eq(json_get_string(line, fields[i].name), fields[i].value);
	cr_assert_str_eq(json_get_string(line, "message"), "audit:");
	arena_free(&arena);
	log_set_json(false);
	log_info("text again");
	cr_assert_eq(*read_line(), 'I');
}

static size_t lines_with(const char *path, const char *text)
{
	char line[1000];
	size_t count = 0;
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof(line), file))
		count += strstr(line, text) != NULL;
	if (file)
		fclose(file);
	return count;
}

Test(log, a_file_is_opened_anew)
{
	char path[] = "/tmp/mesita-log-XXXXXX", moved[64];
	struct err err;

	close(mkstemp(path));
	snprintf(moved, sizeof(moved), "%s.1", path);
	cr_assert_eq(log_reopen(&err), 0); /* there is none */
	cr_assert_eq(log_open("/nowhere/log", &err), ERR_IO);
	log_info("still in the pipe");
	cr_assert(str_has_suffix(read_line(), "still in the pipe\n"));
	cr_assert_eq(log_open(path, &err), 0, "%s", err.text);
	log_info("one");
	cr_assert_eq(rename(path, moved), 0);
	log_info("two");
	log_gather(true);
	log_info("three");
	cr_assert_eq(log_reopen(&err), 0, "%s", err.text);
	log_gather(false);
	log_info("four");
	cr_assert_eq(lines_with(moved, "] one") + lines_with(moved, "] two") +
			     lines_with(moved, "] three"),
		     3);
	cr_assert_eq(lines_with(path, "] four"), 1);
	cr_assert_eq(lines_with(moved, "] four"), 0);
	/* What was cut off by somebody else is not filled with zeros. */
	cr_assert_eq(truncate(path, 0), 0);
	log_info("five");
	cr_assert_eq(lines_with(path, "] five"), 1);
	cr_assert_eq(lines_with(path, "] four"), 0);
	unlink(path);
	unlink(moved);
}

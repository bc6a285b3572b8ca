/* What the tests of the agent shell share: a temporary directory, and a loop that runs
 * until something is so. */
#ifndef TESTS_UNIT_AGENT_SHELL_H
#define TESTS_UNIT_AGENT_SHELL_H

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "agent/containers/sandbox.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"

static char *test_directory;
static struct arena test_arena; /* for texts; freed with the directory */

#define text(...) arena_printf(&test_arena, __VA_ARGS__)

static inline void make_directory(void)
{
	char name[] = "/tmp/mesita-unit-XXXXXX", *made = mkdtemp(name);

	cr_assert_not_null(made);
	chmod(made, 0755);
	arena_init(&test_arena);
	test_directory = text("%s", made);
}

static inline void remove_directory(void)
{
	struct err err;

	sandbox_remove(test_directory, NULL, &err);
	arena_free(&test_arena);
}

/* Path below the temporary directory. */
static inline char *at(const char *name)
{
	return text("%s/%s", test_directory, name);
}

static inline char *link_target(const char *path)
{
	char target[4096];
	ssize_t len = readlink(path, target, sizeof(target) - 1);

	return text("%.*s", len < 0 ? 0 : (int)len, target);
}

static inline void write_text(const char *path, const char *content)
{
	FILE *file = fopen(path, "we");

	cr_assert_not_null(file, "%s: %s", path, strerror(errno));
	fputs(content, file);
	fclose(file);
}

/* "" if it cannot be read. */
static inline const char *read_text(const char *path)
{
	static char content[65536];
	FILE *file = fopen(path, "re");
	size_t len = file ? fread(content, 1, sizeof(content) - 1, file) : 0;

	if (file)
		fclose(file);
	content[len] = '\0';
	return content;
}

static inline bool exists(const char *path)
{
	struct stat info;

	return !lstat(path, &info);
}

/* True while the process lives; a zombie does not. */
static inline bool lives(pid_t pid)
{
	const char *rest = strrchr(read_text(text("/proc/%d/stat", (int)pid)), ')');

	return rest && rest[2] != 'Z';
}

#define TICK_MS 5
#define TICKS_MAX 4000

static inline void count_tick(uv_timer_t *timer)
{
	size_t *ticks = timer->data;

	cr_assert_lt(++*ticks, TICKS_MAX, "the condition did not come true in time");
}

static inline void free_timer(uv_handle_t *handle)
{
	free(handle);
}

/* Runs the loop until the condition holds, looking again at least every tick. */
static inline void run_until(uv_loop_t *loop, bool (*holds)(void))
{
	uv_timer_t *timer = xcalloc(1, sizeof(*timer));
	size_t ticks = 0;

	uv_timer_init(loop, timer);
	timer->data = &ticks;
	uv_timer_start(timer, count_tick, TICK_MS, TICK_MS);
	while (!holds())
		uv_run(loop, UV_RUN_ONCE);
	uv_close((uv_handle_t *)timer, free_timer);
}

#endif

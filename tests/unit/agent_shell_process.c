/* Reading and killing processes, and the rules of sandboxes, fetching and garbage
 * collection. */
#include "agent_shell.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#include "agent/containers/gc.h"
#include "agent/containers/posix/process_tree.h"
#include "agent/containers/posix/spawn.h"
#include "agent/http/files.h"
#include "base/time/clock.h"

TestSuite(agent_shell_process, .init = make_directory, .fini = remove_directory, .timeout = 60);

static pid_t spawn_shell(const char *script)
{
	char *argv[] = {"sh", "-c", (char *)script, NULL};
	char *environment[] = {NULL};
	struct spawn spawn = {.program = "sh",
			      .arguments = argv,
			      .environment = environment,
			      .directory = test_directory,
			      .input = 0,
			      .output = 1,
			      .error = 2};
	struct err err;
	pid_t pid = spawn_process(&spawn, &err);

	cr_assert_gt(pid, 0, "%s", err.text);
	return pid;
}

static void wait_for(const char *path)
{
	while (!*read_text(path))
		usleep(1000);
}

Test(agent_shell_process, reads_itself)
{
	struct process self;

	cr_assert(process_read(getpid(), &self));
	cr_expect_eq(self.parent, getppid());
	cr_expect_eq(self.group, getpgrp());
	cr_expect_gt(self.start_ticks, 0);
	cr_expect_gt(self.rss_pages, 0);
	cr_expect_not(process_read(0x3fffffff, &self));
}

Test(agent_shell_process, lists_its_children)
{
	pid_t child = spawn_shell("exec sleep 1000"), *children = process_children();
	bool found = false;

	for (pid_t *pid = children; *pid; pid++)
		found |= *pid == child;
	cr_expect(found);
	free(children);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

Test(agent_shell_process, kills_a_tree_across_sessions)
{
	pid_t root = spawn_shell("trap '' TERM; setsid sh -c 'sh -c \"echo \\$\\$ >one; exec sleep "
				 "1000\" & echo $$ >two; wait' & sleep 1000");
	pid_t one, two;
	int status;

	wait_for(at("one"));
	wait_for(at("two"));
	one = atoi(read_text(at("one")));
	two = atoi(read_text(at("two")));
	cr_expect_geq(process_tree_signal(root, SIGKILL, true), 4);
	cr_expect_eq(waitpid(root, &status, 0), root);
	cr_expect_eq(WTERMSIG(status), SIGKILL);
	while (lives(one) || lives(two))
		usleep(1000);
}

Test(agent_shell_process, does_not_start_what_is_not_there)
{
	char *argv[] = {"x", NULL};
	struct spawn spawn = {.program = "no-such-program",
			      .arguments = argv,
			      .environment = argv + 1,
			      .directory = test_directory,
			      .input = 0,
			      .output = 1,
			      .error = 2};
	struct err err;

	cr_expect_lt(spawn_process(&spawn, &err), 0);
	cr_expect_str_eq(err.text,
			 "Failed to execute 'no-such-program': No such file or directory");
	spawn.program = "/bin/true";
	spawn.directory = "/no/such/directory";
	cr_expect_lt(spawn_process(&spawn, &err), 0);
	cr_expect_not_null(strstr(err.text, "working directory"));
}

Test(agent_shell_process, user_may_be_closed_out_of_the_directories_above)
{
	char *argv[] = {"sh", "-c", "test $(id -u) = 12345 && echo > made", NULL};
	char *environment[] = {NULL};
	struct user user = {.uid = 12345, .gid = 12345};
	struct spawn spawn = {.program = "sh",
			      .arguments = argv,
			      .environment = environment,
			      .directory = at("own"),
			      .user = &user,
			      .input = 0,
			      .output = 1,
			      .error = 2};
	struct err err;
	int status;
	pid_t pid;

	if (geteuid())
		cr_skip_test("only root can switch users");
	cr_assert_eq(chmod(test_directory, 0700), 0);
	cr_assert_eq(mkdir(spawn.directory, 0700), 0);
	cr_assert_eq(chown(spawn.directory, user.uid, user.gid), 0);
	pid = spawn_process(&spawn, &err);
	cr_assert_gt(pid, 0, "%s", err.text);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0);
}

/* ---- sandboxes ----------------------------------------------------------- */

Test(agent_shell_process, sandbox_has_mesos_layout)
{
	struct stat info;
	struct err err;
	char *first = at("w/slaves/s/runs/1"), *second = at("w/slaves/s/runs/2");

	cr_assert_eq(sandbox_create(first, NULL, NULL, &err), 0, "%s", err.text);
	cr_assert_eq(sandbox_link_latest(first, &err), 0, "%s", err.text);
	cr_assert_eq(stat(first, &info), 0);
	cr_expect_eq(info.st_mode & 07777, 0750);
	cr_expect_str_eq(link_target(at("w/slaves/s/runs/latest")), first);
	cr_assert_eq(sandbox_create(second, NULL, NULL, &err), 0, "%s", err.text);
	cr_assert_eq(sandbox_link_latest(second, &err), 0, "%s", err.text);
	cr_expect_str_eq(link_target(at("w/slaves/s/runs/latest")), second);
}

Test(agent_shell_process, sandbox_output_is_no_link)
{
	struct err err;

	cr_assert_eq(sandbox_create(at("s"), NULL, NULL, &err), 0);
	write_text(at("target"), "kept");
	cr_assert_eq(symlink(at("target"), at("s/stdout")), 0);
	cr_expect_lt(sandbox_open_output(at("s"), "stdout", NULL, &err), 0);
	cr_expect_str_eq(read_text(at("target")), "kept");
}

Test(agent_shell_process, removal_does_not_follow_links)
{
	struct err err;

	sandbox_make_directories(at("keep"), &err);
	sandbox_make_directories(at("gone/a/b"), &err);
	write_text(at("keep/file"), "x");
	write_text(at("gone/a/b/file"), "x");
	cr_assert_eq(symlink(at("keep"), at("gone/a/link")), 0);
	chmod(at("gone/a/b"), 0);
	cr_expect_eq(sandbox_remove(at("gone"), NULL, &err), 0, "%s", err.text);
	cr_expect_not(exists(at("gone")));
	cr_expect(exists(at("keep/file")));
	cr_expect_eq(sandbox_remove(at("gone"), NULL, &err), 0);
}

static void make_deep(const char *top, int depth)
{
	int fd = open(top, O_RDONLY | O_DIRECTORY), next;

	for (int i = 0; i < depth; i++) {
		cr_assert_eq(mkdirat(fd, "d", 0700), 0);
		close(openat(fd, "file", O_CREAT | O_WRONLY, 0600));
		next = openat(fd, "d", O_RDONLY | O_DIRECTORY);
		cr_assert_geq(next, 0);
		close(fd);
		fd = next;
	}
	close(fd);
}

/* Deeper than there are descriptors, and with names that the removal itself uses. */
Test(agent_shell_process, removes_sandboxes_of_any_depth)
{
	struct err err = {""};

	cr_assert_eq(mkdir(at("gone"), 0700), 0);
	cr_assert_eq(mkdir(at("gone/.mesita-deep-0"), 0700), 0);
	write_text(at("gone/.mesita-deep-0/x"), "");
	write_text(at("gone/.mesita-deep-1"), "");
	make_deep(at("gone"), 5000);
	cr_expect_eq(sandbox_remove(at("gone"), NULL, &err), 0, "%s", err.text);
	cr_expect_not(exists(at("gone")));
	cr_assert_eq(mkdir(at("emptied"), 0700), 0);
	make_deep(at("emptied"), 1000);
	cr_expect_eq(sandbox_empty(at("emptied"), NULL, &err), 0, "%s", err.text);
	cr_expect_eq(rmdir(at("emptied")), 0);
}

/* An agent that ends does not wait for a large sandbox. */
Test(agent_shell_process, a_removal_can_be_stopped)
{
	atomic_bool stop = true;
	struct err err = {""};

	cr_assert_eq(mkdir(at("gone"), 0700), 0);
	write_text(at("gone/file"), "");
	cr_expect_eq(sandbox_remove(at("gone"), &stop, &err), ERR_CANCELED);
	cr_expect(exists(at("gone/file")));
	stop = false;
	cr_expect_eq(sandbox_remove(at("gone"), &stop, &err), 0);
}

/* ---- files --------------------------------------------------------------- */

Test(agent_shell_process, files_stay_in_the_sandbox)
{
	char *run = at("w/slaves/a/frameworks/f/executors/e/runs/c");
	struct err err;
	int fd;

	cr_assert_eq(sandbox_create(run, NULL, NULL, &err), 0);
	cr_assert_eq(sandbox_link_latest(run, &err), 0);
	sandbox_make_directories(at("w/slaves/a/frameworks/f/executors/e/runs/c/containers/x"),
				 &err);
	write_text(text("%s/stdout", run), "text");
	write_text(text("%s/containers/x/stdout", run), "nested");
	write_text(at("secret"), "secret");
	cr_assert_eq(symlink(at("secret"), text("%s/out", run)), 0);
	cr_assert_eq(symlink("/", text("%s/root", run)), 0);
	cr_assert_eq(symlink(text("%s/containers/x", run), text("%s/task", run)), 0);
	cr_assert_eq(mkfifo(text("%s/pipe", run), 0600), 0);

	const struct {
		const char *path;
		int expected; /* 0 = opened */
	} cases[] = {
		{"w/slaves/a/frameworks/f/executors/e/runs/c", 0},
		{"w/slaves/a/frameworks/f/executors/e/runs/c/", 0},
		{"w/slaves/a/frameworks/f/executors/e/runs/c/stdout", 0},
		{"w/slaves/a/frameworks/f/executors/e/runs/latest/stdout", 0},
		{"w/slaves/a/frameworks/f/executors/e/runs/c/task/stdout", 0},
		{"w/slaves/a/frameworks/f/executors/e/runs/c/pipe", 0},
		{"w/slaves/a/frameworks/f/executors/e/runs/c//containers//x/stdout", 0},
		{"w/slaves/a/frameworks/f/executors/e/runs/c/containers/../stdout", 0},
		{"w/slaves/a/frameworks/f/executors/e/runs/c/stdout/", ERR_NOT_FOUND},
		{"w/slaves/a/frameworks/f/executors/e/runs/c/task/../../stdout", 0},
		{"w/slaves/a/frameworks/f/executors/e/runs/c/none", ERR_NOT_FOUND},
		{"w/slaves/a/frameworks/f/executors/e/runs/c/out", ERR_INVALID},
		{"w/slaves/a/frameworks/f/executors/e/runs/c/root/etc/passwd", ERR_INVALID},
		{"w/slaves/a/frameworks/f/executors/e/runs", ERR_NOT_FOUND},
		{"w/slaves/a/frameworks/f/executors/e/runs/c/../../../../../../../../../secret",
		 ERR_INVALID},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fd = files_open_in_sandbox(at("w"), at(cases[i].path));
		cr_expect_eq(fd < 0 ? fd : 0, cases[i].expected, "%s: %d", cases[i].path, fd);
		if (fd >= 0)
			close(fd);
	}
}

static void write_path(void *context, const struct files_entry *entry)
{
	buf_printf(context, "%s\n", entry->path);
}

/* Links of links: the C library would follow 500 to the power of 37 of them. */
Test(agent_shell_process, chained_links_take_no_time)
{
	char *run = at("w/slaves/a/frameworks/f/executors/e/runs/c");
	struct files_place place = {.work_dir = at("w"), .path = "/sandbox", .real = run};
	struct buf links = BUF_INIT, listing = BUF_INIT;
	struct err err;
	DIR *dir;

	cr_assert_eq(sandbox_create(run, NULL, NULL, &err), 0);
	cr_assert_eq(sandbox_link_latest(run, &err), 0);
	cr_assert_eq(mkdir(text("%s/l37", run), 0700), 0);
	for (int i = 36; i >= 0; i--) {
		buf_clear(&links);
		for (int k = 0; k < 500; k++)
			buf_printf(&links, "l%d/../", i + 1);
		cr_assert_eq(symlink(links.data, text("%s/l%d", run, i)), 0);
	}
	cr_expect_lt(files_open_in_sandbox(at("w"), text("%s/l0/stdout", run)), 0);
	dir = opendir(run);
	cr_assert(dir);
	files_list(&place, dir, write_path, &listing);
	cr_expect(strstr(listing.data, "/sandbox/l0\n"));
	cr_expect(strstr(listing.data, "/sandbox/l37\n"));
	closedir(dir);
	buf_free(&links);
	buf_free(&listing);
}

Test(agent_shell_process, modes_are_shown_as_ls_does)
{
	char mode[11];

	files_format_mode(S_IFREG | 0644, mode);
	cr_expect_str_eq(mode, "-rw-r--r--");
	files_format_mode(S_IFDIR | 01777, mode);
	cr_expect_str_eq(mode, "drwxrwxrwt");
	files_format_mode(S_IFREG | 04755, mode);
	cr_expect_str_eq(mode, "-rwsr-xr-x");
}

/* ---- garbage collection -------------------------------------------------- */

static struct buf collected;

static void on_collected(void *context, const char *path)
{
	buf_printf(&collected, "%s\n", strrchr(path, '/') + 1);
}

static struct gc *gc;

static bool is_collected(void)
{
	struct gc_counters counters = gc_counters(gc);

	return counters.pending <= 1 && counters.succeeded + counters.failed == 2;
}

Test(agent_shell_process, collects_at_the_time)
{
	struct slow_pool *pool;
	uv_loop_t loop;
	struct err err;
	struct gc_options options = {.loop = &loop,
				     .work_dir = test_directory,
				     .delay = HOUR,
				     .headroom = 0,
				     .watch_interval = HOUR,
				     .collected = on_collected};
	int64_t now = clock_now();

	uv_loop_init(&loop);
	sandbox_make_directories(at("trash/old"), &err);
	sandbox_make_directories(at("due/a"), &err);
	sandbox_make_directories(at("later/a"), &err);
	sandbox_make_directories(at("kept/a"), &err);
	options.pool = pool = slow_pool_create(&loop);
	gc = gc_create(&options);
	gc_collect(gc, at("due"), now);
	gc_collect(gc, at("later"), now + HOUR);
	gc_collect(gc, at("kept"), now);
	gc_keep(gc, at("kept"));
	gc_collect(gc, at("not-there"), now);
	gc_collect(gc, "/etc", now);
	gc_collect(gc, at("x/../../etc"), now);
	run_until(&loop, is_collected);
	cr_expect_str_eq(collected.data, "due\nnot-there\n");
	cr_expect_not(exists(at("due")));
	cr_expect_not(exists(at("trash/old")));
	cr_expect(exists(at("later/a")));
	cr_expect(exists(at("kept/a")));
	gc_close(gc);
	slow_pool_close(pool);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_expect_eq(uv_loop_close(&loop), 0);
	buf_free(&collected);
}

static bool is_empty(void)
{
	return gc_counters(gc).succeeded == 1;
}

Test(agent_shell_process, a_full_disk_is_collected_at_once)
{
	struct slow_pool *pool;
	uv_loop_t loop;
	struct err err;
	struct gc_options options = {.loop = &loop,
				     .work_dir = test_directory,
				     .delay = WEEK,
				     .headroom = 1, /* as if it were full */
				     .watch_interval = MILLISECOND,
				     .collected = on_collected};

	uv_loop_init(&loop);
	sandbox_make_directories(at("later/a"), &err);
	options.pool = pool = slow_pool_create(&loop);
	gc = gc_create(&options);
	cr_expect_eq(gc_max_age(gc), 0);
	gc_collect(gc, at("later"), clock_now() + WEEK);
	run_until(&loop, is_empty);
	cr_expect_not(exists(at("later")));
	gc_close(gc);
	slow_pool_close(pool);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	buf_free(&collected);
}

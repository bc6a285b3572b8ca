/* Directories of persistent volumes, their links in sandboxes, their removal; roots of disks. */
#include "agent_shell.h"

#include <fcntl.h>

#include "agent/containers/volume_dirs.h"
#include "agent/volumes/disks.h"
#include "agent/volumes/volume_worker.h"

TestSuite(agent_shell_volumes, .init = make_directory, .fini = remove_directory, .timeout = 60);

static void make_directories(const char *path)
{
	struct err err = {""};

	cr_assert_eq(sandbox_make_directories(path, &err), 0, "%s", err.text);
}

static int link_one(const char *sandbox, const char *path, const char *name, struct err *err)
{
	struct agent_volume volume = {(char *)path, (char *)name, true};

	return volume_link(sandbox, &(struct agent_volumes){&volume, 1}, err);
}

static int unlink_one(const char *sandbox, const char *path, const char *name, struct err *err)
{
	struct agent_volume volume = {(char *)path, (char *)name, true};

	return volume_unlink(sandbox, &(struct agent_volumes){&volume, 1}, err);
}

/* ---- making ---------------------------------------------------------------- */

Test(agent_shell_volumes, makes_directories_and_keeps_those_that_are_there)
{
	char *paths[] = {at("volumes/roles/a b/v1"), at("volumes/roles/r/v2")};
	struct err err = {""};
	struct stat info;

	make_directories(paths[1]);
	write_text(at("volumes/roles/r/v2/data"), "kept");
	cr_assert_eq(volume_make(paths, 2, &err), 0, "%s", err.text);
	cr_assert_eq(stat(paths[0], &info), 0);
	cr_expect(S_ISDIR(info.st_mode));
	cr_expect_eq(info.st_mode & 0777, 0755);
	cr_expect_str_eq(read_text(at("volumes/roles/r/v2/data")), "kept");
}

Test(agent_shell_volumes, makes_all_or_none)
{
	char *paths[] = {at("volumes/roles/r/v1"), at("volumes/roles/r/file")};
	struct err err = {""};

	make_directories(at("volumes/roles/r"));
	write_text(paths[1], "in the way");
	cr_assert_eq(volume_make(paths, 2, &err), ERR_IO);
	cr_expect(strstr(err.text, "Failed to create the persistent volume at"), "%s", err.text);
	cr_expect_not(exists(paths[0]));
	cr_expect_str_eq(read_text(paths[1]), "in the way");
	paths[0] = at("volumes/roles/r/file/below");
	cr_expect_eq(volume_make(paths, 1, &err), ERR_IO);
}

/* ---- links ----------------------------------------------------------------- */

Test(agent_shell_volumes, links_and_unlinks)
{
	const char *sandbox = at("run"), *volume = at("v1");
	struct err err = {""};

	make_directories(sandbox);
	make_directories(volume);
	cr_assert_eq(link_one(sandbox, volume, "data", &err), 0, "%s", err.text);
	cr_expect_str_eq(link_target(at("run/data")), volume);
	cr_expect_eq(link_one(sandbox, volume, "data", &err), 0, "%s", err.text);
	write_text(at("run/data/file"), "here");
	cr_expect_str_eq(read_text(at("v1/file")), "here");
	cr_expect_eq(unlink_one(sandbox, volume, "data", &err), 0, "%s", err.text);
	cr_expect_not(exists(at("run/data")));
	cr_expect_eq(unlink_one(sandbox, volume, "data", &err), 0, "%s", err.text);
	cr_expect_str_eq(read_text(at("v1/file")), "here");
}

Test(agent_shell_volumes, what_a_task_put_there_is_not_followed)
{
	const char *sandbox = at("run"), *volume = at("v1");
	struct err err = {""};

	make_directories(at("run/data"));
	make_directories(volume);
	make_directories(at("elsewhere"));
	write_text(at("elsewhere/file"), "safe");
	cr_expect_eq(link_one(sandbox, volume, "data", &err), ERR_IO);
	cr_expect(strstr(err.text, "Failed to symlink persistent volume from"), "%s", err.text);
	cr_expect_eq(unlink_one(sandbox, volume, "data", &err), 0);
	cr_expect(exists(at("run/data")));
	cr_assert_eq(symlink(at("elsewhere"), at("run/other")), 0);
	cr_expect_eq(link_one(sandbox, volume, "other", &err), ERR_IO);
	cr_expect_eq(unlink_one(sandbox, volume, "other", &err), 0);
	cr_expect_str_eq(link_target(at("run/other")), at("elsewhere"));
	cr_expect_str_eq(read_text(at("elsewhere/file")), "safe");
	/* The sandbox itself, too. */
	cr_assert_eq(symlink(at("elsewhere"), at("run2")), 0);
	cr_expect_eq(link_one(at("run2"), volume, "data", &err), ERR_IO);
	cr_expect_not(exists(at("elsewhere/data")));
}

Test(agent_shell_volumes, names_do_not_lead_out_of_the_sandbox)
{
	static const char *const names[] = {"", ".", "..", "../x", "/x", "a/b", "a/../../x"};
	struct err err = {""};

	make_directories(at("run/a"));
	make_directories(at("v1"));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		cr_expect_eq(link_one(at("run"), at("v1"), names[i], &err), ERR_INVALID, "%s",
			     names[i]);
		cr_expect_eq(unlink_one(at("run"), at("v1"), names[i], &err), 0);
	}
	cr_expect_not(exists(at("x")));
	cr_expect_not(exists("/x"));
}

Test(agent_shell_volumes, a_volume_that_is_not_there_is_not_linked)
{
	struct err err = {""};

	make_directories(at("run"));
	cr_expect_eq(link_one(at("run"), at("missing"), "data", &err), ERR_IO);
	cr_expect(strstr(err.text, "Failed to open the persistent volume at"), "%s", err.text);
	cr_expect_not(exists(at("run/data")));
}

Test(agent_shell_volumes, volumes_go_to_the_sandboxs_owner)
{
	struct err err = {""};
	struct stat info;

	if (geteuid())
		cr_skip("only root may give files away");
	make_directories(at("run"));
	make_directories(at("v1"));
	make_directories(at("shared"));
	cr_assert_eq(chown(at("run"), 12345, 54321), 0);
	cr_assert_eq(link_one(at("run"), at("v1"), "data", &err), 0, "%s", err.text);
	cr_assert_eq(stat(at("v1"), &info), 0);
	cr_expect_eq(info.st_uid, 12345);
	cr_expect_eq(info.st_gid, 54321);
	cr_assert_eq(volume_link(at("run"),
				 &(struct agent_volumes){
					 &(struct agent_volume){at("shared"), "shared", false}, 1},
				 &err),
		     0);
	cr_assert_eq(stat(at("shared"), &info), 0);
	cr_expect_eq(info.st_uid, 0);
}

/* Removing a sandbox is what garbage collection does. */
Test(agent_shell_volumes, data_outlives_the_sandbox)
{
	struct err err = {""};

	make_directories(at("run"));
	make_directories(at("v1/below"));
	write_text(at("v1/below/file"), "data");
	cr_assert_eq(link_one(at("run"), at("v1"), "data", &err), 0);
	cr_assert_eq(sandbox_remove(at("run"), NULL, &err), 0, "%s", err.text);
	cr_expect_not(exists(at("run")));
	cr_expect_str_eq(read_text(at("v1/below/file")), "data");
}

/* ---- removal --------------------------------------------------------------- */

static struct buf removed;

static void on_removed(void *context, const char *path)
{
	buf_printf(&removed, "%s\n", path + strlen(test_directory) + 1);
}

static bool are_two_removed(void)
{
	const char *first = removed.len ? strchr(removed.data, '\n') : NULL;

	return first && strchr(first + 1, '\n');
}

Test(agent_shell_volumes, removes_data_and_keeps_the_roots_of_disks)
{
	struct volume_remover *remover;
	struct slow_pool *pool;
	uv_loop_t loop;

	uv_loop_init(&loop);
	make_directories(at("v1/a/b"));
	make_directories(at("disk/a/b"));
	make_directories(at("elsewhere"));
	write_text(at("elsewhere/file"), "safe");
	cr_assert_eq(symlink(at("elsewhere"), at("disk/link")), 0);
	cr_assert_eq(symlink(at("elsewhere"), at("v1/a/link")), 0);
	remover = volume_remover_create(&loop, pool = slow_pool_create(&loop), on_removed, NULL);
	volume_remover_add(remover, at("v1"), false);
	volume_remover_add(remover, at("disk"), true);
	run_until(&loop, are_two_removed);
	cr_expect_str_eq(removed.data, "v1\ndisk\n");
	cr_expect_not(exists(at("v1")));
	cr_expect(exists(at("disk")));
	cr_expect_not(exists(at("disk/a")));
	cr_expect_not(exists(at("disk/link")));
	cr_expect_str_eq(read_text(at("elsewhere/file")), "safe");
	volume_remover_close(remover);
	slow_pool_close(pool);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_expect_eq(uv_loop_close(&loop), 0);
	buf_free(&removed);
}

Test(agent_shell_volumes, tries_again_what_fails)
{
	struct volume_remover *remover;
	struct slow_pool *pool;
	uv_loop_t loop;

	uv_loop_init(&loop);
	make_directories(at("v1"));
	remover = volume_remover_create(&loop, pool = slow_pool_create(&loop), on_removed, NULL);
	/* A disk that is not there (any more), until it is. */
	volume_remover_add(remover, at("late"), true);
	volume_remover_add(remover, at("v1"), false);
	while (!removed.len)
		uv_run(&loop, UV_RUN_ONCE);
	cr_expect_str_eq(removed.data, "v1\n");
	make_directories(at("late/data"));
	run_until(&loop, are_two_removed);
	cr_expect_str_eq(removed.data, "v1\nlate\n");
	cr_expect_not(exists(at("late/data")));
	volume_remover_close(remover);
	slow_pool_close(pool);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_expect_eq(uv_loop_close(&loop), 0);
	buf_free(&removed);
}

Test(agent_shell_volumes, closing_waits_for_the_thread)
{
	struct volume_remover *remover;
	struct slow_pool *pool;
	uv_loop_t loop;

	uv_loop_init(&loop);
	make_directories(at("v1"));
	make_directories(at("v2"));
	remover = volume_remover_create(&loop, pool = slow_pool_create(&loop), on_removed, NULL);
	volume_remover_add(remover, at("v1"), false);
	volume_remover_add(remover, at("v2"), false);
	volume_remover_close(remover);
	slow_pool_close(pool);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_expect_eq(uv_loop_close(&loop), 0);
	cr_expect_eq(removed.len, 0);
}

/* ---- the worker ------------------------------------------------------------ */

static struct buf reports;

static void on_report(void *context, const struct agent_event *event)
{
	const char *failure;

	if (event->type == AGENT_VOLUMES_MADE) {
		failure = event->volumes_made.failure;
		buf_printf(&reports, "made %d", (int)event->volumes_made.number);
	} else {
		failure = event->volumes_linked.failure;
		buf_printf(&reports, "linked %s", event->volumes_linked.container);
	}
	buf_puts(&reports, failure ? " not\n" : "\n");
}

static void ask_to_make(struct volume_worker *worker, uint64_t number, const char *path)
{
	char *copy = xstrdup(path);
	struct agent_action action = {.type = AGENT_MAKE_VOLUMES,
				      .make_volumes = {number, &copy, 1}};

	volume_worker_add(worker, &action);
	free(copy);
}

static void ask_to_link(struct volume_worker *worker, const char *container, const char *sandbox,
			const char *path)
{
	struct agent_volume volume = {xstrdup(path), (char *)"data", true};
	struct agent_action action = {
		.type = AGENT_LINK_VOLUMES,
		.link_volumes = {container, sandbox, {0}, {&volume, 1}},
	};

	volume_worker_add(worker, &action);
	free(volume.path);
}

static bool four_are_reported(void)
{
	return reports.len && strstr(reports.data, "linked d");
}

Test(agent_shell_volumes, makes_and_links_in_order_and_off_the_loop)
{
	struct volume_worker *worker;
	struct slow_pool *pool;
	uv_loop_t loop;

	uv_loop_init(&loop);
	make_directories(at("run"));
	write_text(at("file"), "");
	worker = volume_worker_create(pool = slow_pool_create(&loop), on_report, NULL);
	ask_to_make(worker, 1, at("volumes/v1"));
	ask_to_link(worker, "c", at("run"), at("volumes/v1"));
	ask_to_make(worker, 2, at("file/v2"));
	ask_to_link(worker, "d", at("run2"), at("volumes/v1"));
	cr_expect_eq(reports.len, 0);
	run_until(&loop, four_are_reported);
	cr_expect_str_eq(reports.data, "made 1\nlinked c\nmade 2 not\nlinked d not\n");
	cr_expect_str_eq(link_target(at("run/data")), at("volumes/v1"));
	volume_worker_close(worker);
	slow_pool_close(pool);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_expect_eq(uv_loop_close(&loop), 0);
	buf_free(&reports);
}

Test(agent_shell_volumes, a_worker_that_is_closed_reports_no_more)
{
	struct volume_worker *worker;
	struct slow_pool *pool;
	uv_loop_t loop;

	uv_loop_init(&loop);
	worker = volume_worker_create(pool = slow_pool_create(&loop), on_report, NULL);
	ask_to_make(worker, 1, at("v1"));
	ask_to_make(worker, 2, at("v2"));
	volume_worker_close(worker);
	slow_pool_close(pool);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_expect_eq(uv_loop_close(&loop), 0);
	cr_expect_eq(reports.len, 0);
	cr_expect_not(exists(at("v2")));
}

/* ---- disks ----------------------------------------------------------------- */

static int prepare(const char *source, struct err *err)
{
	struct resource_shapes *shapes = resource_shapes_create();
	struct resources all = RESOURCES_INIT;
	int rv = resources_parse(shapes,
				 text("[{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{"
				      "\"value\":10},\"disk\":{\"source\":%s}}]",
				      source),
				 "*", &all, err);

	if (rv == 0)
		rv = disks_prepare(&all, at("work"), err);
	resources_free(&all);
	resource_shapes_destroy(shapes);
	return rv;
}

#define PATH_DISK(root) text("{\"type\":\"PATH\",\"path\":{\"root\":\"%s\"}}", root)
#define MOUNT_DISK(root) text("{\"type\":\"MOUNT\",\"mount\":{\"root\":\"%s\"}}", root)

Test(agent_shell_volumes, roots_of_path_disks_are_made)
{
	struct err err = {""};

	cr_expect_eq(prepare(PATH_DISK(at("a/b")), &err), 0, "%s", err.text);
	cr_expect(exists(at("a/b")));
	cr_expect_eq(prepare(PATH_DISK("relative"), &err), 0, "%s", err.text);
	cr_expect(exists(at("work/relative")));
	write_text(at("file"), "");
	cr_expect_lt(prepare(PATH_DISK(at("file/x")), &err), 0);
	cr_expect(strstr(err.text, "Failed to create DiskInfo path directory"), "%s", err.text);
	cr_expect_lt(prepare("{\"type\":\"PATH\",\"path\":{}}", &err), 0);
	cr_expect(strstr(err.text, "PATH disk root directory is not specified"), "%s", err.text);
}

Test(agent_shell_volumes, mount_disks_must_be_mounted)
{
	struct err err = {""};

	cr_expect_eq(prepare(MOUNT_DISK("/proc"), &err), 0, "%s", err.text);
	cr_assert_eq(symlink("/proc", at("link")), 0);
	cr_expect_eq(prepare(MOUNT_DISK(at("link")), &err), 0, "%s", err.text);
	cr_expect_lt(prepare(MOUNT_DISK(test_directory), &err), 0);
	cr_expect_str_eq(err.text,
			 text("Failed to find mount '%s' in /proc/mounts", test_directory));
	cr_expect_lt(prepare(MOUNT_DISK("/not/there"), &err), 0);
	cr_expect(strstr(err.text, "with path '/not/there': no such path"), "%s", err.text);
	cr_expect_lt(prepare("{\"type\":\"MOUNT\",\"mount\":{}}", &err), 0);
	cr_expect(strstr(err.text, "MOUNT disk root directory is not specified"), "%s", err.text);
	cr_expect_lt(prepare("{\"type\":\"RAW\"}", &err), 0);
	cr_expect(strstr(err.text, "Unsupported 'DiskInfo.Source.Type' in"), "%s", err.text);
}

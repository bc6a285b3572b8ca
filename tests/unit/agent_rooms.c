/* What containers have of their own: what is refused, what the message says. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "agent/containers/linux/room.h"

static struct arena arena;
static struct room_options options;
static Mesos__ContainerInfo *info;
static struct agent_launch launch;
static Mesos__CommandInfo command;

static void set_up(void)
{
	arena_init(&arena);
	options = (struct room_options){.sandbox_directory = "/mnt/box",
					.provisioner = "/tmp/no-such-provisioner"};
	info = PROTO_NEW(&arena, Mesos__ContainerInfo, mesos__container_info__descriptor);
	info->type = MESOS__CONTAINER_INFO__TYPE__MESOS;
	mesos__command_info__init(&command);
	launch = (struct agent_launch){.container = "c1",
				       .sandbox = "/w/containers/x/runs/c1",
				       .info = info,
				       .command = &command};
}

static void tear_down(void)
{
	arena_free(&arena);
}

TestSuite(rooms, .init = set_up, .fini = tear_down, .timeout = 60);

static Mesos__LinuxInfo *linux_info(void)
{
	if (!info->linux_info)
		info->linux_info =
			PROTO_NEW(&arena, Mesos__LinuxInfo, mesos__linux_info__descriptor);
	return info->linux_info;
}

static Mesita__ContainerLaunch *make(void)
{
	Mesita__ContainerLaunch *out =
		PROTO_NEW(&arena, Mesita__ContainerLaunch, mesita__container_launch__descriptor);
	struct err err = {""};

	cr_assert_eq(room_make(&options, &arena, &launch, NULL, out, &err), 0, "%s", err.text);
	return out;
}

static void refused(const char *text)
{
	Mesita__ContainerLaunch *out =
		PROTO_NEW(&arena, Mesita__ContainerLaunch, mesita__container_launch__descriptor);
	struct err err = {""};

	cr_assert_lt(room_make(&options, &arena, &launch, NULL, out, &err), 0);
	cr_expect(strstr(err.text, text), "%s", err.text);
}

/* ---- who gets one ------------------------------------------------------------------- */

Test(rooms, who_gets_one)
{
	cr_expect(!room_wanted(NULL, info));
	cr_expect(!room_wanted(&options, info));
	options.file_systems = true;
	cr_expect(!room_wanted(&options, NULL));
	proto_push(&arena, info->n_volumes, info->volumes,
		   PROTO_NEW(&arena, Mesos__Volume, mesos__volume__descriptor));
	cr_expect(room_wanted(&options, info));
	options = (struct room_options){.pids = true};
	cr_expect(room_wanted(&options, NULL));
	info->type = MESOS__CONTAINER_INFO__TYPE__DOCKER;
	cr_expect(!room_wanted(&options, info));
}

Test(rooms, the_machines_may_be_forbidden)
{
	struct err err = {""};

	options.pids = options.ipc = true;
	linux_info()->share_pid_namespace = linux_info()->has_share_pid_namespace = 1;
	cr_expect_eq(room_check(&options, info, false, &err), 0);
	options.shares_pids_never = true;
	cr_expect_eq(room_check(&options, info, false, &err), ERR_INVALID);
	cr_expect_str_eq(err.text, "Sharing agent pid namespace with top-level container is not "
				   "allowed");
	cr_expect_eq(room_check(&options, info, true, &err), 0);
	linux_info()->share_pid_namespace = 0;
	linux_info()->has_ipc_mode = 1;
	linux_info()->ipc_mode = MESOS__LINUX_INFO__IPC_MODE__SHARE_PARENT;
	cr_expect_eq(room_check(&options, info, false, &err), 0);
	options.shares_ipc_never = true;
	cr_expect_eq(room_check(&options, info, false, &err), ERR_INVALID);
}

/* ---- namespaces ----------------------------------------------------------------------- */

Test(rooms, namespaces)
{
	static const struct {
		bool inside;
		int pids; /* -1: it does not say */
		int ipc;
		bool own_pids, shares_pids, own_ipc, shares_ipc;
	} rows[] = {
		{false, -1, 0, true, false, true, false},  {false, 0, 1, true, false, true, false},
		{false, 1, 2, false, false, false, false}, {true, -1, 0, true, false, false, true},
		{true, 0, 1, true, false, true, false},	   {true, 1, 2, false, true, false, true},
	};

	options.pids = options.ipc = true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		Mesita__ContainerLaunch *out;

		info->linux_info = NULL;
		launch.container = rows[i].inside ? "c1.c2" : "c1";
		if (rows[i].pids >= 0) {
			linux_info()->has_share_pid_namespace = 1;
			linux_info()->share_pid_namespace = rows[i].pids;
		}
		if (rows[i].ipc) {
			linux_info()->has_ipc_mode = 1;
			linux_info()->ipc_mode = (Mesos__LinuxInfo__IpcMode)rows[i].ipc;
		}
		out = make();
		cr_expect_eq(out->own_pids, rows[i].own_pids, "row %zu", i);
		cr_expect_eq(out->shares_pids, rows[i].shares_pids, "row %zu", i);
		cr_expect_eq(out->own_ipc, rows[i].own_ipc, "row %zu", i);
		cr_expect_eq(out->shares_ipc, rows[i].shares_ipc, "row %zu", i);
	}
}

Test(rooms, shared_memory)
{
	options.ipc = true;
	cr_expect(!make()->has_shm_size);
	options.shm_size = 5 << 20;
	cr_expect_eq(make()->shm_size, 5 << 20);
	linux_info()->has_shm_size = 1;
	linux_info()->shm_size = 4096;
	cr_expect_eq(make()->shm_size, 4096ULL << 20);
}

/* ---- volumes ---------------------------------------------------------------------------- */

static Mesos__Volume *volume(const char *path)
{
	Mesos__Volume *v = PROTO_NEW(&arena, Mesos__Volume, mesos__volume__descriptor);

	v->container_path = arena_strdup(&arena, path);
	v->mode = MESOS__VOLUME__MODE__RO;
	info->n_volumes = 0;
	info->volumes = NULL;
	proto_push(&arena, info->n_volumes, info->volumes, v);
	return v;
}

static Mesos__Volume__Source__SandboxPath *sandbox_volume(const char *path, const char *source)
{
	Mesos__Volume *v = volume(path);

	v->source = PROTO_NEW(&arena, Mesos__Volume__Source, mesos__volume__source__descriptor);
	v->source->has_type = 1;
	v->source->type = MESOS__VOLUME__SOURCE__TYPE__SANDBOX_PATH;
	v->source->sandbox_path = PROTO_NEW(&arena, Mesos__Volume__Source__SandboxPath,
					    mesos__volume__source__sandbox_path__descriptor);
	v->source->sandbox_path->has_type = 1;
	v->source->sandbox_path->type = MESOS__VOLUME__SOURCE__SANDBOX_PATH__TYPE__SELF;
	v->source->sandbox_path->path = arena_strdup(&arena, source);
	return v->source->sandbox_path;
}

Test(rooms, volumes_of_the_machine)
{
	Mesita__ContainerLaunch *out;

	options.file_systems = true;
	volume("in")->host_path = arena_strdup(&arena, "/etc");
	refused("volume/host_path");
	options.host_paths = true;
	out = make();
	cr_assert_eq(out->n_mounts, 1);
	cr_expect_str_eq(out->mounts[0]->source, "/etc");
	cr_expect_str_eq(out->mounts[0]->target, "/w/containers/x/runs/c1/in");
	cr_expect(out->mounts[0]->read_only);
	volume("/else")->host_path = arena_strdup(&arena, "/etc");
	info->volumes[0]->mode = MESOS__VOLUME__MODE__RW;
	out = make();
	cr_expect_str_eq(out->mounts[0]->target, "/else");
	cr_expect(!out->mounts[0]->read_only);
	volume("../in")->host_path = arena_strdup(&arena, "/etc");
	refused("leads out of the sandbox");
	volume("a/../..")->host_path = arena_strdup(&arena, "/etc");
	refused("leads out of the sandbox");
	volume("")->host_path = arena_strdup(&arena, "/etc");
	refused("leads out of the sandbox");
	volume("x")->host_path = arena_strdup(&arena, "/no/such/path");
	refused("Path '/no/such/path' in HOST_PATH volume does not exist");
	volume("x");
	refused("A volume of this kind is not supported");
}

Test(rooms, volumes_of_sandboxes)
{
	Mesita__ContainerLaunch *out;

	sandbox_volume("in", "a/b");
	refused("volume/sandbox_path");
	options.sandbox_paths = true;
	out = make();
	cr_expect_str_eq(out->mounts[0]->below, launch.sandbox);
	cr_expect_str_eq(out->mounts[0]->source, "a/b");
	sandbox_volume("in", "../b");
	refused("SANDBOX_PATH volume is invalid");
	sandbox_volume("in", "/b");
	refused("SANDBOX_PATH volume is invalid");
	sandbox_volume("in", "b")->type = MESOS__VOLUME__SOURCE__SANDBOX_PATH__TYPE__PARENT;
	refused("only for nested containers");
	launch.container = "c1.c2";
	launch.sandbox = "/w/containers/q/runs/c1/containers/c2";
	out = make();
	cr_expect_str_eq(out->mounts[0]->below, "/w/containers/q/runs/c1");
	/* The older way, of its own sandbox. */
	volume("in")->host_path = arena_strdup(&arena, "own");
	out = make();
	cr_expect_str_eq(out->mounts[0]->below, launch.sandbox);
}

/* ---- what runs ---------------------------------------------------------------------------- */

/* What Mesos says of entrypoints: the table of its documentation on images. */
Test(rooms, programs)
{
	static const struct {
		bool shell;
		const char *value, *arguments, *entrypoint, *cmd, *expected; /* NULL: refused */
	} rows[] = {
		{false, NULL, "", "", "", NULL},
		{false, NULL, "", "", "c d", "c|c d"},
		{false, NULL, "", "e f", "", "e|e f"},
		{false, NULL, "", "e f", "c d", "e|e f c d"},
		{false, NULL, "x y", "", "", NULL},
		{false, NULL, "x y", "", "c d", "c|c x y"},
		{false, NULL, "x y", "e f", "", "e|e f x y"},
		{false, NULL, "x y", "e f", "c d", "e|e f x y"},
		{false, "v", "", "", "", "v|v"},
		{false, "v", "", "e f", "c d", "v|v"},
		{false, "v", "x y", "e f", "c d", "v|x y"},
		{true, NULL, "", "e", "c", NULL},
		{true, "v", "", "e f", "c d", "/bin/sh|sh -c v"},
		{true, "v", "x y", "", "", "/bin/sh|sh -c v"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		Mesita__ContainerLaunch *out = PROTO_NEW(&arena, Mesita__ContainerLaunch,
							 mesita__container_launch__descriptor);
		const char *texts[] = {rows[i].arguments, rows[i].entrypoint, rows[i].cmd};
		size_t *counts[] = {&command.n_arguments, &out->n_entrypoint,
				    &out->n_default_arguments};
		char ***places[] = {&command.arguments, &out->entrypoint, &out->default_arguments};
		struct buf got = BUF_INIT;
		struct err err = {""};
		int rv;

		for (int l = 0; l < 3; l++) {
			char *copy = arena_strdup(&arena, texts[l]), *save = NULL;

			*counts[l] = 0;
			*places[l] = arena_alloc(&arena, 4 * sizeof(char *));
			for (char *w = strtok_r(copy, " ", &save); w;
			     w = strtok_r(NULL, " ", &save))
				(*places[l])[(*counts[l])++] = w;
		}
		command.has_shell = 1;
		command.shell = rows[i].shell;
		command.value = (char *)rows[i].value;
		rv = room_set_command(out, &arena, &command, &err);
		cr_expect_eq(rv == 0, rows[i].expected != NULL, "row %zu", i);
		if (rv < 0)
			continue;
		buf_printf(&got, "%s|", out->program);
		for (size_t a = 0; a < out->n_arguments; a++)
			buf_printf(&got, "%s%s", a ? " " : "", out->arguments[a]);
		cr_expect_str_eq(got.data, rows[i].expected, "row %zu", i);
		buf_free(&got);
	}
}

Test(rooms, environments)
{
	char *given[] = {"PATH=/agent", "A=agent", "B=agent", NULL};
	char *image[] = {"PATH=/image", "B=image", "C=image"};
	Mesita__ContainerLaunch *out =
		PROTO_NEW(&arena, Mesita__ContainerLaunch, mesita__container_launch__descriptor);
	Mesos__Environment__Variable said = MESOS__ENVIRONMENT__VARIABLE__INIT;
	Mesos__Environment__Variable hidden = MESOS__ENVIRONMENT__VARIABLE__INIT;
	Mesos__Environment__Variable *list[] = {&said, &hidden};
	Mesos__Environment more = MESOS__ENVIRONMENT__INIT;

	said.name = "C";
	said.value = "said";
	hidden.name = "D";
	hidden.has_type = 1;
	hidden.type = MESOS__ENVIRONMENT__VARIABLE__TYPE__SECRET;
	more.n_variables = 2;
	more.variables = list;
	out->environment = image;
	out->n_environment = 3;
	room_set_environment(out, &arena, given, &more);
	cr_assert_eq(out->n_environment, 4);
	cr_expect_str_eq(out->environment[0], "PATH=/image");
	cr_expect_str_eq(out->environment[1], "A=agent");
	cr_expect_str_eq(out->environment[2], "B=image");
	cr_expect_str_eq(out->environment[3], "C=said");
}

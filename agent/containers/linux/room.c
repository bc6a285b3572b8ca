/* See room.h. */
#include "agent/containers/linux/room.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/containers/image/image_files.h"
#include "agent/containers/linux/room_internal.h"
#include "agent/containers/network/network.h"
#include "agent/containers/sandbox.h"
#include "base/log/log.h"

/* ---- what is wanted ------------------------------------------------------------- */

const Mesos__Image *room_image(const Mesos__ContainerInfo *info)
{
	return info && info->type == MESOS__CONTAINER_INFO__TYPE__MESOS && info->mesos
		       ? info->mesos->image
		       : NULL;
}

bool room_wanted(const struct room_options *options, const Mesos__ContainerInfo *info)
{
	if (!options || (info && info->type != MESOS__CONTAINER_INFO__TYPE__MESOS))
		return false;
	return options->pids || options->ipc || room_image(info) ||
	       (options->networks && network_wanted(info)) ||
	       (info && options->file_systems && info->n_volumes);
}

static int refuse(struct err *err, const char *what)
{
	return err_set(err, ERR_INVALID, "%s", what);
}

static int check_sharing(const struct room_options *options, const Mesos__LinuxInfo *wish,
			 struct err *err)
{
	if (options->pids && options->shares_pids_never && wish->share_pid_namespace)
		return refuse(err, "Sharing agent pid namespace with top-level container is not "
				   "allowed");
	if (options->ipc && options->shares_ipc_never &&
	    wish->ipc_mode == MESOS__LINUX_INFO__IPC_MODE__SHARE_PARENT)
		return refuse(err, "Sharing agent IPC namespace with top-level container is not "
				   "allowed");
	return 0;
}

int room_check(const struct room_options *options, const Mesos__ContainerInfo *info, bool nested,
	       struct err *err)
{
	const Mesos__Image *image = room_image(info);

	if (!info)
		return 0;
	if (image && (!options || !options->store || image->type != MESOS__IMAGE__TYPE__DOCKER))
		return err_set(
			err, ERR_INVALID, "Unsupported container image type: %s",
			proto_enum_name(&mesos__image__type__descriptor, image->type, SPELL_V1));
	if (image && !image->docker)
		return refuse(err, "The image has no name");
	if (info->n_volumes && (!options || !options->file_systems))
		return refuse(err, "Volumes in ContainerInfo is not supported");
	if (network_wanted(info) && nested)
		return refuse(err,
			      "A nested container has the networks of the one it is inside of");
	for (size_t i = 0; i < info->n_network_infos && (!options || !options->networks); i++)
		if (info->network_infos[i]->name)
			return err_set(err, ERR_INVALID, "Unknown CNI network '%s'",
				       info->network_infos[i]->name);
	return options && info->linux_info && !nested
		       ? check_sharing(options, info->linux_info, err)
		       : 0;
}

/* ---- namespaces ------------------------------------------------------------------ */

static bool is_inside(const struct agent_launch *launch)
{
	return strchr(launch->container, '.') != NULL;
}

static void choose_namespaces(const struct room_options *options, const struct agent_launch *launch,
			      Mesita__ContainerLaunch *out)
{
	const Mesos__LinuxInfo *wish = launch->info ? launch->info->linux_info : NULL;
	bool shares_pids = wish && wish->has_share_pid_namespace && wish->share_pid_namespace;
	int ipc = wish && wish->has_ipc_mode ? (int)wish->ipc_mode : 0;
	bool shares_ipc = ipc == MESOS__LINUX_INFO__IPC_MODE__SHARE_PARENT ||
			  (ipc != MESOS__LINUX_INFO__IPC_MODE__PRIVATE && is_inside(launch));

	out->has_own_pids = options->pids && !shares_pids;
	out->own_pids = out->has_own_pids;
	out->has_shares_pids = options->pids && shares_pids && is_inside(launch);
	out->shares_pids = out->has_shares_pids;
	out->has_own_ipc = options->ipc && !shares_ipc;
	out->own_ipc = out->has_own_ipc;
	out->has_shares_ipc = options->ipc && shares_ipc && is_inside(launch);
	out->shares_ipc = out->has_shares_ipc;
	out->shm_size =
		wish && wish->has_shm_size ? (uint64_t)wish->shm_size << 20 : options->shm_size;
	out->has_shm_size = out->shm_size > 0;
}

/* ---- networks ---------------------------------------------------------------------- */

bool room_is_networked(const struct room_options *options, const char *container)
{
	struct arena arena;
	bool found;

	if (!options || !options->networks)
		return false;
	arena_init(&arena);
	found = !access(network_file(&arena, options->networks, container, "ns"), F_OK);
	arena_free(&arena);
	return found;
}

/* A line of it. */
static char *read_hostname(struct arena *arena, const char *path)
{
	char text[256] = "";
	FILE *file = fopen(path, "re");

	if (file && !fgets(text, sizeof(text), file))
		text[0] = 0;
	if (file)
		fclose(file);
	return arena_printf(arena, "%.*s", (int)strcspn(text, "\n"), text);
}

static void choose_network(const struct room_options *options, struct arena *arena,
			   const char *container, Mesita__ContainerLaunch *out)
{
	if (!room_is_networked(options, container))
		return;
	out->network = network_file(arena, options->networks, container, "ns");
	out->hostname =
		read_hostname(arena, network_file(arena, options->networks, container, "hostname"));
}

/* ---- root and sandbox -------------------------------------------------------------- */

static char *home_of(const struct room_options *options, const char *container)
{
	return xprintf("%s/%s", options->provisioner, container);
}

static int make_directory(const char *path, struct err *err)
{
	if (mkdir(path, 0755) && errno != EEXIST)
		return err_set(err, ERR_IO, "Cannot make '%s': %s", path, strerror(errno));
	return 0;
}

static char *in_home(struct arena *arena, const char *home, const char *name)
{
	return arena_printf(arena, "%s/%s", home, name);
}

static int make_root(const struct room_options *options, struct arena *arena,
		     const struct agent_launch *launch, const struct image *image,
		     Mesita__ContainerLaunch *out, struct err *err)
{
	char *home = home_of(options, launch->container);
	int rv = 0;

	out->root = in_home(arena, home, "rootfs");
	out->changes = arena_strdup(arena, home);
	out->layers_directory = arena_strdup(arena, image->layers_directory);
	out->layers = image->layers;
	out->n_layers = image->layer_count;
	out->has_copies = out->copies = options->copies;
	out->directory = options->image_runtime && *image->directory
				 ? arena_strdup(arena, image->directory)
				 : out->sandbox;
	if (options->image_runtime) {
		out->environment = image->environment;
		out->n_environment = image->environment_count;
		out->entrypoint = image->entrypoint;
		out->n_entrypoint = image->entrypoint_count;
		out->default_arguments = image->arguments;
		out->n_default_arguments = image->argument_count;
	}
	if (rv == 0)
		rv = make_directory(out->root, err);
	if (rv == 0 && !options->copies)
		rv = make_directory(in_home(arena, home, "upper"), err);
	if (rv == 0 && !options->copies)
		rv = make_directory(in_home(arena, home, "work"), err);
	free(home);
	return rv;
}

void room_remove(const struct room_options *options, const char *container)
{
	char *home = home_of(options, container);
	struct err err = {""};

	if (options->store)
		image_release(options->store, container);

	if (sandbox_remove(home, NULL, &err) < 0)
		log_warning("Cannot remove '%s': %s", home, err.text);
	free(home);
}

/* So that names are looked up as its network does, or the machine. */
static void mount_network_files(const struct room_options *options, const char *container,
				Mesita__ContainerLaunch *out, struct arena *arena)
{
	static const char *const files[] = {"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		Mesita__ContainerLaunch__Mount *mount;
		char *source = out->network ? network_file(arena, options->networks, container,
							   files[i] + strlen("/etc/"))
					    : NULL;

		if (!source || access(source, R_OK))
			source = out->root ? arena_strdup(arena, files[i]) : NULL;
		/* Without a root of its own there is nothing to mount it on where the machine has
		 * none. */
		if (!source || access(out->root ? source : files[i], R_OK))
			continue;
		mount = room_add_mount(out, arena, files[i]);
		mount->source = source;
		mount->has_read_only = mount->read_only = 1;
	}
}

/* The sandbox, and in it what is a link where there is no root of its own. */
static void mount_sandbox(Mesita__ContainerLaunch *out, struct arena *arena,
			  const struct agent_launch *launch)
{
	room_add_mount(out, arena, out->sandbox)->source = arena_strdup(arena, launch->sandbox);
	for (size_t i = 0; i < launch->volumes.count; i++) {
		const struct agent_volume *volume = &launch->volumes.items[i];
		Mesita__ContainerLaunch__Mount *mount = room_add_mount(
			out, arena, arena_printf(arena, "%s/%s", out->sandbox, volume->name));

		mount->source = arena_strdup(arena, volume->path);
	}
}

static void choose_user(const struct room_options *options, struct arena *arena,
			const struct agent_launch *launch, const struct user *user,
			const struct image *image, Mesita__ContainerLaunch *out)
{
	out->has_uid = out->has_gid = 1;
	out->uid = user ? user->uid : geteuid();
	out->gid = user ? user->gid : getegid();
	if (user) {
		out->has_switches_user = out->switches_user = 1;
		out->n_groups = user->group_count;
		out->groups = arena_memdup(arena, user->groups,
					   user->group_count * sizeof(*user->groups));
	}
	/* Who is named by the command counts more. */
	if (image && options->image_runtime && *image->user && launch->user &&
	    !launch->command->user)
		out->user_name = arena_strdup(arena, image->user);
}

static int take_image(const struct room_options *options, struct arena *arena,
		      const struct agent_launch *launch, struct image *out, struct err *err)
{
	const Mesos__Image *wanted = room_image(launch->info);
	char *home = home_of(options, launch->container);
	int rv = sandbox_make_directories(home, err);

	if (rv == 0)
		rv = image_take(options->store, wanted->docker->name, launch->container, home,
				arena, out, err);
	free(home);
	return rv;
}

int room_make(const struct room_options *options, struct arena *arena,
	      const struct agent_launch *launch, const struct user *user,
	      Mesita__ContainerLaunch *out, struct err *err)
{
	struct image taken, *image = room_image(launch->info) ? &taken : NULL;
	int rv = 0;

	if (image && !launch->session)
		rv = take_image(options, arena, launch, image, err);
	if (rv < 0)
		return rv;
	choose_user(options, arena, launch, user, image, out);
	if (launch->session) {
		out->has_follows_user = out->follows_user = !launch->command->user && launch->user;
		return 0;
	}
	choose_namespaces(options, launch, out);
	choose_network(options, arena, launch->container, out);
	out->sandbox = arena_strdup(arena, image ? options->sandbox_directory : launch->sandbox);
	out->directory = out->sandbox;
	if (image) {
		rv = make_root(options, arena, launch, image, out, err);
		mount_sandbox(out, arena, launch);
	}
	mount_network_files(options, launch->container, out, arena);
	return rv < 0 ? rv : room_add_volumes(options, arena, launch, out, err);
}

/* The parts of the shell that --isolation asks for. */
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/containers/disk_watch.h"
#include "agent/containers/network/network.h"
#include "agent/core/show.h"
#include "agent/shell.h"

static void watch_disk(void *context, const struct shown_container *c)
{
	disk_watch_add(context, c->container, c->directory, (uint64_t)(c->disk * 1024 * 1024));
}

static void list_disks(void *context, struct disk_watch *watch)
{
	const struct agent_view all = {.agent = ((struct agent_shell *)context)->steps.core};

	agent_show_each_container(&all, watch_disk, watch);
}

/* Of one that is over, or about to be, nobody hears. */
static void disk_full(void *context, const struct agent_event *event)
{
	containers_limited(((struct agent_shell *)context)->containers, event);
}

void agent_shell_watch_disks(struct agent_shell *shell)
{
	const struct disk_watch_options options = {
		.loop = &shell->loop,
		.pool = shell->slow,
		.interval = shell->flags->container_disk_watch_interval,
		.enforced = shell->flags->enforce_container_disk_quota,
		.list = list_disks,
		.report = disk_full,
		.context = shell,
	};

	if (shell->flags->isolated.disk)
		shell->disks = disk_watch_create(&options);
}

int agent_shell_open_groups(struct agent_shell *shell, struct err *err)
{
	const struct agent_flags *f = shell->flags;
	const struct cgroups_options options = {
		.hierarchy = f->cgroups_hierarchy,
		.root = f->cgroups_root,
		.controllers = f->isolated.controllers,
		.every = f->isolated.every,
		.cfs = f->cgroups_enable_cfs,
		.limit_swap = f->cgroups_limit_swap,
	};

	return f->isolated.groups ? cgroups_open(&options, &shell->groups, err) : 0;
}

/* Whether mounts of our own can be made, by a child that tries. */
static bool can_mount(void)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0)
		_exit(unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET) ? 1 : 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int agent_shell_open_rooms(struct agent_shell *shell, struct err *err)
{
	const struct agent_flags *f = shell->flags;
	const struct isolation *isolated = &f->isolated;

	if (!isolated->file_systems && !isolated->pids && !isolated->ipc &&
	    !f->network_cni_plugins_dir)
		return 0;
	if (!can_mount())
		return err_set(
			err, ERR_STATE,
			"--isolation=%s: containers cannot have namespaces of their own; the "
			"agent must run as root with CAP_SYS_ADMIN, or without filesystem/linux, "
			"namespaces/... and --network_cni_plugins_dir",
			f->isolation);
	shell->has_rooms = true;
	shell->rooms = (struct room_options){
		.file_systems = isolated->file_systems,
		.pids = isolated->pids,
		.ipc = isolated->ipc,
		.host_paths = isolated->host_paths,
		.sandbox_paths = isolated->sandbox_paths,
		.secrets = isolated->secrets,
		.image_runtime = isolated->image_runtime,
		.shares_pids_never = f->disallow_sharing_agent_pid_namespace,
		.shares_ipc_never = f->disallow_sharing_agent_ipc_namespace,
		.sandbox_directory = f->sandbox_directory,
		.provisioner =
			arena_printf(&shell->arena, "%s/provisioner/containers", f->work_dir),
		.store = f->image_providers ? f->docker_store_dir : NULL,
		.copies = !strcmp(f->image_provisioner_backend, "copy"),
		.shm_size = f->default_container_shm_size,
		.networks = f->network_cni_plugins_dir ? f->runtime_dir : NULL,
	};
	return 0;
}

void agent_shell_open_networks(struct agent_shell *shell)
{
	const struct agent_flags *f = shell->flags;
	const struct networks_options options = {
		.loop = &shell->loop,
		.pool = shell->slow,
		.program = shell->program,
		.runtime_dir = f->runtime_dir,
		.plugins = f->network_cni_plugins_dir,
		.configurations = f->network_cni_config_dir,
	};

	if (f->network_cni_plugins_dir)
		shell->networks = networks_create(&options);
}

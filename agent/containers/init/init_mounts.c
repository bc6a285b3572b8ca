/* What a container sees of file systems. Sources are opened before the root is changed, and put
 * into place after it: so no link in an image leads out of it.
 *
 * In a container without a root file system of its own, mount points are made below the sandbox
 * alone, and no link in there is followed: its owner may have put anything there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/containers/init/init_internal.h"
#include "agent/containers/posix/spawn.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"

static int mount_failed(struct err *err, const char *path)
{
	return err_set(err, ERR_IO, "Failed to mount '%s': %s", path, strerror(errno));
}

/* ---- the root ------------------------------------------------------------------------ */

static int mount_layers(const Mesita__ContainerLaunch *launch, struct err *err)
{
	struct buf options = BUF_INIT;
	int rv = 0;

	/* Names of layers are relative: the options of a mount have room for a page. */
	if (chdir(launch->layers_directory))
		return err_set(err, ERR_IO, "Cannot enter '%s': %s", launch->layers_directory,
			       strerror(errno));
	buf_printf(&options, "lowerdir=");
	for (size_t i = 0; i < launch->n_layers; i++)
		buf_printf(&options, "%s%s", i ? ":" : "", launch->layers[i]);
	buf_printf(&options, ",upperdir=%s/upper,workdir=%s/work", launch->changes,
		   launch->changes);
	if (mount("overlay", launch->root, "overlay", 0, options.data))
		rv = mount_failed(err, launch->root);
	buf_free(&options);
	return rv;
}

/* All that the layers show, in a directory of its own: overlaid for reading alone, which any file
 * system can be. */
static int copy_layers(const Mesita__ContainerLaunch *launch, struct err *err)
{
	char *from = xprintf("%s/merged", launch->changes);
	char *empty = xprintf("%s/empty", launch->changes);
	struct buf options = BUF_INIT;
	char *source = xprintf("%s/.", from);
	char *argv[] = {"cp", "-a", "--", source, launch->root, NULL};
	const struct spawn spawn = {
		.program = "cp",
		.arguments = argv,
		.environment = argv + 5,
		.directory = "/",
		.input = STDIN_FILENO,
		.output = STDERR_FILENO,
		.error = STDERR_FILENO,
	};
	pid_t pid;
	int status, rv = 0;

	buf_printf(&options, "lowerdir=%s", empty);
	for (size_t i = 0; i < launch->n_layers; i++)
		buf_printf(&options, ":%s", launch->layers[i]);
	if (chdir(launch->layers_directory) || mkdir(from, 0755) || mkdir(empty, 0755) ||
	    mount("overlay", from, "overlay", MS_RDONLY, options.data))
		rv = mount_failed(err, from);
	pid = rv < 0 ? rv : spawn_process(&spawn, err);
	if (pid > 0 && (waitpid(pid, &status, 0) != pid || status))
		rv = err_set(err, ERR_IO, "Failed to copy the image to '%s'", launch->root);
	umount2(from, MNT_DETACH);
	buf_free(&options);
	free(source);
	free(empty);
	free(from);
	return pid < 0 ? ERR_IO : rv;
}

static int mount_root(const Mesita__ContainerLaunch *launch, struct err *err)
{
	if (launch->n_layers && !launch->copies)
		return mount_layers(launch, err);
	if (launch->copies && copy_layers(launch, err) < 0)
		return ERR_IO;
	if (mount(launch->root, launch->root, NULL, MS_BIND | MS_REC, NULL))
		return mount_failed(err, launch->root);
	return 0;
}

static int change_root(const char *root, struct err *err)
{
	/* The old root lies on the new one after the call. */
	if (chdir(root) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) ||
	    chdir("/"))
		return err_set(err, ERR_IO, "Failed to change the root to '%s': %s", root,
			       strerror(errno));
	return 0;
}

int room_make_directory(const char *path, struct err *err)
{
	char *copy = xstrdup(path);
	int rv = 0;

	for (char *at = copy; rv == 0 && *at; at++) {
		if (*at != '/' || at == copy)
			continue;
		*at = 0;
		mkdir(copy, 0755);
		*at = '/';
	}
	if (mkdir(copy, 0755) && errno != EEXIST)
		rv = err_set(err, ERR_IO, "Failed to make '%s': %s", path, strerror(errno));
	free(copy);
	return rv;
}

/* ---- what each root file system has -------------------------------------------------- */

struct usual_mount {
	const char *type, *target;
	unsigned long flags;
	const char *options;
};

static const struct usual_mount usual_mounts[] = {
	{"proc", "/proc", MS_NOSUID | MS_NOEXEC | MS_NODEV, NULL},
	{"sysfs", "/sys", MS_RDONLY | MS_NOSUID | MS_NOEXEC | MS_NODEV, NULL},
	{"tmpfs", "/dev", MS_NOSUID | MS_NOEXEC | MS_STRICTATIME, "mode=755,size=64k"},
	{"devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"},
	{"tmpfs", "/dev/shm", MS_NOSUID | MS_NODEV | MS_STRICTATIME, "mode=1777"},
};

static const struct {
	const char *path;
	unsigned major, minor;
} devices[] = {
	{"/dev/null", 1, 3},   {"/dev/zero", 1, 5},    {"/dev/full", 1, 7},
	{"/dev/random", 1, 8}, {"/dev/urandom", 1, 9}, {"/dev/tty", 5, 0},
};

static const struct {
	const char *to, *path;
} device_links[] = {
	{"/proc/self/fd", "/dev/fd"},	    {"/proc/self/fd/0", "/dev/stdin"},
	{"/proc/self/fd/1", "/dev/stdout"}, {"/proc/self/fd/2", "/dev/stderr"},
	{"pts/ptmx", "/dev/ptmx"},
};

/* With these a process could change the machine. */
static const char *const read_only_paths[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
					      "/proc/sysrq-trigger"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int make_devices(struct err *err)
{
	for (size_t i = 0; i < COUNT(devices); i++) {
		if (mknod(devices[i].path, S_IFCHR | 0666,
			  makedev(devices[i].major, devices[i].minor)) ||
		    chmod(devices[i].path, 0666))
			return err_set(err, ERR_IO, "Failed to make '%s': %s", devices[i].path,
				       strerror(errno));
	}
	for (size_t i = 0; i < COUNT(device_links); i++)
		if (symlink(device_links[i].to, device_links[i].path))
			return err_set(err, ERR_IO, "Failed to make '%s': %s", device_links[i].path,
				       strerror(errno));
	return 0;
}

static int furnish(struct err *err)
{
	for (size_t i = 0; i < COUNT(usual_mounts); i++) {
		const struct usual_mount *usual = &usual_mounts[i];

		if (room_make_directory(usual->target, err) < 0)
			return ERR_IO;
		if (mount(usual->type, usual->target, usual->type, usual->flags, usual->options))
			return mount_failed(err, usual->target);
	}
	for (size_t i = 0; i < COUNT(read_only_paths); i++) {
		const char *path = read_only_paths[i];

		/* Not every kernel has all of them. */
		if (!mount(path, path, NULL, MS_BIND | MS_REC, NULL))
			mount(NULL, path, NULL,
			      MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NOEXEC | MS_NODEV,
			      NULL);
	}
	return make_devices(err);
}

/* ---- mounts that the launch names ----------------------------------------------------- */

/* One step towards a mount point; closes `above`. */
static int step_into(int above, const char *name, bool directory, int flags)
{
	int fd = openat(above, name, O_PATH | O_CLOEXEC | flags);

	if (fd < 0 && errno == ENOENT) {
		int made = directory ? mkdirat(above, name, 0755)
				     : openat(above, name, O_CREAT | O_EXCL | O_CLOEXEC, 0644);

		if (!directory && made >= 0)
			close(made);
		fd = openat(above, name, O_PATH | O_CLOEXEC | flags);
	}
	close(above);
	return fd;
}

/* The mount point, made if it is not there, as a descriptor; -1: errno. `top`: from where `path`
 * goes on. */
static int make_point(const char *top, const char *path, bool directory, int flags)
{
	char *copy = xstrdup(path), *save = NULL;
	int fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (char *name = strtok_r(copy, "/", &save), *next; name && fd >= 0; name = next) {
		next = strtok_r(NULL, "/", &save);
		if (!strcmp(name, "..")) {
			close(fd);
			errno = EINVAL;
			fd = -1;
		} else if (strcmp(name, ".") != 0) {
			fd = step_into(fd, name, next || directory, flags);
		}
	}
	free(copy);
	return fd;
}

static int open_tree_at(const char *path, bool recursive)
{
	return open_tree(AT_FDCWD, path,
			 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
				 (recursive ? (unsigned)AT_RECURSIVE : 0U));
}

/* The content in a file that lives in memory alone; nobody else ever sees where it was. */
static int open_content(const Mesita__ContainerLaunch__Mount *secret,
			const Mesita__ContainerLaunch *launch)
{
	static const char *const path = "/tmp/content";
	bool mounted =
		!mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=700");
	int fd = mounted ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400) : -1,
	    tree = -1;

	if (fd >= 0 && !fchown(fd, launch->uid, launch->gid) &&
	    write(fd, secret->content.data, secret->content.len) == (ssize_t)secret->content.len)
		tree = open_tree_at(path, false);
	if (fd >= 0)
		close(fd);
	if (mounted)
		umount2("/tmp", MNT_DETACH);
	return tree;
}

/* A part of a sandbox; one that is made here is the user's. */
static int open_part(const Mesita__ContainerLaunch__Mount *part,
		     const Mesita__ContainerLaunch *launch)
{
	int point = make_point(part->below, part->source, true, O_NOFOLLOW), tree = -1;
	struct stat info;

	if (point < 0)
		return -1;
	if (!fstat(point, &info) && !S_ISLNK(info.st_mode) &&
	    (info.st_uid || !launch->uid ||
	     !fchownat(point, "", launch->uid, launch->gid, AT_EMPTY_PATH)))
		tree = open_tree(point, "",
				 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH |
					 AT_RECURSIVE);
	close(point);
	return tree;
}

static int open_any(const Mesita__ContainerLaunch__Mount *mount,
		    const Mesita__ContainerLaunch *launch)
{
	if (mount->has_content)
		return open_content(mount, launch);
	return mount->below ? open_part(mount, launch) : open_tree_at(mount->source, true);
}

static int open_source(const Mesita__ContainerLaunch__Mount *mount,
		       const Mesita__ContainerLaunch *launch, struct err *err)
{
	struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};
	int fd = open_any(mount, launch);

	if (fd >= 0 && mount->read_only &&
	    mount_setattr(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof(attributes))) {
		close(fd);
		fd = -1;
	}
	return fd < 0 ? mount_failed(err, mount->source ? mount->source : mount->target) : fd;
}

static bool is_below(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	return !strncmp(path, directory, len) && (path[len] == '/' || !path[len]);
}

static int put_into_place(const Mesita__ContainerLaunch *launch, int source, const char *target,
			  struct err *err)
{
	struct stat info;
	bool directory = !fstat(source, &info) && S_ISDIR(info.st_mode);
	const char *sandbox = launch->sandbox;
	int point, rv = 0;

	if (sandbox && is_below(target, sandbox) && strcmp(target, sandbox) != 0)
		point = make_point(sandbox, target + strlen(sandbox), directory, O_NOFOLLOW);
	else if (launch->root)
		point = make_point("/", target, directory, 0);
	else
		point = open(target, O_PATH | O_CLOEXEC);
	if (point < 0 ||
	    move_mount(source, "", point, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH))
		rv = err_set(err, ERR_IO, "Failed to mount something at '%s': %s", target,
			     strerror(errno));
	if (point >= 0)
		close(point);
	return rv;
}

static int mount_shm(const Mesita__ContainerLaunch *launch, struct err *err)
{
	char options[64];

	if (!launch->own_ipc)
		return 0;
	if (launch->has_shm_size)
		snprintf(options, sizeof(options), "mode=1777,size=%llu",
			 (unsigned long long)launch->shm_size);
	else
		snprintf(options, sizeof(options), "mode=1777");
	if (mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, options))
		return mount_failed(err, "/dev/shm");
	return 0;
}

/* A root file system, or the machine's as it is. */
static int lay_floor(const Mesita__ContainerLaunch *launch, struct err *err)
{
	if (launch->root)
		return change_root(launch->root, err) < 0 ? ERR_IO : furnish(err);
	if ((launch->own_pids || launch->shares_pids) &&
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NOEXEC | MS_NODEV, NULL))
		return mount_failed(err, "/proc");
	return 0;
}

int room_mount(const Mesita__ContainerLaunch *launch, struct err *err)
{
	int *sources = xcalloc(launch->n_mounts + 1, sizeof(*sources)), rv = 0;

	/* The machine's mounts reach it, its own stay with it. */
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
		rv = mount_failed(err, "/");
	if (rv == 0 && launch->root)
		rv = mount_root(launch, err);
	for (size_t i = 0; i < launch->n_mounts && rv >= 0; i++)
		rv = sources[i] = open_source(launch->mounts[i], launch, err);
	if (rv >= 0)
		rv = lay_floor(launch, err);
	if (rv >= 0)
		rv = mount_shm(launch, err);
	for (size_t i = 0; i < launch->n_mounts && rv >= 0; i++)
		rv = put_into_place(launch, sources[i], launch->mounts[i]->target, err);
	/* Descriptors that are left end with the process, which does so after a failure. */
	for (size_t i = 0; i < launch->n_mounts && rv >= 0; i++)
		close(sources[i]);
	free(sources);
	return rv < 0 ? rv : 0;
}

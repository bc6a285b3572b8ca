/* What a container has of its own beyond processes, limits and a sandbox: namespaces, volumes that
 * are mounted, a root file system from an image. Turns what is asked for into the message that
 * `mesita init` carries out. */
#ifndef AGENT_CONTAINERS_LINUX_ROOM_H
#define AGENT_CONTAINERS_LINUX_ROOM_H

#include "agent/containers/user.h"
#include "agent/core/agent.h"

/* What --isolation and its flags allow. */
struct room_options {
	bool file_systems; /* filesystem/linux: mounts, images */
	bool pids;	   /* namespaces/pid */
	bool ipc;	   /* namespaces/ipc */
	bool host_paths;   /* volume/host_path */
	bool sandbox_paths;
	bool secrets;
	bool image_runtime; /* docker/runtime: what an image says of running it counts */
	bool shares_pids_never, shares_ipc_never; /* executors' containers with the machine */
	const char *sandbox_directory;		  /* where the sandbox is in images */
	const char *provisioner;		  /* <work_dir>/provisioner/containers */
	const char *store;			  /* of images; NULL: there are none */
	bool copies;				  /* images are copied, not overlaid */
	uint64_t shm_size;			  /* default; bytes, 0: the kernel's */
	const char *networks; /* runtime_dir, below which they are; NULL: none */
};

/* Whether a container (info may be NULL) gets anything of its own. `options` NULL: none does. */
bool room_wanted(const struct room_options *options, const Mesos__ContainerInfo *info);
/* Whether it, or the outermost that it is inside of, has joined networks. */
bool room_is_networked(const struct room_options *options, const char *container);
/* Its root file system, or NULL. */
const Mesos__Image *room_image(const Mesos__ContainerInfo *info);
/* ERR_INVALID: it asks for what the options do not allow, in Mesos' words. `nested`: it is inside
 * of another container. */
int room_check(const struct room_options *options, const Mesos__ContainerInfo *info, bool nested,
	       struct err *err);

/* Fills namespaces, mounts and the root in; its image is in the store. `user`: who runs it, NULL:
 * we. All new memory is in the arena. May be slow. */
int room_make(const struct room_options *options, struct arena *arena,
	      const struct agent_launch *launch, const struct user *user,
	      Mesita__ContainerLaunch *out, struct err *err);
/* Removes what was made on disk for a container that is over; fine if there is nothing. May be
 * slow. */
void room_remove(const struct room_options *options, const char *container);

/* Program and arguments, by the command and the image's own. ERR_INVALID: there is neither. */
int room_set_command(Mesita__ContainerLaunch *launch, struct arena *arena,
		     const Mesos__CommandInfo *command, struct err *err);
/* Environment "NAME=VALUE": `given`, then what the image says, then what the command says. */
void room_set_environment(Mesita__ContainerLaunch *launch, struct arena *arena, char *const *given,
			  const Mesos__Environment *said);

#endif

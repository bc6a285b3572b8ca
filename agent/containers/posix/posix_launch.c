/* From the launch of a container to its first process: sandbox, links of volumes, URIs; see
 * posix.h. What fails on the way is answered by its stage, and nothing of it is left. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/containers/container_info.h"
#include "agent/containers/fetch/fetcher.h"
#include "agent/containers/linux/room.h"
#include "agent/containers/posix/posix_internal.h"
#include "agent/containers/posix/posix_parts.h"
#include "agent/containers/sandbox.h"
#include "agent/containers/seccomp_filter.h"
#include "agent/containers/volume_dirs.h"
#include "base/log/log.h"
#include "base/memory/arena.h"

extern char **environ;

/* ---- starting ------------------------------------------------------------ */

void posix_free_start(struct posix_start *start)
{
	if (!start)
		return;
	if (start->session && start->spawn.input >= 0)
		close(start->spawn.input);
	if (start->spawn.output >= 0)
		close(start->spawn.output);
	if (start->spawn.error >= 0)
		close(start->spawn.error);
	proto_free(start->command);
	if (start->message)
		close(start->message);
	if (start->listener)
		close(start->listener);
	user_free(&start->user);
	arena_free(&start->arena);
	free(start);
}

void posix_start(void *context, const char *id)
{
	struct posix *posix = context;
	struct posix_container *container = posix_find(posix, id);
	struct spawn spawn = container->start->spawn;
	struct err err = {""};

	spawn.listener = container->start->listener;
	/* What is in the room is made by us, and switches to the user itself. */
	if (container->start->message) {
		spawn.message = container->start->message;
		spawn.user = NULL;
		spawn.limit_count = 0;
		spawn.capabilities = NULL;
		spawn.filter = NULL;
	}
	if (posix_start_process(container, &spawn, &err) < 0) {
		containers_failed(posix->containers, id, AGENT_STAGE_LAUNCH, err.text);
		return;
	}
	posix_free_start(container->start);
	container->start = NULL;
	posix_group_watch(container);
	containers_started(posix->containers, id, container->pid, container->start_ticks);
}

/* ---- fetching ------------------------------------------------------------ */

static int fetch_input(const Mesos__CommandInfo *command, struct err *err)
{
	int fd = memfd_create("fetch", MFD_CLOEXEC);
	struct buf bytes = BUF_INIT;
	size_t done = 0;

	proto_pack(command, &bytes);
	while (fd >= 0 && done < bytes.len) {
		ssize_t put = write(fd, bytes.data + done, bytes.len - done);

		if (put < 0)
			break;
		done += (size_t)put;
	}
	if (fd < 0 || done < bytes.len || lseek(fd, 0, SEEK_SET)) {
		err_set(err, ERR_IO, "Failed to pass the URIs on: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = ERR_IO;
	}
	buf_free(&bytes);
	return fd;
}

#define FETCH_ARGUMENTS 12

static int add_cache(const struct fetch_claim *claim, struct arena *arena, char **argv, int count)
{
	struct buf list = BUF_INIT;

	fetch_claim_list(claim, &list);
	if (list.len) {
		argv[count++] =
			arena_printf(arena, "--cache_directory=%s", fetch_claim_directory(claim));
		argv[count++] = arena_printf(arena, "--cache_space=%lluB",
					     (unsigned long long)fetch_claim_space(claim));
		argv[count++] = arena_printf(arena, "--cache=%s", list.data);
	}
	buf_free(&list);
	return count;
}

static int start_fetcher(struct posix_container *container, struct err *err)
{
	const struct posix_options *options = &container->owner->options;
	struct posix_start *start = container->start;
	struct arena *arena = &start->arena;
	struct spawn spawn = start->spawn;
	char *argv[FETCH_ARGUMENTS] = {"mesita", "fetch"};
	int rv, count = 2;

	argv[count++] = arena_printf(arena, "--directory=%s", spawn.directory);
	argv[count++] = arena_printf(arena, "--stall_timeout=%lldns",
				     (long long)options->fetcher_stall_timeout);
	if (options->frameworks_home && *options->frameworks_home)
		argv[count++] =
			arena_printf(arena, "--frameworks_home=%s", options->frameworks_home);
	if (options->hadoop_home)
		argv[count++] = arena_printf(arena, "--hadoop_home=%s", options->hadoop_home);
	if (container->claim)
		count = add_cache(container->claim, arena, argv, count);
	spawn.program = options->program;
	spawn.arguments = argv;
	spawn.environment = environ;
	/* Those are for the program that is fetched. */
	spawn.limit_count = 0;
	spawn.capabilities = NULL;
	spawn.filter = NULL;
	spawn.input = fetch_input(start->command, err);
	if (spawn.input < 0)
		return ERR_IO;
	rv = posix_start_process(container, &spawn, err);
	close(spawn.input);
	container->fetching = rv == 0;
	return rv;
}

/* All that it waited for is there, or will not be. */
static void fetch_ready(void *context)
{
	struct posix_container *container = context;
	struct err err = {""};

	if (start_fetcher(container, &err) < 0)
		containers_failed(container->owner->containers, container->id, AGENT_STAGE_LAUNCH,
				  err.text);
}

void posix_fetch(void *context, const char *id)
{
	struct posix *posix = context;
	struct posix_container *container = posix_find(posix, id);
	struct posix_start *start = container->start;

	if (fetch_cache_wanted(start->command))
		container->claim = fetch_cache_claim(posix->options.cache, start->user_name,
						     start->command, fetch_ready, container);
	if (!container->claim || !fetch_claim_waits(container->claim))
		fetch_ready(container);
}

bool posix_fetch_waits(const struct posix_container *container)
{
	return container->claim && fetch_claim_waits(container->claim);
}

static void gave_up(struct posix_job *job)
{
	containers_failed(job->container->owner->containers, job->container->id, AGENT_STAGE_LAUNCH,
			  "What it needs is fetched no more");
}

void posix_prepare_give_up(struct posix_container *container)
{
	posix_begin_job(container, NULL, gave_up, xcalloc(1, sizeof(struct posix_job)));
}

void posix_fetch_give_up(struct posix_container *container)
{
	fetch_claim_release(container->claim);
	container->claim = NULL;
	posix_prepare_give_up(container);
}

void posix_fetch_ended(struct posix_container *container, int status)
{
	struct containers *containers = container->owner->containers;
	char text[256];

	fetch_claim_release(container->claim);
	container->claim = NULL;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		containers_fetched(containers, container->id);
		return;
	}
	if (WIFEXITED(status))
		snprintf(text, sizeof(text),
			 "Failed to fetch all URIs for container '%s': exited with status %d",
			 container->id, WEXITSTATUS(status));
	else
		snprintf(text, sizeof(text),
			 "Failed to fetch all URIs for container '%s': terminated with signal %s",
			 container->id, strsignal(WTERMSIG(status)));
	containers_failed(containers, container->id, AGENT_STAGE_LAUNCH, text);
}

/* ---- preparing ----------------------------------------------------------- */

static char *const *copy_strings(struct arena *arena, char *const *list)
{
	size_t count = 0;
	char **copy;

	while (list && list[count])
		count++;
	copy = arena_alloc(arena, (count + 1) * sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		copy[i] = arena_strdup(arena, list[i]);
	return copy;
}

static int find_user(const char *name, struct posix_start *start, struct err *err)
{
	int rv;

	if (!name)
		return 0;
	rv = user_find(name, &start->user, err);
	if (rv < 0)
		return err_wrap(err, rv, "Failed to chown directory to '%s'", name);
	start->switches_user = start->user.uid != geteuid();
	return 0;
}

static int prepare_sandbox(const struct agent_launch *launch, struct posix_start *start,
			   struct err *err)
{
	struct spawn *spawn = &start->spawn;
	const struct user *user;
	int rv = find_user(launch->user, start, err);

	user = start->switches_user ? &start->user : NULL;
	if (rv == 0)
		rv = sandbox_create(launch->sandbox, launch->user, user, err);
	if (rv == 0 && *launch->executor_id && !strchr(launch->container, '.'))
		rv = sandbox_link_latest(launch->sandbox, err);
	if (rv == 0)
		rv = spawn->output = sandbox_open_output(launch->sandbox, "stdout", user, err);
	if (rv >= 0)
		rv = spawn->error = sandbox_open_output(launch->sandbox, "stderr", user, err);
	if (rv < 0)
		return err_wrap(err, rv, "Failed to create executor directory '%s'",
				launch->sandbox);
	spawn->user = user;
	spawn->directory = arena_strdup(&start->arena, launch->sandbox);
	return 0;
}

/* It works where its parent does. */
static int prepare_session(struct posix_container *container, const struct agent_launch *launch,
			   struct err *err)
{
	struct posix_start *start = container->start;
	int rv = find_user(launch->user, start, err);

	start->spawn.user = start->switches_user ? &start->user : NULL;
	start->spawn.directory = arena_strdup(&start->arena, launch->sandbox);
	return rv < 0 ? rv : posix_session_open(container, launch->info, err);
}

/* Without its directory nothing is cached, and all is fetched. */
static void prepare_cache(struct posix_container *container, const struct agent_launch *launch)
{
	struct posix_start *start = container->start;
	struct err err = {""};

	start->user_name = launch->user;
	if (fetch_cache_wanted(launch->command) &&
	    fetch_cache_prepare(container->owner->options.cache, launch->user,
				start->switches_user ? &start->user : NULL, &err) < 0)
		log_warning("Cannot use the fetcher's cache: %s", err.text);
}

static int prepare_rest(struct posix_job *job, struct err *err)
{
	struct posix_container *container = job->container;
	struct posix_start *start = container->start;
	const struct agent_launch *launch = &start->launch;
	/* In an image they are mounted. */
	int rv = room_image(launch->info) ? 0 : volume_link(launch->sandbox, &launch->volumes, err);

	if (rv < 0)
		return rv;
	rv = fetch_validate(launch->command, err);
	if (rv < 0) {
		job->prepare.unfetchable = true;
		return err_wrap(err, rv, "Could not fetch");
	}
	prepare_cache(container, launch);
	start->room = posix_room_kind(container, launch);
	rv = posix_program_choose(container, err);
	return rv;
}

static bool needs_image(const struct posix_start *start)
{
	return start->room && start->room != POSIX_ROOM_PARENT && room_image(start->launch.info);
}

/* A Docker container is run by the command executor, which is our own program. */
static int check_info(struct posix_container *container, const struct agent_launch *launch,
		      enum agent_start_stage *stage, struct err *err)
{
	const struct posix_options *options = &container->owner->options;

	if (!options->docker || !launch->info ||
	    launch->info->type != MESOS__CONTAINER_INFO__TYPE__DOCKER || !launch->command->value ||
	    strcmp(launch->command->value, options->program))
		return container_info_check(options->rooms, launch->info,
					    strchr(launch->container, '.') != NULL, stage, err);
	*stage = AGENT_STAGE_LAUNCH;
	container->docker = true;
	return posix_docker_mark(container, err);
}

/* When its image, if it has one, is there. On a thread. */
static void finish_work(struct posix_job *job)
{
	struct posix_container *container = job->container;
	const struct agent_launch *launch = &container->start->launch;
	struct err *err = &job->prepare.err;
	int rv = 0;

	job->prepare.stage = AGENT_STAGE_LAUNCH;
	if (container->start->room)
		rv = posix_room_make(container, launch, err);
	/* Last: what fails before it leaves no group behind. */
	if (rv == 0 && launch->limited && container->owner->options.groups) {
		rv = posix_group_make(container, launch, err);
		job->prepare.grouped = rv == 0;
	}
	job->prepare.rv = rv;
}

/* On a thread, to which the start belongs meanwhile. */
static void prepare_work(struct posix_job *job)
{
	struct posix_start *start = job->container->start;
	const struct agent_launch *launch = &start->launch;
	struct err *err = &job->prepare.err;

	job->prepare.stage = AGENT_STAGE_SANDBOX;
	job->prepare.rv = launch->session ? prepare_session(job->container, launch, err)
					  : prepare_sandbox(launch, start, err);
	if (job->prepare.rv < 0)
		return;
	job->prepare.rv = check_info(job->container, launch, &job->prepare.stage, err);
	if (job->prepare.rv < 0)
		return;
	job->prepare.stage = AGENT_STAGE_LAUNCH;
	job->prepare.rv = prepare_rest(job, err);
	if (job->prepare.rv == 0 && !needs_image(start) && !posix_network_needed(job->container))
		finish_work(job);
}

static void finish_done(struct posix_job *job)
{
	struct posix_container *container = job->container;
	struct containers *containers = container->owner->containers;

	if (job->prepare.unfetchable)
		containers_counters(containers)->fetches_failed++;
	if (job->prepare.grouped)
		posix_group_made(container);
	if (job->prepare.rv < 0)
		containers_failed(containers, container->id, job->prepare.stage,
				  job->prepare.err.text);
	else
		containers_prepared(containers, container->id, container->start->command->n_uris);
}

static void prepare_done(struct posix_job *job)
{
	if (job->prepare.rv == 0 && needs_image(job->container->start))
		posix_room_await_image(job->container);
	else if (job->prepare.rv == 0 && posix_network_needed(job->container))
		posix_network_await(job->container);
	else
		finish_done(job);
}

void posix_prepare_on(struct posix_container *container)
{
	posix_begin_job(container, finish_work, finish_done, xcalloc(1, sizeof(struct posix_job)));
}

/* What outlives the call of containers_launch(). */
static struct agent_launch copy_launch(const struct agent_launch *launch, struct posix_start *start)
{
	struct arena *arena = &start->arena;
	struct agent_launch copy = {
		.container = arena_strdup(arena, launch->container),
		.executor_id = arena_strdup(arena, launch->executor_id),
		.sandbox = arena_strdup(arena, launch->sandbox),
		.session = launch->session,
		.limits = launch->limits,
		.limited = launch->limited,
		.user = launch->user ? arena_strdup(arena, launch->user) : NULL,
		.command = start->command = proto_copy(launch->command),
		.info = proto_copy_to(arena, launch->info),
		.above = proto_copy_to(arena, launch->above),
		.volumes = volumes_copy(arena, &launch->volumes),
	};

	return copy;
}

/* It runs, so its pid is its own. */
static int64_t parent_pid(const struct posix *posix, const char *id)
{
	const char *dot = strrchr(id, '.');
	char *parent = dot ? xstrndup(id, (size_t)(dot - id)) : NULL;
	int64_t pid = parent ? containers_pid(posix->containers, parent) : 0;

	free(parent);
	return pid;
}

void posix_prepare(void *context, const struct agent_launch *launch)
{
	struct posix *posix = context;
	struct posix_container *container = posix_add(posix, launch->container);
	struct posix_start *start = container->start = xcalloc(1, sizeof(*start));
	struct posix_job *job = xcalloc(1, sizeof(*job));

	container->parent_pid = parent_pid(posix, launch->container);
	arena_init(&start->arena);
	/* A session's is its own, and closed with the start; the other is for all. */
	start->spawn.input = launch->session ? -1 : posix->null_fd;
	start->spawn.output = start->spawn.error = -1;
	start->session = launch->session;
	start->spawn.environment = copy_strings(&start->arena, launch->environment);
	start->launch = copy_launch(launch, start);
	posix_begin_job(container, prepare_work, prepare_done, job);
}

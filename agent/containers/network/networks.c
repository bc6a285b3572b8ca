/* See network.h. A member is a container that joins or leaves, by one process at a time; one that
 * is there without a process holds what it joined, and is in nobody's list. */
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/containers/network/network_internal.h"
#include "agent/containers/posix/process_tree.h"
#include "agent/containers/posix/process_watch.h"
#include "agent/containers/posix/spawn.h"
#include "base/list.h"
#include "base/log/log.h"

extern char **environ;

struct network_want {
	struct slow_job slow;
	struct member *member;
	Mesos__ContainerInfo *info;	/* heap */
	Mesos__ContainerStatus *joined; /* heap */
	struct err err;
	void (*ready)(void *context, const char *failure, const Mesos__ContainerStatus *status);
	void *context;
};

struct member {
	struct list link;
	struct networks *networks;
	char *id;
	char *directory;
	struct network_want *want; /* NULL: it leaves, or is to */
	bool working;		   /* a thread is at the want */
	bool leaves;		   /* when what is under way is over */
	pid_t pid;		   /* 0: no process */
	struct process_watch *watch;
};

struct sweep {
	struct slow_job slow;
	struct networks *networks;
	struct arena arena;
	char **ids;
	size_t count;
	bool (*known)(void *context, const char *id);
	void *context;
};

struct networks {
	struct networks_options options;
	struct list members;
	int jobs;
	bool closing;
};

/* ---- members -------------------------------------------------------------------- */

static struct member *member_find(const struct networks *networks, const char *id)
{
	struct member *member, *next;

	list_for_each (member, next, (struct list *)&networks->members, link)
		if (!strcmp(member->id, id))
			return member;
	return NULL;
}

static struct member *member_add(struct networks *networks, const char *id)
{
	struct member *member = xcalloc(1, sizeof(*member));

	member->networks = networks;
	member->id = xstrdup(id);
	member->directory = xprintf("%s/networks/%s", networks->options.runtime_dir, id);
	list_append(&networks->members, &member->link);
	return member;
}

static void want_free(struct network_want *want)
{
	proto_free(want->info);
	proto_free(want->joined);
	free(want);
}

static void member_free(struct member *member)
{
	list_remove(&member->link);
	if (member->want)
		want_free(member->want);
	free(member->directory);
	free(member->id);
	free(member);
}

/* ---- processes --------------------------------------------------------------------- */

static void process_ended_cb(void *context);

static int start_process(struct member *member, const char *verb, struct err *err)
{
	const struct networks_options *o = &member->networks->options;
	char *arguments[] = {"mesita", "network", (char *)verb, member->directory, NULL};
	const struct spawn spawn = {
		.program = o->program,
		.arguments = arguments,
		.environment = environ,
		.directory = "/",
		.input = STDERR_FILENO,
		.output = STDERR_FILENO,
		.error = STDERR_FILENO,
	};
	pid_t pid = spawn_process(&spawn, err);

	if (pid < 0)
		return pid;
	member->pid = pid;
	member->watch = process_watch_start(o->loop, pid, 0, process_ended_cb, member);
	return 0;
}

/* ---- leaving ------------------------------------------------------------------------ */

static void start_leaving(struct member *member)
{
	struct err err = {""};

	member->leaves = false;
	if (access(member->directory, F_OK)) {
		member_free(member);
	} else if (start_process(member, "leave", &err) < 0) {
		/* The next agent sweeps it. */
		log_warning("Container %s stays in its networks: %s", member->id, err.text);
		member_free(member);
	}
}

/* Whatever is not under way any more is followed by what is still to be done. */
static void member_go_on(struct member *member)
{
	if (member->working || member->pid || member->want)
		return;
	if (member->leaves)
		start_leaving(member);
	else
		member_free(member);
}

void networks_leave(struct networks *networks, const char *id)
{
	struct member *member = member_find(networks, id);

	if (!member)
		member = member_add(networks, id);
	member->leaves = true;
	member_go_on(member);
}

/* ---- joining -------------------------------------------------------------------------- */

static void answer(struct member *member, const char *failure)
{
	struct network_want *want = member->want;

	/* Whoever hears it may have a new one made. */
	member->want = NULL;
	member_go_on(member);
	if (want->ready)
		want->ready(want->context, failure, want->joined);
	want_free(want);
}

static void begin_job(struct network_want *want, void (*work)(struct slow_job *slow),
		      void (*done)(struct slow_job *slow, bool canceled))
{
	struct networks *networks = want->member->networks;

	want->member->working = true;
	networks->jobs++;
	want->slow.work = work;
	want->slow.done = done;
	slow_add(networks->options.pool, NULL, &want->slow);
}

static void networks_free_if_done(struct networks *networks)
{
	if (networks->closing && !networks->jobs)
		free(networks);
}

/* False: the want is over, and freed if nobody waits for anything any more. */
static bool end_job(struct network_want *want, bool canceled)
{
	struct networks *networks = want->member->networks;

	networks->jobs--;
	want->member->working = false;
	if (networks->closing) {
		member_free(want->member);
		networks_free_if_done(networks);
		return false;
	}
	if (canceled || !want->ready) {
		answer(want->member, NULL);
		return false;
	}
	return true;
}

static void result_work(struct slow_job *slow)
{
	struct network_want *want = container_of(slow, struct network_want, slow);

	want->joined = network_result_read(want->member->directory, &want->err);
}

static void result_done(struct slow_job *slow, bool canceled)
{
	struct network_want *want = container_of(slow, struct network_want, slow);

	if (end_job(want, canceled))
		answer(want->member, want->joined ? NULL : want->err.text);
}

static void plan_work(struct slow_job *slow)
{
	struct network_want *want = container_of(slow, struct network_want, slow);

	network_plan_write(&want->member->networks->options, want->member->id, want->info,
			   &want->err);
}

static void plan_done(struct slow_job *slow, bool canceled)
{
	struct network_want *want = container_of(slow, struct network_want, slow);

	if (!end_job(want, canceled))
		return;
	if (want->err.text[0] || start_process(want->member, "join", &want->err) < 0)
		answer(want->member, want->err.text);
}

static void process_ended_cb(void *context)
{
	struct member *member = context;

	member->watch = NULL;
	waitpid(member->pid, NULL, 0);
	member->pid = 0;
	if (!member->want)
		member_go_on(member);
	else if (member->want->ready)
		begin_job(member->want, result_work, result_done);
	else
		answer(member, NULL);
}

struct network_want *networks_join(struct networks *networks, const char *id,
				   const Mesos__ContainerInfo *info,
				   void (*ready)(void *context, const char *failure,
						 const Mesos__ContainerStatus *status),
				   void *context)
{
	struct member *member = member_add(networks, id);
	struct network_want *want = member->want = xcalloc(1, sizeof(*want));

	want->member = member;
	want->info = proto_copy(info);
	want->ready = ready;
	want->context = context;
	begin_job(want, plan_work, plan_done);
	return want;
}

void network_want_cancel(struct network_want *want)
{
	want->ready = NULL;
	if (want->member->pid)
		process_tree_signal(want->member->pid, SIGKILL, false);
}

/* ---- sweeping -------------------------------------------------------------------------- */

static void sweep_work(struct slow_job *slow)
{
	struct sweep *sweep = container_of(slow, struct sweep, slow);
	char *path = xprintf("%s/networks", sweep->networks->options.runtime_dir);
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		sweep->ids = xrealloc(sweep->ids, (sweep->count + 1) * sizeof(*sweep->ids));
		sweep->ids[sweep->count++] = arena_strdup(&sweep->arena, entry->d_name);
	}
	if (dir)
		closedir(dir);
	free(path);
}

static void sweep_done(struct slow_job *slow, bool canceled)
{
	struct sweep *sweep = container_of(slow, struct sweep, slow);
	struct networks *networks = sweep->networks;

	networks->jobs--;
	for (size_t i = 0; i < sweep->count && !canceled && !networks->closing; i++)
		if (!sweep->known(sweep->context, sweep->ids[i]) &&
		    !member_find(networks, sweep->ids[i]))
			networks_leave(networks, sweep->ids[i]);
	networks_free_if_done(networks);
	arena_free(&sweep->arena);
	free(sweep->ids);
	free(sweep);
}

void networks_sweep(struct networks *networks, bool (*known)(void *context, const char *id),
		    void *context)
{
	struct sweep *sweep = xcalloc(1, sizeof(*sweep));

	sweep->networks = networks;
	sweep->known = known;
	sweep->context = context;
	arena_init(&sweep->arena);
	sweep->slow.work = sweep_work;
	sweep->slow.done = sweep_done;
	networks->jobs++;
	slow_add(networks->options.pool, NULL, &sweep->slow);
}

/* ---- life ---------------------------------------------------------------------------------- */

struct networks *networks_create(const struct networks_options *options)
{
	struct networks *networks = xcalloc(1, sizeof(*networks));

	networks->options = *options;
	list_init(&networks->members);
	return networks;
}

bool networks_owns(const struct networks *networks, pid_t pid)
{
	struct member *member, *next;

	list_for_each (member, next, (struct list *)&networks->members, link)
		if (member->pid == pid)
			return true;
	return false;
}

/* Processes that leave go on; those that join are the next agent's to undo. */
void networks_close(struct networks *networks)
{
	struct member *member, *next;

	networks->closing = true;
	list_for_each (member, next, &networks->members, link) {
		process_watch_stop(member->watch);
		member->watch = NULL;
		if (!member->working)
			member_free(member);
	}
	networks_free_if_done(networks);
}

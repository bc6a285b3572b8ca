/* vfork and exec; see spawn.h.
 *
 * Between the two the child runs in our memory while our thread waits: it may only
 * make system calls, and tells of a failure by writing it down. C library functions
 * that change ids of all threads (setuid and its like) would hit ours, so the system
 * calls are made directly. */
#include "agent/containers/posix/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* All that the child needs, made before it exists. */
struct plan {
	const struct spawn *spawn;
	char **candidates;  /* paths to try, NULL-ended */
	char **script;	    /* argv for a file that only a shell understands */
	volatile int error; /* written by the child */
	const char *volatile stage;
};

static const char *path_of(char *const *environment)
{
	for (; environment && *environment; environment++)
		if (!strncmp(*environment, "PATH=", 5))
			return *environment + 5;
	return DEFAULT_PATH;
}

static void make_plan(struct plan *plan, struct arena *arena, const struct spawn *spawn)
{
	const char *path = path_of(spawn->environment);
	size_t count = 1, i = 0;

	memset(plan, 0, sizeof(*plan));
	plan->spawn = spawn;
	for (const char *c = path; *c; c++)
		count += *c == ':';
	plan->candidates = arena_alloc(arena, (count + 1) * sizeof(char *));
	if (strchr(spawn->program, '/')) {
		plan->candidates[0] = arena_strdup(arena, spawn->program);
	} else {
		for (;; path++) {
			size_t len = strcspn(path, ":");

			plan->candidates[i++] = arena_printf(arena, "%.*s/%s", len ? (int)len : 1,
							     len ? path : ".", spawn->program);
			path += len;
			if (!*path)
				break;
		}
	}
	for (count = 0; spawn->arguments[count];)
		count++;
	plan->script = arena_alloc(arena, (count + 3) * sizeof(char *));
	plan->script[0] = "sh";
	for (i = 1; i < count; i++)
		plan->script[i + 1] = spawn->arguments[i];
}

static void __attribute__((noreturn)) child_fail(struct plan *plan, const char *stage)
{
	plan->error = errno;
	plan->stage = stage;
	_exit(127);
}

static void child_switch_user(struct plan *plan)
{
	const struct user *user = plan->spawn->user;

	if (syscall(SYS_setgroups, user->group_count, user->groups) ||
	    syscall(SYS_setresgid, user->gid, user->gid, user->gid) ||
	    syscall(SYS_setresuid, user->uid, user->uid, user->uid))
		child_fail(plan, "Failed to switch to the user");
}

/* Before the user is switched: what may never be had again. */
static void child_bound_capabilities(struct plan *plan)
{
	const struct capabilities *c = plan->spawn->capabilities;

	for (int i = 0; i < 64 && prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		if (!(c->bounding & (1ULL << i)) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0))
			child_fail(plan, "Failed to drop capabilities of");
	prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
}

/* After it. Who is not root keeps them over the execution of a program as ambient ones only. */
static void child_set_capabilities(struct plan *plan)
{
	uint64_t set = plan->spawn->capabilities->effective;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{.effective = (uint32_t)set},
						 {.effective = (uint32_t)(set >> 32)}};

	for (int i = 0; i < 2; i++)
		data[i].permitted = data[i].inheritable = data[i].effective;
	if (syscall(SYS_capset, &header, data))
		child_fail(plan, "Failed to set the capabilities of");
	for (int i = 0; i < 64; i++)
		if ((set & (1ULL << i)) && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0))
			child_fail(plan, "Failed to keep capabilities of");
}

/* Others are closed: before Linux 5.9 only if they are close-on-exec, which all of ours are. */
static void child_take_files(struct plan *plan)
{
	int message = plan->spawn->message, listener = plan->spawn->listener;

	/* Out of the way. */
	if (listener && (listener = fcntl(listener, F_DUPFD_CLOEXEC, 5)) < 0)
		child_fail(plan, "Failed to pass the terminal on");
	if (message && (message == 3 ? fcntl(3, F_SETFD, 0) : dup2(message, 3)) < 0)
		child_fail(plan, "Failed to pass the launch on");
	if (listener && dup2(listener, 4) < 0)
		child_fail(plan, "Failed to pass the terminal on");
	if (!message)
		syscall(SYS_close_range, 3, 3, 0);
	syscall(SYS_close_range, listener ? 5 : 4, ~0U, 0);
}

static void child_exec(struct plan *plan)
{
	int error = ENOENT;

	for (char **path = plan->candidates; *path; path++) {
		execve(*path, plan->spawn->arguments, plan->spawn->environment);
		if (errno == ENOEXEC) {
			plan->script[1] = *path;
			execve("/bin/sh", plan->script, plan->spawn->environment);
		}
		if (errno != ENOENT && errno != ENOTDIR)
			error = errno;
		if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
			break;
	}
	errno = error;
}

static void __attribute__((noreturn)) child_main(struct plan *plan)
{
	const struct spawn *spawn = plan->spawn;
	struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t none;

	/* All signals are blocked up to here: a handler of ours must not run in it. Nobody
	 * here touches the real-time signals behind SIGSYS. */
	for (int i = 1; i <= SIGSYS; i++)
		sigaction(i, &standard, NULL);
	for (size_t i = 0; i < spawn->group_count; i++)
		if (write(spawn->groups[i], "0", 1) != 1)
			child_fail(plan, "Failed to enter the control group of");
	setsid();
	if (spawn->terminal)
		ioctl(spawn->input, TIOCSCTTY, 0);
	if (spawn->open_files)
		setrlimit(RLIMIT_NOFILE, spawn->open_files);
	for (size_t i = 0; i < spawn->limit_count; i++)
		if (setrlimit((__rlimit_resource_t)spawn->limits[i].resource,
			      &spawn->limits[i].value))
			child_fail(plan, "Failed to set the limits of");
	if (spawn->no_new_privileges && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		child_fail(plan, "Failed to give up new privileges of");
	if (!spawn->leaves_orphans)
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	/* Before the user is switched: it may be closed out of the directories above. */
	if (chdir(spawn->directory))
		child_fail(plan, "Failed to change the working directory");
	if (spawn->capabilities)
		child_bound_capabilities(plan);
	/* While we may; without the right to it, new privileges must have been given up. */
	if (spawn->filter && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, spawn->filter))
		child_fail(plan, "Failed to filter the system calls of");
	if (spawn->user)
		child_switch_user(plan);
	if (spawn->capabilities)
		child_set_capabilities(plan);
	if (dup2(spawn->input, 0) < 0 || dup2(spawn->output, 1) < 0 || dup2(spawn->error, 2) < 0)
		child_fail(plan, "Failed to redirect the output");
	child_take_files(plan);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	child_exec(plan);
	child_fail(plan, "Failed to execute");
}

static pid_t __attribute__((noinline)) fork_child(struct plan *plan)
{
	pid_t pid = vfork();

	if (pid == 0)
		child_main(plan);
	return pid;
}

pid_t spawn_process(const struct spawn *spawn, struct err *err)
{
	struct arena arena;
	struct plan plan;
	sigset_t all, old;
	pid_t pid;

	arena_init(&arena);
	make_plan(&plan, &arena, spawn);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid = fork_child(&plan);
	if (pid < 0)
		plan.error = errno;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	arena_free(&arena);
	if (pid < 0)
		return err_set(err, ERR_IO, "Failed to fork: %s", strerror(plan.error));
	if (!plan.stage)
		return pid;
	waitpid(pid, NULL, 0);
	return err_set(err, ERR_IO, "%s '%s': %s", plan.stage, spawn->program,
		       strerror(plan.error));
}

/* Waiting for the program, and ending after it; see init_internal.h. */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/containers/init/init_internal.h"
#include "agent/containers/posix/process_tree.h"
#include "base/time/clock.h"

/* What cannot be killed in this time (it hangs in the kernel) is left alone. */
#define KILL_SECONDS 5

/* Those of a terminal reach the child by themselves. */
static bool is_of_terminal(int signal)
{
	return signal == SIGINT || signal == SIGQUIT || signal == SIGTSTP || signal == SIGWINCH ||
	       signal == SIGTTIN || signal == SIGTTOU;
}

static bool is_kept(int signal, enum init_keeps keeps)
{
	return keeps == INIT_KEEPS_ALL || (keeps == INIT_KEEPS_TERMINALS && is_of_terminal(signal));
}

static void pass_on(pid_t child, int signal, enum init_keeps keeps)
{
	if (signal == INIT_PARENT_ENDED)
		kill(child, SIGKILL);
	else if (!is_kept(signal, keeps))
		kill(child, signal);
}

int init_wait(pid_t child, const sigset_t *all, enum init_keeps keeps, struct terminal *terminal)
{
	int signals = terminal ? signalfd(-1, all, SFD_CLOEXEC) : -1, status;
	pid_t pid;

	for (;;) {
		int signal;

		if (signals >= 0)
			terminal_serve(terminal, signals);
		signal = sigwaitinfo(all, NULL);
		if (signal > 0 && signal != SIGCHLD) {
			pass_on(child, signal, keeps);
			continue;
		}
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			if (pid != child)
				continue;
			if (signals >= 0)
				close(signals);
			return status;
		}
	}
}

void init_kill_rest(void)
{
	struct timespec pause = {.tv_nsec = 1000000};
	int64_t deadline = clock_steady() + KILL_SECONDS * SECOND;

	for (;;) {
		pid_t *children = process_children();
		bool any = children[0] != 0;

		for (pid_t *pid = children; *pid; pid++)
			kill(*pid, SIGKILL);
		free(children);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (!any || clock_steady() > deadline)
			return;
		nanosleep(&pause, NULL);
	}
}

int init_end_like(int status)
{
	struct rlimit none = {0, 0};
	sigset_t one;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &none); /* the dump is the executor's, not ours */
	signal(WTERMSIG(status), SIG_DFL);
	kill(getpid(), WTERMSIG(status));
	sigemptyset(&one);
	sigaddset(&one, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	return 128 + WTERMSIG(status);
}

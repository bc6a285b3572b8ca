/* The child's side of offload.h: renders, writes to the clients' sockets, tells the parent by
 * a pipe how it goes, and exits. */
#include "net/offload/offload_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/time/clock.h"

/* A body that one or several reads share. */
struct body {
	struct buf plain;
	struct buf packed;
	const char *content_type;
	const struct offload_job *first;
};

struct outgoing {
	int fd; /* -1: over */
	uint16_t job;
	struct buf head;
	struct slice body;
	size_t sent; /* of both */
	int64_t since;
};

/* ---- becoming a child ----------------------------------------------------------- */

/* Handlers of the loop would write to its pipes, which are the parent's too. */
static void reset_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++) {
		struct sigaction action;

		if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN &&
		    action.sa_handler != SIG_DFL)
			signal(number, SIG_DFL);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* All but the standard ones and `kept`: a connection that the parent closes must end. */
static void close_others(int *kept, size_t count)
{
	unsigned from = STDERR_FILENO + 1;

	qsort(kept, count, sizeof(*kept), compare_fds);
	for (size_t i = 0; i < count; i++) {
		unsigned fd = (unsigned)kept[i];

		if (fd > from)
			close_range(from, fd - 1, 0);
		if (fd >= from)
			from = fd + 1;
	}
	close_range(from, ~0U, 0);
}

/* When memory runs out, the child goes and not its parent. */
static void offer_to_die_first(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	/* Where it cannot be said, the kernel chooses by itself. */
	if (write(fd, "1000", 4) < 0)
		errno = 0;
	close(fd);
}

static void end_idling(int signal)
{
	const struct sched_param param = {0};

	(void)signal;
	sched_setscheduler(0, SCHED_OTHER, &param);
}

/* Where one may not become less nice, idling would have no end on a busy machine. */
static void step_back(void)
{
	const struct sched_param param = {0};
	const struct itimerval end = {.it_value.tv_usec = OFFLOAD_IDLE_MS * 1000};
	int nice;

	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + OFFLOAD_NICE);
	nice = getpriority(PRIO_PROCESS, 0);
	if (setpriority(PRIO_PROCESS, 0, nice - 1) != 0)
		return;
	setpriority(PRIO_PROCESS, 0, nice);
	signal(SIGALRM, end_idling);
	if (setitimer(ITIMER_REAL, &end, NULL) == 0)
		sched_setscheduler(0, SCHED_IDLE, &param);
}

static void become_child(struct offload_job **jobs, size_t count, int report, int parent)
{
	int kept[OFFLOAD_READS + 1];

	reset_signals();
	step_back();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (size_t i = 0; i < count; i++)
		kept[i] = jobs[i]->fd;
	kept[count] = report;
	close_others(kept, count + 1);
	offer_to_die_first();
}

/* ---- rendering -------------------------------------------------------------------- */

static struct body *find_body(struct body *bodies, size_t count, const struct offload_job *job)
{
	for (size_t i = 0; !job->text && i < count; i++)
		if (!bodies[i].first->text && offload_same(&bodies[i].first->read, &job->read))
			return &bodies[i];
	return NULL;
}

static void render(struct body *body, const struct offload_job *job)
{
	const struct offload_read *read = &job->read;

	body->first = job;
	if (job->text) {
		job->text->render(job->text, &body->plain);
		return;
	}
	body->content_type = read->content_type;
	read->render(read, &body->plain, &body->content_type);
}

/* Returns the bytes of all bodies. */
static uint64_t render_all(struct outgoing *out, struct offload_job **jobs, size_t count)
{
	struct body *bodies = xcalloc(count, sizeof(*bodies));
	uint64_t bytes = 0;
	size_t made = 0;

	for (size_t i = 0; i < count; i++) {
		struct body *body = find_body(bodies, made, jobs[i]);

		if (!body) {
			body = &bodies[made++];
			render(body, jobs[i]);
		}
		out[i].fd = jobs[i]->fd;
		out[i].job = (uint16_t)i;
		out[i].body = (struct slice){body->plain.data, body->plain.len};
		if (!jobs[i]->text)
			http_compose(jobs[i]->read.request, 200, body->content_type, NULL,
				     &out[i].body, &body->packed, &out[i].head);
	}
	for (size_t i = 0; i < made; i++)
		bytes += bodies[i].plain.len + bodies[i].packed.len;
	return bytes;
}

/* ---- writing ---------------------------------------------------------------------- */

static void offload_child_tell(int report, enum offload_news news, uint16_t job, uint64_t bytes)
{
	struct offload_report message = {.bytes = bytes, .job = job, .news = (uint8_t)news};

	/* A parent that is gone takes us with it; the pipe has room for all that we tell. */
	if (write(report, &message, sizeof(message)) < 0)
		_exit(1);
}

static void offload_child_finish(struct outgoing *out, int report, enum offload_news news)
{
	/* Before it is told, so that the parent alone has it. */
	close(out->fd);
	out->fd = -1;
	offload_child_tell(report, news, out->job, 0);
}

static size_t at_most(size_t len, size_t max)
{
	return len < max ? len : max;
}

/* Until all is written or the socket is full. */
static void write_some(struct outgoing *out, int report)
{
	size_t all = out->head.len + out->body.len;

	while (out->sent < all) {
		size_t of_head = at_most(out->sent, out->head.len);
		size_t of_body = out->sent - of_head;
		struct iovec parts[2] = {
			{out->head.data + of_head, out->head.len - of_head},
			{(char *)out->body.data + of_body,
			 at_most(out->body.len - of_body, OFFLOAD_PIECE)},
		};
		struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
		ssize_t sent = sendmsg(out->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (sent < 0) {
			offload_child_finish(out, report, OFFLOAD_FAILED);
			return;
		}
		out->sent += (size_t)sent;
		out->since = (int64_t)uv_hrtime();
	}
	offload_child_finish(out, report, OFFLOAD_WRITTEN);
}

/* Returns how many are left to wait for. */
static size_t offload_child_await(struct outgoing *out, struct pollfd *polls, size_t count)
{
	size_t open = 0;
	int rv;

	for (size_t i = 0; i < count; i++) {
		polls[i] = (struct pollfd){.fd = out[i].fd, .events = POLLOUT};
		open += out[i].fd >= 0;
	}
	if (!open)
		return 0;
	rv = poll(polls, count, OFFLOAD_STALL_MS);
	if (rv < 0 && errno != EINTR)
		_exit(1);
	return open;
}

static void write_all(struct outgoing *out, size_t count, int report)
{
	struct pollfd *polls = xcalloc(count, sizeof(*polls));

	for (size_t i = 0; i < count; i++) {
		out[i].since = (int64_t)uv_hrtime();
		write_some(&out[i], report);
	}
	while (offload_child_await(out, polls, count) > 0) {
		int64_t now = (int64_t)uv_hrtime();

		for (size_t i = 0; i < count; i++) {
			if (out[i].fd < 0)
				continue;
			if (polls[i].revents)
				write_some(&out[i], report);
			else if (now - out[i].since >= OFFLOAD_STALL_MS * MILLISECOND)
				offload_child_finish(&out[i], report, OFFLOAD_FAILED);
		}
	}
}

_Noreturn void offload_child(struct offload_job **jobs, size_t count, int report, int parent)
{
	struct outgoing *out;
	uint64_t bytes;

	become_child(jobs, count, report, parent);
	for (size_t i = 0; i < count; i++)
		if (!jobs[i]->text)
			http_keep_date(jobs[i]->read.request);
	out = xcalloc(count, sizeof(*out));
	bytes = render_all(out, jobs, count);
	offload_child_tell(report, OFFLOAD_RENDERED, 0, bytes);
	write_all(out, count, report);
	_exit(0);
}
